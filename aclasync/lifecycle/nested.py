"""The hot path of a server: a runtime that is up gains and loses one of several references.

Two rows of the machine's table, cut down to a number that is compared and a count that changes;
where anything else needs a thought, the number does not fit, and the machine decides.
"""

from __future__ import annotations

from .state import LifecycleState, Phase, Standing


def is_up(state: LifecycleState) -> bool:
    """Whether somebody holds a reference and no transition is under way."""
    return state.standing.phase is Phase.UP


def epoch_to_count_in(standing: Standing) -> int:
    """Return the epoch whose references may be counted up, and down to one, without the machine.

    0 if there is none. It is asked when the standing changes, which counting does not do.
    """
    return standing.epoch if standing.phase is Phase.UP else 0
