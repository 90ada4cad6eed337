"""A session's summary as csv, and its trace as Perfetto and Chrome open it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from attrs import frozen

from .folder import HOST, open_new, require_profile
from .records import CALLS, MARKS, OPERATORS, RUNS, Name, Record, read_records
from .totals import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from .totals import Tally

SUMMARY_COLUMNS = (
    "Op Name", "OP Type", "Count", "Total Time(us)", "Mean Time(us)", "Min Time(us)",
    "Max Time(us)", "Share(%)", "Timed", "Model Name", "Device_id", "Inputs", "Outputs",
)  # fmt: skip
MEMORY_COLUMNS = (
    "Op Name", "OP Type", "Output(bytes)", "Activation(bytes)", "Parameter(bytes)", "Model Name",
    "Device_id",
)  # fmt: skip


def write_summary(path: Path, lines: Iterable[Line]) -> None:
    """Write the summary.

    Raises:
      OSError: it can't be written.
    """
    rows = (
        (
            line.operator.name,
            line.operator.kind,
            line.count,
            *(f"{us:.3f}" for us in (line.total_us, line.mean_us, line.min_us, line.max_us)),
            f"{line.share:.3f}",
            line.timed,
            line.operator.model,
            line.device_id,
            line.inputs,
            line.outputs,
        )
        for line in lines
    )
    _write_csv(path, SUMMARY_COLUMNS, rows)


def read_summary(path: Path) -> list[Line]:
    """Return the lines of a summary.

    Raises:
      OSError: it can't be read.
      ValueError: it is no summary.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    lines = []
    for number, row in enumerate(rows, 2):
        try:
            lines.append(
                Line(
                    int(row["Device_id"]),
                    Name(row["Op Name"], row["OP Type"], row["Model Name"]),
                    int(row["Count"]),
                    int(row["Timed"]),
                    float(row["Total Time(us)"]),
                    float(row["Mean Time(us)"]),
                    float(row["Min Time(us)"]),
                    float(row["Max Time(us)"]),
                    float(row["Share(%)"]),
                    row["Inputs"],
                    row["Outputs"],
                )
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise ValueError(f"{path}, line {number}: no line of a summary: {exc}") from exc

    return lines


def write_memory(path: Path, devices: Sequence[tuple[int, Mapping[Name, Tally]]]) -> None:
    """Write the bytes that each operator took the last time it was timed.

    Raises:
      OSError: it can't be written.
    """
    rows = (
        (name.name, name.kind, *tally.memory, name.model, device_id)
        for device_id, tallies in devices
        for name, tally in tallies.items()
        if tally.memory is not None
    )
    _write_csv(path, MEMORY_COLUMNS, rows)


@final
@frozen
class WrittenTrace:
    """What a trace holds."""

    records: int
    #: Older ones, for which there was no room.
    left_out: int


def write_trace(
    session: str | PathLike[str], path: str | PathLike[str], *, most: int | None = None
) -> WrittenTrace:
    """Write the trace of a PROF folder.

    Of each kind of record in each folder the last `most` are taken, all for None. Times count from
    the first of them, in microseconds.

    Raises:
      OSError: something can't be read or written.
      ValueError: it is no PROF folder, or damaged.
    """
    session, path = require_profile(Path(session)), Path(path)
    left_out = 0
    rows: list[tuple[int, str, Sequence[Record]]] = []
    for process, folder in enumerate(storage_folders(session)):
        for file in _ROWS:
            records = list(read_records(folder, file))
            kept = records if most is None else records[-most:]
            left_out += len(records) - len(kept)
            if kept:
                rows.append((process, file, kept))

    start = min((record.begin_ns for _, _, records in rows for record in records), default=0)
    with open_new(path) as out:
        out.write(b'{"displayTimeUnit": "ns", "otherData": {"start_ns": "%d"},\n' % start)
        out.write(b'"traceEvents": [')
        separator = "\n"
        for event in _events(session, rows, start):
            out.write((separator + json.dumps(event, ensure_ascii=False)).encode())
            separator = ",\n"

        out.write(b"\n]}\n")

    return WrittenTrace(sum(len(records) for _, _, records in rows), left_out)


def storage_folders(session: Path) -> list[Path]:
    """Return the folders of raw data: the host's, and the devices' by number."""
    devices = [path for path in session.glob("device_*") if path.name[7:].isdigit()]
    devices.sort(key=lambda path: int(path.name[7:]))
    host = session / HOST
    return [*([host] if host.is_dir() else []), *devices]


#: What a row of the trace is called, and where it stands among a process's rows.
_ROWS = {CALLS: "calls", RUNS: "models", OPERATORS: "operators", MARKS: "marks"}


def _events(
    session: Path, rows: Sequence[tuple[int, str, Sequence[Record]]], start_ns: int
) -> Iterator[dict[str, Any]]:
    for process, folder in enumerate(storage_folders(session)):
        yield _said("process_name", process, 0, name=folder.name.replace("_", " "))
        yield _said("process_sort_index", process, 0, sort_index=process)

    for process, file, records in rows:
        threads: dict[int, int] = {}
        for record in records:
            row = threads.get(record.thread_id)
            if row is None:
                # Rows of their own: on one they would have to nest, and their clocks differ.
                row = threads[record.thread_id] = len(threads) * len(_ROWS) + list(_ROWS).index(
                    file
                )
                title = f"{_ROWS[file]}, thread {record.thread_id}"
                yield _said("thread_name", process, row, name=title)

            what = record.name
            more = {"type": what.kind, "model": what.model} if file == OPERATORS else {}
            # Moments of a thread are instants; the rest has a duration.
            phase = {"ph": "i", "s": "t"} if file == MARKS else {"ph": "X"}
            length = {} if file == MARKS else {"dur": record.duration_ns / 1000}
            yield (
                phase
                | length
                | {
                    "name": what.name,
                    "cat": what.kind or _ROWS[file],
                    "ts": (record.begin_ns - start_ns) / 1000,
                    "pid": process,
                    "tid": row,
                    "args": more,
                }
            )


def _said(what: str, process: int, row: int, **args: object) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": row, "args": args}


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with open_new(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(rows)
