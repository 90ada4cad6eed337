"""Whose context is current on which thread. Knows nothing of what a device does."""

from __future__ import annotations

import threading
from typing import final

from attrs import define

from aclasync.errors import AclCode, DeviceError, NoContextError


@final
@define(eq=False)
class Context:
    """What a thread must have current to use a device through one of its handles."""

    device_id: int
    #: False for good once the handle is closed, on whatever threads it was current.
    is_open: bool = True

    def require_open(self, function: str) -> None:
        """Refuse, as `function`, to go on with a closed handle.

        Raises:
          DeviceError: it is closed (107002).
        """
        if not self.is_open:
            detail = f"device {self.device_id} was closed; open it again"
            raise DeviceError(AclCode.RT_CONTEXT_NULL, function, detail)


@final
class ThreadContexts:
    """The contexts of every thread; the latest one bound is the current one.

    Contexts are kept as a stack: whoever binds and unbinds leaves a thread as it was found.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def bind(self, context: Context) -> None:
        """Make `context` current on the calling thread."""
        stack = self._stack()
        if context in stack:
            stack.remove(context)

        stack.append(context)

    def unbind(self, context: Context) -> None:
        """Take `context` from the calling thread; what was current before it is so again."""
        stack = self._stack()
        if context in stack:
            stack.remove(context)

    def current(self) -> Context | None:
        """Return what is current on the calling thread."""
        stack = self._stack()
        while stack and not stack[-1].is_open:
            stack.pop()

        return stack[-1] if stack else None

    def require(self, context: Context, function: str) -> None:
        """Refuse, as `function`, to go on unless `context`'s device is current here.

        Raises:
          NoContextError: nothing is current on the calling thread (107002).
          DeviceError: the handle is closed, or another device is current (107004).
        """
        context.require_open(function)
        here = context.device_id
        current = self.current()
        if current is None:
            detail = (
                f"thread {threading.current_thread().name!r} has no context of device {here}; "
                f"call from the thread that opened it, or bind_thread() there first"
            )
            raise NoContextError(AclCode.RT_CONTEXT_NULL, function, detail)

        if current.device_id != here:
            detail = (
                f"thread {threading.current_thread().name!r} has the context of device "
                f"{current.device_id}, the call is for device {here}"
            )
            raise DeviceError(AclCode.RT_MODEL_CONTEXT, function, detail)

    def _stack(self) -> list[Context]:
        try:
            stack: list[Context] = self._local.stack
        except AttributeError:
            stack = self._local.stack = []

        return stack
