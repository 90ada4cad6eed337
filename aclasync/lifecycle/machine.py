"""The lifecycle: one table of what each event does in each phase, and the functions it names.

Everything that changes a `LifecycleState` is in this file. It does not know who calls, on which
loop or thread, or how an order is carried out; it only trusts that orders are carried out one at
a time and that each outcome is fed back.

A request is answered at once with a decision. `Read` and a first `Stop` hand the caller a
transition: it performs the orders and feeds the outcomes until `Opened`, `OpenFailed`, `Closed`
or `CloseStopped` ends it. What a table cannot say: an init that fails goes back through `Undo`
for every step that had an effect, last first, whatever each of those does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from aclasync.errors import AclError
from aclasync.product import LifecycleRules

from .events import (
    Abandoned,
    Closed,
    CloseStopped,
    ConfigRead,
    Counted,
    Effect,
    Event,
    FinalizeRequested,
    Forked,
    Held,
    HoldEnded,
    HoldRequested,
    InitRequested,
    Joined,
    NothingToDo,
    Opened,
    OpenFailed,
    Read,
    ReadFirst,
    Refused,
    Release,
    ReleaseRequested,
    Start,
    StepFailed,
    StepSucceeded,
    Stop,
    Undo,
    Wait,
    Withdrawn,
)
from .refusals import (
    finalized_already,
    forked_child,
    interrupted,
    lost_loop,
    mismatch_while_down,
    mismatch_while_up,
    no_callbacks,
    no_references,
    nothing_to_give_back,
    swept_away,
)
from .sequence import FINALIZE_ORDER, INIT_ORDER, InitStep
from .state import (
    NO_CONTENT,
    Closing,
    LifecycleState,
    OnError,
    OnMismatch,
    Opening,
    Phase,
    Standing,
)

Transition = tuple[LifecycleState, Effect]

# What `Read` covers: the machine's own steps, and the ones it then orders.
_AFTER_READING = tuple(e for e in INIT_ORDER if e.step not in (InitStep.READ, InitStep.PIN))


def initial_state(rules: LifecycleRules) -> LifecycleState:
    """Return the state of a runtime that nobody has used."""
    return LifecycleState(0, Standing(rules))


def step(state: LifecycleState, event: Event) -> Transition:
    """Return the state after `event` and what is to be done about it.

    Raises:
      KeyError: the event can't happen in this phase; the caller has a bug.
    """
    return TABLE[type(event), state.standing.phase](state, event)


# Requests


def _wait(state: LifecycleState, _: Event) -> Transition:
    return state, Wait()


def _hold(state: LifecycleState, event: HoldRequested) -> Transition:
    standing = state.standing
    if not standing.rules.has_callbacks:
        return state, Refused(no_callbacks(event.function))

    held = _moved(state, holds=standing.holds + 1)
    return held, Held(standing.epoch, is_up=standing.phase is Phase.UP)


def _end_hold(state: LifecycleState, _: Event) -> Transition:
    return _moved(state, holds=state.standing.holds - 1), NothingToDo()


def refusal_of_forked_child(state: LifecycleState) -> AclError | None:
    """Return what every call in a forked child raises; None in any other process."""
    standing = state.standing
    return forked_child(standing.parent_pid) if standing.phase is Phase.FORKED else None


def _refuse_forked(state: LifecycleState, _: Event) -> Transition:
    return state, Refused(forked_child(state.standing.parent_pid))


def _begin_opening(state: LifecycleState, event: InitRequested) -> Transition:
    if state.standing.holds:
        return state, Wait()

    serial = state.standing.serial + 1
    opening = Opening(event.policy, event.rules, event.content)
    began = _moved(state, phase=Phase.OPENING, transition=opening, serial=serial)
    return began, Read(serial)


def _join(state: LifecycleState, event: InitRequested) -> Transition:
    standing = state.standing
    running = standing.running or NO_CONTENT
    joined = LifecycleState(state.ref_count + 1, standing)
    on_mismatch = event.policy.on_mismatch
    is_ignored = on_mismatch is OnMismatch.IGNORE or not standing.rules.pins_config
    is_same = True if event.content is None else event.content.is_same_as(running)
    join = partial(
        Joined, standing.rules.reports_repeat, epoch=standing.epoch, ref_count=joined.ref_count
    )
    if is_same:
        return joined, join(config_applied=True)

    if is_ignored:
        return joined, join(config_applied=False)

    if is_same is None:
        return state, ReadFirst()

    if on_mismatch is OnMismatch.WARN:
        return joined, join(config_applied=False, warns=True)

    return state, Refused(mismatch_while_up(event.content or NO_CONTENT, running))


def _release(state: LifecycleState, event: ReleaseRequested) -> Transition:
    if event.epoch is None and not state.standing.rules.has_callbacks:
        return state, Refused(no_references())

    if event.epoch not in (None, state.standing.epoch):
        return _refuse_swept(state, event)

    if state.ref_count > 1:
        count = state.ref_count - 1
        return LifecycleState(count, state.standing), Counted(count, state.standing.epoch)

    return _begin_closing(state, event.on_error)


def _refuse_release(state: LifecycleState, event: ReleaseRequested) -> Transition:
    if event.epoch is not None:
        return _refuse_swept(state, event)

    has_references = state.standing.rules.has_callbacks
    return state, Refused(nothing_to_give_back() if has_references else no_references())


def _refuse_swept(state: LifecycleState, _: Event) -> Transition:
    return state, Refused(swept_away())


def _finalize(state: LifecycleState, event: FinalizeRequested) -> Transition:
    if state.standing.rules.finalize_counts_down and state.ref_count > 1:
        count = state.ref_count - 1
        return LifecycleState(count, state.standing), Counted(count, state.standing.epoch)

    return _begin_closing(state, event.on_error)


def _finalize_while_down(state: LifecycleState, event: FinalizeRequested) -> Transition:
    if state.standing.rules.finalize_counts_down:
        return state, NothingToDo()

    if state.standing.is_finalized:
        return state, Refused(finalized_already())

    return _begin_closing(state, event.on_error)


def _begin_closing(state: LifecycleState, on_error: OnError) -> Transition:
    standing = state.standing
    if standing.holds:
        return state, Wait()

    serial = standing.serial + 1
    has_callbacks = standing.rules.has_callbacks
    plan = tuple(e for e in FINALIZE_ORDER if e.notifies is None or has_callbacks)
    closing = Closing(on_error, before=standing.phase, plan=plan)
    began = _moved(state, phase=Phase.CLOSING, transition=closing, serial=serial)
    return began, Stop(closing.plan[0], on_error, serial)


# Outcomes of an init


def _judge_config(state: LifecycleState, event: ConfigRead) -> Transition:
    standing = state.standing
    opening = _opening(standing)
    plan = tuple(
        entry
        for entry in _AFTER_READING
        if (event.is_given or not entry.needs_config)
        and (entry.notifies is None or opening.rules.has_callbacks)
    )
    opening = opening._replace(content=event.content, plan=plan, faults=event.faults)
    state = _moved(state, transition=opening)

    if (unreadable := event.faults.get(InitStep.READ)) is not None:
        return _begin_undo(state, unreadable, 0)

    pinned = standing.pinned
    if pinned is not None and opening.rules.pins_config and event.content.raw != pinned.raw:
        return _begin_undo(state, mismatch_while_down(event.content, pinned), 0)

    if opening.policy.validates_first and event.invalid is not None:
        return _begin_undo(state, event.invalid, 0)

    return _next_start(state)


def _advance_opening(state: LifecycleState, _: StepSucceeded) -> Transition:
    opening = _opening(state.standing)
    if opening.failure is not None:
        return _next_undo(_moved(state, transition=opening._replace(undoing=opening.undoing[1:])))

    return _next_start(_moved(state, transition=opening._replace(at=opening.at + 1)))


def _next_start(state: LifecycleState) -> Transition:
    standing = state.standing
    opening = _opening(standing)
    if opening.at == len(opening.plan):
        epoch = standing.epoch + 1
        pinned = standing.pinned or opening.content
        up = standing._replace(
            rules=opening.rules,
            phase=Phase.UP,
            epoch=epoch,
            running=opening.content,
            pinned=pinned if opening.rules.pins_config else None,
            is_finalized=False,
            transition=None,
        )
        return LifecycleState(1, up), Opened(epoch)

    entry = opening.plan[opening.at]
    if (fault := opening.faults.get(entry.step)) is not None:
        return _begin_undo(state, fault, opening.at)

    return state, Start(entry)


def _fail_opening(state: LifecycleState, event: StepFailed) -> Transition:
    opening = _opening(state.standing)
    if opening.failure is not None:
        undone = opening._replace(
            undoing=opening.undoing[1:],
            undo_failures=(*opening.undo_failures, *event.errors),
        )
        return _next_undo(_moved(state, transition=undone))

    # The failing step is undone, too: a pass of callbacks may have had an effect, and so may a
    # step that died half-way; undoing one without an effect does nothing.
    return _begin_undo(state, event.errors[0], opening.at + 1)


def _begin_undo(state: LifecycleState, error: BaseException, reached: int) -> Transition:
    opening = _opening(state.standing)
    undoing = tuple(entry.step for entry in reversed(opening.plan[:reached]))
    return _next_undo(_moved(state, transition=opening._replace(failure=error, undoing=undoing)))


def _next_undo(state: LifecycleState) -> Transition:
    opening = _opening(state.standing)
    if opening.undoing:
        return state, Undo(opening.undoing[0])

    if not opening.is_released:
        return _moved(state, transition=opening._replace(is_released=True)), Release()

    assert opening.failure is not None
    effect = OpenFailed(opening.failure, opening.undo_failures)
    return _moved(state, phase=Phase.DOWN, transition=None), effect


# Outcomes of a finalize


def _advance_closing(state: LifecycleState, _: StepSucceeded) -> Transition:
    closing = _closing(state.standing)
    return _next_stop(state, closing._replace(at=closing.at + 1))


def _fail_closing(state: LifecycleState, event: StepFailed) -> Transition:
    closing = _closing(state.standing)
    errors = tuple(e if isinstance(e, Exception) else interrupted(e) for e in event.errors)
    if closing.on_error is OnError.STOP and closing.at < len(closing.plan):
        return _moved(state, phase=closing.before, transition=None), CloseStopped(errors[0])

    failures = (*closing.failures, *errors)
    return _next_stop(state, closing._replace(at=closing.at + 1, failures=failures))


def _next_stop(state: LifecycleState, closing: Closing) -> Transition:
    moved = _moved(state, transition=closing)
    if closing.at < len(closing.plan):
        return moved, Stop(closing.plan[closing.at], closing.on_error, state.standing.serial)

    if closing.at == len(closing.plan):
        return moved, Release()

    down = state.standing._replace(
        phase=Phase.DOWN, running=None, is_finalized=True, transition=None
    )
    return LifecycleState(0, down), Closed(closing.failures)


# Facts from outside


def _withdraw(state: LifecycleState, event: Withdrawn) -> Transition:
    decision = event.decision
    standing = state.standing
    match decision:
        case Joined(epoch=standing.epoch) if standing.phase is Phase.UP:
            return _give_back(state, may_close=event.may_close)
        case Joined(epoch=standing.epoch) if standing.phase is Phase.CLOSING:
            return state, Wait()  # a finalize that stops at a failure leaves the count as it is
        case Counted(epoch=standing.epoch) if standing.phase in (Phase.UP, Phase.CLOSING):
            return LifecycleState(state.ref_count + 1, standing), NothingToDo()
        case Held(epoch=standing.epoch):
            return _end_hold(state, event)
        case Read(serial=standing.serial):
            return _moved(state, phase=Phase.DOWN, transition=None), NothingToDo()
        case Stop(serial=standing.serial):
            before = _closing(standing).before
            return _moved(state, phase=before, transition=None), NothingToDo()
        case _:  # nothing was decided, or somebody has ended that opening since
            return state, NothingToDo()


def _give_back(state: LifecycleState, *, may_close: bool) -> Transition:
    if state.ref_count == 1 and not may_close:
        return state, NothingToDo()

    return _release(state, ReleaseRequested(OnError.CONTINUE))


def _abandon_opening(state: LifecycleState, event: Abandoned) -> Transition:
    down = _moved(state, phase=Phase.DOWN, transition=None)
    return down, OpenFailed(event.error)


def _abandon_closing(state: LifecycleState, event: Abandoned) -> Transition:
    closing = _closing(state.standing)
    failures = (*closing.failures, lost_loop(event.error))
    return _next_stop(state, closing._replace(at=len(closing.plan) + 1, failures=failures))


def _fork(state: LifecycleState, event: Forked) -> Transition:
    standing = state.standing
    if standing.phase is Phase.FORKED:
        return state, NothingToDo()

    if standing.phase is Phase.DOWN and standing.epoch == 0:  # it works in the child as well
        return _moved(state, holds=0), NothingToDo()

    forked = standing._replace(
        phase=Phase.FORKED, transition=None, holds=0, parent_pid=event.parent_pid
    )
    return LifecycleState(0, forked), NothingToDo()


# What the functions above share


def _moved(state: LifecycleState, **changes: Any) -> LifecycleState:
    return LifecycleState(state.ref_count, state.standing._replace(**changes))


def _opening(standing: Standing) -> Opening:
    assert isinstance(standing.transition, Opening)
    return standing.transition


def _closing(standing: Standing) -> Closing:
    assert isinstance(standing.transition, Closing)
    return standing.transition


Handler = Callable[[LifecycleState, Any], Transition]

TABLE: dict[tuple[type[Event], Phase], Handler] = {
    (InitRequested, Phase.DOWN): _begin_opening,
    (InitRequested, Phase.OPENING): _wait,
    (InitRequested, Phase.UP): _join,
    (InitRequested, Phase.CLOSING): _wait,
    (InitRequested, Phase.FORKED): _refuse_forked,
    (ReleaseRequested, Phase.DOWN): _refuse_release,
    (ReleaseRequested, Phase.OPENING): _wait,
    (ReleaseRequested, Phase.UP): _release,
    (ReleaseRequested, Phase.CLOSING): _wait,
    (ReleaseRequested, Phase.FORKED): _refuse_forked,
    (FinalizeRequested, Phase.DOWN): _finalize_while_down,
    (FinalizeRequested, Phase.OPENING): _wait,
    (FinalizeRequested, Phase.UP): _finalize,
    (FinalizeRequested, Phase.CLOSING): _wait,
    (FinalizeRequested, Phase.FORKED): _refuse_forked,
    (HoldRequested, Phase.DOWN): _hold,
    (HoldRequested, Phase.OPENING): _wait,
    (HoldRequested, Phase.UP): _hold,
    (HoldRequested, Phase.CLOSING): _wait,
    (HoldRequested, Phase.FORKED): _refuse_forked,
    (ConfigRead, Phase.OPENING): _judge_config,
    (StepSucceeded, Phase.OPENING): _advance_opening,
    (StepFailed, Phase.OPENING): _fail_opening,
    (StepSucceeded, Phase.CLOSING): _advance_closing,
    (StepFailed, Phase.CLOSING): _fail_closing,
    (Abandoned, Phase.OPENING): _abandon_opening,
    (Abandoned, Phase.CLOSING): _abandon_closing,
    **{(Withdrawn, phase): _withdraw for phase in Phase},
    **{(HoldEnded, phase): _end_hold for phase in Phase},
    **{(Forked, phase): _fork for phase in Phase},
}
