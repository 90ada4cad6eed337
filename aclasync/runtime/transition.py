"""Run one transition: perform an order, feed what became of it, until the machine ends it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from aclasync.errors import AclError, FinalizeError
from aclasync.lifecycle.events import (
    Closed,
    CloseStopped,
    ConfigRead,
    Effect,
    Opened,
    OpenFailed,
    Outcome,
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
    gate: Gate, span: Span | None, outcome: ConfigRead | StepFailed, publish: Publish
) -> int:
    """Go through the init sequence after the config was read; return the new epoch.

    Raises:
      BaseException: what a step raised, after everything done before it has been undone.
    """
    effect = gate.feed(outcome, publish)
    if span is None:
        assert isinstance(effect, OpenFailed)
        raise effect.error

    try:
        while isinstance(effect, Start):
            effect = gate.feed(await _start(span, effect), publish)

        if isinstance(effect, Opened):
            return effect.epoch

        failed = await run_uninterrupted(lambda: _undo(gate, span, effect, publish))
    except GeneratorExit as exc:
        gate.abandon(exc)
        raise

    for undo_failure in failed.undo_failures:
        _log.error("undoing the init failed", exc_info=undo_failure)
        failed.error.add_note(f"undoing failed, too: {undo_failure!r}")

    raise failed.error


async def run_closing(gate: Gate, span: Span, first: Stop, publish: Publish) -> None:
    """Go through the finalize sequence.

    Raises:
      FinalizeError: the runtime is down, but these steps failed.
      Exception: the step that stopped the sequence; the runtime is as it was.
      BaseException: a callback raised KeyboardInterrupt, SystemExit or a cancellation of its own.
    """
    effect: Effect = first
    interrupts: list[BaseException] = []
    try:
        while isinstance(effect, Stop):
            failures = await span.stop(effect)
            interrupts += (f for f in failures if not isinstance(f, Exception))
            outcome: Outcome = StepFailed(failures) if failures else StepSucceeded()
            effect = gate.feed(outcome, publish)
    except GeneratorExit as exc:
        gate.abandon(exc)
        raise

    if isinstance(effect, CloseStopped):
        raise interrupts[0] if interrupts else effect.error

    assert isinstance(effect, Closed)
    await span.close()
    if effect.failures:
        failed = FinalizeError("aclFinalize", effect.failures)
        if interrupts:  # a KeyboardInterrupt or SystemExit of a callback's: now it may go on
            raise interrupts[0] from failed

        raise failed


async def _start(span: Span, order: Start) -> Outcome:
    try:
        await span.start(order)
    except AclError as exc:
        # A step of the backend's that fails has had no effect; a pass of callbacks may have.
        return StepFailed((exc,), took_effect=order.entry.notifies is not None)
    except GeneratorExit:
        raise
    except BaseException as exc:  # noqa: BLE001  # raised again once everything is undone
        return StepFailed((exc,), took_effect=True)

    return StepSucceeded()


async def _undo(gate: Gate, span: Span, effect: Effect, publish: Publish) -> OpenFailed:
    while isinstance(effect, Undo):
        try:
            await span.undo(effect.step)
        except GeneratorExit:
            raise
        except BaseException as exc:  # noqa: BLE001  # becomes a note on the failure undone for
            outcome: Outcome = StepFailed((exc,))
        else:
            outcome = StepSucceeded()

        effect = gate.feed(outcome, publish)

    assert isinstance(effect, OpenFailed)
    await span.close()
    return effect
