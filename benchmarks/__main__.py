"""`python -m benchmarks`: measure, print, save, and compare with the run that is kept."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import report
from .measuring import SMOKE, Row, Scale

RESULTS = Path(__file__).with_name("results")

CASES = (
    "nested",
    "cycle",
    "callbacks",
    "crowd",
    "memory",
    "hop",
    "resolving",
    "executing",
    "profiling",
    "stalls",
    "importing",
)


def main(
    cases: Annotated[list[str] | None, typer.Argument(help=f"of {', '.join(CASES)}")] = None,
    *,
    rounds: Annotated[int, typer.Option(min=1, help="rounds of every side")] = 9,
    smoke: Annotated[bool, typer.Option(help="each once, to see that it works")] = False,
    save: Annotated[bool, typer.Option(help="keep this run for the next ones")] = False,
) -> None:
    """Measure what the library costs beside a floor and what people would use instead."""
    chosen = cases or CASES
    if unknown := set(chosen) - set(CASES):
        raise typer.BadParameter(f"no such case: {', '.join(unknown)}; {', '.join(CASES)}")

    logging.getLogger("aclasync").setLevel(logging.ERROR)  # a finding each time is not measured
    console = Console()
    if not console.is_terminal:
        console.width = 110

    rows = asyncio.run(measure(chosen, SMOKE if smoke else Scale(rounds=rounds), console))
    if smoke:
        console.print(f"{len(rows)} benchmarks work")
        return

    kept = RESULTS / "kept.json"
    report.show(rows, report.load(kept), console)
    for row in rows:
        for name in row.missed:
            console.print(f"[red]over the limit:[/] {row.work}, beside {name}")

    if save:
        report.save(rows, kept)
        report.draw(rows, RESULTS / "ratios.png")


async def measure(cases: Sequence[str], scale: Scale, console: Console) -> list[Row]:
    """Return the rows of these cases, in their order."""
    measured: list[Row] = []
    with console.status("measuring") as status:
        for case in cases:
            rows: AsyncIterator[Row] = importlib.import_module(f"{__package__}.{case}").rows(scale)
            async for row in rows:
                measured.append(row)
                status.update(f"measured: {row.work}")

    return measured


if __name__ == "__main__":
    typer.run(main)
