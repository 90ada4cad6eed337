"""The fixtures, in a project that knows nothing but the installed package."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PROJECT = """
import pytest
from aclasync import acl_session, default_runtime

pytestmark = pytest.mark.anyio


async def test_runtime_is_fresh(acl_runtime):
    assert default_runtime() is acl_runtime
    async with acl_session({"err_msg_mode": "1"}) as session:
        assert session.backend_name == "embedded"


async def test_another_content_is_free_in_the_next_test(acl_runtime):
    async with acl_session({}):
        pass


async def test_factory(acl_session_factory):
    async with acl_session_factory({}, strict=True) as session:
        assert session.ref_count == 1


def test_library_is_loaded_only_when_used():
    pass
"""


@pytest.fixture
def installed() -> None:
    names = {point.name for point in entry_points(group="pytest11")}
    assert "aclasync" in names, "run the tests with `make test`, which installs the package"


def test_fixtures_work_in_a_user_s_project(installed: None, tmp_path: Path) -> None:
    """Found through the entry point, with no configuration."""
    (tmp_path / "test_project.py").write_text(PROJECT)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    # Three tests run on asyncio and on trio, one has no event loop.
    assert "7 passed" in done.stdout, done.stdout + done.stderr


def test_plugin_costs_nothing_until_a_fixture_is_used(installed: None, tmp_path: Path) -> None:
    """It is loaded in every project that has the package installed."""
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\n\ndef test_nothing():\n    assert 'aclasync.runtime' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
