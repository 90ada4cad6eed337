"""The path of every request, from its body to its answer."""

from __future__ import annotations

import logging
import time
from typing import final

import anyio
from attrs import frozen
from starlette.types import Receive, Scope, Send

from aclasync import AclCode, AclError

from .errors import BadRequestError, DrainingError, ModelFailedError, ServingError
from .http import ClientGoneError, headers_of, read_body, send_body, send_error
from .lifespan import Serving
from .protocol import (
    HEADER_LENGTH,
    Body,
    InferRequest,
    decompressed,
    infer_body,
    parse_infer,
)
from .queueing import Array
from .store import Hosted
from .tracing import Span, request_span

_log = logging.getLogger("aclasync.serving")


@final
@frozen(kw_only=True)
class BodyLimits:
    """What a request's body may be."""

    #: Bytes, before and after decompression.
    size: int = 64 * 2**20
    #: Seconds until all of it is here.
    timeout: float = 30.0


@final
class InferEndpoint:
    """`POST /v2/models/{name}[/versions/{version}]/infer` as an ASGI application."""

    def __init__(self, body_limits: BodyLimits) -> None:
        self._limits = body_limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        serving: Serving = scope["state"]["aclasync"]
        name: str = scope["path_params"]["name"]
        version: str | None = scope["path_params"].get("version")
        began = time.monotonic()
        exchange = _Exchange(scope, receive, self._limits)
        with request_span(scope, name) as span:
            try:
                body = await exchange.answer(serving, name, version, span)
            except ClientGoneError:
                _count(serving, exchange.hosted, "client_gone")
                return
            except ServingError as error:
                _count(serving, exchange.hosted, error.outcome)
                serving.records.failed(name, error.outcome, str(error))
                span.failed(error)
                await send_error(send, error, is_body_read=exchange.is_body_read)
                return
            except Exception as error:  # noqa: BLE001  # the log has it, the client a status
                _log.exception("a request to %s failed in the server itself", name)
                _count(serving, exchange.hosted, "internal")
                serving.records.failed(name, "internal", f"{type(error).__name__}: {error}")
                span.failed(error)
                failure = ServingError("the server failed; its log says more")
                await send_error(send, failure, is_body_read=exchange.is_body_read)
                return

        assert exchange.hosted is not None
        exchange.hosted.record.answered(time.monotonic() - began)
        await send_body(send, body)


class _Exchange:
    """One request on its way; remembers how far it came."""

    __slots__ = ("_limits", "_receive", "_scope", "hosted", "is_body_read")

    def __init__(self, scope: Scope, receive: Receive, limits: BodyLimits) -> None:
        self._scope = scope
        self._receive = receive
        self._limits = limits
        self.hosted: Hosted | None = None
        self.is_body_read = False

    async def answer(self, serving: Serving, name: str, version: str | None, span: Span) -> Body:
        """Read, run and answer.

        Raises:
          ServingError: there is no answer.
          ClientGoneError: nobody waits for it.
        """
        self.hosted = serving.store.find(name, version)
        if serving.batcher.is_draining:
            raise DrainingError("the server ends and takes no new requests")

        headers = headers_of(self._scope)
        body = await read_body(
            headers, self._receive, limit=self._limits.size, timeout=self._limits.timeout
        )
        self.is_body_read = True
        if (encoding := headers.get(b"content-encoding")) is not None:
            body = decompressed(body, encoding.decode("latin-1"), limit=self._limits.size)

        # Again: it may have been loaded anew while the body came.
        self.hosted = hosted = serving.store.find(name, version)
        length = headers.get(HEADER_LENGTH)
        request = parse_infer(
            body,
            None if length is None else length.decode("latin-1"),
            hosted.loaded.inputs,
            hosted.loaded.outputs,
        )
        outputs = await self._outputs(hosted, request)
        span.answered(hosted.version)
        return infer_body(request, outputs, model=hosted.name, version=hosted.version)

    async def _outputs(self, hosted: Hosted, request: InferRequest) -> dict[str, Array]:
        model = hosted.model
        try:
            # Watching the connection costs a task: only where a request may wait for long.
            if model.queued > 2 * model.limits.max_batch:
                return await self._watched(hosted, request)

            return await model.infer(request.inputs, timeout=request.timeout)
        except ModelFailedError as error:
            cause = error.__cause__
            if isinstance(cause, AclError) and cause.code == AclCode.MODEL_INPUT_NOT_MATCH:
                raise BadRequestError(cause.detail) from cause

            raise

    async def _watched(self, hosted: Hosted, request: InferRequest) -> dict[str, Array]:
        """Run the request, unless the client goes first."""
        failures: list[ServingError] = []
        answers: list[dict[str, Array]] = []

        async def run() -> None:
            try:
                answers.append(await hosted.model.infer(request.inputs, timeout=request.timeout))
            except ServingError as error:
                failures.append(error)

            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            while (await self._receive())["type"] != "http.disconnect":
                pass

            tasks.cancel_scope.cancel()

        if answers:
            return answers[0]

        raise failures[0] if failures else ClientGoneError


def _count(serving: Serving, hosted: Hosted | None, outcome: str) -> None:
    (serving.records.refused if hosted is None else hosted.record.outcomes)[outcome] += 1
