"""One side of a comparison: its tensors by what makes them the same as another's, in their order.

A side is a folder of dump files, one dump file, or a folder of .npy files, which are named as
those of `aclasync dump npy`, or after a tensor or an operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from attrs import frozen

from aclasync.errors import AclCode, DumpError

from .names import FileName, parse_file_name, sanitised
from .reader import DumpedTensor, Entry, find_dumps, read_dump

_COMPARE = "compare_dumps"
_NPY_NAME = re.compile(r"(?P<stem>.+)\.(?P<kind>input|output)\.(?P<index>\d+)\.npy")


class Key(NamedTuple):
    """What makes two tensors the same one."""

    model: str
    step: int | None
    name: str
    kind: str
    position: int
    #: Which one of several under the same name.
    occurrence: int = 0


@final
@frozen(kw_only=True)
class Item:
    """A tensor of one side."""

    op_type: str
    op_name: str
    kind: str
    index: int
    #: Names it may have on the other side, the best first.
    aliases: tuple[tuple[str, int], ...]
    read: Callable[[], np.ndarray[Any, Any]]
    is_ordered: bool = True


def side_of(path: Path) -> dict[Key, Item]:
    """Return every tensor of a side, in its order.

    Raises:
      DumpError: it is not there, can't be read, or is broken.
    """
    if not path.exists():
        raise DumpError(AclCode.INVALID_FILE, _COMPARE, f"there is no {path}")

    items: dict[Key, Item] = {}
    for key, item in (*_dumped(path), *_arrays(path)):
        occurrence = 0
        while key._replace(occurrence=occurrence) in items:
            occurrence += 1

        items[key._replace(occurrence=occurrence)] = item

    return items


def _dumped(path: Path) -> Iterator[tuple[Key, Item]]:
    for entry in find_dumps(path):
        if entry.named.is_stats or entry.path.suffix == ".npy":
            continue

        dump = read_dump(entry.path, name=entry.file_name)
        op_name = dump.op_name or dump.named.op_name
        for tensor in (*dump.inputs, *dump.outputs):
            key = Key(entry.model, entry.step, op_name, tensor.kind, tensor.index)
            yield key, _item_of(dump.op_type, op_name, tensor)


def _item_of(op_type: str, op_name: str, tensor: DumpedTensor) -> Item:
    aliases = [(op_name, tensor.index)]
    if tensor.original_op and tensor.original_op != op_name and "_after_" not in op_name:
        aliases.append((tensor.original_op, tensor.original_index))

    if tensor.name:
        aliases.append((tensor.name, 0))

    return Item(
        op_type=op_type,
        op_name=op_name,
        kind=tensor.kind,
        index=tensor.index,
        aliases=tuple((sanitised(name), index) for name, index in aliases),
        read=tensor.array,
    )


def _arrays(path: Path) -> Iterator[tuple[Key, Item]]:
    """Yield the .npy files of a folder: named as a dump's, or as a tensor or an operator."""
    files = sorted(path.rglob("*.npy")) if path.is_dir() else []
    for file in [path] if path.suffix == ".npy" else files:
        match = _NPY_NAME.fullmatch(file.name)
        stem = match["stem"] if match else file.name.removesuffix(".npy")
        named = parse_file_name(stem) or FileName(op_name=stem)
        kind, index = (match["kind"], int(match["index"])) if match else ("output", 0)
        entry = Entry(path=file, file_name=file.name, named=named, folders=())
        key = Key(entry.model, entry.step, sanitised(named.op_name), kind, index)
        yield (
            key,
            Item(
                op_type=named.op_type,
                op_name=named.op_name,
                kind=kind,
                index=index,
                aliases=((sanitised(named.op_name), index),),
                read=_loader(file),
                is_ordered=bool(named.op_type),
            ),
        )


def _loader(path: Path) -> Callable[[], np.ndarray[Any, Any]]:
    def load() -> np.ndarray[Any, Any]:
        try:
            array: np.ndarray[Any, Any] = np.load(path, allow_pickle=False)
        except OSError as exc:
            detail = f"can't read {path}: {exc.strerror or exc}"
            raise DumpError(AclCode.INVALID_FILE, _COMPARE, detail) from exc
        except (ValueError, EOFError, SyntaxError) as exc:
            raise DumpError(AclCode.PARSE_FILE, _COMPARE, f"{path} is no array: {exc}") from exc

        return array

    return load
