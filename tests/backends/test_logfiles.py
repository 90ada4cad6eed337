"""Where lines end up on disk, with which rights, and what is in the way."""

from __future__ import annotations

import os
import pwd
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from aclasync.backends.embedded.logfiles import LogFolders

HOME_ROOT = Path(pwd.getpwuid(os.geteuid()).pw_dir) / "ascend" / "log"


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_host_file_is_named_and_protected_as_the_reference_has_it(make_environment, log_root):
    """Folder per device, pid and time in the name, 0640 below folders of 0750."""
    file = LogFolders(make_environment()).host_file(2)
    file.append([b"a\n", b"b\n"])
    file.append([b"c\n"])
    [path] = log_root.glob("debug/device-2/*")
    assert path == file.path
    assert re.fullmatch(rf"device-{os.getpid()}_\d{{17}}\.log", path.name)
    assert path.read_bytes() == b"a\nb\nc\n"
    assert mode_of(path) == 0o640
    assert [mode_of(folder) for folder in list(path.parents)[:3]] == [0o750] * 3


@pytest.mark.usefixtures("usual_umask")
def test_spool_is_for_its_owner_only(make_environment, log_root):
    """The spool's folder and file are nobody else's to read."""
    file = LogFolders(make_environment()).spool_file(0)
    file.append([b"a\n"])
    path = log_root / "spool" / f"device-app-{os.getpid()}" / "device-0.log"
    assert path.read_bytes() == b"a\n"
    assert (mode_of(path), mode_of(path.parent)) == (0o600, 0o700)


def test_nothing_is_made_before_the_first_line(make_environment, log_root):
    """Asking where a file is makes neither file nor folder."""
    folders = LogFolders(make_environment())
    assert folders.host_file(0).path.is_relative_to(log_root)
    assert folders.spool_file(0).path.is_relative_to(log_root)
    assert not log_root.exists()


def test_a_log_that_was_moved_away_begins_again(make_environment):
    """Log rotation by other programs costs no line."""
    file = LogFolders(make_environment()).host_file(0)
    file.append([b"a\n"])
    file.path.unlink()
    file.path.parent.rmdir()
    file.append([b"b\n"])
    assert file.path.read_bytes() == b"b\n"


def test_work_path_comes_second(make_environment, tmp_path):
    """Without a log path of its own, the log is in the work path's `log`."""
    environment = make_environment(ASCEND_PROCESS_LOG_PATH="", ASCEND_WORK_PATH=str(tmp_path))
    assert LogFolders(environment).host_file(0).path.is_relative_to(tmp_path / "log")


def test_home_of_the_password_database_comes_last(make_environment):
    """Without any variable the log is in the effective user's home, whatever $HOME says."""
    environment = make_environment(ASCEND_PROCESS_LOG_PATH="", HOME="/nowhere")
    assert LogFolders(environment).host_file(0).path.is_relative_to(HOME_ROOT)


@pytest.mark.parametrize(
    "kind", ["relative", "too long", "below a file", "with a NUL", "with a lone surrogate"]
)
def test_unusable_root_gives_way_to_the_next(make_environment, tmp_path, caplog, kind):
    """A root that can't be had is passed over, and that is said."""
    (tmp_path / "file").touch()
    root = {
        "relative": "some/logs",
        "too long": str(tmp_path / ("x" * 250)),
        "below a file": str(tmp_path / "file" / "logs"),
        "with a NUL": str(tmp_path / "nu\0l"),
        "with a lone surrogate": str(tmp_path / "half \ud800"),
    }[kind]
    environment = make_environment(
        ASCEND_PROCESS_LOG_PATH=root, ASCEND_WORK_PATH=str(tmp_path / "work")
    )
    assert LogFolders(environment).host_file(0).path.is_relative_to(tmp_path / "work" / "log")
    assert "ASCEND_PROCESS_LOG_PATH" in caplog.text


# In a process of its own: the limit is one of the process, and reaching it sends a signal.
FILLING_THE_DISK = """
import resource, signal, sys
from pathlib import Path
from aclasync.backends.embedded.logfiles import LineFile

path = Path(sys.argv[1])
file = LineFile(lambda: path, file_mode=0o600, folder_mode=0o700)
file.append([b"before\\n"])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    file.append([b"x" * 99 + b"\\n"] * 1000)
except OSError as exc:
    print(exc.strerror)
"""


def test_batch_that_does_not_fit_on_the_disk_leaves_no_torn_line(tmp_path):
    """It goes to the spool as a whole; what stood in the file before stays."""
    path = tmp_path / "device.log"
    done = subprocess.run(
        [sys.executable, "-c", FILLING_THE_DISK, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "File too large\n"
    assert path.read_bytes() == b"before\n"


def test_a_link_laid_in_the_way_is_refused(make_environment, tmp_path):
    """Nobody can have our lines written to a file of their choice."""
    file = LogFolders(make_environment()).spool_file(0)
    file.path.parent.mkdir(parents=True)
    file.path.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic link"):
        file.append([b"a\n"])

    assert not (tmp_path / "victim").exists()
