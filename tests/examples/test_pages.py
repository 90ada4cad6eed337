"""Every Python block of the README and the docs, run as a reader would: where the example is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("README*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {
    f"{page.relative_to(ROOT)}-{number}": block
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    )
}
TESTS = {name: block for name, block in BLOCKS.items() if "import pytest" in block}
#: Without the one that shows what there was before, which needs CANN.
PROGRAMS = {
    name: block
    for name, block in BLOCKS.items()
    if name not in TESTS and "import acl  #" not in block
}


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


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_of_a_page_runs(tmp_path: Path, name: str) -> None:
    """As it stands, and without a warning."""
    block = PROGRAMS[name]
    assert "run(main" in block, "a block that only defines something proves nothing"
    done = run_in_example(tmp_path, block, "-W", "error", "test_block.py")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", TESTS)
def test_tests_of_a_page_pass(tmp_path: Path, name: str) -> None:
    """With nothing but the installed package and pytest."""
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", ".")
    done = run_in_example(tmp_path, TESTS[name], *command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout, done.stdout
