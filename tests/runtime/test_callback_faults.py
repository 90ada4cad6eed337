"""Callbacks that raise what nobody expects, and that call what they must not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from aclasync import (
    AclError,
    CallbackError,
    CallbackType,
    FinalizeError,
    ReentrantLifecycleError,
    Runtime,
    acl,
    acl_session,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime


class ShyError(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no repr either")


@pytest.mark.parametrize(
    "error", [ShyError(), GeneratorExit()], ids=["broken repr", "GeneratorExit"]
)
async def test_callback_may_raise_anything(runtime: Runtime, error: BaseException) -> None:
    """It is the callback's failure, and the runtime is down and usable after it."""

    def fail(*_: object) -> None:
        raise error

    await runtime.register_init_callback(CallbackType.OTHER, fail)
    with pytest.raises(CallbackError) as caught:
        await runtime.init({})

    assert caught.value.__cause__ is error
    await runtime.unregister_init_callback(CallbackType.OTHER, fail)
    await runtime.register_finalize_callback(CallbackType.OTHER, fail)
    await runtime.init({})
    with pytest.raises(FinalizeError):
        await runtime.finalize()

    assert runtime.statistics().ref_count == 0


def test_sync_callback_that_raises_a_cancellation_has_failed(runtime: Runtime) -> None:
    """Nobody had cancelled the init."""

    def fail(*_: object) -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        await runtime.register_init_callback(CallbackType.OTHER, fail)
        with pytest.raises(CallbackError, match="Cancelled"):
            await runtime.init({})

    asyncio.run(main())
    assert runtime.statistics().ref_count == 0


async def await_a_cancelled_task() -> None:
    task = asyncio.ensure_future(asyncio.sleep(9))
    task.cancel()
    await task


@asynccontextmanager
async def cancelled_at_exit(*_: object) -> AsyncIterator[None]:
    yield
    await await_a_cancelled_task()


def test_init_callback_that_meets_a_cancellation_of_its_own_has_failed(runtime: Runtime) -> None:
    """The init ends with an error, since nobody has cancelled the init."""

    async def meets(*_: object) -> None:
        await await_a_cancelled_task()

    async def main() -> None:
        await runtime.register_init_callback(CallbackType.OTHER, meets)
        with pytest.raises(CallbackError, match="cancelled from inside"):
            await runtime.init({})

        assert await acl.init() == 500001

    asyncio.run(main())
    assert runtime.statistics().ref_count == 0


def test_context_that_meets_a_cancellation_at_its_exit_keeps_the_body_exception(
    runtime: Runtime,
) -> None:
    """A task group around the session gets the body's exception, and not a cancellation."""

    async def main() -> None:
        await runtime.register_context(CallbackType.OTHER, cancelled_at_exit)
        with pytest.raises(ValueError, match="in the body") as caught:
            async with acl_session({}):
                raise ValueError("in the body")

        assert "cancelled from inside" in caught.value.__notes__[0]
        with pytest.raises(FinalizeError, match="cancelled from inside"):
            async with acl_session({}):
                pass

    asyncio.run(main())
    assert runtime.statistics().ref_count == 0


async def test_error_that_says_success_is_a_failure(runtime: Runtime) -> None:
    """The façade would answer 0 for an init that is not up."""

    def fail(*_: object) -> None:
        raise AclError(0, "mine", "failed")

    await runtime.register_init_callback(CallbackType.OTHER, fail)
    assert await acl.init() == 500001
    assert runtime.statistics().ref_count == 0


async def test_calling_back_through_another_runtime_is_refused(runtime: Runtime) -> None:
    """It would wait for itself all the same."""
    other = Runtime(backend="embedded")

    async def through_the_other(*_: object) -> None:
        await other.init()

    async def back(*_: object) -> None:
        await runtime.init()

    await runtime.register_init_callback(CallbackType.OTHER, through_the_other)
    await other.register_init_callback(CallbackType.OTHER, back)
    with pytest.raises(ReentrantLifecycleError):
        await runtime.init()

    assert (runtime.statistics().ref_count, other.statistics().ref_count) == (0, 0)


async def test_context_registered_by_a_task_of_a_late_callback_is_exited(runtime: Runtime) -> None:
    """The runtime stays up until it is entered, though the callback has returned."""
    events: list[str] = []
    may_enter = anyio.Event()

    @asynccontextmanager
    async def slow(*_: object) -> AsyncIterator[None]:
        events.append("entering")
        await may_enter.wait()
        events.append("entered")
        yield
        events.append("exited")

    async with anyio.create_task_group() as tasks:

        async def start(*_: object) -> None:
            tasks.start_soon(runtime.register_context, CallbackType.MODEL, slow)
            while not events:
                await anyio.lowlevel.checkpoint()

        session = await acl_session()
        await runtime.register_init_callback(CallbackType.OTHER, start)
        tasks.start_soon(session.aclose)
        await anyio.wait_all_tasks_blocked()
        assert events == ["entering"]
        may_enter.set()

    assert events == ["entering", "entered", "exited"]
    assert runtime.statistics().ref_count == 0


async def _swallows(*_: object) -> None:
    with suppress(BaseException):
        await anyio.sleep(9)


async def _shields(*_: object) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.sleep(0.1)


def _blocks(*_: object) -> None:
    time.sleep(0.1)


async def _fails_late(*_: object) -> None:
    try:
        await anyio.sleep(9)
    finally:
        raise ValueError("while cleaning up")


@pytest.mark.parametrize("function", [_swallows, _shields, _blocks, _fails_late])
async def test_callback_that_overran_its_time_has_failed(runtime: Runtime, function) -> None:
    """Whatever it makes of being cancelled, and the error says which one it was."""
    with fresh_runtime(callback_timeout=0.05) as bounded:
        await bounded.register_init_callback(CallbackType.OTHER, function)
        with pytest.raises(CallbackError, match=f"{function.__name__}.*not return.*within 0.05 s"):
            await bounded.init()

        assert bounded.statistics().ref_count == 0


async def test_init_cancelled_while_it_is_undone_keeps_its_first_failure(runtime: Runtime) -> None:
    """As a note to the cancellation."""
    is_undoing = anyio.Event()

    @asynccontextmanager
    async def slow_exit(*_: object) -> AsyncIterator[None]:
        yield
        is_undoing.set()
        await anyio.sleep(0.05)

    def fail(*_: object) -> None:
        raise ValueError("boom")

    await runtime.register_context(CallbackType.MODEL, slow_exit)
    await runtime.register_init_callback(CallbackType.OTHER, fail)
    caught: list[BaseException] = []
    async with anyio.create_task_group() as tasks:

        async def init() -> None:
            try:
                await runtime.init()
            except BaseException as exc:
                caught.append(exc)
                raise

        tasks.start_soon(init)
        await is_undoing.wait()
        tasks.cancel_scope.cancel()

    assert "boom" in caught[0].__notes__[0]
    assert runtime.statistics().ref_count == 0


async def test_waiter_cancelled_during_a_finalize_that_stops_leaves_the_count(
    runtime: Runtime,
) -> None:
    """It had joined, and did not know; the finalize gave up, and its reference must not stay."""
    plan = FaultPlan().park("init.MODEL", times=1)
    with fresh_runtime(backend=SpyBackend(plan)) as spied:

        async def open_and_stop() -> None:
            await spied.init()
            scope.cancel()
            plan.fail("finalize.MODEL", RuntimeError("not now"), times=1)
            with pytest.raises(RuntimeError, match="not now"):
                await spied.finalize(on_error="stop")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_and_stop)
            await plan.wait_parked("init.MODEL")
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(spied.init)
                    await anyio.wait_all_tasks_blocked()
                    plan.release("init.MODEL")
                    await anyio.sleep_forever()

        assert spied.statistics().ref_count == 1
        assert await spied.finalize_reference() == 0


@pytest.mark.parametrize("failing", ["undo.DVPP", "finalize.DVPP"])
async def test_context_whose_step_fails_is_exited_all_the_same(failing: str) -> None:
    """It is not left entered when nobody could tell it at its place in the order."""
    events: list[str] = []

    @asynccontextmanager
    async def context(*_: object) -> AsyncIterator[None]:
        events.append("entered")
        yield
        events.append("exited")

    plan = FaultPlan().fail(failing, ValueError("at its step"))
    if failing.startswith("undo"):
        plan.fail("init.OTHER", KeyError("that is undone"))

    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        await runtime.register_context(CallbackType.DVPP, context)
        with pytest.raises((FinalizeError, KeyError)):
            async with acl_session():
                pass

        assert events == ["entered", "exited"]
        assert runtime.statistics().ref_count == 0
