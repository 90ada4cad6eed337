"""Reaching into an event loop from any thread or any other loop.

The one place that knows how. anyio's own events may be set only from their own loop, and its way
in from outside waits for an answer; a gate needs neither.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, final

import anyio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future


def is_being_cancelled() -> bool:
    """Whether somebody has cancelled the running task, or a scope around it.

    A task can also meet a cancellation that is not its own: by awaiting another that was cancelled.
    """
    if anyio.current_effective_deadline() == -math.inf:
        return True

    if not hasattr(HomeLoop().key, "call_soon_threadsafe"):
        return True  # trio has scopes only, and tells nobody of another's

    from asyncio import current_task  # noqa: PLC0415  # anyio does not tell

    task = current_task()
    return task is not None and task.cancelling() > 0


def is_thrown_away() -> bool:
    """Whether a GeneratorExit of this moment comes from a coroutine that nobody will resume.

    Then nothing can be awaited. An async generator that is closed can await in its `finally`.
    """
    if not is_inside_loop():
        return True

    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # the way to see who awaits us
    while frame is not None and frame.f_code.co_flags & CO_COROUTINE:
        frame = frame.f_back

    return frame is None or not frame.f_code.co_flags & CO_ASYNC_GENERATOR


def is_inside_loop() -> bool:
    """Whether an event loop runs in this thread; asyncio knows of none in a forked child."""
    try:
        anyio.lowlevel.current_token()
    except anyio.NoEventLoopError:
        return False

    return True


def _running_native() -> Any:
    """Return the loop of the running asyncio task, or what anyio has as the token of others."""
    # anyio looks for its own backend first, which takes four times as long. In trio, a guest in an
    # asyncio loop or not, no task of asyncio runs.
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio is not None else None
    except RuntimeError:
        task = None

    return anyio.lowlevel.current_token().native_token if task is None else task.get_loop()


class _Event(Protocol):
    def set(self) -> object: ...

    async def wait(self) -> object: ...


@final
class _AsyncioEvent:
    """An event that one task at a time may wait for: a future, at a third of the usual cost."""

    __slots__ = ("_future", "_is_set", "_loop")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._is_set = False
        self._future: Future[None] | None = None

    def set(self) -> None:
        self._is_set = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        if self._is_set:
            await anyio.lowlevel.checkpoint()
            return

        assert self._future is None or self._future.done(), "another task waits"
        # A new one each time: being cancelled, a task cancels the future that it waits for.
        self._future = self._loop.create_future()
        await self._future


@final
class HomeLoop:
    """The event loop in which this object was made."""

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native: Any = _running_native()

    @property
    def key(self) -> object:
        """The same object for the same event loop, and another for another."""
        return self._native

    def new_event(self) -> _Event:
        """Make an event for one waiting task of this loop, which must be the running one."""
        is_asyncio = hasattr(self._native, "create_future")
        return _AsyncioEvent(self._native) if is_asyncio else anyio.Event()

    def is_closed(self) -> bool:
        """Whether nothing will ever run there again."""
        is_closed: Callable[[], bool] | None = getattr(self._native, "is_closed", None)
        if is_closed is None:  # trio says so when it is asked to do something
            return not self.call_soon(int)

        return is_closed()

    def call_soon(self, function: Callable[[], object]) -> bool:
        """Have `function` called there soon; return False if the loop has gone."""
        try:
            self._schedule()(function)
        except (RuntimeError, OSError):
            # Closed, or finished (trio.RunFinishedError is a RuntimeError), or it has crashed.
            return False

        return True

    def _schedule(self) -> Callable[[Callable[[], object]], object]:
        # Of a trio token or an asyncio loop. The latter's call_soon would not do on its own thread
        # either: a signal handler runs there while the loop sleeps, and must wake it up.
        schedule: Callable[[Callable[[], object]], object] | None
        schedule = getattr(self._native, "run_sync_soon", None)
        return schedule or self._native.call_soon_threadsafe  # type: ignore[no-any-return]  # as said


@final
class Wakeup:
    """One task's wait; made by the task that will wait, and `wake` may be called from anywhere."""

    __slots__ = ("_event", "home")

    def __init__(self) -> None:
        self.home: HomeLoop = HomeLoop()
        self._event = self.home.new_event()

    async def wait(self) -> None:
        """Wait until somebody has called `wake`."""
        await self._event.wait()

    def wake(self) -> bool:
        """Resume the waiting task soon; return False if its loop has gone."""
        return self.home.call_soon(self._event.set)

    def wake_here(self) -> None:
        """Resume the waiting task, which is in this loop."""
        self._event.set()


@final
class Wakeups:
    """Wakes tasks from one foreign thread; those that are due together, by one call into a loop.

    Such a call costs a write to the loop's pipe, and the interpreter's lock changes hands for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: dict[object, list[Wakeup]] = {}

    def wake(self, wakeup: Wakeup) -> None:
        """Resume its task soon, if its loop still runs."""
        key = wakeup.home.key
        with self._lock:
            due = self._due.setdefault(key, [])
            due.append(wakeup)
            is_first = len(due) == 1

        if is_first and not wakeup.home.call_soon(lambda: self._deliver(key)):
            self._take(key)

    def _deliver(self, key: object) -> None:
        for wakeup in self._take(key):
            wakeup.wake_here()

    def _take(self, key: object) -> list[Wakeup]:
        with self._lock:
            return self._due.pop(key, [])
