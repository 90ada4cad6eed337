"""The callback table: who is registered, and who is next in a pass.

A value; every change gives a new table. Entries carry a serial number that only grows, and a pass
asks for the next entry after the one it has just visited. So an entry added during the pass is
still visited, one removed before its turn is not, and one may remove itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Any, final

from attrs import evolve, frozen

from aclasync.codes import AclCode
from aclasync.errors import CallbackError, CallbackSlotTakenError, shown

from .sequence import CallbackType

_serial = attrgetter("serial")


@final
class CallbackKind(Enum):
    """Which of the two sequences notifies a callback."""

    INIT = "init"
    FINALIZE = "finalize"


@final
@frozen
class Callback:
    """One registration."""

    serial: int
    kind: CallbackKind
    #: A `CallbackType`, or a number the reference does not know and never notifies.
    type: int
    function: Callable[..., Any]
    user_data: Any = None
    runs_in_thread: bool = False
    #: `function` makes a context manager, entered by init and exited by finalize.
    is_context: bool = False

    def __str__(self) -> str:
        name = getattr(self.function, "__qualname__", None) or repr(self.function)
        known = self.type in CallbackType.__members__.values()
        kind = CallbackType(self.type).name if known else str(self.type)
        return f"{self.kind.value} callback {name} ({kind})"


@final
@frozen
class CallbackTable:
    """All registrations, oldest first."""

    entries: tuple[Callback, ...] = ()
    next_serial: int = 1

    def registered(
        self,
        kind: CallbackKind,
        callback_type: int,
        function: Callable[..., Any] | None,
        user_data: Any = None,
        *,
        runs_in_thread: bool = False,
        is_context: bool = False,
    ) -> CallbackTable:
        """Return the table with one more entry, which is its last.

        Raises:
          CallbackSlotTakenError: the type, which is not OTHER, has one of that kind (500000).
          CallbackError: `function` is None or can't be called (100000).
          TypeError: `callback_type` is no number.
        """
        if not isinstance(callback_type, int):
            raise TypeError(
                f"a callback type is a CallbackType or an int, not {shown(callback_type)}"
            )

        if function is None or not callable(function):
            raise CallbackError(
                AclCode.INVALID_PARAM,
                _call_name(kind, "Register"),
                f"a callback must be a function or a coroutine function, not {shown(function)}",
            )

        if callback_type != CallbackType.OTHER:
            holders = (e for e in self.entries if e.kind is kind and e.type == callback_type)
            if (holder := next(holders, None)) is not None:
                raise CallbackSlotTakenError(
                    AclCode.INTERNAL_ERROR,
                    _call_name(kind, "Register"),
                    f"{holder} is registered already; unregister it first, or use OTHER, "
                    "which takes any number",
                )

        entry = Callback(
            self.next_serial, kind, callback_type, function, user_data, runs_in_thread, is_context
        )
        return CallbackTable((*self.entries, entry), self.next_serial + 1)

    def unregistered(
        self, kind: CallbackKind, callback_type: int, function: Callable[..., Any] | None
    ) -> CallbackTable:
        """Return the table without the oldest entry of that function.

        Raises:
          CallbackError: `function` is None (100000), or is not registered there (500000).
        """
        if function is None:
            raise CallbackError(
                AclCode.INVALID_PARAM,
                _call_name(kind, "UnRegister"),
                "a callback must be a function or a coroutine function, not None",
            )

        for index, entry in enumerate(self.entries):
            if entry.kind is kind and entry.type == callback_type and entry.function == function:
                rest = self.entries[:index] + self.entries[index + 1 :]
                return evolve(self, entries=rest)

        raise CallbackError(
            AclCode.INTERNAL_ERROR,
            _call_name(kind, "UnRegister"),
            f"{shown(function)} is not registered as {kind.value} callback of type "
            f"{shown(callback_type)}",
        )

    def next_in_pass(self, kind: CallbackKind, callback_type: int, after: int) -> Callback | None:
        """Return the oldest entry younger than serial `after`, or None at the end of the pass."""
        # Serials ascend: where the pass stands is found at once, however many there are.
        begin = bisect_right(self.entries, after, key=_serial)
        for at in range(begin, len(self.entries)):
            entry = self.entries[at]
            if entry.kind is kind and entry.type == callback_type:
                return entry

        return None


def _call_name(kind: CallbackKind, verb: str) -> str:
    return f"acl{kind.value.capitalize()}Callback{verb}"
