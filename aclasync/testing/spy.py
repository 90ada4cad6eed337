"""A backend that announces every step of a lifecycle before it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from aclasync.backends.base import Backend, DeviceHandle, LogTally
from aclasync.config import Resolution
from aclasync.product import Product

from .faults import FaultPlan


@final
class SpyBackend:
    """The embedded device, seen from outside: give it to `fresh_runtime`.

    Points are named `init.STEP`, `undo.STEP` and `finalize.STEP`, with the names of `InitStep` and
    `FinalizeStep`; callbacks have them, too. `points` lists those passed so far, `calls` what
    really reached the device: `("start" | "undo" | "stop" | "close", step)`.
    """

    blocks = False

    def __init__(self, plan: FaultPlan | None = None) -> None:
        self.plan: FaultPlan = plan or FaultPlan()
        self.points: list[str] = []
        self.calls: list[tuple[str, str]] = []
        self._inner: Backend | None = None

    def reopen(self, inner: Backend) -> SpyBackend:
        """Stand before another device; called at every first init."""
        self._inner = inner
        return self

    @property
    def inner(self) -> Backend:
        """The device behind."""
        assert self._inner is not None, "no init has opened the device yet"
        return self._inner

    @property
    def name(self) -> str:
        """The name of the backend behind."""
        return self.inner.name

    @property
    def product(self) -> Product:
        """The product of the backend behind."""
        return self.inner.product

    @property
    def device_count(self) -> int:
        """The devices of the backend behind."""
        return self.inner.device_count

    @property
    def has_logs(self) -> bool:
        """Whether the backend behind has a log to end."""
        return self.inner.has_logs

    async def announce(self, point: str) -> None:
        """Note the point and let happen what is planned there."""
        self.points.append(point)
        await self.plan.strike(point)

    def start(self, step: str, resolution: Resolution) -> None:
        """Pass on and note."""
        self.inner.start(step, resolution)
        self.calls.append(("start", step))

    def undo(self, step: str) -> None:
        """Pass on and note."""
        self.inner.undo(step)
        self.calls.append(("undo", step))

    def stop(self, step: str) -> None:
        """Pass on and note."""
        self.inner.stop(step)
        self.calls.append(("stop", step))

    def begin_drain(self, acknowledged: Callable[[], None]) -> int:
        """Pass on."""
        return self.inner.begin_drain(acknowledged)

    def end_drain(self) -> LogTally:
        """Pass on."""
        return self.inner.end_drain()

    def open_device(self, device_id: int) -> DeviceHandle:
        """Pass on."""
        return self.inner.open_device(device_id)

    def close(self) -> None:
        """Pass on and note."""
        self.inner.close()
        self.calls.append(("close", ""))


def opener(backend: str | SpyBackend, open_inner: Callable[..., Backend]) -> Callable[..., Backend]:
    """Return what a runtime opens its backend with: `open_inner`, with the spy before it if any."""
    if not isinstance(backend, SpyBackend):
        return open_inner

    def open_spied(name: str, **arguments: Any) -> Backend:
        return backend.reopen(open_inner(name, **arguments))

    return open_spied
