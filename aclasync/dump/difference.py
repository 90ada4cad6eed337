"""What two arrays differ by, computed in doubles; relative errors are relative to the second."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np
from attrs import frozen

# Elements that are compared at once, in doubles.
_SLICE = 1 << 20


@final
@frozen(kw_only=True)
class Tolerance:
    """How much may differ: `atol + rtol * |b|` for every element, as numpy's `allclose` has it."""

    rtol: float = 1e-3
    atol: float = 1e-5


@final
@frozen(kw_only=True)
class Difference:
    """What two arrays differ by; None where there is nothing to compute it of."""

    #: Between -1 and 1.
    cosine: float | None
    max_absolute: float | None
    #: Of elements whose golden value is not zero.
    max_relative: float | None
    #: Elements outside of the tolerance, or of another kind: a NaN, or another infinity.
    outside: int
    count: int
    #: Why they can't be compared, such as different shapes.
    obstacle: str = ""

    @property
    def is_within(self) -> bool:
        """Whether every element is within the tolerance."""
        return not (self.outside or self.obstacle)


def difference(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], tolerance: Tolerance | None = None
) -> Difference:
    """Compare two arrays; of different shapes, only if they differ by axes of size one."""
    tolerance = tolerance or Tolerance()
    if _squeezed(a.shape) != _squeezed(b.shape):
        return _impossible(a.size, f"shapes {_text(a.shape)} and {_text(b.shape)}")

    left, right = a.reshape(-1), b.reshape(-1)
    if not (_is_number(left) and _is_number(right)):
        is_alike = left.dtype.kind == right.dtype.kind
        unequal = int(np.count_nonzero(left != right)) if is_alike else left.size
        obstacle = "" if is_alike else f"types {left.dtype} and {right.dtype}"
        return Difference(
            cosine=None,
            max_absolute=None,
            max_relative=None,
            outside=unequal,
            count=left.size,
            obstacle=obstacle,
        )

    return _numeric(left, right, tolerance)


def _numeric(
    left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], tolerance: Tolerance
) -> Difference:
    product = left_square = right_square = 0.0
    absolute = relative = 0.0
    outside = 0
    kind = np.complex128 if "c" in (left.dtype.kind, right.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        for start in range(0, left.size, _SLICE):
            x = left[start : start + _SLICE].astype(kind)
            y = right[start : start + _SLICE].astype(kind)
            is_finite = np.isfinite(x) & np.isfinite(y)
            if not is_finite.all():
                is_same = (x == y) | (np.isnan(x) & np.isnan(y))
                outside += int(np.count_nonzero(~is_finite & ~is_same))
                x, y = x[is_finite], y[is_finite]

            if not x.size:
                continue

            distance, size = np.abs(x - y), np.abs(y)
            absolute = max(absolute, float(distance.max()))
            ratio = distance[size > 0] / size[size > 0]
            relative = max(relative, float(ratio.max())) if ratio.size else relative
            outside += int(np.count_nonzero(distance > tolerance.atol + tolerance.rtol * size))
            product += float(np.real(np.vdot(x, y)))
            left_square += float(np.real(np.vdot(x, x)))
            right_square += float(np.real(np.vdot(y, y)))

    norm = math.sqrt(left_square) * math.sqrt(right_square)
    both_zero = not (left_square or right_square)
    cosine = min(1.0, max(-1.0, product / norm)) if norm else 1.0 if both_zero else 0.0
    return Difference(
        cosine=cosine if left.size else None,
        max_absolute=absolute if left.size else None,
        max_relative=relative if left.size else None,
        outside=outside,
        count=left.size,
    )


def _impossible(count: int, obstacle: str) -> Difference:
    return Difference(
        cosine=None,
        max_absolute=None,
        max_relative=None,
        outside=count,
        count=count,
        obstacle=obstacle,
    )


def _is_number(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "biufc" or (array.dtype.kind == "V" and array.dtype.names is None)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
