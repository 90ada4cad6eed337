"""Train the digits demo: a small classifier on scikit-learn's handwritten digits, as ONNX.

Writes `digits.onnx` and a dozen held-back digits as PNG. Refuses to write a model that reads less
than 97 % of the held-back part correctly. Knows nothing of aclasync.

The model's input is `image`, float32 [batch, 1, 8, 8], with ink from 0 to 16 as in the dataset; its
output is `probabilities`, float32 [batch, 10]. The metadata key `aclasync.input_scale` tells a
reader of image files what number a white pixel stands for: 16.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

SEED = 0
REQUIRED_ACCURACY = 0.97
INK = 16  # the dataset's darkest pixel
IMAGE_COUNT = 12
# Old enough for every onnxruntime from 1.22 on; the graph needs nothing newer.
OPSET, IR_VERSION = 17, 8


class Split(NamedTuple):
    """The dataset in two fixed parts; images are float32 [n, 1, 8, 8] from 0 to 16."""

    train_images: np.ndarray
    held_images: np.ndarray
    train_labels: np.ndarray
    held_labels: np.ndarray


def load_split() -> Split:
    """Return the dataset with a quarter of every digit held back, always the same quarter."""
    digits = load_digits()
    images = digits.images.astype(np.float32)[:, np.newaxis]
    parts = train_test_split(
        images, digits.target, test_size=0.25, stratify=digits.target, random_state=SEED
    )
    return Split(*parts)


def shifted(images: np.ndarray) -> np.ndarray:
    """Return the images and their copies moved by one pixel in each direction."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    corners = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    return np.concatenate([padded[:, :, y : y + 8, x : x + 8] for y, x in corners])


def fit(split: Split) -> MLPClassifier:
    """Train on the training part alone; the same machine gives the same weights every time."""
    images = shifted(split.train_images)
    classifier = MLPClassifier(
        (128,), alpha=0.1, learning_rate_init=2e-3, max_iter=60, random_state=SEED
    )
    with warnings.catch_warnings():
        # Sixty rounds are meant: the held-back part judges the result, not the training loss.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier.fit(images.reshape(len(images), -1) / INK, np.tile(split.train_labels, 5))


def to_onnx(classifier: MLPClassifier) -> onnx.ModelProto:
    """Write the fitted weights down as a graph whose nodes carry readable names."""
    constants = {"scale": np.float32(1 / INK)}
    for layer, (weight, bias) in enumerate(
        zip(classifier.coefs_, classifier.intercepts_, strict=True), start=1
    ):
        constants[f"weight{layer}"] = weight.astype(np.float32)
        constants[f"bias{layer}"] = bias.astype(np.float32)

    nodes = [
        ("Flatten", "Flatten", ["image"], "pixels"),
        ("Mul", "Scale", ["pixels", "scale"], "scaled"),
        ("MatMul", "Dense1", ["scaled", "weight1"], "dense1"),
        ("Add", "Bias1", ["dense1", "bias1"], "hidden"),
        ("Relu", "Relu1", ["hidden"], "relu1"),
        ("MatMul", "Dense2", ["relu1", "weight2"], "dense2"),
        ("Add", "Bias2", ["dense2", "bias2"], "logits"),
        ("Softmax", "Softmax", ["logits"], "probabilities"),
    ]
    graph = helper.make_graph(
        [helper.make_node(op, inputs, [out], name=name) for op, name, inputs, out in nodes],
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="aclasync digits example",
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def accuracy(model: onnx.ModelProto, split: Split) -> float:
    """Return the share of the held-back part that the exported graph itself reads correctly."""
    (probabilities,) = ReferenceEvaluator(model).run(None, {"image": split.held_images})
    return float(np.mean(np.argmax(probabilities, axis=1) == split.held_labels))


def chosen(split: Split) -> list[int]:
    """Return which held-back digits become images: the first of each label, then the next ones."""
    first = [int(np.flatnonzero(split.held_labels == label)[0]) for label in range(10)]
    others = [index for index in range(len(split.held_labels)) if index not in first]
    return [*first, *others][:IMAGE_COUNT]


def write_images(split: Split, folder: Path) -> None:
    """Write some held-back digits as PNG, white ink on black, the label in the name."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, index in enumerate(chosen(split)):
        pixels = np.rint(split.held_images[index, 0] * (255 / INK)).astype(np.uint8)
        label = split.held_labels[index]
        Image.fromarray(pixels).save(folder / f"{number:02}_label{label}.png")


def main() -> int:
    """Train, measure, and write into the folder of this file or the one that was named."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    folder = parser.parse_args().folder

    split = load_split()
    model = to_onnx(fit(split))
    reached = accuracy(model, split)
    print(f"held-back accuracy: {reached:.2%} of {len(split.held_labels)} digits")
    if reached < REQUIRED_ACCURACY:
        print(f"refused: at least {REQUIRED_ACCURACY:.0%} is required; nothing was written")
        return 1

    helper.set_model_props(
        model, {"aclasync.input_scale": str(INK), "held_back_accuracy": f"{reached:.4f}"}
    )
    write_images(split, folder / "images")
    target = folder / "digits.onnx"
    onnx.save(model, target)
    print(f"wrote {target} ({target.stat().st_size / 1024:.0f} KiB) and {IMAGE_COUNT} images")
    return 0


if __name__ == "__main__":
    sys.exit(main())
