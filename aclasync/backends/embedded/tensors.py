"""Whether what a caller gave is what a model wants; nothing is cast to make it fit.

Needs numpy: imported only when a model runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from aclasync.errors import AclCode, DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aclasync.backends.base import TensorSpec

_FUNCTION = "aclmdlExecute"

# For a declared kind of element, the types of plain Python values that are it.
_PLAIN_TYPES = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int), "U": (str,)}
_STRING_KINDS = "UOT"

# What ONNX Runtime takes from numpy; other packages teach numpy more names, but not ONNX Runtime.
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_DTYPES = _INTEGERS | {"float16", "float32", "float64", "bool", "str"}


def fit_inputs(
    specs: Sequence[TensorSpec], inputs: object, *, model: str
) -> dict[str, np.ndarray[Any, Any]]:
    """Return `inputs` as arrays of the declared types and shapes.

    An array must have the declared element type. Plain Python numbers, booleans, strings and
    nested sequences of them are taken if they are values of that type: an integer that fits, a
    float as its nearest value (as a literal is) unless that is infinite, an integer for a float
    if it is exact.

    Raises:
      DeviceError: an input is missing, unknown, of another type or shape (100017), or of a kind
        that no array can hold (100026); all that is wrong is named.
    """
    if not isinstance(inputs, Mapping):
        got = type(inputs).__name__
        detail = f"{model}: expected a mapping of names to arrays, got {got}"
        raise DeviceError(AclCode.MODEL_INPUT_NOT_MATCH, _FUNCTION, detail)

    feed: dict[str, np.ndarray[Any, Any]] = {}
    faults = []
    for spec in specs:
        if spec.name not in inputs:
            faults.append(f"input {spec.name!r} is missing, expected {_describe(spec)}")
            continue

        try:
            feed[spec.name] = _fit(spec, inputs[spec.name], model)
        except ValueError as exc:
            faults.append(f"input {spec.name!r}: expected {_describe(spec)}, got {exc}")

    names = [spec.name for spec in specs]
    known = ", ".join(map(repr, names)) or "none"
    faults += [f"unknown input {name!r}, expected {known}" for name in inputs if name not in names]
    if faults:
        detail = f"{model}: " + "; ".join(faults)
        raise DeviceError(AclCode.MODEL_INPUT_NOT_MATCH, _FUNCTION, detail)

    return feed


def _fit(spec: TensorSpec, value: Any, model: str) -> np.ndarray[Any, Any]:
    """Return `value` as `spec` has it.

    Raises:
      ValueError: it is something else; the text says what.
      DeviceError: no value can be what `spec` has (100026).
    """
    if spec.dtype not in _DTYPES:
        detail = f"{model}: input {spec.name!r} is a {spec.dtype}, which can't be given here"
        raise DeviceError(AclCode.UNSUPPORTED_DATA_TYPE, _FUNCTION, detail)

    dtype = np.dtype(spec.dtype)
    is_plain = isinstance(value, (bool, int, float, str, list, tuple))
    if is_plain and not isinstance(value, np.generic):
        array = _convert(value, dtype)
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
        is_right = array.dtype.kind in _STRING_KINDS if dtype.kind == "U" else array.dtype == dtype
        if not is_right:
            have = f"{array.dtype} {_shape_text(array.shape)}"
            hint = f"; convert it: .astype({dtype.name!r})" if array.dtype.kind in "biuf" else ""
            raise ValueError(f"{have}{hint}")
    else:
        raise ValueError(f"{type(value).__name__}, which is no array")

    # ONNX Runtime has the same empty shape for a scalar and for "any": nothing to hold against it.
    if spec.shape and not _is_shape_right(spec.shape, array.shape):
        raise ValueError(f"{array.dtype} {_shape_text(array.shape)}")

    if dtype.kind == "U":
        array = array.astype(object)
        if not all(isinstance(item, str) for item in array.flat):
            raise ValueError("an array that holds more than strings")

    return array


def _convert(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return plain Python values as an array of `dtype`.

    Raises:
      ValueError: they are not values of that type.
    """
    if isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, np.ndarray) and item.dtype != dtype:
                raise ValueError(f"a sequence of {item.dtype} arrays")

    plain = np.asarray(value, object)  # keeps every value as it was given
    types = set(map(type, plain.flat))
    strange = types.difference(_PLAIN_TYPES.get(dtype.kind, ()), (dtype.type,))
    if strange:
        names = ", ".join(sorted(kind.__name__ for kind in strange))
        raise ValueError(f"values of type {names} in {_shape_text(plain.shape)}")

    try:
        with np.errstate(over="raise"):
            array = plain.astype(dtype)
    except (OverflowError, FloatingPointError):
        raise ValueError(f"a value that {dtype} can't hold") from None

    if dtype.kind == "f" and int in types:
        pairs = zip(plain.flat, array.ravel().tolist(), strict=True)
        wrong = next((want for want, have in pairs if type(want) is int and want != have), None)
        if wrong is not None:
            raise ValueError(f"the integer {wrong}, which {dtype} can't hold exactly")

    return array


def _is_shape_right(expected: tuple[int | str | None, ...], got: tuple[int, ...]) -> bool:
    return len(expected) == len(got) and all(
        not isinstance(want, int) or want == have for want, have in zip(expected, got, strict=True)
    )


def _describe(spec: TensorSpec) -> str:
    return f"{spec.dtype} {_shape_text(spec.shape)}" if spec.shape else f"{spec.dtype}"


def _shape_text(shape: tuple[int | str | None, ...]) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
