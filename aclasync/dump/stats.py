"""Statistics of dumped tensors, and the rows they make in a csv file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from aclasync.config.features import DEFAULT_STATS

from .datatypes import data_type_of, name_of_data_type, name_of_format
from .format import Operator, Tensor, to_bytes

_BASE = ("Input/Output", "Index", "Data Size", "Data Type", "Format", "Shape")
_COUNT = "Count"
# In the order of the columns; the titles are the reference's, the last one's spelling, too.
_TITLES = {
    "Max": "Max Value",
    "Min": "Min Value",
    "Avg": "Avg Value",
    "Nan": "Nan Count",
    "Negative Inf": "Negative Inf Count",
    "Positive Inf": "Positive Inf Count",
    "L2norm": "l2norm",
}
_DEFAULT = ("Max", "Min", "Avg", _COUNT, "Nan", "Negative Inf", "Positive Inf")
#: What stands where a statistic can't be had.
MISSING = "NA"
# Sums are taken in doubles, so many elements at a time.
_SLICE = 1 << 20


@final
class Statistics(NamedTuple):
    """What is known of a tensor's values; None where there is nothing to know it of."""

    elements: int
    max: float | int | None
    min: float | int | None
    mean: float | None
    nan: int
    negative_inf: int
    positive_inf: int
    l2norm: float | None


def is_numeric(array: np.ndarray[Any, Any]) -> bool:
    """Whether there are statistics of it: of real numbers and booleans."""
    return _real(array[:0].reshape(-1) if array.ndim else array.reshape(-1)[:0]) is not None


def statistics_of(array: np.ndarray[Any, Any]) -> Statistics | None:
    """Return what numpy's functions say of all elements; None if they are no real numbers.

    NaN makes maximum, minimum, mean and norm NaN, as in numpy. Mean and norm are computed in
    doubles.
    """
    values = _real(array.reshape(-1))
    if values is None:
        return None

    if not values.size:
        return Statistics(0, None, None, None, 0, 0, 0, 0.0)

    total = squares = 0.0
    nan = negative = positive = 0
    with np.errstate(all="ignore"):
        for part in _slices(values):
            doubles = part.astype(np.float64)
            total += float(doubles.sum())
            squares += float(np.dot(doubles, doubles))
            if values.dtype.kind == "f" and not np.isfinite(doubles).all():
                nan += int(np.isnan(doubles).sum())
                negative += int(np.isneginf(doubles).sum())
                positive += int(np.isposinf(doubles).sum())

        return Statistics(
            values.size,
            values.max().item(),
            values.min().item(),
            total / values.size,
            nan,
            negative,
            positive,
            math.sqrt(squares) if not math.isnan(squares) else math.nan,
        )


def header(selected: Sequence[str]) -> tuple[str, ...]:
    """Return the titles of the columns for these statistics."""
    return (*_BASE, *(_TITLES.get(name, name) for name in _columns(selected)))


def rows(operator: Operator, selected: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a row for every tensor of an operator, the inputs first."""
    for side, tensors in (("Input", operator.inputs), ("Output", operator.outputs)):
        for tensor in tensors:
            yield (side, str(tensor.index), *_described(tensor), *_cells(tensor.array, selected))


def csv_text(operator: Operator, selected: Sequence[str]) -> str:
    """Return the whole file of an operator."""
    lines = [header(selected), *rows(operator, selected)]
    return "".join(",".join(line) + "\n" for line in lines)


def _described(tensor: Tensor) -> tuple[str, ...]:
    array = tensor.array
    return (
        str(to_bytes(array).nbytes if array.dtype.kind in "OUTV" else array.nbytes),
        name_of_data_type(data_type_of(array)),
        name_of_format(tensor.format),
        "x".join(map(str, array.shape)) or "-",
    )


def _cells(array: np.ndarray[Any, Any], selected: Sequence[str]) -> list[str]:
    columns = _columns(selected)
    found = statistics_of(array)
    if found is None:
        return [""] * len(columns)

    by_name = dict(zip((_COUNT, *_TITLES), found, strict=True))
    return [MISSING if by_name[name] is None else repr(by_name[name]) for name in columns]


def _columns(selected: Sequence[str]) -> tuple[str, ...]:
    if set(selected) == set(DEFAULT_STATS):
        return _DEFAULT

    return (_COUNT, *(name for name in _TITLES if name in selected))


def _real(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return values in a type that numpy computes with; None if they are no real numbers."""
    kind = values.dtype.kind
    if kind in "iuf":
        return values

    if kind == "b":
        return values.view(np.uint8)

    # The types that numpy has not, all of them small.
    return values.astype(np.float32) if kind == "V" and values.dtype.names is None else None


def _slices(values: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    for start in range(0, values.size, _SLICE):
        yield values[start : start + _SLICE]
