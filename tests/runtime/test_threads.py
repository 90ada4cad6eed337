"""Several loops in several threads on one runtime, and the process around them."""

from __future__ import annotations

import asyncio
import gc
import random
import threading

import anyio
import pytest

from aclasync import (
    AclError,
    CallbackType,
    ConfigMismatchError,
    Phase,
    Runtime,
    acl,
    acl_session,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

LOOPS = [
    ("asyncio", {}),
    ("asyncio", {"use_uvloop": True}),
    ("trio", {}),
    ("asyncio", {}),
]


def in_threads(*mains) -> None:
    """Run each main in a loop and a thread of its own; raise what any of them raised."""
    failures: list[BaseException] = []

    def work(main, backend: str, options: dict[str, object]) -> None:
        try:
            anyio.run(main, backend=backend, backend_options=options)
        except BaseException as exc:
            failures.append(exc)

    threads = [
        threading.Thread(target=work, args=(main, *LOOPS[index % len(LOOPS)]))
        for index, main in enumerate(mains)
    ]
    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    for failure in failures:
        raise failure


def is_at_rest(runtime: Runtime) -> bool:
    statistics = runtime.statistics()
    return (statistics.ref_count, statistics.waiting) == (0, 0) and statistics.phase is Phase.DOWN


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_exact_under_random_cancellation(seed: int) -> None:
    """4 threads x own loop x 200 tasks; afterwards nobody holds or waits for anything."""
    held: list[int] = []

    with fresh_runtime() as runtime:

        async def task(chance: random.Random) -> None:
            with anyio.move_on_after(chance.choice([0, 0.0005, 0.005, 10])):
                async with acl_session(chance.choice([{}, b"{}"])) as session:
                    held.append(session.ref_count)
                    for _ in range(chance.randrange(4)):
                        await anyio.sleep(chance.random() / 1000)

        async def main(number: int) -> None:
            chance = random.Random(seed * 100 + number)
            async with anyio.create_task_group() as tasks:
                for _ in range(200):
                    tasks.start_soon(task, random.Random(chance.random()))
                    if chance.random() < 0.2:
                        await anyio.lowlevel.checkpoint()

        # The first content is pinned, so that {} and b"{}" never differ from it.
        async def pin() -> None:
            async with acl_session({}):
                pass

        anyio.run(pin)
        in_threads(*(lambda n=n: main(n) for n in range(4)))
        assert is_at_rest(runtime)
        assert min(held) >= 1


def test_concurrent_inits_give_one_success() -> None:
    """10 threads: one SUCCESS, nine repeats, ten references; and ten give them back."""
    codes: list[int] = []
    with fresh_runtime() as runtime:

        async def init() -> None:
            codes.append(await acl.init(""))

        async def release() -> None:
            codes.append((await acl.finalize_reference())[0])

        in_threads(*[init] * 10)
        assert sorted(codes) == [0] + [100002] * 9
        assert runtime.statistics().ref_count == 10
        codes.clear()
        in_threads(*[release] * 10)
        assert codes == [0] * 10
        assert is_at_rest(runtime)


def test_waiters_of_every_loop_are_woken() -> None:
    """They wait for one init in another thread and all of them join it."""
    plan = FaultPlan().park("init.OTHER")
    all_wait, joined = threading.Event(), []
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:

        async def first() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(open_first)
                await plan.wait_parked("init.OTHER")
                while runtime.statistics().waiting < 6:
                    await anyio.sleep(0.001)

                all_wait.set()
                plan.release("init.OTHER")

        async def open_first() -> None:
            async with acl_session({}):
                while len(joined) < 6:
                    await anyio.sleep(0.001)

        async def second() -> None:
            async with anyio.create_task_group() as tasks:
                for _ in range(2):
                    tasks.start_soon(join)

        async def join() -> None:
            while runtime.statistics().phase is Phase.DOWN:
                await anyio.sleep(0.001)

            async with acl_session({}) as session:
                joined.append(session.joined)

        in_threads(first, second, second, second)
        assert all_wait.is_set()
        assert joined == [True] * 6
        assert is_at_rest(runtime)


async def test_gate_is_fair(anyio_backend) -> None:
    """Who came first is decided first: init, finalize, init, in the order of arrival."""
    plan = FaultPlan().park("init.OTHER")
    order: list[str] = []
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init)
            await plan.wait_parked("init.OTHER")

            async def note(name: str, call) -> None:
                result = await call()
                order.append(f"{name} {getattr(result, 'ref_count', '')}".strip())

            for name, call in (
                ("init", runtime.init),
                ("finalize", runtime.finalize),
                ("again", runtime.init),
                ("once more", runtime.init),
            ):
                tasks.start_soon(note, name, call)
                await anyio.wait_all_tasks_blocked()

            plan.release("init.OTHER")

        # The counts tell who was decided before whom.
        assert sorted(order) == ["again 1", "finalize", "init 2", "once more 2"]
        await runtime.finalize()


@pytest.mark.parametrize("is_nested", [True, False])
async def test_nobody_joins_before_a_finalize_that_waits(is_nested: bool) -> None:
    """A late callback holds the runtime up; who comes after the finalize opens it anew."""
    may_end = anyio.Event()

    async def late(*_: object) -> None:
        await may_end.wait()

    async def enter() -> None:
        config = None if is_nested else b""
        async with acl_session(config) as session:
            epochs.append(session.runtime.core.gate.state.standing.epoch)

    epochs: list[int] = []
    with fresh_runtime() as runtime:
        await runtime.init()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.register_init_callback, CallbackType.OTHER, late)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(runtime.finalize)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(enter)
            await anyio.wait_all_tasks_blocked()
            assert runtime.statistics().waiting == 2
            may_end.set()

        assert epochs == [2]
        assert is_at_rest(runtime)


def test_waiter_of_a_closed_loop_is_skipped() -> None:
    """Its loop was closed under it; the one behind it gets its turn, and no count is lost."""
    plan = FaultPlan().park("init.OTHER")
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        parked, lost, go = threading.Event(), threading.Event(), threading.Event()

        async def opens() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runtime.init, {})
                await plan.wait_parked("init.OTHER")
                parked.set()
                await anyio.to_thread.run_sync(go.wait)
                plan.release("init.OTHER")

        def loses_its_loop() -> None:
            parked.wait()
            loop = asyncio.new_event_loop()
            task = loop.create_task(runtime.init({}))
            loop.run_until_complete(asyncio.sleep(0.01))
            loop.close()
            lost.set()
            kept.append(task)

        async def behind() -> None:
            await anyio.to_thread.run_sync(lost.wait)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runtime.init, {})
                while runtime.statistics().waiting < 2:
                    await anyio.sleep(0.001)

                go.set()

        kept: list[asyncio.Task[object]] = []
        thread = threading.Thread(target=loses_its_loop)
        thread.start()
        in_threads(opens, behind)
        thread.join()
        statistics = runtime.statistics()
        assert (statistics.ref_count, statistics.waiting) == (2, 0)
        for task in kept:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is what is tested

        kept.clear()
        gc.collect()
        assert runtime.statistics().ref_count == 2

        async def close() -> None:
            await runtime.finalize()

        anyio.run(close)
        assert is_at_rest(runtime)


# The collector closes a chain of coroutines in any order, and Python complains of some.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("is_collected", [False, True])
@pytest.mark.parametrize("point", ["init.MODEL", "undo.MODEL", "finalize.MODEL"])
def test_loop_closed_in_the_middle_of_a_transition_frees_the_gate(
    point: str, is_collected: bool, caplog
) -> None:
    """Nothing can be awaited there any more; the device is let go of, and a new init works."""
    plan = FaultPlan().park(point)
    if point.startswith("undo"):
        plan.fail("init.dump", AclError(7, "x", "y"))

    spy = SpyBackend(plan)
    with fresh_runtime(backend=spy) as runtime:

        async def both() -> None:
            async with acl_session({}):
                pass

        loop = asyncio.new_event_loop()
        task = loop.create_task(both())
        loop.run_until_complete(plan.wait_parked(point))
        loop.close()
        left = list(asyncio.all_tasks(loop))
        for pending in left:
            pending._log_destroy_pending = False  # type: ignore[attr-defined]  # it is tested

        plan.release(point)
        plan.set("init.dump", None)
        if is_collected:
            del left, pending, task
            gc.collect()

        asyncio.run(both())
        assert is_at_rest(runtime)
        assert spy.calls.count(("close", "")) == 2
        assert "closed in the middle" in caplog.text


def test_waiter_frees_the_gate_from_a_loop_that_was_closed_later() -> None:
    """It was waiting already when the loop of whoever ran the init was closed."""
    plan = FaultPlan().park("init.MODEL", times=1)
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        loop = asyncio.new_event_loop()
        task = loop.create_task(runtime.init())
        loop.run_until_complete(plan.wait_parked("init.MODEL"))
        thread = threading.Thread(target=asyncio.run, args=(runtime.init(),))
        thread.start()
        while runtime.statistics().waiting < 1:
            threading.Event().wait(0.001)

        loop.close()
        thread.join()
        assert runtime.statistics().ref_count == 1
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is tested
        asyncio.run(runtime.finalize())


def test_shutdown_of_the_loop_with_a_busy_device_gives_the_reference_back(
    tmp_path, monkeypatch
) -> None:
    """`asyncio.run` cancels every task, also the one that leaves the session."""
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path))
    may_end = threading.Event()
    with fresh_runtime() as runtime:

        async def worker(is_leaving: asyncio.Event) -> None:
            async with acl_session() as session:
                device = await session.open_device()
                busy = asyncio.ensure_future(device.run(may_end.wait))
                await asyncio.sleep(0)
                is_leaving.set()

            await busy

        async def main() -> None:
            is_leaving = asyncio.Event()
            task = asyncio.ensure_future(worker(is_leaving))
            await is_leaving.wait()
            await asyncio.sleep(0)
            asyncio.get_running_loop().call_later(0.05, may_end.set)
            del task

        asyncio.run(main())
        assert is_at_rest(runtime)


def test_runs_after_each_other_share_the_runtime() -> None:
    """`asyncio.run` twice in a row: the state belongs to the process, not to a loop."""
    with fresh_runtime() as runtime:

        async def open_only() -> None:
            await runtime.init({})

        async def close() -> None:
            await runtime.finalize_reference()

        asyncio.run(open_only())
        assert runtime.statistics().ref_count == 1
        asyncio.run(close())
        assert is_at_rest(runtime)


def test_mismatch_is_seen_across_threads() -> None:
    """Another thread's session is refused with other content, and counts nothing."""
    with fresh_runtime() as runtime:
        inside, done = threading.Event(), threading.Event()

        async def holds() -> None:
            async with acl_session({}):
                inside.set()
                await anyio.to_thread.run_sync(done.wait)

        async def differs() -> None:
            await anyio.to_thread.run_sync(inside.wait)
            try:
                with pytest.raises(ConfigMismatchError):
                    await runtime.init({"err_msg_mode": "1"})

                assert runtime.statistics().ref_count == 1
            finally:
                done.set()

        in_threads(holds, differs)
        assert is_at_rest(runtime)


def test_aiologic_agrees_about_exclusion() -> None:
    """The same load counted under a lock that is known to work across loops gives the same."""
    import aiologic  # noqa: PLC0415

    lock, inside, seen = aiologic.Lock(), [], []
    with fresh_runtime() as runtime:

        async def main() -> None:
            for _ in range(50):
                async with acl_session() as session:
                    seen.append(session.ref_count)

                async with lock:
                    inside.append(1)
                    assert len(inside) == 1
                    inside.pop()

        in_threads(*[main] * 4)
        assert len(seen) == 200
        assert is_at_rest(runtime)


# The process
