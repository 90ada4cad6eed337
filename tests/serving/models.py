"""Small ONNX models for tests, and a models' folder of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
TYPES = {
    "FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE,
    "INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT32": TensorProto.INT32,
    "INT64": TensorProto.INT64, "UINT8": TensorProto.UINT8, "UINT16": TensorProto.UINT16,
    "UINT32": TensorProto.UINT32, "UINT64": TensorProto.UINT64, "BOOL": TensorProto.BOOL,
    "BYTES": TensorProto.STRING,
}  # fmt: skip


def _save(path: Path, nodes, inputs, outputs, constants=()) -> None:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


def write_mirror(path: Path) -> None:
    """A model that gives back what it gets, of every type."""
    _save(
        path,
        [helper.make_node("Identity", [f"in_{n}"], [f"out_{n}"]) for n in TYPES],
        [helper.make_tensor_value_info(f"in_{n}", t, ["n", 2]) for n, t in TYPES.items()],
        [helper.make_tensor_value_info(f"out_{n}", t, ["n", 2]) for n, t in TYPES.items()],
    )


def write_scale(path: Path, factor: float) -> None:
    """A model that multiplies by `factor`."""
    _save(
        path,
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(np.float32(factor), "factor")],
    )


def write_pick(path: Path) -> None:
    """A model that gives the numbered one of three values, and fails for any other number."""
    _save(
        path,
        [helper.make_node("Gather", ["values", "number"], ["value"])],
        [helper.make_tensor_value_info("number", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("value", TensorProto.FLOAT, ["n"])],
        [numpy_helper.from_array(np.array([5, 6, 7], np.float32), "values")],
    )


def write_spin(path: Path) -> None:
    """A model that runs for about as many milliseconds as it is told, and says how many."""
    size = 200
    one = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("MatMul", ["m", "weights"], ["m_next"]),
        ],
        "body",
        [one("i", TensorProto.INT64, []), one("go", TensorProto.BOOL, []),
         one("m", TensorProto.FLOAT, [size, size])],
        [one("go_on", TensorProto.BOOL, []), one("m_next", TensorProto.FLOAT, [size, size])],
    )  # fmt: skip
    _save(
        path,
        [
            helper.make_node("Squeeze", ["times"], ["count"]),
            helper.make_node("Loop", ["count", "yes", "start"], ["end"], body=body),
            helper.make_node("ReduceSum", ["end"], ["sum"], keepdims=0),
            helper.make_node("Identity", ["times"], ["done"]),
        ],
        [one("times", TensorProto.INT64, [1])],
        [one("done", TensorProto.INT64, [1]), one("sum", TensorProto.FLOAT, [])],
        [
            numpy_helper.from_array(np.eye(size, dtype=np.float32), "weights"),
            numpy_helper.from_array(np.eye(size, dtype=np.float32), "start"),
            numpy_helper.from_array(np.array(1, bool), "yes"),
        ],
    )


def write_repository(folder: Path) -> Path:
    """Digits, mirror, pick, spin, and two versions of scale."""
    (folder / "digits" / "1").mkdir(parents=True)
    shutil.copy(DIGITS, folder / "digits" / "1" / "model.onnx")
    write_mirror(folder / "mirror" / "1" / "model.onnx")
    write_pick(folder / "pick" / "1" / "model.onnx")
    write_spin(folder / "spin" / "1" / "model.onnx")
    write_scale(folder / "scale" / "1" / "model.onnx", 10)
    write_scale(folder / "scale" / "2" / "model.onnx", 20)
    (folder / "scale" / "config.toml").write_text("max_batch = 8\n")
    return folder
