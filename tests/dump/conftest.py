"""A second decoder of dump files, made by protoc, and sessions that dump."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from pathlib import Path

import onnx
import onnxruntime
import pytest

from aclasync import acl_session
from aclasync.dump import find_dumps, read_dump
from aclasync.testing import fresh_runtime

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.fixture(scope="session")
def proto(tmp_path_factory):
    """Return the classes that protoc makes of `dump_data.proto`."""
    folder = tmp_path_factory.mktemp("proto")
    source = Path(__file__).parent
    arguments = [f"-I{source}", f"--python_out={folder}", "dump_data.proto"]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *arguments], check=True)
    spec = importlib.util.spec_from_file_location("dump_data_pb2", folder / "dump_data_pb2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def decode(proto):
    """Decode a dump file with the other decoder: the message, and every tensor's bytes."""

    def run(path):
        content = path.read_bytes()
        length = int.from_bytes(content[:8], "little")
        message = proto.DumpData.FromString(content[8 : 8 + length])
        rest = content[8 + length :]
        payload = []
        for entry in (*message.input, *message.output, *message.buffer, *message.space):
            payload.append(rest[: entry.size])
            rest = rest[entry.size :]

        assert not rest
        return message, payload

    return run


@pytest.fixture
def dump_folder(tmp_path):
    folder = tmp_path / "dumps"
    folder.mkdir()
    return folder


@pytest.fixture
def run_dumping(dump_folder):
    """Run a model in a session of its own, its dump as the keys say; return the outputs."""

    async def run(model, *feeds, **keys):
        keys = {"dump_path": str(dump_folder), **keys}
        with fresh_runtime():
            async with (
                acl_session({"dump": keys}) as session,
                session.open_device() as device,
                device.load_model(model) as loaded,
            ):
                return [await loaded.execute(feed) for feed in feeds]

    return run


@pytest.fixture
def run_plain():
    """Run a model in a session that dumps nothing; return the outputs."""

    async def run(model, *feeds):
        with fresh_runtime():
            async with (
                acl_session() as session,
                session.open_device() as device,
                device.load_model(model) as loaded,
            ):
                return [await loaded.execute(feed) for feed in feeds]

    return run


@pytest.fixture
def files(dump_folder):
    """Return all dump files so far, read, by step and operator."""

    def read():
        found = {}
        for entry in find_dumps(dump_folder):
            file = read_dump(entry.path, name=entry.file_name)
            key = (entry.step, file.op_name)
            assert key not in found
            found[key] = file

        return found

    return read


@pytest.fixture
def engine():
    """Run a model with bare ONNX Runtime, every tensor of its main graph an output."""

    def run(path, feed):
        model = onnx.load(path)
        have = {value.name for value in model.graph.output}
        names = [name for node in model.graph.node for name in node.output if name]
        model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in have)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        fetched = [value.name for value in session.get_outputs()]
        return dict(zip(fetched, session.run(fetched, feed), strict=True))

    return run


@pytest.fixture
def save_model(tmp_path):
    """Save a model of these nodes; tensors are (name, element type, shape)."""

    def save(nodes, inputs, outputs, *, name="model", weights=(), domains=()):
        helper = onnx.helper
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info(*entry) for entry in inputs],
            [helper.make_tensor_value_info(*entry) for entry in outputs],
            initializer=list(weights),
        )
        imports = [helper.make_opsetid("", 21), *(helper.make_opsetid(d, 1) for d in domains)]
        path = tmp_path / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
        return path

    return save


@pytest.fixture
def said(caplog):
    """Return what the dump has logged, at a level or above."""
    caplog.set_level(logging.INFO, logger="aclasync.dump")

    def messages(level=logging.WARNING):
        return [
            record.getMessage()
            for record in caplog.records
            if record.name == "aclasync.dump" and record.levelno >= level
        ]

    return messages
