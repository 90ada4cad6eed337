"""The model of the benchmark: two layers, about half a millisecond for one row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HIDDEN, CLASSES = 784, 6144, 10


def write_model(path: Path) -> None:
    """Write the same model each time."""
    random = np.random.default_rng(7)
    layers = [
        ("w1", random.normal(0, 0.05, (WIDTH, HIDDEN))),
        ("b1", random.normal(0, 0.05, HIDDEN)),
        ("w2", random.normal(0, 0.05, (HIDDEN, CLASSES))),
        ("b2", random.normal(0, 0.05, CLASSES)),
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("Gemm", ["r", "w2", "b2"], ["y"]),
        ],
        "perceptron",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", CLASSES])],
        [numpy_helper.from_array(a.astype(np.float32), name) for name, a in layers],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


def row() -> np.ndarray:
    """Return the row that every request sends."""
    return np.random.default_rng(1).random((1, WIDTH), np.float32)
