"""Reads dump files, those of a real NPU, too; whatever a file claims is checked before it is used.

dump = read_dump("Conv.conv1.3.0.1700000000000000")
dump.outputs[0].array()
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import field, frozen

from aclasync.errors import AclCode, DumpError

from .datatypes import name_of_data_type, name_of_format
from .format import INPUT_NAMES, LENGTH_BYTES, OUTPUT_NAMES, from_bytes
from .message import dump_data_class
from .names import MAPPING, FileName, parse_file_name, parse_mapping

_READ = "read_dump"

#: A header says in a few hundred bytes what it must; one that is larger is no header.
MOST_HEADER_BYTES = 8 * 1024 * 1024
# Tensors of one operator: more than any has.
_MOST_TENSORS = 65536
_LONGEST_NUMBER = 20
_TIME_DIGITS = 14
_MOST_MAPPING_BYTES = 64 * 1024 * 1024


@final
@frozen(kw_only=True)
class DumpedTensor:
    """A tensor of a dump file; its values are read when they are asked for."""

    #: `input`, `output`, `buffer` or `workspace`.
    kind: str
    #: Its place in the header, among those of its kind.
    index: int
    #: Numbers of `DataType` and `Format`, or others that they don't know.
    data_type: int = 0
    format: int = 0
    shape: tuple[int, ...] = ()
    original_shape: tuple[int, ...] = ()
    #: Bytes in the file.
    size: int = 0
    #: Where they begin.
    offset: int = 0
    #: The tensor's name in the model; "" if the file does not say.
    name: str = ""
    #: The operator of the original model that made an output, and which of its outputs it is.
    original_op: str = ""
    original_index: int = 0
    input_type: int = 0
    path: Path

    @property
    def data_type_name(self) -> str:
        """The data type as `DT_FLOAT`."""
        return name_of_data_type(self.data_type)

    @property
    def format_name(self) -> str:
        """The format as `NCHW`."""
        return name_of_format(self.format)

    def raw(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the bytes.

        Raises:
          DumpError: they can't be read.
        """
        try:
            content = np.fromfile(self.path, np.uint8, self.size, offset=self.offset)
        except OSError as exc:
            raise _unreadable(self.path, exc) from exc

        if content.nbytes < self.size:
            raise _broken(self.path, f"{content.nbytes} of {self.size} bytes of a tensor are left")

        return content

    def read(self) -> tuple[np.ndarray[Any, Any], str]:
        """Return the values, and in words what of the description does not fit them, or "".

        Raises:
          DumpError: they can't be read.
        """
        return from_bytes(self.raw(), self.data_type, self.shape)

    def array(self) -> np.ndarray[Any, Any]:
        """Return the values; `read` also tells what does not fit.

        Raises:
          DumpError: they can't be read.
        """
        return self.read()[0]


@final
@frozen(kw_only=True)
class DumpFile:
    """The header of a dump file."""

    path: Path
    #: What the file is called, if need be by the folder's mapping.csv.
    file_name: str
    named: FileName
    version: str
    #: Microseconds since 1970.
    time_us: int
    op_name: str
    attributes: tuple[tuple[str, str], ...] = ()
    inputs: tuple[DumpedTensor, ...] = ()
    outputs: tuple[DumpedTensor, ...] = ()
    #: Buffers and workspaces.
    others: tuple[DumpedTensor, ...] = ()
    message: str = ""
    #: Bytes behind everything that the header knows of.
    left_over: int = field(default=0)

    @property
    def op_type(self) -> str:
        """The operator's type, from the file's name."""
        return self.named.op_type

    @property
    def tensors(self) -> tuple[DumpedTensor, ...]:
        """All tensors in the order of the file."""
        return (*self.inputs, *self.outputs, *self.others)


def read_dump(path: str | os.PathLike[str], *, name: str | None = None) -> DumpFile:
    """Read the header of a dump file.

    `name` is what the file is really called, if mapping.csv has it under a number.

    Raises:
      DumpError: it can't be read (100003), or is no dump file or a broken one (100006).
    """
    path = Path(path)
    if name is None:
        name = mapped_names(path.parent).get(path.name, path.name)

    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = _read_header(path, file, size)
    except OSError as exc:
        raise _unreadable(path, exc) from exc

    return _parsed(path, name, header, size)


def _read_header(path: Path, file: Any, size: int) -> bytes:
    front = file.read(LENGTH_BYTES)
    if len(front) < LENGTH_BYTES:
        raise _broken(path, f"it has {size} bytes, too few for the length of a header")

    length = int.from_bytes(front, "little")
    if length > size - LENGTH_BYTES:
        raise _broken(path, f"its header claims {length} bytes, the file has {size}")

    if length > MOST_HEADER_BYTES:
        raise _broken(path, f"its header claims {length} bytes, at most {MOST_HEADER_BYTES}")

    header: bytes = file.read(length)
    if len(header) < length:
        raise _broken(path, "it became shorter while it was read")

    return header


def _parsed(path: Path, name: str, header: bytes, size: int) -> DumpFile:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 (slow to import)

    message = dump_data_class()()
    try:
        message.ParseFromString(header)
    except DecodeError as exc:
        raise _broken(path, f"its header is no message of a dump: {exc}") from exc

    sides = (message.input, message.output, message.buffer, message.space)
    if sum(map(len, sides)) > _MOST_TENSORS:
        raise _broken(path, f"its header has {sum(map(len, sides))} tensors")

    attributes = tuple((entry.name, entry.value) for entry in message.attr)
    names = {
        "input": _names(attributes, INPUT_NAMES),
        "output": _names(attributes, OUTPUT_NAMES),
    }
    offset = LENGTH_BYTES + len(header)
    found: dict[str, list[DumpedTensor]] = {}
    for kind, entries in zip(("input", "output", "buffer", "workspace"), sides, strict=True):
        here = found.setdefault(kind, [])
        for index, entry in enumerate(entries):
            if entry.size > size - offset:
                detail = f"its {kind} {index} claims {entry.size} bytes, {size - offset} are left"
                raise _broken(path, detail)

            known = names.get(kind, ())
            here.append(_tensor(path, kind, index, entry, offset=offset, names=known))
            offset += entry.size

    return DumpFile(
        path=path,
        file_name=name,
        named=parse_file_name(name) or FileName(),
        version=message.version,
        time_us=message.dump_time,
        op_name=message.op_name,
        attributes=attributes,
        inputs=tuple(found["input"]),
        outputs=tuple(found["output"]),
        others=(*found["buffer"], *found["workspace"]),
        message=message.dfx_message,
        left_over=size - offset,
    )


def _tensor(
    path: Path, kind: str, index: int, entry: Any, *, offset: int, names: tuple[str, ...]
) -> DumpedTensor:
    if kind not in ("input", "output"):
        return DumpedTensor(kind=kind, index=index, size=entry.size, offset=offset, path=path)

    original = entry.original_op if kind == "output" else None
    return DumpedTensor(
        kind=kind,
        # A file may hold some of an operator's tensors; its number says which one this is.
        index=entry.arg_index if names else index,
        data_type=entry.data_type,
        format=entry.format,
        shape=tuple(entry.shape.dim),
        original_shape=tuple(entry.original_shape.dim),
        size=entry.size,
        offset=offset,
        name=names[index] if index < len(names) else "",
        original_op=original.name if original is not None else "",
        original_index=original.output_index if original is not None else 0,
        input_type=entry.input_type if kind == "input" else 0,
        path=path,
    )


def _names(attributes: tuple[tuple[str, str], ...], key: str) -> tuple[str, ...]:
    text = dict(attributes).get(key)
    if text is None:
        return ()

    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return ()

    return tuple(map(str, names)) if isinstance(names, list) else ()


def mapped_names(folder: Path) -> dict[str, str]:
    """Return the real names of a folder's files that are called by numbers."""
    path = folder / MAPPING
    try:
        if not path.is_file() or path.stat().st_size > _MOST_MAPPING_BYTES:
            return {}

        return parse_mapping(path.read_text("utf-8", "surrogateescape"))
    except OSError as exc:
        raise _unreadable(path, exc) from exc


@final
@frozen(kw_only=True)
class Entry:
    """A dump file in a folder, from its place and its name; nothing of it is read."""

    path: Path
    file_name: str
    named: FileName
    #: Folders between the one that was searched and the file.
    folders: tuple[str, ...]

    @property
    def step(self) -> int | None:
        """The number of the run, for a file in a folder of its model; None if there is none."""
        return int(self._above[2]) if self._above else None

    @property
    def model(self) -> str:
        """The model's folder; "" for what is of no model's run."""
        return self._above[0] if self._above else ""

    @property
    def _above(self) -> tuple[str, str, str] | None:
        """The folders of model, its number and the step; None if the file is not in such."""
        above = self.path.absolute().parent.parts[-3:]
        if len(above) < 3 or not (_is_number(above[1]) and _is_number(above[2])):
            return None

        # A single operator's file is below the time of the dump and the number of the device.
        return None if len(above[1]) == _TIME_DIGITS else (above[0], above[1], above[2])


def find_dumps(folder: str | os.PathLike[str]) -> Iterator[Entry]:
    """Yield every dump file in a folder and below, or the one that `folder` is, in their order.

    The order is that of the folders, then of tasks and times: for a model, the order in which
    its operators ran.

    Raises:
      DumpError: a folder can't be read (100003).
    """
    root = Path(folder)
    if root.is_file():
        name = mapped_names(root.parent).get(root.name, root.name)
        yield Entry(path=root, file_name=name, named=_named(name), folders=())
        return

    def refuse(exc: OSError) -> None:
        raise _unreadable(Path(exc.filename or root), exc) from exc

    for place, folders, files in os.walk(root, onerror=refuse):
        folders.sort(key=_natural)
        here = Path(place)
        names = mapped_names(here)
        found = [
            Entry(
                path=here / file,
                file_name=names.get(file, file),
                named=_named(names.get(file, file)),
                folders=here.relative_to(root).parts,
            )
            for file in files
            if parse_file_name(names.get(file, file)) is not None
        ]
        yield from sorted(found, key=_order)


def _named(name: str) -> FileName:
    return parse_file_name(name) or FileName()


def _order(entry: Entry) -> tuple[int, int, str]:
    return (entry.named.task_id, entry.named.time, entry.file_name)


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), "") if _is_number(name) else (1, 0, name)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < _LONGEST_NUMBER


def _unreadable(path: Path, exc: OSError) -> DumpError:
    return DumpError(AclCode.INVALID_FILE, _READ, f"can't read {path}: {exc.strerror or exc}")


def _broken(path: Path, detail: str) -> DumpError:
    return DumpError(AclCode.PARSE_FILE, _READ, f"{path} is no whole dump file: {detail}")
