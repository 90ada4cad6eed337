"""`aclasync prof`: the table, the trace, and folders that are none."""

from __future__ import annotations

import asyncio
import json
import shutil

import numpy as np
import pytest

from aclasync import acl_session
from aclasync.testing import fresh_runtime

from .conftest import DIGITS


@pytest.fixture
def profile(tmp_path):
    """The folder of a session with three runs of the digits model and one operator."""

    async def run():
        config = {"profiler": {"switch": "on", "output": str(tmp_path / "profiles")}}
        async with (
            acl_session(config) as session,
            session.open_device() as device,
            device.load_model(DIGITS / "digits.onnx") as model,
        ):
            for _ in range(3):
                await model.execute({"image": np.zeros((1, 1, 8, 8), np.float32)})

            await device.execute_op("Neg", [np.float32([1])])

    with fresh_runtime():
        asyncio.run(run())

    (folder,) = (tmp_path / "profiles").iterdir()
    return folder


def test_show_prints_the_most_expensive_first(cli_here, profile):
    """As the summary has it."""
    done = cli_here("prof", "show", profile)
    assert done.returncode == 0
    head, *lines = done.stdout.splitlines()
    assert head.split()[:4] == ["operator", "type", "model", "count"]
    totals = [float(line.split()[-5].replace(",", "")) for line in lines]
    assert totals == sorted(totals, reverse=True)
    assert {line.split()[0] for line in lines} >= {"Softmax", "Neg"}


def test_show_as_json_is_the_summary(cli_here, profile):
    """One object, with every number."""
    said = json.loads(cli_here("prof", "show", profile, "--format", "json").stdout)
    assert said["is_complete"] is True
    by_name = {line["name"]: line for line in said["operators"]}
    assert by_name["Softmax"]["count"] == by_name["Softmax"]["timed"] == 3
    assert by_name["Neg"]["count"] == 1
    assert sum(line["share"] for line in said["operators"]) == pytest.approx(100, abs=0.1)


def test_top_shows_so_many(cli_here, profile):
    """And says how many are left."""
    lines = cli_here("prof", "show", profile, "--top", "1").stdout.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("and ")
    assert cli_here("prof", "show", profile, "--top", "0").returncode == 2


def test_session_that_was_never_stopped_is_read_from_its_records(cli_here, profile):
    """Which is said."""
    (profile / "op_summary.csv").unlink()
    done = cli_here("prof", "show", profile)
    assert done.returncode == 0
    assert "never stopped" in done.stderr
    assert "Softmax" in done.stdout
    said = json.loads(cli_here("prof", "show", profile, "--format", "json").stdout)
    assert said["is_complete"] is False
    counts = {line["name"]: line["count"] for line in said["operators"]}
    assert (counts["Softmax"], counts["Neg"]) == (3, 1)


def test_trace_is_written_anew_where_one_says(cli, profile):
    """In a process of its own; by default inside, for the first time or again."""
    before = json.loads((profile / "trace.json").read_text())
    done = cli("prof", "trace", profile, "-o", "there.json")
    assert done.returncode == 0
    assert "ui.perfetto.dev" in done.stdout
    target = profile.parents[1] / "cwd" / "there.json"
    assert json.loads(target.read_text()) == before
    (profile / "trace.json").unlink()
    said = json.loads(cli("prof", "trace", profile, "--format", "json").stdout)
    assert said["records"] == sum(e["ph"] != "M" for e in before["traceEvents"])
    assert json.loads((profile / "trace.json").read_text()) == before


@pytest.mark.parametrize("command", ["show", "trace"])
def test_folder_that_is_none_is_told(cli_here, profile, tmp_path, command):
    """With what is there instead."""
    done = cli_here("prof", command, tmp_path / "nothing")
    assert (done.returncode, done.stdout) == (1, "")
    assert "No such file or directory" in done.stderr
    done = cli_here("prof", command, profile.parent)
    assert done.returncode == 1
    assert f"it holds {profile.name}" in done.stderr
    done = cli_here("prof", command, profile / "info.json")
    assert done.returncode == 1
    assert "Not a directory" in done.stderr


def test_damaged_summary_and_records_are_told(cli_here, profile):
    """With the file and the line."""
    summary = profile / "op_summary.csv"
    summary.write_text(summary.read_text() + "x,y\n")
    assert "no line of a summary" in cli_here("prof", "show", profile).stderr
    for path in profile.glob("device_0/data/task.slice_0"):
        path.write_bytes(b"x")

    assert "is damaged" in cli_here("prof", "trace", profile).stderr


def test_empty_profile_has_no_table(cli_here, profile):
    """Nor is it an error."""
    shutil.rmtree(profile / "device_0")
    (profile / "op_summary.csv").unlink()
    done = cli_here("prof", "show", profile)
    assert (done.returncode, done.stdout) == (0, "no operator was timed\n")
