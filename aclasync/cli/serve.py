"""`aclasync serve`: a folder of models behind the Open Inference Protocol."""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import anyio
import typer

from .output import (
    CommandError,
    Format,
    ProductOption,
    TracebackOption,
    console,
    errors_reported,
)

if TYPE_CHECKING:
    from aclasync.serving import ServeOptions

_NEEDED = ("starlette", "uvicorn", "uvloop", "httptools", "orjson", "prometheus_client", "numpy")


def serve(
    *,
    models: Annotated[
        Path,
        typer.Option(
            exists=True,
            file_okay=False,
            help="The folder of models: NAME/VERSION/model.onnx, perhaps NAME/config.toml.",
        ),
    ],
    config: Annotated[str | None, typer.Option(help="The acl.json; none by default.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 lets the system choose.")
    ] = 8000,
    max_batch: Annotated[
        int, typer.Option(min=1, help="Rows that run together at most; 1 turns batching off.")
    ] = 32,
    max_delay: Annotated[
        float,
        typer.Option(min=0, help="Milliseconds that a free device waits for a fuller batch."),
    ] = 0.0,
    queue: Annotated[
        int, typer.Option(min=1, help="Requests that may wait for a model; more get 429.")
    ] = 1024,
    deadline: Annotated[
        float, typer.Option(min=0.001, help="Seconds for an answer; later ones get 504.")
    ] = 30.0,
    drain: Annotated[
        float, typer.Option(min=0, help="Seconds for requests in flight after a signal.")
    ] = 10.0,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes, each with a session of its own.")
    ] = 1,
    device: Annotated[
        int | None,
        typer.Option(help="The device; by default the configuration's default device, or 0."),
    ] = None,
    product: ProductOption = None,
    backend: Annotated[
        Literal["auto", "embedded", "cann"], typer.Option(help="The device family.")
    ] = "auto",
    access_log: Annotated[bool, typer.Option(help="One line for each request.")] = True,
    is_traceback: TracebackOption = False,
) -> None:
    """Serve a folder of models with the Open Inference Protocol v2, until a signal.

    The first Ctrl-C or SIGTERM finishes what is in flight, the second one skips that.
    Exit code 130 or 143: ended by a signal; 1: could not start or end; 2: wrong usage.
    """
    _require_serving_extra()
    from aclasync.serving import Limits, ServeOptions  # noqa: PLC0415 - needs the serving extra

    options = ServeOptions(
        models=models,
        config=config,
        host=host,
        port=port,
        limits=Limits(
            max_batch=max_batch, max_delay=max_delay / 1000, max_queue=queue, deadline=deadline
        ),
        drain=drain,
        device=device,
        product=product,
        backend=backend,
        access_log=access_log,
        workers=workers,
    )
    with errors_reported(Format.TEXT, traceback=is_traceback):
        raise typer.Exit(_served(options))


def _served(options: ServeOptions) -> int:
    from aclasync.serving import (  # noqa: PLC0415 - needs the serving extra
        RepositoryError,
        listen,
        run_workers,
        serve,
    )

    log_to_stderr()
    try:
        listener = listen(options.host, options.port)
    except OSError as exc:
        where = f"{options.host}:{options.port}"
        raise CommandError(f"can't listen on {where}: {exc.strerror or exc}") from exc

    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def started(_: object = None) -> None:
        console().print(f"serving on {url}", markup=False)
        sys.stdout.flush()

    try:
        if options.workers > 1:
            with listener:
                return run_workers(options, listener, prepare=log_to_stderr, started=started)

        return anyio.run(
            lambda: serve(options, listener, started=started),
            backend_options={"use_uvloop": True},
        )
    except RepositoryError as exc:
        raise CommandError(str(exc)) from exc


def log_to_stderr() -> None:
    """Send what the library and the server log to stderr, a line each."""
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    for name in ("aclasync", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)


def _require_serving_extra() -> None:
    for name in _NEEDED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            console(is_error=True).print(
                f"aclasync serve needs {missing.name}:"
                ' pip install "aclasync[embedded,cli,serving]"',
                markup=False,
            )
            raise typer.Exit(2) from None
