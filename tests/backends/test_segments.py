"""Models with operators in Python give what they would give if the engine had those operators."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from aclasync.errors import AclCode, DeviceError

from .onnx_models import FLOAT, INT64, save_model

F = np.float32
VECTOR = ["n", 3]


def node(op_type, inputs, outputs, **attributes):
    domain = "custom" if op_type.startswith("My") else ""
    return helper.make_node(op_type, inputs, outputs, outputs[0], domain=domain, **attributes)


@pytest.fixture
def device(open_embedded):
    return open_embedded().open_device(0)


@pytest.fixture
def add_kernel(device):
    def add(op_type, function, **options):
        device.add_kernel(op_type, function, **{"core_kind": "aiv", "cores": 1, **options})

    return add


@pytest.fixture
def load(device, tmp_path):
    def load_one(nodes, inputs=(("x", FLOAT, VECTOR),), outputs=(("y", FLOAT, VECTOR),), **more):
        path = save_model(tmp_path / "tiny.onnx", nodes, list(inputs), list(outputs), **more)
        return device.load_model(path)

    return load_one


def test_operators_between_pieces_equal_the_engine_s_own(add_kernel, load, tmp_path):
    """Chains, branches around a kernel, weights on both sides: the same as one engine session."""
    add_kernel("MyAbs", lambda ctx, x: np.abs(x))
    add_kernel("MyMul", lambda ctx, x, w: x * w)
    weight = numpy_helper.from_array(F([2, -3, 4]), "w")

    def nodes(absolute, multiply):
        return [
            node("Neg", ["x"], ["a"]),
            node(absolute, ["a"], ["b"]),
            node("Add", ["b", "w"], ["c"]),
            node(multiply, ["c", "w"], ["d"]),
            node(absolute, ["d"], ["e"]),
            node("Relu", ["x"], ["f"]),
            node("Sub", ["e", "f"], ["y"]),
        ]

    model = load(nodes("MyAbs", "MyMul"), initializer=[weight])
    plain = save_model(
        tmp_path / "plain.onnx",
        nodes("Abs", "Mul"),
        [("x", FLOAT, VECTOR)],
        [("y", FLOAT, VECTOR)],
        initializer=[weight],
    )
    x = np.random.default_rng(1).normal(size=(5, 3)).astype(F)
    (expected,) = onnxruntime.InferenceSession(plain).run(None, {"x": x})
    assert np.array_equal(model.execute({"x": x})["y"], expected)


def test_model_says_what_it_takes_and_gives_as_a_whole(add_kernel, load):
    """Pieces are no business of a caller's."""
    add_kernel("MyAbs", lambda ctx, x: np.abs(x))
    model = load([node("MyAbs", ["x"], ["m"]), node("Neg", ["m"], ["y"])])
    assert [(s.name, s.dtype, s.shape) for s in model.inputs] == [("x", "float32", ("n", 3))]
    assert [(s.name, s.dtype, s.shape) for s in model.outputs] == [("y", "float32", ("n", 3))]


def test_attributes_arrive_as_python_has_them(add_kernel, load):
    """Numbers, text, lists and tensors, by name."""
    got = {}

    def my_op(ctx, x, **attributes):
        got.update(attributes)
        return x

    add_kernel("MyOp", my_op)
    table = numpy_helper.from_array(F([1, 2]), "t")
    model = load(
        [node("MyOp", ["x"], ["y"], i=3, f=0.5, s="text", ints=[1, 2], names=["a", "b"], t=table)]
    )
    model.execute({"x": F([[1, 2, 3]])})
    assert got.pop("t").tolist() == [1, 2]
    assert got == {"i": 3, "f": 0.5, "s": "text", "ints": [1, 2], "names": ["a", "b"]}


def test_type_that_only_the_kernel_knows_is_taken_as_it_comes(add_kernel, load):
    """The piece behind it is compiled for each element type that turns up."""
    kinds = iter([np.float32, np.float64, np.float32])
    add_kernel("MyCast", lambda ctx, x: x.astype(next(kinds)))
    model = load(
        [node("MyCast", ["x"], ["m"]), node("Neg", ["m"], ["k"]), node("Cast", ["k"], ["y"], to=1)]
    )
    for _ in range(3):
        assert model.execute({"x": F([[1, 2, 3]])})["y"].tolist() == [[-1, -2, -3]]


def test_left_out_input_is_none_and_outputs_may_be_several(add_kernel, load):
    """As ONNX has them."""
    seen = []

    def my_split(ctx, x, low, high):
        seen.append(low)
        return np.minimum(x, high), np.maximum(x, high)

    add_kernel("MySplit", my_split)
    model = load(
        [node("MySplit", ["x", "", "x"], ["a", "b"]), node("Add", ["a", "b"], ["y"])],
    )
    assert model.execute({"x": F([[1, 2, 3]])})["y"].tolist() == [[2, 4, 6]]
    assert seen == [None]


def test_outer_values_reach_a_branch_in_a_later_piece(add_kernel, load):
    """What the graphs inside a node read is brought along."""
    add_kernel("MyAbs", lambda ctx, x: np.abs(x))

    def branch(op_type):
        inner = node(op_type, ["m", "h"], [f"{op_type}_out"])
        value = helper.make_tensor_value_info(f"{op_type}_out", FLOAT, VECTOR)
        return helper.make_graph([inner], op_type, [], [value])

    model = load(
        [
            node("Neg", ["x"], ["h"]),
            node("MyAbs", ["x"], ["m"]),
            node("If", ["c"], ["y"], then_branch=branch("Add"), else_branch=branch("Sub")),
        ],
        inputs=[("x", FLOAT, VECTOR), ("c", onnx.TensorProto.BOOL, [])],
    )
    x = F([[-1, 2, 3]])
    assert model.execute({"x": x, "c": True})["y"].tolist() == [[2, 0, 0]]
    assert model.execute({"x": x, "c": False})["y"].tolist() == [[0, 4, 6]]


def test_kernel_inside_a_loop_is_refused_by_name(add_kernel, load):
    """When the model is loaded (100013), with what to do."""
    add_kernel("MyAbs", lambda ctx, x: np.abs(x))
    inner = node("MyAbs", ["x"], ["o"])
    graph = helper.make_graph(
        [inner], "body", [], [helper.make_tensor_value_info("o", FLOAT, VECTOR)]
    )
    with pytest.raises(DeviceError, match=r"MyAbs \(o\).*inside a loop or branch") as caught:
        load(
            [node("If", ["c"], ["y"], then_branch=graph, else_branch=graph)],
            inputs=[("x", FLOAT, VECTOR), ("c", onnx.TensorProto.BOOL, [])],
        )

    assert caught.value.code is AclCode.PARSE_MODEL


def test_operator_of_a_function_in_the_model_is_found(add_kernel, device, tmp_path):
    """Functions are taken apart first."""
    add_kernel("MyAbs", lambda ctx, x: np.abs(x))
    body = [
        helper.make_node("MyAbs", ["a"], ["b"], domain="custom"),
        helper.make_node("Neg", ["b"], ["c"]),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)]
    function = helper.make_function("custom", "Shrink", ["a"], ["c"], body, opsets)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Shrink", ["x"], ["y"], domain="custom")],
        "g",
        [value("x", FLOAT, VECTOR)],
        [value("y", FLOAT, VECTOR)],
    )
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=[function])
    onnx.save(model, tmp_path / "function.onnx")
    loaded = device.load_model(tmp_path / "function.onnx")
    assert loaded.execute({"x": F([[-1, 2, 3]])})["y"].tolist() == [[-1, -2, -3]]


def test_weights_in_another_file_are_found_by_every_piece(add_kernel, device, load, tmp_path):
    """They lie beside the model, wherever the program runs."""
    add_kernel("MyMul", lambda ctx, x, w: x * w)
    load(
        [node("Add", ["x", "w"], ["m"]), node("MyMul", ["m", "w"], ["k"]),
         node("Sub", ["k", "w"], ["y"])],
        initializer=[numpy_helper.from_array(np.full(3, 2, F), "w")],
    )  # fmt: skip
    model = onnx.load(tmp_path / "tiny.onnx")
    path = tmp_path / "outside.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert (tmp_path / "w.bin").stat().st_size
    assert device.load_model(path).execute({"x": F([[1, 2, 3]])})["y"].tolist() == [[4, 6, 8]]


def test_unknown_operator_without_a_kernel_is_told_by_the_engine(load):
    """A model is as usable as without kernels: not at all (100013)."""
    with pytest.raises(DeviceError, match="MyAbs") as caught:
        load([node("MyAbs", ["x"], ["y"])])

    assert caught.value.code is AclCode.PARSE_MODEL


def test_file_that_is_no_model_is_refused_with_kernels_too(add_kernel, device, tmp_path):
    """By the same number."""
    add_kernel("MyAbs", lambda ctx, x: np.abs(x))
    path = tmp_path / "text.onnx"
    path.write_bytes(b"\xffno model")
    with pytest.raises(DeviceError, match=r"text\.onnx is no usable model") as caught:
        device.load_model(path)

    assert caught.value.code is AclCode.PARSE_MODEL


def test_output_that_is_a_weight_or_an_input_is_returned(add_kernel, load):
    """Nothing has to compute it."""
    add_kernel("MyAbs", lambda ctx, x: np.abs(x))
    model = load(
        [node("MyAbs", ["x"], ["y"])],
        outputs=[("y", FLOAT, VECTOR), ("w", INT64, [2])],
        initializer=[numpy_helper.from_array(np.int64([7, 8]), "w")],
    )
    outputs = model.execute({"x": F([[-1, 2, 3]])})
    assert outputs["y"].tolist() == [[1, 2, 3]]
    assert outputs["w"].tolist() == [7, 8]
