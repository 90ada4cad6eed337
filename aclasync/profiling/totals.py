"""What the operators of a device took, added up."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import final

from attrs import define, evolve, field, frozen

from .records import Name


@final
@define
class Tally:
    """Times of one operator, in nanoseconds."""

    timed: int = 0
    total_ns: int = 0
    min_ns: int = 0
    max_ns: int = 0
    #: Types and shapes of what went in and came out the last time.
    inputs: str = ""
    outputs: str = ""
    #: Bytes of the outputs, of the inputs that are results, and of the weights, the last time.
    memory: tuple[int, int, int] | None = None

    def add(self, duration_ns: int) -> None:
        """Add one time."""
        self.min_ns = min(self.min_ns, duration_ns) if self.timed else duration_ns
        self.max_ns = max(self.max_ns, duration_ns)
        self.timed += 1
        self.total_ns += duration_ns


@final
@frozen
class Line:
    """One line of the summary."""

    device_id: int
    operator: Name
    #: How often it ran.
    count: int
    #: How many of these were timed; times are of those, the total is for all.
    timed: int
    total_us: float
    mean_us: float
    min_us: float
    max_us: float
    #: Its part of the time of all operators, in percent.
    share: float
    inputs: str = ""
    outputs: str = ""


@final
@define
class _Sum:
    count: int = 0
    total_ns: float = 0.0
    tally: Tally = field(factory=Tally)


@final
class Totals:
    """The operators of one device."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[Name, _Sum] = {}

    def add(self, operator: Name, duration_ns: int, inputs: str = "", outputs: str = "") -> None:
        """Add one time of an operator that is timed whenever it runs."""
        with self._lock:
            total = self._sums.setdefault(operator, _Sum())
            total.count += 1
            total.total_ns += duration_ns
            total.tally.add(duration_ns)
            total.tally.inputs, total.tally.outputs = inputs, outputs

    def add_sample(self, tallies: Mapping[Name, Tally], *, runs: int, timed_runs: int) -> None:
        """Add operators that were timed in some runs of a model, and ran in all of them."""
        with self._lock:
            for operator, tally in tallies.items():
                total = self._sums.setdefault(operator, _Sum())
                factor = runs / timed_runs
                total.count += round(tally.timed * factor)
                total.total_ns += tally.total_ns * factor
                merge(total.tally, tally)

    @property
    def tallies(self) -> dict[Name, Tally]:
        """What was timed."""
        with self._lock:
            return {operator: total.tally for operator, total in self._sums.items()}

    def lines(self, device_id: int) -> list[Line]:
        """Return the summary; shares are to be computed among all devices."""
        with self._lock:
            return [
                Line(
                    device_id,
                    operator,
                    total.count,
                    total.tally.timed,
                    total.total_ns / 1000,
                    total.tally.total_ns / total.tally.timed / 1000,
                    total.tally.min_ns / 1000,
                    total.tally.max_ns / 1000,
                    0.0,
                    total.tally.inputs,
                    total.tally.outputs,
                )
                for operator, total in self._sums.items()
            ]


def merge(into: Tally, more: Tally) -> None:
    """Add the times of `more`."""
    if more.timed:
        into.min_ns = min(into.min_ns, more.min_ns) if into.timed else more.min_ns
        into.max_ns = max(into.max_ns, more.max_ns)
        into.timed += more.timed
        into.total_ns += more.total_ns
        into.inputs, into.outputs, into.memory = more.inputs, more.outputs, more.memory


def with_shares(lines: Iterable[Line]) -> list[Line]:
    """Return the lines with every one's part of the whole, the largest first."""
    lines = list(lines)
    whole = sum(line.total_us for line in lines) or 1.0
    shared = [evolve(line, share=100 * line.total_us / whole) for line in lines]
    return sorted(shared, key=lambda line: -line.total_us)
