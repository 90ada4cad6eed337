"""One device's log: a bounded buffer on the device's side and a thread that brings it to the host.

Decides which line is kept, dropped or spooled. Does not know what a line says or where files lie.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, final

from aclasync.backends.base import LogLevel

from .logline import caller, format_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from .logfiles import LineSink

_logger = logging.getLogger("aclasync.device")

#: Lines that a device holds before it must let one go.
CAPACITY = 4096

#: How long `end` waits for a host whose disk hangs; then the batch it sits on is spooled as well.
PATIENCE_S = 1.0


@final
class DeviceLog:
    """The log of one device from its first opening to the end of the backend.

    A line is in the buffer, in flight to the host, delivered or left (in the spool). Only lines of
    a level that is not guaranteed may be dropped, only by a full buffer, and they are counted.
    """

    def __init__(
        self,
        device_id: int,
        levels: Collection[LogLevel],
        *,
        host: LineSink,
        spool: LineSink,
        latency_s: float = 0.0,
        capacity: int = CAPACITY,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._device_id = device_id
        # None: not written. NULL is missing: it switches a log off, no line has it.
        self._levels = {
            int(level): (level.name, level.is_guaranteed) if level in levels else None
            for level in LogLevel
            if level is not LogLevel.NULL
        }
        self._host = host
        self._spool = spool
        self._latency_s = latency_s
        self._capacity = capacity
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_idle = False
        self._is_stopping = False
        self._is_spooling = False
        self._has_ended = False
        self._has_warned = False
        self._has_spooled = False
        # Two queues, so that a full buffer finds its oldest expendable line without a search; the
        # numbers put them in order again.
        self._guaranteed: deque[tuple[int, bytes]] = deque()
        self._others: deque[tuple[int, bytes]] = deque()
        self._number = 0
        self._in_flight: Sequence[bytes] = ()
        self._asked: list[Callable[[], None]] = []
        self._delivered = 0
        self._left = 0
        self._dropped = 0

    @property
    def delivered(self) -> int:
        """Lines that reached the host."""
        return self._delivered

    @property
    def left(self) -> int:
        """Lines that went to the spool instead."""
        return self._left

    @property
    def dropped(self) -> int:
        """Lines that are gone; never one of a guaranteed level."""
        return self._dropped

    @property
    def spool(self) -> LineSink | None:
        """The spool, if anything is in it."""
        return self._spool if self._has_spooled else None

    def write(self, level: int, text: str) -> None:
        """Put a line in the buffer, or in the spool once the log has ended; waits for no host.

        Raises:
          ValueError: lines can't have that level.
        """
        try:
            known = self._levels[level]
        except KeyError:
            raise ValueError(f"{level!r} is no level of a log line") from None

        if known is None:
            return

        name, is_guaranteed = known
        line = format_line(name, text, time.time(), caller())
        spilled: bytes | None = line
        with self._changed:
            if not self._has_ended:
                spilled = self._put(line, is_guaranteed=is_guaranteed)
                if self._is_idle:
                    self._changed.notify()
                elif self._thread is None:
                    self._start()

        if spilled is not None:
            self._put_in_spool([spilled])

    def ask(self, acknowledged: Callable[[], None]) -> bool:
        """Have `acknowledged` called when all that is held now has left; False if nothing is."""
        with self._changed:
            is_busy = self._in_flight or self._is_spooling
            if not (self._guaranteed or self._others or is_busy):
                return False

            self._asked.append(acknowledged)
            self._changed.notify()
            return True

    def stop(self) -> None:
        """Tell the thread to deliver nothing more, without waiting for it."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()

    def end(self) -> None:
        """Stop the thread and spool what it did not deliver; a second call does nothing."""
        self.stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(self._patience_s)

        with self._changed:
            if self._has_ended:
                return

            left = [*self._in_flight, *self._take()]
            self._in_flight = ()
            self._asked.clear()
            self._has_ended = True

        if left:
            self._put_in_spool(left)

        if self._dropped:
            _logger.warning(
                "device %d: %d log lines below ERROR were dropped, as its buffer of %d was full",
                *(self._device_id, self._dropped, self._capacity),
            )

    def _put(self, line: bytes, *, is_guaranteed: bool) -> bytes | None:
        """Put `line` in the buffer and return the one that must go to the spool for it."""
        spilled = None
        if len(self._guaranteed) + len(self._others) >= self._capacity:
            if self._others:
                self._others.popleft()
                self._dropped += 1
            elif is_guaranteed:
                spilled = self._guaranteed.popleft()[1]
            else:
                self._dropped += 1
                return None

        self._number += 1
        (self._guaranteed if is_guaranteed else self._others).append((self._number, line))
        return spilled

    def _take(self) -> list[bytes]:
        """Empty the buffer and return its lines in the order they were written."""
        numbered = sorted([*self._guaranteed, *self._others])
        self._guaranteed.clear()
        self._others.clear()
        return [line for _, line in numbered]

    def _start(self) -> None:
        thread = threading.Thread(
            target=self._receive, name=f"aclasync-log-{self._device_id}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as exc:
            # Out of threads, or at the interpreter's exit: `end` will find the lines.
            self._warn("no thread to deliver log lines: %s", exc)
        else:
            self._thread = thread

    def _receive(self) -> None:
        """Deliver batches until stopped; the body of the log's thread."""
        while True:
            with self._changed:
                self._is_idle = True
                self._changed.wait_for(self._has_work)
                self._is_idle = False
                if self._is_stopping:
                    return

                batch = self._in_flight = self._take()
                asked, self._asked = self._asked, []
                if batch and self._is_stopped_within(self._latency_s):
                    return

            if batch:
                self._deliver(batch)

            for acknowledged in asked:
                acknowledged()

    def _is_stopped_within(self, seconds: float) -> bool:
        return self._changed.wait_for(lambda: self._is_stopping, seconds)

    def _has_work(self) -> bool:
        return bool(self._is_stopping or self._asked or self._guaranteed or self._others)

    def _deliver(self, batch: Sequence[bytes]) -> None:
        failure = None
        try:
            self._host.append(batch)
        except OSError as exc:
            failure = exc

        with self._changed:
            if self._in_flight is not batch:
                return  # it hung so long that `end` spooled the batch

            self._in_flight = ()
            if failure is None:
                self._delivered += len(batch)
                return

            self._is_spooling = True

        self._warn("can't write the host's log, lines go to the spool: %s", failure)
        self._put_in_spool(batch)
        self._is_spooling = False

    def _put_in_spool(self, lines: Sequence[bytes]) -> None:
        try:
            self._spool.append(lines)
        except OSError as exc:
            _logger.warning("device %d: can't write the spool: %s", self._device_id, exc)
            for line in lines:
                _logger.warning("device %d: %s", self._device_id, line.decode().rstrip("\n"))
        else:
            self._has_spooled = True

        with self._changed:
            self._left += len(lines)

    def _warn(self, message: str, cause: object) -> None:
        """Log a fault of the host the first time it is met."""
        if not self._has_warned:
            self._has_warned = True
            _logger.warning(f"device %d: {message}", self._device_id, cause)  # noqa: G004
