"""Raw data on disk: files cut into slices, of which the oldest go when there are too many."""

from __future__ import annotations

import logging
import shutil
import threading
from collections import deque
from typing import TYPE_CHECKING, final

from attrs import define

from aclasync.files import append_whole, make_folders

from .folder import DATA, FILE_MODE, FOLDER_MODE

if TYPE_CHECKING:
    from pathlib import Path

_logger = logging.getLogger("aclasync.profiling")

MIB = 1024 * 1024
SLICE_BYTES = 2 * MIB
#: Left free on the disk, and of the limit, for the files that never go.
RESERVED_BYTES = 20 * MIB


def limit_bytes(limit_mb: int | None, *, disk_bytes: int, free_bytes: int) -> int:
    """Return how much raw data a storage folder may hold; 0 if the disk is too full for any.

    Half of `storage_limit` is for one folder, as in the reference; without it, what is free.
    """
    if free_bytes < RESERVED_BYTES:
        return 0

    most = free_bytes if limit_mb is None else min(limit_mb * MIB // 2, disk_bytes)
    return max(most - RESERVED_BYTES, 0)


@final
@define
class _Slice:
    path: Path
    size: int = 0


@final
class Storage:
    """The raw data of the host or of one device."""

    def __init__(
        self, folder: Path, limit_mb: int | None = None, slice_bytes: int = SLICE_BYTES
    ) -> None:
        disk = shutil.disk_usage(folder.parent)
        self.folder = folder
        self._limit = limit_bytes(limit_mb, disk_bytes=disk.total, free_bytes=disk.free)
        self._slice_bytes = slice_bytes
        self._lock = threading.Lock()
        self._open: dict[str, _Slice] = {}
        self._closed: deque[_Slice] = deque()
        self._counts: dict[str, int] = {}
        self._size = 0
        self._is_failed = False
        #: Bytes that had to go for newer ones.
        self.aged_bytes: int = 0
        #: Bytes that could not be written.
        self.lost_bytes: int = 0
        make_folders(folder / DATA, FOLDER_MODE)
        if not self._limit:
            _logger.warning(
                "profiling: less than %d MB free for %s: nothing is collected",
                *(RESERVED_BYTES // MIB, folder),
            )

    def put(self, name: str, chunk: bytes) -> None:
        """Add raw data to the file `name`; what a full disk refuses is counted and told once."""
        with self._lock:
            if not self._limit:
                self.lost_bytes += len(chunk)
                return

            piece = self._open.get(name) or self._begin(name)
            if not self._write(piece.path, chunk):
                self.lost_bytes += len(chunk)
                return

            piece.size += len(chunk)
            self._size += len(chunk)
            if piece.size >= self._slice_bytes:
                self._end(name)

            self._age()

    def index(self, name: str, line: bytes) -> None:
        """Add a line to one of the small files that never go."""
        with self._lock:
            if self._limit:
                self._write(self.folder / DATA / name, line)

    def finish(self) -> None:
        """Mark every slice as complete."""
        with self._lock:
            for name in tuple(self._open):
                self._end(name)

    def _write(self, path: Path, chunk: bytes) -> bool:
        if self._is_failed:
            return False

        try:
            append_whole(path, chunk, FILE_MODE)
        except OSError as exc:
            self._is_failed = True
            _logger.warning("profiling: no more data in %s: %s", self.folder, exc)
            return False

        return True

    def _begin(self, name: str) -> _Slice:
        number = self._counts.get(name, 0)
        self._counts[name] = number + 1
        piece = self._open[name] = _Slice(self.folder / DATA / f"{name}.slice_{number}")
        return piece

    def _end(self, name: str) -> None:
        piece = self._open.pop(name)
        self._closed.append(piece)
        self._write(_done(piece.path), b"")

    def _age(self) -> None:
        """Let the oldest go until the rest is within the limit."""
        while self._size > self._limit and self._closed:
            oldest = self._closed.popleft()
            oldest.path.unlink(missing_ok=True)
            _done(oldest.path).unlink(missing_ok=True)
            self._size -= oldest.size
            self.aged_bytes += oldest.size


def _done(path: Path) -> Path:
    return path.with_name(f"{path.name}.done")
