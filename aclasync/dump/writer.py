"""Writes what is dumped: one operator, one file, on the calling thread.

    writer = DumpWriter(Path("/data/dumps"), time_digits(now))
    added = Operator(op_type="Add", name="add_1", inputs=[Tensor(a)], outputs=[Tensor(b)])
    writer.write(added, "0")  # the device's number; of a model also its name, number and step

What can't be written is warned of once, counted, and hurts nobody else.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from pathlib import Path
from typing import final

from attrs import frozen

from aclasync.files import append_whole

from .disk import FILE_MODE, make_below, write_new
from .format import Operator, encode
from .names import MAPPING, STATS_SUFFIX, file_name, sanitised, short_name
from .stats import csv_text

_logger = logging.getLogger("aclasync.dump")


@final
@frozen
class WriterTally:
    """What a writer has done so far."""

    files: int = 0
    #: Bytes of the files written.
    size: int = 0
    #: Files that could not be written.
    lost: int = 0


@final
class DumpWriter:
    """Writes files below `base`/`top`; any number of threads may.

    `base` must exist and is never made; the folders below it are made when something is written.
    """

    def __init__(self, base: Path, top: str, *, stats: tuple[str, ...] | None = None) -> None:
        """Write statistics of these names instead of tensors, if `stats` is given."""
        self._base = base
        self._top = top
        self._stats = stats
        self._lock = threading.Lock()
        self._made: set[tuple[str, ...]] = set()
        self._warned: set[int | None] = set()
        self._tally = WriterTally()

    @property
    def root(self) -> Path:
        """The folder that everything goes into."""
        return self._base / self._top

    @property
    def tally(self) -> WriterTally:
        """What was written, and what could not be."""
        return self._tally

    def write(self, operator: Operator, *folders: str) -> Path | None:
        """Write an operator's file into folders below the root, named as the reference names it.

        Folders are made safe: a name with `/` or `..` stays one name. Returns where the file is,
        or None if it could not be written, which is counted and, the first time, warned of.
        """
        inner = tuple(map(_folder_name, folders))
        try:
            path, size = self._write(operator, inner)
        except OSError as exc:
            self._count(lost=1)
            self._warn(exc, operator)
            return None

        self._count(files=1, size=size)
        return path

    def _write(self, operator: Operator, inner: tuple[str, ...]) -> tuple[Path, int]:
        time_us = time.time_ns() // 1000
        suffix = ""
        if self._stats is None:
            pieces, size = encode(operator, time_us)
        else:
            content = csv_text(operator, self._stats).encode()
            pieces, size, suffix = [memoryview(content)], len(content), STATS_SUFFIX

        folder = self._folder(inner)
        while True:
            name = file_name(
                *(operator.op_type, operator.name, operator.task_id, operator.stream_id, time_us)
            )
            try:
                return self._write_named(folder, name + suffix, pieces), size
            except FileExistsError:
                time_us += 1  # the same operator in the same microsecond
            except FileNotFoundError:
                if inner not in self._made:
                    raise

                # Somebody has removed the folder since; make it again, once.
                self._made.discard(inner)
                folder = self._folder(inner)
                self._made.discard(inner)

    def _write_named(self, folder: Path, name: str, pieces: list[memoryview]) -> Path:
        path = folder / name
        try:
            write_new(path, pieces)
        except OSError as exc:
            if exc.errno != errno.ENAMETOOLONG:
                raise

            short = short_name(os.fspath(path))
            path = folder / short
            write_new(path, pieces)
            line = f"{short},{name}\n".encode("utf-8", "surrogateescape")
            with self._lock:
                append_whole(folder / MAPPING, line, FILE_MODE)

        return path

    def _folder(self, inner: tuple[str, ...]) -> Path:
        if inner in self._made:
            return self.root.joinpath(*inner)

        folder = make_below(self._base, (self._top, *inner))
        self._made.add(inner)
        return folder

    def _count(self, *, files: int = 0, size: int = 0, lost: int = 0) -> None:
        with self._lock:
            before = self._tally
            self._tally = WriterTally(before.files + files, before.size + size, before.lost + lost)

    def _warn(self, exc: OSError, operator: Operator) -> None:
        with self._lock:
            is_known = exc.errno in self._warned
            self._warned.add(exc.errno)

        if not is_known:
            _logger.warning(
                "the dump of the operator %s can't be written below %s: %s; runs go on, and more "
                "of the kind is only counted",
                *(operator.name, self.root, exc.strerror or exc),
            )


def _folder_name(name: str) -> str:
    """Return a name that is one folder, and neither this one nor the one above."""
    return sanitised(name) or "_"
