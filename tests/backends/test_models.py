"""Models that are loaded, run and unloaded on the embedded device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aclasync.errors import AclCode, DeviceError, NoContextError

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def save_model(path, nodes, inputs, outputs):
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "tiny", [value(*entry) for entry in inputs], [value(*entry) for entry in outputs]
    )
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return path


@pytest.fixture
def sum_model(tmp_path):
    node = onnx.helper.make_node("Add", ["a", "b"], ["sum"])
    vector = ["batch", 2]
    return save_model(
        tmp_path / "sum.onnx",
        [node],
        [("a", FLOAT, vector), ("b", FLOAT, [2])],
        [("sum", FLOAT, vector)],
    )


@pytest.fixture
def failing_model(tmp_path):
    node = onnx.helper.make_node("ConstantOfShape", ["shape"], ["filled"])
    return save_model(
        tmp_path / "fill.onnx", [node], [("shape", INT64, [1])], [("filled", FLOAT, ["n"])]
    )


@pytest.fixture
def device(open_embedded):
    return open_embedded().open_device(0)


def test_model_says_what_it_takes_and_gives(device, sum_model):
    """Names, types by numpy's names, and shapes with their dynamic dimensions."""
    model = device.load_model(sum_model)
    assert [(spec.name, spec.dtype, spec.shape) for spec in model.inputs] == [
        ("a", "float32", ("batch", 2)),
        ("b", "float32", (2,)),
    ]
    assert [(spec.name, spec.dtype, spec.shape) for spec in model.outputs] == [
        ("sum", "float32", ("batch", 2))
    ]


def test_run_returns_every_output_by_name(device, sum_model):
    """Arrays and plain lists go in, arrays come out."""
    model = device.load_model(sum_model)
    outputs = model.execute({"a": np.array([[1, 2], [3, 4]], np.float32), "b": [10, 20]})
    assert list(outputs) == ["sum"]
    assert outputs["sum"].tolist() == [[11, 22], [13, 24]]
    assert outputs["sum"].dtype == np.float32


def test_arrays_with_gaps_are_read_right(device, sum_model):
    """A view with strides means what it shows."""
    model = device.load_model(sum_model)
    every_other = np.arange(8, dtype=np.float32).reshape(4, 2)[::2]
    assert model.execute({"a": every_other, "b": [0, 0]})["sum"].tolist() == [[0, 1], [4, 5]]


def test_wrong_input_never_reaches_the_engine(device, sum_model):
    """The model's file, the input and both types are named (100017)."""
    model = device.load_model(sum_model)
    with pytest.raises(DeviceError, match=r"sum\.onnx: input 'a'.*float64") as caught:
        model.execute({"a": np.zeros((1, 2)), "b": [0, 0]})

    assert caught.value.code is AclCode.MODEL_INPUT_NOT_MATCH


def test_failing_run_carries_the_engine_s_words(device, failing_model):
    """A run that fails says why, keeps its cause, and leaves the model usable (500001)."""
    model = device.load_model(failing_model)
    with pytest.raises(DeviceError, match="ConstantOfShape") as caught:
        model.execute({"shape": [-1]})

    assert caught.value.code is AclCode.FAILURE
    assert caught.value.__cause__ is not None
    assert model.execute({"shape": [3]})["filled"].tolist() == [0, 0, 0]


def test_text_the_engine_can_not_encode_is_a_failed_run(device, tmp_path):
    """A lone surrogate is an error of the run, not of Python's encoder."""
    text = onnx.TensorProto.STRING
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    path = save_model(tmp_path / "text.onnx", [node], [("x", text, [1])], [("y", text, [1])])
    model = device.load_model(path)
    assert model.execute({"x": ["温"]})["y"].tolist() == ["温"]
    with pytest.raises(DeviceError, match="surrogates"):
        model.execute({"x": ["\ud800"]})


@pytest.mark.parametrize("name", ["missing.onnx", "x" * 300, "nul\0.onnx"])
def test_missing_file_is_named(device, tmp_path, name):
    """A path that is no readable file is 100003, with the path."""
    with pytest.raises(DeviceError, match="can't read the model") as caught:
        device.load_model(tmp_path / name)

    assert caught.value.code is AclCode.INVALID_FILE
    assert caught.value.__cause__ is not None


def test_folder_or_pipe_is_no_model_and_is_not_waited_for(device, tmp_path):
    """What would block a reader is refused unread."""
    os.mkfifo(tmp_path / "pipe.onnx")
    for path in (tmp_path, tmp_path / "pipe.onnx"):
        with pytest.raises(DeviceError, match="not a regular file") as caught:
            device.load_model(path)

        assert caught.value.code is AclCode.INVALID_FILE


@pytest.mark.parametrize("content", [b"", b"garbage" * 100, b"\0" * 64])
def test_broken_file_is_no_model(device, tmp_path, content):
    """A file that is no model is 100013, with the path and the engine's words."""
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(DeviceError, match=r"broken\.onnx") as caught:
        device.load_model(path)

    assert caught.value.code is AclCode.PARSE_MODEL
    assert device.models == ()


def test_run_on_a_thread_without_context_is_refused(device, sum_model, in_thread):
    """The classic of serving frameworks: a pool's thread that was never bound (107002)."""
    model = device.load_model(sum_model)
    with pytest.raises(NoContextError, match="'pool-1'") as caught:
        in_thread(lambda: model.execute({}), name="pool-1")

    assert caught.value.code is AclCode.RT_CONTEXT_NULL
    with pytest.raises(NoContextError):
        in_thread(lambda: device.load_model(sum_model))


def test_bound_threads_run_models(device, sum_model, in_thread):
    """A pool whose threads bind themselves works, and each gives the context back."""
    model = device.load_model(sum_model)

    def work():
        device.bind_thread()
        try:
            return model.execute({"a": [[1.0, 2.0]], "b": [1, 1]})["sum"].tolist()
        finally:
            device.unbind_thread()

    assert in_thread(work) == [[2, 3]]


def test_other_device_s_context_is_not_enough(open_embedded, sum_model):
    """Work for device 0 on a thread whose current device is 1 is refused (107004)."""
    backend = open_embedded(devices=2)
    first = backend.open_device(0)
    model = first.load_model(sum_model)
    second = backend.open_device(1)
    with pytest.raises(DeviceError, match=r"context of device 1.*for device 0") as caught:
        model.execute({"a": [[0.0, 0.0]], "b": [0, 0]})

    assert caught.value.code is AclCode.RT_MODEL_CONTEXT
    second.close()
    model.execute({"a": [[0.0, 0.0]], "b": [0, 0]})


def test_unloaded_model_can_not_run(device, sum_model):
    """Unloading twice is fine, running afterwards is 100011."""
    model = device.load_model(sum_model)
    model.close()
    model.close()
    assert device.models == ()
    with pytest.raises(DeviceError, match=r"sum\.onnx was unloaded") as caught:
        model.execute({"a": [[0.0, 0.0]], "b": [0, 0]})

    assert caught.value.code is AclCode.INVALID_MODEL_ID


def test_closing_the_device_unloads_its_models(device, sum_model):
    """What was loaded goes with the handle, and says so when used."""
    models = [device.load_model(sum_model) for _ in range(3)]
    device.close()
    assert device.models == ()
    for model in models:
        with pytest.raises(DeviceError, match="device 0 was closed"):
            model.execute({})

    with pytest.raises(DeviceError, match="device 0 was closed"):
        device.load_model(sum_model)


def test_without_onnx_runtime_the_error_says_what_to_install(sum_model):
    """In a process where the engine can't be imported, loading names the extra to install."""
    code = """
import pathlib, sys
sys.modules["onnxruntime"] = None
from aclasync.backends.embedded.engine import load_model
from aclasync.errors import BackendUnavailableError
try:
    load_model(pathlib.Path(sys.argv[1]), require=str, closed=str)
except BackendUnavailableError as exc:
    print(exc)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(sum_model)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert 'pip install "aclasync[embedded]"' in done.stdout
    assert "onnxruntime" in done.stdout
