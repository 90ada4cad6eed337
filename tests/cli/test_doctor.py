"""`aclasync doctor`: the machine's facts, and no more than that."""

from __future__ import annotations

import json

import pytest

from aclasync.config import ENVIRONMENT_NAMES

from .conftest import DIGITS


def test_every_candidate_is_listed_with_its_reason(cli_here):
    """Nobody has to guess why a backend is not used."""
    done = cli_here("doctor", "--format", "json")
    said = {backend["name"]: backend for backend in json.loads(done.stdout)["backends"]}

    assert done.returncode == 0
    assert list(said) == ["cann", "embedded"]
    assert not said["cann"]["is_usable"]
    assert "ASCEND_HOME_PATH is not set" in said["cann"]["reason"]
    assert said["embedded"]["is_usable"]


def test_every_variable_is_listed_with_its_purpose(cli_here):
    """The list is the library's own, and each entry says what it does."""
    said = json.loads(cli_here("doctor", "--format", "json").stdout)["environment"]

    assert set(said) == set(ENVIRONMENT_NAMES)
    assert all(variable["purpose"] for variable in said.values())


def test_other_variables_are_never_shown(cli_here):
    """The output can be pasted into a bug report."""
    env = {"MY_PASSWORD": "hunter2", "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "1234"}
    for form in ("text", "json"):
        said = cli_here("doctor", "--format", form, env=env).stdout
        assert "hunter2" not in said
        assert "MY_PASSWORD" not in said
        assert "1234" in said


def test_versions_and_places_are_shown(cli_here, tmp_path):
    """What a bug report needs: versions, devices, the log folder."""
    said = cli_here("doctor", env={"ACLASYNC_DEVICES": "3"}).stdout

    for package in ("python", "aclasync", "anyio", "attrs", "cattrs", "numpy", "onnxruntime"):
        assert f"  {package} " in said
    assert "3 embedded, all visible" in said
    assert str(tmp_path / "log") in said


def test_hidden_devices_are_shown(cli_here):
    """The visible-device variable renumbers devices, so it is spelt out."""
    env = {"ACLASYNC_DEVICES": "4", "ASCEND_RT_VISIBLE_DEVICES": "1,3"}

    assert "4 embedded, visible: 1, 3" in cli_here("doctor", env=env).stdout


def test_variable_that_can_not_be_used_is_told(cli_here):
    """A value that is ignored is no secret."""
    said = cli_here("doctor", env={"ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "soon"}).stdout

    assert "warning W" in said
    assert "soon" in said


@pytest.mark.parametrize(
    ("env", "number"),
    [
        ({"ASCEND_RT_VISIBLE_DEVICES": "3"}, 107001),
        ({"ACLASYNC_BACKEND": "cann"}, 500000),
        ({"ACLASYNC_BACKEND": "gpu"}, 500000),
        ({}, None),
    ],
)
def test_verdict_is_that_of_a_session(cli_here, env, number):
    """What the doctor lets pass, `run` can open; and the other way round."""
    done = cli_here("doctor", "--format", "json", env=env)
    error = json.loads(done.stdout)["error"]
    image, model = DIGITS / "images" / "00_label0.png", DIGITS / "digits.onnx"
    run = cli_here("run", "--model", model, "--input", image, "--format", "json", env=env)

    assert done.returncode == run.returncode == (0 if number is None else 1)
    assert error == json.loads(run.stdout).get("error")
    assert (error or {}).get("code") == number
    text = cli_here("doctor", env=env)
    assert text.returncode == done.returncode
    assert ("A session would be refused here" in text.stdout) is (number is not None)
