"""Dumped tensors as .npy files, for numpy and everything that reads its files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import frozen

from aclasync.errors import AclCode, DumpError

from .reader import DumpedTensor, find_dumps, read_dump

_WRITE = "write_npy"
_LONGEST_NAME = 255


@final
@frozen(kw_only=True)
class Written:
    """A tensor that became a file."""

    source: Path
    path: Path
    dtype: str
    shape: tuple[int, ...]
    #: What of it is not as it was dumped, or "".
    note: str = ""


def write_npy(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Written, ...]:
    """Write every tensor of a dump file, or of all below a folder, into a folder of .npy files.

    Files are called `<dump file>.<input|output>.<index>.npy`, below the folders of the dump. Types
    that numpy has not come as the next that holds every value of theirs.

    Raises:
      DumpError: a dump can't be read or is broken (100003, 100006), or a file can't be written
        (100004).
    """
    entries = [entry for entry in find_dumps(source) if not entry.named.is_stats]
    written = []
    for done, entry in enumerate(entries):
        if progress is not None:
            progress(done, len(entries))

        dump = read_dump(entry.path, name=entry.file_name)
        inner = Path(folder, *entry.folders)
        for tensor in dump.tensors:
            name = f"{entry.file_name}.{tensor.kind}.{tensor.index}.npy"
            # A name from a mapping.csv may be anything; the file's own is a name.
            if len(os.fsencode(name)) > _LONGEST_NAME or "/" in name:
                name = f"{entry.path.name}.{tensor.kind}.{tensor.index}.npy"

            written.append(_write(tensor, inner, name))

    if progress is not None:
        progress(len(entries), len(entries))

    return tuple(written)


def _write(tensor: DumpedTensor, folder: Path, name: str) -> Written:
    array, note = tensor.read()
    plain = to_plain(array)
    if plain.dtype != array.dtype and array.dtype.kind != "O":
        note = "; ".join(filter(None, (note, f"{array.dtype} as {plain.dtype}")))

    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path, plain, allow_pickle=False)
    except OSError as exc:
        detail = f"can't write {path}: {exc.strerror or exc}"
        raise DumpError(AclCode.WRITE_FILE, _WRITE, detail) from exc

    return Written(
        source=tensor.path, path=path, dtype=plain.dtype.name, shape=plain.shape, note=note
    )


def to_plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array in a type of numpy's own that holds every value."""
    if array.dtype.kind == "O":
        return array.astype(str)

    if array.dtype.name.startswith("complex32"):
        return array.astype(np.complex64)

    if array.dtype.isbuiltin == 1:
        return array

    is_integer = array.dtype.name.startswith(("int", "uint"))
    return array.astype(np.int8 if is_integer else np.float32)
