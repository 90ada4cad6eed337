"""One task's wait for something that happens on any thread or loop.

The one place that knows how to reach into another event loop. anyio's own events may be set only
from their own loop, and its way in from outside waits for an answer; a gate needs neither.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, final

import anyio


@final
class Wakeup:
    """Made by the task that will wait; `wake` may be called once or more, from anywhere."""

    __slots__ = ("_event", "_native", "_thread_id")

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._native: Any = anyio.lowlevel.current_token().native_token
        self._thread_id = threading.get_ident()

    async def wait(self) -> None:
        """Wait until somebody has called `wake`."""
        await self._event.wait()

    def is_lost(self) -> bool:
        """Whether the loop of the waiting task is closed, so that nobody will ever resume it."""
        # trio can't end a run with a task in it, so only asyncio's loops have this.
        is_closed: Callable[[], bool] | None = getattr(self._native, "is_closed", None)
        return is_closed is not None and is_closed()

    def wake(self) -> bool:
        """Resume the waiting task soon; return False if its loop has gone."""
        try:
            self._schedule()(self._event.set)
        except RuntimeError:  # asyncio: the loop is closed; trio.RunFinishedError is one, too
            return False

        return True

    def _schedule(self) -> Callable[[Callable[[], None]], object]:
        is_trio = hasattr(self._native, "run_sync_soon")
        if is_trio:
            return self._native.run_sync_soon  # type: ignore[no-any-return]  # TrioToken

        # On the loop's own thread nothing sleeps in a selector, so the self-pipe can be spared.
        if threading.get_ident() == self._thread_id:
            return self._native.call_soon  # type: ignore[no-any-return]  # an asyncio loop

        return self._native.call_soon_threadsafe  # type: ignore[no-any-return]  # the same
