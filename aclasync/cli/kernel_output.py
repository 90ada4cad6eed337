"""`aclasync dump kernel`: what kernels have said."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aclasync.dump.kernel_output import KernelRecord, RecordKind, read_kernel_output

from .output import CommandError, Format, FormatOption, console, errors_reported, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Of a tensor, as text.
_SHOWN_ELEMENTS = 8


def kernel(
    *,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files asc_kernel_data_*.bin.")
    ],
    form: FormatOption = Format.TEXT,
) -> None:
    """Show the output of kernels: printf, tensors, assertions and timestamps.

    Exit code 0: shown; 1: a file can't be read, or is damaged; 2: wrong usage.
    """
    with errors_reported(form):
        if form is Format.JSON:
            print_json({"files": [_as_json(path, _records(path)) for path in files]})
            return

        out = console()
        for path in files:
            if len(files) > 1:
                out.print(str(path), style="bold", markup=False)

            for record in _records(path):
                out.print(_line(record), markup=False)


def _records(path: Path) -> Iterator[KernelRecord]:
    try:
        yield from read_kernel_output(path)
    except OSError as exc:
        raise CommandError(f"{path}: {exc.strerror}") from exc
    except ValueError as exc:
        raise CommandError(str(exc)) from exc


def _line(record: KernelRecord) -> str:
    match record.kind:
        case RecordKind.LAUNCH:
            name = "" if record.op_name == record.op_type else f" {record.op_name}"
            return f"launch {record.launch}: {record.op_type}{name} on device {record.device_id}"
        case RecordKind.PRINTF:
            return f"  printf     {record.text.removesuffix(chr(10))}"
        case RecordKind.ASSERT:
            return f"  assert     {record.text}"
        case RecordKind.TIMESTAMP:
            return f"  timestamp  {record.desc}: {record.clock_ns} ns"
        case RecordKind.DROPPED:
            return f"  dropped    {record.dropped} older records: the FIFO was full"
        case _:
            shape = ", ".join(map(str, record.shape))
            return f"  tensor     {record.desc}: {record.dtype} [{shape}] {_values(record)}"


def _values(record: KernelRecord) -> str:
    try:
        flat = record.array().reshape(-1)
    except (ValueError, ImportError) as exc:
        return f"({len(record.content)} bytes: {exc})"

    more = " ..." if flat.size > _SHOWN_ELEMENTS else ""
    return " ".join(str(value) for value in flat[:_SHOWN_ELEMENTS]) + more


def _as_json(path: Path, records: Iterable[KernelRecord]) -> dict[str, Any]:
    return {"file": str(path), "records": list(map(_record_json, records))}


def _record_json(record: KernelRecord) -> dict[str, Any]:
    common = {
        "kind": record.kind.name.lower(),
        "device": record.device_id,
        "launch": record.launch,
        "time_ns": record.time_ns,
    }
    match record.kind:
        case RecordKind.LAUNCH:
            return common | {"op_type": record.op_type, "op_name": record.op_name}
        case RecordKind.PRINTF | RecordKind.ASSERT:
            return common | {"text": record.text}
        case RecordKind.TIMESTAMP:
            return common | {"desc": record.desc, "clock_ns": record.clock_ns}
        case RecordKind.DROPPED:
            return common | {"dropped": record.dropped}
        case _:
            return common | {
                "desc": record.desc,
                "dtype": record.dtype,
                "shape": list(record.shape),
                "base64": base64.b64encode(record.content).decode(),
            }
