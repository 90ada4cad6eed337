"""One line for each request: who, what, the answer's status, bytes and milliseconds."""

from __future__ import annotations

import logging
import time
from typing import final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger("aclasync.access")


@final
class AccessLog:
    """Logs to `aclasync.access` at INFO when a request is over."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand everything on, and watch what is answered."""
        if scope["type"] != "http" or not _log.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return

        status, size = 0, 0  # 0: the client was gone before an answer
        began = time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            client = scope.get("client") or ("-", 0)
            took_ms = (time.perf_counter() - began) * 1000
            path = scope["path"].encode("unicode_escape").decode()  # one line, whatever was asked
            _log.info(
                '%s:%d "%s %s" %d %d %.2f ms',
                *client[:2], scope["method"], path, status, size, took_ms,
            )  # fmt: skip
