"""`import aclasync`, each time in a new process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator

from .measuring import Measure, Role, Row, Scale, Side, compare

FLOOR = "anyio, attrs, cattrs"


async def rows(scale: Scale) -> AsyncIterator[Row]:
    for work, statement, limit in (
        ("import aclasync", "aclasync", 1.25),
        # The root loads its names when they are first used; what that costs belongs beside it.
        (
            "import of all that a session needs",
            f"{FLOOR}; from aclasync import acl_session; acl_session()",
            None,
        ),
    ):
        yield await compare(
            work,
            Side(statement, Role.OURS, _in_new_process(statement)),
            Side(f"import {FLOOR}", Role.FLOOR, _in_new_process(FLOOR), limit),
            scale=scale,
        )


def _in_new_process(statement: str) -> Measure:
    program = (
        "import time; began = time.perf_counter(); "
        f"import {statement}; print(time.perf_counter() - began)"
    )

    async def measure() -> float:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, text=True
        )
        return float(done.stdout)

    return measure
