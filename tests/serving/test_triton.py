"""The client that others wrote, as it comes, against the server as users start it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tritonclient.http as triton
import tritonclient.http.aio as triton_aio
from tritonclient.utils import InferenceServerException

from .models import TYPES, write_repository, write_scale
from .process import Server

DTYPES = {
    "FP16": np.float16, "FP32": np.float32, "FP64": np.float64, "BOOL": np.bool_,
    "BYTES": np.object_,
    **{f"{s}INT{b}": np.dtype(f"{s.lower()}int{b}").type for s in ("", "U")
       for b in (8, 16, 32, 64)},
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("serving")
    with Server(write_repository(folder / "models"), folder) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(server.address, concurrency=8) as opened:
        yield opened


def sample(datatype: str, rows: int) -> np.ndarray:
    random = np.random.default_rng(rows)
    if datatype == "BYTES":
        return np.array([[f"ß{i}".encode(), b""] for i in range(rows)], np.object_)

    if datatype == "BOOL":
        return random.random((rows, 2)) > 0.5

    dtype = np.dtype(DTYPES[datatype])
    if dtype.kind == "f":
        return random.normal(size=(rows, 2)).astype(dtype)

    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, (rows, 2), dtype, endpoint=True)


def scaled(client: triton.InferenceServerClient, value: float, **how: object) -> np.ndarray:
    tensor = triton.InferInput("x", [1, 2], "FP32")
    tensor.set_data_from_numpy(np.full((1, 2), value, np.float32))
    return client.infer("scale", [tensor], **how).as_numpy("y")


def test_it_is_live_and_ready_and_says_what_it_is(client) -> None:
    """The first questions of every client."""
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("digits")
    assert not client.is_model_ready("nothing")
    assert client.get_server_metadata()["name"] == "aclasync"
    assert client.get_model_metadata("digits") == {
        "name": "digits",
        "versions": ["1"],
        "platform": "onnx",
        "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
        "outputs": [{"name": "probabilities", "datatype": "FP32", "shape": [-1, 10]}],
    }
    assert client.get_model_metadata("scale", "1")["versions"] == ["1", "2"]


@pytest.mark.parametrize("is_binary_out", [False, True])
@pytest.mark.parametrize("is_binary_in", [False, True])
def test_every_type_comes_back_as_it_was_sent(client, is_binary_in, is_binary_out) -> None:
    """JSON and binary, both ways; FP16 has no JSON in this client."""
    sent = {name: sample(name, 3) for name in TYPES}
    inputs, outputs = [], []
    for name, array in sent.items():
        one = triton.InferInput(f"in_{name}", array.shape, name)
        one.set_data_from_numpy(array, binary_data=is_binary_in or name == "FP16")
        inputs.append(one)
        outputs.append(triton.InferRequestedOutput(f"out_{name}", binary_data=is_binary_out))

    result = client.infer("mirror", inputs, outputs=outputs, request_id="the id")
    assert result.get_response()["id"] == "the id"
    for name, array in sent.items():
        got = result.as_numpy(f"out_{name}")
        if name == "BYTES" and not is_binary_out:
            got = np.array([[text.encode() for text in row] for row in got], np.object_)

        np.testing.assert_array_equal(got, array, err_msg=name)


def test_versions_are_told_apart_and_the_newest_is_the_default(client) -> None:
    """Each computes with its own factor."""
    assert scaled(client, 1).tolist() == [[20, 20]]
    assert scaled(client, 1, model_version="1").tolist() == [[10, 10]]
    with pytest.raises(InferenceServerException, match="has no version '3'; it has 1, 2"):
        scaled(client, 1, model_version="3")


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compressed_requests_are_understood(client, algorithm: str) -> None:
    """The client offers it."""
    assert scaled(client, 2, request_compression_algorithm=algorithm).tolist() == [[40, 40]]


def test_wrong_requests_are_refused_with_the_reason(client) -> None:
    """And the connection is good for the next one."""
    tensor = triton.InferInput("x", [1, 3], "FP32")
    tensor.set_data_from_numpy(np.zeros((1, 3), np.float32))
    with pytest.raises(InferenceServerException, match=r"input 'x': expected shape \[-1, 2\]"):
        client.infer("scale", [tensor])

    with pytest.raises(InferenceServerException, match="model 'nothing' is not loaded"):
        client.infer("nothing", [tensor])

    named = triton.InferInput("q", [1, 2], "FP32")
    named.set_data_from_numpy(np.zeros((1, 2), np.float32))
    with pytest.raises(InferenceServerException, match="unknown input 'q', expected 'x'"):
        client.infer("scale", [named])

    assert scaled(client, 1).tolist() == [[20, 20]]


def test_many_at_once_all_get_their_own_answer(server: Server) -> None:
    """Batches are made of them, and taken apart again."""

    def ask(number: int) -> list[float]:
        with triton.InferenceServerClient(server.address) as own:
            return [float(scaled(own, 100 * number + i)[0, 0]) for i in range(50)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))

    assert answers == [[20.0 * (100 * n + i) for i in range(50)] for n in range(8)]


@pytest.mark.parametrize("anyio_backend", [("asyncio", {})], ids=["asyncio"])
async def test_the_aio_client_works_too(server: Server, anyio_backend) -> None:
    """Metadata, answers and refusals."""
    async with triton_aio.InferenceServerClient(server.address) as client:
        assert await client.is_server_ready()
        assert (await client.get_model_metadata("scale"))["name"] == "scale"
        tensor = triton_aio.InferInput("x", [2, 2], "FP32")
        for is_binary in (False, True):
            tensor.set_data_from_numpy(np.ones((2, 2), np.float32), binary_data=is_binary)
            result = await client.infer("scale", [tensor])
            assert result.as_numpy("y").tolist() == [[20, 20], [20, 20]]

        with pytest.raises(InferenceServerException, match="is not loaded"):
            await client.infer("nothing", [tensor])


def test_models_are_loaded_again_under_load_without_dropping_a_request(
    server: Server, tmp_path_factory, client
) -> None:
    """Every answer is the old model's or the new one's; none is missing."""
    path = next(tmp_path_factory.getbasetemp().glob("serving*")) / "models" / "live"
    write_scale(path / "1" / "model.onnx", 3)
    client.load_model("live")
    stop: list[bool] = []

    def ask(_: int) -> list[float]:
        answers = []
        with triton.InferenceServerClient(server.address) as own:
            tensor = triton.InferInput("x", [1, 2], "FP32")
            tensor.set_data_from_numpy(np.ones((1, 2), np.float32))
            while not stop:
                answers.append(float(own.infer("live", [tensor]).as_numpy("y")[0, 0]))

        return answers

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, number) for number in range(4)]
        for factor in (5, 7, 9):
            write_scale(path / "1" / "model.onnx", factor)
            client.load_model("live")

        stop.append(True)
        answers = [one.result(30) for one in asked]

    for one in answers:
        assert one == sorted(one)
        assert set(one) <= {3, 5, 7, 9}

    assert ("live", "READY") in {
        (m["name"], m["state"]) for m in client.get_model_repository_index()
    }
    client.unload_model("live")
    assert not client.is_model_ready("live")
    with pytest.raises(InferenceServerException, match="'live' is not loaded: unloaded"):
        client.unload_model("live")


def test_a_model_that_cannot_be_loaded_leaves_the_old_one_in_place(
    tmp_path_factory, client
) -> None:
    """And the index says what is wrong with a new one."""
    path = next(tmp_path_factory.getbasetemp().glob("serving*")) / "models"
    file = path / "scale" / "2" / "model.onnx"
    good = file.read_bytes()
    file.write_bytes(b"no model")
    (path / "hollow").mkdir()
    try:
        with pytest.raises(InferenceServerException, match="is no usable model"):
            client.load_model("scale")

        with pytest.raises(InferenceServerException, match="has no version; put the model in"):
            client.load_model("hollow")

        reasons = {m["name"]: m["reason"] for m in client.get_model_repository_index()}
        assert "has no version" in reasons["hollow"]
    finally:
        file.write_bytes(good)
        (path / "hollow").rmdir()

    assert scaled(client, 1).tolist() == [[20, 20]]
