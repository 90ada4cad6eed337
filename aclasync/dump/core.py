"""The file of a detail exception dump: an ELF core whose sections hold what an operator had.

Sections, by the reference's names:

    .ascend.global               the bytes of one tensor, a section each
    .ascend.devtbl               the device: its number and its kind, 32 bits each
    .ascend.auxinfo.global       a record for every tensor: its address, size, section, what it is
                                 to the operator, and up to 25 dimensions
    .ascend.file_kernel_object   the operator alone as an ONNX model, to run it again
    .ascend.file_kernel_json     type, name, attributes and tensors, as JSON
    .ascend.kernel_info          the state of the engine and the traceback, as text

Knows nothing of where it is written.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import final

from attrs import frozen

from .datatypes import InputType

_ALIGNMENT = 8
_SECTION_TYPE = 0x80000000  # SHT_LOUSER
_STRING_TABLE = 3  # SHT_STRTAB
_MACHINE = 0x1029
_CORE_FILE = 4  # ET_CORE

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_DEVICE = struct.Struct("<II")
_MOST_DIMENSIONS = 25
_MEMORY = struct.Struct(f"<QQIHHI4x{_MOST_DIMENSIONS}Q")

_IDENT = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)  # 64 bits, little-endian, version 1

# Each name's number above SHT_LOUSER, in the reference's order.
_NUMBERS = {
    ".ascend.global": 1,
    ".ascend.devtbl": 4,
    ".ascend.auxinfo.global": 5,
    ".ascend.file_kernel_object": 8,
    ".ascend.file_kernel_json": 9,
    ".ascend.kernel_info": 10,
}


@final
@frozen(kw_only=True)
class Memory:
    """A tensor in a core file."""

    content: memoryview
    kind: InputType
    shape: tuple[int, ...]


def encode_core(
    *,
    device_id: int,
    memories: Sequence[Memory],
    model: bytes,
    description: str,
    state: str,
) -> list[memoryview]:
    """Return a core file in pieces, in their order."""
    sections: list[tuple[str, memoryview]] = [(".ascend.global", m.content) for m in memories]
    records = b"".join(_record(at, memory) for at, memory in enumerate(memories, 1))
    sections += [
        (".ascend.devtbl", memoryview(_DEVICE.pack(device_id, 0))),
        (".ascend.auxinfo.global", memoryview(records)),
        (".ascend.file_kernel_object", memoryview(model)),
        (".ascend.file_kernel_json", memoryview(description.encode())),
        (".ascend.kernel_info", memoryview(state.encode())),
    ]
    return _assembled(sections)


def _record(section: int, memory: Memory) -> bytes:
    shape = memory.shape[:_MOST_DIMENSIONS]
    dimensions = (*shape, *(0,) * (_MOST_DIMENSIONS - len(shape)))
    size = memory.content.nbytes
    return _MEMORY.pack(0, size, section, memory.kind, 0, len(shape), *dimensions)


def _assembled(sections: Sequence[tuple[str, memoryview]]) -> list[memoryview]:
    titles = bytearray(b"\0")
    heads = [bytes(_SECTION.size)]  # the first is always empty
    pieces: list[memoryview] = []
    offset = _HEADER.size

    def add(name: str, number: int, content: memoryview) -> None:
        nonlocal offset
        heads.append(
            _SECTION.pack(len(titles), number, 0, 0, offset, content.nbytes, 0, 0, _ALIGNMENT, 0)
        )
        titles.extend(name.encode() + b"\0")
        pieces.extend((content, memoryview(bytes(-content.nbytes % _ALIGNMENT))))
        offset += content.nbytes + -content.nbytes % _ALIGNMENT

    for name, content in sections:
        add(name, _SECTION_TYPE + _NUMBERS[name], content)

    # Its own name must be in it before it is written.
    title = len(titles)
    titles.extend(b".shstrtab\0")
    heads.append(_SECTION.pack(title, _STRING_TABLE, 0, 0, offset, len(titles), 0, 0, 1, 0))
    padding = -len(titles) % _ALIGNMENT
    table = offset + len(titles) + padding
    header = _HEADER.pack(
        *(_IDENT, _CORE_FILE, _MACHINE, 1, 0, 0, table, 0, _HEADER.size, 0, 0),
        *(_SECTION.size, len(heads), len(heads) - 1),
    )
    return [
        memoryview(header),
        *(piece for piece in pieces if piece.nbytes),
        memoryview(bytes(titles) + bytes(padding)),
        memoryview(b"".join(heads)),
    ]
