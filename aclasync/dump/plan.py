"""Which tensors of which operators a configuration has dumped, and what each of its rules matched.

Pure: operators come in as names, choices go out as positions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import final

from attrs import field, frozen

from aclasync.config.findings import json_path
from aclasync.config.settings import BlackList, DumpSettings, DumpTarget

#: Operators between devices: nothing is watched after them.
COLLECTIVE_PREFIX = "Hcom"

_POSITION = re.compile(r"(input|output)_?([0-9]+)")


@final
@frozen
class GraphOperator:
    """An operator of a model, in the order of execution; "" is an input or output left out."""

    name: str
    op_type: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@final
@frozen
class Choice:
    """Which inputs and outputs of an operator are dumped."""

    #: Its place in the order of execution.
    operator: int
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()


@final
@frozen
class Watch:
    """The outputs of an operator are dumped once another one is done; itself, if it is the same."""

    watched: int
    after: int


@final
@frozen
class Rule:
    """Something in the configuration that chooses or leaves out, by its place there."""

    path: str
    #: What it says there.
    says: str
    #: What is counted.
    unit: str = "operators"


@final
@frozen
class Plan:
    """What is dumped of one model."""

    choices: tuple[Choice, ...] = ()
    watches: tuple[Watch, ...] = ()
    #: How much each rule matched, by its path.
    matches: Mapping[str, int] = field(factory=dict)


def rules_of(settings: DumpSettings) -> tuple[Rule, ...]:
    """Return every rule of a data dump; its `path` is its key in `Plan.matches`."""
    return tuple(_rules(settings))


def _rules(settings: DumpSettings) -> Iterator[Rule]:
    if settings.steps:
        said = "|".join(f"{a}-{b}" if a != b else str(a) for a, b in settings.steps)
        yield Rule(STEP_RULE, said, "runs")

    for at, target in enumerate(settings.targets):
        if target.model_name is not None:
            yield Rule(_path(at, "model_name"), target.model_name, "models")

        for index, name in enumerate(target.layers or ()):
            yield Rule(_path(at, "layer", index), name)

        for index, name in enumerate(target.watcher_nodes):
            yield Rule(_path(at, "watcher_nodes", index), name)

        for index, (begin, end) in enumerate(target.opname_ranges):
            yield Rule(_path(at, "opname_range", index), f"{begin} to {end}")

        for key, entries in _blacklists(target):
            for index, entry in enumerate(entries):
                said = " ".join((entry.name, *entry.pos))
                yield Rule(_path(at, key, index), said, "tensors")

        if not (target.model_name or target.layers or target.opname_ranges):
            yield Rule(_path(at), "all operators")


#: The path of the rule that chooses steps; what it matches is counted as runs go by.
STEP_RULE = json_path(("dump", "dump_step"))


def plan_dump(
    settings: DumpSettings, model_names: Collection[str], operators: Sequence[GraphOperator]
) -> Plan:
    """Decide what is dumped of a model that has these names, by its file and by its graph."""
    counts: Counter[str] = Counter()
    if settings.scene == "watcher":
        watches: dict[Watch, None] = {}
        for at, target in enumerate(settings.targets):
            watches.update(dict.fromkeys(_watches(at, target, operators, counts)))

        return Plan(watches=tuple(sorted(watches, key=_order_of_watch)), matches=counts)

    chosen: dict[int, tuple[set[int], set[int]]] = {}
    for at, target in enumerate(settings.targets):
        if target.model_name is not None:
            if target.model_name not in model_names:
                continue

            counts[_path(at, "model_name")] += 1

        for place in sorted(_chosen(at, target, operators, counts)):
            inputs, outputs = _allowed(at, target, operators[place], settings.mode, counts)
            kept = chosen.setdefault(place, (set(), set()))
            kept[0].update(inputs)
            kept[1].update(outputs)

    choices = tuple(
        Choice(place, tuple(sorted(inputs)), tuple(sorted(outputs)))
        for place, (inputs, outputs) in sorted(chosen.items())
        if inputs or outputs
    )
    return Plan(choices, matches=counts)


def plan_all(operators: Sequence[GraphOperator]) -> Plan:
    """Take every tensor of every operator."""
    return Plan(
        tuple(
            Choice(place, _given(operator.inputs), _given(operator.outputs))
            for place, operator in enumerate(operators)
        )
    )


def is_step_chosen(settings: DumpSettings, step: int) -> bool:
    """Whether a run with that number, counted from 0, is dumped."""
    steps = settings.steps
    return steps is None or any(first <= step <= last for first, last in steps)


def _chosen(
    at: int, target: DumpTarget, operators: Sequence[GraphOperator], counts: Counter[str]
) -> set[int]:
    """Return the places of the operators that an entry names, or of all if it names none."""
    if not (target.layers or target.opname_ranges):
        if target.model_name is None:
            counts[_path(at)] += len(operators)

        return set(range(len(operators)))

    chosen: set[int] = set()
    for index, name in enumerate(target.layers or ()):
        found = _places(operators, name)
        counts[_path(at, "layer", index)] += len(found)
        chosen.update(found)

    for index, (begin, end) in enumerate(target.opname_ranges):
        starts, ends = _places(operators, begin), _places(operators, end)
        found = list(range(starts[0], ends[-1] + 1)) if starts and ends else []
        counts[_path(at, "opname_range", index)] += len(found)
        chosen.update(found)

    return chosen


def _allowed(
    at: int, target: DumpTarget, operator: GraphOperator, mode: str, counts: Counter[str]
) -> tuple[set[int], set[int]]:
    """Return the positions of an operator's tensors that the mode takes and no blacklist drops."""
    inputs = set(_given(operator.inputs)) if mode in ("input", "all") else set()
    outputs = set(_given(operator.outputs)) if mode in ("output", "all") else set()
    before = {"input": frozenset(inputs), "output": frozenset(outputs)}
    for key, entries in _blacklists(target):
        named = operator.op_type if key == "optype_blacklist" else operator.name
        for index, entry in enumerate(entries):
            if entry.name != named:
                continue

            dropped = _dropped(entry, before)
            counts[_path(at, key, index)] += len(dropped)
            inputs.difference_update(place for side, place in dropped if side == "input")
            outputs.difference_update(place for side, place in dropped if side == "output")

    return inputs, outputs


def _dropped(entry: BlackList, there: Mapping[str, frozenset[int]]) -> set[tuple[str, int]]:
    everything = {(side, place) for side, places in there.items() for place in places}
    if not entry.pos:
        return everything

    named = {(m[1], int(m[2])) for m in map(_POSITION.fullmatch, entry.pos) if m is not None}
    return everything & named


def _watches(
    at: int, target: DumpTarget, operators: Sequence[GraphOperator], counts: Counter[str]
) -> Iterator[Watch]:
    """Yield what is written: the watched ones when they are done, and again after each layer."""
    watched: list[int] = []
    for index, name in enumerate(target.watcher_nodes):
        found = _places(operators, name)
        counts[_path(at, "watcher_nodes", index)] += len(found)
        watched += found

    if not target.layers:
        layers = list(range(len(operators)))
    else:
        layers = []
        for index, name in enumerate(target.layers):
            found = _places(operators, name)
            counts[_path(at, "layer", index)] += len(found)
            layers += found

    for place in watched:
        yield Watch(place, place)
        for layer in layers:
            # A watched operator's own end is no end of a layer, nor is a collective one's; and
            # before an operator is done there is nothing of it to look at.
            is_watched = layer in watched
            is_collective = operators[layer].op_type.startswith(COLLECTIVE_PREFIX)
            if layer > place and not (is_watched or is_collective):
                yield Watch(place, layer)


def _order_of_watch(watch: Watch) -> tuple[int, int]:
    return (watch.after, watch.watched)


def _places(operators: Sequence[GraphOperator], name: str) -> list[int]:
    return [place for place, operator in enumerate(operators) if operator.name == name]


def _given(names: Sequence[str]) -> tuple[int, ...]:
    return tuple(position for position, name in enumerate(names) if name)


def _blacklists(target: DumpTarget) -> tuple[tuple[str, tuple[BlackList, ...]], ...]:
    return (
        ("optype_blacklist", target.optype_blacklist),
        ("opname_blacklist", target.opname_blacklist),
    )


def _path(at: int, *rest: str | int) -> str:
    return json_path(("dump", "dump_list", at, *rest))
