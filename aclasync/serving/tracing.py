"""OpenTelemetry spans of requests, where its API is installed and a program has set it up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from starlette.types import Scope

try:
    from opentelemetry import propagate, trace
except ModuleNotFoundError:  # an extra
    _HAS_API = False
else:
    _HAS_API = True

if TYPE_CHECKING:
    from opentelemetry.trace import Span as OtelSpan


class Span:
    """What is told of one request; this one tells nobody."""

    __slots__ = ()

    def answered(self, version: str) -> None:
        """Tell which version of the model answered."""

    def failed(self, error: BaseException) -> None:
        """Tell why there is no answer."""


class _TracedSpan(Span):
    __slots__ = ("_span",)

    def __init__(self, span: OtelSpan) -> None:
        self._span = span

    def answered(self, version: str) -> None:
        self._span.set_attribute("aclasync.model.version", version)

    def failed(self, error: BaseException) -> None:
        self._span.record_exception(error)
        self._span.set_status(trace.StatusCode.ERROR, str(error))


_SILENT = nullcontext(Span())


def request_span(scope: Scope, model: str) -> AbstractContextManager[Span]:
    """Return a span for a request, a child of the caller's if its headers name one."""
    if not _HAS_API or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return _SILENT

    return _traced(scope, model)


@contextmanager
def _traced(scope: Scope, model: str) -> Iterator[Span]:
    carrier: dict[str, Any] = {
        k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]
    }
    tracer = trace.get_tracer("aclasync.serving")
    with tracer.start_as_current_span(
        "infer",
        context=propagate.extract(carrier),
        kind=trace.SpanKind.SERVER,
        attributes={"aclasync.model.name": model, "url.path": scope["path"]},
    ) as span:
        yield _TracedSpan(span)
