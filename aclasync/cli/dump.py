"""`aclasync dump`: what dumps have written, as tables, as numpy's files, and beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich.progress import Progress
from rich.table import Table

import aclasync.dump as dumps

from .output import (
    CommandError,
    Format,
    FormatOption,
    console,
    errors_reported,
    print_json,
)

if TYPE_CHECKING:
    from aclasync.dump import DumpedTensor, DumpFile, Entry

dump: typer.Typer = typer.Typer(help="Look at what dumps have written.", no_args_is_help=True)

_JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
_Path = typer.Argument(metavar="PATH", help="A dump file, or a folder with dumps in it.")


@dump.command("ls")
def list_files(
    *,
    path: Annotated[Path, _Path],
    form: FormatOption = Format.TEXT,
    is_json: _JsonOption = False,
) -> None:
    """List dump files in the order in which they were made.

    Exit code 0: listed; 1: something can't be read; 2: wrong usage.
    """
    form = Format.JSON if is_json else form
    with errors_reported(form), _needing_embedded():
        entries = _entries(path)
        read = [
            None if entry.named.is_stats else dumps.read_dump(entry.path, name=entry.file_name)
            for entry in entries
        ]

    if form is Format.JSON:
        pairs = zip(entries, read, strict=True)
        print_json({"files": [_file_json(entry, file) for entry, file in pairs]})
        return

    table = Table("folder", "task", "type", "operator", "inputs", "outputs", "time")
    for entry, file in zip(entries, read, strict=True):
        table.add_row(
            "/".join(entry.folders) or ".",
            str(entry.named.task_id),
            entry.named.op_type,
            file.op_name if file and file.op_name else entry.named.op_name,
            _tensors_text(file.inputs) if file else "statistics",
            _tensors_text(file.outputs) if file else "statistics",
            _time_text(file.time_us) if file else "",
        )

    console().print(table)
    count = len(entries)
    console().print(f"{count} {'file' if count == 1 else 'files'}")


@dump.command()
def show(
    *,
    path: Annotated[Path, _Path],
    form: FormatOption = Format.TEXT,
    is_json: _JsonOption = False,
) -> None:
    """Show what is in dump files: the operator, its tensors, and what their values are like.

    Exit code 0: shown; 1: something can't be read; 2: wrong usage.
    """
    form = Format.JSON if is_json else form
    shown = []
    with errors_reported(form), _needing_embedded():
        for entry in _entries(path):
            if entry.named.is_stats:
                shown.append({"file": str(entry.path), "statistics": _lines(entry.path)})
                continue

            file = dumps.read_dump(entry.path, name=entry.file_name)
            tensors = [_tensor_json(tensor) for tensor in file.tensors]
            shown.append(_file_json(entry, file) | {"tensors": tensors})

    if form is Format.JSON:
        print_json({"files": shown})
        return

    for found in shown:
        _print_file(found)


@dump.command()
def npy(
    *,
    path: Annotated[Path, _Path],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the files go.")
    ] = Path(),
    form: FormatOption = Format.TEXT,
    is_json: _JsonOption = False,
) -> None:
    """Write every tensor as a .npy file.

    Exit code 0: written; 1: something can't be read or written; 2: wrong usage.
    """
    form = Format.JSON if is_json else form
    with errors_reported(form), _needing_embedded(), _progress("writing") as progress:
        written = dumps.write_npy(path, output, progress=progress)

    if form is Format.JSON:
        files = [
            {"source": str(w.source), "file": str(w.path), "dtype": w.dtype, "note": w.note or None}
            for w in written
        ]
        print_json({"files": files})
        return

    out = console()
    for file in written:
        if file.note:
            out.print(f"{file.path}: {file.note}", markup=False)

    count = len(written)
    out.print(f"{count} {'tensor' if count == 1 else 'tensors'} in {output}", markup=False)


@dump.command()
def compare(
    *,
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A folder of dumps or of .npy files, or one file.")
    ],
    golden: Annotated[Path, typer.Argument(metavar="B", help="The golden one, in the same forms.")],
    rtol: Annotated[float, typer.Option(min=0, help="Relative tolerance of an element.")] = 1e-3,
    atol: Annotated[float, typer.Option(min=0, help="Absolute tolerance of an element.")] = 1e-5,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the comparison, too.")
    ] = None,
    is_brief: Annotated[
        bool, typer.Option("--brief", help="Only what is not within the tolerance.")
    ] = False,
    form: FormatOption = Format.TEXT,
    is_json: _JsonOption = False,
) -> None:
    """Compare two dumps tensor by tensor, and find the operator where they begin to differ.

    Exit code 0: all within the tolerance; 1: they differ, or can't be read; 2: wrong usage.
    """
    form = Format.JSON if is_json else form
    tolerance = dumps.Tolerance(rtol=rtol, atol=atol)
    with errors_reported(form), _needing_embedded():
        with _progress("comparing") as progress:
            found = dumps.compare_dumps(first, golden, tolerance=tolerance, progress=progress)

        if plot is not None:
            dumps.plot_comparison(found, plot)

    if form is Format.JSON:
        print_json(_comparison_json(found))
    else:
        _print_comparison(found, is_brief=is_brief)

    if not found.is_within:
        raise typer.Exit(1)


@contextmanager
def _needing_embedded() -> Iterator[None]:
    try:
        yield
    except ImportError as exc:
        text = f'dumps need numpy and protobuf: pip install "aclasync[embedded]" ({exc})'
        raise CommandError(text) from exc


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar on a terminal."""
    err = console(is_error=True)
    if not err.is_terminal:
        yield None
        return

    with Progress(console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _entries(path: Path) -> list[Entry]:
    """Return the dump files at a path.

    Raises:
      CommandError: there is none.
    """
    entries = list(dumps.find_dumps(path))
    if not entries:
        raise CommandError(f"there is no dump file in {path}")

    return entries


def _lines(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


def _file_json(entry: Entry, file: DumpFile | None) -> dict[str, Any]:
    return {
        "file": str(entry.path),
        "name": entry.file_name,
        "step": entry.step,
        "task": entry.named.task_id,
        "stream": entry.named.stream_id,
        "op_type": entry.named.op_type,
        "op_name": file.op_name if file and file.op_name else entry.named.op_name,
        "time_us": file.time_us if file else None,
        "version": file.version if file else None,
        "attributes": dict(file.attributes) if file else {},
        "message": file.message if file else "",
        "inputs": [_shape_text(t) for t in file.inputs] if file else None,
        "outputs": [_shape_text(t) for t in file.outputs] if file else None,
    }


def _tensor_json(tensor: DumpedTensor) -> dict[str, Any]:
    array, note = tensor.read()
    known = dumps.statistics_of(array)
    return {
        "kind": tensor.kind,
        "index": tensor.index,
        "name": tensor.name or None,
        "data_type": tensor.data_type_name,
        "format": tensor.format_name,
        "shape": list(tensor.shape),
        "bytes": tensor.size,
        "min": known.min if known else None,
        "max": known.max if known else None,
        "mean": known.mean if known else None,
        "nan": known.nan if known else None,
        "inf": known.negative_inf + known.positive_inf if known else None,
        "note": note or None,
    }


def _print_file(found: dict[str, Any]) -> None:
    out = console()
    out.print(found["file"], style="bold", markup=False)
    if "statistics" in found:
        titles, *rows = found["statistics"] or [[]]
        table = Table(*titles)
        for row in rows:
            table.add_row(*row)

        out.print(table)
        return

    out.print(f"  operator  {found['op_name'] or '-'} ({found['op_type'] or '-'})", markup=False)
    out.print(
        f"  task {found['task']}, stream {found['stream']}, {_time_text(found['time_us'])}, "
        f"version {found['version']}",
        markup=False,
    )
    for key, value in found["attributes"].items():
        out.print(f"  {key} = {value}", markup=False)

    for line in found["message"].splitlines():
        out.print(f"  | {line}", markup=False)

    titles = ("kind", "name", "data_type", "format", "shape", "bytes", "min", "max", "mean")
    table = Table("tensor", *titles[1:], "nan", "inf", "note")
    for tensor in found["tensors"]:
        shape = "x".join(map(str, tensor["shape"])) or "-"
        numbers = (_number(tensor[key]) for key in ("min", "max", "mean", "nan", "inf"))
        described = (tensor["name"] or "", tensor["data_type"], tensor["format"], shape)
        where = f"{tensor['kind']} {tensor['index']}"
        table.add_row(where, *described, str(tensor["bytes"]), *numbers, tensor["note"] or "")

    out.print(table)


def _print_comparison(found: dumps.Comparison, *, is_brief: bool) -> None:
    out = console()
    first = found.first_divergence
    table = Table(
        *("step", "type", "tensor", "shape", "cosine", "max abs", "max rel", "outside", "")
    )
    for tensor in found.tensors:
        difference = tensor.difference
        if is_brief and difference.is_within:
            continue

        verdict = "[green]ok[/]" if difference.is_within else "[red]differs[/]"
        table.add_row(
            "" if tensor.step is None else str(tensor.step),
            tensor.op_type,
            tensor.title,
            "x".join(map(str, tensor.shape)) or "-",
            *map(_number, (difference.cosine, difference.max_absolute, difference.max_relative)),
            difference.obstacle or f"{difference.outside}/{difference.count}",
            "[bold red]first[/]" if tensor is first else verdict,
        )

    out.print(table)
    for side, titles in (("A", found.only_in_a), ("B", found.only_in_b)):
        if titles:
            more = ", ..." if len(titles) > 5 else ""
            text = f"only in {side}: {len(titles)} tensors: {', '.join(titles[:5])}{more}"
            out.print(text, markup=False)

    if first is None:
        verdict = "outputs agree" if not found.is_within else "all within the tolerance"
        out.print(f"{len(found.tensors)} tensors compared: {verdict}")
    else:
        step = "" if first.step is None else f" in step {first.step}"
        out.print(f"first operator that differs: {first.op_name} ({first.op_type}){step}")


def _comparison_json(found: dumps.Comparison) -> dict[str, Any]:
    first = found.first_divergence
    return {
        "within": found.is_within,
        "rtol": found.tolerance.rtol,
        "atol": found.tolerance.atol,
        "first_divergence": _compared_json(first) if first else None,
        "tensors": [_compared_json(tensor) for tensor in found.tensors],
        "only_in_a": list(found.only_in_a),
        "only_in_b": list(found.only_in_b),
    }


def _compared_json(tensor: dumps.Compared) -> dict[str, Any]:
    difference = tensor.difference
    return {
        "step": tensor.step,
        "op_type": tensor.op_type,
        "op_name": tensor.op_name,
        "kind": tensor.kind,
        "index": tensor.index,
        "shape": list(tensor.shape),
        "cosine": difference.cosine,
        "max_absolute": difference.max_absolute,
        "max_relative": difference.max_relative,
        "outside": difference.outside,
        "count": difference.count,
        "obstacle": difference.obstacle or None,
        "within": difference.is_within,
    }


def _tensors_text(tensors: tuple[DumpedTensor, ...]) -> str:
    return ", ".join(map(_shape_text, tensors)) or "-"


def _shape_text(tensor: DumpedTensor) -> str:
    shape = "x".join(map(str, tensor.shape)) or "-"
    return f"{tensor.data_type_name.removeprefix('DT_').lower()} {shape}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _time_text(time_us: int) -> str:
    try:
        return datetime.fromtimestamp(time_us / 1e6).astimezone().isoformat(" ", "milliseconds")
    except (OverflowError, ValueError, OSError):
        return str(time_us)
