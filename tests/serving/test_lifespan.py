"""One session for the life of an application: frameworks, servers and loops."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import fastapi
import httpx
import hypercorn.asyncio
import numpy as np
import pytest
import uvicorn
from hypercorn.config import Config as HypercornConfig
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from aclasync import DeviceError, Runtime
from aclasync.serving import (
    BodyLimits,
    Lifespan,
    LifespanMiddleware,
    Serving,
    lifespan,
    listen,
    make_app,
    protocol_routes,
    serving_of,
)

from .models import DIGITS

IMAGE = {"image": np.zeros((1, 1, 8, 8), np.float32)}


@pytest.fixture(
    params=[("asyncio", {}), ("asyncio", {"use_uvloop": True})], ids=["asyncio", "uvloop"]
)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return request.param


class Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self):
        yield


@asynccontextmanager
async def under_uvicorn(app: Any) -> AsyncIterator[str]:
    with listen("127.0.0.1", 0) as listener:
        server = Uvicorn(uvicorn.Config(app, lifespan="on", log_config=None))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: server.serve(sockets=[listener]))
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True


@asynccontextmanager
async def under_hypercorn(app: Any) -> AsyncIterator[str]:
    with listen("127.0.0.1", 0) as listener:
        config = HypercornConfig()
        config.bind = [f"fd://{listener.detach()}"]
        config.loglevel = "ERROR"
        over = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                lambda: hypercorn.asyncio.serve(app, config, shutdown_trigger=over.wait)
            )
            with socket.socket(fileno=int(config.bind[0][5:])) as again:
                port = again.getsockname()[1]
                again.detach()

            yield f"http://127.0.0.1:{port}"
            over.set()


async def probabilities(serving: Serving) -> list[float]:
    return (await serving["digits"].infer(IMAGE))["probabilities"][0].tolist()


def starlette_app(opened: Lifespan) -> Any:
    async def ask(request: Request) -> JSONResponse:
        assert request.state.aclasync is serving_of(request.app)
        return JSONResponse(await probabilities(serving_of(request.app)))

    return Starlette(routes=[Route("/ask", ask)], lifespan=opened)


def fastapi_app(opened: Lifespan) -> Any:
    app = fastapi.FastAPI(lifespan=opened)

    async def ask() -> list[float]:
        return await probabilities(serving_of(app))

    app.add_api_route("/ask", ask)
    return app


def bare_app(opened: Lifespan) -> Any:
    async def app(scope: Any, _receive: Any, send: Any) -> None:
        response = JSONResponse(await probabilities(scope["state"]["aclasync"]))
        await response(scope, _receive, send)

    return LifespanMiddleware(app, opened)


@pytest.mark.parametrize("server", [under_uvicorn, under_hypercorn])
@pytest.mark.parametrize("make", [starlette_app, fastapi_app, bare_app])
async def test_an_application_answers_from_its_session(runtime: Runtime, make, server) -> None:
    """And the runtime is down when the server has ended."""
    app = make(lifespan({}, models={"digits": DIGITS}))
    async with server(app) as url, httpx.AsyncClient() as client:
        response = await client.get(f"{url}/ask")
        assert response.status_code == 200
        assert sum(response.json()) == pytest.approx(1)
        assert runtime.statistics().ref_count == 1

    assert runtime.statistics().ref_count == 0


async def test_it_composes_with_a_lifespan_that_is_there(runtime: Runtime) -> None:
    """The inner one begins later, ends earlier, and its state is kept."""
    order: list[object] = []

    @asynccontextmanager
    async def inner(app: Any) -> AsyncIterator[dict[str, Any]]:
        order.append(runtime.statistics().ref_count)
        yield {"mine": 7}
        order.append(serving_of(app).session.ref_count)

    app = starlette_app(lifespan({}, models={"digits": DIGITS}, inner=inner))
    async with app.router.lifespan_context(app) as state:
        assert (state["mine"], state["aclasync"]) == (7, serving_of(app))

    assert order == [1, 1]


async def test_a_start_that_fails_fails_the_application(runtime: Runtime, tmp_path) -> None:
    """With the library's own error; nothing is left open."""
    app = starlette_app(lifespan({}, models={"digits": tmp_path / "none.onnx"}))
    with pytest.raises(DeviceError, match=r"none\.onnx"):
        async with app.router.lifespan_context(app):
            pass

    assert runtime.statistics().ref_count == 0
    with pytest.raises(RuntimeError, match="lifespan is not running"):
        serving_of(app)


async def test_the_protocol_can_be_mounted_into_an_application(runtime: Runtime) -> None:
    """Beside routes of its own."""
    app = Starlette(
        routes=[Mount("/models", routes=protocol_routes())],
        lifespan=lifespan({}, models={"digits": DIGITS}),
    )
    async with under_uvicorn(app) as url, httpx.AsyncClient() as client:
        assert (await client.get(f"{url}/models/v2/health/ready")).status_code == 200
        metadata = (await client.get(f"{url}/models/v2/models/digits")).json()
        assert metadata["inputs"][0]["name"] == "image"


async def test_a_body_that_does_not_come_is_given_up(runtime: Runtime) -> None:
    """408 after the time it has, and its connection is closed."""
    app = make_app(lifespan({}, models={"digits": DIGITS}), body_limits=BodyLimits(timeout=0.1))
    async with under_uvicorn(app) as url:
        port = int(url.rsplit(":", 1)[1])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(
                b"POST /v2/models/digits/infer HTTP/1.1\r\nhost: h\r\ncontent-length: 99\r\n\r\n{"
            )
            received = b"".join([chunk async for chunk in stream])

    assert received.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.1 s, only 1 bytes did" in received
