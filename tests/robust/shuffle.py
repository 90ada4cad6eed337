"""An asyncio loop whose ready tasks take their steps in an order drawn from a seed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextvars import Context
from typing import Any

# A callback is passed over this often at most, so that everything comes to its turn.
MOST_PASSES = 3


class ShuffledLoop(asyncio.SelectorEventLoop):
    """Passes over a callback now and then; the same seed gives the same order again."""

    def __init__(self) -> None:
        self.chance: random.Random | None = None
        super().__init__()

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        entry = _Entry(self, callback, args, context)
        entry.handle = super().call_soon(entry.run, context=context)
        return entry.handle

    def call_again(self, entry: _Entry) -> None:
        super().call_soon(entry.run, context=entry.context)


class _Entry:
    def __init__(
        self,
        loop: ShuffledLoop,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> None:
        self.loop = loop
        self.callback = callback
        self.args = args
        self.context = context
        self.passes = 0
        self.handle: asyncio.Handle | None = None

    def run(self) -> None:
        if self.handle is not None and self.handle.cancelled():  # after it was passed over
            return

        chance = self.loop.chance
        if chance is not None and self.passes < MOST_PASSES and chance.random() < 0.3:
            self.passes += 1
            self.loop.call_again(self)
        else:
            self.callback(*self.args)
