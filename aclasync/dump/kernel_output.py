"""The files that kernels' output is collected in: `asc_kernel_data_<aic|aiv|simt>_<core>.bin`.

A file is a sequence of records, appended in the order of arrival. Every record begins with 32
bytes, little-endian: the mark `AKO1`, kind, device, number of the launch (32 bits each), time in
nanoseconds since the epoch, and length of what follows (64 bits each). What follows:

    launch     the operator's type, a zero byte, and its name
    printf     the text
    tensor     desc, number of dimensions and length of the type's name (32 bits each), the
               dimensions (64 bits each), the name, and the elements
    assert     the text
    timestamp  desc (32 bits), 4 bytes of zero, and nanoseconds of a steady clock (64 bits)
    dropped    how many records had to go from the full FIFO before this point (64 bits)

Decides nothing of when something is written, or where to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from attrs import frozen

if TYPE_CHECKING:
    import numpy as np

_MARK = b"AKO1"
_HEADER = struct.Struct("<4sIIIQQ")
_TENSOR = struct.Struct("<III")
_TIME = struct.Struct("<I4xQ")
_COUNT = struct.Struct("<Q")

# More than any array has.
_MOST_DIMENSIONS = 64


@final
class RecordKind(IntEnum):
    """What a record holds."""

    LAUNCH = 1
    PRINTF = 2
    TENSOR = 3
    ASSERT = 4
    TIMESTAMP = 5
    DROPPED = 6


@final
@frozen(kw_only=True)
class KernelRecord:
    """One record of a file."""

    kind: RecordKind
    device_id: int
    #: Counts the launches of a process.
    launch: int
    #: Since the epoch.
    time_ns: int
    #: What was printed, or the assertion's words.
    text: str = ""
    #: The number that the kernel gave a tensor or a timestamp.
    desc: int = 0
    #: A tensor's element type, by numpy's name, and its dimensions.
    dtype: str = ""
    shape: tuple[int, ...] = ()
    #: A tensor's elements, in C order.
    content: bytes = b""
    #: A timestamp's steady clock, in nanoseconds.
    clock_ns: int = 0
    #: How many records were dropped.
    dropped: int = 0
    #: Of a launch.
    op_type: str = ""
    op_name: str = ""

    def array(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return a tensor as an array.

        Raises:
          ValueError: it is no tensor, or numpy has no such element type.
        """
        import numpy as np  # noqa: PLC0415 (a reader of texts needs none)

        if self.kind is not RecordKind.TENSOR:
            raise ValueError(f"a record of kind {self.kind.name.lower()} is no tensor")

        return np.frombuffer(self.content, _dtype(self.dtype)).reshape(self.shape)


def pack_text(text: str) -> bytes:
    """Return what follows the header of a printf or an assert."""
    return text.encode("utf-8", "surrogateescape")


def pack_launch(op_type: str, op_name: str) -> bytes:
    """Return what follows the header of a launch."""
    return pack_text(op_type) + b"\0" + pack_text(op_name)


def pack_tensor(array: np.ndarray[Any, np.dtype[Any]], desc: int) -> bytes:
    """Return what follows the header of a tensor."""
    name = array.dtype.name.encode()
    shape = struct.pack(f"<{array.ndim}Q", *array.shape)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return _TENSOR.pack(desc, array.ndim, len(name)) + shape + name + little.tobytes()


def pack_timestamp(desc: int, clock_ns: int) -> bytes:
    """Return what follows the header of a timestamp."""
    return _TIME.pack(desc, clock_ns)


def pack_dropped(count: int) -> bytes:
    """Return what follows the header of a note on dropped records."""
    return _COUNT.pack(count)


def pack_record(
    kind: RecordKind, content: bytes, *, device_id: int, launch: int, time_ns: int
) -> bytes:
    """Return a whole record."""
    return _HEADER.pack(_MARK, kind, device_id, launch, time_ns, len(content)) + content


def read_kernel_output(path: Path) -> Iterator[KernelRecord]:
    """Yield the records of a file; none is held longer than it takes.

    Raises:
      OSError: it can't be read.
      ValueError: it is no such file, or ends in the middle of a record.
    """
    with path.open("rb") as file:
        left = path.stat().st_size
        at = 0
        while header := file.read(_HEADER.size):
            if len(header) < _HEADER.size:
                raise ValueError(f"{path} ends in the middle of a record, at byte {at}")

            mark, number, device_id, launch, time_ns, length = _HEADER.unpack(header)
            if mark != _MARK or number not in RecordKind._value2member_map_:
                raise ValueError(f"{path} is no output of kernels, at byte {at}")

            left -= _HEADER.size
            if length > left:
                raise ValueError(
                    f"{path} ends in the middle of a record, at byte {at}: {length} bytes are "
                    f"announced, {left} are left"
                )

            content = file.read(length)
            try:
                fields = _FIELDS[RecordKind(number)](content)
            except (struct.error, ValueError, UnicodeDecodeError) as exc:
                raise ValueError(f"{path}: a damaged record at byte {at}: {exc}") from exc

            yield KernelRecord(
                kind=RecordKind(number),
                device_id=device_id,
                launch=launch,
                time_ns=time_ns,
                **fields,
            )
            left -= length
            at += _HEADER.size + length


def _text(content: bytes) -> dict[str, Any]:
    return {"text": content.decode("utf-8", "surrogateescape")}


def _launch(content: bytes) -> dict[str, Any]:
    op_type, _, op_name = content.decode("utf-8", "surrogateescape").partition("\0")
    return {"op_type": op_type, "op_name": op_name}


def _tensor(content: bytes) -> dict[str, Any]:
    desc, dimensions, name_length = _TENSOR.unpack_from(content)
    if dimensions > _MOST_DIMENSIONS:
        raise ValueError(f"{dimensions} dimensions")

    shape = struct.unpack_from(f"<{dimensions}Q", content, _TENSOR.size)
    begin = _TENSOR.size + 8 * dimensions
    elements = content[begin + name_length :]
    name = content[begin : begin + name_length].decode()
    return {"desc": desc, "shape": shape, "dtype": name, "content": elements}


def _timestamp(content: bytes) -> dict[str, Any]:
    desc, clock_ns = _TIME.unpack(content)
    return {"desc": desc, "clock_ns": clock_ns}


def _dropped(content: bytes) -> dict[str, Any]:
    return {"dropped": _COUNT.unpack(content)[0]}


_FIELDS = {
    RecordKind.LAUNCH: _launch,
    RecordKind.PRINTF: _text,
    RecordKind.TENSOR: _tensor,
    RecordKind.ASSERT: _text,
    RecordKind.TIMESTAMP: _timestamp,
    RecordKind.DROPPED: _dropped,
}


def _dtype(name: str) -> np.dtype[Any]:
    import numpy as np  # noqa: PLC0415 (as above)

    try:
        return np.dtype(name).newbyteorder("<")
    except TypeError:
        pass

    try:
        import ml_dtypes  # noqa: PLC0415 (as above)

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError) as exc:
        raise ValueError(f"there is no element type {name!r}") from exc

    return dtype
