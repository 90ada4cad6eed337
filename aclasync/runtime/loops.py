"""Reaching into an event loop from any thread or any other loop.

The one place that knows how. anyio's own events may be set only from their own loop, and its way
in from outside waits for an answer; a gate needs neither.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, final

import anyio


def is_inside_loop() -> bool:
    """Whether an event loop runs in this thread; asyncio knows of none in a forked child."""
    try:
        anyio.lowlevel.current_token()
    except anyio.NoEventLoopError:
        return False

    return True


# The class of anyio's events, by the type of event loop.
_events: dict[type, type[anyio.Event]] = {}


@final
class HomeLoop:
    """The event loop in which this object was made."""

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native: Any = anyio.lowlevel.current_token().native_token

    @property
    def key(self) -> object:
        """The same object for the same event loop, and another for another."""
        return self._native

    def new_event(self) -> anyio.Event:
        """Make an event for tasks of this loop, which must be the running one."""
        # anyio asks which library runs for every event; the loop's type knows it already.
        library = type(self._native)
        make = _events.get(library)
        if make is None:
            make = _events[library] = type(anyio.Event())

        return make()

    def is_closed(self) -> bool:
        """Whether nothing will ever run there again."""
        # trio can't end a run with a task in it, so only asyncio's loops have this.
        is_closed: Callable[[], bool] | None = getattr(self._native, "is_closed", None)
        return is_closed is not None and is_closed()

    def call_soon(self, function: Callable[[], object]) -> bool:
        """Have `function` called there soon; return False if the loop has gone."""
        try:
            self._schedule()(function)
        except RuntimeError:  # asyncio: the loop is closed; trio.RunFinishedError is one, too
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
