"""What each lifecycle step sets on the device, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from attrs import evolve, frozen

from aclasync.backends.base import DeviceLimits
from aclasync.config.features import (
    AICORE_STACK,
    MAX_OPQUEUE_NUM,
    SIMD_FIFO,
    SIMT_DIVERGENCE_STACK,
    SIMT_FIFO,
    SIMT_STACK,
)

from .limits import default_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aclasync.config import DumpSettings, Effective, ProfilerSettings

#: The fields that a step of init sets; the names of `Settings` are those of `Effective`.
INIT_FIELDS: dict[str, tuple[str, ...]] = {
    "err_msg_mode": ("err_msg_mode",),
    "error_manager": (),
    "device_log": (),
    "dump": ("dump", "exception_dump_path"),
    # The queue's capacity has no step of its own: its callback reads it from the configuration.
    "stack_size": (
        "aicore_stack_bytes",
        "simt_stack_bytes",
        "simt_divergence_stack_bytes",
        "op_queue_capacity",
    ),
    "default_device": ("default_device",),
    "printf_fifo": ("simd_printf_fifo_bytes", "simt_printf_fifo_bytes"),
    "event_mode": ("event_mode",),
    "profiling": ("profiler",),
}

#: The fields that a step of finalize resets.
FINALIZE_FIELDS: dict[str, tuple[str, ...]] = {
    "statistics": (),
    "profiling_stop": ("profiler",),
    "dump_stop": ("dump", "exception_dump_path"),
    "default_device_off": ("default_device",),
}


@final
@frozen(kw_only=True)
class Settings:
    """What is in force on the device; without a step, what the hardware comes with."""

    err_msg_mode: int = 0
    dump: DumpSettings | None = None
    exception_dump_path: str | None = None
    profiler: ProfilerSettings | None = None
    default_device: int | None = None
    event_mode: int | None = None
    aicore_stack_bytes: int = default_of(AICORE_STACK)
    simt_stack_bytes: int = default_of(SIMT_STACK)
    simt_divergence_stack_bytes: int = default_of(SIMT_DIVERGENCE_STACK)
    simd_printf_fifo_bytes: int = default_of(SIMD_FIFO)
    simt_printf_fifo_bytes: int = default_of(SIMT_FIFO)
    op_queue_capacity: int = default_of(MAX_OPQUEUE_NUM)

    @property
    def limits(self) -> DeviceLimits:
        """The part that belongs to a device."""
        return DeviceLimits(
            aicore_stack_bytes=self.aicore_stack_bytes,
            simt_stack_bytes=self.simt_stack_bytes,
            simt_divergence_stack_bytes=self.simt_divergence_stack_bytes,
            simd_printf_fifo_bytes=self.simd_printf_fifo_bytes,
            simt_printf_fifo_bytes=self.simt_printf_fifo_bytes,
            op_queue_capacity=self.op_queue_capacity,
        )

    def with_step(self, step: str, effective: Effective) -> Settings:
        """Return these settings with those of an init step taken from the configuration."""
        fields = INIT_FIELDS[step]
        return evolve(self, **{name: getattr(effective, name).value for name in fields})

    def with_fields_of(self, other: Settings, fields: Iterable[str]) -> Settings:
        """Return these settings with `fields` as `other` has them."""
        return evolve(self, **{name: getattr(other, name) for name in fields})
