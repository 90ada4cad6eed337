"""The binary file: what is written is read back bit by bit, by us and by another decoder."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aclasync.dump.datatypes import DataType, data_type_of, dtype_of
from aclasync.dump.format import Operator, Tensor, from_bytes, to_bytes
from aclasync.dump.reader import read_dump
from aclasync.dump.writer import DumpWriter

HELD = [number for number in DataType if dtype_of(number) is not None]


def bits_of(array):
    return array.tobytes()


@pytest.mark.parametrize("number", HELD, ids=lambda number: number.name)
def test_every_type_that_is_held_survives_the_way_through_bytes(number):
    """All values that a byte or two can say come back as they were, packed or not."""
    dtype = dtype_of(number)
    codes = np.arange(256, dtype=np.uint16).astype(np.uint8)
    raw = np.resize(codes, 240 * dtype.itemsize)
    array = raw.view(dtype)
    if dtype.itemsize == 1 and dtype.kind in "Vb":
        array = (np.arange(240) % 2).astype(dtype)

    array = array.reshape(4, 60)
    back, note = from_bytes(np.frombuffer(to_bytes(array), np.uint8), number, array.shape)
    assert note == ""
    assert back.dtype == dtype
    assert bits_of(back) == bits_of(array)


def test_small_types_share_bytes_the_lowest_bits_first():
    """Two 4-bit integers are one byte; the first is in its lower half."""
    array = np.array([1, -2, 7, -8, 5], ml_dtypes.int4)
    content = bytes(to_bytes(array))
    assert content == bytes([0xE1, 0x87, 0x05])
    back, _ = from_bytes(np.frombuffer(content, np.uint8), DataType.INT4, (5,))
    assert back.astype(int).tolist() == [1, -2, 7, -8, 5]


@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.int64, np.bool_, np.float16, np.complex64]),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
    )
)
def test_any_array_survives(array):
    """Scalars, empty ones and views alike."""
    for given_array in (array, array.T, array[..., :1] if array.ndim else array):
        content = np.frombuffer(to_bytes(given_array), np.uint8)
        back, note = from_bytes(content, data_type_of(given_array), given_array.shape)
        assert note == ""
        assert back.shape == given_array.shape
        assert bits_of(back) == given_array.tobytes()


@given(st.lists(st.text(st.characters(codec="utf-8"))), st.booleans())
def test_strings_survive(texts, is_row):
    """Whatever they hold, in any shape."""
    array = np.array(texts, object)
    array = array.reshape(1, -1) if is_row else array
    content = np.frombuffer(to_bytes(array), np.uint8)
    back, note = from_bytes(content, DataType.STRING, array.shape)
    assert note == ""
    assert back.tolist() == array.tolist()


def test_file_is_what_another_decoder_reads(dump_folder, decode):
    """Every field that is set means the same to the classes that protoc makes."""
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.array(7, ml_dtypes.bfloat16)
    c = np.zeros((0, 4), np.int64)
    operator = Operator(
        op_type="Mystery",
        name="block/1.op",
        task_id=3,
        stream_id=2,
        inputs=[Tensor(a, 0, "a"), Tensor(b, 2, "b")],
        outputs=[Tensor(c, 1, "c")],
        attributes={"axis": "1"},
    )
    path = DumpWriter(dump_folder, "now").write(operator, "0")
    message, payload = decode(path)
    assert payload == [a.tobytes(), b.tobytes(), b""]
    assert (message.version, message.op_name) == ("2.0", "block/1.op")
    assert [entry.data_type for entry in message.input] == [DataType.FLOAT, DataType.BF16]
    assert [list(entry.shape.dim) for entry in message.input] == [[2, 3], []]
    assert [entry.arg_index for entry in message.input] == [0, 2]
    assert [list(entry.shape.dim) for entry in message.output] == [[0, 4]]
    assert message.output[0].original_op.name == "block/1.op"
    assert message.output[0].original_op.output_index == 1
    assert {entry.name: entry.value for entry in message.attr} == {
        "axis": "1",
        "input_names": '["a", "b"]',
        "output_names": '["c"]',
    }
    assert path.name.startswith("Mystery.block_1_op.3.2.")
    assert abs(message.dump_time - path.stat().st_mtime_ns // 1000) < 60_000_000

    file = read_dump(path)
    assert [tensor.name for tensor in file.tensors] == ["a", "b", "c"]
    assert [bits_of(tensor.array()) for tensor in file.tensors] == payload
    assert file.left_over == 0


def test_big_endian_arrays_are_turned_round(dump_folder):
    """What lies the other way round in memory means the same in the file."""
    array = np.array([1.5, -2.25], ">f4")
    path = DumpWriter(dump_folder, "now").write(
        Operator(op_type="Op", name="op", outputs=[Tensor(array)]), "0"
    )
    assert read_dump(path).outputs[0].array().tolist() == [1.5, -2.25]
