"""Dumps of real sessions, beside what bare ONNX Runtime computes for the same tensors."""

from __future__ import annotations

import csv
import stat

import numpy as np
import onnx
import pytest

from aclasync import OperatorError, acl_session
from aclasync.dump import find_dumps, read_dump
from aclasync.testing import fresh_runtime

from .conftest import DIGITS

pytestmark = pytest.mark.anyio

FLOAT = onnx.TensorProto.FLOAT
MODEL = {"dump_list": [{"model_name": "digits"}]}


@pytest.fixture
def images():
    return {"image": np.random.default_rng(5).random((3, 1, 8, 8), np.float32)}


@pytest.fixture
def reciprocal(save_model):
    """Divides: a zero makes it infinite; what comes after has no finite input then."""
    make = onnx.helper.make_node
    nodes = [
        make("Reciprocal", ["x"], ["y"], name="Divide"),
        make("Neg", ["y"], ["z"], name="Turn"),
    ]
    return save_model(nodes, [("x", FLOAT, [2])], [("z", FLOAT, [2])])


@pytest.fixture
def reshape(save_model):
    """Fails in its second operator when the size that it is told does not fit."""
    make = onnx.helper.make_node
    nodes = [
        make("Neg", ["x"], ["y"], name="Turn"),
        make("Reshape", ["y", "size"], ["z"], name="Fold"),
    ]
    inputs = [("x", FLOAT, [4]), ("size", onnx.TensorProto.INT64, [2])]
    return save_model(nodes, inputs, [("z", FLOAT, ["a", "b"])])


async def test_every_tensor_is_the_engines(run_dumping, run_plain, files, engine, images):
    """All of a model, inputs and outputs; the answer is what it is without a dump."""
    (answer,) = await run_dumping(DIGITS, images, **MODEL, dump_mode="all")
    (plain,) = await run_plain(DIGITS, images)
    for name, value in plain.items():
        np.testing.assert_array_equal(answer[name], value)

    expected = engine(DIGITS, images)
    nodes = onnx.load(DIGITS).graph.node
    found = files()
    assert {name for _, name in found} == {node.name for node in nodes}
    for node in nodes:
        file = found[0, node.name]
        assert file.op_type == node.op_type
        assert len(file.inputs) == len(node.input)
        for tensor, name in zip(file.outputs, node.output, strict=True):
            np.testing.assert_array_equal(tensor.array(), expected[name])


async def test_only_chosen_layers_and_steps(run_dumping, files, images):
    """A layer by its name, in the second and third of four runs."""
    chosen = {"dump_list": [{"model_name": "digits", "layer": ["Relu1"]}]}
    await run_dumping(DIGITS, images, images, images, images, **chosen, dump_step="1-2")
    found = files()
    assert set(found) == {(1, "Relu1"), (2, "Relu1")}
    assert not any(file.inputs for file in found.values())


async def test_a_layer_that_is_not_there_is_reported(run_dumping, files, images, said):
    """A dump that stays empty says why at its end."""
    await run_dumping(DIGITS, images, dump_list=[{"model_name": "digits", "layer": ["Rleu1"]}])
    assert not files()
    assert any("Rleu1" in message for message in said())


async def test_nobody_else_can_read_it(run_dumping, dump_folder, images):
    """Folders 0700, files 0600."""
    await run_dumping(DIGITS, images, **MODEL)
    below = list(dump_folder.rglob("*"))
    assert below
    for path in below:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


async def test_stats_are_of_the_same_values(run_dumping, engine, dump_folder, images):
    """A table for every operator in place of its tensors."""
    await run_dumping(DIGITS, images, **MODEL, dump_data="stats", dump_stats=["Max", "Min"])
    (path,) = dump_folder.rglob("Softmax.*.csv")
    (row,) = csv.DictReader(path.read_text().splitlines(), skipinitialspace=True)
    (output,) = onnx.load(DIGITS).graph.node[-1].output
    expected = engine(DIGITS, images)[output]
    numbers = {key.strip(): value for key, value in row.items()}
    assert float(numbers["Max Value"]) == pytest.approx(expected.max(), rel=1e-5)
    assert float(numbers["Min Value"]) == pytest.approx(expected.min(), rel=1e-5, abs=1e-7)


async def test_overflow_names_the_first_operator(run_dumping, files, reciprocal):
    """Of a finite run nothing; of an infinite one the operator that made it so."""
    finite, zero = np.ones(2, np.float32), np.zeros(2, np.float32)
    await run_dumping(reciprocal, {"x": finite}, {"x": zero}, dump_debug="on")
    found = files()
    assert set(found) == {(1, "Divide")}
    (output,) = found[1, "Divide"].outputs
    assert np.isinf(output.array()).all()


@pytest.mark.parametrize("scene", ["lite_exception", "aic_err_brief_dump", "aic_err_norm_dump"])
async def test_a_failed_operator_is_named_and_written(run_dumping, dump_folder, reshape, scene):
    """The exception names the operator and the file, which has the operator's inputs."""
    feed = {"x": np.arange(4, dtype=np.float32), "size": np.array([3, 3])}
    with pytest.raises(OperatorError, match="Fold") as caught:
        await run_dumping(reshape, feed, dump_scene=scene)

    error = caught.value
    assert (error.operator, error.op_type) == ("Fold", "Reshape")
    assert error.dump_file is not None
    (entry,) = find_dumps(dump_folder / "extra-info")
    assert str(entry.path) == error.dump_file
    assert "extra-info/data-dump/0/" in error.dump_file
    first, *_ = read_dump(entry.path).inputs
    assert first.array().tobytes() == (-feed["x"]).tobytes()  # brief has no types


@pytest.mark.parametrize(
    ("mode", "inputs", "outputs"), [("input", 2, 0), ("output", 0, 1), ("all", 2, 1)]
)
async def test_single_operators(dump_folder, mode, inputs, outputs):
    """Each execution is a file of its own below the device."""
    keys = {"dump_path": str(dump_folder), "dump_op_switch": "on", "dump_mode": mode}
    ones = np.ones(3, np.float32)
    with fresh_runtime():
        async with acl_session({"dump": keys}) as session, session.open_device() as device:
            await device.execute_op("Add", [ones, ones])
            await device.execute_op("Add", [ones, ones])

    dumped = [read_dump(entry.path) for entry in find_dumps(dump_folder)]
    assert [file.op_type for file in dumped] == ["Add", "Add"]
    for file in dumped:
        assert (len(file.inputs), len(file.outputs)) == (inputs, outputs)
        for tensor in file.outputs:
            np.testing.assert_array_equal(tensor.array(), ones + ones)


async def test_single_operators_are_not_dumped_unasked(dump_folder, images):
    """With a model dump alone."""
    keys = {"dump_path": str(dump_folder), **MODEL}
    ones = np.ones(3, np.float32)
    with fresh_runtime():
        async with acl_session({"dump": keys}) as session, session.open_device() as device:
            await device.execute_op("Add", [ones, ones])

    assert not list(find_dumps(dump_folder))
