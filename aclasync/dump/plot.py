"""A picture of a comparison: how alike and how far apart, tensor by tensor in order."""

from __future__ import annotations

import math
from pathlib import Path

from aclasync.errors import AclCode, DumpError

from .compare import Comparison

_PLOT = "plot_comparison"
# Titles on an axis that can still be told apart.
_MOST_TITLES = 60


def plot_comparison(comparison: Comparison, path: str | Path) -> None:
    """Draw a comparison into a file; its suffix says in which format.

    Raises:
      DumpError: matplotlib is not installed (500000), or the file can't be written (100004).
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 (slow, and rarely wanted)
    except ImportError as exc:
        detail = f'a picture needs matplotlib: pip install "aclasync[plot]" ({exc})'
        raise DumpError(AclCode.INTERNAL_ERROR, _PLOT, detail) from exc

    tensors = [t for t in comparison.tensors if t.kind == "output"] or list(comparison.tensors)
    first = comparison.first_divergence
    places = range(len(tensors))
    figure = Figure(figsize=(min(24, max(8, 0.3 * len(tensors))), 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(places, [_or_nan(t.difference.cosine) for t in tensors], "o-", ms=4)
    above.set_ylabel("cosine similarity")
    for measure, label in (("max_absolute", "absolute"), ("max_relative", "relative")):
        values = [_or_nan(getattr(t.difference, measure)) for t in tensors]
        below.plot(places, values, "o-", ms=4, label=f"largest {label} error")

    below.set_yscale("symlog", linthresh=1e-8)
    below.set_ylabel("error")
    below.legend()
    if first in tensors:
        for axes in (above, below):
            axes.axvline(tensors.index(first), color="tab:red", ls="--", lw=1)

        above.set_title(f"the first that differs is {first.title}", color="tab:red")
    else:
        above.set_title("all within the tolerance")

    if len(tensors) <= _MOST_TITLES:
        below.set_xticks(places, [t.title for t in tensors], rotation=90, fontsize=7)
    else:
        below.set_xlabel("tensors in the order of execution")

    try:
        figure.savefig(path)
    except (OSError, ValueError) as exc:  # ValueError: a suffix that it does not know
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise DumpError(AclCode.WRITE_FILE, _PLOT, f"can't draw into {path}: {why}") from exc


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
