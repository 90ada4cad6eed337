"""The order of init and finalize, as data.

Knows nothing of tasks, threads or the native library.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NamedTuple, final


@final
class CallbackType(IntEnum):
    """Whom a lifecycle callback belongs to; numbers of `aclRegisterCallbackType`."""

    MODEL = 0
    OP_EXECUTOR = 1
    OP_CBLAS = 2
    OP_COMPILER = 3
    TDT_CHANNEL = 4
    TDT_QUEUE = 5
    DVPP = 6
    RETR = 7
    OTHER = 0xFFFF


@final
class InitStep(StrEnum):
    """A step of the init sequence; the values are the names in messages and of fault points."""

    READ = "read"
    PIN = "pin"
    ERR_MSG_MODE = "err_msg_mode"
    ERROR_MANAGER = "error_manager"
    DEVICE_LOG = "device_log"
    MODEL = "MODEL"
    DUMP = "dump"
    OP_EXECUTOR = "OP_EXECUTOR"
    STACK_SIZE = "stack_size"
    DEFAULT_DEVICE = "default_device"
    PRINTF_FIFO = "printf_fifo"
    EVENT_MODE = "event_mode"
    PROFILING = "profiling"
    DVPP = "DVPP"
    OTHER = "OTHER"


@final
class FinalizeStep(StrEnum):
    """A step of the finalize sequence."""

    LOG_FLUSH = "log_flush"
    STATISTICS = "statistics"
    PROFILING_STOP = "profiling_stop"
    OP_COMPILER = "OP_COMPILER"
    MODEL = "MODEL"
    DUMP_STOP = "dump_stop"
    DVPP = "DVPP"
    DEFAULT_DEVICE_OFF = "default_device_off"
    OTHER = "OTHER"


@final
class InitEntry(NamedTuple):
    """One line of the init order."""

    step: InitStep
    #: Done only if a config path or a config other than None was given.
    needs_config: bool = False
    #: The callbacks notified here; None for a step of the backend's.
    notifies: CallbackType | None = None


@final
class FinalizeEntry(NamedTuple):
    """One line of the finalize order."""

    step: FinalizeStep
    notifies: CallbackType | None = None


INIT_ORDER = (
    InitEntry(InitStep.READ),
    InitEntry(InitStep.PIN),
    InitEntry(InitStep.ERR_MSG_MODE),
    InitEntry(InitStep.ERROR_MANAGER),
    InitEntry(InitStep.DEVICE_LOG),
    InitEntry(InitStep.MODEL, notifies=CallbackType.MODEL),
    InitEntry(InitStep.DUMP, needs_config=True),
    InitEntry(InitStep.OP_EXECUTOR, needs_config=True, notifies=CallbackType.OP_EXECUTOR),
    InitEntry(InitStep.STACK_SIZE, needs_config=True),
    InitEntry(InitStep.DEFAULT_DEVICE, needs_config=True),
    InitEntry(InitStep.PRINTF_FIFO, needs_config=True),
    InitEntry(InitStep.EVENT_MODE, needs_config=True),
    InitEntry(InitStep.PROFILING),
    InitEntry(InitStep.DVPP, notifies=CallbackType.DVPP),
    InitEntry(InitStep.OTHER, notifies=CallbackType.OTHER),
)

# OTHER is visited in the order of registration here too, not reversed, as in the reference.
FINALIZE_ORDER = (
    FinalizeEntry(FinalizeStep.LOG_FLUSH),
    FinalizeEntry(FinalizeStep.STATISTICS),
    FinalizeEntry(FinalizeStep.PROFILING_STOP),
    FinalizeEntry(FinalizeStep.OP_COMPILER, notifies=CallbackType.OP_COMPILER),
    FinalizeEntry(FinalizeStep.MODEL, notifies=CallbackType.MODEL),
    FinalizeEntry(FinalizeStep.DUMP_STOP),
    FinalizeEntry(FinalizeStep.DVPP, notifies=CallbackType.DVPP),
    FinalizeEntry(FinalizeStep.DEFAULT_DEVICE_OFF),
    FinalizeEntry(FinalizeStep.OTHER, notifies=CallbackType.OTHER),
)
