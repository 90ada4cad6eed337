"""A folder of models: `<name>/<version>/model.onnx` or `.om`, and perhaps `<name>/config.toml`.

Reads the folder and says what is wrong with it; loads nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from attrs import evolve, fields, frozen

from .queueing import Limits

_FILES = ("model.onnx", "model.om")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_VERSION = re.compile(r"[1-9][0-9]{0,17}")
_KEYS = tuple(attribute.name for attribute in fields(Limits))


class RepositoryError(Exception):
    """The folder is not what a repository is; the text says where and what to do."""


@final
@frozen(kw_only=True)
class ModelSource:
    """One model as it lies in the folder."""

    name: str
    #: Version to file, the oldest first.
    versions: Mapping[str, Path]
    limits: Limits


def model_names(folder: Path) -> list[str]:
    """Return the names of the models in a folder.

    Raises:
      RepositoryError: there is no such folder, or a name in it can't be one of a model.
    """
    try:
        found = sorted(one.name for one in folder.iterdir() if not one.name.startswith("."))
    except OSError as exc:
        raise RepositoryError(f"can't read the models' folder {folder}: {exc.strerror}") from exc

    names = [name for name in found if (folder / name).is_dir()]
    for name in names:
        _require_name(name, folder)

    return names


def read_model(folder: Path, name: str, defaults: Limits) -> ModelSource:
    """Return what the folder has of one model.

    Raises:
      RepositoryError: there is nothing, or it is not as it should be.
    """
    _require_name(name, folder)
    home = folder / name
    if not home.is_dir():
        raise RepositoryError(f"no model {name!r} in {folder}")

    versions = {
        version.name: _file_in(version)
        for version in home.iterdir()
        if version.is_dir() and not version.name.startswith(".")
    }
    for version in versions:
        if not _VERSION.fullmatch(version):
            raise RepositoryError(
                f"{home / version}: a version is a number from 1, such as {home / '1'}"
            )

    if not versions:
        raise RepositoryError(f"{home} has no version; put the model in {home / '1' / _FILES[0]}")

    return ModelSource(
        name=name,
        versions=dict(sorted(versions.items(), key=lambda one: int(one[0]))),
        limits=_limits(home / "config.toml", defaults),
    )


def _require_name(name: str, folder: Path) -> None:
    if not _NAME.fullmatch(name):
        raise RepositoryError(
            f"{name!r} in {folder} is no model's name: letters, digits, '.', '_' and '-'"
        )


def _file_in(version: Path) -> Path:
    files = [version / name for name in _FILES if (version / name).exists()]
    if len(files) != 1:
        what = "both" if files else "neither"
        raise RepositoryError(f"{version} has {what} of {' and '.join(_FILES)}; it must have one")

    return files[0]


def _limits(path: Path, defaults: Limits) -> Limits:
    try:
        read: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return defaults
    except (OSError, ValueError) as exc:
        raise RepositoryError(f"{path}: {exc}") from exc

    if unknown := sorted(set(read) - set(_KEYS)):
        raise RepositoryError(
            f"{path}: unknown key {', '.join(unknown)}; there are {', '.join(_KEYS)}"
        )

    try:
        return evolve(defaults, **read)
    except ValueError as exc:
        raise RepositoryError(f"{path}: {exc}") from exc
