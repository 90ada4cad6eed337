"""The server's routes: the Open Inference Protocol v2, metrics and the status page."""

from __future__ import annotations

from importlib import resources
from typing import Any, final

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from aclasync import __version__

from .access import AccessLog
from .errors import BadRequestError, DrainingError, ServingError
from .http import headers_of, read_body
from .infer import BodyLimits, InferEndpoint
from .lifespan import Lifespan, Serving
from .metrics import CONTENT_TYPE, metrics_text, registry_of
from .protocol import EXTENSIONS, parse_object
from .status import status

_STALLED_S = 60.0


@final
class JsonResponse(Response):
    """A JSON object."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the object's bytes."""
        return orjson.dumps(content)


def make_app(
    lifespan: Lifespan, *, body_limits: BodyLimits | None = None, access_log: bool = False
) -> Starlette:
    """Return the whole server as an ASGI application; `lifespan` opens what it serves."""
    return Starlette(
        routes=protocol_routes(body_limits),
        lifespan=lifespan,
        exception_handlers={ServingError: _error, HTTPException: _http_error},
        middleware=[Middleware(AccessLog)] if access_log else [],
    )


def protocol_routes(body_limits: BodyLimits | None = None) -> list[BaseRoute]:
    """Return the routes, for an application of one's own that has `aclasync.serving.lifespan`."""
    infer = InferEndpoint(body_limits or BodyLimits())
    model = "/v2/models/{name}"
    version = model + "/versions/{version}"
    return [
        Route(f"{model}/infer", infer, methods=["POST"]),
        Route(f"{version}/infer", infer, methods=["POST"]),
        Route("/v2/health/live", _live),
        Route("/v2/health/ready", _ready),
        Route("/v2", _server),
        Route(f"{model}/ready", _model_ready),
        Route(f"{version}/ready", _model_ready),
        Route(model, _model),
        Route(version, _model),
        Route("/v2/repository/index", _index, methods=["POST"]),
        Route("/v2/repository/models/{name}/load", _load, methods=["POST"]),
        Route("/v2/repository/models/{name}/unload", _unload, methods=["POST"]),
        Route("/metrics", _metrics),
        Route("/status", _status),
        Route("/", _page),
    ]


def _serving(request: Request) -> Serving:
    serving: Serving = request.scope["state"]["aclasync"]
    return serving


async def _live(_: Request) -> Response:
    return Response()


async def _ready(request: Request) -> Response:
    """Ready: takes requests, and the device has not been at one batch for very long."""
    serving = _serving(request)
    batcher = serving.batcher
    if serving.is_ending or batcher.is_draining:
        raise DrainingError("the server ends and takes no new requests")

    is_ready = batcher.lost is None and batcher.running_for < _STALLED_S
    return Response(status_code=200 if is_ready else 503)


async def _server(_: Request) -> Response:
    return JsonResponse({"name": "aclasync", "version": __version__, "extensions": EXTENSIONS})


async def _model(request: Request) -> Response:
    store = _serving(request).store
    return JsonResponse(store.metadata(store.find(**request.path_params)))


async def _model_ready(request: Request) -> Response:
    _serving(request).store.find(**request.path_params)
    return Response()


async def _index(request: Request) -> Response:
    wanted = await _asked(request)
    rows = await _serving(request).store.index()
    is_ready_only = wanted.get("ready") is True
    return JsonResponse([r for r in rows if not is_ready_only or r["state"] == "READY"])


async def _load(request: Request) -> Response:
    if (await _asked(request)).get("parameters"):
        raise BadRequestError("a model is loaded as it is in the folder; parameters are not taken")

    await _serving(request).store.load(request.path_params["name"])
    return Response()


async def _unload(request: Request) -> Response:
    await _serving(request).store.unload(request.path_params["name"])
    return Response()


async def _asked(request: Request) -> dict[str, Any]:
    """Return the object in the body, which may be empty."""
    body = await read_body(headers_of(request.scope), request.receive, limit=2**20, timeout=10.0)
    return parse_object(body) if body.strip() else {}


async def _metrics(request: Request) -> Response:
    return Response(metrics_text(registry_of(_serving(request))), media_type=CONTENT_TYPE)


async def _status(request: Request) -> Response:
    return JsonResponse(status(_serving(request)), headers={"cache-control": "no-store"})


async def _page(_: Request) -> Response:
    page = resources.files(__package__).joinpath("page", "index.html")
    return HTMLResponse(page.read_text(encoding="utf-8"))


async def _error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ServingError)
    retry = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return JsonResponse({"error": str(error)}, status_code=error.status, headers=retry)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JsonResponse(
        {"error": error.detail}, status_code=error.status_code, headers=error.headers
    )
