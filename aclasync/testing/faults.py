"""A plan of what goes wrong where: fail, delay or park at a named point."""

from __future__ import annotations

import threading
from collections.abc import Callable
from difflib import get_close_matches
from typing import final

import anyio
from attrs import frozen

from aclasync.lifecycle.sequence import FINALIZE_ORDER, INIT_ORDER, InitStep
from aclasync.runtime.loops import Wakeup

_STARTED = tuple(e.step for e in INIT_ORDER if e.step not in (InitStep.READ, InitStep.PIN))

#: Every point there is, in the order of a lifecycle that fails at its last init step.
POINTS: tuple[str, ...] = (
    *(f"init.{step}" for step in _STARTED),
    *(f"undo.{step}" for step in reversed(_STARTED)),
    *(f"finalize.{entry.step}" for entry in FINALIZE_ORDER),
)


@final
@frozen
class Fault:
    """What happens at one point: first the delay, then the parking, then the failure."""

    error: BaseException | Callable[[], BaseException] | None = None
    delay_s: float = 0.0
    parks: bool = False
    #: How many visits of the point it strikes; None for all.
    times: int | None = None


@final
class FaultPlan:
    """Faults by the name of the point, which is `init.STEP`, `undo.STEP` or `finalize.STEP`.

    Such as::

        plan = FaultPlan().park("finalize.MODEL")
        plan.fail("init.device_log", AclError(507000, "device_log", "no space"), times=1)
        with fresh_runtime(backend=SpyBackend(plan)):
            ...

        assert not plan.unused()

    The names of the steps are those of `InitStep` and `FinalizeStep`; any other name is a
    ValueError. `init.dump` and the four steps after it are passed only by an init that is given a
    configuration, `undo` only after a failure. Plans may be changed while the program runs, from
    any thread.
    """

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}
        self._planned: dict[str, None] = {}
        self._struck: set[str] = set()
        self._parked: dict[str, list[Wakeup]] = {}
        self._arrivals: dict[str, list[Wakeup]] = {}
        self._lock = threading.Lock()

    def fail(
        self,
        point: str,
        error: BaseException | Callable[[], BaseException],
        *,
        times: int | None = None,
    ) -> FaultPlan:
        """Raise `error`, or what it makes, at that point."""
        return self.set(point, Fault(error=error, times=times))

    def delay(self, point: str, seconds: float, *, times: int | None = None) -> FaultPlan:
        """Wait there for a while."""
        return self.set(point, Fault(delay_s=seconds, times=times))

    def park(self, point: str, *, times: int | None = None) -> FaultPlan:
        """Wait there until `release`, or for the cancellation of the caller."""
        return self.set(point, Fault(parks=True, times=times))

    def set(self, point: str, fault: Fault | None) -> FaultPlan:
        """Put a fault at a point, or none.

        Raises:
          ValueError: there is no such point.
        """
        _check_point(point)
        with self._lock:
            if fault is None:
                self._faults.pop(point, None)
                self._planned.pop(point, None)
            else:
                self._faults[point] = fault
                self._planned[point] = None

        return self

    def unused(self) -> tuple[str, ...]:
        """Return the points for which something is planned that nobody has passed."""
        with self._lock:
            return tuple(point for point in self._planned if point not in self._struck)

    def release(self, point: str) -> None:
        """Let those parked at the point go on, and nobody park there any more.

        Raises:
          ValueError: there is no such point.
        """
        _check_point(point)
        with self._lock:
            self._faults.pop(point, None)
            parked = self._parked.pop(point, [])

        for wakeup in parked:
            wakeup.wake()

    async def wait_parked(self, point: str) -> None:
        """Wait until somebody is parked at the point.

        Raises:
          ValueError: there is no such point.
        """
        _check_point(point)
        with self._lock:
            if self._parked.get(point):
                return

            arrival = Wakeup()
            self._arrivals.setdefault(point, []).append(arrival)

        await arrival.wait()

    async def strike(self, point: str) -> None:
        """Let happen what is planned for the point."""
        with self._lock:
            fault = self._faults.get(point)
            if fault is None:
                return

            self._struck.add(point)
            if fault.times is not None:
                left = Fault(fault.error, fault.delay_s, fault.parks, fault.times - 1)
                self._faults[point] = left
                if left.times == 0:
                    del self._faults[point]

        if fault.delay_s:
            await anyio.sleep(fault.delay_s)

        if fault.parks:
            await self._park(point)

        if fault.error is not None:
            raise fault.error() if callable(fault.error) else fault.error

    async def _park(self, point: str) -> None:
        wakeup = Wakeup()
        with self._lock:
            self._parked.setdefault(point, []).append(wakeup)
            arrivals = self._arrivals.pop(point, [])

        for arrival in arrivals:
            arrival.wake()

        try:
            await wakeup.wait()
        finally:
            with self._lock:
                if wakeup in self._parked.get(point, ()):
                    self._parked[point].remove(wakeup)


def _check_point(point: str) -> None:
    if point in POINTS:
        return

    known = {name.casefold(): name for name in POINTS}
    close = get_close_matches(point.casefold(), known, 1)
    better = f"did you mean {known[close[0]]!r}?" if close else f"there are {', '.join(POINTS)}"
    raise ValueError(f"there is no point {point!r}; {better}")
