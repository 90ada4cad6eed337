"""What a profiling session leaves: folders, files, the summary and the trace."""

from __future__ import annotations

import json
import os
import re
import stat
import time

import numpy as np
import pytest

from aclasync import AclError, acl_session
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

from .conftest import DIGITS, only_session, sessions, summary, trace_events

# With its optimisations on, the engine runs these for the model's eight nodes.
OPERATORS = {"Flatten": "Flatten", "Scale": "Mul", "Softmax": "Softmax"}


async def test_folder_has_the_documented_name_and_parts(profiled):
    """PROF_, a counter, the time, and the process with eight letters; host and devices inside."""
    before = time.strftime("%Y%m%d%H%M%S")
    folder = await profiled()
    match = re.fullmatch(r"PROF_(\d{6})_(\d{17})_(\d{8})([A-R]{8})", folder.name)
    assert match is not None
    assert int(match[1]) >= 1
    assert before <= match[2][:14] <= time.strftime("%Y%m%d%H%M%S")
    assert int(match[3]) == os.getpid()
    inside = {path.name for path in folder.iterdir()}
    assert {
        "host",
        "device_0",
        "info.json",
        "sample.json",
        "op_summary.csv",
        "trace.json",
    } == inside
    assert (folder / "host" / "start_info").is_file()
    assert (folder / "host" / "end_info").is_file()
    assert (folder / "device_0" / "start_info.0").is_file()
    assert (folder / "device_0" / "end_info.0").is_file()


async def test_files_are_for_owner_and_group(profiled):
    """All with mode 0640, and every slice of raw data is marked as complete."""
    folder = await profiled()
    for path in folder.rglob("*"):
        expected = 0o750 if path.is_dir() else 0o640
        assert stat.S_IMODE(path.stat().st_mode) == expected, path

    slices = {p.name for p in folder.rglob("*.slice_*")}
    assert {"api.slice_0", "model.slice_0", "task.slice_0"} <= slices
    for name in slices:
        assert name.endswith(".done") or f"{name}.done" in slices


async def test_summary_counts_every_run_of_every_operator(profiled):
    """With times that fit together, the most expensive first."""
    rows = summary(await profiled(runs=5))
    assert {row["Op Name"]: row["OP Type"] for row in rows}.items() >= OPERATORS.items()
    for row in rows:
        assert (row["Count"], row["Timed"]) == ("5", "5")
        assert row["Model Name"] == "digits.onnx"
        assert row["Device_id"] == "0"
        low, mean, high = (float(row[f"{k} Time(us)"]) for k in ("Min", "Mean", "Max"))
        assert low <= mean <= high
        assert float(row["Total Time(us)"]) == pytest.approx(5 * mean, rel=1e-3, abs=0.01)

    totals = [float(row["Total Time(us)"]) for row in rows]
    assert totals == sorted(totals, reverse=True)
    assert sum(float(row["Share(%)"]) for row in rows) == pytest.approx(100, abs=0.1)
    (flatten,) = [row for row in rows if row["Op Name"] == "Flatten"]
    assert (flatten["Inputs"], flatten["Outputs"]) == ("float[32,1,8,8]", "float[32,64]")


async def test_trace_shows_calls_runs_and_operators_where_they_happened(profiled):
    """Each on rows of its own process; operators lie within a run, in order."""
    folder = await profiled(runs=4)
    events, names = trace_events(folder)
    processes = {e["args"]["name"]: e["pid"] for e in names if e["name"] == "process_name"}
    assert set(processes) == {"host", "device 0"}
    calls = [e for e in events if e["pid"] == processes["host"]]
    assert [e["name"] for e in calls if e["cat"] == "ascendcl"] == [
        "aclmdlLoadFromFile",
        *["aclmdlExecute"] * 4,
        "aclmdlUnload",
    ]
    runs = [e for e in events if e["pid"] == processes["device 0"] and e["cat"] == "model"]
    assert [e["name"] for e in runs] == ["digits.onnx"] * 4
    operators = [e for e in events if e["args"].get("type")]
    assert len(operators) == 4 * len(summary(folder))
    # Two clocks, one of them in whole microseconds.
    slack = 1000
    for event in operators:
        assert any(
            run["ts"] - slack <= event["ts"]
            and event["ts"] + event["dur"] <= run["ts"] + run["dur"] + slack
            for run in runs
        )

    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in names if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in events} == set(rows)


async def test_nothing_is_written_without_the_key(runtime, output, images, tmp_path, monkeypatch):
    """Nor with the switch off, whatever else is there."""
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("PROF_*"))
    off = {"profiler": {"switch": "off", "output": str(output)}}
    for config in ({}, off, {"profiler": {"output": str(output)}}):
        with fresh_runtime():
            async with (
                acl_session(config) as session,
                session.open_device() as device,
                device.load_model(DIGITS) as model,
            ):
                await model.execute(images)

    assert set(tmp_path.rglob("PROF_*")) == before
    assert not output.exists()


async def test_results_are_those_without_profiling(runtime, output, images):
    """Bit by bit."""
    results = []
    for config in ({}, {"profiler": {"switch": "on", "output": str(output)}}):
        with fresh_runtime():
            async with (
                acl_session(config) as session,
                session.open_device() as device,
                device.load_model(DIGITS) as model,
            ):
                results.append((await model.execute(images))["probabilities"])

    assert np.array_equal(*results)


async def test_device_s_folder_appears_when_it_is_opened(runtime, output):
    """Not at init."""
    config = {"profiler": {"switch": "on", "output": str(output)}}
    async with acl_session(config) as session:
        folder = only_session(output)
        assert not (folder / "device_1").exists()
        async with session.open_device(1):
            assert (folder / "device_1").is_dir()

    assert not (folder / "device_0").exists()


async def test_every_session_has_a_folder_of_its_own(profiled, output, runtime):
    """Numbered one after another."""
    first = await profiled()
    numbers = [int(first.name[5:11])]
    with fresh_runtime():
        async with acl_session({"profiler": {"switch": "on", "output": str(output)}}):
            pass

    numbers.append(int(sessions(output)[1].name[5:11]))
    assert numbers[1] == numbers[0] + 1


async def test_failed_init_leaves_no_folder(output):
    """What the step made is undone with it."""
    config = {"profiler": {"switch": "on", "output": str(output)}}
    plan = FaultPlan().fail("init.OTHER", AclError(500001, "test", "planned"))
    with fresh_runtime(backend=SpyBackend(plan)), pytest.raises(AclError, match="planned"):
        async with acl_session(config):
            pass

    assert sessions(output) == []


async def test_sample_config_profiles_without_a_configuration(runtime, output, images, monkeypatch):
    """As the variable's JSON says."""
    text = json.dumps({"output": str(output), "task_time": "off"})
    monkeypatch.setenv("PROFILER_SAMPLECONFIG", text)
    async with (
        acl_session() as session,
        session.open_device() as device,
        device.load_model(DIGITS) as model,
    ):
        await model.execute(images)

    assert summary(only_session(output)) == []


async def test_single_operators_and_kernels_are_in_the_summary(profiled):
    """Each run timed, with types and shapes."""

    async def work(device):
        device.kernel("Twice")(lambda ctx, x: x * 2)
        for _ in range(70):
            await device.execute_op("Neg", [np.float32([1, 2])])

        await device.execute_op("Twice", [np.float32([[1, 2]])])

    rows = {row["Op Name"]: row for row in summary(await profiled(work=work))}
    assert (rows["Neg"]["Count"], rows["Neg"]["Timed"]) == ("70", "70")
    assert (rows["Neg"]["Inputs"], rows["Neg"]["Outputs"]) == ("float32[2]", "float32[2]")
    assert (rows["Twice"]["OP Type"], rows["Twice"]["Count"]) == ("Twice", "1")


async def test_runtime_that_is_never_finalized_keeps_what_was_recorded(output, images):
    """It is written when the device is closed with its backend."""
    config = {"profiler": {"switch": "on", "output": str(output)}}
    with fresh_runtime() as runtime:
        await runtime.init(config)
        async with (
            acl_session() as session,
            session.open_device() as device,
            device.load_model(DIGITS) as model,
        ):
            await model.execute(images)

    assert len(summary(only_session(output))) >= 5
