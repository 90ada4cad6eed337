"""Memory per session: one that is open, and one whose task waits at the gate; in bytes."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable

from aclasync import acl_session, load_config
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

from .measuring import Role, Row, Scale, Side, compare

KIBIBYTE = 1024.0


async def rows(scale: Scale) -> AsyncIterator[Row]:
    count = scale.times(5_000)
    fewer = Scale(min(3, scale.rounds), scale.share)
    resolution = await load_config(b"{}")

    async def open_sessions() -> float:
        async with acl_session(resolution):
            sessions = []
            taken = _Taken()
            for _ in range(count):
                session = acl_session(resolution)
                await session.__aenter__()
                sessions.append(session)

            each = taken.bytes() / count
            for session in sessions:
                await session.__aexit__(None, None, None)

        return each

    async def waiting_sessions() -> float:
        plan = FaultPlan().park("init.MODEL")
        with fresh_runtime(backend=SpyBackend(plan)):

            async def one() -> None:
                async with acl_session(resolution):
                    pass

            first = asyncio.ensure_future(one())
            await plan.wait_parked("init.MODEL")
            each = await _bytes_of_tasks(one, count)
            plan.release("init.MODEL")
            await first
            await asyncio.gather(*_kept)
            _kept.clear()

        return each

    async def waiting_tasks() -> float:
        event = asyncio.Event()
        each = await _bytes_of_tasks(event.wait, count)
        event.set()
        await asyncio.gather(*_kept)
        _kept.clear()
        return each

    async def a_kibibyte() -> float:
        return KIBIBYTE

    with fresh_runtime():
        yield await compare(
            "memory of an open session",
            Side("acl_session", Role.OURS, open_sessions),
            Side("1 KiB", Role.FLOOR, a_kibibyte, 1.0),
            Side("an asyncio task that waits", Role.PEER, waiting_tasks),
            scale=fewer,
            unit="B",
        )

    yield await compare(
        "memory of a session whose task waits at the gate",
        Side("acl_session", Role.OURS, waiting_sessions),
        Side("an asyncio task that waits", Role.FLOOR, waiting_tasks),
        scale=fewer,
        unit="B",
    )


_kept: list[asyncio.Future[object]] = []


async def _bytes_of_tasks(start: Callable[[], Awaitable[object]], count: int) -> float:
    taken = _Taken()
    _kept.extend(asyncio.ensure_future(start()) for _ in range(count))
    for _ in range(5):
        await asyncio.sleep(0)

    return taken.bytes() / count


class _Taken:
    """Counts what is allocated from now on and still held."""

    def __init__(self) -> None:
        gc.collect()
        tracemalloc.start()

    def bytes(self) -> float:
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return held
