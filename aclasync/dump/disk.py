"""New files below a folder: whole or not at all, never through a link, while there is room."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
#: As in the reference: so much stays free.
RESERVED_BYTES = 1024 * 1024
#: What is written at once, at the most.
SLICE_BYTES = 128 * 1024 * 1024

_MOST_PIECES = 512


def make_below(base: Path, names: Sequence[str]) -> Path:
    """Make a folder inside another inside `base`, which must exist, and return the innermost.

    Raises:
      OSError: one can't be made, or is no folder.
    """
    folder = base
    for name in names:
        folder = folder / name
        try:
            folder.mkdir(FOLDER_MODE)
        except FileExistsError:
            if folder.is_symlink() or not folder.is_dir():
                raise

    return folder


def write_new(path: Path, pieces: Iterable[memoryview], *, mode: int = FILE_MODE) -> None:
    """Write a file that is not there yet.

    Raises:
      FileExistsError: it is there.
      OSError: it could not be written; nothing of it is left.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, FILE_MODE)
    try:
        for batch in _batches(pieces):
            _require_room(fd, sum(piece.nbytes for piece in batch))
            _write_all(fd, batch)

        if mode != FILE_MODE:
            os.fchmod(fd, mode)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def _batches(pieces: Iterable[memoryview]) -> Iterator[list[memoryview]]:
    """Yield what goes to disk at once, large pieces in slices."""
    batch: list[memoryview] = []
    size = 0
    for piece in pieces:
        for start in range(0, piece.nbytes, SLICE_BYTES):
            part = piece[start : start + SLICE_BYTES]
            if batch and (size + part.nbytes > SLICE_BYTES or len(batch) == _MOST_PIECES):
                yield batch
                batch, size = [], 0

            batch.append(part)
            size += part.nbytes

    if batch:
        yield batch


def _require_room(fd: int, size: int) -> None:
    """Refuse to fill the disk.

    Raises:
      OSError: fewer bytes are free than `size` and a reserve (ENOSPC).
    """
    state = os.fstatvfs(fd)
    free = state.f_bavail * state.f_frsize
    if free <= max(RESERVED_BYTES, size):
        raise OSError(errno.ENOSPC, f"{free} bytes are free, {size} are to be written")


def _write_all(fd: int, pieces: list[memoryview]) -> None:
    while pieces:
        written = os.writev(fd, pieces)
        while pieces and written >= pieces[0].nbytes:
            written -= pieces[0].nbytes
            del pieces[0]

        if written:
            pieces[0] = pieces[0][written:]
