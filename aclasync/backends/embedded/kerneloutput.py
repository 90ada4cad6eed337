"""Output of kernels on its way to the documented files, as far as the configuration wants it."""

from __future__ import annotations

import itertools
import logging
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, final

from attrs import evolve, frozen

from aclasync.config.features import DUMP_KERNEL_DATA, KERNEL_DATA
from aclasync.dump.kernel_output import RecordKind, pack_dropped, pack_launch, pack_record
from aclasync.files import append_whole, make_folders

from .fifo import Fifo

if TYPE_CHECKING:
    from aclasync.backends.base import CoreKind, DeviceLimits
    from aclasync.config import DumpSettings, Environment
    from aclasync.product import Product

_logger = logging.getLogger("aclasync.dump")

_KINDS = {
    "printf": RecordKind.PRINTF,
    "tensor": RecordKind.TENSOR,
    "assert": RecordKind.ASSERT,
    "timestamp": RecordKind.TIMESTAMP,
}
# As in the reference: a chunk is written only if that much stays free.
_RESERVED_BYTES = 1024 * 1024

_launches = itertools.count(1)


@final
@frozen
class Plan:
    """What is collected, and where it goes."""

    #: Where it is relative, to the working directory when a device is opened.
    folder: Path
    kinds: frozenset[RecordKind]


def plan_output(
    dump: DumpSettings | None, environment: Environment, product: Product
) -> Plan | None:
    """Return what is collected; None if nothing is.

    ASCEND_DUMP_PATH and ASCEND_WORK_PATH come before the configuration and ask for everything.
    """
    if product not in DUMP_KERNEL_DATA.products:
        return None

    stamp = time.strftime("%Y%m%d%H%M%S")
    root = environment.dump_path or environment.work_path
    if root:
        return Plan(Path(root) / "printf" / stamp, frozenset(_KINDS.values()))

    if dump is None or not dump.kernel_data or not dump.path:
        return None

    assert dump.kernel_data <= set(KERNEL_DATA)
    names = _KINDS if "all" in dump.kernel_data else dump.kernel_data
    return Plan(Path(dump.path).absolute() / stamp, frozenset(_KINDS[name] for name in names))


@final
class KernelOutput:
    """What the kernels of one device have said, until it is in their files."""

    def __init__(self, plan: Plan | None, device_id: int, limits: DeviceLimits) -> None:
        self._plan = plan and evolve(plan, folder=plan.folder.absolute())
        self._device_id = device_id
        self._limits = limits
        self._lock = threading.Lock()
        self._fifos: dict[tuple[CoreKind, int], Fifo] = {}
        self._lost = 0
        self._has_failed = False
        #: Records that a full FIFO had to let go.
        self.dropped: int = 0

    def wants(self, kind: RecordKind) -> bool:
        """Whether records of that kind are collected."""
        return self._plan is not None and kind in self._plan.kinds

    def begin_launch(self) -> int:
        """Return the number of a new launch."""
        return next(_launches)

    def push(
        self, core_kind: CoreKind, core: int, launch: int, kind: RecordKind, content: bytes
    ) -> None:
        """Put a record into the FIFO of a core."""
        record = self._pack(launch, kind, content)
        with self._lock:
            self._fifo(core_kind, core).push(core, record)

    def end_launch(self, core_kind: CoreKind, launch: int, op_type: str, op_name: str) -> None:
        """Bring what the cores of a kind have said to their files."""
        with self._lock:
            for (kind, _), fifo in self._fifos.items():
                if kind != core_kind:
                    continue

                records, dropped = fifo.drain()
                for core in records.keys() | dropped.keys():
                    count = dropped.get(core, 0)
                    head = [self._pack(launch, RecordKind.LAUNCH, pack_launch(op_type, op_name))]
                    if count:
                        self.dropped += count
                        head.append(self._pack(launch, RecordKind.DROPPED, pack_dropped(count)))

                    self._write(kind, core, [*head, *records.get(core, ())])

    def close(self) -> None:
        """Tell what was lost on the way."""
        if self.dropped:
            _logger.warning(
                "device %d: full FIFOs dropped %d records of kernels' output; raise "
                "simd_printf_fifo_size_per_core or simt_printf_fifo_size",
                *(self._device_id, self.dropped),
            )

        if self._lost:
            _logger.warning(
                "device %d: %d records of kernels' output were not written",
                *(self._device_id, self._lost),
            )

    def _fifo(self, kind: CoreKind, core: int) -> Fifo:
        # Cores of the SIMT kind share one FIFO; each of the others has its own.
        key = (kind, 0 if kind == "simt" else core)
        fifo = self._fifos.get(key)
        if fifo is None:
            limits = self._limits
            capacity = limits.simd_printf_fifo_bytes
            if kind == "simt":
                capacity = limits.simt_printf_fifo_bytes

            fifo = self._fifos[key] = Fifo(capacity)

        return fifo

    def _pack(self, launch: int, kind: RecordKind, content: bytes) -> bytes:
        return pack_record(
            kind, content, device_id=self._device_id, launch=launch, time_ns=time.time_ns()
        )

    def _write(self, kind: CoreKind, core: int, records: list[bytes]) -> None:
        """Append to a core's file; the operator's results are right whatever the disk does."""
        assert self._plan is not None
        path = self._plan.folder / f"asc_kernel_data_{kind}_{core}.bin"
        chunk = b"".join(records)
        try:
            make_folders(path.parent, 0o700)
            free = shutil.disk_usage(path.parent).free
            if free <= max(_RESERVED_BYTES, len(chunk)):
                raise OSError(f"only {free} bytes are free")  # noqa: TRY301  # as if it were full

            append_whole(path, chunk, 0o600)
        except OSError as exc:
            self._lost += len(records)
            if not self._has_failed:
                self._has_failed = True
                _logger.warning("can't write the output of kernels to %s: %s", path, exc)
