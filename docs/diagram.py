"""The state diagram, drawn from what the lifecycle's machine does: every change of phase."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from aclasync.lifecycle.events import (
    Abandoned,
    ConfigRead,
    Event,
    FinalizeRequested,
    Forked,
    InitRequested,
    ReleaseRequested,
    StepFailed,
    StepSucceeded,
)
from aclasync.lifecycle.machine import TABLE, initial_state, step
from aclasync.lifecycle.state import NO_CONTENT, SAFE, LifecycleState, OnError, Opening, Phase
from aclasync.product import Product

RULES = Product.ATLAS_A2.rules
_FAILED = StepFailed((RuntimeError("a step failed"),))
#: One event of each kind that may move the lifecycle on, and what a reader calls it.
EVENTS: tuple[tuple[str, Event], ...] = (
    ("init", InitRequested(NO_CONTENT, SAFE, RULES)),
    ("last step done", ConfigRead(NO_CONTENT, is_given=True)),
    ("last step done", StepSucceeded()),
    ("a step failed", _FAILED),
    ("last release", ReleaseRequested(OnError.CONTINUE)),
    ("finalize", FinalizeRequested(OnError.CONTINUE)),
    ("finalize", FinalizeRequested(OnError.STOP)),
    ("loop lost", Abandoned(RuntimeError("the loop was closed"))),
    ("fork", Forked(1)),
)

_STEPS = ("last step done", "a step failed")

_PLACES = {
    Phase.DOWN: (0.0, 0.0),
    Phase.OPENING: (3.4, 2.3),
    Phase.UP: (6.8, 0.0),
    Phase.CLOSING: (3.4, -2.3),
    Phase.FORKED: (3.4, 0.0),
}


def changes_of_phase() -> dict[tuple[Phase, Phase], set[str]]:
    """Return what leads from each phase to another, by trying every event in every state."""
    found: dict[tuple[Phase, Phase], set[str]] = defaultdict(set)
    first = initial_state(RULES)
    seen = {_shape(first)}
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        for name, after in _neighbours(state):
            before, now = state.standing.phase, after.standing.phase
            if before is not now:
                found[before, now].add(name)

            if _shape(after) not in seen:
                seen.add(_shape(after))
                waiting.append(after)

    return found


def draw(path: Path) -> None:
    """Draw phases as boxes, and between them what leads from one to the other."""
    figure = Figure(figsize=(9, 5.8), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(-1.0, 7.8)
    axes.set_ylim(-2.9, 2.9)
    for phase, (x, y) in _PLACES.items():
        box = FancyBboxPatch(
            (x - 0.62, y - 0.24), 1.24, 0.48, boxstyle="round,pad=0.06", fc="#eef3f8", ec="#33506e"
        )
        axes.add_patch(box)
        axes.text(x, y, phase.value, ha="center", va="center", fontsize=12, color="#1c2b3a")

    for (before, now), names in sorted(changes_of_phase().items()):
        (x0, y0), (x1, y1) = _PLACES[before], _PLACES[now]
        bend = 0.0 if now is Phase.FORKED else 0.16  # nothing leads back from there
        arrow = FancyArrowPatch(
            (x0, y0), (x1, y1), arrowstyle="-|>", mutation_scale=14, shrinkA=34, shrinkB=34,
            connectionstyle=f"arc3,rad={bend}", color="#33506e",
        )  # fmt: skip
        axes.add_patch(arrow)
        # The curve bends to its right-hand side, seen along the arrow.
        middle = ((x0 + x1) / 2 + bend * 0.75 * (y1 - y0), (y0 + y1) / 2 - bend * 0.75 * (x1 - x0))
        axes.text(
            *middle, "\n".join(sorted(names)), ha="center", va="center", fontsize=8.5,
            color="#7a3b12", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip

    figure.savefig(path)


def _neighbours(state: LifecycleState) -> Iterator[tuple[str, LifecycleState]]:
    for name, event in EVENTS:
        if (type(event), state.standing.phase) in TABLE and _is_due(event, state):
            is_undoing = getattr(state.standing.transition, "failure", None) is not None
            yield "all undone" if is_undoing and name in _STEPS else name, step(state, event)[0]


def _is_due(event: Event, state: LifecycleState) -> bool:
    """Whether an outcome is one of what was ordered: an init begins with reading."""
    opening = state.standing.transition
    if not isinstance(opening, Opening):
        return True

    is_reading = not opening.plan and opening.failure is None
    return isinstance(event, ConfigRead) == is_reading or isinstance(
        event, (StepFailed, Forked, Abandoned)
    )


def _shape(state: LifecycleState) -> object:
    """What tells states apart for a diagram: not how often, nor which error it was."""
    count, standing = state
    transition = standing.transition
    parts = ("at", "failure", "undoing", "is_released", "plan", "on_error", "before")
    inner = tuple(_plain(getattr(transition, part, None)) for part in parts)
    return min(count, 2), standing.phase, standing.epoch > 0, standing.is_finalized, inner


def _plain(value: object) -> object:
    return isinstance(value, BaseException) or value
