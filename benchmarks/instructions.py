"""Instructions of the hottest paths, which are the same in every run, against recorded ones.

`python -m benchmarks.instructions` counts with callgrind and fails outside of a band; `--record`
keeps what it counted. A count holds for one version of Python on one kind of machine; where none is
recorded for these, it says so and checks nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

RECORDED = Path(__file__).with_name("results") / "instructions.json"
BAND = 0.10
#: Each path so often, and twice, so that start and end of the process cancel out.
FEW, MORE = 20, 120


async def nested(times: int) -> None:
    from aclasync import acl_session, load_config  # noqa: PLC0415  # none of it belongs to the parent
    from aclasync.testing import fresh_runtime  # noqa: PLC0415

    resolution = await load_config(b"{}")
    with fresh_runtime():
        async with acl_session(resolution):
            for _ in range(times * 10):
                async with acl_session(resolution):
                    pass


async def cycle(times: int) -> None:
    from aclasync import acl_session, load_config  # noqa: PLC0415
    from aclasync.testing import fresh_runtime  # noqa: PLC0415

    resolution = await load_config(b"{}")
    with fresh_runtime():
        for _ in range(times):
            async with acl_session(resolution):
                pass


async def resolve(times: int) -> None:
    from aclasync import Product, resolve_config  # noqa: PLC0415

    text = Path(__file__).with_name("one_kilobyte.json").read_bytes()
    for _ in range(times):
        resolve_config(text, env={}, product=Product.ATLAS_A2)


PATHS: dict[str, Callable[[int], Awaitable[None]]] = {
    "ten nested sessions": nested,
    "first init and last finalize": cycle,
    "resolve_config of 1 KB": resolve,
}


def counted() -> dict[str, int]:
    """Return the instructions of one pass through each path."""
    runs = [(path, times) for path in PATHS for times in (FEW, MORE)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        counts = dict(zip(runs, pool.map(_instructions, *zip(*runs, strict=True)), strict=True))

    return {path: (counts[path, MORE] - counts[path, FEW]) // (MORE - FEW) for path in PATHS}


def _instructions(path: str, times: int) -> int:
    done = subprocess.run(
        [
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
            *(sys.executable, "-m", __spec__.name, "--inside", path, "--times", str(times)),
        ],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1])


def kind_of_machine() -> str:
    """Return what a count holds for."""
    major, minor, _ = platform.python_version_tuple()
    return f"{platform.python_implementation()} {major}.{minor} on {platform.machine()}"


def main(
    *,
    record: Annotated[bool, typer.Option(help="keep what was counted")] = False,
    inside: Annotated[str | None, typer.Option(hidden=True)] = None,
    times: Annotated[int, typer.Option(hidden=True)] = 0,
) -> None:
    """Count the instructions of the hottest paths."""
    if inside is not None:
        asyncio.run(PATHS[inside](times))  # type: ignore[arg-type]  # coroutine functions, all
        return

    console = Console()
    if shutil.which("valgrind") is None:
        console.print("[red]valgrind is not installed[/]: apt-get install valgrind")
        raise typer.Exit(1)

    everything = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    recorded = everything.get(kind_of_machine(), {})
    is_over = False
    for path, count in counted().items():
        before = recorded.get(path)
        change = None if before is None else count / before - 1
        is_outside = change is not None and abs(change) > BAND
        is_over = is_over or is_outside
        said = "not recorded" if change is None else f"{change:+.1%}"
        console.print(f"{path:<32}{count:>12,} {said}{' [red]OUTSIDE OF THE BAND' * is_outside}")
        recorded[path] = count

    if record:
        RECORDED.parent.mkdir(exist_ok=True)
        everything[kind_of_machine()] = recorded
        RECORDED.write_text(json.dumps(everything, indent=1) + "\n")
    elif is_over:
        console.print(f"more than {BAND:.0%} off; if it is meant: --record")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
