"""`aclasync check --fix`: the difference first, then the file as a whole or not at all."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys

import pytest

BAD = '{\n  // one per process\n  "Err_Msg_Mode": 1,\n}\n'
GOOD = '{\n  "err_msg_mode": "1"\n}\n'


@pytest.fixture
def acl_json(tmp_path):
    """Return a configuration that somebody wrote by hand."""
    path = tmp_path / "acl.json"
    path.write_text(BAD, encoding="utf-8")
    return path


def test_difference_is_shown_and_the_file_written_with_yes(cli_here, acl_json):
    """And the verdict is on what was written."""
    done = cli_here("check", acl_json, "--fix", "--yes")

    assert done.returncode == 0
    assert '-  "Err_Msg_Mode": 1,' in done.stdout
    assert '+  "err_msg_mode": "1"' in done.stdout
    assert "no errors, no warnings" in done.stdout
    assert acl_json.read_text(encoding="utf-8") == GOOD


def test_nothing_is_written_where_nobody_can_be_asked(cli_here, acl_json):
    """In a pipe, without --yes; the verdict is on the file as it is."""
    done = cli_here("check", acl_json, "--fix")

    assert done.returncode == 1
    assert '+  "err_msg_mode": "1"' in done.stdout
    assert "--yes" in done.stdout
    assert acl_json.read_text(encoding="utf-8") == BAD


@pytest.mark.parametrize(("answer", "written"), [("y\n", GOOD), ("n\n", BAD), ("\n", BAD)])
def test_at_a_terminal_it_asks(child_environment, acl_json, answer, written):
    """And only yes is yes."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "aclasync", "check", acl_json, "--fix"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    out, err = child.communicate(timeout=50)
    os.close(ours)
    assert b"Write this?" in err
    assert b'+  "err_msg_mode": "1"' in out
    assert acl_json.read_text(encoding="utf-8") == written


def test_mode_and_link_of_the_file_are_kept(cli_here, acl_json, tmp_path):
    """And nothing else is left in the folder."""
    acl_json.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(acl_json)
    assert cli_here("check", link, "--fix", "-y").returncode == 0

    assert link.is_symlink()
    assert acl_json.read_text(encoding="utf-8") == GOOD
    assert stat.S_IMODE(acl_json.stat().st_mode) == 0o640
    assert {path.name for path in tmp_path.iterdir() if path.suffix == ".json"} == {
        "acl.json",
        "link.json",
    }


def test_file_that_is_right_is_not_touched(cli_here, acl_json):
    """Not even its time."""
    acl_json.write_text(GOOD, encoding="utf-8")
    os.utime(acl_json, ns=(1, 1))
    done = cli_here("check", acl_json, "--fix", "--yes")
    assert done.returncode == 0
    assert "nothing to repair" in done.stdout
    assert acl_json.stat().st_mtime_ns == 1


def test_missing_folder_is_made_when_asked_for(cli_here, tmp_path):
    """With its parents; without --create-dirs it is an error as ever."""
    folder = tmp_path / "a" / "b"
    path = tmp_path / "acl.json"
    text = json.dumps({"dump": {"dump_path": str(folder), "dump_op_switch": "on"}})
    path.write_text(text, encoding="utf-8")

    assert cli_here("check", path, "--fix", "--yes").returncode == 1
    assert not folder.exists()
    assert cli_here("check", path, "--create-dirs").returncode == 1
    assert not folder.exists()
    done = cli_here("check", path, "--create-dirs", "--yes")
    assert done.returncode == 0
    assert str(folder) in done.stdout
    assert folder.is_dir()


def test_text_and_folder_are_repaired_together(cli_here, tmp_path):
    """The folder is that of the repaired text."""
    path = tmp_path / "acl.json"
    path.write_text(
        "{'dump': {'Dump_Path': '%s', 'dump_op_switch': 'ON'}}" % (tmp_path / "d"),
        encoding="utf-8",
    )
    done = cli_here("check", path, "--fix", "--create-dirs", "--yes")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "d").is_dir()


def test_folder_that_can_not_be_made_is_told(cli_here, tmp_path):
    """One line, and nothing written."""
    (tmp_path / "file").touch()
    path = tmp_path / "acl.json"
    text = json.dumps({"dump": {"dump_path": str(tmp_path / "file/d"), "dump_op_switch": "on"}})
    path.write_text(text, encoding="utf-8")
    done = cli_here("check", path, "--create-dirs", "--yes")
    assert done.returncode == 1
    assert "can't be repaired" in done.stderr
    assert "Traceback" not in done.stderr


def test_json_stays_one_object(cli_here, acl_json):
    """The difference goes to stderr."""
    done = cli_here("check", acl_json, "--fix", "--yes", "--format", "json")
    assert json.loads(done.stdout)["accepted"]
    assert '+  "err_msg_mode": "1"' in done.stderr


def test_standard_input_can_not_be_repaired(cli_here):
    """There is no file to write."""
    assert cli_here("check", "-", "--fix", stdin=BAD).returncode == 2


def test_no_control_character_of_a_file_reaches_the_terminal(cli_here, acl_json):
    """The difference shows it; the repaired file may hold it no longer."""
    acl_json.write_bytes(b"{} // \x1b[2J\x07")
    done = cli_here("check", acl_json, "--fix", "--yes")
    assert "\\x1b[2J" in done.stdout
    assert "\x1b" not in done.stdout


def test_several_files_are_repaired_at_once(cli_here, acl_json, tmp_path):
    """And a missing one is judged as ever."""
    other = tmp_path / "other.json"
    other.write_text("{,}", encoding="utf-8")
    done = cli_here("check", acl_json, other, tmp_path / "none.json", "--fix", "--yes")
    assert done.returncode == 1
    assert other.read_text(encoding="utf-8") == "{}"
    assert acl_json.read_text(encoding="utf-8") == GOOD
    assert "E101" in done.stdout
