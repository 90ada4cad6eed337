"""The logs of all devices together: asking them to deliver, ending them, and the final count."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, final

from aclasync.backends.base import LogLevel, LogTally

from .devicelog import DeviceLog
from .logfiles import LogFolders

if TYPE_CHECKING:
    from collections.abc import Callable

    from aclasync.config import Environment

_logger = logging.getLogger("aclasync.device")


@final
class DeviceLogs:
    """Every log of one backend, made when its device is first opened."""

    def __init__(self, environment: Environment, latency_s: float) -> None:
        self._environment = environment
        self._latency_s = latency_s
        self._folders = LogFolders(environment)
        self._lock = threading.Lock()
        self._ending = threading.Lock()
        self._logs: dict[int, DeviceLog] = {}
        self._has_ended = False

    @property
    def is_empty(self) -> bool:
        """Whether no device was opened yet."""
        return not self._logs

    def of(self, device_id: int) -> DeviceLog:
        """Return the log of a device."""
        with self._lock:
            log = self._logs.get(device_id)
            if log is None:
                log = self._logs[device_id] = DeviceLog(
                    device_id,
                    _levels(self._environment),
                    host=self._folders.host_file(device_id),
                    spool=self._folders.spool_file(device_id),
                    latency_s=self._latency_s,
                )
                if self._has_ended:
                    log.end()

            return log

    def begin_drain(self, acknowledged: Callable[[], None]) -> int:
        """Ask every log to deliver what it holds and return how many hold something."""
        if not self._logs:
            return 0

        countdown = _Countdown(acknowledged)
        with countdown.lock:  # held: nobody counts down before all were asked
            countdown.owing = sum(log.ask(countdown.take_one) for log in self._snapshot())
            return countdown.owing

    def end_drain(self) -> LogTally:
        """End every log and return where all lines went; a second caller waits for the first."""
        with self._lock:
            self._has_ended = True

        logs = self._snapshot()
        for log in logs:
            log.stop()

        with self._ending:
            for log in logs:
                log.end()

        return LogTally(
            delivered=sum(log.delivered for log in logs),
            left=sum(log.left for log in logs),
            spools=tuple(log.spool.path for log in logs if log.spool),
        )

    def _snapshot(self) -> tuple[DeviceLog, ...]:
        with self._lock:
            return tuple(self._logs.values())


@final
class _Countdown:
    """Calls `acknowledged` when as many have counted down as were asked to."""

    def __init__(self, acknowledged: Callable[[], None]) -> None:
        self._acknowledged = acknowledged
        self.lock = threading.Lock()
        self.owing = 0

    def take_one(self) -> None:
        with self.lock:
            self.owing -= 1
            if self.owing:
                return

        try:
            self._acknowledged()
        except Exception:
            # Whoever waited may be gone, with their event loop; the log's thread goes on.
            _logger.exception("the drained device logs could not be acknowledged")


def _levels(environment: Environment) -> tuple[LogLevel, ...]:
    """Return the levels whose lines are written."""
    plain = (LogLevel.DEBUG, LogLevel.INFO, LogLevel.WARNING)
    events = (LogLevel.EVENT,) if environment.is_event_enabled else ()
    return (*(level for level in plain if level >= environment.log_level), LogLevel.ERROR, *events)
