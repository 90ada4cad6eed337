"""Tensors of the Open Inference Protocol as arrays, and back: JSON values and raw bytes.

Nothing is cast to make it fit: a value that the declared type does not have is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from aclasync import TensorSpec

from .errors import BadRequestError
from .queueing import Array

#: The protocol's names of element types, and numpy's.
DTYPES: Mapping[str, np.dtype[Any]] = {
    "BOOL": np.dtype("bool"),
    **{f"{sign}INT{bits}": np.dtype(f"{sign.lower()}int{bits}") for sign in ("", "U")
       for bits in (8, 16, 32, 64)},
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
    "BYTES": np.dtype(object),
}  # fmt: skip
_BY_SPEC = {str(dtype): name for name, dtype in DTYPES.items()} | {"str": "BYTES"}

# For a kind of element, the kinds that numpy finds in a JSON list of such values.
_JSON_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "fiu"}
_LENGTH = struct.Struct("<I")


def datatype_of(spec: TensorSpec) -> str:
    """Return the protocol's name of a tensor's element type; the engine's where it has none."""
    return _BY_SPEC.get(spec.dtype, spec.dtype.upper())


def shape_of(spec: TensorSpec) -> list[int]:
    """Return a tensor's shape as the protocol has it: -1 for what is free."""
    return [size if isinstance(size, int) else -1 for size in spec.shape]


def from_json(values: object, datatype: str, shape: Sequence[int]) -> Array:
    """Return a JSON list, nested or flat in row-major order, as an array.

    Raises:
      ValueError: it holds something else than so many values of that type; the text says what.
    """
    if not isinstance(values, list):
        raise ValueError(  # noqa: TRY004  # as all that is wrong with a request's data
            f"data must be a list, not {type(values).__name__}"
        )

    if datatype == "BYTES":
        return _strings(values, shape)

    dtype = DTYPES[datatype]
    if not prod(shape):
        if next(_flat(values), values) is not values:
            raise ValueError(f"shape {list(shape)} has no element, and data has some")

        return np.empty(shape, dtype)

    try:
        found = np.array(values)
    except ValueError as exc:
        raise ValueError("data is a nested list whose rows differ in length") from exc

    if datatype == "UINT64" and found.dtype.kind == "f" and _are_integers(values):
        # Where some are beyond an int64 and some are not, numpy sees floats.
        found = np.array(values, object)
        if found.min() >= 0:
            found = found.astype(dtype)

    if found.dtype.kind not in _JSON_KINDS[dtype.kind]:
        raise ValueError(f"data holds {_kind_text(values)}, which is no {datatype}")

    return _shaped(_narrowed(found, dtype, datatype), shape)


def from_bytes(raw: memoryview, datatype: str, shape: Sequence[int]) -> Array:
    """Return raw little-endian bytes as an array, without a copy.

    Raises:
      ValueError: they are too many or too few, or no strings.
    """
    if datatype == "BYTES":
        return _raw_strings(raw, shape)

    dtype = DTYPES[datatype]
    wanted = prod(shape) * dtype.itemsize
    if len(raw) != wanted:
        raise ValueError(
            f"{len(raw)} bytes of binary data, but {datatype} {list(shape)} has {wanted}"
        )

    if datatype == "BOOL" and np.frombuffer(raw, np.uint8).max(initial=0) > 1:
        raise ValueError("binary data of BOOL holds a byte that is neither 0 nor 1")

    return np.frombuffer(raw, dtype).reshape(shape)


def to_json(array: Array) -> Any:
    """Return an array's values as what the JSON library takes, flat in row-major order.

    Raises:
      BadRequestError: a value has no form in JSON.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind in "OUS":
        return [_text(item) for item in flat]

    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise BadRequestError(
            "holds NaN or infinity, which JSON does not have; ask for it with binary_data"
        )

    return flat


def to_bytes(array: Array) -> bytes:
    """Return an array's raw little-endian bytes, row-major."""
    if array.dtype.kind not in "OUS":
        return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()

    parts = []
    for item in array.reshape(-1):
        encoded = item if isinstance(item, bytes) else str(item).encode()
        parts += [_LENGTH.pack(len(encoded)), encoded]

    return b"".join(parts)


def datatype_of_array(array: Array) -> str:
    """Return the protocol's name of an array's element type."""
    return "BYTES" if array.dtype.kind in "OUS" else _BY_SPEC[array.dtype.name]


def _narrowed(found: Array, dtype: np.dtype[Any], datatype: str) -> Array:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if found.min() < limits.min or found.max() > limits.max:
            raise ValueError(
                f"data holds {_outside(found, limits)}, and {datatype} goes from {limits.min}"
                f" to {limits.max}"
            )

        return found.astype(dtype, copy=False)

    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            narrow = found.astype(dtype, copy=False)

        if not np.isfinite(narrow).all():
            raise ValueError(f"data holds a number beyond what {datatype} can hold")

        return narrow

    return found


def _outside(found: Array, limits: np.iinfo[Any]) -> int:
    lowest = int(found.min())
    return lowest if lowest < limits.min else int(found.max())


def _shaped(array: Array, shape: Sequence[int]) -> Array:
    if array.shape == tuple(shape):
        return array

    if array.ndim != 1:
        raise ValueError(f"data is nested as {list(array.shape)}, but shape says {list(shape)}")

    if array.size != prod(shape):
        raise ValueError(f"data has {array.size} values, but shape {list(shape)} has {prod(shape)}")

    return array.reshape(shape)


def _strings(values: list[Any], shape: Sequence[int]) -> Array:
    flat = [*_flat(values)]
    if not all(isinstance(value, str) for value in flat):
        raise ValueError(f"data holds {_kind_text(flat)}, which is no BYTES")

    array = np.empty(len(flat), object)
    array[:] = flat
    return _shaped(array, shape)


def _raw_strings(raw: memoryview, shape: Sequence[int]) -> Array:
    texts: list[str] = []
    at = 0
    while at < len(raw):
        start = at + _LENGTH.size
        if start > len(raw):
            raise ValueError("binary data of BYTES ends within a length")

        (length,) = _LENGTH.unpack_from(raw, at)
        at = start + length
        if at > len(raw):
            raise ValueError(f"binary data of BYTES ends within a string of {length} bytes")

        try:
            texts.append(str(raw[start:at], "utf-8"))
        except UnicodeDecodeError as exc:
            raise ValueError(f"string {len(texts)} is no UTF-8, which models take: {exc}") from exc

    array = np.empty(len(texts), object)
    array[:] = texts
    return _shaped(array, shape)


def _text(item: Any) -> str:
    return item.decode() if isinstance(item, bytes) else str(item)


def _flat(values: list[Any]) -> Iterator[Any]:
    """Yield what a nested list holds; not recursive, for the nesting is somebody else's."""
    stack = [iter(values)]
    while stack:
        for value in stack[-1]:
            if isinstance(value, list):
                stack.append(iter(value))
                break

            yield value
        else:
            stack.pop()


def _are_integers(values: list[Any]) -> bool:
    return all(type(value) is int for value in _flat(values))


def _kind_text(values: Any) -> str:
    """Return the kinds of values in a list, for a message."""
    names = {bool: "booleans", int: "integers", float: "floats", str: "strings", dict: "objects"}
    kinds = sorted({names.get(type(value), "null") for value in _flat(values)})
    return " and ".join(kinds)
