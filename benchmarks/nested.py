"""A nested session: the runtime is up, and one more holder comes and goes."""

from __future__ import annotations

import asyncio
import ctypes
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import aiologic

from aclasync import acl_session, load_config
from aclasync.testing import fresh_runtime

from .measuring import Role, Row, Scale, Side, compare, timed

COUNTING = """
static long count;
int init(void) { return __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) > 0 ? 0 : 1; }
int finalize(void) { return __atomic_sub_fetch(&count, 1, __ATOMIC_SEQ_CST) >= 0 ? 0 : 1; }
"""


class Counted:
    """The floor: a class that only counts under a lock."""

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


async def rows(scale: Scale) -> AsyncIterator[Row]:
    resolution = await load_config(b"{}")
    counted = Counted()
    asyncio_lock = asyncio.Lock()
    aiologic_lock = aiologic.Lock()
    counter = iter(int, 1)

    async def sessions(times: int) -> None:
        for _ in range(times):
            async with acl_session(resolution):
                pass

    async def counts(times: int) -> None:
        for _ in range(times):
            async with counted:
                pass

    async def asyncio_locks(times: int) -> None:
        for _ in range(times):
            async with asyncio_lock:
                pass

    async def aiologic_locks(times: int) -> None:
        for _ in range(times):
            async with aiologic_lock:
                pass

    async def threads(times: int) -> None:
        for _ in range(times):
            await asyncio.to_thread(next, counter)
            await asyncio.to_thread(next, counter)

    sides = [
        Side("acl_session", Role.OURS, timed(sessions, scale.times(20_000))),
        Side("a counter under a lock", Role.FLOOR, timed(counts, scale.times(20_000)), 1.8),
        Side("asyncio.Lock", Role.PEER, timed(asyncio_locks, scale.times(20_000))),
        Side("aiologic.Lock", Role.PEER, timed(aiologic_locks, scale.times(20_000))),
        Side("two asyncio.to_thread", Role.PEER, timed(threads, scale.times(500)), 1 / 50),
    ]
    with TemporaryDirectory() as folder, fresh_runtime():
        if (library := _counting_library(Path(folder))) is not None:

            async def calls(times: int) -> None:
                for _ in range(times):
                    assert library.init() == 0
                    assert library.finalize() == 0

            name = "two ctypes calls into C that counts"
            sides.append(Side(name, Role.PEER, timed(calls, scale.times(20_000))))

        async with acl_session(resolution) as session:
            yield await compare("nested session, enter and exit", *sides, scale=scale)
            assert session.ref_count == 1
            assert counted.count == 0


def _counting_library(folder: Path) -> ctypes.CDLL | None:
    """Compile the library, or return None on a machine without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None

    source = folder / "counting.c"
    source.write_text(COUNTING)
    library = folder / "counting.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(str(library))
