"""Findings for code scanning and for GitHub's workflows; hooks for pre-commit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BAD = '{\n  "err_msg_mode": 1,\n  "größe, %": 1\n}\n'


@pytest.fixture
def acl_json(cli_here):
    """Return a configuration in the working directory of the command."""
    path = Path("acl config.json")
    path.write_text(BAD, encoding="utf-8")
    return path


def test_sarif_has_rules_and_places(cli_here, acl_json):
    """As code scanning reads them."""
    done = cli_here("check", acl_json, "--format", "sarif")
    log = json.loads(done.stdout)
    (run,) = log["runs"]

    assert done.returncode == 1
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["E302", "W001"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]

    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert (first["ruleId"], first["level"]) == ("E302", "error")
    assert place["artifactLocation"]["uri"] == "acl%20config.json"
    assert place["region"] == {"startLine": 2, "startColumn": 19}
    assert "write it in quotes" in first["message"]["text"]


def test_sarif_of_an_absolute_path_is_relative_to_the_checkout(cli_here, acl_json):
    """Or a file's URI, if it is elsewhere; what has no line has no region."""

    def uri(path):
        log = json.loads(cli_here("check", path, "--format", "sarif").stdout)
        place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        return place["artifactLocation"]["uri"], "region" in place

    assert uri(acl_json.resolve()) == ("acl%20config.json", True)
    assert uri("/nowhere/acl.json") == ("file:///nowhere/acl.json", False)


def test_sarif_of_a_clean_file_has_no_result(cli_here, acl_json):
    """And is a log all the same."""
    acl_json.write_text("{}", encoding="utf-8")
    done = cli_here("check", acl_json, "--format", "sarif")
    assert done.returncode == 0
    assert json.loads(done.stdout)["runs"][0]["results"] == []


def test_sarif_speaks_the_language(cli_here, acl_json):
    """Rules and results."""
    log = json.loads(cli_here("check", acl_json, "--format", "sarif", "--lang", "zh").stdout)
    driver = log["runs"][0]["tool"]["driver"]
    assert driver["language"] == "zh-CN"
    assert "请加上引号" in driver["rules"][0]["help"]["text"]


def test_github_annotations_are_escaped_commands(cli_here, acl_json):
    """One a line, whatever is in a message or a name."""
    done = cli_here("check", acl_json, "--format", "github")
    lines = done.stdout.splitlines()

    assert done.returncode == 1
    assert lines[0].startswith(
        "::error file=acl config.json,title=aclasync E302,line=2,col=19::$.err_msg_mode: must be"
    )
    assert lines[1].startswith("::warning file=acl config.json,title=aclasync W001,line=3,col=3::")
    assert "%25" in lines[1]
    name = Path("acl,a:b.json")
    name.write_text("[]", encoding="utf-8")
    (line,) = cli_here("check", name, "--format", "github").stdout.splitlines()
    assert line.startswith("::warning file=acl%2Ca%3Ab.json,title=")


def test_hooks_run_commands_that_there_are(cli_here, tmp_path):
    """The entries of .pre-commit-hooks.yaml, with a file as pre-commit gives it."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"^  entry: aclasync (.+)$", text, re.MULTILINE)
    (pattern,) = set(re.findall(r"^  files: (.+)$", text, re.MULTILINE))
    assert entries == ["check", "check --fix --yes"]
    path = tmp_path / "acl.json"
    path.write_text('{"err_msg_mode": 1}', encoding="utf-8")
    assert [cli_here(*entry.split(), path).returncode for entry in entries] == [1, 0]
    assert path.read_text(encoding="utf-8") == '{"err_msg_mode": "1"}'
    for name, is_ours in {"acl.json": 1, "a/acl_dev.json": 1, "package.json": 0}.items():
        assert bool(re.search(pattern, name)) == bool(is_ours)
