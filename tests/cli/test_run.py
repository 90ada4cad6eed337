"""`aclasync run`: the main job, from acl.json to answers."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from .conftest import DIGITS

MODEL = DIGITS / "digits.onnx"
CONFIG = DIGITS / "acl.json"
IMAGES = sorted((DIGITS / "images").glob("*.png"))


@pytest.fixture
def doubler(tmp_path):
    """Return the path of a model with two inputs that is no classifier."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["sum"], name="Add")],
        "adder",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "ab"],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["n"])],
    )
    opset = helper.make_opsetid("", 17)
    path = tmp_path / "adder.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def test_demo_reads_its_digits_and_says_on_what(cli):
    """The main job: every picture beside its answer, the score, and the session's facts."""
    done = cli("run", "--config", CONFIG, "--model", MODEL, "--input", *IMAGES)

    assert (done.returncode, done.stderr) == (0, "")
    for image in IMAGES:
        assert image.stem in done.stdout
    assert "12 of 12 as the file names say (100.0%)" in done.stdout
    assert "backend embedded: cann not used: " in done.stdout
    assert "product ATLAS_A2, device 0" in done.stdout
    assert "log flush drained: 0 lines delivered, 0 left" in done.stdout
    assert "█" in done.stdout


def test_json_carries_answers_and_session(cli):
    """For programs: the same facts as numbers."""
    done = cli(
        "run", "--config", CONFIG, "--model", MODEL, "--top", 3, "--format", "json",
        "--input", *IMAGES[:2],
    )  # fmt: skip
    said = json.loads(done.stdout)

    assert done.returncode == 0
    assert [answer["answer"] for answer in said["answers"]] == [0, 1]
    assert [len(answer["top"]) for answer in said["answers"]] == [3, 3]
    assert (said["judged"], said["right"]) == (2, 2)
    assert said["outputs"][0]["outputs"]["probabilities"]["shape"] == [1, 10]
    assert said["session"]["backend"] == "embedded"
    assert said["session"]["product"] == "ATLAS_A2"
    assert said["session"]["device"] == 0
    assert said["session"]["flush"]["outcome"] == "drained"


def test_order_of_answers_is_the_order_of_files(cli):
    """Options may stand between files; what comes first is answered first."""
    chosen = [IMAGES[3], IMAGES[1], IMAGES[2]]
    done = cli("run", "--input", *chosen, "--format", "json", "--model", MODEL)

    answers = json.loads(done.stdout)["answers"]
    assert [answer["input"] for answer in answers] == [str(path) for path in chosen]


def test_arrays_give_answers_row_by_row(cli, tmp_path):
    """A .npy with several images is one execution and several answers."""
    np.save(tmp_path / "two.npy", np.zeros((2, 1, 8, 8), np.float32))
    done = cli("run", "--model", MODEL, "--input", tmp_path / "two.npy")

    assert done.returncode == 0
    assert "two.npy[0]" in done.stdout
    assert "two.npy[1]" in done.stdout


def test_outputs_that_are_no_classes_are_described(cli, tmp_path, doubler):
    """Any model can be run; what it returns is told by name, type and shape."""
    np.savez(tmp_path / "ab.npz", a=np.ones(3, np.float32), b=np.ones(3, np.float32))
    done = cli("run", "--model", doubler, "--input", tmp_path / "ab.npz")

    assert done.returncode == 0
    assert "sum float32 [3]  from 2 to 2, mean 2" in done.stdout


def test_resized_picture_is_told(cli, tmp_path):
    """A picture of another size is used, and stderr says what was done to it."""
    image = pytest.importorskip("PIL.Image", exc_type=ModuleNotFoundError)
    image.new("L", (20, 10)).save(tmp_path / "large.png")
    done = cli("run", "--model", MODEL, "--input", tmp_path / "large.png")

    assert done.returncode == 0
    assert "resized from 20x10 to 8x8" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        (("--config", "missing.json", "--model", MODEL), "100003 INVALID_FILE"),
        (("--model", "missing.onnx"), "100003 INVALID_FILE"),
        (("--model", CONFIG), "100013 PARSE_MODEL"),
        (("--model", MODEL, "--device", 9), "107001"),
        (("--model", MODEL, "--backend", "cann"), "500000 INTERNAL_ERROR"),
    ],
)
def test_acl_errors_are_a_block_with_the_number(cli, arguments, number):
    """What happened, which call, which number; exit code 1; no traceback."""
    done = cli("run", *arguments, "--input", IMAGES[0])

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert f"number  {number}" in done.stderr
    assert "Traceback" not in done.stderr


def test_acl_errors_as_json_carry_the_number(cli):
    """With --format json an error is the one object on stdout."""
    done = cli("run", "--model", "missing.onnx", "--input", IMAGES[0], "--format", "json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == 100003


def test_file_that_does_not_fit_is_an_error_without_a_number(cli, tmp_path):
    """A picture for a model without images is told in one line."""
    (tmp_path / "broken.png").write_bytes(b"no picture")
    done = cli("run", "--model", MODEL, "--input", tmp_path / "broken.png")

    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "broken.png" in done.stderr
    assert "Traceback" not in done.stderr


def test_traceback_is_shown_only_when_asked_for(cli):
    """--traceback is for those who look for a fault in the code."""
    done = cli("run", "--model", "missing.onnx", "--input", IMAGES[0], "--traceback")

    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_backend_named_by_the_environment_is_told(cli):
    """Why a backend was taken is part of the answer."""
    done = cli("run", "--model", MODEL, "--input", IMAGES[0], env={"ACLASYNC_BACKEND": "embedded"})

    assert "backend embedded: named by ACLASYNC_BACKEND" in done.stdout


def test_running_leaves_nothing_in_the_working_folder(cli, tmp_path):
    """No file is written behind the user's back."""
    assert cli("run", "--config", CONFIG, "--model", MODEL, "--input", IMAGES[0]).returncode == 0
    assert list((tmp_path / "cwd").iterdir()) == []


def test_findings_of_the_configuration_are_told(cli, tmp_path):
    """A misspelt key is accepted, but not in silence: once on stderr, and in the JSON."""
    path = tmp_path / "odd.json"
    path.write_text('{"err_msg_mod": "1"}')
    arguments = ("run", "--config", path, "--model", MODEL, "--input", IMAGES[0])
    done = cli(*arguments)
    assert done.returncode == 0
    assert done.stderr.count("did you mean err_msg_mode?") == 1
    assert done.stderr.startswith(f"warning: {path}:1:2: $.err_msg_mod: ")

    (finding,) = json.loads(cli(*arguments, "--format", "json").stdout)["findings"]
    assert (finding["code"], finding["line"], finding["column"]) == ("W001", 1, 2)


def test_error_without_a_number_has_the_shape_of_any_other(cli, tmp_path):
    """A reader of the JSON needs one shape, with null for what there is not."""
    (tmp_path / "broken.png").write_bytes(b"no picture")
    common = ("run", "--format", "json", "--model")
    without = cli(*common, MODEL, "--input", tmp_path / "broken.png")
    numbered = cli(*common, "missing.onnx", "--input", IMAGES[0])
    error, other = (json.loads(done.stdout)["error"] for done in (without, numbered))

    assert list(error) == list(other)
    assert (error["code"], error["name"], error["function"]) == (None, None, None)
