"""Event loops that end under a session: shut down at every moment, or closed with tasks in them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

from aclasync import (
    AclSession,
    CallbackType,
    FinalizeError,
    FlushReport,
    LogLevel,
    Phase,
    Runtime,
    acl_session,
)
from aclasync.runtime.loops import HomeLoop
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

T = TypeVar("T")

CONFIG = {"defaultDevice": {"default_device": "0"}}

# Steps of the loop after which it is shut down; a whole life of a session takes fewer.
MOMENTS = 80


@pytest.fixture(autouse=True)
def logs_in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path / "log"))


def shut_down_after(steps: int, *users: Callable[[], Awaitable[object]]) -> bool:
    """Run them in a loop that ends after so many of its steps; say whether they were through."""
    is_through = []

    async def main() -> None:
        tasks = [asyncio.ensure_future(user()) for user in users]
        for _ in range(steps):
            await asyncio.sleep(0)

        is_through.extend(task.done() for task in tasks)

    asyncio.run(main())
    return all(is_through)


def assert_at_rest_and_usable(runtime: Runtime) -> None:
    """Nothing is open, and the next session works."""
    statistics = runtime.statistics()
    assert (statistics.ref_count, statistics.waiting, statistics.phase) == (0, 0, Phase.DOWN)

    async def again() -> None:
        async with acl_session(CONFIG) as session:
            assert session.ref_count == 1

    asyncio.run(again())
    assert runtime.statistics().ref_count == 0


async def a_session() -> None:
    async with acl_session(CONFIG):
        await asyncio.sleep(0)


async def a_session_with_a_device() -> None:
    async with acl_session(CONFIG) as session, session.open_device() as device:
        device.write_log(LogLevel.ERROR, "a line")
        await device.run(len, "abc")


def sleeping_callback(kind: str) -> Callable[..., Awaitable[None]]:
    async def sleep(*_: object) -> None:
        for _step in range(3):
            await asyncio.sleep(0)

    sleep.__name__ = kind
    return sleep


@pytest.mark.parametrize(
    "users",
    [(a_session,), (a_session, a_session), (a_session, a_session_with_a_device)],
    ids=["one", "two", "one and one with a device"],
)
def test_loop_shut_down_at_any_moment_leaves_nothing_open(users) -> None:
    """Also when the task of an init or finalize had not made its first step."""
    with fresh_runtime() as runtime:
        through = 0
        for moment in range(MOMENTS):
            through += shut_down_after(moment, *users)
            assert_at_rest_and_usable(runtime)

        assert MOMENTS - through > 0


def test_loop_shut_down_during_callbacks_leaves_nothing_open() -> None:
    """They see the cancellation, and the sequences go on to their ends."""
    for moment in range(MOMENTS):
        with fresh_runtime() as runtime:

            async def register() -> None:
                await runtime.register_init_callback(CallbackType.DVPP, sleeping_callback("init"))
                await runtime.register_finalize_callback(
                    CallbackType.DVPP, sleeping_callback("finalize")
                )

            asyncio.run(register())
            shut_down_after(moment, a_session, a_session)
            assert_at_rest_and_usable(runtime)


def test_loop_shut_down_while_registering_registers_or_does_not() -> None:
    """A call that was cancelled has changed nothing."""
    plan = FaultPlan().park("init.MODEL", times=1)
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        ended: list[str] = []

        async def register() -> None:
            try:
                await runtime.register_init_callback(CallbackType.OTHER, sleeping_callback("late"))
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        async def main() -> None:
            opening = asyncio.ensure_future(runtime.init(CONFIG))
            await plan.wait_parked("init.MODEL")
            registering = asyncio.ensure_future(register())
            await asyncio.sleep(0)
            plan.release("init.MODEL")
            await opening
            registering.cancel()
            await asyncio.wait([registering])
            assert bool(runtime.statistics().callbacks) is not bool(ended)
            await runtime.finalize_reference()

        asyncio.run(main())


def test_device_closed_twice_at_shutdown_is_waited_for_by_both() -> None:
    """The second closer waits for the first, who has the work done."""
    with fresh_runtime() as runtime:

        async def main() -> None:
            session = acl_session({})
            await session.__aenter__()
            device = await session.open_device()
            first = asyncio.ensure_future(device.aclose())
            await asyncio.sleep(0)
            first.cancel()
            await device.aclose()
            assert first.done()
            await session.__aexit__(None, None, None)

        asyncio.run(main())
        assert runtime.statistics().ref_count == 0


def test_last_session_that_waits_at_the_gate_leaves_at_shutdown() -> None:
    """Its wait for a turn begins again, until it has had it."""
    plan = FaultPlan().park("finalize.MODEL", times=1)
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        entered: list[AclSession] = []

        async def leave() -> None:
            async with acl_session({}) as session:
                entered.append(session)
                while runtime.statistics().phase is Phase.UP:
                    await asyncio.sleep(0)

        async def main() -> None:
            leaving = asyncio.ensure_future(leave())
            while not entered:
                await asyncio.sleep(0)

            # Fails at a later step, so that the session is the one that ends the runtime.
            plan.fail("finalize.DVPP", RuntimeError("not now"), times=1)
            closing = asyncio.ensure_future(runtime.finalize(on_error="stop"))
            await plan.wait_parked("finalize.MODEL")
            while not runtime.statistics().waiting:
                await asyncio.sleep(0)

            del closing, leaving

        asyncio.run(main())
        statistics = runtime.statistics()
        assert (statistics.ref_count, statistics.phase) == (0, Phase.DOWN)


def test_late_callback_of_a_lost_loop_does_not_hold_the_runtime_up(caplog) -> None:
    """Whoever waits for it finds out that nobody will end it."""
    with fresh_runtime() as runtime:
        asyncio.run(runtime.init({}))
        is_running: list[bool] = []

        async def hang(*_: object) -> None:
            is_running.append(True)
            await asyncio.Event().wait()

        async def main() -> asyncio.Future[None]:
            task = asyncio.ensure_future(runtime.register_init_callback(CallbackType.OTHER, hang))
            while not is_running:
                await asyncio.sleep(0)

            return task

        kept = close_the_loop_under(main)
        asyncio.run(runtime.finalize())
        assert runtime.statistics().phase is Phase.DOWN
        assert "closed in the middle of a late callback" in caplog.text
        assert not kept.done()


# The collector closes a chain of coroutines in any order, and Python complains of some.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_session_thrown_away_with_its_loop_is_told_once(caplog) -> None:
    """Nothing can be awaited there: it keeps its reference, and a warning says so."""
    with fresh_runtime() as runtime:
        is_open: list[bool] = []

        async def hold() -> None:
            async with acl_session({}):
                is_open.append(True)
                await asyncio.Event().wait()

        async def main() -> asyncio.Future[None]:
            task = asyncio.ensure_future(hold())
            while not is_open:
                await asyncio.sleep(0)

            return task

        kept = close_the_loop_under(main)
        del kept
        gc.collect()
        assert caplog.text.count("a session was lost with its event loop") == 1
        assert runtime.statistics().ref_count == 1
        asyncio.run(runtime.finalize())


# As above.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_session_collected_while_another_loop_runs_is_not_finalized(caplog) -> None:
    """The collector may come at any moment; it must not run a finalize in somebody's task."""
    with fresh_runtime() as runtime:
        is_open: list[bool] = []

        async def hold() -> None:
            async with acl_session({}):
                is_open.append(True)
                await asyncio.Event().wait()

        async def main() -> asyncio.Future[None]:
            task = asyncio.ensure_future(hold())
            while not is_open:
                await asyncio.sleep(0)

            return task

        kept = [close_the_loop_under(main)]

        async def other() -> None:
            kept.clear()
            gc.collect()

        asyncio.run(other())
        assert caplog.text.count("a session was lost with its event loop") == 1
        assert runtime.statistics().ref_count == 1
        asyncio.run(runtime.finalize())


async def test_generator_that_holds_a_session_leaves_it_when_closed() -> None:
    """It can still await, unlike a task that was thrown away."""

    async def generate() -> AsyncIterator[int]:
        async with acl_session({}) as session:
            yield session.ref_count

    with fresh_runtime() as runtime:
        generator = generate()
        assert await anext(generator) == 1
        await generator.aclose()
        assert runtime.statistics().ref_count == 0


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_loop_that_has_run_to_its_end_is_closed(backend: str) -> None:
    """Nobody waits for a transition that began there."""

    async def main() -> HomeLoop:
        home = HomeLoop()
        assert not home.is_closed()
        return home

    assert anyio.run(main, backend=backend).is_closed()


def close_the_loop_under(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return what `main` returned; the tasks it left in its loop will never go on."""
    loop = asyncio.new_event_loop()
    result = loop.run_until_complete(main())
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is what is tested

    loop.close()
    return result


def test_backend_is_closed_when_the_end_of_its_log_fails(monkeypatch) -> None:
    """A full disk, say; the failure is told, and the device is let go of."""
    spy = SpyBackend()
    with fresh_runtime(backend=spy) as runtime:

        async def main() -> None:
            async with acl_session({}) as session, session.open_device():
                monkeypatch.setattr(
                    type(spy.inner), "end_drain", fail_with(OSError(28, "No space left"))
                )

        with pytest.raises(FinalizeError, match="No space left"):
            asyncio.run(main())

        monkeypatch.undo()
        assert ("close", "") in spy.calls
        assert runtime.statistics().phase is Phase.DOWN


def fail_with(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_shutdown_while_the_log_is_ended_closes_the_backend(tmp_path: Path) -> None:
    """The file that lines go to hangs; the loop is shut down meanwhile, and waits."""
    with fresh_runtime(log_latency=0.2) as runtime:

        async def main() -> None:
            session = acl_session(CONFIG, flush_timeout=0)
            await session.__aenter__()
            device = await session.open_device()
            device.write_log(LogLevel.ERROR, "a line")
            leaving = asyncio.ensure_future(session.__aexit__(None, None, None))
            while runtime.statistics().phase is Phase.UP:
                await asyncio.sleep(0)

            leaving.add_done_callback(lambda _: reports.append(session.flush_report))

        reports: list[FlushReport | None] = []
        asyncio.run(main())
        (report,) = reports
        assert report is not None
        assert (report.delivered, report.left) == (0, 1)
        assert_at_rest_and_usable(runtime)
