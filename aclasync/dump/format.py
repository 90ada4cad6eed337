"""The binary dump file: the header's length, the header, and the bytes of the tensors behind it.

Decides how values become such a file and back. Knows nothing of folders, names or disks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from attrs import field, frozen

from .datatypes import (
    DataType,
    Format,
    InputType,
    data_type_of,
    dtype_of,
    element_of,
    name_of_data_type,
)
from .message import dump_data_class

VERSION = "2.0"
#: Bytes of the header's length, which stands in front, little-endian.
LENGTH_BYTES = 8

#: Attributes of the header that are JSON lists of the tensors' names.
INPUT_NAMES, OUTPUT_NAMES = "input_names", "output_names"

#: What numpy has at the most.
MOST_AXES = 64

# One element of a string tensor: where its text begins, counted from the tensor, and its bytes.
_STRING_HEAD = np.dtype([("offset", "<u8"), ("size", "<u8")])


@final
@frozen
class Tensor:
    """An array that is to be dumped, and what is known of it apart from its values."""

    array: np.ndarray[Any, Any]
    #: Its place among the operator's inputs or outputs.
    index: int = 0
    #: Name of the tensor in the model.
    name: str = ""
    format: Format = Format.ND
    #: UNDEFINED to leave out what it is: the buffer alone.
    is_described: bool = True
    input_type: InputType = InputType.INVALID


@final
@frozen(kw_only=True)
class Operator:
    """What one execution of an operator leaves in a dump."""

    op_type: str
    name: str
    task_id: int = 0
    stream_id: int = 0
    inputs: Sequence[Tensor] = ()
    outputs: Sequence[Tensor] = ()
    attributes: Mapping[str, str] = field(factory=dict)
    #: The operator of the original model that made the outputs; `name` if empty.
    original_name: str = ""
    #: Lines of text for a person: of an exception, its log and its traceback.
    message: str = ""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them in the order of the payload."""
        return (*self.inputs, *self.outputs)


def tensors_of(values: Sequence[Any]) -> list[Tensor]:
    """Return the tensors among an operator's values; what is left out has no place in a dump."""
    return [
        Tensor(np.asarray(value), at)
        for at, value in enumerate(values)
        if hasattr(value, "__array__")
    ]


class Encoded(NamedTuple):
    """A dump file in pieces, in their order; no tensor is copied that lies as the file has it."""

    pieces: list[memoryview]
    size: int


def encode(operator: Operator, time_us: int, *, name: str | None = None) -> Encoded:
    """Return the file of an operator; `name` takes the place of its own in the header.

    Raises:
      ImportError: protobuf is not installed.
    """
    message = dump_data_class()(
        version=VERSION,
        dump_time=time_us,
        op_name=operator.name if name is None else name,
        dfx_message=operator.message,
    )
    for key, value in (*operator.attributes.items(), *_names_of(operator)):
        message.attr.add(name=key, value=value)

    payload = []
    for tensor in operator.inputs:
        described = message.input.add(input_type=tensor.input_type)
        payload.append(_describe(described, tensor))

    for tensor in operator.outputs:
        described = message.output.add()
        payload.append(_describe(described, tensor))
        if tensor.is_described:
            described.original_op.name = operator.original_name or operator.name
            described.original_op.output_index = tensor.index
            described.original_op.data_type = described.data_type
            described.original_op.format = described.format

    header = message.SerializeToString()
    front = memoryview(len(header).to_bytes(LENGTH_BYTES, "little") + header)
    pieces = [front, *(piece for piece in payload if piece.nbytes)]
    return Encoded(pieces, sum(piece.nbytes for piece in pieces))


def _names_of(operator: Operator) -> Iterator[tuple[str, str]]:
    """Yield attributes that say what the tensors are called in the model, if they have names."""
    for key, tensors in ((INPUT_NAMES, operator.inputs), (OUTPUT_NAMES, operator.outputs)):
        names = [tensor.name for tensor in tensors if tensor.is_described]
        if any(names):
            yield key, json.dumps(names, ensure_ascii=False)


def _describe(described: Any, tensor: Tensor) -> memoryview:
    """Fill in what the header says of a tensor; return its bytes."""
    content = to_bytes(tensor.array)
    described.size = content.nbytes
    described.arg_index = tensor.index
    if tensor.is_described:
        described.data_type = data_type_of(tensor.array)
        described.format = tensor.format
        described.shape.dim.extend(tensor.array.shape)
        described.original_shape.dim.extend(tensor.array.shape)

    return content


def to_bytes(array: np.ndarray[Any, Any]) -> memoryview:
    """Return an array's elements as the file has them: little-endian, rows first, packed."""
    number = data_type_of(array)
    if number is DataType.STRING:
        return memoryview(_strings_to_bytes(array.ravel().tolist()))

    element = element_of(number)
    if element is not None and element.bits < 8:
        return memoryview(_pack(array, element.bits))

    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))

    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def from_bytes(
    content: np.ndarray[Any, Any], number: int, shape: Sequence[int]
) -> tuple[np.ndarray[Any, Any], str]:
    """Return bytes as the array they are, and in words what of its description does not fit.

    What can't be held as it is described comes as elements in a row, or as its bytes.
    """
    if number == DataType.STRING:
        return _strings_from_bytes(content, shape)

    dtype = dtype_of(number)
    if dtype is None:
        detail = f"nothing here holds the data type {number} ({name_of_data_type(number)})"
        return content, f"{detail}: raw bytes"

    element = element_of(number)
    assert element is not None
    bits = element.bits
    count = math.prod(shape)
    size = -(-count * bits // 8)
    if size > content.nbytes:
        whole = content.nbytes * 8 // bits
        row = _unpack(content[: whole * bits // 8], dtype, bits, whole)
        return row, f"{content.nbytes} bytes for a shape that needs {size}: elements in a row"

    array = _unpack(content[:size], dtype, bits, count)
    left = content.nbytes - size
    note = f"{left} bytes of padding left out" if left else ""
    if len(shape) > MOST_AXES:
        return array, f"{len(shape)} axes, numpy has {MOST_AXES}: elements in a row"

    return array.reshape(shape), note


def _pack(array: np.ndarray[Any, Any], bits: int) -> bytes:
    codes = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
    return np.packbits(
        np.unpackbits(codes, axis=1, count=bits, bitorder="little"), bitorder="little"
    ).tobytes()


def _unpack(
    content: np.ndarray[Any, Any], dtype: np.dtype[Any], bits: int, count: int
) -> np.ndarray[Any, Any]:
    if bits < 8:
        apart = np.unpackbits(content, count=count * bits, bitorder="little").reshape(count, bits)
        content = np.packbits(apart, axis=1, bitorder="little").reshape(-1)

    return content.view(dtype)


def _strings_to_bytes(texts: Sequence[Any]) -> bytes:
    """Return texts behind a table of where each of them is."""
    encoded = [
        text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogatepass")
        for text in texts
    ]
    heads = np.empty(len(encoded), _STRING_HEAD)
    heads["size"] = [len(text) for text in encoded]
    heads["offset"] = heads.nbytes + np.cumsum(heads["size"]) - heads["size"]
    return heads.tobytes() + b"".join(encoded)


def _strings_from_bytes(
    content: np.ndarray[Any, Any], shape: Sequence[int]
) -> tuple[np.ndarray[Any, Any], str]:
    count = math.prod(shape)
    if count * _STRING_HEAD.itemsize <= content.nbytes and len(shape) <= MOST_AXES:
        heads = content[: count * _STRING_HEAD.itemsize].view(_STRING_HEAD)
        places = [(int(offset), int(offset) + int(size)) for offset, size in heads.tolist()]
        longest = sum(end - start for start, end in places)
        # Places that overlap could make much out of little.
        if longest <= content.nbytes and all(end <= content.nbytes for _, end in places):
            whole = content.tobytes()
            texts = np.empty(count, object)
            texts[:] = [whole[start:end].decode("utf-8", "replace") for start, end in places]
            return texts.reshape(shape), ""

    return content, "strings that are not inside the tensor: raw bytes"
