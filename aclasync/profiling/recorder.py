"""One profiling session: takes what happened, on any thread, until it is stopped."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import threading
import time
from typing import TYPE_CHECKING, Any, final

from attrs import asdict

from aclasync.errors import AclError

from .export import write_memory, write_summary, write_trace
from .folder import (
    HOST,
    MEMORY,
    SUMMARY,
    TRACE,
    device_folder,
    make_session_folder,
    write_json,
)
from .options import Options
from .records import CALLS, MARKS, OPERATORS, RUNS, Name, Names, Track
from .storage import Storage
from .totals import Tally, Totals, with_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_logger = logging.getLogger("aclasync.profiling")

#: Records of every kind that the trace made at the end takes in.
TRACE_RECORDS = 200_000


@final
class Recorder:
    """What one session collects, and its PROF folder.

    Raises:
      BackendError: there is no folder that it can write to (100000).
    """

    def __init__(self, options: Options, *, work_path: str | None, product: str) -> None:
        place = make_session_folder(options.output, work_path)
        self.options = options
        self.folder: Path = place.folder
        for where, why in place.refused:
            _logger.warning("profiling: can't use %s: %s; writing to %s", where, why, self.folder)

        if options.ignored:
            _logger.warning(
                "profiling: nothing to measure on the embedded device for %s",
                ", ".join(options.ignored),
            )

        # Durations are from a clock that nobody sets; this makes its times those of the day.
        self._epoch_ns = time.time_ns() - time.perf_counter_ns()
        self._lock = threading.Lock()
        self._devices: dict[int, DeviceRecorder] = {}
        self._is_stopped = False
        storage = Storage(self.folder / HOST, options.limit_mb)
        self._storage = storage
        self._names = Names(storage)
        self._calls = Track(storage, CALLS)
        self._write("info.json", {"pid": os.getpid(), "product": product, "host": platform.node()})
        self._write("sample.json", asdict(options, value_serializer=_plain))
        self._write(f"{HOST}/start_info", self._moment())

    def device(self, device_id: int) -> DeviceRecorder:
        """Return what records a device; its folder appears with the first call."""
        with self._lock:
            recorder = self._devices.get(device_id)
            if recorder is None:
                folder = self.folder / device_folder(device_id)
                recorder = DeviceRecorder(device_id, folder, self.options, self._epoch_ns)
                self._devices[device_id] = recorder
                self._write(f"{folder.name}/start_info.{device_id}", self._moment())

            return recorder

    def call(self, layer: str, function: str) -> Callable[[int], None]:
        """Return what records a call of `function`, given when it began; it ends then.

        Times are those of `time.perf_counter_ns`.
        """
        if layer not in self.options.layers:
            return _ignore

        number = self._names.number_of(Name(function, layer))
        add, epoch_ns = self._calls.add, self._epoch_ns

        def record(began_ns: int) -> None:
            took = time.perf_counter_ns() - began_ns
            add(number, threading.get_native_id(), began_ns + epoch_ns, took)

        return record

    def stop(self) -> Path:
        """Write what is left, the summary and the trace; return the session's folder.

        A second call does nothing more. What a full disk refuses is logged, never raised.
        """
        with self._lock:
            if self._is_stopped:
                return self.folder

            self._is_stopped = True
            devices = tuple(self._devices.values())

        self._calls.flush()
        self._storage.finish()
        self._write(f"{HOST}/end_info", self._moment())
        for device in devices:
            device.stop()
            self._write(f"{device.folder.name}/end_info.{device.device_id}", self._moment())

        lines = with_shares(line for d in devices for line in d.totals.lines(d.device_id))
        self._try("the summary", lambda: write_summary(self.folder / SUMMARY, lines))
        if self.options.has_memory:
            tallies = [(d.device_id, d.totals.tallies) for d in devices]
            self._try("the memory", lambda: write_memory(self.folder / MEMORY, tallies))

        self._try("the trace", self._write_trace)
        for storage in (self._storage, *(d.storage for d in devices)):
            if storage.aged_bytes or storage.lost_bytes:
                _logger.warning(
                    "profiling: %s: %d bytes of old data made room for newer, %d were not written",
                    *(storage.folder, storage.aged_bytes, storage.lost_bytes),
                )

        return self.folder

    def discard(self) -> None:
        """Remove everything: the init that this belongs to has failed."""
        self._is_stopped = True
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write_trace(self) -> None:
        written = write_trace(self.folder, self.folder / TRACE, most=TRACE_RECORDS)
        if written.left_out:
            _logger.warning(
                "profiling: %s leaves out %d older records; aclasync prof trace writes them all",
                *(self.folder / TRACE, written.left_out),
            )

    def _moment(self) -> dict[str, int]:
        now = time.time_ns()
        return {"time_us": now // 1000, "monotonic_ns": now - self._epoch_ns}

    def _write(self, name: str, value: Mapping[str, object]) -> None:
        self._try(name, lambda: write_json(self.folder / name, value))

    def _try(self, what: str, write: Callable[[], object]) -> None:
        try:
            write()
        except (OSError, ValueError, AclError) as exc:
            _logger.warning("profiling: can't write %s to %s: %s", what, self.folder, exc)


@final
class DeviceRecorder:
    """What is collected of one device."""

    def __init__(self, device_id: int, folder: Path, options: Options, epoch_ns: int) -> None:
        self.device_id = device_id
        self.folder = folder
        self.options = options
        #: What makes a time of `time.perf_counter_ns` one since the epoch.
        self.epoch_ns = epoch_ns
        self.storage: Storage = Storage(folder, options.limit_mb)
        self.totals: Totals = Totals()
        self._names = Names(self.storage)
        self._runs = Track(self.storage, RUNS)
        self._operators = Track(self.storage, OPERATORS)
        self._marks = Track(self.storage, MARKS)
        self._open: list[Callable[[], None]] = []

    def run(self, model: int, began_ns: int, duration_ns: int) -> None:
        """Record a run of a model, by its `number_of`."""
        self._runs.add(model, threading.get_native_id(), began_ns + self.epoch_ns, duration_ns)

    def number_of(self, name: Name) -> int:
        """Return the number that stands for a name in records."""
        return self._names.number_of(name)

    def operator(
        self,
        name: Name,
        began_ns: int,
        duration_ns: int,
        *,
        arrays: tuple[Sequence[Any], Sequence[Any]],
    ) -> None:
        """Record and count one run of an operator that is timed whenever it runs.

        `arrays` are what went in and what came out.
        """
        if self.wants(name.kind):
            inputs, outputs = map(_shapes, arrays) if self.options.has_shapes else ("", "")
            self.totals.add(name, duration_ns, inputs, outputs)
            self.note(name, began_ns + self.epoch_ns, duration_ns, threading.get_native_id())

    def mark(self, text: str) -> None:
        """Record a moment of the program's own."""
        now = time.perf_counter_ns() + self.epoch_ns
        self._marks.add(self.number_of(Name(text, "mark")), threading.get_native_id(), now, 0)

    def wants(self, op_type: str) -> bool:
        """Whether operators of that type are recorded."""
        types = self.options.op_types
        return self.options.has_operators and (not types or op_type in types)

    def note(self, name: Name, begin_ns: int, duration_ns: int, thread_id: int) -> None:
        """Record, but don't count, one run of an operator that began then since the epoch."""
        self._operators.add(self.number_of(name), thread_id, begin_ns, duration_ns)

    def add_sample(self, tallies: Mapping[Name, Tally], *, runs: int, timed_runs: int) -> None:
        """Count operators that were timed in some runs of a model, and ran in all of them."""
        self.totals.add_sample(tallies, runs=runs, timed_runs=timed_runs)

    def until_stop(self, finish: Callable[[], None]) -> None:
        """Call `finish` at the latest when the session stops."""
        self._open.append(finish)

    def forget(self, finish: Callable[[], None]) -> None:
        """Don't call it any more."""
        if finish in self._open:
            self._open.remove(finish)

    def stop(self) -> None:
        """Write what is left."""
        for finish in tuple(self._open):
            finish()

        for track in (self._runs, self._operators, self._marks):
            track.flush()

        self.storage.finish()


def _shapes(arrays: Sequence[Any]) -> str:
    """Return types and shapes as a cell of a table: `float32[32,64];float32[64]`."""
    return ";".join(f"{array.dtype}[{','.join(map(str, array.shape))}]" for array in arrays)


def _plain(_instance: object, _attribute: object, value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def _ignore(_began_ns: int) -> None:
    pass
