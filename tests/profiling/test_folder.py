"""Where a session goes, and what happens when a place can't be used."""

from __future__ import annotations

import sys

import pytest

from aclasync import AclCode, BackendError, acl_session
from aclasync.profiling.folder import make_session_folder
from aclasync.testing import fresh_runtime

from .conftest import only_session


@pytest.fixture
def interpreter_folder(tmp_path, monkeypatch):
    """Pretend that the interpreter lies in a folder of ours."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    return folder


def test_output_is_made_and_comes_first(tmp_path, interpreter_folder):
    """Relative to the working directory, with all the folders above it."""
    output = tmp_path / "a" / "b"
    assert make_session_folder(str(output), str(tmp_path / "work")).folder.parent == output
    assert not (tmp_path / "work").exists()


def test_relative_output_is_made_absolute(tmp_path, interpreter_folder, monkeypatch):
    """A later change of the working directory moves nothing."""
    monkeypatch.chdir(tmp_path)
    assert make_session_folder("here", None).folder.parent == tmp_path / "here"


def test_work_path_then_the_interpreter_s_folder(tmp_path, interpreter_folder):
    """As the reference has it."""
    work = tmp_path / "work"
    assert make_session_folder(None, str(work)).folder.parent == work / "profiling_data"
    assert make_session_folder(None, None).folder.parent == interpreter_folder


@pytest.mark.parametrize("output", ["file/below", "nul\0", "x" * 300])
async def test_unusable_output_falls_back_with_a_warning(
    tmp_path, interpreter_folder, monkeypatch, caplog, output
):
    """The reference says nothing; here the place, the reason and the other place are named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    place = make_session_folder(output, str(tmp_path / "work"))
    assert place.folder.parent == interpreter_folder
    ((where, why),) = place.refused
    assert where.startswith("output ")
    assert why
    if "\0" not in output:
        with fresh_runtime():
            async with acl_session({"profiler": {"switch": "on", "output": output}}):
                pass

        assert f"can't use output {output}" in caplog.text
        assert str(interpreter_folder) in caplog.text


async def test_no_place_at_all_fails_init_by_the_reference_s_number(tmp_path, monkeypatch):
    """100000, with every place and its reason; nothing is left open."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "file" / "python"))
    config = {"profiler": {"switch": "on", "output": str(tmp_path / "file" / "x")}}
    with fresh_runtime() as runtime:
        with pytest.raises(BackendError, match=r"output .*Not a directory; the interpreter") as e:
            async with acl_session(config):
                pass

        assert e.value.code is AclCode.INVALID_PARAM
        assert runtime.statistics().ref_count == 0


async def test_link_in_the_place_of_a_file_is_not_followed(runtime, tmp_path, output, caplog):
    """The summary is not written through it."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    async with acl_session({"profiler": {"switch": "on", "output": str(output)}}):
        (only_session(output) / "op_summary.csv").symlink_to(victim)

    assert victim.read_text() == "mine"
    assert "can't write the summary" in caplog.text
