"""Run a main coroutine so that SIGINT and SIGTERM become cancellation.

The first signal cancels, the second one also skips the wait for the device's log, now or later;
the third ends the process at once. Nothing else in the library touches signal handlers.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine
from types import FrameType
from typing import Any, Literal, Self, TypeAlias, TypeVar, TypeVarTuple

import anyio

from aclasync.errors import shown

from .loops import Wakeup
from .runtime import default_runtime

T = TypeVar("T")
Args = TypeVarTuple("Args")

AsyncLibrary: TypeAlias = Literal["asyncio", "trio"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(
    main: Callable[[*Args], Awaitable[T]],
    *args: *Args,
    backend: AsyncLibrary = "asyncio",
    backend_options: dict[str, Any] | None = None,
) -> T:
    """Run `main(*args)` in a new event loop and return its result.

    Args:
      main: a coroutine function.
      args: its arguments.
      backend: the async library, `asyncio` or `trio`.
      backend_options: for `anyio.run`, such as `{"use_uvloop": True}`.

    Raises:
      SystemExit: a signal ended `main`; the code is 130 for SIGINT and 143 for SIGTERM.
      RuntimeError: an event loop runs in this thread already.
      ForkedRuntimeError: this process was forked from one that had initialised ACL.
      TypeError: `main` is a coroutine, or can't be called.
    """
    _check_callable(main)
    default_runtime().core.refuse_forked()
    return anyio.run(_guarded, main, args, backend=backend, backend_options=backend_options)


def _check_callable(main: object) -> None:
    if isinstance(main, Coroutine):
        main.close()
        raise TypeError("run calls the function itself: write run(main), not run(main())")

    if not callable(main):
        raise TypeError(f"run takes a coroutine function, not {shown(main)}")


async def _guarded(main: Callable[[*Args], Awaitable[T]], args: tuple[*Args]) -> T:
    guard = _SignalGuard()
    results: list[T] = []
    failures: list[BaseException] = []
    with guard.installed(), _Alarm() as alarm:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(guard.cancel_on_signal)
            tasks.start_soon(alarm.ring)
            with guard.scope:
                try:
                    results.append(await main(*args))
                except (Exception, KeyboardInterrupt, SystemExit) as exc:  # noqa: BLE001  # raised below
                    failures.append(exc)

            tasks.cancel_scope.cancel()

    if failures:
        raise failures[0]

    if guard.scope.cancelled_caught and guard.received:
        raise SystemExit(128 + guard.received[0])

    return results[0]


class _SignalGuard:
    """Counts signals in the handler, acts on them in the loop."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.received: list[int] = []
        self._wakeup = Wakeup()

    def installed(self) -> _Handlers:
        return _Handlers(self._receive)

    async def cancel_on_signal(self) -> None:
        while True:
            await self._wakeup.wait()
            self._wakeup = Wakeup()
            self.scope.cancel()
            if len(self.received) > 1:
                default_runtime().core.cut_flush()

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        self.received.append(number)
        if len(self.received) > 2:
            os._exit(128 + number)

        self._wakeup.wake()


class _Alarm:
    """Ends the sleep of an event loop when a signal arrives, for the time of a `with`.

    A handler runs between two steps of Python code. A signal that comes after the last of them and
    before the loop sleeps would wait until something else wakes the loop. trio and uvloop see to
    that themselves, asyncio only for handlers of its own.
    """

    def __init__(self) -> None:
        self._bell, self._button = socket.socketpair()
        self._bell.setblocking(False)
        self._button.setblocking(False)

    def __enter__(self) -> Self:
        self._put_in_place(-1, self._button.fileno())
        return self

    def __exit__(self, *_: object) -> None:
        self._put_in_place(self._button.fileno(), -1)
        self._bell.close()
        self._button.close()

    async def ring(self) -> None:
        """Be the task that is woken; to be cancelled."""
        while True:
            await anyio.wait_readable(self._bell)
            self._bell.recv(4096)

    def _put_in_place(self, expected: int, fd: int) -> None:
        """Let the interpreter write to `fd` at a signal, if it writes to the expected one now."""
        if threading.current_thread() is not threading.main_thread():
            return

        found = signal.set_wakeup_fd(fd, warn_on_full_buffer=False)
        if found != expected:
            signal.set_wakeup_fd(found)


class _Handlers:
    """Signal handlers for the time of a `with`; none if this is not the main thread."""

    def __init__(self, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handler = handler
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in _SIGNALS:
            try:
                self._before[number] = signal.signal(number, self._handler)
            except ValueError:  # only the main thread may; there signals stay what they are
                return

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            # None stands for a handler that was not installed from Python, and can't be again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
