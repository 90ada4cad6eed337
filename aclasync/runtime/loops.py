"""Reaching into an event loop from any thread or any other loop.

The one place that knows how. anyio's own events may be set only from their own loop, and its way
in from outside waits for an answer; a gate needs neither.
"""

from __future__ import annotations

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


@final
class HomeLoop:
    """The event loop in which this object was made."""

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native: Any = anyio.lowlevel.current_token().native_token

    def is_same_as(self, other: HomeLoop) -> bool:
        """Whether both are one event loop."""
        return self._native is other._native

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
        self._event = anyio.Event()
        self.home: HomeLoop = HomeLoop()

    async def wait(self) -> None:
        """Wait until somebody has called `wake`."""
        await self._event.wait()

    def wake(self) -> bool:
        """Resume the waiting task soon; return False if its loop has gone."""
        return self.home.call_soon(self._event.set)
