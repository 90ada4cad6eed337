"""Single operators on the embedded device: what comes out, what is refused, what is kept."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from aclasync import acl_session
from aclasync.backends.embedded import opmodel
from aclasync.errors import AclCode, DeviceError, NoContextError
from aclasync.product import Product

from .onnx_models import FLOAT

F = np.float32


@pytest.fixture
def execute(open_embedded, resolve):
    """Open a device with a configuration, and return what runs an operator on it."""

    def make(config=None, product=Product.ATLAS_A2):
        backend = open_embedded(product)
        backend.start("stack_size", resolve(config or {}, product))
        device = backend.open_device(0)

        def run(op_type, inputs, attributes=None, *, domain="", outputs=None, is_dynamic=False):
            return device.execute_op(
                op_type, inputs, attributes or {}, domain=domain, outputs=outputs,
                is_dynamic=is_dynamic,
            )  # fmt: skip

        run.device = device
        return run

    return make


async def test_operator_runs_on_the_device_of_a_session(runtime):
    """Arrays go in, a tuple of arrays comes out, from any event loop."""
    async with acl_session() as session, session.open_device() as device:
        (total,) = await device.execute_op("Add", [F([1, 2]), F([3, 4])])
        assert total.tolist() == [4, 6]
        parts = await device.execute_op("Split", [np.arange(4)], {"num_outputs": 2})
        assert [part.tolist() for part in parts] == [[0, 1], [2, 3]]
        assert device.op_cache.misses == 2


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "expected"),
    [
        ("LeakyRelu", [F([-2, 2])], {"alpha": 0.25}, [-0.5, 2]),
        ("LeakyRelu", [F([-2, 2])], {"alpha": 1}, [-2, 2]),
        ("Concat", [F([1]), F([2]), F([3])], {"axis": 0}, [1, 2, 3]),
        ("Cast", [F([1.5])], {"to": onnx.TensorProto.INT64}, [1]),
        ("Clip", [F([-5, 5]), None, F(2)], {}, [-5, 2]),
        ("Transpose", [F([[1, 2], [3, 4]])], {"perm": [1, 0]}, [[1, 3], [2, 4]]),
        ("Not", [np.array([True, False])], {}, [False, True]),
        ("StringConcat", [np.array(["a", "é"]), np.array(["b"])], {}, ["ab", "éb"]),
        ("Pad", [F([1, 2]), np.array([1, 0])], {"mode": "edge"}, [1, 1, 2]),
        ("ConstantOfShape", [np.array([2])], {"value": F([7])}, [7, 7]),
        ("Sqrt", [F(np.ones((2, 0)))], {}, [[], []]),
        ("Neg", [F(3)], {}, -3),
        ("Add", [np.float16([1]), np.float16([2])], {}, [3]),
        ("Neg", [np.arange(4, dtype=F)[::2]], {}, [0, -2]),
        ("Neg", [np.array([1, 2], ">f4")], {}, [-1, -2]),
    ],
)
def test_operators_of_every_kind(execute, op_type, inputs, attributes, expected):
    """Attributes of every type, inputs left out, scalars, empty and text."""
    (value,) = execute()(op_type, inputs, attributes)
    assert value.tolist() == expected


def test_operators_of_other_domains(execute):
    """Those of ONNX's machine learning set, and the engine's own."""
    run = execute()
    (scaled,) = run("Normalizer", [F([[1, 3]])], {"norm": "L1"}, domain="ai.onnx.ml")
    assert scaled.tolist() == [[0.25, 0.75]]
    (value,) = run("Gelu", [F([0])], domain="com.microsoft")
    assert value.tolist() == [0]


def test_operator_whose_newest_version_the_engine_has_not_runs_in_an_older_one(execute):
    """Rather than not at all."""
    (value,) = execute()("RandomUniformLike", [F([[1, 2]])], {"low": 5.0, "high": 6.0})
    assert value.shape == (1, 2)
    assert ((value >= 5) & (value <= 6)).all()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("Ad", [F([1])]), AclCode.OP_NOT_FOUND, "no operator 'Ad'.*did you mean"),
        (("Upsample", [F([1])]), AclCode.OP_NOT_FOUND, "no operator 'Upsample'"),
        (("", [F([1])]), AclCode.OP_NOT_FOUND, "no operator ''"),
        (("Foo", [F([1])], {}, "ai.onnx.ml"), AclCode.OP_NOT_FOUND, "in ai.onnx.ml"),
        (("Bar", [F([1])], {}, "nowhere"), AclCode.OP_LOAD_FAILED, "Bar can't be compiled"),
        (("Add", [F([1])]), AclCode.OP_INPUT_NOT_MATCH, r"takes 2 inputs \(A, B\), not 1"),
        (("Add", [F([1]), None]), AclCode.OP_INPUT_NOT_MATCH, r"input 1 \(B\) is missing"),
        (("Concat", [], {"axis": 0}), AclCode.OP_INPUT_NOT_MATCH, "takes 1 to more inputs"),
        (("Add", [F([1]), np.float64([1])]), AclCode.OP_INPUT_NOT_MATCH, "must be of one type"),
        (("Sqrt", [np.array([1])]), AclCode.OP_INPUT_NOT_MATCH, r"tensor\(int64\), expected"),
        (("Add", [[1.0], [2.0]]), AclCode.OP_INPUT_NOT_MATCH, "no element type.*np.asarray"),
        (("Add", [F([1, 2]), F([1, 2, 3])]), AclCode.OP_LOAD_FAILED, "Incompatible dimensions"),
        (("Neg", [np.complex64([1])]), AclCode.UNSUPPORTED_DATA_TYPE, "complex64"),
        (("Neg", [np.longdouble([1])]), AclCode.UNSUPPORTED_DATA_TYPE, "longdouble|float128"),
        (("Neg", [np.array([object()])]), AclCode.UNSUPPORTED_DATA_TYPE, "object"),
        (("Relu", [F([1])], {"alpha": 1.0}), AclCode.OP_ATTR_NOT_MATCH, "no attribute 'alpha'"),
        (("Concat", [F([1])], {"axes": 1}), AclCode.OP_ATTR_NOT_MATCH, "did you mean axis"),
        (("Concat", [F([1])]), AclCode.OP_ATTR_NOT_MATCH, "needs the attribute 'axis'"),
        (("Concat", [F([1])], {"axis": 1.0}), AclCode.OP_ATTR_NOT_MATCH, "must be of type int"),
        (("Concat", [F([1])], {"axis": 2**70}), AclCode.OP_ATTR_NOT_MATCH, "can't be"),
        (("LeakyRelu", [F([1])], {"alpha": "x"}), AclCode.OP_ATTR_NOT_MATCH, "type float"),
        (("Transpose", [F([1])], {"perm": 0}), AclCode.OP_ATTR_NOT_MATCH, "type ints"),
        (("If", [np.array(True)], {"then_branch": 1, "else_branch": 1}),
         AclCode.OP_ATTR_NOT_MATCH, "can't be given here"),
        (("Bar", [F([1])], {"x": object()}, "nowhere"), AclCode.OP_ATTR_NOT_MATCH, "x can't be"),
        (("Relu", [F([1])], {}, "", 3), AclCode.OP_OUTPUT_NOT_MATCH, "not 3"),
        (("Relu", [F([1])], {}, "", 0), AclCode.OP_OUTPUT_NOT_MATCH, "not 0"),
        (("Gather", [F([1]), np.array([5])]), AclCode.FAILURE, "Gather failed.*out of data bounds"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(execute, arguments, code, words):
    """What, where, and the reference's number; the device goes on."""
    run = execute()
    op_type, inputs, attributes, domain, outputs = [*arguments, *(None,) * 5][:5]
    with pytest.raises(DeviceError, match=words) as caught:
        run(op_type, inputs, attributes, domain=domain or "", outputs=outputs)

    assert caught.value.code is code
    assert run("Neg", [F([1])])[0].tolist() == [-1]


def test_queue_keeps_as_many_as_the_configuration_says(execute):
    """The least recently used is compiled again; without the key, 20000 are kept."""
    run = execute({"max_opqueue_num": "2"})
    for size in (1, 2, 1, 3, 1, 2):
        run("Neg", [F(np.ones(size))])

    counts = run.device.op_cache
    assert (counts.capacity, counts.fixed, counts.aged) == (2, 2, 2)
    assert (counts.hits, counts.misses) == (2, 4)
    run = execute()
    for size in (1, 2, 1, 3, 1, 2):
        run("Neg", [F(np.ones(size))])

    counts = run.device.op_cache
    assert (counts.capacity, counts.fixed, counts.aged) == (20000, 3, 0)
    assert (counts.hits, counts.misses) == (3, 3)


def test_key_does_nothing_on_ipv350(execute):
    """It is not there."""
    run = execute({"max_opqueue_num": "1"}, Product.IPV350)
    for size in (1, 2):
        run("Neg", [F(np.ones(size))])

    assert run.device.op_cache.fixed == 2


def test_dynamic_operator_serves_every_shape_of_a_rank(execute):
    """In a queue of its own; another rank or type is another operator."""
    run = execute({"max_opqueue_num": "1"})
    for size in (1, 5, 9):
        assert run("Neg", [F(np.ones(size))], is_dynamic=True)[0].shape == (size,)

    run("Neg", [F(np.ones(3))])
    counts = run.device.op_cache
    assert (counts.fixed, counts.dynamic, counts.hits, counts.misses) == (1, 1, 2, 2)
    run("Neg", [F(np.ones((2, 2)))], is_dynamic=True)
    run("Neg", [np.ones(2)], is_dynamic=True)
    assert run.device.op_cache.aged == 2


def test_whatever_tells_two_operators_apart_is_part_of_the_key(execute):
    """Attributes and their types, outputs, inputs left out, element types and shapes."""
    run = execute()
    x = F([[-1, 1]])
    variants = [
        ("LeakyRelu", [x], {}, {}),
        ("LeakyRelu", [x], {"alpha": 0.5}, {}),
        ("LeakyRelu", [x], {"alpha": 0.25}, {}),
        ("LeakyRelu", [x[0]], {"alpha": 0.25}, {}),
        ("Neg", [x], {}, {}),
        ("Neg", [x.astype(np.float64)], {}, {}),
        ("Clip", [x, None, F(0)], {}, {}),
        ("Clip", [x, F(0), None], {}, {}),
        ("TopK", [x, np.array([1])], {}, {"outputs": 2}),
        ("ConstantOfShape", [np.array([1])], {"value": F([1])}, {}),
        ("ConstantOfShape", [np.array([1])], {"value": F([2])}, {}),
    ]
    first = [run(op, inputs, attrs, **more)[0].tolist() for op, inputs, attrs, more in variants]
    assert run.device.op_cache.misses == len(variants)
    again = [run(op, inputs, attrs, **more)[0].tolist() for op, inputs, attrs, more in variants]
    assert again == first
    assert run.device.op_cache.misses == len(variants)


def save_op(path, op_type, shape, **attributes):
    node = helper.make_node(op_type, ["x"], ["y"], **attributes)
    value = helper.make_tensor_value_info
    graph = helper.make_graph([node], "op", [value("x", FLOAT, shape)], [value("y", FLOAT, shape)])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return path


def test_operator_loaded_from_a_file_is_used_and_never_aged(execute, tmp_path, caplog):
    """It takes room in the queue, and when such fill it that is told."""
    run = execute({"max_opqueue_num": "1"})
    run.device.load_op(save_op(tmp_path / "leaky.onnx", "LeakyRelu", [2], alpha=0.1))
    assert "max_opqueue_num is 1" in caplog.text
    for _ in range(2):
        assert run("LeakyRelu", [F([-10, 1])], {"alpha": 0.1})[0].tolist() == [-1, 1]
        run("Neg", [F([1])])

    counts = run.device.op_cache
    assert (counts.static_fixed, counts.fixed) == (1, 0)
    assert (counts.hits, counts.misses) == (2, 2)


def test_loaded_operator_of_dynamic_shape_serves_those_that_fit(execute, tmp_path):
    """A dimension that the file fixes stays fixed."""
    run = execute()
    run.device.load_op(save_op(tmp_path / "neg.onnx", "Neg", ["n", 2]))
    run("Neg", [F(np.ones((5, 2)))])
    run("Neg", [F(np.ones((7, 2)))], is_dynamic=True)
    assert run.device.op_cache.hits == 2
    run("Neg", [F(np.ones((5, 3)))])
    counts = run.device.op_cache
    assert (counts.static_dynamic, counts.fixed, counts.misses) == (1, 1, 1)


def test_file_that_is_no_single_operator_is_refused(execute, tmp_path):
    """A missing file is 100003, anything else 100025."""
    device = execute().device
    with pytest.raises(DeviceError, match=r"can't read.*none\.onnx") as caught:
        device.load_op(tmp_path / "none.onnx")

    assert caught.value.code is AclCode.INVALID_FILE
    text = tmp_path / "text.onnx"
    text.write_bytes(b"\xffno model")
    two = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])] * 2, "g", [], [])
    onnx.save(helper.make_model(two), tmp_path / "two.onnx")
    for name, words in (("text.onnx", "no usable model"), ("two.onnx", "2 operators")):
        with pytest.raises(DeviceError, match=words) as caught:
            device.load_op(tmp_path / name)

        assert caught.value.code is AclCode.OP_LOAD_FAILED


def test_thread_without_a_context_is_refused(execute, in_thread, tmp_path):
    """As by every call of a device (107002)."""
    run = execute()
    with pytest.raises(NoContextError):
        in_thread(lambda: run("Neg", [F([1])]))

    with pytest.raises(NoContextError):
        in_thread(lambda: run.device.load_op(tmp_path / "x.onnx"))


def test_closed_device_keeps_no_operator(execute):
    """What was compiled goes with it."""
    run = execute()
    run("Neg", [F([1])])
    run.device.close()
    assert run.device.op_cache.fixed == 0
    with pytest.raises(DeviceError, match="was closed"):
        run("Neg", [F([1])])


def test_newest_version_is_one_that_the_engine_takes():
    """Known to ONNX, too."""
    assert 17 <= opmodel.newest_opset() <= onnx.defs.onnx_opset_version()
