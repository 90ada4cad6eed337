"""The digits example: the committed model, the script that made it, and the images beside it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest

if TYPE_CHECKING:
    from types import ModuleType

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def train() -> ModuleType:
    """Return the training script as a module; nothing in it runs at import."""
    pytest.importorskip("sklearn", exc_type=ModuleNotFoundError)
    spec = importlib.util.spec_from_file_location("digits_train", DIGITS / "train.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def accuracy_in_onnxruntime(path: Path, split) -> float:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (probabilities,) = session.run(["probabilities"], {"image": split.held_images})
    return float(np.mean(np.argmax(probabilities, axis=1) == split.held_labels))


def test_committed_model_reads_97_percent_of_the_held_back_digits(train):
    """The accuracy the example promises is reached by the file that is in the repository."""
    assert accuracy_in_onnxruntime(DIGITS / "digits.onnx", train.load_split()) >= 0.97


def test_committed_model_states_the_accuracy_it_reaches(train):
    """The metadata and the README carry the measured accuracy, not a wish."""
    stated = {p.key: p.value for p in onnx.load(DIGITS / "digits.onnx").metadata_props}
    measured = accuracy_in_onnxruntime(DIGITS / "digits.onnx", train.load_split())

    assert float(stated["held_back_accuracy"]) == pytest.approx(measured, abs=1e-4)
    assert f"**{measured * 100:.2f} %**" in (DIGITS / "README.md").read_text(encoding="utf-8")


def test_committed_model_is_small_and_its_layers_have_names():
    """The file stays under 300 KB and a dump can name every layer."""
    assert (DIGITS / "digits.onnx").stat().st_size < 300_000
    names = [node.name for node in onnx.load(DIGITS / "digits.onnx").graph.node]
    assert {"Dense1", "Relu1", "Dense2", "Softmax"} <= set(names)
    assert len(names) == len(set(names))


def test_split_is_fixed_and_covers_the_dataset(train):
    """Every run holds back the same images, and each image is in one of the two parts."""
    split, again = train.load_split(), train.load_split()

    assert len(split.train_images) + len(split.held_images) == 1797
    np.testing.assert_array_equal(split.held_images, again.held_images)


def test_training_again_gives_a_model_that_passes_too(train, tmp_path, monkeypatch, capsys):
    """The script still makes, from nothing, what is committed."""
    monkeypatch.setattr(sys, "argv", ["train.py", str(tmp_path)])

    assert train.main() == 0
    assert "held-back accuracy" in capsys.readouterr().out
    assert accuracy_in_onnxruntime(tmp_path / "digits.onnx", train.load_split()) >= 0.97
    assert {p.name for p in (tmp_path / "images").iterdir()} == {
        p.name for p in (DIGITS / "images").iterdir()
    }


def test_a_model_below_97_percent_is_refused(train, tmp_path, monkeypatch, capsys):
    """A poor model is not exported: nothing is written and the exit code says so."""
    monkeypatch.setattr(sys, "argv", ["train.py", str(tmp_path)])
    monkeypatch.setattr(train, "accuracy", lambda _model, _split: 0.9699)

    assert train.main() == 1
    assert "refused" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_images_decode_to_the_held_back_digits(train):
    """Each picture is the dataset's image again once a white pixel is read as 16."""
    image = pytest.importorskip("PIL.Image", exc_type=ModuleNotFoundError)
    split = train.load_split()
    paths = sorted((DIGITS / "images").glob("*.png"))

    assert len(paths) == train.IMAGE_COUNT
    for path, index in zip(paths, train.chosen(split), strict=True):
        with image.open(path) as picture:
            assert picture.mode == "L"
            ink = np.rint(np.asarray(picture, np.float32) * (16 / 255))
        np.testing.assert_array_equal(ink, split.held_images[index, 0])
        assert path.stem.endswith(f"label{split.held_labels[index]}")


def test_config_is_json_that_needs_no_folder():
    """The demo's acl.json names no path, so it works in a fresh checkout."""
    config = json.loads((DIGITS / "acl.json").read_text(encoding="utf-8"))

    assert "dump" not in config
    assert "profiler" not in config
