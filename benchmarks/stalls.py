"""The longest that a heartbeat task had to wait for its loop while a log is flushed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from tempfile import TemporaryDirectory

from aclasync import LogLevel, acl_session
from aclasync.testing import fresh_runtime

from .measuring import Role, Row, Scale, Side, compare


async def rows(scale: Scale) -> AsyncIterator[Row]:
    with TemporaryDirectory() as folder, fresh_runtime(log_latency=0.2):

        async def flushes() -> None:
            env = {"ASCEND_PROCESS_LOG_PATH": folder}
            async with (
                acl_session(env=env, flush_timeout=5) as session,
                session.open_device() as device,
            ):
                for number in range(scale.times(1000)):
                    device.write_log(LogLevel.ERROR, f"line {number}")

        async def ten_milliseconds() -> float:
            return 10e-3

        yield await compare(
            "worst stall of the loop while 1000 lines are flushed",
            Side("acl_session", Role.OURS, lambda: _worst_gap(flushes)),
            Side("10 ms", Role.FLOOR, ten_milliseconds, 1.0),
            Side("an idle loop", Role.PEER, lambda: _worst_gap(lambda: asyncio.sleep(0.25))),
            scale=scale,
        )


async def _worst_gap(work: Callable[[], Awaitable[object]]) -> float:
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
