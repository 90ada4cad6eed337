"""Compares two dumps tensor by tensor and finds the operator where they begin to differ.

The order is that in which the operators ran on the first side that says so. The second side is the
golden one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import final

from attrs import field, frozen

from aclasync.errors import AclCode, DumpError

from .difference import Difference, Tolerance, difference
from .sides import Item, Key, side_of

_COMPARE = "compare_dumps"


@final
@frozen(kw_only=True)
class Compared:
    """A tensor that both sides have."""

    step: int | None
    op_type: str
    op_name: str
    #: `input` or `output`.
    kind: str
    index: int
    shape: tuple[int, ...]
    difference: Difference

    @property
    def title(self) -> str:
        """The tensor as people call it."""
        return f"{self.op_name}.{self.kind}{self.index}"


@final
@frozen(kw_only=True)
class Comparison:
    """Two dumps beside each other."""

    #: What both sides have, in the order in which it was made.
    tensors: tuple[Compared, ...]
    #: Titles of what only one side has.
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()
    tolerance: Tolerance = field(factory=Tolerance)

    @property
    def first_divergence(self) -> Compared | None:
        """The first output, in the order of execution, that is not within the tolerance."""
        outputs = (t for t in self.tensors if t.kind == "output")
        return next((t for t in outputs if not t.difference.is_within), None)

    @property
    def is_within(self) -> bool:
        """Whether every tensor that both sides have is within the tolerance."""
        return all(t.difference.is_within for t in self.tensors)


def compare_dumps(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    *,
    tolerance: Tolerance | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare two dumps; `progress` is told how many tensors of how many are done.

    Steps are matched by their numbers, or whatever they are if each side has one; models by their
    names, or whatever they are called if each side has one.

    Raises:
      DumpError: a side can't be read, or is broken (100003, 100006), or both have nothing in
        common (100000).
    """
    tolerance = tolerance or Tolerance()
    first, second = side_of(Path(a)), side_of(Path(b))
    _unify(first, second)
    pairs, only_a, only_b = _matched(first, second)
    if not pairs:
        raise DumpError(AclCode.INVALID_PARAM, _COMPARE, _nothing_in_common(a, b, first, second))

    compared = []
    for done, (key, left, right) in enumerate(pairs):
        if progress is not None:
            progress(done, len(pairs))

        array = left.read()
        compared.append(
            Compared(
                step=key.step,
                op_type=left.op_type or right.op_type,
                op_name=left.op_name,
                kind=left.kind,
                index=left.index,
                shape=array.shape,
                difference=difference(array, right.read(), tolerance),
            )
        )

    if progress is not None:
        progress(len(pairs), len(pairs))

    return Comparison(
        tensors=tuple(compared), only_in_a=only_a, only_in_b=only_b, tolerance=tolerance
    )


def _unify(first: dict[Key, Item], second: dict[Key, Item]) -> None:
    """Call the models, and the steps, of two sides alike if each side has one."""
    if len({key.model for key in first}) <= 1 and len({key.model for key in second}) <= 1:
        _rename(second, lambda key: key._replace(model=next(iter(first)).model if first else ""))

    if len({key.step for key in first}) <= 1 and len({key.step for key in second}) <= 1:
        _rename(second, lambda key: key._replace(step=next(iter(first)).step if first else None))


def _rename(side: dict[Key, Item], rename: Callable[[Key], Key]) -> None:
    renamed = {rename(key): item for key, item in side.items()}
    side.clear()
    side.update(renamed)


_Pair = tuple[Key, Item, Item]


def _matched(
    first: dict[Key, Item], second: dict[Key, Item]
) -> tuple[list[_Pair], tuple[str, ...], tuple[str, ...]]:
    """Return what both sides have, in order, and titles of what one side alone has."""
    by_alias: dict[Key, Key] = {}
    for key, item in second.items():
        for name, index in item.aliases:
            by_alias.setdefault(key._replace(name=name, position=index), key)

    pairs: list[_Pair] = []
    taken: set[Key] = set()
    only_first = []
    for key, item in first.items():
        aliases = (key._replace(name=name, position=index) for name, index in item.aliases)
        other = next((by_alias[alias] for alias in aliases if alias in by_alias), None)
        if other is None or other in taken:
            only_first.append(_title(key, item))
            continue

        taken.add(other)
        pairs.append((key, item, second[other]))

    if not all(item.is_ordered for _, item, _ in pairs):
        places = {key: place for place, key in enumerate(second)}
        key_of = {id(item): key for key, item in second.items()}
        pairs.sort(key=lambda pair: places[key_of[id(pair[2])]])

    only_second = tuple(_title(key, item) for key, item in second.items() if key not in taken)
    return pairs, tuple(only_first), only_second


def _title(key: Key, item: Item) -> str:
    step = "" if key.step is None else f"step {key.step}: "
    return f"{step}{item.op_name}.{item.kind}{item.index}"


def _nothing_in_common(a: object, b: object, first: Iterable[Key], second: Iterable[Key]) -> str:
    counts = [len(tuple(side)) for side in (first, second)]
    if not all(counts):
        empty = a if not counts[0] else b
        return f"{empty} has no tensors in it; give a folder of dump files or of .npy files"

    return (
        f"{a} ({counts[0]} tensors) and {b} ({counts[1]} tensors) have none in common; "
        "are they of the same model, and the same steps?"
    )
