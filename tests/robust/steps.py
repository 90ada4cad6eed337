"""Run something and strike between two steps of its event loop, at a step of one's choice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, TypeVar

import anyio
import trio
import uvloop

T = TypeVar("T")

LIBRARIES = ("asyncio", "uvloop", "trio")


class Steps:
    """Counts what a loop does from `begin` on, and calls `strike` before the step `at`."""

    def __init__(self) -> None:
        self.taken = 0
        self._at: tuple[int, ...] = ()
        self._strike: Callable[[], object] | None = None

    @property
    def has_struck(self) -> bool:
        """Whether the last chosen step was reached."""
        return bool(self._at) and self.taken >= self._at[-1]

    def begin(self, at: tuple[int, ...], strike: Callable[[], object]) -> None:
        self.taken, self._at, self._strike = 0, at, strike

    def end(self) -> None:
        self._strike = None

    def count(self) -> None:
        if self._strike is not None:
            self.taken += 1
            if self.taken in self._at:
                self._strike()


class _Counted:
    """Counts each callback that the loop beside it runs."""

    steps: Steps

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon(self._run_counted, callback, args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon_threadsafe(self._run_counted, callback, args, context=context)

    def _run_counted(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.steps.count()
        callback(*args)


class _CountedSelector(_Counted, asyncio.SelectorEventLoop):
    pass


class _CountedUvloop(_Counted, uvloop.Loop):
    pass


class _Instrument(trio.abc.Instrument):
    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._steps.count()


def run_counted(library: str, main: Callable[[Steps], Awaitable[T]]) -> T:
    """Run `main(steps)` in a new loop of that library whose steps are counted."""
    steps = Steps()
    if library == "trio":
        options: dict[str, object] = {"instruments": [_Instrument(steps)]}
        return anyio.run(main, steps, backend="trio", backend_options=options)

    def make_loop() -> asyncio.AbstractEventLoop:
        loop = _CountedUvloop() if library == "uvloop" else _CountedSelector()
        loop.steps = steps
        return loop

    return anyio.run(main, steps, backend="asyncio", backend_options={"loop_factory": make_loop})
