"""Bytes to requests, answers to bytes: what is right comes through, what is wrong is told."""

from __future__ import annotations

import contextlib
import gzip
import json
import zlib

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aclasync import TensorSpec
from aclasync.serving import BadRequestError, EncodingError, ServingError, TooLargeError
from aclasync.serving.datatypes import DTYPES, from_bytes, from_json, to_bytes, to_json
from aclasync.serving.protocol import decompressed, infer_body, parse_infer

X = TensorSpec("x", "float32", ("n", 2))
N = TensorSpec("n", "int8", (None,))
OUTPUTS = (TensorSpec("y", "float32", ("n", 2)), TensorSpec("z", "str", ("n",)))


def request(**changes: object) -> dict[str, object]:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1.5, 2]} | changes
    return {"inputs": [{key: value for key, value in tensor.items() if value is not None}]}


def parse(body: object, raw: bytes = b"", *, header: str | None = None, specs=(X,)):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    header = str(len(text)) if header is None and raw else header
    return parse_infer(text + raw, header, specs, OUTPUTS)


def test_nested_and_flat_data_are_the_same() -> None:
    """The protocol has both."""
    for data in ([1.5, 2], [[1.5, 2]]):
        parsed = parse(request(data=data))
        np.testing.assert_array_equal(parsed.inputs["x"], np.array([[1.5, 2]], np.float32))
        assert parsed.inputs["x"].dtype == np.float32


def test_all_outputs_are_given_unless_some_are_asked_for() -> None:
    """Each in the form that was asked for, as JSON otherwise."""
    assert [(w.name, w.is_binary) for w in parse(request()).outputs] == [("y", False), ("z", False)]
    asked = request() | {
        "outputs": [{"name": "z"}, {"name": "y", "parameters": {"binary_data": False}}],
        "parameters": {"binary_data_output": True},
    }
    assert [(w.name, w.is_binary) for w in parse(asked).outputs] == [("z", True), ("y", False)]


def test_an_id_and_a_timeout_are_kept() -> None:
    """The timeout comes in microseconds."""
    parsed = parse(request() | {"id": "a7", "parameters": {"timeout": 1500}})
    assert (parsed.id, parsed.timeout) == ("a7", 0.0015)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[]", "must be a JSON object, not list"),
        ({}, "no inputs"),
        ({"inputs": {}}, "inputs must be a list"),
        ({"inputs": [1]}, r"inputs\[0\] must be an object with a name"),
        ({"inputs": []}, r"input 'x' is missing, expected FP32 \[-1, 2\]"),
        (request(name="q"), "unknown input 'q', expected 'x'"),
        ({"inputs": request()["inputs"] * 2}, "input 'x' is given twice"),
        (request(datatype="FP64"), "input 'x': expected datatype FP32, got 'FP64'"),
        (request(shape=[1, 3]), r"input 'x': expected shape \[-1, 2\], got \[1, 3\]"),
        (request(shape=[1]), r"expected shape \[-1, 2\], got \[1\]"),
        (request(shape=[-1, 2]), "shape must be a list of sizes"),
        (request(shape=[True, 2]), "shape must be a list of sizes"),
        (request(shape=[2**62, 2]), "shape must be a list of sizes"),
        (request(shape="12"), "shape must be a list of sizes"),
        (request(shape=None), "shape must be a list of sizes"),
        (request(data=None), "neither data nor the parameter binary_data_size"),
        (request(data=[1]), r"data has 1 values, but shape \[1, 2\] has 2"),
        (request(data=[[1], [2]]), r"data is nested as \[2, 1\], but shape says \[1, 2\]"),
        (request(data=[[1, 2], [3]]), "rows differ in length"),
        (request(data=["1", "2"]), "data holds strings, which is no FP32"),
        (request(data=[1, "2"]), "data holds integers and strings, which is no FP32"),
        (request(data=[1, None]), "data holds integers and null"),
        (request(data=[True, False]), "data holds booleans"),
        (request(data=[1, 1e39]), "a number beyond what FP32 can hold"),
        (request(data={}), "data must be a list, not dict"),
        (request() | {"id": 7}, "id must be a string"),
        (request() | {"parameters": []}, "parameters of the request must be an object"),
        (request() | {"parameters": {"timeout": -1}}, "timeout must be microseconds"),
        (request() | {"parameters": {"sequence_id": 4}}, "sequences are not offered"),
        (request() | {"parameters": {"binary_data_output": 1}}, "must be true or false, not 1"),
        (request() | {"outputs": [{"name": "q"}]}, "unknown output 'q', expected 'y', 'z'"),
        (request() | {"outputs": [{"name": "y", "parameters": {"classification": 3}}]},
         "output 'y': classification is not offered"),
        (request(parameters={"shared_memory_region": "r"}), "shared memory is not offered"),
        (request(parameters={"binary_data_size": 8}), "both data and the parameter"),
        (request(data=None, parameters={"binary_data_size": 8}), "is 8, but 0 bytes are left"),
        (request(data=None, parameters={"binary_data_size": -1}), "is -1, but 0 bytes are left"),
        (request(data=None, parameters={"binary_data_size": 2**70}), "bytes are left"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(body: object, said: str) -> None:
    """Which input, and why."""
    with pytest.raises(BadRequestError, match=said):
        parse(body)


@pytest.mark.parametrize(
    ("data", "said"),
    [([1.0, 2.5], "floats"), ([128], "holds 128, and INT8 goes from -128 to 127"),
     ([-129, 3], "holds -129"), ([2**63], "holds 9223372036854775808"), ([2**70], "INT8")],
)  # fmt: skip
def test_integers_are_neither_cut_nor_wrapped(data: list[object], said: str) -> None:
    """A value that the type does not have is refused."""
    body = {"inputs": [{"name": "n", "datatype": "INT8", "shape": [len(data)], "data": data}]}
    with pytest.raises(BadRequestError, match=said):
        parse(body, specs=(N,))


def test_the_largest_integers_come_through_json_beside_small_ones() -> None:
    """No float in between."""
    values = [0, 1, 2**63 + 1, 2**64 - 1]
    assert from_json(values, "UINT64", [4]).tolist() == values
    with pytest.raises(ValueError, match="which is no UINT64"):
        from_json([-1, 2**64 - 1], "UINT64", [2])


@pytest.mark.parametrize(
    ("header", "raw", "said"),
    [
        ("-1", b"", "must be a length, not '-1'"),
        ("1_0", b"", "must be a length"),
        ("²", b"", "must be a length"),
        ("9" * 30, b"", "must be a length"),
        ("999999999999", b"", "but the body has"),
        (None, b"12345678tail", "12 bytes follow the JSON, but the inputs' .* add up to 8"),
        (None, b"1234", "is 8, but 4 bytes are left"),
    ],
)  # fmt: skip
def test_lengths_that_lie_are_refused(header: str | None, raw: bytes, said: str) -> None:
    """Before anything is read by them."""
    with pytest.raises(BadRequestError, match=said):
        parse(request(data=None, parameters={"binary_data_size": 8}), raw, header=header)


def test_binary_data_of_the_wrong_size_is_told_with_the_right_one() -> None:
    """Twelve bytes are three floats, not two."""
    with pytest.raises(BadRequestError, match=r"12 bytes of binary data, but FP32 \[1, 2\] has 8"):
        parse(request(data=None, parameters={"binary_data_size": 12}), bytes(12))


ARRAYS = st.sampled_from([d for d in DTYPES.values() if d.kind != "O"]).flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4),
        elements={"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else None,
    )
)
NAMES = {dtype: name for name, dtype in DTYPES.items()}


@given(ARRAYS)
def test_every_numeric_type_comes_back_from_bytes_and_json(array: np.ndarray) -> None:
    """Bit by bit, whatever the shape."""
    name = NAMES[array.dtype]
    raw = from_bytes(memoryview(to_bytes(array)), name, array.shape)
    np.testing.assert_array_equal(raw, array, strict=True)
    text = orjson.dumps(to_json(array), option=orjson.OPT_SERIALIZE_NUMPY)
    np.testing.assert_array_equal(
        from_json(orjson.loads(text), name, array.shape), array, strict=True
    )


@given(st.lists(st.text(), max_size=9))
def test_strings_come_back_from_bytes_and_json(texts: list[str]) -> None:
    """Empty ones, and those of other scripts."""
    array = np.empty(len(texts), object)
    array[:] = texts
    assert list(from_bytes(memoryview(to_bytes(array)), "BYTES", [len(texts)])) == texts
    assert list(from_json(to_json(array), "BYTES", [len(texts)])) == texts


@pytest.mark.parametrize(
    ("raw", "said"),
    [(b"\1\0\0", "within a length"), (b"\5\0\0\0ab", "within a string of 5 bytes"),
     (b"\xff\xff\xff\xff", "within a string of 4294967295"), (b"\1\0\0\0\xff", "no UTF-8"),
     (b"\1\0\0\0a" * 2, r"data has 2 values")],
)  # fmt: skip
def test_strings_that_are_none_are_refused(raw: bytes, said: str) -> None:
    """Huge lengths are looked at, never allocated."""
    with pytest.raises(ValueError, match=said):
        from_bytes(memoryview(raw), "BYTES", [1])


def test_a_bool_is_0_or_1() -> None:
    """Any other byte would be a truth that nobody sent."""
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        from_bytes(memoryview(b"\2"), "BOOL", [1])


def test_what_json_does_not_have_is_told_and_binary_has_it() -> None:
    """NaN is neither null nor lost."""
    y = {"y": np.array([[np.nan, np.inf]], np.float32), "z": np.array(["ß"], object)}
    with pytest.raises(BadRequestError, match="output 'y' holds NaN or infinity"):
        infer_body(parse(request()), y, model="m", version="1")

    body = infer_body(
        parse(request() | {"parameters": {"binary_data_output": True}, "id": "i"}), y,
        model="m", version="1",
    )  # fmt: skip
    head = orjson.loads(body.content[: body.header_length])
    assert [o["parameters"]["binary_data_size"] for o in head["outputs"]] == [8, 6]
    assert (head["id"], head["model_name"], head["model_version"]) == ("i", "m", "1")
    assert body.content[body.header_length :] == y["y"].tobytes() + b"\2\0\0\0" + "ß".encode()


def test_compressed_bodies_are_bounded() -> None:
    """A small body must not become a large one."""
    text = b"a" * 1000
    assert decompressed(gzip.compress(text), "gzip", limit=1000) == text
    assert decompressed(zlib.compress(text), "deflate", limit=1000) == text
    with pytest.raises(TooLargeError):
        decompressed(gzip.compress(text), "gzip", limit=999)

    with pytest.raises(BadRequestError, match="no gzip"):
        decompressed(text, "gzip", limit=1000)

    with pytest.raises(BadRequestError, match="ends within"):
        decompressed(gzip.compress(text)[:-9], "gzip", limit=1000)

    with pytest.raises(EncodingError, match="'br' is not known"):
        decompressed(text, "br", limit=1000)


@given(st.binary(max_size=200), st.one_of(st.none(), st.text(max_size=5)))
def test_no_body_makes_it_fail_otherwise(body: bytes, header: str | None) -> None:
    """Whatever is sent, the answer is a request or a reason."""
    with contextlib.suppress(ServingError):
        parse_infer(body, header, (X, N), OUTPUTS)


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(data=JSON, shape=JSON, parameters=JSON, datatype=st.sampled_from(["FP32", "INT8"]))
def test_no_tensor_makes_it_fail_otherwise(data, shape, parameters, datatype) -> None:
    """Values of any kind, in any nesting, in every member."""
    tensor = {"name": "x", "datatype": datatype, "shape": shape, "data": data}
    for one in (tensor, tensor | {"shape": [1, 2]}, tensor | {"parameters": parameters}):
        with contextlib.suppress(BadRequestError):
            parse({"inputs": [one]}, specs=(X,))
