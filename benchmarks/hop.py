"""A blocking call on the thread that owns a device, and its result back in the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import anyio

from aclasync import acl_session
from aclasync.testing import fresh_runtime

from .measuring import Role, Row, Scale, Side, compare, timed

Call = Callable[[], Awaitable[object]]


def noop() -> None: ...


class BareThread:
    """The floor: a queue, a thread that empties it, and a future woken in its loop."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[tuple[asyncio.Future[None], Callable[[], None]] | None] = (
            SimpleQueue()
        )
        self.loop = asyncio.get_running_loop()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        while (call := self.calls.get()) is not None:
            future, function = call
            function()
            self.loop.call_soon_threadsafe(future.set_result, None)

    def call(self) -> asyncio.Future[None]:
        future = self.loop.create_future()
        self.calls.put((future, noop))
        return future


async def rows(scale: Scale) -> AsyncIterator[Row]:
    bare = BareThread()
    loop = asyncio.get_running_loop()
    with TemporaryDirectory() as folder, fresh_runtime():
        env = {"ASCEND_PROCESS_LOG_PATH": folder}
        async with acl_session(env=env) as session, session.open_device() as device:
            for in_flight, limit in ((1, 1.2), (64, 1.2)):
                sides = [
                    Side(
                        "Device.run", Role.OURS, _calls(lambda: device.run(noop), in_flight, scale)
                    ),
                    Side(
                        "queue, thread, call_soon_threadsafe",
                        Role.FLOOR,
                        _calls(bare.call, in_flight, scale),
                        limit,
                    ),
                    Side(
                        "anyio.to_thread",
                        Role.PEER,
                        _calls(lambda: anyio.to_thread.run_sync(noop), in_flight, scale),
                    ),
                    Side(
                        "run_in_executor",
                        Role.PEER,
                        _calls(lambda: loop.run_in_executor(None, noop), in_flight, scale),
                    ),
                ]
                yield await compare(f"device hop, {in_flight} in flight", *sides, scale=scale)

    bare.calls.put(None)


def _calls(call: Call, in_flight: int, scale: Scale) -> Callable[[], Awaitable[float]]:
    async def one_by_one(times: int) -> None:
        for _ in range(times):
            await call()

    async def together(times: int) -> None:
        for _ in range(max(1, times // in_flight)):
            await asyncio.gather(*(call() for _ in range(in_flight)))

    usual = scale.times(2_000)
    usual = max(in_flight, usual - usual % in_flight)
    return timed(one_by_one if in_flight == 1 else together, usual)
