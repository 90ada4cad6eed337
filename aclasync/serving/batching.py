"""Greedy dynamic batching: whenever the device is free, it takes what has arrived.

The batch is chosen on the device's thread at the moment it can run, so nothing waits for a timer
and nothing is chosen too early. Two calls are kept before the device: while the loop hands out the
answers of one batch, the device runs the next. Its own thread wakes the loop once per batch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, final

import anyio
from anyio.abc import TaskGroup
from attrs import define, evolve, field, frozen

from aclasync import AclError, Device, TensorSpec

from .errors import DeadlineError, DeviceLostError, DrainingError, ModelFailedError
from .joining import can_batch, rows_and_key, run_together
from .queueing import Array, FairQueue, Item, Lane, Limits

_CALLS = 2


class Runnable(Protocol):
    """What can be batched; `aclasync.Model` is."""

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        """What a run takes."""
        ...

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        """What a run gives."""
        ...

    def execute_blocking(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run once, on the device's thread."""
        ...


@final
@frozen(kw_only=True)
class BatchReport:
    """What is known of a batch when it is done; times in seconds."""

    requests: int
    rows: int
    #: How often the model was called: once, unless a request had to be told from its neighbours.
    runs: int
    #: From the arrival of the oldest request to the device.
    waited: float
    #: On the device.
    took: float


#: Told of every batch, in the loop's thread.
OnBatch = Callable[[BatchReport], None]


@final
class BatchedModel:
    """A model whose requests are run together; made by `Batcher.add`."""

    def __init__(
        self, batcher: Batcher, model: Runnable, limits: Limits, on_batch: OnBatch | None
    ) -> None:
        self.model: Runnable = model
        self.is_batching: bool = can_batch(model.inputs, model.outputs) and limits.max_batch > 1
        self.limits: Limits = limits if self.is_batching else evolve(limits, max_batch=1)
        self._batcher = batcher
        self._on_batch = on_batch
        self._lane: Lane[BatchedModel] = Lane(self, self.limits)
        self._running = 0
        self._is_retired = False
        self._idle: anyio.Event | None = None

    @property
    def queued(self) -> int:
        """Requests that wait for the device."""
        return self._lane.length

    @property
    def running(self) -> int:
        """Requests that are on the device."""
        return self._running

    async def infer(
        self, inputs: Mapping[str, Array], *, timeout: float | None = None
    ) -> dict[str, Array]:
        """Run one request, alone or with others, and return every output by name.

        Args:
          inputs: an array for each input.
          timeout: seconds until the answer is no longer wanted, instead of the model's deadline.

        Raises:
          QueueFullError: too many wait already.
          DeadlineError: the time is over; a request that still waited was taken out.
          DrainingError: the model is being unloaded, or the server ends.
          ModelFailedError: the model raised for this request.
          DeviceLostError: the device was closed.
        Cancellation: takes a request that still waits out of the queue; the answer of one that
          runs is thrown away, and its neighbours get theirs.
        """
        if self._is_retired:
            raise DrainingError("the model is being unloaded")

        timeout = self.limits.deadline if timeout is None else timeout
        now = time.monotonic()
        rows, key = rows_and_key(inputs) if self.is_batching else (1, None)
        item = Item(inputs, key, rows, now, None if timeout is None else now + timeout)
        done = anyio.Event()
        item.wake = done.set
        self._batcher.put(self._lane, item)
        try:
            if timeout is None:
                await done.wait()
            else:
                with anyio.move_on_after(timeout):
                    await done.wait()
        finally:
            if not done.is_set():
                self._batcher.remove(self._lane, item)

        if item.outputs is not None:
            return item.outputs

        raise _shown(item.error, timeout)

    async def retire(self) -> None:
        """Take no more requests and wait until those that are here are answered."""
        self._is_retired = True
        while self._lane.length or self._running:
            self._idle = self._idle or anyio.Event()
            await self._idle.wait()

        self._batcher.discard(self._lane)

    def began(self, requests: int) -> None:
        """Count requests that the device has taken; called on its thread, under the lock."""
        self._running += requests

    def ended(self, requests: int, report: BatchReport | None) -> None:
        """Count requests that are answered."""
        self._running -= requests
        if report is not None and self._on_batch is not None:
            self._on_batch(report)

        self.woke()

    def woke(self) -> None:
        """Tell `retire` if nothing is left."""
        if self._idle is not None and not (self._lane.length or self._running):
            self._idle.set()
            self._idle = None


def _shown(error: BaseException | None, timeout: float | None) -> Exception:
    """Return what a waiter is to raise: a new exception, as several may share one cause."""
    if error is None:
        return DeadlineError(f"no answer within {timeout:g} s")

    if isinstance(error, (DeadlineError, DrainingError, DeviceLostError)):
        return type(error)(*error.args)

    detail = error.detail if isinstance(error, AclError) else f"{type(error).__name__}: {error}"
    failed = ModelFailedError(f"the model failed: {detail}")
    failed.__cause__ = error
    return failed


@final
class Batcher:
    """One device's queue. Belongs to one event loop; hold it with `async with`.

    Leaving the block without an exception answers everything that waits; with one, or when
    cancelled, what waits is refused and only what runs is waited for.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._queue: FairQueue[BatchedModel] = FairQueue()
        # Held for the moments in which the queue is changed, by the loop and the device's thread.
        self._lock = threading.Lock()
        self._calls: set[_Call] = set()
        self._untaken = 0
        self._tasks: TaskGroup | None = None
        self._is_draining = False
        self._lost: BaseException | None = None
        self._idle: anyio.Event | None = None
        self._filled: anyio.Event | None = None
        self.busy_seconds: float = 0.0

    def __repr__(self) -> str:
        return f"<Batcher of {self._device!r}, {len(self)} waiting>"

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_draining(self) -> bool:
        """Whether new requests are refused."""
        return self._is_draining

    @property
    def lost(self) -> BaseException | None:
        """Why the device can't be used any more; None while it can."""
        return self._lost

    @property
    def running_for(self) -> float:
        """Seconds that the device has been at its present batch; 0 if it is free."""
        began = [call.began for call in self._calls if call.began and not call.ended]
        return time.monotonic() - min(began) if began else 0.0

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._tasks is not None
        try:
            if exc is None:
                await self.drain()
        finally:
            self._is_draining = True
            self._refuse(DrainingError("the server ends"))
            if exc is not None:
                self._tasks.cancel_scope.cancel()

            # Without the block's exception, which is to leave as it is, not in a group.
            await self._tasks.__aexit__(None, None, None)

    def add(
        self, model: Runnable, limits: Limits | None = None, *, on_batch: OnBatch | None = None
    ) -> BatchedModel:
        """Let requests for `model` take their turns on the device."""
        batched = BatchedModel(self, model, limits or Limits(), on_batch)
        with self._lock:
            self._queue.add(batched._lane)  # noqa: SLF001  # the two are one

        return batched

    async def drain(self) -> None:
        """Refuse new requests and wait until all that are here are answered."""
        self._is_draining = True
        while self._queue or self._calls:
            self._idle = self._idle or anyio.Event()
            await self._idle.wait()

    def put(self, lane: Lane[BatchedModel], item: Item) -> None:
        """Let a request wait for the device, and the device know."""
        if self._lost is not None:
            raise DeviceLostError(f"the device can't be used any more: {self._lost}")

        if self._is_draining or self._tasks is None:
            raise DrainingError("the server ends and takes no new requests")

        with self._lock:
            lane.put(item)

        if self._filled is not None:
            self._filled.set()

        self._kick()

    def remove(self, lane: Lane[BatchedModel], item: Item) -> bool:
        """Take out a request that nobody waits for; return False if it runs already."""
        with self._lock:
            is_removed = lane.remove(item)

        if is_removed:
            lane.owner.woke()
            self._check_idle()

        return is_removed

    def discard(self, lane: Lane[BatchedModel]) -> None:
        """Forget a model."""
        with self._lock:
            self._queue.discard(lane)

    def _kick(self) -> None:
        """See that a call is on its way to the device if something waits."""
        if self._untaken or len(self._calls) >= _CALLS or self._tasks is None:
            return

        with self._lock:
            self._untaken += 1

        call = _Call(self)
        self._calls.add(call)
        self._tasks.start_soon(self._run, call)

    async def _run(self, call: _Call) -> None:
        try:
            await self._company()
            await self._device.run(call.run)
        except Exception as exc:  # noqa: BLE001  # everybody who waits gets it
            self._lost = exc
            self._refuse(DeviceLostError(f"the device can't be used any more: {exc}"))
        finally:
            self._end(call)

        if self._queue:
            self._kick()

    async def _company(self) -> None:
        """Wait until something may run: at once, unless a model's requests wait for others."""
        while True:
            with self._lock:
                ready_at = self._queue.ready_at()

            delay = 0.0 if ready_at is None else ready_at - time.monotonic()
            if delay <= 0:
                return

            self._filled = anyio.Event()
            with anyio.move_on_after(delay):
                await self._filled.wait()

            self._filled = None

    def _end(self, call: _Call) -> None:
        """Hand out what a call brought; what it took and did not run is refused."""
        self._calls.discard(call)
        if not call.is_taken:
            with self._lock:
                self._untaken -= 1

        self.busy_seconds += call.took
        for item in call.items:
            if item.outputs is None and item.error is None:
                item.error = DrainingError("the server ended before the request could run")

            item.wake()

        if call.owner is not None:
            call.owner.ended(len(call.items), call.report())

        self._check_idle()

    def _refuse(self, error: Exception) -> None:
        with self._lock:
            lanes = [(lane, lane.clear()) for lane in self._queue]

        for lane, items in lanes:
            for item in items:
                item.error = error
                item.wake()

            lane.owner.woke()

        self._check_idle()

    def _check_idle(self) -> None:
        if self._idle is not None and not self._queue and not self._calls:
            self._idle.set()
            self._idle = None

    def take(self, call: _Call, now: float) -> list[Item]:
        """Choose what `call` is to run; on the device's thread."""
        with self._lock:
            call.is_taken = True
            self._untaken -= 1
            taken = self._queue.take(now)
            if taken is None:
                return []

            lane, batch, expired = taken
            call.owner, call.items = lane.owner, [*batch, *expired]
            lane.owner.began(len(call.items))

        for item in expired:
            item.error = DeadlineError("the time was over before the request's turn came")

        return batch


@final
@define(eq=False)
class _Call:
    """One turn on the device's thread."""

    batcher: Batcher
    is_taken: bool = False
    owner: BatchedModel | None = None
    items: list[Item] = field(factory=list)
    rows: int = 0
    runs: int = 0
    waited: float = 0.0
    began: float = 0.0
    ended: float = 0.0

    @property
    def took(self) -> float:
        """Seconds on the device."""
        return self.ended - self.began if self.ended else 0.0

    def run(self) -> None:
        """Take what has arrived and run it."""
        now = time.monotonic()
        batch = self.batcher.take(self, now)
        if not batch:
            return

        assert self.owner is not None
        self.began = now
        self.waited = now - batch[0].arrived
        self.rows = sum(item.rows for item in batch)
        self.runs = run_together(batch, self.owner.model.execute_blocking)
        self.ended = time.monotonic()

    def report(self) -> BatchReport | None:
        """Return what is known of the batch, None if nothing ran."""
        if not self.runs:
            return None

        return BatchReport(
            requests=len(self.items),
            rows=self.rows,
            runs=self.runs,
            waited=self.waited,
            took=self.took,
        )
