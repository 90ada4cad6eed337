"""One ACL session for the life of an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

from attrs import define

from aclasync import AclSession, Device, Product, acl_session

from .batching import BatchedModel, Batcher
from .queueing import Limits
from .recording import Records
from .store import ModelStore

#: What Starlette, FastAPI and others take as `lifespan`.
Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any]]]

_KEY = "aclasync"


@final
@define(kw_only=True, eq=False)
class Serving:
    """What an application holds while it runs."""

    session: AclSession
    device: Device
    batcher: Batcher
    store: ModelStore
    records: Records
    #: The server has been told to end: not ready, but requests that are here are answered.
    is_ending: bool = False

    def __getitem__(self, name: str) -> BatchedModel:
        """Return a model by name.

        Raises:
          UnknownModelError: no such model is loaded.
        """
        return self.store.find(name).model


def lifespan(
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    models: Mapping[str, str | PathLike[str]] | None = None,
    repository: str | PathLike[str] | None = None,
    limits: Limits | None = None,
    device: int | None = None,
    product: Product | None = None,
    backend: Literal["auto", "embedded", "cann"] = "auto",
    inner: Lifespan | None = None,
) -> Lifespan:
    """Return a lifespan that opens a session, a device and models, and closes them at the end.

    Args:
      config: for `acl_session`.
      models: name to file.
      repository: a folder of models, see `aclasync.serving.repository`.
      limits: of each model's queue and batches.
      device: its number; by default the configuration's.
      product: for `acl_session`.
      backend: for `acl_session`.
      inner: another lifespan, entered after this one and left before it.

    The application finds it with `serving_of(app)`, or as `request.state.aclasync`. What can't be
    opened makes the start-up fail with the reason.
    """

    @asynccontextmanager
    async def opened(app: Any) -> AsyncIterator[Mapping[str, Any]]:
        async with open_serving(
            config,
            models=models,
            repository=repository,
            limits=limits,
            device=device,
            product=product,
            backend=backend,
        ) as serving:
            state = getattr(app, "state", None)
            if state is not None:
                setattr(state, _KEY, serving)

            try:
                if inner is None:
                    yield {_KEY: serving}
                else:
                    async with inner(app) as more:
                        yield {_KEY: serving, **(more or {})}
            finally:
                if state is not None:
                    delattr(state, _KEY)

    return opened


@asynccontextmanager
async def open_serving(
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    models: Mapping[str, str | PathLike[str]] | None = None,
    repository: str | PathLike[str] | None = None,
    limits: Limits | None = None,
    device: int | None = None,
    product: Product | None = None,
    backend: Literal["auto", "embedded", "cann"] = "auto",
) -> AsyncIterator[Serving]:
    """Hold a session, a device, a batcher and loaded models; arguments as for `lifespan`."""
    records = Records()
    async with (
        acl_session(config, product=product, backend=backend) as session,
        session.open_device(device) as opened,
        Batcher(opened) as batcher,
    ):
        store = ModelStore(
            opened,
            batcher,
            records,
            folder=None if repository is None else Path(repository),
            limits=limits or Limits(),
        )
        for name, path in (models or {}).items():
            await store.add(name, Path(path))

        if repository is not None:
            await store.load_folder()

        yield Serving(session=session, device=opened, batcher=batcher, store=store, records=records)


def serving_of(app: Any) -> Serving:
    """Return what `lifespan` opened for an application.

    Raises:
      RuntimeError: its lifespan has not begun, is over, or is another one.
    """
    serving = getattr(getattr(app, "state", None), _KEY, None)
    if not isinstance(serving, Serving):
        raise RuntimeError(  # noqa: TRY004  # it is not there yet
            "the application's lifespan is not running: Starlette(lifespan=lifespan(...)), and a"
            " server that runs lifespans"
        )

    return serving


class LifespanMiddleware:
    """Gives an ASGI application that has no lifespan of its own one; state goes to `scope`."""

    def __init__(self, app: Any, lifespan: Lifespan) -> None:
        self._app = app
        self._lifespan = lifespan

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer the server's lifespan events, and hand everything else on."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return

        await receive()
        is_started = False
        try:
            async with self._lifespan(self._app) as state:
                if "state" in scope:
                    scope["state"].update(state)

                await send({"type": "lifespan.startup.complete"})
                is_started = True
                await receive()
        except BaseException as exc:
            what = "shutdown" if is_started else "startup"
            await send({"type": f"lifespan.{what}.failed", "message": f"{exc}"})
            raise

        await send({"type": "lifespan.shutdown.complete"})
