"""Comparing two dumps of real sessions, as a function and as a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

from aclasync import acl_session
from aclasync.dump import compare_dumps
from aclasync.errors import DumpError
from aclasync.testing import fresh_runtime

pytestmark = pytest.mark.anyio

FLOAT = onnx.TensorProto.FLOAT


@pytest.fixture
def dump(tmp_path, save_model):
    """Dump x → Neg → Mul by `factor` → Relu into a folder of that name; return the folder."""

    async def run(name, factor):
        make = onnx.helper.make_node
        weight = onnx.numpy_helper.from_array(np.array([factor], np.float32), "factor")
        nodes = [
            make("Neg", ["x"], ["y"], name="Turn"),
            make("Mul", ["y", "factor"], ["z"], name="Scale"),
            make("Relu", ["z"], ["answer"], name="Cut"),
        ]
        model = save_model(
            nodes, [("x", FLOAT, [4])], [("answer", FLOAT, [4])], name="line", weights=[weight]
        )
        folder = tmp_path / name
        folder.mkdir()
        keys = {"dump_path": str(folder), "dump_list": [{"model_name": "line"}]}
        with fresh_runtime():
            async with (
                acl_session({"dump": keys}) as session,
                session.open_device() as device,
                device.load_model(model) as loaded,
            ):
                await loaded.execute({"x": np.array([-4, -3, 2, 1], np.float32)})

        return folder

    return run


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "aclasync", "dump", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


async def test_the_first_operator_that_differs_is_named(dump):
    """What comes before it is within the tolerance, what comes after differs, too."""
    one, other = await dump("one", 2.0), await dump("other", 2.5)
    comparison = compare_dumps(one, other)
    assert not comparison.is_within
    first = comparison.first_divergence
    assert first is not None
    assert (first.op_type, first.op_name) == ("Mul", "Scale")
    within = {tensor.op_name: tensor.difference.is_within for tensor in comparison.tensors}
    assert within == {"Turn": True, "Scale": False, "Cut": False}


async def test_the_same_twice_is_within(dump):
    """Although folders, numbers and times differ."""
    comparison = compare_dumps(await dump("one", 2.0), await dump("other", 2.0))
    assert comparison.is_within
    assert comparison.first_divergence is None
    assert not comparison.only_in_a
    assert not comparison.only_in_b


async def test_command(dump):
    """Exit code and JSON say what the function says."""
    one, same, other = await dump("one", 2.0), await dump("same", 2.0), await dump("other", 2.5)
    assert command("compare", one, same).returncode == 0
    differing = command("compare", one, other, "--json")
    assert differing.returncode == 1
    assert "Scale" in differing.stdout
    json.loads(differing.stdout)
    listed = command("ls", one)
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in ("Turn", "Scale", "Cut"))


async def test_nothing_in_common_is_an_error(dump, tmp_path):
    """Never an empty comparison that passes."""
    one = await dump("one", 2.0)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DumpError):
        compare_dumps(one, empty)

    failed = command("compare", one, empty)
    assert failed.returncode == 1
    assert "Traceback" not in failed.stderr
