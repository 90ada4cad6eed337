"""Outputs become ranked answers, and lines that say how right they are."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from aclasync.cli.answers import (
    accuracy_line,
    answer_json,
    describe,
    output_json,
    print_answers,
    rank,
)
from aclasync.cli.inputs import Sample


def sample(name: str) -> Sample:
    return Sample(path=Path(name), inputs={}, preview=np.ones((2, 2), np.float32))


def scores(*rows: list[float]) -> dict[str, np.ndarray]:
    return {"probabilities": np.array(rows, np.float32)}


def printed(answers, width=80) -> str:
    out = Console(file=io.StringIO(), width=width)
    print_answers(out, answers)
    return out.file.getvalue()


def test_guesses_are_ranked_and_cut_at_top():
    """The best guess comes first and no more than asked for follow."""
    (answer,) = rank(sample("label2.png"), scores([0.1, 0.2, 0.7]), top=2)

    assert [guess.label for guess in answer.guesses] == [2, 1]
    assert answer.guesses[0].score == pytest.approx(0.7)
    assert answer.is_probability
    assert answer.is_right


def test_scores_that_do_not_add_up_are_not_called_probabilities():
    """Logits are shown as numbers, not as percent."""
    (answer,) = rank(sample("x.png"), scores([5.0, -2.0]), top=1)

    assert not answer.is_probability
    assert answer.is_right is None
    assert "%" not in printed([answer])


@pytest.mark.parametrize(
    "outputs",
    [
        {"a": np.zeros((1, 3), np.float32), "b": np.zeros((1, 3), np.float32)},
        {"image": np.zeros((1, 3, 8, 8), np.float32)},
        {"count": np.zeros((1, 3), np.int64)},
        {"value": np.zeros((1, 1), np.float32)},
    ],
)
def test_outputs_of_no_classifier_have_no_answer(outputs):
    """Several outputs, images, integers and single values are described instead."""
    assert rank(sample("x.png"), outputs, top=1) == []


def test_each_row_of_a_stack_is_an_answer():
    """A file with several images gives as many answers, numbered."""
    answers = rank(sample("x.npy"), scores([0.9, 0.1], [0.2, 0.8]), top=1)

    assert [(answer.row, answer.guesses[0].label) for answer in answers] == [(0, 0), (1, 1)]


def test_accuracy_counts_only_files_with_a_label():
    """A file that does not say what it shows is neither right nor wrong."""
    rows = {"label0.png": [0.9, 0.1], "label1_bad.png": [0.9, 0.1], "plain.png": [0.5, 0.5]}
    answers = [a for name, row in rows.items() for a in rank(sample(name), scores(row), top=1)]

    assert accuracy_line(answers) == "1 of 2 as the file names say (50.0%)"
    assert accuracy_line(answers[2:]) == ""


def test_picture_stands_above_its_answer():
    """Each card has the picture, the file's name, and the answer with its mark."""
    answers = rank(sample("label1.png"), scores([0.25, 0.75]), top=2)

    assert [line.strip() for line in printed(answers).splitlines()][:4] == [
        "██",
        "label1",
        "1 75.0% ✓",
        "0 25.0%",
    ]


def test_answer_as_json_has_no_picture():
    """JSON carries the numbers and the verdict."""
    (answer,) = rank(sample("label0.png"), scores([0.25, 0.75]), top=1)

    assert json.loads(json.dumps(answer_json(answer))) == {
        "input": "label0.png",
        "row": 0,
        "answer": 1,
        "expected": 0,
        "is_right": False,
        "scores": "probability",
        "top": [{"label": 1, "score": 0.75}],
    }


def test_output_as_json_has_no_nan():
    """What JSON can't say becomes null, so that any reader can read it."""
    described = output_json(np.array([1.0, np.nan, np.inf], np.float32))

    assert json.loads(json.dumps(described, allow_nan=False))["values"] == [1.0, None, None]


def test_large_output_is_described_not_listed():
    """A megabyte of numbers is nothing for a terminal."""
    array = np.zeros((100, 100), np.float32)

    assert "values" not in output_json(array)
    assert describe("y", array) == "y float32 [100, 100]  from 0 to 0, mean 0"
