"""The bounded memory that a kernel's output waits in: when it is full, the oldest record goes."""

from __future__ import annotations

from collections import deque
from typing import final


@final
class Fifo:
    """Records of one core, or of all cores of a kind that share their room."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._records: deque[tuple[int, bytes]] = deque()
        self._size_bytes = 0
        self._dropped: dict[int, int] = {}

    def push(self, core: int, record: bytes) -> None:
        """Add a record of a core; what has no room, or has to make room, is counted as dropped."""
        if len(record) > self._capacity_bytes:
            self._drop(core)
            return

        while self._size_bytes + len(record) > self._capacity_bytes:
            oldest_core, oldest = self._records.popleft()
            self._size_bytes -= len(oldest)
            self._drop(oldest_core)

        self._records.append((core, record))
        self._size_bytes += len(record)

    def drain(self) -> tuple[dict[int, list[bytes]], dict[int, int]]:
        """Take everything out: the records of each core, and how many each has lost."""
        records: dict[int, list[bytes]] = {}
        for core, record in self._records:
            records.setdefault(core, []).append(record)

        dropped, self._dropped = self._dropped, {}
        self._records.clear()
        self._size_bytes = 0
        return records, dropped

    def _drop(self, core: int) -> None:
        self._dropped[core] = self._dropped.get(core, 0) + 1
