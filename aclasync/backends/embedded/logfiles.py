"""Where device logs lie on disk, and how lines get there. Knows nothing of devices or threads."""

from __future__ import annotations

import logging
import os
import pwd
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final

from aclasync.files import append_whole, make_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from aclasync.config import Environment

_logger = logging.getLogger("aclasync.device")

# The reference takes no longer path for a log folder.
_MAX_ROOT_CHARS = 255


class LineSink(Protocol):
    """Something that lines can be added to."""

    @property
    def path(self) -> Path:
        """Where they are to be found."""
        ...

    def append(self, lines: Sequence[bytes]) -> None:
        """Add them all.

        Raises:
          OSError: none of them has been added.
        """
        ...


@final
class LineFile:
    """A file that exists from its first line on, as do the folders above it.

    It is opened anew for every batch: nothing to close, and a log that someone moved away begins
    again.
    """

    def __init__(self, locate: Callable[[], Path], *, file_mode: int, folder_mode: int) -> None:
        self._locate = locate
        self._path: Path | None = None
        self._file_mode = file_mode
        self._folder_mode = folder_mode

    @property
    def path(self) -> Path:
        """Where it is; decided when somebody first asks.

        Raises:
          OSError: there is no place for it.
        """
        if self._path is None:
            self._path = self._locate()

        return self._path

    def append(self, lines: Sequence[bytes]) -> None:
        """Add `lines` with one write, or none of them.

        Raises:
          OSError: they have not been added.
        """
        chunk = b"".join(lines)
        try:
            append_whole(self.path, chunk, self._file_mode)
        except FileNotFoundError:
            make_folders(self.path.parent, self._folder_mode)
            append_whole(self.path, chunk, self._file_mode)


@final
class LogFolders:
    """The files of every device of this process, under one root."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._root: Path | None = None

    def host_file(self, device_id: int) -> LineFile:
        """Return the host's log file of a device."""

        def locate() -> Path:
            now = datetime.now().astimezone()
            stamp = f"{now:%Y%m%d%H%M%S}{now.microsecond // 1000:03}"
            name = f"device-{os.getpid()}_{stamp}.log"
            return self._find_root() / "debug" / f"device-{device_id}" / name

        return LineFile(locate, file_mode=0o640, folder_mode=0o750)

    def spool_file(self, device_id: int) -> LineFile:
        """Return the file that stands for the device's own disk."""

        def locate() -> Path:
            folder = self._find_root() / "spool" / f"device-app-{os.getpid()}"
            return folder / f"device-{device_id}.log"

        return LineFile(locate, file_mode=0o600, folder_mode=0o700)

    def _find_root(self) -> Path:
        """Return the first usable root of the reference's three, and stay with it."""
        if self._root is None:
            for name, root in _roots(self._environment):
                why = _unusable(root)
                if why is None:
                    self._root = root
                    break

                _logger.warning("%s: no device logs in %s: %s", name, root, why)
            else:
                raise OSError("no folder for device logs; set ASCEND_PROCESS_LOG_PATH")

        return self._root


def _roots(environment: Environment) -> Iterator[tuple[str, Path]]:
    """Yield the folders for logs, the preferred one first, each with what chose it."""
    if environment.process_log_path:
        yield "ASCEND_PROCESS_LOG_PATH", Path(environment.process_log_path)

    if environment.work_path:
        yield "ASCEND_WORK_PATH", Path(environment.work_path) / "log"

    # The password database, not $HOME: the log of a program run by sudo belongs to its user.
    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return

    yield "home folder", Path(home) / "ascend" / "log"


def _unusable(root: Path) -> str | None:
    """Say why no log can be under `root`, or return None; creates nothing."""
    if not root.is_absolute():
        return "not an absolute path"

    try:
        with suppress(OSError):  # which of the folders above is in the way is looked at below
            os.lstat(root)
    except ValueError as exc:  # a NUL, or what no file system can encode
        return str(exc)

    if len(str(root)) > _MAX_ROOT_CHARS:
        return f"longer than {_MAX_ROOT_CHARS} characters"

    # os.path.lexists, unlike Path.exists, never raises.
    nearest = next(folder for folder in (root, *root.parents) if os.path.lexists(folder))
    if not nearest.is_dir():
        return f"{nearest} is no folder"

    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{nearest} can't be written"

    return None
