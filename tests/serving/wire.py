"""HTTP by hand, for clients that do not behave."""

from __future__ import annotations

import json
import socket
from typing import Any


def connect(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=20)


def head(path: str, length: object, **more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: here", f"content-length: {length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def post(path: str, body: Any) -> bytes:
    text = json.dumps(body).encode()
    return head(path, len(text)) + text


def infer(model: str, name: str, datatype: str, data: list[Any]) -> bytes:
    """Return the bytes of a request with one flat input of shape [len(data)] or [1, len(data)]."""
    shape = [len(data)] if datatype == "INT64" else [1, len(data)]
    tensor = {"name": name, "datatype": datatype, "shape": shape, "data": data}
    return post(f"/v2/models/{model}/infer", {"inputs": [tensor]})


def spin(milliseconds: int) -> bytes:
    return infer("spin", "times", "INT64", [milliseconds])


def answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body of the next answer."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        if not chunk:
            raise ConnectionError(f"closed after {received!r}")

        received += chunk

    top, _, body = received.partition(b"\r\n\r\n")
    first, *lines = top.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)

    return int(first.split()[1]), headers, body
