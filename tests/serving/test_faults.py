"""Clients that misbehave and models that fail, against a process as users start it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from .models import write_repository
from .process import Server
from .wire import answer, connect, head, infer, post, spin

INFER = "/v2/models/scale/infer"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("faults")
    models = write_repository(folder / "models")
    (models / "spin" / "config.toml").write_text("max_queue = 2\ndeadline = 20.0\n")
    with Server(models, folder) as running:
        yield running
        with connect(running.address) as connection:  # whatever was done to it: it still serves
            connection.sendall(infer("scale", "x", "FP32", [1, 2]))
            assert json.loads(answer(connection)[2])["outputs"][0]["data"] == [20, 40]

        assert running.end() == 143


def status_of(server: Server) -> dict:
    with connect(server.address) as connection:
        connection.sendall(b"GET /status HTTP/1.1\r\nhost: here\r\n\r\n")
        return json.loads(answer(connection)[2])


def spinning(server: Server) -> dict:
    return next(m for m in status_of(server)["models"] if m["name"] == "spin")


def test_a_body_of_a_gigabyte_is_refused_before_it_is_sent(server: Server) -> None:
    """From its header, and the connection is closed."""
    with connect(server.address) as connection:
        connection.sendall(head(INFER, 2**30))
        status, headers, body = answer(connection)
        assert (status, headers["connection"]) == (413, "close")
        assert "1073741824 bytes" in json.loads(body)["error"]
        assert connection.recv(10) == b""


def test_a_body_without_a_length_is_refused_where_it_becomes_too_long(server: Server) -> None:
    """Chunks are counted as they come."""
    with connect(server.address) as connection:
        connection.sendall(
            f"POST {INFER} HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        )
        chunk = b"100000\r\n" + bytes(2**20) + b"\r\n"
        with pytest.raises(OSError, match=r".*"):  # closed while it is sending
            for _ in range(200):
                connection.sendall(chunk)


def test_a_client_that_goes_while_it_waits_is_taken_out_of_the_queue(server: Server) -> None:
    """Nobody computes for it; in the middle of its body it is not even counted as an error."""
    with connect(server.address) as half:
        half.sendall(head(INFER, 1000) + b"{")

    with connect(server.address) as first:
        first.sendall(spin(400))
        assert answer(first)[0] == 200

    assert not [f for f in status_of(server)["failures"] if f["outcome"] == "internal"]


def test_one_too_many_is_told_to_come_back(server: Server) -> None:
    """429 with Retry-After, at once; the others are answered."""
    asking = [connect(server.address) for _ in range(8)]
    for one in asking:
        one.sendall(spin(500))

    answers = [answer(one) for one in asking]
    for one in asking:
        one.close()

    refused = [headers for status, headers, _ in answers if status == 429]
    assert {status for status, _, _ in answers} == {200, 429}
    assert all(headers["retry-after"] == "1" for headers in refused)
    assert spinning(server)["outcomes"]["queue_full"] >= len(refused)


def test_a_request_may_bring_its_own_deadline(server: Server) -> None:
    """In the protocol's microseconds."""
    tensor = {"name": "times", "datatype": "INT64", "shape": [1], "data": [700]}
    body = {"inputs": [tensor], "parameters": {"timeout": 50_000}}
    with connect(server.address) as connection:
        connection.sendall(post("/v2/models/spin/infer", body))
        status, _, content = answer(connection)

    assert (status, json.loads(content)) == (504, {"error": "no answer within 0.05 s"})


@pytest.mark.parametrize("length", ["18446744073709551616", "-5", "0x10", "99999999"])
def test_binary_headers_that_lie_are_refused(server: Server, length: str) -> None:
    """Nothing is allocated by what they say."""
    with connect(server.address) as connection:
        connection.sendall(head(INFER, 2, inference_header_content_length=length) + b"{}")
        status, _, body = answer(connection)

    assert status == 400
    assert "Inference-Header-Content-Length" in json.loads(body)["error"]


def test_a_request_that_a_model_fails_on_fails_alone(server: Server) -> None:
    """With the model's reason; those that came with it get their answers."""
    numbers = [0, 1, 2, 99] * 8
    asking = [connect(server.address) for _ in numbers]
    for one, number in zip(asking, numbers, strict=True):
        one.sendall(infer("pick", "number", "INT64", [number]))

    for one, number in zip(asking, numbers, strict=True):
        status, _, body = answer(one)
        one.close()
        if number == 99:
            assert status == 500
            assert "the model failed" in json.loads(body)["error"]
        else:
            assert (status, json.loads(body)["outputs"][0]["data"]) == (200, [5.0 + number])


def test_other_methods_and_paths_are_refused_as_json(server: Server) -> None:
    """Clients read `error`, whatever went wrong."""
    with connect(server.address) as connection:
        for request, status in (
            (b"GET /v2/models/scale/infer HTTP/1.1\r\nhost: h\r\n\r\n", 405),
            (b"GET /v3 HTTP/1.1\r\nhost: h\r\n\r\n", 404),
            (b"GET /v2/models/none HTTP/1.1\r\nhost: h\r\n\r\n", 404),
        ):
            connection.sendall(request)
            got, _, body = answer(connection)
            assert (got, list(json.loads(body))) == (status, ["error"])


def test_metrics_tell_what_happened(server: Server) -> None:
    """In the words of Prometheus, with the counts of what was asked."""
    with connect(server.address) as connection:
        connection.sendall(infer("scale", "x", "FP32", [1, 2]))
        assert answer(connection)[0] == 200
        connection.sendall(b"GET /metrics HTTP/1.1\r\nhost: h\r\n\r\n")
        _, headers, body = answer(connection)

    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = {
        (s.name, s.labels.get("model"), s.labels.get("version"), s.labels.get("outcome")): s.value
        for family in families.values() for s in family.samples if "le" not in s.labels
    }  # fmt: skip
    assert samples["aclasync_requests_total", "scale", "2", "ok"] >= 1
    assert samples["aclasync_request_seconds_count", "scale", "2", None] >= 1
    assert samples["aclasync_batch_rows_sum", "scale", "2", None] >= 1
    assert samples["aclasync_queue_depth", "scale", "2", None] == 0
    assert samples["aclasync_sessions", None, None, None] == 1
    assert {"aclasync_device_busy_share", "aclasync_device_busy_seconds", "aclasync_last_flush",
            "process_resident_memory_bytes"} <= set(families)  # fmt: skip


def test_every_request_has_one_line_in_the_access_log(server: Server) -> None:
    """A line feed in a path makes no second one."""
    with connect(server.address) as connection:
        connection.sendall(b"GET /v2/models/a%0Ab HTTP/1.1\r\nhost: h\r\n\r\n")
        assert answer(connection)[0] == 404

    assert '"GET /v2/models/a\\nb" 404' in server.wait_for("/v2/models/a")
