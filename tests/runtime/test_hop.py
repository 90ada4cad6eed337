"""Calls on an owned thread: order, results, errors, cancellation and the end."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager

import anyio
import pytest

from aclasync.errors import DeviceError
from aclasync.runtime.hop import OwnedThread


@asynccontextmanager
async def owned():
    thread = OwnedThread("aclasync-test")
    try:
        yield thread
    finally:
        thread.close()


async def test_calls_run_in_order_on_one_thread() -> None:
    """Whoever asks."""
    ran: list[int] = []
    threads: set[int] = set()

    def call(number: int) -> None:
        ran.append(number)
        threads.add(threading.get_ident())

    async with owned() as thread, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(thread.call, call, number)
            await anyio.lowlevel.checkpoint()

    assert sorted(ran) == list(range(20))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_result_and_error_come_back() -> None:
    """With the traceback of the thread."""
    async with owned() as thread:
        assert await thread.call(divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            await thread.call(divmod, 7, 0)


async def test_lost_result_is_released() -> None:
    """A call that was cancelled while it ran has made something nobody will get."""
    began, may_end = threading.Event(), threading.Event()
    released: list[str] = []

    def opens() -> str:
        began.set()
        may_end.wait()
        return "opened"

    async with owned() as thread:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:

                async def call() -> None:
                    await thread.call(opens, release=released.append)

                tasks.start_soon(call)
                await anyio.to_thread.run_sync(began.wait)
                scope.cancel()
                may_end.set()

        await thread.call(lambda: None)

    assert released == ["opened"]


async def test_call_on_a_thread_that_has_ended_is_refused() -> None:
    """Instead of waiting for ever; in a forked child no thread of the parent lives on."""
    async with owned() as thread:
        thread.close()
        await thread.wait_ended()
        with pytest.raises(DeviceError, match="has ended"):
            await thread.call(print)


async def test_call_behind_the_end_is_refused() -> None:
    """It would never run, and be waited for for ever."""
    may_end = threading.Event()
    async with owned() as thread, anyio.create_task_group() as tasks:
        tasks.start_soon(thread.call, may_end.wait)
        await anyio.wait_all_tasks_blocked()
        thread.close()
        with pytest.raises(DeviceError, match="has ended"):
            await thread.call(print)

        may_end.set()
