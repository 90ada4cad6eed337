"""`aclasync check`: verdicts on configurations, by exit code and by finding."""

from __future__ import annotations

import json

import pytest

from .conftest import DIGITS

GOOD = '{"err_msg_mode": "1"}'
BAD = '{\n  "err_msg_mode": 1\n}'
ODD = '{"err_msg_mod": "1"}'


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a configuration and returns its path."""

    def write_text(text: str, name: str = "acl.json"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


def test_committed_demo_configuration_is_clean_for_its_product(cli_here):
    """No error and no warning on Atlas A2."""
    done = cli_here("check", DIGITS / "acl.json", "--product", "A2", "--strict")

    assert done.returncode == 0
    assert "no errors, no warnings for ATLAS_A2" in done.stdout


def test_error_exits_1_and_names_file_line_path_and_number(cli_here, write):
    """A finding can be clicked, searched and acted upon."""
    path = write(BAD)
    done = cli_here("check", path)

    assert done.returncode == 1
    assert f"{path}:2:" in done.stdout
    assert "$.err_msg_mode: " in done.stdout
    assert "100000 INVALID_PARAM" in done.stdout
    assert "1 error, no warnings" in done.stdout


def test_warning_is_accepted_unless_strict(cli_here, write):
    """A misspelt key does no harm but is said; --strict refuses it."""
    path = write(ODD)
    lenient, strict = cli_here("check", path), cli_here("check", path, "--strict")

    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert "no errors, 1 warning" in lenient.stdout
    assert "err_msg_mode" in lenient.stdout


def test_every_file_is_judged_and_one_bad_one_decides(cli_here, write):
    """Several files are checked in one go."""
    good, bad = write(GOOD, "good.json"), write(BAD, "bad.json")
    done = cli_here("check", good, bad)

    assert done.returncode == 1
    assert "good.json: no errors" in done.stdout
    assert "bad.json: 1 error" in done.stdout


def test_standard_input_is_checked_as_a_file(cli_here):
    """`-` reads standard input and says so in its findings."""
    done = cli_here("check", "-", stdin=BAD)

    assert done.returncode == 1
    assert "<stdin>:2:" in done.stdout
    assert cli_here("check", "-", stdin=GOOD).returncode == 0


def test_standard_input_can_be_named_only_once(cli_here):
    """There is nothing left to read the second time."""
    assert cli_here("check", "-", "-", stdin=GOOD).returncode == 2


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_file_that_can_not_be_read_is_a_finding(cli_here, name):
    """A missing file and a folder are judged as the reference does, with its number."""
    done = cli_here("check", name)

    assert done.returncode == 1
    assert "100003 INVALID_FILE" in done.stdout
    assert "Traceback" not in done.stderr


def test_verbose_shows_effective_values(cli_here, write):
    """-v adds what is in force and where it came from."""
    path = write(GOOD)
    quiet, verbose = cli_here("check", path), cli_here("check", "-v", path)

    assert quiet.returncode == verbose.returncode == 0
    assert "[info " not in quiet.stdout
    assert "$.err_msg_mode: 1 (configuration" in verbose.stdout
    assert "[info " in verbose.stdout


def test_product_decides_and_is_known_by_tag_name_and_soc(cli_here, write):
    """The same file is judged for the product that is asked about, however it is called."""
    path = write('{"StackSize": {"simt_stack_size": 256}}')

    for name in ("950", "ascend_950", "Ascend950PR_9599"):
        done = cli_here("check", path, "--product", name, "--format", "json")
        assert json.loads(done.stdout)["product"] == "ASCEND_950"
        assert json.loads(done.stdout)["files"][0]["warnings"] == 0

    other = cli_here("check", path, "--product", "A2", "--format", "json")
    assert json.loads(other.stdout)["files"][0]["warnings"] > 0


def test_json_carries_every_finding(cli_here, write):
    """For editors and CI: positions and numbers as fields."""
    path = write(BAD)
    done = cli_here("check", path, "--format", "json")
    said = json.loads(done.stdout)

    assert done.returncode == 1
    assert not said["accepted"]
    (file,) = said["files"]
    assert (file["file"], file["accepted"], file["errors"]) == (str(path), False, 1)
    assert (file["acl_code"], file["acl_name"]) == (100000, "INVALID_PARAM")
    (finding,) = [f for f in file["findings"] if f["severity"] == "error"]
    assert (finding["path"], finding["line"], finding["acl_code"]) == (
        "$.err_msg_mode",
        2,
        100000,
    )
    assert finding["message"]
    assert finding["hint"]


def test_standard_output_that_can_not_say_a_character_says_something_else(cli, write):
    """An ASCII terminal gets a question mark, not a crash."""
    path = write('{"größe": 1}')
    done = cli("check", path, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})

    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_json_has_effective_values_as_objects(cli_here, write):
    """With the key or the variable that each is from; what is no place is null."""
    path = write('{"err_msg_mode": "1", "dump": {"dump_path": "/tmp", "dump_op_switch": "on"}}')
    env = {"ASCEND_RT_VISIBLE_DEVICES": "1,0"}
    (file,) = json.loads(cli_here("check", path, "--format", "json", env=env).stdout)["files"]

    mode, stack = file["effective"]["err_msg_mode"], file["effective"]["aicore_stack_bytes"]
    assert mode == {"value": 1, "origin": "configuration", "from": "$.err_msg_mode"}
    assert (stack["origin"], stack["from"]) == ("default", None)
    assert file["effective"]["dump"]["value"]["kernel_data"] == ["all"]
    assert all(finding["code"] != "I001" for finding in file["findings"])
    (variable,) = [f for f in file["findings"] if f["code"] == "W041"]
    assert (variable["file"], variable["line"], variable["column"]) == ("environment", None, None)
