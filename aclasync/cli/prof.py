"""`aclasync prof`: what a profiling session found, as a table and as a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from aclasync.profiling import Line, Profile, read_profile, write_trace

from .output import CommandError, Format, FormatOption, console, errors_reported, print_json

prof: typer.Typer = typer.Typer(help="Look at what profiling has written.", no_args_is_help=True)

_FOLDER = typer.Argument(metavar="PROF_DIR", help="A folder PROF_... of a profiling session.")


@prof.command()
def show(
    *,
    folder: Annotated[Path, _FOLDER],
    top: Annotated[
        int | None, typer.Option(min=1, help="Only that many operators; all by default.")
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Show what the operators took, the most expensive first.

    Exit code 0: shown; 1: it can't be read; 2: wrong usage.
    """
    with errors_reported(form), _reading():
        profile = read_profile(folder)

    if form is Format.JSON:
        print_json(_as_json(profile, top))
        return

    if not profile.is_complete:
        console(is_error=True).print(
            "note: this session was never stopped; counts are of the records that reached the disk"
        )

    _print_table(profile, top)


@prof.command()
def trace(
    *,
    folder: Annotated[Path, _FOLDER],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="By default trace.json inside."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write every record as a trace for ui.perfetto.dev, or chrome://tracing.

    Exit code 0: written; 1: something can't be read or written; 2: wrong usage.
    """
    target = output or folder / "trace.json"
    with errors_reported(form), _reading():
        written = write_trace(folder, target)

    if form is Format.JSON:
        print_json({"trace": str(target), "records": written.records})
    else:
        console().print(
            f"{target}: {written.records} records; open it in ui.perfetto.dev", markup=False
        )


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise CommandError(f"{exc.filename}: {exc.strerror}") from exc
    except ValueError as exc:
        raise CommandError(str(exc)) from exc


def _print_table(profile: Profile, top: int | None) -> None:
    out = console()
    if not profile.operators:
        out.print("no operator was timed")
        return

    # What is the same in every line needs no column.
    has_models = len({line.operator.model for line in profile.operators}) > 1
    has_devices = len({line.device_id for line in profile.operators}) > 1
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("operator", "type", *(["model"] if has_models else [])):
        table.add_column(heading, overflow="fold")

    numbers = ("count", "total us", "mean us", "min us", "max us", "share")
    for heading in (*(["device"] if has_devices else []), *numbers):
        table.add_column(heading, justify="right", no_wrap=True)

    shown = profile.operators[:top]
    for line in shown:
        table.add_row(
            *(line.operator.name, line.operator.kind),
            *([line.operator.model] if has_models else []),
            *([str(line.device_id)] if has_devices else []),
            _count(line),
            *(f"{us:,.1f}" for us in (line.total_us, line.mean_us, line.min_us, line.max_us)),
            f"{line.share:.1f}%",
        )

    out.print(table)
    if len(shown) < len(profile.operators):
        out.print(f"and {len(profile.operators) - len(shown)} more")

    if any(line.timed < line.count for line in profile.operators):
        out.print("~ some of the runs were timed; the total is what they say of all", style="dim")


def _count(line: Line) -> str:
    return f"{'~' if line.timed < line.count else ''}{line.count:,}"


def _as_json(profile: Profile, top: int | None) -> dict[str, Any]:
    return {
        "folder": str(profile.folder),
        "is_complete": profile.is_complete,
        "operators": [
            {
                "name": line.operator.name,
                "type": line.operator.kind,
                "model": line.operator.model,
                "device": line.device_id,
                "count": line.count,
                "timed": line.timed,
                "total_us": line.total_us,
                "mean_us": line.mean_us,
                "min_us": line.min_us,
                "max_us": line.max_us,
                "share": line.share,
                "inputs": line.inputs,
                "outputs": line.outputs,
            }
            for line in profile.operators[:top]
        ],
    }
