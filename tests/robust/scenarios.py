"""What the sweeps run: one user of the runtime, who else is there, and what must hold after."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
from attrs import define, field

from aclasync import (
    CallbackType,
    LogLevel,
    Phase,
    RepeatFinalizeError,
    Runtime,
    acl_session,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
CONFIG = {"err_msg_mode": "1"}


@define
class Stage:
    """A fresh runtime before a spy, and what was entered and exited in it."""

    runtime: Runtime
    spy: SpyBackend
    config: object = None
    #: References that the scenario took without a session and has to give back.
    held: int = 0
    contexts: Counter[str] = field(factory=Counter)

    def check_at_rest(self, count: int = 0) -> None:
        """The count is exact, nobody waits, no transition is under way, nothing done is left."""
        statistics = self.runtime.statistics()
        phase = Phase.UP if count else Phase.DOWN
        rest = (statistics.ref_count, statistics.waiting, statistics.phase)
        assert rest == (count, 0, phase), rest
        if not count:
            assert self.contexts["entered"] == self.contexts["exited"], self.contexts
            check_balance(self.spy.calls)


def check_balance(calls: list[tuple[str, str]]) -> None:
    """Every opening of the device ends once: undone in reverse, or stopped step by step."""
    started: list[str] = []
    undone: list[str] = []
    stopped: list[str] = []
    for what, step in calls:
        if what == "start":
            assert not stopped, calls
            assert not undone, calls
            started.append(step)
        elif what == "undo":
            undone.append(step)
        elif what == "stop":
            stopped.append(step)
        else:
            assert len(set(undone)) == len(undone), calls
            assert len(set(stopped)) == len(stopped), calls
            assert not (undone and stopped), calls
            started, undone, stopped = [], [], []

    assert not started, calls
    assert not undone, calls


class PausingSpy(SpyBackend):
    """Lets others run at each named point, as a device does whose steps take time."""

    async def announce(self, point: str) -> None:
        await super().announce(point)
        await anyio.lowlevel.checkpoint()


@contextmanager
def staged(plan: FaultPlan | None = None, **options: object) -> Iterator[Stage]:
    spy = PausingSpy(plan)
    with fresh_runtime(backend=spy, **options) as runtime:
        yield Stage(runtime, spy)


# Each is what one task does; `others` says who holds a session meanwhile.


async def first_entry(stage: Stage) -> None:
    async with acl_session(stage.config):
        await anyio.lowlevel.checkpoint()


async def nested_entry(stage: Stage) -> None:
    async with acl_session(stage.config), acl_session(), acl_session(dict(CONFIG)) as inner:
        assert inner.ref_count >= 3
        await anyio.lowlevel.checkpoint()


async def exit_of_one_of_many(stage: Stage) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(first_entry, stage)


async def init_and_release(stage: Stage) -> None:
    epoch = (await stage.runtime.init(stage.config)).epoch
    stage.held += 1
    await anyio.lowlevel.checkpoint()
    stage.held -= 1
    try:
        await stage.runtime.finalize_reference()
    except anyio.get_cancelled_exc_class():
        # Cancelled before its turn nothing has happened; during the finalize it has completed.
        stage.held += opening_of(stage) == epoch
        raise


async def init_and_finalize(stage: Stage) -> None:
    epoch = (await stage.runtime.init(stage.config)).epoch
    try:
        await stage.runtime.finalize()
    finally:
        stage.held += opening_of(stage) == epoch


def opening_of(stage: Stage) -> int:
    """Which opening of the runtime is up; 0 for none."""
    standing = stage.runtime.core.gate.state.standing
    return standing.epoch if standing.phase is Phase.UP else 0


async def flush(stage: Stage) -> None:
    async with acl_session(stage.config, flush_timeout=5) as session:
        device = await session.open_device()
        device.write_log(LogLevel.ERROR, "a line that the exit waits for")


async def device(stage: Stage) -> None:
    async with acl_session(stage.config) as session, session.open_device() as opened:
        await opened.run(len, b"")


async def model(stage: Stage) -> None:
    import numpy as np  # noqa: PLC0415  # the embedded extra

    image = np.zeros((1, 1, 8, 8), np.float32)
    async with (
        acl_session(stage.config) as session,
        session.open_device() as opened,
        opened.load_model(DIGITS) as loaded,
    ):
        await loaded.execute({"image": image})


async def callbacks(stage: Stage) -> None:
    """Of every kind: registered, notified, and taken away again."""

    def plain(*_: object) -> None:
        """Do nothing."""

    async def awaits(*_: object) -> None:
        await anyio.lowlevel.checkpoint()

    @asynccontextmanager
    async def context(*_: object) -> AsyncIterator[None]:
        await anyio.lowlevel.checkpoint()
        stage.contexts["entered"] += 1
        try:
            yield
        finally:
            stage.contexts["exited"] += 1

    runtime = stage.runtime
    await runtime.register_init_callback(CallbackType.MODEL, plain, in_thread=True)
    await runtime.register_init_callback(CallbackType.DVPP, awaits)
    await runtime.register_context(CallbackType.OTHER, context)
    await runtime.register_finalize_callback(CallbackType.MODEL, awaits)
    await runtime.register_init_callback(CallbackType.OTHER, awaits)
    async with acl_session(stage.config):
        await anyio.lowlevel.checkpoint()


async def late_callback(stage: Stage) -> None:
    """Registered while the runtime is up, and called at once."""

    async def awaits(*_: object) -> None:
        await anyio.lowlevel.checkpoint()

    async with acl_session(stage.config):
        await stage.runtime.register_init_callback(CallbackType.OTHER, awaits)
        await stage.runtime.unregister_init_callback(CallbackType.OTHER, awaits)


Scenario = Callable[[Stage], Awaitable[None]]

#: Those that touch no thread, so that every run of one takes the same steps.
PLAIN: tuple[Scenario, ...] = (
    first_entry, nested_entry, exit_of_one_of_many, init_and_release, init_and_finalize,
    late_callback,
)  # fmt: skip
THREADED: tuple[Scenario, ...] = (callbacks, flush, device, model)


async def neighbour(stage: Stage) -> None:
    """Somebody else who comes and goes at the same time."""
    with suppress(RepeatFinalizeError):  # one of the scenarios ends the runtime for everybody
        async with acl_session(stage.config):
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
