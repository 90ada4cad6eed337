"""The models that are served now: found by name and version, loaded and unloaded while serving."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, final

import anyio
from anyio import to_thread
from attrs import define, field, frozen

from aclasync import AclError, Device, Model

from .batching import BatchedModel, Batcher
from .errors import BadRequestError, UnknownModelError
from .protocol import model_metadata
from .queueing import Limits
from .recording import ModelRecord, Records
from .repository import ModelSource, RepositoryError, model_names, read_model


@final
@frozen(kw_only=True, eq=False)
class Hosted:
    """One version of a model, loaded."""

    name: str
    version: str
    loaded: Model
    model: BatchedModel
    record: ModelRecord


@final
@define
class _Entry:
    """What is known of a model by name."""

    versions: dict[str, Hosted] = field(factory=dict)
    #: Why it is not served; empty if it is.
    reason: str = ""


@final
class ModelStore:
    """Models of one device. All changes are made one after another; requests never wait for one."""

    def __init__(
        self,
        device: Device,
        batcher: Batcher,
        records: Records,
        *,
        folder: Path | None = None,
        limits: Limits,
    ) -> None:
        self._device = device
        self._batcher = batcher
        self._records = records
        self._folder = folder
        self._limits = limits
        self._entries: dict[str, _Entry] = {}
        self._changing = anyio.Lock()

    def find(self, name: str, version: str | None = None) -> Hosted:
        """Return a model that is loaded, its newest version unless another is named.

        Raises:
          UnknownModelError: there is none; the text says what there is.
        """
        versions = self.versions(name)
        if version is None:
            return versions[next(reversed(versions))]

        try:
            return versions[version]
        except KeyError:
            known = ", ".join(versions)
            raise UnknownModelError(
                f"model {name!r} has no version {version!r}; it has {known}"
            ) from None

    def versions(self, name: str) -> dict[str, Hosted]:
        """Return all loaded versions of a model, the oldest first.

        Raises:
          UnknownModelError: none is loaded.
        """
        entry = self._entries.get(name)
        if entry is None or not entry.versions:
            why = f": {entry.reason}" if entry is not None and entry.reason else ""
            raise UnknownModelError(f"model {name!r} is not loaded{why}")

        return entry.versions

    def all(self) -> list[Hosted]:
        """Return everything that is loaded."""
        return [hosted for entry in self._entries.values() for hosted in entry.versions.values()]

    def metadata(self, hosted: Hosted) -> dict[str, Any]:
        """Return what the protocol tells of a model."""
        versions = [*self.versions(hosted.name)]
        return model_metadata(hosted.name, versions, hosted.loaded.inputs, hosted.loaded.outputs)

    async def add(self, name: str, path: Path, limits: Limits | None = None) -> Hosted:
        """Serve one file under a name, as version 1."""
        source = ModelSource(name=name, versions={"1": path}, limits=limits or self._limits)
        async with self._changing:
            await self._replace(source)

        return self.find(name)

    async def load_folder(self) -> None:
        """Load every model of the folder.

        Raises:
          RepositoryError: the folder is not as it should be.
          DeviceError: a file is no model.
        """
        assert self._folder is not None
        for name in await to_thread.run_sync(model_names, self._folder):
            await self._load(name)

    async def load(self, name: str) -> None:
        """Load a model from the folder, or load it again; the old one serves until the new is here.

        Raises:
          BadRequestError: it can't be loaded; what was served still is.
        """
        if self._folder is None:
            raise BadRequestError("this server has no models' folder to load from")

        try:
            await self._load(name)
        except (RepositoryError, AclError) as exc:
            detail = exc.detail if isinstance(exc, AclError) else str(exc)
            entry = self._entries.setdefault(name, _Entry())
            if not entry.versions:
                entry.reason = detail

            raise BadRequestError(f"model {name!r} can't be loaded: {detail}") from exc

    async def unload(self, name: str) -> None:
        """Take no more requests for a model, answer those that are here, and unload it.

        Raises:
          UnknownModelError: it is not loaded.
        """
        async with self._changing:
            versions = self.versions(name)
            self._entries[name] = _Entry(reason="unloaded")
            await self._retire(versions)

    async def index(self) -> list[dict[str, Any]]:
        """Return every model of the folder and every loaded one, with its state."""
        names = set(self._entries)
        if self._folder is not None:
            names |= set(await to_thread.run_sync(model_names, self._folder))

        return [row for name in sorted(names) for row in self._index_rows(name)]

    def _index_rows(self, name: str) -> list[dict[str, Any]]:
        entry = self._entries.get(name)
        if entry is None or not entry.versions:
            reason = entry.reason if entry is not None else "not loaded"
            return [_index_row(name, "", "UNAVAILABLE", reason)]

        return [_index_row(name, version, "READY", "") for version in entry.versions]

    async def _load(self, name: str) -> None:
        assert self._folder is not None
        async with self._changing:
            source = await to_thread.run_sync(read_model, self._folder, name, self._limits)
            await self._replace(source)

    async def _replace(self, source: ModelSource) -> None:
        loaded: dict[str, Model] = {}
        try:
            for version, path in source.versions.items():
                loaded[version] = await self._device.load_model(path)
        except BaseException:
            for model in loaded.values():
                await model.aclose()

            raise

        old = self._entries.get(source.name, _Entry()).versions
        self._entries[source.name] = _Entry(
            {version: self._host(source, version, model) for version, model in loaded.items()}
        )
        await self._retire(old)

    def _host(self, source: ModelSource, version: str, model: Model) -> Hosted:
        record = self._records.of(source.name, version)
        return Hosted(
            name=source.name,
            version=version,
            loaded=model,
            model=self._batcher.add(
                model, source.limits, on_batch=partial(self._records.batched, record)
            ),
            record=record,
        )

    async def _retire(self, versions: Mapping[str, Hosted]) -> None:
        for hosted in versions.values():
            await hosted.model.retire()
            await hosted.loaded.aclose()


def _index_row(
    name: str, version: str, state: Literal["READY", "UNAVAILABLE"], reason: str
) -> dict[str, Any]:
    return {"name": name, "version": version, "state": state, "reason": reason}
