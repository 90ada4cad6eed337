"""Cancelled at every point: the count is as it was, the gate is free, nothing is undone twice."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from aclasync import (
    AclError,
    CallbackType,
    FinalizeError,
    FlushOutcome,
    LogLevel,
    Phase,
    Runtime,
    acl_session,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

from .test_lifecycle import INIT_POINTS

FINALIZE_POINTS = [
    "finalize.statistics", "finalize.profiling_stop", "finalize.OP_COMPILER", "finalize.MODEL",
    "finalize.dump_stop", "finalize.DVPP", "finalize.default_device_off", "finalize.OTHER",
]  # fmt: skip


def is_at_rest(runtime: Runtime, count: int = 0) -> bool:
    """Whether the count is exact, nobody waits and no transition is under way."""
    statistics = runtime.statistics()
    phase = Phase.UP if count else Phase.DOWN
    return (statistics.ref_count, statistics.waiting, statistics.phase) == (count, 0, phase)


@pytest.mark.parametrize("point", INIT_POINTS)
async def test_cancelled_init_step_is_undone(point: str) -> None:
    """Everything done before it is taken back once, and the cancellation arrives."""
    plan = FaultPlan().park(point)
    spy = SpyBackend(plan)
    with fresh_runtime(backend=spy) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init, {})
            await plan.wait_parked(point)
            tasks.cancel_scope.cancel()

        assert is_at_rest(runtime)
        started = [step for what, step in spy.calls if what == "start"]
        undone = [step for what, step in spy.calls if what == "undo"]
        assert [step for step in undone if step in started] == started[::-1]
        assert len(undone) == len(set(undone))
        plan.release(point)
        async with acl_session({}):
            assert is_at_rest(runtime, 1)


@pytest.mark.parametrize("point", FINALIZE_POINTS)
async def test_cancelled_finalize_step_completes(point: str) -> None:
    """The whole sequence runs, and the cancellation arrives afterwards."""
    plan = FaultPlan().park(point)
    spy = SpyBackend(plan)
    with fresh_runtime(backend=spy) as runtime:
        await runtime.init()
        async with anyio.create_task_group() as tasks:
            ended: list[str] = []

            async def finalize() -> None:
                try:
                    await runtime.finalize_reference()
                except BaseException as exc:
                    ended.append(type(exc).__name__)
                    raise

            tasks.start_soon(finalize)
            await plan.wait_parked(point)
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                assert runtime.statistics().phase is Phase.CLOSING
                plan.release(point)

        assert ended in (["CancelledError"], ["Cancelled"])
        assert is_at_rest(runtime)
        assert spy.points[-1] == "finalize.OTHER"


@pytest.mark.parametrize("call", ["init", "session", "finalize", "finalize_reference", "register"])
async def test_cancelled_waiter_changes_nothing(call: str) -> None:
    """Whoever waits at the gate is just gone."""
    plan = FaultPlan().park("init.dump")
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        calls = {
            "init": runtime.init,
            "session": acl_session().__aenter__,
            "finalize": runtime.finalize,
            "finalize_reference": runtime.finalize_reference,
            "register": lambda: runtime.register_init_callback(CallbackType.OTHER, print),
        }
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init, {})
            await plan.wait_parked("init.dump")
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as waiters:
                    waiters.start_soon(calls[call])
                    await anyio.wait_all_tasks_blocked()
                    assert runtime.statistics().waiting == 1
                    scope.cancel()

            assert runtime.statistics().waiting == 0
            plan.release("init.dump")

        assert is_at_rest(runtime, 1)
        assert runtime.statistics().callbacks == ()
        await runtime.finalize()


async def test_waiter_decided_and_cancelled_in_one_moment_gives_back() -> None:
    """The gate opened for it, but it never came to act upon that."""
    plan = FaultPlan().park("init.OTHER")
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init, {})
            await plan.wait_parked("init.OTHER")
            async with anyio.create_task_group() as waiters:
                for _ in range(5):
                    waiters.start_soon(runtime.init, {})

                await anyio.wait_all_tasks_blocked()
                plan.release("init.OTHER")
                while runtime.statistics().ref_count == 0:
                    await anyio.lowlevel.checkpoint()

                waiters.cancel_scope.cancel()

        # Those who had passed before the cancellation have got their reference.
        count = runtime.statistics().ref_count
        for _ in range(count):
            await runtime.finalize_reference()

        assert is_at_rest(runtime)


async def test_cancellation_in_the_body_is_the_normal_way_out(runtime: Runtime) -> None:
    """Leaving is shielded, and the cancellation goes on."""
    with anyio.CancelScope() as scope:
        async with acl_session():
            scope.cancel()
            await anyio.lowlevel.checkpoint()

    assert scope.cancelled_caught
    assert is_at_rest(runtime)


async def test_body_that_failed_and_was_cancelled_is_told(runtime: Runtime, caplog) -> None:
    """The cancellation goes on, and the body's exception is a note to it and a line in the log."""

    async def fail_and_be_cancelled() -> None:
        async with acl_session({}):
            scope.cancel()
            raise ValueError("in the body")

    with anyio.CancelScope() as scope:
        with pytest.raises(anyio.get_cancelled_exc_class()) as caught:
            await fail_and_be_cancelled()

        assert "in the body" in caught.value.__notes__[0]

    assert "the body of a session had failed" in caplog.text
    assert is_at_rest(runtime)


async def test_cancelled_init_callback_sees_the_cancellation(runtime: Runtime) -> None:
    """It may clean up; what came before it is undone."""
    events: list[str] = []
    reached = anyio.Event()

    async def hangs(*_: object) -> None:
        reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            events.append("cleaned up")

    await runtime.register_init_callback(CallbackType.OTHER, hangs)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.init)
        await reached.wait()
        tasks.cancel_scope.cancel()

    assert events == ["cleaned up"]
    assert is_at_rest(runtime)


async def test_cancelled_finalize_callback_completes(runtime: Runtime) -> None:
    """It is not interrupted."""
    events: list[str] = []
    reached, may_end = anyio.Event(), anyio.Event()

    async def slow(_: object) -> None:
        reached.set()
        await may_end.wait()
        events.append("complete")

    await runtime.register_finalize_callback(CallbackType.OTHER, slow)
    await runtime.init()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.finalize)
        await reached.wait()
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
            may_end.set()

    assert events == ["complete"]
    assert is_at_rest(runtime)


async def test_finalize_callback_that_hangs_is_bounded_even_when_cancelled() -> None:
    """`callback_timeout` ends it, and the cancellation arrives."""
    reached = anyio.Event()

    async def hangs(_: object) -> None:
        reached.set()
        await anyio.sleep_forever()

    with fresh_runtime(callback_timeout=0.2) as runtime:
        await runtime.register_finalize_callback(CallbackType.OTHER, hangs)
        await runtime.init()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.finalize)
            await reached.wait()
            tasks.cancel_scope.cancel()

        assert is_at_rest(runtime)


async def test_cancelled_undo_completes() -> None:
    """A second cancellation can't stop the first one's clean-up."""
    plan = FaultPlan().fail("init.dump", AclError(507899, "x", "y")).park("undo.MODEL")
    spy = SpyBackend(plan)
    with fresh_runtime(backend=spy) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init, {})
            await plan.wait_parked("undo.MODEL")
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                plan.release("undo.MODEL")

        assert is_at_rest(runtime)
        assert ("undo", "err_msg_mode") in spy.calls


async def test_failure_behind_a_cancellation_is_logged(caplog) -> None:
    """The cancellation is what arrives, and the failure is not lost."""
    plan = FaultPlan().park("finalize.MODEL")
    plan.fail("finalize.dump_stop", AclError(507899, "x", "disk full"))
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        await runtime.init()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.finalize)
            await plan.wait_parked("finalize.MODEL")
            tasks.cancel_scope.cancel()
            plan.release("finalize.MODEL")

        assert is_at_rest(runtime)
        assert "disk full" in caplog.text


# task.cancel(), which no shielded scope keeps out


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def native_backend(request: pytest.FixtureRequest) -> dict[str, bool]:
    return {"use_uvloop": request.param}


def run_native(native_backend: dict[str, bool], main) -> None:
    anyio.run(main, backend="asyncio", backend_options=native_backend)


@pytest.mark.parametrize("point", INIT_POINTS)
def test_native_cancel_of_an_init_step_is_undone(native_backend, point: str) -> None:
    """As with a scope."""

    async def main() -> None:
        plan = FaultPlan().park(point)
        with fresh_runtime(backend=SpyBackend(plan)) as runtime:
            task = asyncio.ensure_future(runtime.init({}))
            await plan.wait_parked(point)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

            assert is_at_rest(runtime)
            plan.release(point)
            async with acl_session({}):
                pass

    run_native(native_backend, main)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("point", FINALIZE_POINTS)
def test_native_cancel_of_a_finalize_step_lets_it_complete(
    native_backend, point: str, times: int
) -> None:
    """However often it is cancelled."""

    async def main() -> None:
        plan = FaultPlan().park(point)
        spy = SpyBackend(plan)
        with fresh_runtime(backend=spy) as runtime:

            async def hold() -> None:
                async with acl_session():
                    pass

            task = asyncio.ensure_future(hold())
            await plan.wait_parked(point)
            for _ in range(times):
                task.cancel()
                await asyncio.sleep(0)

            assert not task.done()
            plan.release(point)
            with pytest.raises(asyncio.CancelledError):
                await task

            assert is_at_rest(runtime)
            assert spy.points[-1] == "finalize.OTHER"

    run_native(native_backend, main)


def test_native_cancel_in_the_flush_cuts_it(native_backend, tmp_path, monkeypatch) -> None:
    """Then finalize completes, and the cancellation arrives."""
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path))

    async def main() -> None:
        with fresh_runtime(log_latency=3600) as runtime:
            sessions = []

            async def hold() -> None:
                async with acl_session(flush_timeout=3600) as session:
                    sessions.append(session)
                    device = await session.open_device()
                    device.write_log(LogLevel.ERROR, "line")

            task = asyncio.ensure_future(hold())
            await anyio.wait_all_tasks_blocked()
            while not (sessions and runtime.statistics().phase is Phase.CLOSING):
                await asyncio.sleep(0.001)

            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

            assert is_at_rest(runtime)
            assert sessions[0].flush_report.outcome is FlushOutcome.SKIPPED
            assert sessions[0].flush_report.left == 1

    run_native(native_backend, main)


def test_native_cancel_of_a_decided_waiter_gives_back(native_backend) -> None:
    """The gate has opened for it, and `cancel` comes before it runs."""

    async def main() -> None:
        plan = FaultPlan().park("init.OTHER")
        with fresh_runtime(backend=SpyBackend(plan)) as runtime:
            first = asyncio.ensure_future(runtime.init({}))
            await plan.wait_parked("init.OTHER")
            waiters = [asyncio.ensure_future(runtime.init({})) for _ in range(3)]
            await anyio.wait_all_tasks_blocked()
            gate = runtime.core.gate
            cancelled = 0
            plan.release("init.OTHER")
            while not first.done():
                await asyncio.sleep(0)
                if gate.state.ref_count == 4 and not cancelled:
                    cancelled = sum(waiter.cancel() for waiter in waiters)

            await asyncio.gather(*waiters, return_exceptions=True)
            held = 1 + sum(not waiter.cancelled() for waiter in waiters)
            assert runtime.statistics().ref_count == held
            for _ in range(held):
                await runtime.finalize_reference()

            assert is_at_rest(runtime)

    run_native(native_backend, main)


def test_native_cancel_of_the_last_decided_waiter_finalizes(native_backend) -> None:
    """Everybody else has left: it ends the runtime before the cancellation goes on."""

    async def main() -> None:
        plan = FaultPlan().park("init.OTHER")
        spy = SpyBackend(plan)
        with fresh_runtime(backend=spy) as runtime:
            waiters: list[asyncio.Task[object]] = []

            async def hold() -> None:
                async with acl_session({}):
                    # The waiter has been decided by now, and has not run yet.
                    waiters[0].cancel()

            first = asyncio.ensure_future(hold())
            await plan.wait_parked("init.OTHER")
            waiters.append(asyncio.ensure_future(runtime.init({})))
            await anyio.wait_all_tasks_blocked()
            plan.release("init.OTHER")
            await first
            with pytest.raises(asyncio.CancelledError):
                await waiters[0]

            assert is_at_rest(runtime)
            assert spy.points[-1] == "finalize.OTHER"
            assert spy.calls.count(("close", "")) == 1

    run_native(native_backend, main)


def test_native_cancel_of_the_last_decided_waiter_waits_for_a_late_callback(
    native_backend,
) -> None:
    """It holds the runtime up; the reference goes back right after it."""

    async def main() -> None:
        plan = FaultPlan().park("init.OTHER")
        with fresh_runtime(backend=SpyBackend(plan)) as runtime:
            waiters: list[asyncio.Task[object]] = []

            async def late(*_: object) -> None:
                await asyncio.sleep(0.02)

            async def hold() -> None:
                await runtime.init({})
                waiters[0].cancel()
                await runtime.finalize_reference()
                await runtime.register_init_callback(CallbackType.OTHER, late)

            first = asyncio.ensure_future(hold())
            await plan.wait_parked("init.OTHER")
            waiters.append(asyncio.ensure_future(runtime.init({})))
            await anyio.wait_all_tasks_blocked()
            plan.release("init.OTHER")
            await first
            with pytest.raises(asyncio.CancelledError):
                await waiters[0]

            assert is_at_rest(runtime)

    run_native(native_backend, main)


def test_errors_group_pickles_and_tells_its_parts() -> None:
    """What a cancelled or failed exit leaves for a log is complete."""
    import pickle  # noqa: PLC0415

    group = FinalizeError("aclFinalize", [AclError(7, "a", "x"), ValueError("y")])
    group.add_note("note")
    again = pickle.loads(pickle.dumps(group))
    assert (again.code, str(again), again.__notes__) == (7, str(group), ["note"])
    assert [str(e) for e in again.exceptions] == [str(e) for e in group.exceptions]
