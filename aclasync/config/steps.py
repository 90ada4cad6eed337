"""At which step of the init sequence a fault of the configuration surfaces."""

from __future__ import annotations

from enum import StrEnum
from typing import final


@final
class ConfigStep(StrEnum):
    """The steps that read the configuration, in the reference's order."""

    READ = "read"
    ERR_MSG_MODE = "err_msg_mode"
    DUMP = "dump"
    STACK_SIZE = "stack_size"
    DEFAULT_DEVICE = "default_device"
    PRINTF_FIFO = "printf_fifo"
    EVENT_MODE = "event_mode"
    PROFILING = "profiling"
