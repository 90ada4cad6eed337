"""Every tensor of whole models beside what bare ONNX Runtime computes, and numpy's statistics.

The second model is somebody else's: the one with which magika tells what a file is.
"""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import numpy as np
import onnx
import pytest

from .conftest import DIGITS

pytestmark = pytest.mark.anyio

MAGIKA = Path(importlib.util.find_spec("magika").origin).parent / "models/standard_v3_3/model.onnx"
EVERYTHING = {"dump_list": [{}], "dump_mode": "all"}


def tokens_of(text: bytes) -> np.ndarray:
    """Return the beginning and the end of a text as that model wants them, padded with 256."""
    ends = np.full((1, 2048), 256, np.int32)
    ends[0, : len(text)] = list(text)
    ends[0, 2048 - len(text) :] = list(text)
    return ends


MODELS = {
    "digits": (DIGITS, {"image": np.random.default_rng(3).random((2, 1, 8, 8), np.float32)}),
    "magika": (
        MAGIKA,
        {"bytes": tokens_of(b"def main():\n    print(7)\n" * 9)},
    ),
}


@pytest.fixture(params=MODELS)
def golden(request):
    return MODELS[request.param]


@pytest.fixture
def weights():
    """Return what a model comes with: its weights, and its constants."""

    def run(model):
        found = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.initializer}
        for node in model.node:
            if node.op_type == "Constant":
                found[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)

        return found

    return run


async def test_every_tensor_of_a_model_is_the_engine_s(run_dumping, files, engine, golden, weights):
    """Inputs and outputs of all its operators, bit by bit."""
    path, feed = golden
    await run_dumping(path, feed, **EVERYTHING)
    graph = onnx.load(path).graph
    expected = {**weights(graph), **feed, **engine(path, feed)}
    found = files()
    nodes = [node for node in graph.node if node.op_type != "Constant"]
    assert len(found) == len(nodes) > 5
    for node in nodes:
        file = found[0, node.name]
        assert file.op_type == node.op_type
        for tensors, names in ((file.inputs, node.input), (file.outputs, node.output)):
            given = [name for name in names if name]
            assert len(tensors) == len(given), node.name
            for tensor, name in zip(tensors, given, strict=True):
                array = tensor.array()
                assert array.dtype == expected[name].dtype, (node.name, name)
                np.testing.assert_array_equal(array, expected[name])


async def test_statistics_of_every_tensor_are_numpy_s(run_dumping, dump_folder, engine, golden):
    """One row for each output, of every type that has such numbers."""
    path, feed = golden
    await run_dumping(path, feed, dump_list=[{}], dump_data="stats")
    expected = engine(path, feed)
    rows = 0
    for node in onnx.load(path).graph.node:
        if node.op_type == "Constant":
            continue

        clean = node.name.replace("/", "_").replace(".", "_").replace(" ", "_")
        (table,) = dump_folder.rglob(f"{node.op_type}.{clean}.*.csv")
        read = csv.DictReader(table.read_text().splitlines(), skipinitialspace=True)
        for row, name in zip(read, node.output, strict=True):
            array = expected[name]
            assert row["Shape"] == ("x".join(map(str, array.shape)) or "-")
            assert int(row["Count"]) == array.size
            if array.dtype == np.float32:
                assert float(row["Max Value"]) == pytest.approx(array.max(), rel=1e-5)
                assert float(row["Min Value"]) == pytest.approx(array.min(), rel=1e-5)
                mean = array.mean(dtype=np.float64)
                assert float(row["Avg Value"]) == pytest.approx(mean, rel=1e-4, abs=1e-9)
                assert int(row["Nan Count"]) == np.isnan(array).sum()

            rows += 1

    assert rows > 5
