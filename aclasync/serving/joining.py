"""Requests as one run, and its outputs as their answers. Decides what may run together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from aclasync import TensorSpec

from .queueing import Array, Item

#: Runs a model once.
Execute: TypeAlias = Callable[[Mapping[str, Array]], dict[str, Array]]


def can_batch(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> bool:
    """Whether the first dimension of everything is free, which is what a batch dimension is."""
    specs = (*inputs, *outputs)
    return bool(inputs) and all(s.shape and not isinstance(s.shape[0], int) for s in specs)


def rows_and_key(inputs: Mapping[str, Array]) -> tuple[int, Hashable]:
    """Return how many rows a request has and what others must have to run with it.

    The key is None for what has no common first dimension: it runs alone.
    """
    rows: int | None = None
    key = []
    for name, array in inputs.items():
        if not hasattr(array, "ndim") or not array.ndim or rows not in (None, len(array)):
            return 1, None

        rows = len(array)
        # Strings of numpy have their length in their type, and models don't care.
        dtype = "U" if array.dtype.kind in "UO" else array.dtype.char
        key.append((name, dtype, array.shape[1:]))

    if not rows:
        return 1, None

    return rows, tuple(sorted(key))


def run_together(items: Sequence[Item], execute: Execute) -> int:
    """Run requests and give each its outputs or its error; return how often `execute` was called.

    A run that fails is split in halves, so that a request that makes it fail ends up alone.
    """
    if len(items) == 1:
        (item,) = items
        try:
            item.outputs = execute(item.inputs)
        except BaseException as exc:  # noqa: BLE001  # raised again where the request is awaited
            item.error = exc

        return 1

    names = items[0].inputs
    try:
        joined = {name: np.concatenate([item.inputs[name] for item in items]) for name in names}
        outputs = execute(joined)
        rows = sum(item.rows for item in items)
        # A model that mixes rows fails as a batch, and its requests run alone.
        assert all(array.shape[:1] == (rows,) for array in outputs.values())
    except BaseException:  # noqa: BLE001  # whoever is at fault gets it again when run alone
        middle = len(items) // 2
        return 1 + run_together(items[:middle], execute) + run_together(items[middle:], execute)

    at = 0
    for item in items:
        item.outputs = {name: array[at : at + item.rows] for name, array in outputs.items()}
        at += item.rows

    return 1
