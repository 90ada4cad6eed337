"""Many tasks that open and close a session at once, in one loop, and in four threads.

What one session costs must not grow with their number.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

from aclasync import acl_session, load_config
from aclasync.testing import fresh_runtime

from .measuring import Role, Row, Scale, Side, compare

Block = Callable[[], AbstractAsyncContextManager[Any]]
TASKS = (10, 1_000, 10_000, 100_000)
THREADS = 4


class Nothing:
    """The floor: a block that does nothing."""

    __slots__ = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


class Locked:
    """What people write first: one lock held over the whole init, and a count."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.count = 0

    async def __aenter__(self) -> Self:
        async with self.lock:
            if self.count == 0:
                await asyncio.sleep(0)

            self.count += 1
            return self

    async def __aexit__(self, *_: object) -> None:
        async with self.lock:
            self.count -= 1
            if self.count == 0:
                await asyncio.sleep(0)


async def rows(scale: Scale) -> AsyncIterator[Row]:
    resolution = await load_config(b"{}")

    def session() -> AbstractAsyncContextManager[Any]:
        return acl_session(resolution)

    per_session: dict[int, float] = {}
    for tasks in TASKS:
        count = max(2, scale.times(tasks))
        locked = Locked()
        with fresh_runtime() as runtime:
            row = await compare(
                f"{tasks} tasks open and close at once, one loop",
                Side("acl_session", Role.OURS, _measured(_crowd, session, count)),
                Side("an empty block", Role.FLOOR, _measured(_crowd, Nothing, count)),
                Side("asyncio.Lock held during init", Role.PEER,
                     _measured(_crowd, lambda locked=locked: locked, count)),
                scale=_fewer(scale, tasks),
            )  # fmt: skip
            assert runtime.statistics().ref_count == 0

        per_session[tasks] = row.medians[0] - row.medians[1]
        yield row

    for tasks in TASKS[1:]:
        count = max(THREADS, scale.times(tasks))
        with fresh_runtime() as runtime:
            yield await compare(
                f"{tasks} tasks open and close at once, {THREADS} threads with a loop each",
                Side("acl_session", Role.OURS, _measured(_crowds, session, count)),
                Side("an empty block", Role.FLOOR, _measured(_crowds, Nothing, count)),
                scale=_fewer(scale, tasks),
            )
            assert runtime.statistics().ref_count == 0

    async def at_most() -> float:
        return per_session[100_000]

    async def at_a_thousand() -> float:
        return per_session[1_000]

    yield await compare(
        "what one session adds to its task, among 100,000",
        Side("among 100,000", Role.OURS, at_most),
        Side("among 1,000", Role.FLOOR, at_a_thousand, 1.5),
        scale=Scale(rounds=1),
    )


def _fewer(scale: Scale, tasks: int) -> Scale:
    return scale if tasks < 100_000 else Scale(min(scale.rounds, 7), scale.share)


def _measured(
    crowd: Callable[[Block, int], Awaitable[None]], block: Block, tasks: int
) -> Callable[[], Awaitable[float]]:
    # A small crowd is gone before the clock has ticked often enough.
    repeats = max(1, 1_000 // tasks)

    async def measure() -> float:
        began = time.perf_counter()
        for _ in range(repeats):
            await crowd(block, tasks)

        return (time.perf_counter() - began) / tasks / repeats

    return measure


async def _crowd(block: Block, tasks: int) -> None:
    async def one() -> None:
        async with block():
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(one())


async def _crowds(block: Block, tasks: int) -> None:
    threads = [
        threading.Thread(target=asyncio.run, args=(_crowd(block, tasks // THREADS),))
        for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()

    for thread in threads:
        await asyncio.to_thread(thread.join)
