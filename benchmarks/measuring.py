"""Ratios measured in one run: the sides take turns, so that a noisy moment hits all of them.

Knows nothing of what is measured or how it is shown.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import final

from attrs import define, frozen

#: Measures once: seconds (or bytes) for one operation.
Measure = Callable[[], Awaitable[float]]


@final
class Role(StrEnum):
    """What a side is to the work that is measured."""

    OURS = "ours"
    #: The least that such a thing could cost.
    FLOOR = "floor"
    #: What people use, or would use, instead.
    PEER = "peer"


@final
@frozen
class Side:
    """One way of doing the work."""

    name: str
    role: Role
    measure: Measure
    #: The most that ours may cost as a multiple of this side; None where nothing is promised.
    limit: float | None = None


@final
@frozen
class Scale:
    """How much is measured: rounds of every side, and a share of the usual repetitions."""

    rounds: int = 9
    share: float = 1.0

    def times(self, usual: int) -> int:
        """Return how often to repeat what is usually repeated so often."""
        return max(1, round(usual * self.share))


#: Each benchmark once, to see that it works.
SMOKE = Scale(rounds=1, share=0.01)


@final
@define
class Row:
    """What was measured of one work, by side in the order they were given."""

    work: str
    unit: str
    names: list[str]
    roles: list[str]
    limits: list[float | None]
    medians: list[float]
    #: Ours over that side: the median of the rounds' ratios.
    ratios: list[float]
    #: Half the distance between the quartiles of those ratios.
    spreads: list[float]

    @property
    def missed(self) -> list[str]:
        """The sides whose limit ours is over."""
        return [
            name
            for name, limit, ratio in zip(self.names, self.limits, self.ratios, strict=True)
            if limit is not None and ratio > limit
        ]


def timed(work: Callable[[int], Awaitable[object]], times: int) -> Measure:
    """Return a measure of `work(times)`: seconds for one of those times."""

    async def measure() -> float:
        began = time.perf_counter()
        await work(times)
        return (time.perf_counter() - began) / times

    return measure


async def compare(work: str, *sides: Side, scale: Scale, unit: str = "s") -> Row:
    """Measure every side once a round, and put ours beside each; the first side is ours."""
    assert sides[0].role is Role.OURS
    rounds = []
    for number in range(scale.rounds):
        gc.collect()
        # Every other round backwards, so that no side always comes after the same one.
        order = sides if number % 2 == 0 else sides[::-1]
        taken = {side.name: await side.measure() for side in order}
        rounds.append([taken[side.name] for side in sides])

    columns = list(zip(*rounds, strict=True))
    ratios = [[ours / other for ours, other in zip(columns[0], c, strict=True)] for c in columns]
    return Row(
        work=work,
        unit=unit,
        names=[side.name for side in sides],
        roles=[str(side.role) for side in sides],
        limits=[side.limit for side in sides],
        medians=[statistics.median(column) for column in columns],
        ratios=[statistics.median(ratio) for ratio in ratios],
        spreads=[_half_quartiles(ratio) for ratio in ratios],
    )


def _half_quartiles(values: list[float]) -> float:
    if len(values) < 4:
        return (max(values) - min(values)) / 2

    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2
