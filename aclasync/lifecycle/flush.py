"""What became of the device's log at finalize, as a value."""

from __future__ import annotations

from enum import Enum
from pathlib import PurePath
from typing import final

from attrs import frozen


@final
class FlushOutcome(Enum):
    """How the wait for the device's log ended."""

    #: Every opened device acknowledged that its log is drained, or there was nothing to wait for.
    DRAINED = "drained"
    #: The timeout was over first.
    TIMED_OUT = "timed out"
    #: `skip_flush()` was called, or the task that awaited finalize was cancelled.
    SKIPPED = "skipped"
    #: The timeout is 0, so nobody waited.
    DISABLED = "disabled"


@final
@frozen
class FlushReport:
    """The device's log at finalize; times in seconds, counts in lines since init."""

    outcome: FlushOutcome
    #: Lines that reached the host's log files.
    delivered: int
    #: Lines that did not; they stand in `spools`, and are not lost.
    left: int
    #: How long finalize waited.
    elapsed: float
    #: How long it would have waited at most.
    timeout: float
    #: The device-side files that hold what is left.
    spools: tuple[PurePath, ...] = ()


NOTHING_TO_FLUSH = FlushReport(FlushOutcome.DRAINED, 0, 0, 0.0, 0.0)
