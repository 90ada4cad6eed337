"""Raw records: four numbers for everything that took time, and a table of what the names mean."""

from __future__ import annotations

import json
import sys
import threading
from array import array
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, final

from attrs import frozen

from .folder import DATA, NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .storage import Storage

#: The files of raw data: calls on the host; runs, operators and marks on a device.
CALLS, RUNS, OPERATORS, MARKS = "api", "model", "task", "msproftx"

# As many as fit into 64 KiB are written at once.
_FULL = 2048


@final
@frozen
class Name:
    """What a record is of."""

    name: str
    #: The operator's type, or the layer that a call belongs to.
    kind: str = ""
    model: str = ""


class Record(NamedTuple):
    """Something that took time."""

    name: Name
    thread_id: int
    #: Since the epoch.
    begin_ns: int
    duration_ns: int


@final
class Names:
    """Numbers for names; each stands in a file as soon as it has one."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._numbers: dict[Name, int] = {}

    def number_of(self, name: Name) -> int:
        """Return the number of a name, a new one for a new name."""
        number = self._numbers.get(name)
        if number is not None:
            return number

        with self._lock:
            number = self._numbers.setdefault(name, len(self._numbers))
            if number == len(self._numbers) - 1:
                line = json.dumps([number, name.name, name.kind, name.model], ensure_ascii=False)
                self._storage.index(NAMES, f"{line}\n".encode())

        return number


@final
class Track:
    """One file of records; written when enough have come together."""

    def __init__(self, storage: Storage, file: str) -> None:
        self._storage = storage
        self._file = file
        self._lock = threading.Lock()
        self._records: deque[tuple[int, int, int, int]] = deque()

    def add(self, name: int, thread_id: int, begin_ns: int, duration_ns: int) -> None:
        """Add a record, from any thread."""
        self._records.append((name, thread_id, begin_ns, duration_ns))
        if len(self._records) >= _FULL:
            self.flush()

    def flush(self) -> None:
        """Write what has not been written."""
        with self._lock:
            # As many as there are now: other threads go on adding.
            count = len(self._records)
            numbers = array("Q")
            for _ in range(count):
                numbers.extend(self._records.popleft())

            if sys.byteorder == "big":
                numbers.byteswap()

            if count:
                self._storage.put(self._file, numbers.tobytes())


def read_records(folder: Path, file: str) -> Iterator[Record]:
    """Yield the records of a storage folder's file, the slices in order.

    Raises:
      OSError: a slice can't be read.
      ValueError: the table of names, or a slice, is damaged.
    """
    names = _read_names(folder)
    slices = [path for path in (folder / DATA).glob(f"{file}.slice_*") if path.suffix != ".done"]
    for path in sorted(slices, key=lambda path: int(path.name.rpartition("_")[2])):
        numbers = array("Q")
        content = path.read_bytes()
        if len(content) % (4 * numbers.itemsize):
            raise ValueError(f"{path} is damaged: {len(content)} bytes are no whole records")

        numbers.frombytes(content)
        if sys.byteorder == "big":
            numbers.byteswap()

        for at in range(0, len(numbers), 4):
            number, thread_id, begin_ns, duration_ns = numbers[at : at + 4]
            name = names.get(number)
            if name is None:
                raise ValueError(f"{path} is damaged: nothing has the number {number}")

            yield Record(name, thread_id, begin_ns, duration_ns)


def _read_names(folder: Path) -> dict[int, Name]:
    path = folder / DATA / NAMES
    if not path.exists():
        return {}

    names = {}
    for line in path.read_bytes().splitlines():
        try:
            number, name, kind, model = json.loads(line)
        except ValueError as exc:
            raise ValueError(f"{path} is damaged: {exc}") from exc

        names[number] = Name(name, kind, model)

    return names
