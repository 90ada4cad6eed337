"""Bodies in and answers out, for the path of every request: plain ASGI messages."""

from __future__ import annotations

from typing import TypeAlias

import anyio
import orjson
from starlette.types import Receive, Scope, Send

from .errors import ServingError, SlowBodyError, TooLargeError
from .protocol import HEADER_LENGTH, JSON, Body

Headers: TypeAlias = dict[bytes, bytes]


class ClientGoneError(Exception):
    """The client closed the connection before its request was complete, or before its answer."""


def headers_of(scope: Scope) -> Headers:
    """Return the request's headers, their names in lower case."""
    return dict(scope["headers"])


async def read_body(headers: Headers, receive: Receive, *, limit: int, timeout: float) -> bytes:
    """Return a request's body.

    Raises:
      TooLargeError: it has more than `limit` bytes; told from the header where there is one.
      SlowBodyError: it is not complete after `timeout` seconds.
      ClientGoneError: the client is gone.
    """
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limit:
        raise TooLargeError(f"the body has {int(declared)} bytes, more than the {limit} allowed")

    chunks: list[bytes] = []
    size = 0
    with anyio.move_on_after(timeout):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError

            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise TooLargeError(f"the body has more than the {limit} bytes allowed")

            chunks.append(chunk)
            if not message.get("more_body"):
                return chunk if len(chunks) == 1 else b"".join(chunks)

    raise SlowBodyError(f"the body did not arrive within {timeout:g} s, only {size} bytes did")


async def send_body(send: Send, body: Body) -> None:
    """Answer 200."""
    headers = [
        (b"content-type", body.content_type),
        (b"content-length", b"%d" % len(body.content)),
    ]
    if body.header_length is not None:
        headers.append((HEADER_LENGTH, b"%d" % body.header_length))

    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body.content})


async def send_error(send: Send, error: ServingError, *, is_body_read: bool) -> None:
    """Answer with an error's status and text, as the protocol has it."""
    content = orjson.dumps({"error": str(error)})
    headers = [(b"content-type", JSON), (b"content-length", b"%d" % len(content))]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))

    if not is_body_read:
        headers.append((b"connection", b"close"))  # what is left of the body is not read

    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
