"""Profiling sessions on the digits model, and what they leave on disk."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from aclasync import acl_session
from aclasync.profiling.export import SUMMARY_COLUMNS

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.fixture
def images():
    return {"image": np.random.default_rng(3).random((32, 1, 8, 8), np.float32)}


@pytest.fixture
def output(tmp_path):
    """The folder that the configuration names; it is not there yet."""
    return tmp_path / "profiles"


@pytest.fixture
def profiled(runtime, output, images):
    """Return a coroutine that profiles some runs, and whatever else is done with the device."""

    async def run(runs=3, work=None, **keys):
        config = {"profiler": {"switch": "on", "output": str(output), **keys}}
        async with (
            acl_session(config) as session,
            session.open_device() as device,
            device.load_model(DIGITS) as model,
        ):
            for _ in range(runs):
                await model.execute(images)

            if work is not None:
                await work(device)

        return only_session(output)

    return run


def sessions(output):
    return sorted(output.glob("PROF_*"))


def only_session(output):
    (folder,) = sessions(output)
    return folder


def summary(folder):
    """Read the summary with the standard library alone."""
    with (folder / "op_summary.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)

    assert tuple(reader.fieldnames) == SUMMARY_COLUMNS
    return rows


def trace_events(folder, name="trace.json"):
    """Load a trace and hold it to the Trace Event Format."""
    trace = json.loads((folder / name).read_text())
    assert set(trace) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str)
        assert event["ph"] in ("X", "i", "M")
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["args"], dict)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name")
            continue

        assert event["ts"] >= 0
        assert isinstance(event["cat"], str)
        if event["ph"] == "X":
            assert event["dur"] >= 0
        else:
            assert event["s"] in ("g", "p", "t")

    return [e for e in trace["traceEvents"] if e["ph"] != "M"], [
        e for e in trace["traceEvents"] if e["ph"] == "M"
    ]
