"""A command line in a process of its own, as users start it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aclasync.cli.app import app

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits"

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def child_environment(tmp_path: Path) -> dict[str, str]:
    """Return this process's variables without those that change what a command does."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ASCEND_", "ACLASYNC_", "NPU_", "PROFILER_"))
        and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    kept["LC_ALL"] = "C.UTF-8"
    return kept | {"ASCEND_PROCESS_LOG_PATH": str(tmp_path / "log"), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def cli(tmp_path: Path, child_environment: dict[str, str]) -> Cli:
    """Return a function that runs `aclasync ARGUMENTS` in an empty folder."""
    folder = tmp_path / "cwd"
    folder.mkdir()

    def run(
        *arguments: object, stdin: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "aclasync", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=folder,
            env=child_environment | (env or {}),
            check=False,
        )

    return run


@pytest.fixture
def cli_here(
    tmp_path: Path, child_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """Return a function as `cli` gives it, for what needs no process of its own."""
    for name in set(os.environ) - set(child_environment):
        monkeypatch.delenv(name)

    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", child_environment["ASCEND_PROCESS_LOG_PATH"])
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(
        *arguments: object, stdin: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        texts = [*map(str, arguments)]
        done = CliRunner().invoke(app, texts, input=stdin, env=env, catch_exceptions=False)
        return subprocess.CompletedProcess(texts, done.exit_code, done.stdout, done.stderr)

    return run
