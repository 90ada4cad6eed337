"""A PROF folder as values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, final

from attrs import frozen

from .export import read_summary, storage_folders
from .folder import SUMMARY, require_profile
from .records import OPERATORS, read_records
from .totals import Line, Totals, with_shares

if TYPE_CHECKING:
    from os import PathLike


@final
@frozen
class Profile:
    """What a profiling session found."""

    folder: Path
    #: The operators, the one that took most of the time first.
    operators: tuple[Line, ...]
    #: False if the session was never stopped: then these are the records that reached the disk,
    #: and counts are of those that were timed.
    is_complete: bool


def read_profile(folder: str | PathLike[str]) -> Profile:
    """Read a PROF folder.

    Raises:
      OSError: it can't be read.
      ValueError: it is no PROF folder, or damaged.
    """
    path = require_profile(Path(folder))
    summary = path / SUMMARY
    if summary.is_file():
        return Profile(path, tuple(read_summary(summary)), is_complete=True)

    lines = []
    for storage in storage_folders(path)[1:]:
        totals = Totals()
        for record in read_records(storage, OPERATORS):
            totals.add(record.name, record.duration_ns)

        lines += totals.lines(int(storage.name.rpartition("_")[2]))

    return Profile(path, tuple(with_shares(lines)), is_complete=False)
