"""Where a profiling session goes on disk, and what its files are called."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from attrs import frozen

from aclasync.errors import AclCode, BackendError
from aclasync.files import make_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOLDER_MODE = 0o750
FILE_MODE = 0o640
SUMMARY = "op_summary.csv"
MEMORY = "op_memory.csv"
TRACE = "trace.json"
NAMES = "hash_dic"
DATA = "data"
HOST = "host"

_LETTERS = "ABCDEFGHIJKLMNOPQR"
_numbers = itertools.count(1)


@final
@frozen
class Place:
    """A folder that was made for a session."""

    folder: Path
    #: The places that were preferred, each with why it can't be used.
    refused: tuple[tuple[str, str], ...] = ()


def make_session_folder(output: str | None, work_path: str | None) -> Place:
    """Make the PROF folder of a new session in the first of the reference's places.

    Those are `output`, `profiling_data` below ASCEND_WORK_PATH, and the folder of the interpreter,
    which the other two fall back to if they can't be made or written.

    Raises:
      BackendError: none of them can be used (100000).
    """
    refused = []
    for origin, root in _roots(output, work_path):
        try:
            folder = root.absolute() / _session_name()
            make_folders(root.absolute(), FOLDER_MODE)
            folder.mkdir(FOLDER_MODE)
        except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
            refused.append((f"{origin} {root}", getattr(exc, "strerror", None) or str(exc)))
            continue

        return Place(folder, tuple(refused))

    why = "; ".join(f"{place}: {reason}" for place, reason in refused)
    detail = f"no folder for profiling data: {why}; name a folder that can be written in output"
    raise BackendError(AclCode.INVALID_PARAM, "aclInit", detail)


def require_profile(path: Path) -> Path:
    """Return `path`, if a profiling session made it.

    Raises:
      OSError: there is no such folder.
      ValueError: it is another folder.
    """
    names = sorted(inner.name for inner in path.iterdir())
    if HOST not in names:
        inside = [name for name in names if name.startswith("PROF_")]
        hint = f"; it holds {', '.join(inside[:5])}" if inside else ""
        raise ValueError(f"{path} is no PROF folder: there is no folder {HOST} in it{hint}")

    return path


def device_folder(device_id: int) -> str:
    """Return the name of a device's folder inside the session's."""
    return f"device_{device_id}"


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write one of the small files of a session.

    Raises:
      OSError: it can't be written.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    with open_new(path) as fd:
        fd.write(text.encode())


def open_new(path: Path) -> Any:
    """Open a file of a session for writing, with its mode.

    Raises:
      OSError: it can't be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, FILE_MODE), "wb")


def _roots(output: str | None, work_path: str | None) -> Iterator[tuple[str, Path]]:
    if output:
        yield "output", Path(output)
    elif work_path:
        yield "ASCEND_WORK_PATH", Path(work_path) / "profiling_data"

    yield "the interpreter's folder", Path(sys.executable).parent


def _session_name() -> str:
    now = datetime.now().astimezone()
    stamp = f"{now:%Y%m%d%H%M%S}{now.microsecond // 1000:03}"
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"PROF_{next(_numbers):06}_{stamp}_{os.getpid():08}{letters}"
