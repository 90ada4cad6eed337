"""What a model takes for an input, and what is refused with which words."""

from __future__ import annotations

import pytest

from aclasync.backends.base import TensorSpec
from aclasync.errors import AclCode, DeviceError

np = pytest.importorskip("numpy")

from aclasync.backends.embedded.tensors import fit_inputs  # noqa: E402 (needs numpy)


def fit(value, dtype, shape=()):
    return fit_inputs([TensorSpec("x", dtype, shape)], {"x": value}, model="m.onnx")["x"]


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([0.5, 2], "float32", [0.5, 2.0]),
        ([0.1], "float64", [0.1]),
        ([0.1], "float32", [float(np.float32(0.1))]),
        ([2**30], "float32", [2.0**30]),
        (3, "float16", 3.0),
        ([1, 2**63], "uint64", [1, 2**63]),
        ([-(2**63)], "int64", [-(2**63)]),
        ((True, False), "bool", [True, False]),
        ([], "int32", []),
        (["温", "b\0c"], "str", ["温", "b\0c"]),
        ([np.int64(3)], "int64", [3]),
        (np.arange(3), "int64", [0, 1, 2]),
        (np.float32(1), "float32", 1.0),
        (np.array(["a", "bc"]), "str", ["a", "bc"]),
    ],
)
def test_values_of_the_declared_type_are_taken(value, dtype, expected):
    """Arrays of the type, and plain values that are of it."""
    array = fit(value, dtype)
    assert array.tolist() == expected
    assert array.dtype == (object if dtype == "str" else dtype)


@pytest.mark.parametrize("value", [[float("inf"), -float("inf")], [float("nan")]])
def test_infinity_and_nan_are_floats(value):
    """They are refused only where a cast would make them."""
    assert not np.isfinite(fit(value, "float16")).any()


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        (np.zeros(2), "float32", "expected float32, got float64 [2]"),
        (np.zeros(2, ">f4"), "float32", "got >f4 [2]"),
        (np.float64(1), "float32", "got float64 []"),
        ([np.float64(1)], "float32", "values of type float64"),
        ([np.zeros(2)], "float32", "a sequence of float64 arrays"),
        ([1.0], "int64", "values of type float"),
        ([True], "int64", "values of type bool"),
        ([1], "bool", "values of type int"),
        (["1"], "int64", "values of type str"),
        (["a", 1], "str", "values of type int"),
        (np.array(["a", 1], object), "str", "more than strings"),
        ([None], "float32", "values of type NoneType"),
        ([1 + 2j], "float32", "values of type complex"),
        ([[1, 2], [3]], "int64", "values of type list"),
        ([1e300], "float32", "a value that float32 can't hold"),
        ([10**400], "float64", "a value that float64 can't hold"),
        ([256], "uint8", "a value that uint8 can't hold"),
        ([-1], "uint64", "a value that uint64 can't hold"),
        ([2**24 + 1], "float32", "the integer 16777217"),
        ([0.5, 2**53 + 1], "float64", "the integer 9007199254740993"),
        ({}, "float32", "dict, which is no array"),
        (b"ab", "uint8", "bytes, which is no array"),
        (None, "float32", "NoneType, which is no array"),
    ],
)
def test_nothing_is_cast_to_fit(value, dtype, words):
    """What would change on its way to the device is refused, saying what was expected and got."""
    with pytest.raises(DeviceError) as caught:
        fit(value, dtype)

    assert caught.value.code is AclCode.MODEL_INPUT_NOT_MATCH
    assert words in caught.value.detail
    assert "'x'" in caught.value.detail


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((2, 3), (2, 3)), ((2, 3), ("batch", 3)), ((0, 3), (None, 3)), ((7,), ("n",)), ((), ())],
)
def test_dynamic_dimensions_take_any_size(shape, expected):
    """Only declared sizes bind."""
    assert fit(np.zeros(shape, np.float32), "float32", expected).shape == shape


@pytest.mark.parametrize("shape", [(3,), (1, 2, 3), (2, 4), (2,), ()])
def test_wrong_rank_or_size_is_named(shape):
    """Both shapes are in the message."""
    got = ", ".join(map(str, shape))
    with pytest.raises(DeviceError) as caught:
        fit(np.zeros(shape, np.float32), "float32", ("batch", 3))

    assert f"expected float32 [batch, 3], got float32 [{got}]" in caught.value.detail


def test_every_fault_is_named_at_once():
    """A missing, an unknown and a wrong input come in one message."""
    specs = [TensorSpec("a", "float32", (1,)), TensorSpec("b", "int64", (None,))]
    with pytest.raises(DeviceError) as caught:
        fit_inputs(specs, {"b": [0.5], "c": [1]}, model="m.onnx")

    detail = caught.value.detail
    assert "input 'a' is missing, expected float32 [1]" in detail
    assert "input 'b': expected int64 [?]" in detail
    assert "unknown input 'c', expected 'a', 'b'" in detail


def test_inputs_are_a_mapping():
    """A bare array has no name to go by."""
    with pytest.raises(DeviceError, match="expected a mapping of names to arrays, got list"):
        fit_inputs([], [1], model="m.onnx")


@pytest.mark.parametrize("dtype", ["bfloat16", "seq(tensor(float))"])
def test_inputs_that_no_array_can_hold_have_a_code_of_their_own(dtype):
    """It is the model that asks for the impossible, not the caller who gives the wrong thing."""
    with pytest.raises(DeviceError, match="can't be given") as caught:
        fit([1.0], dtype)

    assert caught.value.code is AclCode.UNSUPPORTED_DATA_TYPE
