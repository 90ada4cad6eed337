"""The embedded device family: what a lifecycle step does to it, and its open devices."""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import TYPE_CHECKING, final

from aclasync.errors import (
    AclCode,
    BackendError,
    BackendUnavailableError,
    InvalidDeviceError,
)
from aclasync.profiling.options import options_of
from aclasync.profiling.recorder import Recorder

from .context import ThreadContexts
from .device import EmbeddedDevice
from .drain import DeviceLogs
from .kerneloutput import KernelOutput, plan_output
from .limits import check_limits
from .settings import FINALIZE_FIELDS, INIT_FIELDS, Settings
from .visible import visible_devices

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aclasync.backends.base import LogTally
    from aclasync.config import DumpSettings, Environment, Resolution
    from aclasync.dump.exceptions import ExceptionDump
    from aclasync.product import Product

    from .dumping import DataDump, DumpReport

_logger = logging.getLogger("aclasync.backends")

_FRESH = Settings()


@final
class EmbeddedBackend:
    """A `Backend` of CPU devices, for one span from init to finalize.

    Lifecycle calls come one at a time, as the runtime's gate has it; devices may be opened, used
    and closed on any threads.

    Raises:
      InvalidDeviceError: ASCEND_RT_VISIBLE_DEVICES does not fit the count of devices.
    """

    def __init__(
        self,
        product: Product,
        environment: Environment,
        devices: int | None = None,
        log_latency: float = 0.0,
    ) -> None:
        if devices is not None and devices < 0:
            raise ValueError(f"devices is {devices}, less than none")

        if not (log_latency >= 0 and math.isfinite(log_latency)):
            raise ValueError(f"log_latency is {log_latency}, not a time in seconds")

        self._product = product
        self._environment = environment
        self._recorder: Recorder | None = None
        self._is_writing = False
        self._output_plan = plan_output(None, environment, product)
        self._visible = visible_devices(devices, environment)
        self._settings = _FRESH
        self._before: dict[str, Settings] = {}
        self._data_dump: DataDump | None = None
        self._exception_dump: ExceptionDump | None = None
        self._start_dump(None)
        self._contexts = ThreadContexts()
        self._logs = DeviceLogs(environment, log_latency)
        self._lock = threading.Lock()
        self._handles: list[EmbeddedDevice] = []

    @property
    def name(self) -> str:
        """Always `embedded`."""
        return "embedded"

    @property
    def product(self) -> Product:
        """The product family whose rules are kept."""
        return self._product

    @property
    def blocks(self) -> bool:
        """Calls of the lifecycle wait for nothing but the files of dumps and profiling."""
        return self._is_writing

    @property
    def device_count(self) -> int:
        """How many devices can be opened, numbered from 0."""
        return len(self._visible)

    @property
    def has_logs(self) -> bool:
        """Whether a device was opened, so that there is a log to end."""
        return not self._logs.is_empty

    @property
    def announce(self) -> Callable[[str], Awaitable[None]] | None:
        """None: this is no test double."""
        return None

    @property
    def visible(self) -> tuple[int, ...]:
        """The physical number of every device that can be opened."""
        return self._visible

    @property
    def settings(self) -> Settings:
        """What the steps so far have set."""
        return self._settings

    @property
    def dump_report(self) -> DumpReport | None:
        """What came of the data dump so far, kept after its end; None without one."""
        return self._data_dump.report() if self._data_dump else None

    @property
    def handles(self) -> tuple[EmbeddedDevice, ...]:
        """Every open handle, the oldest first."""
        with self._lock:
            return tuple(self._handles)

    def start(self, step: str, resolution: Resolution) -> None:
        """Perform one step of the init sequence.

        Raises:
          InvalidDeviceError: the default device does not exist (107001).
          BackendError: the event mode was set before (107000).
          ValueError: there is no such step.
        """
        if step not in INIT_FIELDS:
            raise ValueError(f"the embedded device has no init step {step!r}")

        effective = resolution.effective
        # Known from the first step on, before one of them goes to the disk.
        self._is_writing = (
            effective.dump.value is not None
            or effective.profiler.value is not None
            or self._environment.asks_for_exception_dump
        )
        before = self._settings
        after = before.with_step(step, effective)
        if step == "default_device" and after.default_device is not None:
            self._check_device(after.default_device, "default_device in the configuration")
        elif (
            step == "event_mode" and after.event_mode is not None and before.event_mode is not None
        ):
            detail = "the event mode can be set only once"
            raise BackendError(AclCode.RT_PARAM_INVALID, "aclInit", detail)

        if step == "profiling" and after.profiler is not None:
            self._recorder = Recorder(
                options_of(after.profiler),
                work_path=self._environment.work_path,
                product=self._product.name,
            )

        if step == "dump":
            self._output_plan = plan_output(after.dump, self._environment, self._product)
            self._start_dump(after.dump)

        self._before[step] = before
        self._settings = after

    def undo(self, step: str) -> None:
        """Put back what `start(step)` replaced; nothing if it was not performed.

        Raises:
          ValueError: there is no such step.
        """
        if step not in INIT_FIELDS:
            raise ValueError(f"the embedded device has no init step {step!r}")

        if step == "profiling" and self._recorder is not None:
            self._recorder.discard()
            self._recorder = None

        before = self._before.pop(step, None)
        if before is not None:
            if step == "dump":
                self._start_dump(None)

            self._settings = self._settings.with_fields_of(before, INIT_FIELDS[step])

    def stop(self, step: str) -> None:
        """Perform one step of the finalize sequence; again, to no harm.

        Raises:
          ValueError: there is no such step.
        """
        if step not in FINALIZE_FIELDS:
            raise ValueError(f"the embedded device has no finalize step {step!r}")

        if step == "profiling_stop" and self._recorder is not None:
            self._recorder.stop()
            self._recorder = None
        if step == "dump_stop":
            if self._data_dump is not None:
                self._data_dump.close()

            self._exception_dump = None

        self._settings = self._settings.with_fields_of(_FRESH, FINALIZE_FIELDS[step])

    def begin_drain(self, acknowledged: Callable[[], None]) -> int:
        """Ask every device that was opened to deliver its log; return how many still owe lines."""
        return self._logs.begin_drain(acknowledged)

    def end_drain(self) -> LogTally:
        """Stop delivering and spool what is left; a line written later goes to the spool."""
        return self._logs.end_drain()

    def open_device(self, device_id: int) -> EmbeddedDevice:
        """Open a device and make its context current on the calling thread.

        Raises:
          InvalidDeviceError: there is no such device (107001).
          DeviceError: the product can't have the limits that were set (107000).
        """
        self._check_device(device_id, "aclrtSetDevice")
        began = time.perf_counter_ns()
        limits = self._settings.limits
        check_limits(limits, self._product, device_id)
        device = EmbeddedDevice(
            device_id,
            limits,
            product=self._product,
            contexts=self._contexts,
            log=self._logs.of(device_id),
            closed=self._forget,
            output=KernelOutput(self._output_plan, device_id, limits),
            recorder=self._recorder,
            data_dump=self._data_dump,
            exception_dump=self._exception_dump,
        )
        with self._lock:
            self._handles.append(device)

        device.bind_thread()
        if self._recorder is not None:
            self._recorder.call("runtime_api", "rtSetDevice")(began)

        return device

    def close(self) -> None:
        """Close what was left open, with a warning that names it, and end the logs."""
        for device in self.handles:
            _logger.warning(
                "device %d was left open with %d models loaded; closing it",
                *(device.device_id, len(device.models)),
            )
            device.close()

        self._logs.end_drain()
        if self._recorder is not None:  # never finalized; what was recorded is worth keeping
            self._recorder.stop()
            self._recorder = None

    def _start_dump(self, settings: DumpSettings | None) -> None:
        """Set up what the configuration and the environment have dumped.

        Raises:
          BackendUnavailableError: numpy or protobuf is not installed.
        """
        is_exception = settings is not None and settings.is_exception
        is_data = settings is not None and settings.is_data_dump
        self._data_dump = self._exception_dump = None
        if not (is_data or is_exception or self._environment.asks_for_exception_dump):
            return

        try:
            # Needs numpy, and most sessions dump nothing.
            from .dumping import start_dumps  # noqa: PLC0415
        except ImportError as exc:
            detail = 'dumps need numpy and protobuf: pip install "aclasync[embedded]"'
            refusals = [(exc.name or "a package", str(exc))]
            raise BackendUnavailableError("aclInit", detail, refusals) from exc

        self._data_dump, self._exception_dump = start_dumps(settings, self._environment)

    def _check_device(self, device_id: int, function: str) -> None:
        if type(device_id) is not int or device_id not in range(self.device_count):
            known = f"0 to {self.device_count - 1}" if self.device_count else "none at all"
            detail = f"there is no device {device_id!r}; there are {known}"
            raise InvalidDeviceError(AclCode.RT_INVALID_DEVICEID, function, detail)

    def _forget(self, device: EmbeddedDevice) -> None:
        with self._lock:
            if device in self._handles:
                self._handles.remove(device)
