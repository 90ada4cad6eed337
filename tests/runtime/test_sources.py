"""Which file a path means, and when it counts as the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aclasync import ConfigMismatchError, Runtime, acl_session


async def test_relative_path_means_what_it_did_at_the_call(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the working directory is another one when the session is entered."""
    (tmp_path / "acl.json").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    session = acl_session("acl.json")
    monkeypatch.chdir(tmp_path / "elsewhere")
    async with session:
        assert runtime.statistics().config_source == str(tmp_path / "acl.json")


async def test_file_changed_in_place_with_its_old_time_is_another_content(
    runtime: Runtime, tmp_path: Path
) -> None:
    """As tools that copy files with their times do."""
    path = tmp_path / "acl.json"

    def put(text: str) -> None:
        path.write_text(text)
        os.utime(path, (1e9, 1e9))

    put('{"err_msg_mode": "1"}')
    async with acl_session(path):
        put('{"err_msg_mode": "0"}')
        with pytest.raises(ConfigMismatchError, match="changed"):
            await acl_session(path)
