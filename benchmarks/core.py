"""The cost of the core beside its floor: `python benchmarks/core.py`.

Ratios, measured in one run.

Medians of several rounds; the two sides of a ratio take turns, so that a noisy moment hits both.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from aclasync import LogLevel, Product, acl_session, load_config, resolve_config
from aclasync.testing import fresh_runtime

ROUNDS = 15
CONFIG = Path(__file__).with_name("one_kilobyte.json").read_bytes()

Side = Callable[[], Awaitable[float]]


class Counted:
    """The floor of a nested session: a class that only counts under a lock."""

    __slots__ = ("count", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0

    async def __aenter__(self) -> Self:
        with self.lock:
            self.count += 1

        return self

    async def __aexit__(self, *_: object) -> None:
        with self.lock:
            self.count -= 1


async def seconds_per(work: Callable[[int], Awaitable[None]], times: int) -> float:
    began = time.perf_counter()
    await work(times)
    return (time.perf_counter() - began) / times


async def in_turns(*sides: Side) -> list[float]:
    """Return the median of each side, measured round about."""
    rounds = [[await side() for side in sides] for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def report(name: str, value: float, floor: float, limit: float) -> None:
    ratio = value / floor
    verdict = "ok" if ratio <= limit else "OVER"
    print(
        f"{name:<34} {value * 1e6:>10.2f} us   floor {floor * 1e6:>10.2f} us   "
        f"ratio {ratio:>6.2f}   limit {limit:<5g} {verdict}"
    )


async def nested_session() -> None:
    resolution = await load_config(b"{}")
    counted = Counted()

    async def floor(times: int) -> None:
        for _ in range(times):
            async with counted:
                pass

    async def sessions(times: int) -> None:
        for _ in range(times):
            async with acl_session(resolution):
                pass

    with fresh_runtime():
        async with acl_session(resolution):
            value, base = await in_turns(
                lambda: seconds_per(sessions, 20_000), lambda: seconds_per(floor, 20_000)
            )

    report("nested session enter + exit", value, base, 3)


async def full_cycle() -> None:
    resolution = await load_config(b"{}")

    async def cycles(times: int) -> None:
        for _ in range(times):
            async with acl_session(resolution):
                pass

    with fresh_runtime():
        (value,) = await in_turns(lambda: seconds_per(cycles, 100))

    report("first init + last finalize of {}", value, 1e-3, 1)


async def resolving() -> None:
    async def floor(times: int) -> None:
        for _ in range(times):
            json.loads(CONFIG)

    async def resolves(times: int) -> None:
        for _ in range(times):
            resolve_config(CONFIG, env={}, product=Product.ATLAS_A2)

    value, base = await in_turns(
        lambda: seconds_per(resolves, 300), lambda: seconds_per(floor, 300)
    )
    report(f"resolve_config of {len(CONFIG)} bytes", value, base, 15)


async def importing() -> None:
    def side(statement: str) -> Side:
        program = (
            "import time; began = time.perf_counter(); "
            f"import {statement}; print(time.perf_counter() - began)"
        )

        async def run() -> float:
            done = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, check=True, text=True
            )
            return float(done.stdout)

        return run

    value, base = await in_turns(side("aclasync"), side("anyio, attrs, cattrs"))
    report("import aclasync", value, base, 1.5)
    # The root loads its names when they are first used; what that costs belongs beside it.
    value, base = await in_turns(
        side("anyio, attrs, cattrs; from aclasync import acl_session"),
        side("anyio, attrs, cattrs"),
    )
    name = "  with all that a session needs"
    print(f"{name:<34} {value * 1e6:>10.2f} us   ratio {value / base:.2f}")


async def stalls() -> None:
    """The longest that a heartbeat task had to wait for the loop, beside an idle loop's."""

    async def worst_gap(work: Callable[[], Awaitable[object]]) -> float:
        gaps = [0.0]

        async def beat() -> None:
            last = time.perf_counter()
            while True:
                await asyncio.sleep(0.001)
                now = time.perf_counter()
                gaps.append(now - last - 0.001)
                last = now

        heart = asyncio.ensure_future(beat())
        await work()
        heart.cancel()
        return max(gaps)

    async def flushes() -> None:
        async with acl_session(flush_timeout=5) as session, session.open_device() as device:
            for number in range(1000):
                device.write_log(LogLevel.ERROR, f"line {number}")

    async def idles() -> None:
        await asyncio.sleep(0.25)

    with TemporaryDirectory() as folder, fresh_runtime(log_latency=0.2):
        os.environ["ASCEND_PROCESS_LOG_PATH"] = folder
        value, base = await in_turns(lambda: worst_gap(flushes), lambda: worst_gap(idles))

    del os.environ["ASCEND_PROCESS_LOG_PATH"]
    print(f"{'  worst stall of an idle loop':<34} {base * 1e6:>10.2f} us")
    report("worst stall while a log is flushed", value, 10e-3, 1)


async def main() -> None:
    for part in (nested_session, full_cycle, resolving, importing, stalls):
        await part()


if __name__ == "__main__":
    asyncio.run(main())
