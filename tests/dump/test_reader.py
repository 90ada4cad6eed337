"""Reading what others wrote: real devices, and nobody who means well."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aclasync import AclCode, DumpError
from aclasync.dump import DataType, find_dumps, read_dump
from aclasync.dump.datatypes import dtype_of
from aclasync.dump.format import Operator, Tensor
from aclasync.dump.names import parse_file_name
from aclasync.dump.writer import DumpWriter

NAME = "Conv2D.conv1.3.7.1700000000123456"


def dump_bytes(message, *payload):
    header = message.SerializeToString()
    return len(header).to_bytes(8, "little") + header + b"".join(payload)


@pytest.fixture
def dump_file(tmp_path):
    def write(content, name=NAME):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def read_wholly(path):
    return [tensor.read() for tensor in read_dump(path).tensors]


def test_dump_of_a_device_is_read(proto, dump_file):
    """Addresses, offsets, sub-formats, buffers and workspaces are there and in nobody's way."""
    values = np.arange(32, dtype=np.float16)
    message = proto.DumpData(version="2.0", dump_time=17, op_name="conv1")
    entry = message.input.add(data_type=2, format=3, size=64, address=2**40, sub_format=1)
    entry.shape.dim.extend([1, 2, 1, 1, 16])
    entry.original_shape.dim.extend([1, 32, 1, 1])
    entry = message.output.add(data_type=27, format=29, size=8, offset=5, arg_index=4)
    entry.shape.dim.extend([2, 2])
    entry.original_op.name = "model/conv1/Conv2D"
    entry.original_op.output_index = 1
    entry.dim_range.add(dim_start=1, dim_end=2)
    message.buffer.add(size=3)
    message.space.add(size=2)
    brain = np.array([[1, 2], [3, 4]], ml_dtypes.bfloat16)
    content = dump_bytes(message, values.tobytes(), brain.tobytes(), b"buf", b"ws")

    file = read_dump(dump_file(content))
    assert (file.op_type, file.op_name, file.named.task_id) == ("Conv2D", "conv1", 3)
    assert (file.named.stream_id, file.time_us) == (7, 17)
    assert file.inputs[0].format_name == "NC1HWC0"
    assert file.inputs[0].original_shape == (1, 32, 1, 1)
    assert file.inputs[0].array().tolist() == values.reshape(1, 2, 1, 1, 16).tolist()
    assert file.outputs[0].array().dtype == ml_dtypes.bfloat16
    assert file.outputs[0].array().astype(int).tolist() == [[1, 2], [3, 4]]
    assert (file.outputs[0].original_op, file.outputs[0].original_index) == (
        "model/conv1/Conv2D",
        1,
    )
    assert [bytes(tensor.raw()) for tensor in file.others] == [b"buf", b"ws"]


@pytest.mark.parametrize("number", [*range(43), 99, -1])
def test_every_type_number_is_read(proto, dump_file, number):
    """As what numpy or ml_dtypes has for it, or as raw bytes, which is said."""
    message = proto.DumpData(version="2.0")
    message.output.add(data_type=number, size=48).shape.dim.extend([3])
    array, note = read_dump(dump_file(dump_bytes(message, bytes(48)))).outputs[0].read()
    dtype = dtype_of(number)
    if number == DataType.STRING:
        assert array.tolist() == ["", "", ""]
    elif dtype is None:
        assert array.dtype == np.uint8
        assert array.shape == (48,)
        assert "raw bytes" in note
    else:
        assert (array.dtype, array.shape) == (dtype, (3,))


def test_padding_behind_a_tensor_is_left_out_and_said(proto, dump_file):
    """Devices round sizes up."""
    message = proto.DumpData()
    message.output.add(data_type=1, size=64).shape.dim.extend([3])
    content = np.array([1, 2, 3], np.float32).tobytes() + bytes(52)
    array, note = read_dump(dump_file(dump_bytes(message, content))).outputs[0].read()
    assert array.tolist() == [1, 2, 3]
    assert note == "52 bytes of padding left out"


def test_tensor_with_too_few_bytes_comes_as_a_row(proto, dump_file):
    """What is there is given, with the reason why it has no shape."""
    message = proto.DumpData()
    message.output.add(data_type=1, size=10).shape.dim.extend([2**62, 2**62])
    array, note = read_dump(dump_file(dump_bytes(message, bytes(10)))).outputs[0].read()
    assert array.shape == (2,)
    assert "elements in a row" in note


def test_more_axes_than_numpy_has_are_no_crash(proto, dump_file):
    """Seventy axes of one element are one element."""
    message = proto.DumpData()
    message.output.add(data_type=1, size=4).shape.dim.extend([1] * 70)
    array, note = read_dump(dump_file(dump_bytes(message, bytes(4)))).outputs[0].read()
    assert array.shape == (1,)
    assert "70 axes" in note


def test_strings_that_point_outside_come_as_bytes(proto, dump_file):
    """A device's string tensor holds its own addresses."""
    message = proto.DumpData()
    message.output.add(data_type=13, size=16).shape.dim.extend([1])
    head = (2**40).to_bytes(8, "little") + (5).to_bytes(8, "little")
    array, note = read_dump(dump_file(dump_bytes(message, head))).outputs[0].read()
    assert bytes(array) == head
    assert "raw bytes" in note


@pytest.mark.parametrize("length", [2**60, 2**64 - 1, 9, 100])
def test_header_that_claims_more_than_there_is(dump_file, length):
    """The claim is refused before anything is read or reserved for it."""
    path = dump_file(length.to_bytes(8, "little") + b"\x0a\x032.0xx"[:8])
    with pytest.raises(DumpError, match=f"claims {length} bytes") as caught:
        read_dump(path)

    assert caught.value.code is AclCode.PARSE_FILE
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("size", [2**60, 2**64 - 1, 11])
def test_tensor_that_claims_more_than_there_is(proto, dump_file, size):
    """So is that of a tensor, with its place."""
    message = proto.DumpData()
    message.input.add(data_type=1, size=4)
    message.output.add(data_type=1, size=size)
    with pytest.raises(DumpError, match=f"output 0 claims {size} bytes, 6 are left"):
        read_dump(dump_file(dump_bytes(message, bytes(10))))


def test_every_truncation_is_an_error(dump_folder, tmp_path):
    """A file cut off anywhere is refused, and never read as something smaller."""
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    operator = Operator(op_type="Relu", name="r", inputs=[Tensor(array)], outputs=[Tensor(array)])
    content = DumpWriter(dump_folder, "t").write(operator, "0").read_bytes()
    path = tmp_path / NAME
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(DumpError):
            read_wholly(path)

    path.write_bytes(content)
    assert len(read_wholly(path)) == 2


@given(st.binary(max_size=300), st.booleans())
def test_garbage_is_an_error_or_a_dump(tmp_path_factory, content, has_length):
    """Random bytes raise nothing but our error."""
    path = tmp_path_factory.mktemp("garbage") / NAME
    front = len(content).to_bytes(8, "little") if has_length else b""
    path.write_bytes(front + content)
    try:
        read_wholly(path)
    except DumpError as error:
        assert error.code in (AclCode.PARSE_FILE, AclCode.INVALID_FILE)


def test_flipped_bits_are_an_error_or_a_dump(dump_folder, tmp_path):
    """A file that rotted on a disk raises nothing but our error."""
    array = np.arange(12, dtype=np.float32)
    operator = Operator(op_type="Relu", name="r", inputs=[Tensor(array)], outputs=[Tensor(array)])
    content = DumpWriter(dump_folder, "t").write(operator, "0").read_bytes()
    dice = random.Random(7)
    path = tmp_path / NAME
    for _ in range(500):
        rotten = bytearray(content)
        for _ in range(dice.randint(1, 4)):
            rotten[dice.randrange(len(rotten))] ^= 1 << dice.randrange(8)

        path.write_bytes(rotten)
        with contextlib.suppress(DumpError):
            read_wholly(path)


BOMB = """
import resource, sys
from pathlib import Path
from aclasync import DumpError
from aclasync.dump import read_dump
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    read_dump(Path(sys.argv[1]))
except DumpError as error:
    print(error)
"""


@pytest.mark.parametrize("field", ["input", "dim_range", "nested"])
def test_bomb_is_refused_in_bounded_memory(dump_file, field):
    """Megabytes that would become gigabytes of messages are refused, in a process of 2 GB."""
    count = 20_000_000
    body = {
        "input": b"\x22\x00" * count,
        "dim_range": b"\x52\x00" * count,
        "nested": b"\x0b" * (2 * count),
    }[field]
    path = dump_file(len(body).to_bytes(8, "little") + body)
    done = subprocess.run(
        [sys.executable, "-c", BOMB, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "its header claims" in done.stdout


def test_header_of_many_tensors_is_refused(proto, dump_file):
    """No operator has so many."""
    body = b"\x22\x00" * 70_000
    with pytest.raises(DumpError, match="70000 tensors"):
        read_dump(dump_file(len(body).to_bytes(8, "little") + body))


@pytest.mark.parametrize("kind", ["missing", "folder", "empty"])
def test_what_is_no_file_is_named(tmp_path, kind):
    """The path and the reason."""
    path = tmp_path / NAME
    if kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.touch()

    with pytest.raises(DumpError, match=NAME.replace(".", r"\.")):
        read_dump(path)


def test_names_that_were_too_long_are_found_again(dump_folder):
    """By the folder's mapping.csv, comma and all."""
    array = np.ones(2, np.float32)
    name = "a," + "x" * 300
    operator = Operator(op_type="Relu", name=name, task_id=4, outputs=[Tensor(array)])
    path = DumpWriter(dump_folder, "t").write(operator, "0", "m", "1", "2")
    assert path.name.isdecimal()
    (entry,) = find_dumps(dump_folder)
    assert entry.path == path
    assert entry.named.op_name == name
    assert (entry.named.task_id, entry.step, entry.model) == (4, 2, "m")
    assert read_dump(path).op_type == "Relu"
    assert (path.parent / "mapping.csv").stat().st_mode & 0o777 == 0o600


def test_mapping_of_a_stranger_is_harmless(tmp_path):
    """A name with folders in it is a name, and lines that say nothing are passed over."""
    (tmp_path / "mapping.csv").write_bytes(b"12,../../Relu.r.1.2.3\n\xff\xfe\n,\n13\n")
    (tmp_path / "12").write_bytes(bytes(8))
    assert [entry.path.name for entry in find_dumps(tmp_path)] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Relu.relu_1.3.0.1700000000123456", ("Relu", "relu_1", 3, 0, False, False)),
        ("Relu.relu_1.3.0.1700000000123456.csv", ("Relu", "relu_1", 3, 0, True, False)),
        ("Relu.relu_1.3.0.1700000000123456.4.1.2.0", ("Relu", "relu_1", 3, 0, False, False)),
        ("Relu.relu_1.3.20260101120000123", ("Relu", "relu_1", 3, 0, False, True)),
        ("exception_info.5.3.20260101120000123", ("", "", 3, 5, False, True)),
    ],
)
def test_names_of_the_format_are_understood(name, expected):
    """Model dumps, statistics, FFTS+ tasks and exceptions."""
    named = parse_file_name(name)
    assert named is not None
    found = (named.op_type, named.op_name, named.task_id, named.stream_id)
    assert (*found, named.is_stats, named.is_exception) == expected


@pytest.mark.parametrize("name", ["mapping.csv", "model.onnx", "a.b.c.d.e", "1.2.3", ""])
def test_other_files_are_no_dumps(name):
    """They are passed over."""
    assert parse_file_name(name) is None


def test_unreadable_file_is_named(dump_file):
    """With what the system says."""
    path = dump_file(b"x") / NAME
    with pytest.raises(DumpError, match="Not a directory") as caught:
        read_dump(path)

    assert caught.value.code is AclCode.INVALID_FILE
