"""How a serving process ends: what is in flight is answered, the session closed, nothing hangs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pytest

from .models import write_repository
from .process import Server
from .wire import answer, connect, spin


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "models")


def wait_until_running(server: Server) -> None:
    with connect(server.address) as connection:
        while True:
            connection.sendall(b"GET /status HTTP/1.1\r\nhost: here\r\n\r\n")
            if any(m["running"] for m in json.loads(answer(connection)[2])["models"]):
                return

            time.sleep(0.01)


def wait_until_refused(server: Server) -> None:
    with contextlib.suppress(ConnectionError):
        while server.process.poll() is None:
            connect(server.address).close()
            time.sleep(0.01)

    assert server.process.poll() is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_first_signal_finishes_what_is_in_flight(
    models: Path, tmp_path: Path, number: int, code: int
) -> None:
    """Idle connections and a client that has gone keep nobody; new ones are refused."""
    with Server(models, tmp_path) as server:
        idle, gone, asking = (connect(server.address) for _ in range(3))
        with idle, asking:
            gone.sendall(spin(50))
            gone.close()
            asking.sendall(spin(1500))
            wait_until_running(server)
            server.process.send_signal(number)
            server.wait_for("ending")
            server.wait_for("Shutting down")
            wait_until_refused(server)
            status, _, body = answer(asking)
            assert status == 200
            assert json.loads(body)["outputs"][0]["data"] == [1500]
            assert server.process.wait(20) == code
            assert idle.recv(10) == b""

    assert not [line for line in server.lines if "Traceback" in line]


def test_a_second_signal_skips_what_is_left(models: Path, tmp_path: Path) -> None:
    """What waits is not run; the session is closed all the same."""
    with Server(models, tmp_path, "--drain", 60, "--max-batch", 1) as server:
        asking = [connect(server.address) for _ in range(20)]
        for one in asking:
            one.sendall(spin(1000))

        wait_until_running(server)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("ending")
        began = time.monotonic()
        assert server.end(signal.SIGTERM) == 143
        assert time.monotonic() - began < 15  # twenty of them would be 20 s or more
        for one in asking:
            one.close()


def test_requests_have_no_longer_than_the_drain(models: Path, tmp_path: Path) -> None:
    """A queue that is too long is cut off, and the process ends as told."""
    with Server(models, tmp_path, "--drain", 1, "--max-batch", 1) as server:
        asking = [connect(server.address) for _ in range(20)]
        for one in asking:
            one.sendall(spin(800))

        wait_until_running(server)
        assert server.end(timeout=15) == 143
        for one in asking:
            one.close()


def test_a_model_that_hangs_does_not_keep_the_process(models: Path, tmp_path: Path) -> None:
    """It can't be interrupted: the process says so and ends with 1."""
    with Server(models, tmp_path, "--drain", 1, "--deadline", 0.5) as server:
        with connect(server.address) as asking:
            asking.sendall(spin(10**7))
            status, _, body = answer(asking)
            assert (status, json.loads(body)) == (504, {"error": "no answer within 0.5 s"})

        assert server.end(timeout=20) == 1

    assert any("can't be interrupted" in line for line in server.lines)


def test_a_signal_while_models_are_loaded_ends_the_start(models: Path, tmp_path: Path) -> None:
    """Nothing was served, and nothing is left."""
    server = Server(models, tmp_path)
    server.wait_for("backend embedded")
    code = server.end()
    server.__exit__()
    assert code == 143


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda m: (m / "digits" / "1" / "model.onnx").write_bytes(b"x"), "is no usable model"),
        (lambda m: (m / "scale" / "config.toml").write_text("max_bath = 3"), "key max_bath"),
        (lambda m: (m / "scale" / "config.toml").write_text("max_batch = 0"), "max_batch must be"),
        (lambda m: (m / "scale" / "one").mkdir(), "has neither of model.onnx and model.om"),
        (lambda m: (m / "two words").mkdir(), "is no model's name"),
    ],
)  # fmt: skip
def test_a_start_that_fails_says_why(models: Path, tmp_path: Path, spoil, said: str) -> None:
    """Loudly, with exit code 1, before a port answers."""
    spoil(models)
    server = Server(models, tmp_path)
    assert server.process.wait(30) == 1
    server.__exit__()
    assert said in "".join(server.lines)
    assert "Traceback" not in "".join(server.lines)
    assert not server.url


def test_workers_that_cannot_start_end_together(models: Path, tmp_path: Path) -> None:
    """With the reason, and exit code 1."""
    (models / "digits" / "1" / "model.onnx").write_bytes(b"x")
    server = Server(models, tmp_path, "--workers", 2)
    assert server.process.wait(30) == 1
    server.__exit__()
    assert "is no usable model" in "".join(server.lines)
    assert "Traceback" not in "".join(server.lines)


def test_a_port_that_is_taken_is_named(models: Path, tmp_path: Path) -> None:
    """With the system's reason."""
    with Server(models, tmp_path) as first:
        second = Server(models, tmp_path, "--port", first.address.rsplit(":", 1)[1])
        assert second.process.wait(30) == 1
        second.__exit__()

    assert "can't listen on 127.0.0.1:" in "".join(second.lines)


def test_workers_share_a_port_and_end_together(models: Path, tmp_path: Path) -> None:
    """A worker that dies is replaced; a signal ends all of them."""
    with Server(models, tmp_path, "--workers", 2) as server:
        started = [line for line in server.lines if "Started server" in line]
        while len(started) < 2:
            started.append(server.wait_for("Started server"))

        pids = [int(line.split("[")[1].split("]")[0]) for line in started]
        with connect(server.address) as connection:
            connection.sendall(spin(1))
            assert answer(connection)[0] == 200

        os.kill(pids[0], signal.SIGKILL)
        server.wait_for("is replaced")
        server.wait_for("Started server")
        assert server.end() == 143
