"""Rows as a table, as JSON, as a picture, and beside those of an earlier run."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from .measuring import Role, Row

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def show(rows: Sequence[Row], earlier: Sequence[Row], console: Console) -> None:
    """Print every work with its sides; ours over each, and what that ratio was before."""
    before = {
        (row.work, name): row.ratios[at] for row in earlier for at, name in enumerate(row.names)
    }
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("work and its sides", overflow="fold")
    for heading in ("median", "ours is", "+/-", "limit", "before"):
        table.add_column(heading, justify="right", no_wrap=True)

    for row in rows:
        table.add_row(f"[bold]{row.work}")
        for at, name in enumerate(row.names):
            is_ours = row.roles[at] == Role.OURS
            limit, ratio = row.limits[at], row.ratios[at]
            is_missed = name in row.missed
            then = before.get((row.work, name))
            table.add_row(
                f"  {name}{'' if is_ours else f' [dim]({row.roles[at]})'}",
                amount(row.medians[at], row.unit),
                "" if is_ours else f"{'[red]' if is_missed else ''}{times(ratio)}",
                "" if is_ours else times(row.spreads[at]),
                "" if limit is None else f"{times(limit)}{' OVER' if is_missed else ''}",
                "" if is_ours or then is None else times(then),
            )

    console.print(table)


def amount(value: float, unit: str) -> str:
    """Return a number with a unit a person can read."""
    if unit != "s":
        return f"{value:,.0f} {unit}"

    size, name = next(((s, n) for s, n in _UNITS if value >= s), _UNITS[-1])
    return f"{value / size:.2f} {name}"


def times(ratio: float) -> str:
    """Return a ratio with three figures that mean something."""
    return f"{ratio:.3g} x"


def save(rows: Sequence[Row], path: Path) -> None:
    """Write the rows, and what they were measured on, as JSON."""
    host = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.release()}",
        "implementation": sys.implementation.name,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"host": host, "rows": [attrs.asdict(row) for row in rows]}, indent=1)
    path.write_text(text + "\n")


def load(path: Path) -> list[Row]:
    """Return the rows of an earlier run; none if there was none."""
    if not path.exists():
        return []

    saved: dict[str, Any] = json.loads(path.read_text())
    return [Row(**row) for row in saved["rows"]]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw how many times the cost of each side ours is; left of the line ours is cheaper."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    bars = [
        (f"{row.work}\n{name}", row.ratios[at], row.roles[at], row.limits[at])
        for row in rows
        for at, name in enumerate(row.names)
        if row.roles[at] != Role.OURS
    ][::-1]
    figure = Figure(figsize=(10, 1 + 0.42 * len(bars)), layout="constrained")
    axes = figure.subplots()
    colours = {Role.FLOOR: "#7a8ca5", Role.PEER: "#2f7f6f"}
    axes.barh(
        [label for label, *_ in bars],
        [ratio for _, ratio, *_ in bars],
        color=[colours[Role(role)] for _, _, role, _ in bars],
        height=0.6,
    )
    for at, (_, _, _, limit) in enumerate(bars):
        if limit is not None:
            axes.plot([limit, limit], [at - 0.4, at + 0.4], color="#c0392b", linewidth=2)

    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("ours as a multiple of that side (log); grey: floor, green: peer, red: limit")
    axes.tick_params(axis="y", labelsize=7)
    axes.margins(y=0.01)
    figure.savefig(path)
