"""What one init opened and the matching finalize closes, and how each step is carried out.

Takes no decisions: which step comes when, and what is undone, is the machine's business.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar, final

from attrs import define, field

from aclasync.backends.base import Backend
from aclasync.codes import AclCode
from aclasync.config import Resolution
from aclasync.errors import AclError, BackendError, CallbackError, shown
from aclasync.lifecycle.callbacks import Callback, CallbackKind, CallbackTable
from aclasync.lifecycle.events import Start, Stop
from aclasync.lifecycle.flush import NOTHING_TO_FLUSH, FlushOutcome, FlushReport
from aclasync.lifecycle.sequence import INIT_ORDER, CallbackType, FinalizeStep, InitStep
from aclasync.lifecycle.state import OnError

from .errtext import ErrorText
from .flush import Flush, Missing, end_log, warn_if_variable_changed
from .hop import OwnedThread
from .invoke import check_status, invoke
from .uninterrupted import run_uninterrupted

T = TypeVar("T")

_log = logging.getLogger("aclasync.lifecycle")
_Context = AbstractContextManager[Any] | AbstractAsyncContextManager[Any]

_NOTIFIED_AT = {entry.step: entry.notifies for entry in INIT_ORDER}


@final
@define(eq=False)
class Span:
    """One stretch from init to finalize. Used by whoever runs the transition, one at a time."""

    owner: object
    resolution: Resolution
    flush_timeout_s: float
    #: The timeout's environment variable as it was at init; MISSING if something else decided.
    flush_variable: str | Missing | None
    callback_timeout_s: float | None
    table: Callable[[], CallbackTable]
    error_text: ErrorText
    open_backend: Callable[[], Backend]
    backend: Backend | None = None
    flush_report: FlushReport = NOTHING_TO_FLUSH
    _flush: Flush | None = None
    #: How the wait for the log ended, and how many seconds it took.
    _waited: tuple[FlushOutcome, float] = (FlushOutcome.DRAINED, 0.0)
    _is_flush_cut: bool = False
    _thread: OwnedThread | None = None
    #: Contexts that were entered, by the serial of their registration, oldest first.
    _entered: dict[int, tuple[Callback, _Context]] = field(factory=dict)

    # Orders of the machine

    async def start(self, order: Start) -> None:
        """Perform one step of init; an error says that a backend's step had no effect."""
        if self.backend is None:
            self.backend = self.open_backend()
            self.error_text.is_per_process = bool(self.resolution.effective.err_msg_mode.value)

        await self.announce(f"init.{order.entry.step}")
        if (callback_type := order.entry.notifies) is not None:
            await self.notify_init(callback_type)
            return

        await self._call_backend(self.backend.start, order.entry.step.value, self.resolution)

    async def undo(self, step: InitStep) -> None:
        """Take one step of init back."""
        await self.announce(f"undo.{step}")
        if (callback_type := _NOTIFIED_AT[step]) is not None:
            await self._exit_contexts(lambda callback: callback.type == callback_type)
        elif self.backend is not None:
            await self._call_backend(self.backend.undo, step.value)

    async def stop(self, order: Stop) -> tuple[BaseException, ...]:
        """Perform one step of finalize; return what failed in it."""
        step, notifies = order.entry
        try:
            await self.announce(f"finalize.{step}")
            if step is FinalizeStep.LOG_FLUSH:
                await self._flush_log()
            elif notifies is not None:
                return await self._notify_finalize(notifies, order.on_error)
            elif self.backend is not None:
                await self._call_backend(self.backend.stop, step.value)
        except GeneratorExit:
            raise
        except BaseException as exc:  # noqa: BLE001  # collected by the machine, raised at the end
            return (exc,)

        return ()

    def skip_flush(self) -> bool:
        """End a running wait for the device's log; return whether there was one."""
        flush = self._flush
        if flush is None:
            return False

        flush.skip()
        return True

    def cut_flush(self) -> None:
        """End the wait for the device's log now, or as soon as it begins."""
        self._is_flush_cut = True
        self.skip_flush()

    def mend_flush(self) -> None:
        """Let the next finalize wait again, after one that was cut and then stopped at a step."""
        self._is_flush_cut = False

    async def release(self) -> None:
        """Exit what is still entered and let go of the device; the span is not used again."""
        # A context whose step failed before it came to it.
        failures = await _failures_of(self._exit_contexts, lambda _: True)
        failures += await _failures_of(self._release_backend)
        _raise_all("a runtime was not let go of cleanly", failures)

    async def _release_backend(self) -> None:
        backend = self.backend
        if backend is None:
            return

        outcome, elapsed_s = self._waited
        try:
            self.flush_report = await end_log(backend, outcome, elapsed_s, self.flush_timeout_s)
        finally:
            try:
                await self._call_backend(backend.close)
            finally:
                self._end_thread()

    def drop(self) -> None:
        """Let go of the backend without waiting; contexts that were entered stay so."""
        for callback, _ in self._entered.values():
            _log.error("the context of the %s can't be exited any more", callback)

        self.let_go()

    def let_go(self) -> None:
        """Close the backend without waiting, and end the thread of its calls."""
        try:
            if self.backend is not None:
                self.backend.close()
        finally:
            self._end_thread()

    def _end_thread(self) -> None:
        if self._thread is not None:
            self._thread.close()

    # Callbacks

    async def notify_init(self, callback_type: CallbackType) -> None:
        """Call the init callbacks of a type, oldest first, until one fails."""
        serial = 0
        while callback := self.table().next_in_pass(CallbackKind.INIT, callback_type, serial):
            serial = callback.serial
            await self.call_init(callback)

    async def call_init(self, callback: Callback) -> None:
        """Call one init callback, or enter its context."""
        text = self.resolution.content
        length = len(text.encode("utf-8", "surrogateescape"))
        args = (text, length, callback.user_data)
        if callback.is_context:
            await self._invoke(callback, self._enter, callback, args)
        else:
            check_status(callback, await self._invoke(callback, callback.function, *args))

    async def _notify_finalize(
        self, callback_type: CallbackType, on_error: OnError
    ) -> tuple[BaseException, ...]:
        failures: list[BaseException] = []
        serial = 0
        while callback := self.table().next_in_pass(CallbackKind.FINALIZE, callback_type, serial):
            serial = callback.serial
            failures += await _failures_of(self._call_finalize, callback)
            if failures and on_error is OnError.STOP:
                return tuple(failures)

        # A context whose type is never notified at finalize, or that was unregistered meanwhile.
        if callback_type is CallbackType.OTHER and self._entered:
            failures += await _failures_of(self._exit_contexts, lambda _: True)

        return tuple(failures)

    async def _call_finalize(self, callback: Callback) -> None:
        if callback.is_context:
            # Its other half, the init callback, was registered just before it.
            if (entered := self._entered.pop(callback.serial - 1, None)) is not None:
                await self._invoke(callback, _exit, entered[1])

            return

        status = await self._invoke(callback, callback.function, callback.user_data)
        check_status(callback, status)

    async def _enter(self, callback: Callback, args: tuple[object, ...]) -> None:
        context = callback.function(*args)
        if isinstance(context, AbstractAsyncContextManager):
            await context.__aenter__()
        elif isinstance(context, AbstractContextManager):
            context.__enter__()
        else:
            raise CallbackError(
                AclCode.FAILURE,
                "callback",
                f"{shown(context)} of the {callback} is no context manager",
            )

        self._entered[callback.serial] = (callback, context)

    async def _exit_contexts(self, belongs: Callable[[Callback], bool]) -> None:
        failures: list[BaseException] = []
        for serial, (callback, context) in reversed(tuple(self._entered.items())):
            if belongs(callback):
                del self._entered[serial]
                failures += await _failures_of(self._invoke, callback, _exit, context)

        _raise_all("contexts failed to exit", failures)

    async def _invoke(
        self, callback: Callback, function: Callable[..., Any], *args: object
    ) -> object:
        return await invoke(self.owner, callback, function, args, self.callback_timeout_s)

    # The backend

    async def announce(self, point: str) -> None:
        """Pass a named point, at which a test may fail, delay or park."""
        if self.backend is not None and self.backend.announce is not None:
            await self.backend.announce(point)

    async def _flush_log(self) -> None:
        if self.backend is None:
            return

        if self.flush_variable is not Missing.MISSING:
            warn_if_variable_changed(self.flush_variable)

        self._flush = Flush(self.flush_timeout_s)
        if self._is_flush_cut:
            self._flush.skip()

        try:
            self._waited = await self._flush.run(self.backend)
        finally:
            self._flush = None

    async def _call_backend(self, function: Callable[..., T], *args: object) -> T:
        assert self.backend is not None
        try:
            if not self.backend.blocks:
                return function(*args)

            thread = self._thread = self._thread or OwnedThread("aclasync-lifecycle")
            return await run_uninterrupted(lambda: thread.call(function, *args))
        except AclError:
            raise
        except Exception as exc:
            raise BackendError(
                AclCode.FAILURE,
                self.backend.name,
                f"{function.__name__}{args[:1]} raised {shown(exc)}",
            ) from exc


async def _exit(context: _Context) -> None:
    if isinstance(context, AbstractAsyncContextManager):
        await context.__aexit__(None, None, None)
    else:
        context.__exit__(None, None, None)


async def _failures_of(
    function: Callable[..., Awaitable[object]], *args: Any
) -> list[BaseException]:
    try:
        await function(*args)
    except GeneratorExit:
        raise
    except BaseException as exc:  # noqa: BLE001  # collected, raised by the caller
        return [exc]

    return []


def _raise_all(message: str, failures: list[BaseException]) -> None:
    if len(failures) > 1:
        raise BaseExceptionGroup(message, failures)

    if failures:
        raise failures[0]
