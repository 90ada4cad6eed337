"""What a model returned, ranked and drawn. Knows nothing of sessions, devices or files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import frozen
from rich.columns import Columns
from rich.text import Text

from .inputs import Array, Sample, block_characters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

_JSON_VALUES = 4096  # larger outputs are described, not listed


@final
@frozen(kw_only=True)
class Guess:
    """One class and the model's number for it."""

    label: int
    score: float


@final
@frozen(kw_only=True)
class Answer:
    """One row of a classifier's output, with the best guess first."""

    sample: Sample
    row: int
    guesses: tuple[Guess, ...]
    #: Whether the scores of a row add up to one.
    is_probability: bool

    @property
    def is_right(self) -> bool | None:
        """Whether the best guess is the label in the file's name; None without such a label."""
        expected = self.sample.expected
        return None if expected is None else self.guesses[0].label == expected


def rank(sample: Sample, outputs: Mapping[str, Array], *, top: int) -> list[Answer]:
    """Return an answer per row if the outputs are those of a classifier, else nothing."""
    if len(outputs) != 1:
        return []

    (scores,) = outputs.values()
    if scores.ndim != 2 or scores.shape[1] < 2 or not np.issubdtype(scores.dtype, np.floating):
        return []

    adds_up = np.allclose(scores.sum(axis=1), 1, atol=1e-3)
    is_probability = adds_up and float(scores.min(initial=0)) >= 0
    return [
        Answer(
            sample=sample,
            row=row,
            guesses=tuple(
                Guess(label=int(label), score=float(scores[row, label]))
                for label in np.argsort(scores[row])[::-1][:top]
            ),
            is_probability=is_probability,
        )
        for row in range(len(scores))
    ]


def print_answers(out: Console, answers: Sequence[Answer]) -> None:
    """Print each picture above its answer, side by side, and answers without a picture as lines."""
    cards = [
        _card(answer, block_characters(preview))
        for answer in answers
        if (preview := answer.sample.preview) is not None
    ]
    if cards:
        out.print(Columns(cards, padding=(0, 3), equal=True))

    for answer in answers:
        if answer.sample.preview is None:
            line = Text(f"{answer.sample.path}[{answer.row}]  ", no_wrap=True)
            out.print(line.append_text(Text("   ").join(_guesses(answer))))


def accuracy_line(answers: Sequence[Answer]) -> str:
    """Say how many answers are the labels in the file names; empty if no name has one."""
    judged = [answer.is_right for answer in answers if answer.is_right is not None]
    if not judged:
        return ""

    right = sum(judged)
    return f"{right} of {len(judged)} as the file names say ({right / len(judged):.1%})"


def describe(name: str, array: Array) -> str:
    """Return one line about an output that is no classifier's."""
    shape = ", ".join(map(str, array.shape))
    line = f"{name} {array.dtype} [{shape}]"
    if array.size and np.issubdtype(array.dtype, np.number):
        line += f"  from {array.min():.6g} to {array.max():.6g}, mean {array.mean():.6g}"

    return line


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON."""
    return {
        "input": str(answer.sample.path),
        "row": answer.row,
        "answer": answer.guesses[0].label,
        "expected": answer.sample.expected,
        "is_right": answer.is_right,
        "scores": "probability" if answer.is_probability else "score",
        "top": [{"label": g.label, "score": round(g.score, 6)} for g in answer.guesses],
    }


def output_json(array: Array) -> dict[str, Any]:
    """Return an output as JSON, with its values unless they are very many."""
    described: dict[str, Any] = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if array.size <= _JSON_VALUES and array.dtype.kind in "biuf":
        # NaN and infinity have no JSON form.
        values = np.asarray(array, object)
        values[~np.isfinite(array)] = None
        described["values"] = values.tolist()

    return described


def _card(answer: Answer, picture: str) -> Text:
    card = Text(picture + "\n", no_wrap=True)
    card.append(answer.sample.path.stem + "\n", "dim")
    return card.append_text(Text("\n").join(_guesses(answer))).append("\n")


def _guesses(answer: Answer) -> list[Text]:
    lines = []
    for position, guess in enumerate(answer.guesses):
        score = f"{guess.score:.1%}" if answer.is_probability else f"{guess.score:.4g}"
        line = Text.assemble((str(guess.label), "bold" if position == 0 else ""), f" {score}")
        if position == 0 and answer.is_right is not None:
            line.append(" ✓" if answer.is_right else " ✗", "green" if answer.is_right else "red")

        lines.append(line)

    return lines
