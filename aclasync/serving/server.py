"""One serving process: signals, start-up, drain, and the end of the session."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, final

import anyio
import uvicorn
from attrs import Factory, define, frozen

from aclasync import Product, default_runtime

from .app import make_app
from .infer import BodyLimits
from .lifespan import Serving, open_serving
from .queueing import Limits

_log = logging.getLogger("aclasync.serving")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Beyond the drain, for the server's own closing of connections.
_GRACE_S = 2.0
_SWITCH_S = 0.0005


@final
@frozen(kw_only=True)
class ServeOptions:
    """How to serve; the defaults are those of `aclasync serve`."""

    models: Path
    config: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    limits: Limits = Factory(Limits)
    body_limits: BodyLimits = Factory(BodyLimits)
    #: Seconds that requests in flight have after the first signal.
    drain: float = 10.0
    device: int | None = None
    product: Product | None = None
    backend: Literal["auto", "embedded", "cann"] = "auto"
    access_log: bool = True
    workers: int = 1


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections; port 0 lets the system choose.

    Raises:
      OSError: the address is taken, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise

    return listener


def url_of(listener: socket.socket) -> str:
    """Return where a listening socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(
    options: ServeOptions,
    listener: socket.socket,
    *,
    started: Callable[[Serving], object] = lambda _: None,
    abandoned: Callable[[], Any] | None = None,
) -> int:
    """Serve until a signal, end gracefully, and return the exit code.

    The first SIGINT or SIGTERM: not ready, no new connections, requests in flight are finished
    within `options.drain`, the session is closed, flush included. The second one skips what is
    left of that; the third ends the process at once.

    Args:
      options: how to serve.
      listener: where connections come in; closed at the end.
      started: called when requests are taken.
      abandoned: a coroutine function that returns when whoever started this process is gone.

    Raises:
      AclError: the session, the device or a model can't be opened.
      RepositoryError: the models' folder is not as it should be.
    """
    ending = _Ending(options)
    failures: list[Exception] = []
    with anyio.open_signal_receiver(*_SIGNALS) as signals, listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ending.watch, signals)
            if abandoned is not None:
                tasks.start_soon(ending.watch_parent, abandoned)

            with ending.scope:
                try:
                    await _serve(options, listener, ending, started)
                except Exception as exc:  # noqa: BLE001  # raised below, not in a group
                    failures.append(exc)

            tasks.cancel_scope.cancel()

    if failures:
        raise failures[0]

    return 128 + ending.received[0] if ending.received else 0


async def _serve(
    options: ServeOptions,
    listener: socket.socket,
    ending: _Ending,
    started: Callable[[Serving], object],
) -> None:
    async with open_serving(
        options.config,
        repository=options.models,
        limits=options.limits,
        device=options.device,
        product=options.product,
        backend=options.backend,
    ) as serving:

        @asynccontextmanager
        async def opened(_: Any) -> AsyncIterator[Mapping[str, Any]]:
            yield {"aclasync": serving}

        app = make_app(opened, body_limits=options.body_limits, access_log=options.access_log)
        server = _Server(_uvicorn_config(app, options), lambda: started(serving))
        ending.server, ending.serving = server, serving
        if ending.received:  # while the models were loaded
            return

        with _tuned_interpreter():
            await server.serve(sockets=[listener])


def _uvicorn_config(app: Any, options: ServeOptions) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(options.drain)),
    )


@contextmanager
def _tuned_interpreter() -> Iterator[None]:
    """Make the interpreter's pauses short: those for garbage, and those for handing over.

    Requests make no cycles, so what start-up made is kept out of every collection. The device's
    thread and the loop's hand over to each other for every batch, and should not wait ten times
    as long as a request takes.
    """
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.unfreeze()


@final
class _Server(uvicorn.Server):
    """Uvicorn's server, without signal handlers of its own."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_started = started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


@final
@define(eq=False)
class _Ending:
    """What signals have asked for, and how far it is done."""

    options: ServeOptions
    scope: anyio.CancelScope = Factory(anyio.CancelScope)
    received: list[int] = Factory(list)
    server: _Server | None = None
    serving: Serving | None = None

    async def watch(self, signals: Any) -> None:
        async with anyio.create_task_group() as tasks:
            async for number in signals:
                self.received.append(int(number))
                if len(self.received) == 1:
                    tasks.start_soon(self._end)
                elif len(self.received) == 2:
                    self._skip()
                else:
                    os._exit(128 + number)

    async def watch_parent(self, abandoned: Callable[[], Any]) -> None:
        await abandoned()
        os.kill(os.getpid(), signal.SIGTERM)

    async def _end(self) -> None:
        if self.serving is None or self.server is None:
            self.scope.cancel()
            return

        _log.info("ending: requests in flight have %g s", self.options.drain)
        self.serving.is_ending = True
        self.server.should_exit = True
        await anyio.sleep(self.options.drain + _GRACE_S)
        stuck = self.serving.batcher.running_for
        if stuck >= self.options.drain:
            # A native call can't be interrupted, and the session can't be closed under it.
            _log.critical(
                "a model has been running for %.0f s and can't be interrupted: the process ends"
                " without closing the session",
                stuck,
            )
            os._exit(1)

        self.scope.cancel()

    def _skip(self) -> None:
        _log.warning("second signal: requests in flight and the log's flush are skipped")
        if self.server is not None:
            self.server.force_exit = True

        default_runtime().skip_flush()
        self.scope.cancel()
