"""Which requests run next, and together. Knows nothing of threads, loops, devices or clocks.

Models take turns, so that a flood for one does not starve another. Of a model's requests, the
oldest decides what runs, and those behind it that fit join it: same inputs, element types and
shapes but for the first dimension.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, final

from attrs import define, field, frozen

from .errors import QueueFullError

if TYPE_CHECKING:
    import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Owner = TypeVar("Owner")


@final
@frozen(kw_only=True)
class Limits:
    """What may wait for a model and what may run together."""

    #: Rows of the first dimension in one run; 1 turns batching off.
    max_batch: int = 32
    #: Seconds that the oldest request waits for company while the device is free.
    max_delay: float = 0.0
    #: Requests that may wait; the next one is refused.
    max_queue: int = 1024
    #: Seconds from arrival to answer, unless the request brings its own; None for no bound.
    deadline: float | None = 30.0

    def __attrs_post_init__(self) -> None:
        for name, least in (("max_batch", 1), ("max_queue", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")

        for name in ("max_delay", "deadline"):
            value = getattr(self, name)
            if value is None and name == "deadline":
                continue

            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= 86_400:
                raise ValueError(f"{name} must be seconds, 0 to a day, not {value!r}")


@final
@define(eq=False, slots=True)
class Item:
    """One request and, later, its answer."""

    inputs: Mapping[str, Array]
    #: Requests with equal keys may run together; None runs alone.
    key: Hashable
    rows: int
    arrived: float
    #: When the answer is no longer wanted.
    deadline: float | None = None
    outputs: dict[str, Array] | None = None
    error: BaseException | None = None
    #: Set by the waiter's side; called once, when the answer is there.
    wake: Any = None


@final
@define(eq=False)
class Lane(Generic[Owner]):
    """The requests that wait for one model, in groups of those that may run together."""

    owner: Owner
    limits: Limits
    length: int = 0
    # Dicts as ordered sets: first in, first out, and a request that gave up leaves at once.
    _groups: dict[Hashable, dict[Item, None]] = field(factory=dict)

    def put(self, item: Item) -> None:
        """Let a request wait.

        Raises:
          QueueFullError: `limits.max_queue` wait already.
        """
        if self.length >= self.limits.max_queue:
            raise QueueFullError(
                f"{self.length} requests wait for this model, as many as may; try again later"
            )

        self._groups.setdefault(self._group(item), {})[item] = None
        self.length += 1

    def remove(self, item: Item) -> bool:
        """Take a request out; return False if it was not there any more."""
        group = self._groups.get(self._group(item), {})
        if item not in group:
            return False

        del group[item]
        self._forget(item, group)
        return True

    def ready_at(self) -> float:
        """Return when the lane has something to run: the past if a batch is full, else later."""
        ready = float("inf")
        for group in self._groups.values():
            oldest = next(iter(group))
            if not self.limits.max_delay or self._is_full(group):
                return oldest.arrived

            ready = min(ready, oldest.arrived + self.limits.max_delay)

        return ready

    def take(self, now: float) -> tuple[list[Item], list[Item]]:
        """Return the next batch, and the requests whose time was over before their turn."""
        batch: list[Item] = []
        expired: list[Item] = []
        rows = 0
        group = self._next_group(now)
        for item in group:
            if item.deadline is not None and item.deadline <= now:
                expired.append(item)
                continue

            if batch and (item.key is None or rows + item.rows > self.limits.max_batch):
                break

            batch.append(item)
            rows += item.rows

        for item in (*batch, *expired):
            del group[item]
            self._forget(item, group)

        return batch, expired

    def clear(self) -> list[Item]:
        """Take everything out."""
        items = [item for group in self._groups.values() for item in group]
        self._groups.clear()
        self.length = 0
        return items

    def _next_group(self, now: float) -> dict[Item, None]:
        """Return the oldest group of those that need not wait for company any longer."""
        groups = list(self._groups.values())
        if self.limits.max_delay and len(groups) > 1:
            due = now - self.limits.max_delay
            ready = [g for g in groups if self._is_full(g) or next(iter(g)).arrived <= due]
            groups = ready or groups

        return min(groups, key=lambda group: next(iter(group)).arrived)

    def _is_full(self, group: dict[Item, None]) -> bool:
        return sum(item.rows for item in group) >= self.limits.max_batch

    def _group(self, item: Item) -> Hashable:
        return item if item.key is None else item.key

    def _forget(self, item: Item, group: dict[Item, None]) -> None:
        self.length -= 1
        if not group:
            del self._groups[self._group(item)]


@final
class FairQueue(Generic[Owner]):
    """Lanes that take turns."""

    def __init__(self) -> None:
        # In the order of their turns.
        self._lanes: dict[Lane[Owner], None] = {}

    def __len__(self) -> int:
        return sum(lane.length for lane in self._lanes)

    def __iter__(self) -> Iterator[Lane[Owner]]:
        return iter(self._lanes)

    def add(self, lane: Lane[Owner]) -> None:
        """Let a lane take part."""
        self._lanes[lane] = None

    def discard(self, lane: Lane[Owner]) -> None:
        """Let a lane take part no longer."""
        self._lanes.pop(lane, None)

    def ready_at(self) -> float | None:
        """Return when something may run, None if nothing waits."""
        return min((lane.ready_at() for lane in self._lanes if lane.length), default=None)

    def take(self, now: float) -> tuple[Lane[Owner], list[Item], list[Item]] | None:
        """Return the lane whose turn it is, its next batch and its expired requests."""
        waiting = [lane for lane in self._lanes if lane.length]
        if not waiting:
            return None

        lane = next((lane for lane in waiting if lane.ready_at() <= now), waiting[0])
        del self._lanes[lane]
        self._lanes[lane] = None
        return lane, *lane.take(now)
