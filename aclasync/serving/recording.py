"""What happened, counted in the loop's thread: cheap enough for every request.

Knows nothing of how it is shown; `metrics` and `status` read it.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from typing import final

from attrs import define, field, frozen

from .batching import BatchReport

#: Upper bounds in seconds.
LATENCY_BOUNDS = (
    0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.5, 5.0, 10.0, 30.0,
)  # fmt: skip
BATCH_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_RECENT = 2048
_WINDOW = 10


@final
@define
class Histogram:
    """Counts by upper bound, the last one without."""

    bounds: Sequence[float]
    counts: list[int] = field(init=False)
    total: float = 0.0

    def __attrs_post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


@final
@frozen
class Failure:
    """A request that was not answered, for people to read."""

    at: float
    model: str
    outcome: str
    detail: str


@final
@define
class ModelRecord:
    """All that is counted of one version of a model."""

    outcomes: Counter[str] = field(factory=Counter)
    latency: Histogram = field(factory=lambda: Histogram(LATENCY_BOUNDS))
    waited: Histogram = field(factory=lambda: Histogram(LATENCY_BOUNDS))
    batches: Histogram = field(factory=lambda: Histogram(BATCH_BOUNDS))
    busy_seconds: float = 0.0
    #: Seconds from arrival to answer, of the latest answered requests.
    recent: deque[float] = field(factory=lambda: deque(maxlen=_RECENT))

    def answered(self, seconds: float) -> None:
        """Count a request that got its answer."""
        self.outcomes["ok"] += 1
        self.latency.add(seconds)
        self.recent.append(seconds)

    def batched(self, report: BatchReport) -> None:
        """Count a batch."""
        self.batches.add(report.rows)
        self.waited.add(report.waited)
        self.busy_seconds += report.took


@final
@define
class Records:
    """Everything that is counted since the server started; outlives models that are unloaded."""

    models: dict[tuple[str, str], ModelRecord] = field(factory=dict)
    failures: deque[Failure] = field(factory=lambda: deque(maxlen=50))
    #: Refused before a model was found.
    refused: Counter[str] = field(factory=Counter)
    started: float = field(factory=time.time)
    #: Seconds on the device in each of the latest seconds of the clock.
    _busy: dict[int, float] = field(factory=dict)

    def of(self, name: str, version: str) -> ModelRecord:
        """Return the record of a model, a new one at first."""
        return self.models.setdefault((name, version), ModelRecord())

    def batched(self, record: ModelRecord, report: BatchReport) -> None:
        """Count a batch for its model and for the device."""
        record.batched(report)
        second = int(time.monotonic())
        self._busy[second] = self._busy.get(second, 0.0) + report.took
        if len(self._busy) > 2 * _WINDOW:
            for old in [one for one in self._busy if one < second - _WINDOW]:
                del self._busy[old]

    def busy_share(self) -> float:
        """Return the share of the last ten full seconds in which the device was at work."""
        now = int(time.monotonic())
        busy = sum(s for second, s in self._busy.items() if now - _WINDOW <= second < now)
        return min(1.0, busy / _WINDOW)

    def failed(self, model: str, outcome: str, detail: str) -> None:
        """Remember why a request was not answered."""
        self.failures.append(Failure(time.time(), model, outcome, detail))


def percentiles(values: Sequence[float], shares: Sequence[float]) -> list[float | None]:
    """Return the values below which these shares of all values lie."""
    if not values:
        return [None for _ in shares]

    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in shares]
