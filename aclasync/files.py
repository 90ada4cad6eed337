"""Files that grow: a chunk is added as a whole or not at all, and never through a link."""

from __future__ import annotations

import os
from pathlib import Path


def append_whole(path: Path, chunk: bytes, mode: int) -> None:
    """Add `chunk` to a file, which is made with `mode`, or leave the file as it was.

    Raises:
      OSError: it has not been added.
    """
    # A link laid in our way is refused: the folder above may be everybody's.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, mode)
    try:
        size_before = os.fstat(fd).st_size
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError:
            os.ftruncate(fd, size_before)
            raise
    finally:
        os.close(fd)


def make_folders(folder: Path, mode: int) -> None:
    """Make `folder` and what is missing above it, all with `mode` (`os.makedirs` widens those).

    Raises:
      OSError: it can't be made.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode, exist_ok=True)
