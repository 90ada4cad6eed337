"""Many tasks with many sessions in many event loops, with cancellation and faults, and a verdict.

`python -m benchmarks.stress --tasks 200 --sessions 20 --loops 4` takes seconds; with `--minutes`
the same goes on for as long as wanted. The seed decides what every task does, so a run can be
repeated; what the machine makes of it, in which order, can't.
"""

from __future__ import annotations

import gc
import logging
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, final

import anyio
import anyio.lowlevel
import typer
from attrs import define, field, frozen
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from aclasync import (
    AclError,
    CallbackType,
    LogLevel,
    Phase,
    Resolution,
    Runtime,
    acl_session,
    load_config,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

from .report import amount

# What every thread's event loop is, in turns.
LOOPS: Sequence[tuple[str, dict[str, Any]]] = (
    ("asyncio", {}),
    ("asyncio", {"use_uvloop": True}),
    ("trio", {}),
)
#: A task counts a session as this long at most before it is taken for stuck, in seconds.
STUCK_AFTER_S = 60.0


@final
@frozen(kw_only=True)
class Plan:
    """How much, how wild, and from which seed."""

    tasks: int
    sessions: int
    loops: int
    seed: int
    cancelled: float
    faults: float
    #: Some sessions open a device, which starts and ends a thread.
    has_devices: bool = True


@final
@define
class Tally:
    """What happened; every thread adds to it."""

    entered_s: list[float] = field(factory=list)
    left_s: list[float] = field(factory=list)
    counts: Counter[str] = field(factory=Counter)
    worst_stall_s: float = 0.0
    unexpected: list[BaseException] = field(factory=list)
    contexts_open: int = 0
    _lock: threading.Lock = field(factory=threading.Lock)

    def count(self, what: str) -> None:
        """Count something; a plain `+=` of two threads would lose one."""
        with self._lock:
            self.counts[what] += 1

    def count_context(self, change: int) -> None:
        """A context was entered, or exited."""
        with self._lock:
            self.contexts_open += change

    def stalled(self, seconds: float) -> None:
        """A loop did not run for so long."""
        with self._lock:
            self.worst_stall_s = max(self.worst_stall_s, seconds)


class PlannedError(Exception):
    """A fault that the run makes on purpose."""


async def one_session(
    plan: Plan, resolution: Resolution, chance: random.Random, tally: Tally
) -> None:
    """Enter, do something, and leave, timing both."""
    began = time.perf_counter()
    async with acl_session(resolution) as session:
        tally.entered_s.append(time.perf_counter() - began)
        match chance.randrange(6):
            case 0 if plan.has_devices:
                async with session.open_device() as device:
                    await device.run(sum, (1, 2, 3))
            case 1 if plan.has_devices:
                async with session.open_device() as device:
                    device.write_log(LogLevel.ERROR, "stress")
            case 2:
                async with acl_session():
                    await anyio.lowlevel.checkpoint()
            case 3:
                await anyio.sleep(chance.random() / 1000)
            case 4:
                session.runtime.skip_flush()
            case _:
                pass

        began = time.perf_counter()

    tally.left_s.append(time.perf_counter() - began)


async def one_task(
    number: str, plan: Plan, resolution: Resolution, tally: Tally, done: threading.Semaphore
) -> None:
    """Open sessions one after another, some of them cancelled."""
    chance = random.Random(f"{plan.seed}/{number}")
    for _ in range(plan.sessions):
        deadline = chance.random() / 200 if chance.random() < plan.cancelled else STUCK_AFTER_S
        try:
            with anyio.move_on_after(deadline) as scope:
                await one_session(plan, resolution, chance, tally)

            tally.count("cancelled" if scope.cancelled_caught else "left")
            if scope.cancelled_caught and deadline == STUCK_AFTER_S:
                tally.unexpected.append(TimeoutError(f"task {number} was stuck"))
        except* (AclError, PlannedError) as group:
            tally.count("failed")
            tally.unexpected += [exc for exc in _leaves(group) if not _is_planned(exc)]

        await anyio.lowlevel.checkpoint()

    done.release()


async def one_loop(
    number: int, plan: Plan, resolution: Resolution, tally: Tally, done: threading.Semaphore
) -> None:
    """Run this loop's share of the tasks beside a heartbeat."""

    async def beat() -> None:
        last = time.perf_counter()
        while True:
            await anyio.sleep(0.001)
            now = time.perf_counter()
            tally.stalled(now - last - 0.001)
            last = now

    async with anyio.create_task_group() as heart:
        heart.start_soon(beat)
        async with anyio.create_task_group() as tasks:
            for task in range(number, plan.tasks, plan.loops):
                tasks.start_soon(one_task, f"{task}", plan, resolution, tally, done)

        heart.cancel_scope.cancel()


def run(plan: Plan, console: Console, *, title: str = "sessions") -> tuple[Tally, list[str], float]:
    """Run it; return what happened, which invariants do not hold, and the seconds."""
    tally, done = Tally(), threading.Semaphore(0)
    chance = random.Random(plan.seed)
    faults = FaultPlan()
    spy = SpyBackend(faults)
    with TemporaryDirectory() as folder, fresh_runtime(backend=spy, devices=4) as runtime:
        resolution = anyio.run(_prepare, runtime, tally, plan.faults, chance, folder)
        threads = [
            threading.Thread(target=_run_loop, args=(number, plan, resolution, tally, done))
            for number in range(plan.loops)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()

        with Progress(
            TextColumn(title),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} tasks {task.fields[live]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        ) as bar:
            shown = bar.add_task("", total=plan.tasks, live="")
            while any(thread.is_alive() for thread in threads):
                if done.acquire(timeout=0.1):
                    live = f"{dict(tally.counts)}, {runtime.statistics().ref_count} open"
                    bar.update(shown, advance=1, live=live)

        elapsed_s = time.perf_counter() - began
        broken = _broken_invariants(runtime, spy, tally, resolution)

    return tally, broken, elapsed_s


def _run_loop(number: int, plan: Plan, *arguments: Any) -> None:
    backend, options = LOOPS[number % len(LOOPS)]
    tally: Tally = arguments[1]
    try:
        anyio.run(one_loop, number, plan, *arguments, backend=backend, backend_options=options)
    except BaseException as exc:  # noqa: BLE001  # it is the verdict
        tally.unexpected += _leaves(exc)


async def _prepare(
    runtime: Runtime, tally: Tally, faults: float, chance: random.Random, folder: str
) -> Resolution:
    def fails_at_times(*_: object) -> None:
        if chance.random() < faults:
            raise PlannedError

    @asynccontextmanager
    async def counted(*_: object) -> Any:
        tally.count_context(1)
        try:
            yield
        finally:
            tally.count_context(-1)

    await runtime.register_context(CallbackType.MODEL, counted)
    await runtime.register_init_callback(CallbackType.OTHER, fails_at_times)
    await runtime.register_finalize_callback(CallbackType.OTHER, fails_at_times)
    env = {"ASCEND_PROCESS_LOG_PATH": folder, "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "50"}
    return await load_config(b"{}", env=env)


def _broken_invariants(
    runtime: Runtime, spy: SpyBackend, tally: Tally, resolution: Resolution
) -> list[str]:
    statistics_ = runtime.statistics()
    opened = sum(1 for call in spy.calls if call == ("start", "err_msg_mode"))
    closed = sum(1 for call in spy.calls if call == ("close", ""))

    async def again() -> int:
        for _ in range(100):  # its callbacks may fail, as planned
            try:
                async with acl_session(resolution) as session:
                    return session.ref_count
            except AclError:
                continue

        return -1

    gc.collect()
    checks = {
        "nobody holds a reference": statistics_.ref_count == 0,
        "nobody waits": statistics_.waiting == 0,
        "the runtime is down": statistics_.phase is Phase.DOWN,
        "every device family that was opened was closed": opened == closed,
        "every context that was entered was exited": tally.contexts_open == 0,
        "nothing unexpected was raised": not tally.unexpected,
        "the next session works": anyio.run(again) == 1,
        "no thread is left": not [
            t.name for t in threading.enumerate() if t.name.startswith("aclasync")
        ],
    }
    return [name for name, holds in checks.items() if not holds]


def _leaves(exc: BaseException) -> list[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        return [leaf for inner in exc.exceptions for leaf in _leaves(inner)]

    return [exc]


def _is_planned(exc: BaseException) -> bool:
    return isinstance(exc, PlannedError) or isinstance(exc.__cause__, PlannedError)


def percentiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, and what 99 and 99.9 percent stay below."""
    ordered = sorted(seconds)
    return (
        statistics.median(ordered),
        ordered[int(len(ordered) * 0.99)],
        ordered[int(len(ordered) * 0.999)],
    )


def tell(tally: Tally, broken: Sequence[str], elapsed_s: float, console: Console) -> None:
    """Print counts, latencies and the verdict."""
    console.print(
        f"{sum(tally.counts.values())} sessions in {elapsed_s:.1f} s: {dict(tally.counts)}"
    )
    for name, seconds in (("enter", tally.entered_s), ("exit", tally.left_s)):
        p50, p99, p999 = (amount(value, "s") for value in percentiles(seconds))
        console.print(f"{name:>6}: p50 {p50}, p99 {p99}, p99.9 {p999}")

    rate = len(tally.left_s) / elapsed_s
    console.print(
        f"{rate:,.0f} sessions/s, worst stall of a loop {amount(tally.worst_stall_s, 's')}"
    )
    for exc in tally.unexpected[:5]:
        console.print(f"[red]unexpected:[/] {exc!r}")

    console.print("[red]broken: " + "; ".join(broken) if broken else "every invariant held")


def draw(plan: Plan, path: Path, console: Console) -> bool:
    """Draw how latency grows with the number of tasks; return whether every invariant held."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    held = True
    counts = [10, 30, 100, 300, 1_000, 3_000, 10_000]
    lines: dict[str, list[float]] = {
        "enter p50": [],
        "enter p99": [],
        "exit p50": [],
        "exit p99": [],
    }
    for tasks in counts:
        scaled = Plan(
            tasks=tasks, sessions=max(2, 20_000 // tasks), loops=1, seed=plan.seed,
            cancelled=0.0, faults=0.0, has_devices=False,
        )  # fmt: skip
        tally, broken, _ = run(scaled, console, title=f"{tasks} tasks")
        held = held and not broken
        for name, seconds in (("enter", tally.entered_s), ("exit", tally.left_s)):
            p50, p99, _ = percentiles(seconds)
            lines[f"{name} p50"].append(p50 * 1e6)
            lines[f"{name} p99"].append(p99 * 1e6)

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name, values in lines.items():
        axes.plot(counts, values, marker="o", linestyle="-" if "p50" in name else "--", label=name)

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("tasks in one event loop")
    axes.set_ylabel("microseconds")
    axes.legend()
    axes.grid(visible=True, alpha=0.3)
    figure.savefig(path)
    return held


def main(
    tasks: Annotated[int, typer.Option(min=1)] = 200,
    sessions: Annotated[int, typer.Option(min=1, help="of every task, one after another")] = 20,
    loops: Annotated[int, typer.Option(min=1, help="threads, each with a loop of its own")] = 4,
    *,
    seed: Annotated[int | None, typer.Option(help="repeat the run with this seed")] = None,
    cancelled: Annotated[float, typer.Option(help="share of sessions cancelled early")] = 0.1,
    faults: Annotated[float, typer.Option(help="share of callbacks that fail")] = 0.02,
    minutes: Annotated[float, typer.Option(help="repeat with new seeds for so long")] = 0.0,
    plot: Annotated[Path | None, typer.Option(help="draw latency against tasks instead")] = None,
) -> None:
    """Open sessions from everywhere at once and see that every promise holds."""
    logging.getLogger("aclasync").setLevel(logging.CRITICAL)  # planned faults are no news
    console = Console()
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    plan = Plan(
        tasks=tasks, sessions=sessions, loops=loops, seed=seed, cancelled=cancelled, faults=faults
    )
    if plot is not None:
        raise typer.Exit(0 if draw(plan, plot, console) else 1)

    began = time.monotonic()
    while True:
        console.print(f"seed {plan.seed}")
        tally, broken, elapsed_s = run(plan, console)
        tell(tally, broken, elapsed_s, console)
        if broken:
            raise typer.Exit(1)

        if time.monotonic() - began >= minutes * 60:
            return

        plan = Plan(**{**_fields(plan), "seed": plan.seed + 1})


def _fields(plan: Plan) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in Plan.__slots__ if name != "__weakref__"}


if __name__ == "__main__":
    typer.run(main)
