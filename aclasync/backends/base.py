"""What the runtime may ask of a device, and the values that cross.

Everything here is synchronous. Who calls it on which thread is the runtime's business; a backend
only says, with `blocks`, whether its lifecycle calls may wait.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, final

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from aclasync.config import Resolution
    from aclasync.product import Product


@final
class LogLevel(IntEnum):
    """Device log levels, with the reference's numbers."""

    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3
    NULL = 4
    EVENT = 16

    @property
    def is_guaranteed(self) -> bool:
        """Whether lines of this level are always attempted, whatever the configured level."""
        return self in (LogLevel.ERROR, LogLevel.EVENT)


@final
@frozen
class LogTally:
    """Where the device's log lines went since the backend was opened."""

    #: Lines that reached the host's log files.
    delivered: int = 0
    #: Lines that did not; they stand in the spool files.
    left: int = 0
    #: One spool file per device that had lines left.
    spools: tuple[Path, ...] = ()


@final
@frozen
class DeviceLimits:
    """What the configuration set on a device: bytes, and how many compiled operators it keeps."""

    aicore_stack_bytes: int
    simt_stack_bytes: int
    simt_divergence_stack_bytes: int
    simd_printf_fifo_bytes: int
    simt_printf_fifo_bytes: int
    op_queue_capacity: int


@final
@frozen(kw_only=True)
class OpCacheCounts:
    """Compiled single operators of a device: how many are kept now, and what has happened."""

    #: The most that each of the two queues keeps, static ones included.
    capacity: int
    #: Compiled for one shape; the least recently used is aged out.
    fixed: int = 0
    #: Compiled for any shape of a rank; the same, in a queue of their own.
    dynamic: int = 0
    #: Loaded from files, which are never aged out.
    static_fixed: int = 0
    static_dynamic: int = 0
    #: Runs that found what they needed, and those that had to compile it.
    hits: int = 0
    misses: int = 0
    #: How many were let go.
    aged: int = 0


@final
@frozen
class TensorSpec:
    """Name, element type and shape of a model's input or output.

    A dynamic dimension is None or a name.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]


#: Which kind of core a kernel runs on.
CoreKind: TypeAlias = Literal["aiv", "aic", "simt"]


class KernelContext(Protocol):
    """What a kernel written in Python can do on one of its cores.

    Its output is collected if `dump_kernel_data` asks for it, and costs little if not.
    """

    @property
    def core(self) -> int:
        """The number of this core, from 0."""
        ...

    @property
    def cores(self) -> int:
        """How many cores the kernel was launched on."""
        ...

    def on_core(self, core: int) -> KernelContext:
        """Return the context of another core of this launch.

        Raises:
          ValueError: the kernel has no such core.
        """
        ...

    def printf(self, text: str, *args: object) -> None:
        """Print `text` with `args` in it, as C's printf does.

        Raises:
          ValueError: they do not fit together.
          TypeError: neither do their types.
        """
        ...

    def dump_tensor(
        self, tensor: np.ndarray[Any, Any], desc: int = 0, size: int | None = None
    ) -> None:
        """Dump a tensor, or its first `size` elements, with a number that tells it from others.

        Raises:
          ValueError: the number has more than 32 bits, or the tensor has less elements.
        """
        ...

    def assert_(self, condition: object, text: str = "", *args: object) -> None:
        """Let the operator fail, with that text, unless `condition` holds.

        Raises:
          DeviceError: it does not.
        """
        ...

    def timestamp(self, desc: int = 0) -> None:
        """Note the time of a steady clock, with a number that tells it from others.

        Raises:
          ValueError: the number has more than 32 bits.
        """
        ...


class ModelHandle(Protocol):
    """A loaded model; every call belongs on the thread that owns its device's context."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What `execute` wants, in the model's order."""
        ...

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What `execute` returns, in the model's order."""
        ...

    def execute(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run once and return every output by name.

        Raises:
          NoContextError: the calling thread has no context of this device (107002).
          DeviceError: an input is missing, unknown, of another type or shape, or the run failed.
        """
        ...

    def close(self) -> None:
        """Unload; a second call does nothing."""
        ...


class DeviceHandle(Protocol):
    """An opened device; opened, used and closed on one thread."""

    @property
    def device_id(self) -> int:
        """The number it was opened by."""
        ...

    @property
    def limits(self) -> DeviceLimits:
        """What was in force when it was opened."""
        ...

    def bind_thread(self) -> None:
        """Make this device's context current on the calling thread."""
        ...

    def unbind_thread(self) -> None:
        """Leave the calling thread without a context."""
        ...

    def write_log(self, level: LogLevel, text: str) -> None:
        """Put one line into the device's log; any thread may."""
        ...

    @property
    def op_cache(self) -> OpCacheCounts:
        """What is kept of single operators."""
        ...

    def load_model(self, path: Path) -> ModelHandle:
        """Load a model file."""
        ...

    def load_op(self, path: Path) -> None:
        """Load a model of one operator, which is kept until the device is closed."""
        ...

    def execute_op(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        *,
        domain: str,
        outputs: int | None,
        is_dynamic: bool,
    ) -> tuple[Any, ...]:
        """Run one operator and return its outputs.

        Raises:
          NoContextError: the calling thread has no context of this device (107002).
          DeviceError: there is no such operator, something does not fit it, or it failed.
        """
        ...

    def add_kernel(
        self, op_type: str, function: Callable[..., Any], *, core_kind: CoreKind, cores: int
    ) -> None:
        """Take a function as an operator, in models that are loaded from now on, too.

        Raises:
          FeatureUnsupportedError: the product has no such cores (200006).
        """
        ...

    def close(self) -> None:
        """Reset the device for this handle: models unloaded, context gone; its log lives on."""
        ...


class Backend(Protocol):
    """One device family, opened for one init..finalize span of a process."""

    @property
    def name(self) -> str:
        """`embedded` or `cann`."""
        ...

    @property
    def product(self) -> Product:
        """The product family whose rules are kept."""
        ...

    @property
    def blocks(self) -> bool:
        """Whether `start`, `undo`, `stop` and `close` may wait and need a thread of their own."""
        ...

    @property
    def device_count(self) -> int:
        """How many devices can be opened, numbered from 0."""
        ...

    @property
    def has_logs(self) -> bool:
        """Whether a device was opened, so that `end_drain` has a log to end and may wait."""
        ...

    @property
    def announce(self) -> Callable[[str], Awaitable[None]] | None:
        """Awaited before each named point of a lifecycle call; real backends have none."""
        ...

    def start(self, step: str, resolution: Resolution) -> None:
        """Perform one step of the init sequence (`lifecycle.sequence.InitStep` values).

        Raises:
          AclError: with the reference's code; the step has had no effect.
        """
        ...

    def undo(self, step: str) -> None:
        """Take back a step of an init that failed later; without effect if the step had none."""
        ...

    def stop(self, step: str) -> None:
        """Perform one step of the finalize sequence (`FinalizeStep` values), except the flush.

        Raises:
          AclError: the step failed; a retry is allowed.
        """
        ...

    def begin_drain(self, acknowledged: Callable[[], None]) -> int:
        """Ask every device that was opened to deliver its log; return how many still owe lines.

        `acknowledged` is called once, from any thread, when all have; never when 0 is returned.
        """
        ...

    def end_drain(self) -> LogTally:
        """Stop delivering and spool what is left; a line written later goes to the spool."""
        ...

    def open_device(self, device_id: int) -> DeviceHandle:
        """Open a device on the calling thread, which becomes the owner of its context.

        Raises:
          InvalidDeviceError: there is no such device (107001).
        """
        ...

    def close(self) -> None:
        """Release everything; the backend is not used again. Never raises for what is left open."""
        ...
