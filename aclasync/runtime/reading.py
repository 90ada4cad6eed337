"""Where a configuration comes from: files, mappings, bytes. All I/O of the config core is here."""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Mapping
from os import PathLike
from typing import Any, TypeAlias

from aclasync.config import (
    ENVIRONMENT_NAMES,
    AclConfig,
    ConfigText,
    FolderCheck,
    FolderState,
    ReadFault,
    Resolution,
    canonical_text,
    resolve_config,
)
from aclasync.lifecycle.state import NO_CONTENT, Content
from aclasync.product import Product, check_product

from .hop import in_short_thread

#: What `acl_session` and `Runtime.init` take as `config`.
ConfigSource: TypeAlias = (
    "str | PathLike[str] | Mapping[str, Any] | bytes | AclConfig | Resolution | None"
)

_log = logging.getLogger("aclasync.config")

MAX_FILE_BYTES = 10 * 1024 * 1024

# Resolving a larger text would hold the loop up for longer than a thread costs.
_INLINE_BYTES = 64 * 1024

# A file system's clock ticks every few milliseconds: a file changed that recently may change
# again without its time stamp showing it.
_SETTLED_NS = 50_000_000


def snapshot_environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """Return those variables that the features declare, from `env` or the process."""
    source = os.environ if env is None else env
    return {name: source[name] for name in ENVIRONMENT_NAMES if name in source}


async def describe(config: ConfigSource) -> tuple[Content | None, ConfigText | str]:
    """Return what can be compared without reading, and the text or the absolute path to read.

    Raises:
      ConfigError: a mapping holds what JSON can't express.
      TypeError: `config` is none of the kinds of source.
    """
    config = located(config)
    if config is None:
        return None, canonical_text(None)

    if isinstance(config, Resolution):
        return Content(config.text.name, config.text.raw), config.text

    if isinstance(config, (str, PathLike)):
        path = os.fspath(config)
        if not isinstance(path, str):
            raise TypeError(f"a config path must be str or PathLike[str], not {config!r}")

        if not path:
            return NO_CONTENT, canonical_text(None)

        return await in_short_thread(_identify, path)

    text = canonical_text(config)
    return Content(text.name, text.raw), text


def log_findings(resolution: Resolution) -> None:
    """Log what the configuration and the environment say in vain; an error is raised instead."""
    for finding in resolution.warnings:
        place = "" if finding.where.line else f"{finding.where.file}: "
        _log.warning("%s%s", place, finding)


async def read(
    source: ConfigText | str, *, env: Mapping[str, str], product: Product
) -> tuple[Content, Resolution]:
    """Read, resolve and look for the folders it names, off the loop where any of it may wait.

    Never raises for what is wrong with a file: that is a finding.
    """
    if isinstance(source, str) or len(source.raw) > _INLINE_BYTES:
        return await in_short_thread(_read_blocking, source, env, product)

    resolution = resolve_config(source, env=env, product=product)
    if resolution.folder_checks:
        resolution = await in_short_thread(_with_folders, resolution)

    return Content(source.name, source.raw), resolution


async def load_config(
    config: ConfigSource,
    *,
    env: Mapping[str, str] | None = None,
    product: Product | None = None,
) -> Resolution:
    """Read and resolve a configuration without opening anything.

    Every fault, of the file and of its content, is in `findings`; what `acl_session` would raise,
    `raise_for_findings` raises. The result may be given to `acl_session` as its config.

    Args:
      config: a path, a mapping, JSON text as bytes, an `AclConfig`, or None.
      env: instead of the process's environment.
      product: judge for this product instead of Atlas A2.

    Raises:
      ConfigError: a mapping holds what JSON can't express.
    """
    check_product(product)
    _, source = await describe(config)
    chosen = product or Product.ATLAS_A2
    _, resolution = await read(source, env=snapshot_environment(env), product=chosen)
    return resolution


def located(config: ConfigSource) -> ConfigSource:
    """Return a path as it is from the root, at this moment; anything else as it is."""
    if not isinstance(config, (str, PathLike)):
        return config

    path: str | bytes = os.fspath(config)
    if isinstance(path, bytes) or not path or os.path.isabs(path):  # noqa: PTH117
        return config  # bytes are refused where all other kinds are

    try:
        # Joined by hand: abspath would drop what a link in the path means.
        return os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118
    except OSError:  # the working directory has gone: reading will find nothing there
        return path


def _identify(path: str) -> tuple[Content, str]:
    return Content(path, None, _stamp_of(path)), path


def _read_blocking(
    source: ConfigText | str, env: Mapping[str, str], product: Product
) -> tuple[Content, Resolution]:
    stamp = None
    if isinstance(source, str):
        source, stamp = _read_file(source)

    resolution = _with_folders(resolve_config(source, env=env, product=product))
    return Content(source.name, source.raw, stamp), resolution


def _read_file(path: str) -> tuple[ConfigText, object]:
    try:
        # Without a writer a FIFO would block the open; O_NONBLOCK changes nothing for a file.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, ValueError) as exc:
        return _faulty(path, ReadFault.MISSING, exc), None
    except OSError as exc:
        is_there = os.path.lexists(path) and not _is_unresolvable(path)
        fault = ReadFault.UNREADABLE if is_there else ReadFault.MISSING
        if is_there and not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            fault = ReadFault.NOT_REGULAR  # a socket can't even be opened

        return _faulty(path, fault, exc), None

    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return _faulty(path, ReadFault.NOT_REGULAR, _kind_of(status.st_mode)), None

        raw = _read_at_most(descriptor, MAX_FILE_BYTES + 1)
    except OSError as exc:
        return _faulty(path, ReadFault.UNREADABLE, exc), None
    finally:
        os.close(descriptor)

    if len(raw) > MAX_FILE_BYTES:
        detail = f"{status.st_size} bytes, and {MAX_FILE_BYTES} are allowed"
        return _faulty(path, ReadFault.TOO_LARGE, detail), None

    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    is_settled = time.time_ns() - changed_ns > _SETTLED_NS
    stamp = _stamp(status) if is_settled else None
    return ConfigText(path, raw, is_given=True, is_file=True), stamp


def _read_at_most(descriptor: int, most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := os.read(descriptor, most)):
        parts.append(part)
        most -= len(part)

    return b"".join(parts)


def _faulty(path: str, fault: ReadFault, detail: object) -> ConfigText:
    # Whatever says it names the path itself.
    reason = detail.strerror if isinstance(detail, OSError) else None
    said = reason.lower() if reason else str(detail)
    return ConfigText(path, b"", is_given=True, is_file=True, fault=fault, fault_detail=said)


def _is_unresolvable(path: str) -> bool:
    try:
        os.stat(path)  # noqa: PTH116
    except OSError:
        return True

    return False


def _kind_of(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    return next((f"it is {name}" for is_kind, name in kinds if is_kind(mode)), "it is a device")


def _stamp_of(path: str) -> object:
    try:
        return _stamp(os.stat(path))  # noqa: PTH116
    except (OSError, ValueError):  # it will be said properly when the file is read
        return None


def _stamp(status: os.stat_result) -> object:
    # The change time, too: a copy that keeps the modification time can't set that one.
    times_ns = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, *times_ns, status.st_size


def _with_folders(resolution: Resolution) -> Resolution:
    checks = resolution.folder_checks
    return resolution.with_folders({c.path: _probe(c) for c in checks}) if checks else resolution


def _probe(check: FolderCheck) -> FolderState:
    try:
        mode = os.stat(check.path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return FolderState.MISSING

    if not stat.S_ISDIR(mode):
        return FolderState.NOT_A_FOLDER

    can_use = os.access(check.path, os.R_OK | os.W_OK)
    return FolderState.USABLE if can_use else FolderState.NO_PERMISSION
