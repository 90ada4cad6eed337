"""Every Python block of the README, run as its reader would: in the folder of the example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
TESTS = [block for block in BLOCKS if "import pytest" in block]
#: Without the one that shows what there was before, which needs CANN.
PROGRAMS = [block for block in BLOCKS if block not in TESTS and "import acl  #" not in block]


def run_in_example(folder: Path, block: str, *command: str) -> subprocess.CompletedProcess[str]:
    shutil.copytree(ROOT / "examples" / "digits", folder / "digits")
    (folder / "digits" / "test_block.py").write_text(block, encoding="utf-8")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "ACLASYNC_"))}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder / "digits",
        env=env | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("block", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program_of_the_readme_runs(tmp_path: Path, block: str) -> None:
    """As it stands, and without a warning."""
    assert "run(main" in block, "a block that only defines something proves nothing"
    done = run_in_example(tmp_path, block, "-W", "error", "test_block.py")
    assert (done.returncode, done.stderr) == (0, "")


def test_tests_of_the_readme_pass(tmp_path: Path) -> None:
    """With nothing but the installed package and pytest."""
    (block,) = TESTS
    done = run_in_example(tmp_path, block, "-m", "pytest", "-q", "-p", "no:cacheprovider", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout, done.stdout
