"""A whole life: the first init and the last finalize."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

from aclasync import acl_session, load_config
from aclasync.testing import fresh_runtime

from .measuring import Role, Row, Scale, Side, compare, timed

ONE_KILOBYTE = Path(__file__).with_name("one_kilobyte.json")
#: What is promised, as a side of the comparison.
ONE_MILLISECOND = 1e-3


async def rows(scale: Scale) -> AsyncIterator[Row]:
    async def promised() -> float:
        return ONE_MILLISECOND

    resolution = await load_config(b"{}")

    async def cycles(times: int) -> None:
        for _ in range(times):
            async with acl_session(resolution):
                pass

    with fresh_runtime():
        yield await compare(
            "first init and last finalize, {} resolved",
            Side("acl_session", Role.OURS, timed(cycles, scale.times(100))),
            Side("one millisecond", Role.FLOOR, promised, 1.0),
            scale=scale,
        )

    empty = ONE_KILOBYTE.with_name("empty.json")
    for path, said in ((empty, "{} from a file"), (ONE_KILOBYTE, "1 KB from a file")):

        async def from_file(times: int, path: Path = path) -> None:
            for _ in range(times):
                async with acl_session(path):
                    pass

        async def reads(times: int, path: Path = path) -> None:
            for _ in range(times):
                json.loads(path.read_bytes())

        with fresh_runtime():
            yield await compare(
                f"first init and last finalize, {said}",
                Side("acl_session", Role.OURS, timed(from_file, scale.times(50))),
                Side("read and json.loads", Role.FLOOR, timed(reads, scale.times(50))),
                scale=scale,
            )
