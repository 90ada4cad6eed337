"""Small models, written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from onnx import helper

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def save_model(
    path: Path,
    nodes: list[Any],
    inputs: list[tuple[str, int, list[Any]]],
    outputs: list[tuple[str, int, list[Any]]],
    **more: Any,
) -> Path:
    """Write a model whose nodes are of ONNX or of the domain `custom`."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "tiny", [value(*entry) for entry in inputs], [value(*entry) for entry in outputs],
        **more,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path
