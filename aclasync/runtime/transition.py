"""Run one transition: perform an order, feed what became of it, until the machine ends it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio

from aclasync.errors import FinalizeError, shown
from aclasync.lifecycle.events import (
    Closed,
    CloseStopped,
    Effect,
    Opened,
    OpenFailed,
    Outcome,
    Read,
    Release,
    Start,
    StepFailed,
    StepSucceeded,
    Stop,
    Undo,
)

from .gate import Gate
from .span import Span
from .uninterrupted import run_uninterrupted

_log = logging.getLogger("aclasync.lifecycle")

#: Told, under the gate's lock, the effect that ends the transition.
Publish = Callable[[Effect], None]


async def run_opening(
    gate: Gate, read: Read, span: Span | None, outcome: Outcome, publish: Publish
) -> int:
    """Go through the init sequence after the config was read; return the new epoch.

    Raises:
      BaseException: what a step raised, after everything done before it has been undone.
    """
    serial = read.serial
    try:
        effect = gate.feed(serial, outcome, publish)
        while isinstance(effect, Start):
            assert span is not None
            outcome = await _done(span.start, effect)
            effect = gate.feed(serial, outcome, publish)

        if isinstance(effect, Opened):
            return effect.epoch

        begun = effect
        failures = outcome.errors if isinstance(outcome, StepFailed) else ()
        first_failures = [error for error in failures if isinstance(error, Exception)]
        try:
            failed = await run_uninterrupted(lambda: _undo(gate, serial, span, begun, publish))
        except anyio.get_cancelled_exc_class() as cancellation:
            for error in first_failures:
                _log.error("the init had failed before it was cancelled", exc_info=error)
                cancellation.add_note(f"the init had failed before: {shown(error)}")

            raise
    except GeneratorExit as exc:
        gate.abandon(serial, exc)
        raise

    for undo_failure in failed.undo_failures:
        _log.error("undoing the init failed", exc_info=undo_failure)
        failed.error.add_note(f"undoing failed, too: {shown(undo_failure)}")

    raise failed.error


async def run_closing(gate: Gate, first: Stop, span: Span, publish: Publish) -> None:
    """Go through the finalize sequence.

    Raises:
      FinalizeError: the runtime is down, but these steps failed.
      Exception: the step that stopped the sequence; the runtime is as it was.
      BaseException: a callback raised KeyboardInterrupt or SystemExit; the sequence ended first.
    """
    effect: Effect = first
    interrupts: list[BaseException] = []
    # A callback that was cut short by the end of its event loop has failed like any other.
    ordinary = (Exception, anyio.get_cancelled_exc_class())
    try:
        while isinstance(effect, (Stop, Release)):
            if isinstance(effect, Stop):
                failures = await span.stop(effect)
                outcome: Outcome = StepFailed(failures) if failures else StepSucceeded()
                interrupts += (f for f in failures if not isinstance(f, ordinary))
            else:
                outcome = await _done(span.release)

            effect = gate.feed(first.serial, outcome, publish)
    except GeneratorExit as exc:
        gate.abandon(first.serial, exc)
        raise

    if isinstance(effect, CloseStopped):
        raise interrupts[0] if interrupts else effect.error

    assert isinstance(effect, Closed)
    if effect.failures:
        failed = FinalizeError("aclFinalize", effect.failures)
        if interrupts:  # now it may go on
            raise interrupts[0] from failed

        raise failed


async def _undo(
    gate: Gate, serial: int, span: Span | None, effect: Effect, publish: Publish
) -> OpenFailed:
    while isinstance(effect, (Undo, Release)):
        if span is None:  # nothing was begun
            outcome: Outcome = StepSucceeded()
        elif isinstance(effect, Undo):
            outcome = await _done(span.undo, effect.step)
        else:
            outcome = await _done(span.release)

        effect = gate.feed(serial, outcome, publish)

    assert isinstance(effect, OpenFailed)
    return effect


async def _done(perform: Callable[..., Awaitable[None]], *args: object) -> Outcome:
    try:
        await perform(*args)
    except GeneratorExit:
        raise
    except BaseException as exc:  # noqa: BLE001  # raised again when the machine says so
        return StepFailed((exc,))

    return StepSucceeded()
