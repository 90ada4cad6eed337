"""The watcher in whole sessions: what is written, and what it says at the end."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from aclasync import acl_session
from aclasync.testing import fresh_runtime

pytestmark = pytest.mark.anyio

FLOAT = onnx.TensorProto.FLOAT
FEED = {"x": np.array([1, -2], np.float32)}


@pytest.fixture
def chain(save_model):
    """Save a chain of operators that change one value in turns: their names, and their types."""

    def save(*names, types=("Neg", "Abs", "Sqrt", "Exp", "Identity")):
        nodes = [
            onnx.helper.make_node(kind, [f"t{at}" if at else "x"], [f"t{at + 1}"], name=name)
            for at, (name, kind) in enumerate(zip(names, types, strict=False))
        ]
        last = f"t{len(names)}"
        return save_model(nodes, [("x", FLOAT, [2])], [(last, FLOAT, [2])])

    return save


@pytest.fixture
def watch(run_dumping, files):
    """Run a model under the watcher; return the names of what was written, in order."""

    async def run(model, **item):
        await run_dumping(model, FEED, dump_scene="watcher", dump_mode="output", dump_list=[item])
        return [name for _, name in sorted(files())]

    return run


async def test_watched_output_is_written_after_itself_and_after_every_layer(chain, watch, files):
    """With the same value each time, since nothing on this device overwrites it."""
    model = chain("A", "W", "B", "C")
    written = await watch(model, watcher_nodes=["W"], layer=["B", "C"])
    assert written == ["W", "W_after_B", "W_after_C"]
    for file in files().values():
        (output,) = file.outputs
        np.testing.assert_array_equal(output.array(), [1, 2])
        assert not file.inputs


async def test_without_layers_every_later_operator_is_one(chain, watch):
    """Those before it have nothing of it to show."""
    assert await watch(chain("A", "W", "B", "C"), watcher_nodes=["W"]) == [
        "W",
        "W_after_B",
        "W_after_C",
    ]


async def test_collective_operator_is_no_layer(chain, run_dumping, files, said):
    """What stands between devices is not looked at; here a function of the model plays it."""
    model_path = chain("A", "W", "B")
    model = onnx.load(model_path)
    function = onnx.helper.make_function(
        "hccl", "HcomAllReduce", ["a"], ["b"],
        [onnx.helper.make_node("Identity", ["a"], ["b"])],
        [onnx.helper.make_opsetid("", 21)],
    )  # fmt: skip
    model.functions.append(function)
    model.opset_import.append(onnx.helper.make_opsetid("hccl", 1))
    model.graph.node[2].op_type, model.graph.node[2].domain = "HcomAllReduce", "hccl"
    onnx.save(model, model_path)
    await run_dumping(
        model_path, FEED, dump_scene="watcher", dump_list=[{"watcher_nodes": ["W"], "layer": ["B"]}]
    )
    assert [name for _, name in files()] == ["W"]
    assert not said()


async def test_unknown_names_are_reported_when_the_session_ends(chain, watch, said):
    """Each with its place in the configuration."""
    assert await watch(chain("A", "W"), watcher_nodes=["W", "Wx"], layer=["Bx"]) == ["W"]
    told = "\n".join(said())
    assert "dump.dump_list[0].watcher_nodes[1] (Wx) matched no operators" in told
    assert "dump.dump_list[0].layer[0] (Bx) matched no operators" in told


async def test_single_operators_are_not_watched(dump_folder):
    """The watcher looks at models alone."""
    keys = {
        "dump_path": str(dump_folder),
        "dump_scene": "watcher",
        "dump_mode": "output",
        "dump_list": [{"watcher_nodes": ["Neg"]}],
    }
    with fresh_runtime():
        async with acl_session({"dump": keys}) as session, session.open_device() as device:
            await device.execute_op("Neg", [FEED["x"]])

    assert not list(dump_folder.rglob("*.*"))
