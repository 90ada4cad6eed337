"""The exception tree: one root, and a branch for each party that may be at fault.

    AclError                        something the reference has a number for
    ├── ConfigError                 the configuration is wrong; nothing was started
    │   └── ConfigMismatchError     it is right, but the process is bound to another one
    ├── LifecycleError              the call does not fit the state of the runtime
    │   ├── RepeatFinalizeError     there is nothing left to give back
    │   ├── NotInitializedError     no session is open
    │   ├── ReentrantLifecycleError called from inside a lifecycle callback
    │   └── ForkedRuntimeError      called in a child that `os.fork` made
    ├── CallbackError               a callback failed, or was misused
    │   └── CallbackSlotTakenError  its type already has one
    ├── FinalizeError               finalize ran to its end, but some of its steps failed
    ├── BackendError                the library or the simulated device failed
    │   └── BackendUnavailableError no such backend can be opened here
    ├── DeviceError                 a call on a device failed
    │   ├── NoContextError          the calling thread has no context
    │   ├── OperatorError           an operator failed, and an exception dump has it
    │   └── InvalidDeviceError      there is no such device
    ├── DumpError                   a dump can't be read, or is not what it should be
    └── FeatureUnsupportedError     this product has no such call

Imports nothing of ours but the numbers.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, final

from .codes import AclCode as AclCode

if TYPE_CHECKING:
    from .config.findings import Finding


_shown = reprlib.Repr()
_shown.maxother = _shown.maxstring = _shown.maxlong = 500


def shown(value: object) -> str:
    """Return the repr of somebody's value for a message: in bounds, and whatever it raises."""
    return _shown.repr(value)


class AclError(Exception):
    """A failure that the reference has a number for.

    `code` is that number, `function` the call that failed, `detail` what happened, where, and
    what to do about it.
    """

    def __init__(self, code: int, function: str, detail: str) -> None:
        super().__init__(code, function, detail)
        self.code: AclCode = AclCode(code)
        self.function: str = function
        self.detail: str = detail

    def __str__(self) -> str:
        return f"{self.function}: {self.detail} [{self.code.name} {self.code.value}]"

    def __reduce__(self) -> tuple[Any, ...]:
        notes = getattr(self, "__notes__", None)
        return type(self), self._fields(), {"__notes__": notes} if notes else None

    def _fields(self) -> tuple[Any, ...]:
        """Return the arguments that make an equal error."""
        return (self.code, self.function, self.detail)


class ConfigError(AclError):
    """The configuration can't be used; every finding is listed and nothing was started.

    `code` is the reference's first failure in its own order of checks.
    """

    def __init__(
        self, code: int, function: str, detail: str, findings: Sequence[Finding] = ()
    ) -> None:
        super().__init__(code, function, detail)
        self.findings: tuple[Finding, ...] = tuple(findings)

    def __str__(self) -> str:
        return "\n  ".join([super().__str__(), *map(str, self.findings)])

    def _fields(self) -> tuple[Any, ...]:
        return (*super()._fields(), self.findings)


class ConfigMismatchError(ConfigError):
    """The configuration may be fine, but this process is bound to another one."""


class LifecycleError(AclError):
    """The call does not fit the state of the runtime; the state is as before."""


class RepeatFinalizeError(LifecycleError):
    """There is no reference to give back, or finalize has run since the last init.

    Not `NotInitializedError`, which is about using the runtime, not about ending it.
    """


class NotInitializedError(LifecycleError):
    """The call needs an open session and there is none."""


class ReentrantLifecycleError(LifecycleError):
    """A lifecycle call from inside a lifecycle callback, which would wait for itself for ever."""


class ForkedRuntimeError(LifecycleError):
    """The runtime belongs to the parent of this forked process and can't be used in the child."""


class CallbackError(AclError):
    """A lifecycle callback raised, returned something that is no status, or took too long."""


class CallbackSlotTakenError(CallbackError):
    """Every callback type but OTHER takes one function, and this one has it."""


@final
class FinalizeError(AclError, ExceptionGroup[Exception]):
    """Finalize ran to its end and the runtime is down, but these steps failed on the way.

    `code` is that of the first failure; `exceptions` holds them all in order.
    """

    def __new__(cls, function: str, exceptions: Sequence[Exception]) -> Self:
        """Make the group; `__init__` takes the same arguments."""
        return super().__new__(cls, f"{function}: {cls._detail(exceptions)}", exceptions)

    def __init__(self, function: str, exceptions: Sequence[Exception]) -> None:
        first = exceptions[0]
        code = first.code if isinstance(first, AclError) else AclCode.FAILURE
        super().__init__(code, function, self._detail(exceptions))
        self.args: tuple[Any, ...] = (function, tuple(exceptions))

    @staticmethod
    def _detail(exceptions: Sequence[Exception]) -> str:
        first = exceptions[0]
        # The number stands at the end of the message already; it is the first failure's.
        said = f"{first.function}: {first.detail}" if isinstance(first, AclError) else repr(first)
        return f"{len(exceptions)} of its steps failed: {said}"

    def __str__(self) -> str:
        return AclError.__str__(self)

    def _fields(self) -> tuple[Any, ...]:
        return (self.function, list(self.exceptions))


class BackendError(AclError):
    """The native library, or the device that stands in for it, failed."""


class BackendUnavailableError(BackendError):
    """No backend of that name can be opened here.

    `refusals` pairs every candidate with the reason it was refused.
    """

    def __init__(self, function: str, detail: str, refusals: Sequence[tuple[str, str]]) -> None:
        super().__init__(AclCode.INTERNAL_ERROR, function, detail)
        self.refusals: tuple[tuple[str, str], ...] = tuple(refusals)

    def __str__(self) -> str:
        return "\n  ".join([super().__str__(), *(f"{name}: {why}" for name, why in self.refusals)])

    def _fields(self) -> tuple[Any, ...]:
        return (self.function, self.detail, self.refusals)


class DeviceError(AclError):
    """A call on a device, or on something that lives there, failed."""


class NoContextError(DeviceError):
    """The calling thread has no context; device calls belong on the thread that owns it."""


class InvalidDeviceError(DeviceError):
    """There is no device of that number here."""


class OperatorError(DeviceError):
    """An operator failed while an exception dump was on.

    `operator` and `op_type` name it; `dump_file` is where its inputs are, None if nowhere.
    """

    def __init__(  # noqa: PLR0917 (pickle gives them by position)
        self,
        code: int,
        function: str,
        detail: str,
        operator: str = "",
        op_type: str = "",
        dump_file: str | None = None,
    ) -> None:
        super().__init__(code, function, detail)
        self.operator: str = operator
        self.op_type: str = op_type
        self.dump_file: str | None = dump_file

    def _fields(self) -> tuple[Any, ...]:
        return (*super()._fields(), self.operator, self.op_type, self.dump_file)


class DumpError(AclError):
    """A dump file or folder can't be read, is broken, or is none."""


class FeatureUnsupportedError(AclError):
    """This product does not have that call or feature."""
