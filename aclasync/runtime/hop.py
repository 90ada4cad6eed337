"""Blocking calls on a thread that one owner keeps, and their results back to any loop.

A device's context belongs to a thread, so its calls can't go to a pool. The thread is a daemon:
a forgotten owner must not keep the process alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar, final

import anyio

from aclasync.codes import AclCode
from aclasync.errors import DeviceError

from .loops import Wakeup, Wakeups
from .uninterrupted import run_uninterrupted

T = TypeVar("T")


async def in_worker_thread(
    function: Callable[..., T], *args: object, abandon_on_cancel: bool = False
) -> T:
    """Run `function(*args)` in a worker thread, which the work of others can't keep busy.

    A thread of anyio's, so that `function` may use `anyio.from_thread`.
    Cancellation: waits for the function, or leaves it alone with `abandon_on_cancel`.
    """
    return await anyio.to_thread.run_sync(
        function, *args, abandon_on_cancel=abandon_on_cancel, limiter=anyio.CapacityLimiter(1)
    )


async def in_short_thread(function: Callable[..., T], *args: object) -> T:
    """Run `function(*args)` in a thread of its own, which keeps no process from ending.

    Cancellation: as `OwnedThread.call`.
    """
    thread = OwnedThread("aclasync-short")
    try:
        return await thread.call(function, *args)
    finally:
        thread.close()


@final
class OwnedThread:
    """A thread that runs what it is given, one call at a time, in the order of arrival."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._has_ended = False
        self._waiting_for_end: list[Wakeup] = []
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def call(
        self,
        function: Callable[..., T],
        *args: object,
        release: Callable[[T], object] | None = None,
    ) -> T:
        """Run `function(*args)` on the thread and return its result.

        Cancellation: a call that has not begun is dropped; one that runs is waited for, since it
        can't be interrupted, and the cancellation is delivered after it. The result is then given
        to `release`, on the thread too.

        Raises:
          DeviceError: the thread has ended (107002).
        """
        call = _Call(function, args)
        self._put(call)
        try:
            await call.wakeup.wait()
        except GeneratorExit:
            call.drop()
            raise
        except BaseException:
            if not call.drop():
                await run_uninterrupted(call.wakeup.wait, expects_cancel=True)
                if release is not None and call.error is None:
                    self._put(_Call(release, (call.result,)))

            raise

        if call.error is not None:
            raise call.error

        return call.result  # type: ignore[no-any-return]  # what `function` returned

    def close(self) -> None:
        """Let the thread end after the calls it already has."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._calls.put(None)

    async def wait_ended(self) -> None:
        """Wait until the thread has done all its calls and was closed."""
        wakeup = Wakeup()
        with self._lock:
            if self._has_ended:
                return

            self._waiting_for_end.append(wakeup)

        await wakeup.wait()

    def _put(self, call: _Call) -> None:
        # Nothing may be put behind the end: it would be waited for and never run.
        with self._lock:
            if self._is_closed or not self._thread.is_alive():
                raise DeviceError(
                    AclCode.RT_CONTEXT_NULL,
                    self.name,
                    "the thread that owned the device has ended; in a forked process it never "
                    'lived: start workers with the "spawn" start method',
                )

            self._calls.put(call)

    def _work(self) -> None:
        wakeups = Wakeups()
        while (call := self._calls.get()) is not None:
            if call.run():
                wakeups.wake(call.wakeup)

            del call  # a waiting thread must not keep the last call's arguments alive

        with self._lock:
            self._has_ended = True
            waiting, self._waiting_for_end = self._waiting_for_end, []

        for wakeup in waiting:
            wakeup.wake()


class _Call:
    __slots__ = ("_is_taken", "args", "error", "function", "result", "wakeup")

    def __init__(self, function: Callable[..., Any], args: tuple[object, ...]) -> None:
        self.function = function
        self.args = args
        self.wakeup = Wakeup()
        self.result: Any = None
        self.error: BaseException | None = None
        self._is_taken = threading.Lock()

    def run(self) -> bool:
        """Do it, unless it was dropped; return whether it was done."""
        if not self._is_taken.acquire(blocking=False):
            return False

        try:
            self.result = self.function(*self.args)
        except BaseException as exc:  # noqa: BLE001  # raised again in the caller's task
            self.error = exc

        return True

    def drop(self) -> bool:
        """Keep the call from running; return False if it runs already, or did."""
        return self._is_taken.acquire(blocking=False)
