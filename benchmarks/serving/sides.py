"""`python -m benchmarks.serving.sides SIDE MODELS PORT`: one of our sides as a server.

`ours` is the server. `direct` is the same app whose handler calls the model itself. `empty` is the
same app that answers without a model. All read requests and write answers with the same code.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from aclasync import AclSession, TensorSpec, acl_session
from aclasync.serving import ServeOptions, listen, serve
from aclasync.serving.http import headers_of, read_body, send_body
from aclasync.serving.protocol import HEADER_LENGTH, infer_body, parse_infer

from .perceptron import CLASSES, WIDTH


class Empty:
    """Stands where a model is and answers zeros."""

    inputs = (TensorSpec("x", "float32", ("n", WIDTH)),)
    outputs = (TensorSpec("y", "float32", ("n", CLASSES)),)

    def __init__(self) -> None:
        self._answer = {"y": np.zeros((1, CLASSES), np.float32)}

    def execute_blocking(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return self._answer


class Handler:
    """Reads, calls the model where it stands, and answers."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        model = scope["state"]["model"]
        headers = headers_of(scope)
        body = await read_body(headers, receive, limit=2**26, timeout=30)
        length = headers.get(HEADER_LENGTH)
        request = parse_infer(
            body, None if length is None else length.decode(), model.inputs, model.outputs
        )
        outputs = model.execute_blocking(request.inputs)
        await send_body(send, infer_body(request, outputs, model="perceptron", version="1"))


@asynccontextmanager
async def empty(_: Any) -> AsyncIterator[Mapping[str, Any]]:
    yield {"model": Empty()}


def direct(models: Path) -> Any:
    """Return a lifespan whose model may be called in the loop's thread."""

    @asynccontextmanager
    async def opened(_: Any) -> AsyncIterator[Mapping[str, Any]]:
        session: AclSession
        async with acl_session() as session, session.open_device() as device:
            path = models / "perceptron" / "1" / "model.onnx"
            async with device.load_model(path) as model:
                device.bind_thread()
                yield {"model": model}
                device.unbind_thread()

    return opened


def main(side: str, models: Path, port: int) -> None:
    """Serve until a signal."""
    if side == "ours":
        options = ServeOptions(models=models, port=port, access_log=False)
        listener = listen(options.host, port)
        sys.exit(anyio.run(lambda: serve(options, listener), backend_options={"use_uvloop": True}))

    app = Starlette(
        routes=[Route("/v2/models/{name}/infer", Handler(), methods=["POST"])],
        lifespan=empty if side == "empty" else direct(models),
    )
    uvicorn.run(app, port=port, loop="uvloop", http="httptools", log_level="error")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
