"""The hot path of a server: a runtime that is up gains and loses one of several references.

Two rows of the machine's table, cut down to what they do when nothing needs a thought; where
something does, they give None, and the machine decides.
"""

from __future__ import annotations

from .state import LifecycleState, Phase

# Looking a member up in its enum, and calling a named tuple's own __new__, would cost more than
# the decision itself.
_UP = Phase.UP
_new = tuple.__new__


def is_up(state: LifecycleState) -> bool:
    """Whether somebody holds a reference and no transition is under way."""
    return state.standing.phase is Phase.UP


def nested_entry(state: LifecycleState) -> LifecycleState | None:
    """Return the state after a nested init that needs no thought, or None if `step` must decide.

    This is the hot path of a server: the runtime is up, and the caller brings the very
    configuration that runs, or none.
    """
    ref_count, standing = state
    if standing.phase is not _UP:
        return None

    return _new(LifecycleState, (ref_count + 1, standing))


def nested_exit(state: LifecycleState, epoch: int) -> LifecycleState | None:
    """Return the state after a holder of several left, or None if `step` must decide."""
    ref_count, standing = state
    if ref_count > 1 and standing.phase is _UP and standing.epoch == epoch:
        return _new(LifecycleState, (ref_count - 1, standing))

    return None
