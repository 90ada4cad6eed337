"""Models that say what they were given, on a real device's thread."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from aclasync import Device, Runtime, TensorSpec, acl_session


class Doubler:
    """Doubles its input; can be held, and remembers how many rows each run had."""

    inputs = (TensorSpec("x", "float32", ("n", 2)),)
    outputs = (TensorSpec("y", "float32", ("n", 2)),)

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.seen: list[float] = []
        self.entered = threading.Event()
        self.go = threading.Event()
        self.go.set()
        self.poison: float | None = None
        self.error: BaseException = ValueError("poisoned")

    def execute_blocking(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        self.entered.set()
        assert self.go.wait(20)
        (x,) = inputs.values()
        self.runs.append(len(x))
        self.seen += [float(row.flat[0]) for row in x]
        if self.poison is not None and (x == self.poison).any():
            raise self.error

        return {"y": x * 2}


@pytest.fixture
async def device(runtime: Runtime) -> AsyncIterator[Device]:
    async with acl_session() as session, session.open_device() as opened:
        yield opened


def row(value: float, *, width: int = 2, rows: int = 1) -> dict[str, Any]:
    return {"x": np.full((rows, width), value, np.float32)}


def values(outputs: Sequence[Any]) -> list[float]:
    return [float(o["y"].flat[0]) for o in outputs]
