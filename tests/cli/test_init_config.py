"""`aclasync init-config`: what it writes is accepted, and what it can't write it says."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from itertools import combinations

import pytest

from aclasync import resolve_config
from aclasync.config.recipes import KEYS_OF, Recipe, made_of
from aclasync.product import Product


@pytest.mark.parametrize("recipe", Recipe)
def test_every_recipe_is_accepted_without_a_warning(cli_here, recipe, tmp_path):
    """On Atlas A2, with its folder."""
    path = tmp_path / "acl.json"
    dumps = tmp_path / "dumps"
    folder = () if recipe is Recipe.PROFILING else ("--dump-path", dumps, "--create-dirs")
    done = cli_here("init-config", path, "--for", recipe, *folder)
    assert done.returncode == 0, done.stderr
    assert cli_here("check", path, "--strict").returncode == 0
    assert f"wrote {path}" in done.stdout


def test_recipes_are_all_there():
    """Those of the table are those of the option."""
    assert set(KEYS_OF) == set(Recipe)


@pytest.mark.parametrize("recipes", list(combinations(Recipe, 2)))
def test_two_recipes_go_together_or_are_refused(cli_here, recipes, tmp_path):
    """By the same rules as a file; what is refused is not written."""
    path = tmp_path / "acl.json"
    done = cli_here("init-config", path, "--for", recipes[0], "--for", recipes[1])
    tree = json.dumps(made_of(recipes)).encode()
    is_valid = resolve_config(tree, env={}, product=Product.ATLAS_A2).is_valid
    assert (done.returncode == 0) is is_valid
    assert path.exists() is is_valid
    assert is_valid or "do not go together" in done.stderr


def test_any_key_can_be_set(cli_here, tmp_path):
    """By name or place, with a value of its type."""
    path = tmp_path / "acl.json"
    done = cli_here(
        "init-config", path, "--for", "model-dump", "--device", "1",
        "--set", "aicore_stack_size=65536", "--set", "err_msg_mode=1",
        "--set", "dump.dump_data=stats", "--set", "dump_stats=Max,Min",
        "--set", 'dump_list=[{"model_name": "m"}]',
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(path.read_text()) == {
        "dump": {
            "dump_path": "./dump",
            "dump_mode": "all",
            "dump_list": [{"model_name": "m"}],
            "dump_data": "stats",
            "dump_stats": ["Max", "Min"],
        },
        "defaultDevice": {"default_device": "1"},
        "StackSize": {"aicore_stack_size": 65536},
        "err_msg_mode": "1",
    }


def test_notes_say_what_json_can_not(cli_here, tmp_path):
    """Beside the file, in the language; --no-notes leaves them out."""
    path = tmp_path / "acl.json"
    cli_here("init-config", path, "--for", "overflow-dump", "--lang", "zh")
    notes = (tmp_path / "acl.json.md").read_text(encoding="utf-8")
    assert "## dump.dump_debug  dump 溢出的算子" in notes
    assert '`"on"`' in notes
    other = tmp_path / "other.json"
    cli_here("init-config", other, "--no-notes", "--device", "0")
    assert not (tmp_path / "other.json.md").exists()


def test_file_that_is_there_is_kept(cli_here, tmp_path):
    """Unless --force is given; its notes, too."""
    path = tmp_path / "acl.json"
    path.write_text("mine", encoding="utf-8")
    done = cli_here("init-config", path, "--device", "0")
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert path.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "acl.json.md").exists()
    assert cli_here("init-config", path, "--device", "0", "--force").returncode == 0


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("dmp_mode=all", "did you mean dump_mode"),
        ("dump_mode", "KEY=VALUE"),
        ("pos=input0", "KEY=VALUE"),
        ("aicore_stack_size=64K", "no JSON"),
        ("dump_mode=everything", "none of input, output, all"),
    ],
)
def test_setting_that_is_none_is_refused(cli_here, tmp_path, setting, said):
    """With what was wrong; nothing is written."""
    path = tmp_path / "acl.json"
    done = cli_here("init-config", path, "--dump-path", tmp_path, "--set", setting)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not path.exists()


def test_folder_that_is_not_there_is_told(cli_here, tmp_path):
    """The file is written all the same."""
    done = cli_here("init-config", "acl.json", "--for", "model-dump")
    assert done.returncode == 0
    assert "E214" in done.stdout


def test_at_a_terminal_it_asks(child_environment, tmp_path):
    """Product, purpose, folder, device."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "aclasync", "init-config"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment,
        cwd=tmp_path,
    )
    os.close(theirs)
    os.write(ours, b"Ascend950PR\n9\n1, profiling\n/dumps\nx\n2\n")
    _, err = child.communicate(timeout=50)
    os.close(ours)
    assert child.returncode == 0, err
    written = json.loads((tmp_path / "acl.json").read_text())
    assert written["dump"]["dump_path"] == "/dumps"
    assert written["profiler"]["switch"] == "on"
    assert written["defaultDevice"] == {"default_device": "2"}
    assert "ASCEND_950" in (tmp_path / "acl.json.md").read_text()
