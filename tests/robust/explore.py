"""Every interleaving of a few callers and faults on the pure machine, each state visited once.

A caller is a tuple `(kind, stage, payload)`. A move is one thing that may happen next: a request,
an order carried out or failed, a caller woken, or cancelled. The queue is served as the gate does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from aclasync.lifecycle.events import (
    Closed,
    CloseStopped,
    ConfigRead,
    Counted,
    FinalizeRequested,
    Held,
    HoldEnded,
    HoldRequested,
    InitRequested,
    Joined,
    Opened,
    OpenFailed,
    Read,
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
from aclasync.lifecycle.machine import initial_state, step
from aclasync.lifecycle.state import NO_CONTENT, SAFE, LifecycleState, OnError, Phase
from aclasync.product import Product

RULES = Product.ATLAS_A2.rules
FAULT = ValueError("planted")


class Caller(NamedTuple):
    """One task: what it is, where it stands, and what it was told last."""

    kind: str
    stage: str = "new"
    told: Any = None


class World(NamedTuple):
    """Everything at one moment."""

    state: LifecycleState
    callers: tuple[Caller, ...]
    queue: tuple[int, ...] = ()
    faults_left: int = 0
    #: Steps that have been done and neither undone nor stopped.
    done: tuple[str, ...] = ()

    def key(self) -> tuple[object, ...]:
        ref_count, standing = self.state
        transition = standing.transition
        told = tuple((c.kind, c.stage, repr(c.told)) for c in self.callers)
        rest = (standing.phase, standing.epoch, standing.serial, standing.holds)
        return ref_count, rest, repr(transition), told, self.queue, self.faults_left, self.done


def begin(kinds: tuple[str, ...], faults: int) -> World:
    """Callers are a `session`, an `init`-er that releases without an epoch, a `finalize`, a `hold`.

    `stop` is a finalize that stops at its first failure and is not tried again.
    """
    return World(initial_state(RULES), tuple(Caller(kind) for kind in kinds), (), faults)


def request_of(caller: Caller) -> Any:
    if caller.kind == "hold":
        return HoldRequested("aclInitCallbackRegister")

    if caller.kind in ("finalize", "stop"):
        return FinalizeRequested(OnError.STOP if caller.kind == "stop" else OnError.CONTINUE)

    if caller.stage in ("new", "asks"):
        return InitRequested(NO_CONTENT, SAFE, RULES)

    return ReleaseRequested(OnError.CONTINUE, caller.told)


def moves(world: World) -> Iterator[tuple[str, World]]:
    """Yield everything that may happen next."""
    for number, caller in enumerate(world.callers):
        for name, following in _moves_of(world, number, caller):
            check(following)
            yield f"{number}:{caller.kind} {name}", following


def _moves_of(world: World, number: int, caller: Caller) -> Iterator[tuple[str, World]]:
    fault = world._replace(faults_left=world.faults_left - 1)
    may_fail = world.faults_left > 0
    match caller.stage:
        case "new":
            yield "asks", ask(put(world, number, stage="asks"), number)
        case "in":
            yield "leaves", ask(put(world, number, stage="leaves"), number)
        case "holds":
            state, _ = step(world.state, HoldEnded())
            yield "lets go", serve(put(world._replace(state=state), number, stage="over"))
        case "asks" | "leaves" if number in world.queue:
            # A session that leaves insists; everybody else may be cancelled while it waits.
            if may_fail and caller.stage == "asks":
                queue = tuple(n for n in world.queue if n != number)
                yield "is cancelled", put(fault._replace(queue=queue), number, stage="over")
        case "decided":
            yield "wakes", act(world, number)
            if may_fail:
                yield "is cancelled awake", withdraw(fault, number)
        case "runs":
            order = caller.told
            if isinstance(order, Read):
                outcome: Any = ConfigRead(NO_CONTENT, is_given=False)
                yield "reads", feed(world, number, outcome, order)
            else:
                yield f"does {named(order)}", feed(world, number, StepSucceeded(), order)

            if may_fail:
                yield f"fails {named(order)}", feed(fault, number, StepFailed((FAULT,)), order)


def named(order: Any) -> str:
    match order:
        case Start(entry) | Stop(entry):
            return str(entry.step)
        case Undo(undone):
            return f"undo {undone}"
        case _:
            return type(order).__name__


def ask(world: World, number: int) -> World:
    if not world.queue:
        state, decision = step(world.state, request_of(world.callers[number]))
        if not isinstance(decision, Wait):
            return decided(world._replace(state=state), number, decision, at_once=True)

    return world._replace(queue=(*world.queue, number))


def serve(world: World) -> World:
    while world.queue:
        number, *rest = world.queue
        state, decision = step(world.state, request_of(world.callers[number]))
        if isinstance(decision, Wait):
            return world

        world = world._replace(state=state, queue=tuple(rest))
        world = decided(world, number, decision, at_once=False)

    return world


def decided(world: World, number: int, decision: Any, *, at_once: bool) -> World:
    world = put(world, number, stage="decided", told=(world.callers[number], decision))
    return act(world, number) if at_once else world


def act(world: World, number: int) -> World:
    """Let a caller do what was decided for it."""
    asked, decision = world.callers[number].told
    match decision:
        case Joined():
            epoch = decision.epoch if asked.kind == "session" else None
            return put(world, number, stage="in", told=epoch)
        case Held():
            return put(world, number, stage="holds", told=None)
        case Counted() | Refused():
            return put(world, number, stage="over", told=None)
        case _:
            return put(world, number, stage="runs", told=decision)


def withdraw(world: World, number: int) -> World:
    asked, decision = world.callers[number].told
    state, effect = step(world.state, Withdrawn(decision))
    world = world._replace(state=state)
    if isinstance(effect, Stop):
        return put(world, number, stage="runs", told=effect)

    if isinstance(effect, Wait) and isinstance(decision, Joined):
        # As the runtime does: what can't be given back at once is given back after the wait.
        return serve(ask(put(world, number, stage="leaves", told=decision.epoch), number))

    # A release that was withdrawn is asked for again.
    is_kept = asked.stage == "leaves" and not isinstance(decision, Refused)
    stage, told = ("in", asked.told) if is_kept else ("over", None)
    return serve(put(world, number, stage=stage, told=told))


def feed(world: World, number: int, outcome: Any, order: Any) -> World:
    done = world.done
    match order:
        case Start(entry):
            done = (*done, str(entry.step))
        case Undo(undone):
            assert done[-1:] == (str(undone),), (done, undone)
            done = done[:-1]

    state, effect = step(world.state, outcome)
    world = world._replace(state=state, done=done)
    match effect:
        case Opened(epoch):
            told = epoch if world.callers[number].kind == "session" else None
            return serve(put(world, number, stage="in", told=told))
        case OpenFailed():
            assert not done, done
            return serve(put(world, number, stage="over", told=None))
        case Closed():
            return serve(put(world._replace(done=()), number, stage="over", told=None))
        case CloseStopped():
            return serve(put(world, number, stage="over", told=None))
        case _:
            assert isinstance(effect, (Start, Undo, Stop, Release)), effect
            return put(world, number, told=effect)


def put(world: World, number: int, **changes: Any) -> World:
    callers = list(world.callers)
    callers[number] = callers[number]._replace(**changes)
    return world._replace(callers=tuple(callers))


def check(world: World) -> None:
    """What must hold at every moment."""
    ref_count, standing = world.state
    owners = [c for c in world.callers if c.stage == "runs"]
    owed = [
        c for c in world.callers
        if c.stage == "decided" and isinstance(c.told[1], (Read, Stop))
    ]  # fmt: skip
    assert len(owners) + len(owed) == (standing.transition is not None), world
    holds = [
        c for c in world.callers
        if c.stage == "holds" or (c.stage == "decided" and isinstance(c.told[1], Held))
    ]  # fmt: skip
    assert standing.holds == len(holds), world
    assert standing.transition is None or not holds, world
    if standing.phase is Phase.UP:
        assert ref_count > 0, world
        if all(c.kind in ("session", "hold") for c in world.callers):
            assert ref_count == holders_of(world, standing.epoch), world
    elif standing.phase is Phase.DOWN:
        assert ref_count == 0, world
        assert not world.done, world

    # Nobody waits at an open gate.
    is_open = standing.transition is None and not standing.holds
    assert not (is_open and world.queue), world


def holders_of(world: World, epoch: int) -> int:
    """Count the sessions that hold a reference of that opening."""
    return sum(
        (c.stage == "in" and c.told == epoch)
        or (c.stage == "leaves" and c.told == epoch)
        or (c.stage == "decided" and isinstance(c.told[1], Joined) and c.told[1].epoch == epoch)
        for c in world.callers
    )


def explore(kinds: tuple[str, ...], faults: int) -> tuple[int, int]:
    """Return how many worlds there are, and how many ways through them.

    Raises:
      AssertionError: a world that must not be; its note tells the moves that led there.
    """
    ways: dict[object, int] = {}
    path: list[str] = []

    def visit(world: World) -> int:
        key = world.key()
        if key in ways:
            return ways[key]

        total = 0
        try:
            for name, following in moves(world):
                path.append(name)
                total += visit(following)
                path.pop()
        except AssertionError as exc:
            if not hasattr(exc, "__notes__"):
                exc.add_note("after: " + " / ".join(path))

            raise

        if not total:
            total = 1
            assert all(c.stage == "over" for c in world.callers), world
            if all(kind in ("session", "hold") for kind in kinds):
                assert world.state.standing.phase is Phase.DOWN, world

        ways[key] = total
        return total

    return visit_all(visit, begin(kinds, faults), ways)


def visit_all(visit: Any, world: World, ways: dict[object, int]) -> tuple[int, int]:
    total = visit(world)
    return len(ways), total
