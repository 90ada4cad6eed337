"""Registering callbacks while a runtime lives: when to wait, and what is called late."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, final

from aclasync.codes import AclCode
from aclasync.errors import AclError, FeatureUnsupportedError
from aclasync.lifecycle.callbacks import Callback, CallbackKind, CallbackTable
from aclasync.lifecycle.events import (
    Admitted,
    Decision,
    LateCallEnded,
    LateCallRequested,
    QuietRequested,
    Refused,
    Request,
)
from aclasync.lifecycle.nested import is_up
from aclasync.lifecycle.state import Policy

from .gate import Gate
from .invoke import running_callback
from .span import Span

_log = logging.getLogger("aclasync.lifecycle")


@final
class Registry:
    """Owns the callback table of one runtime."""

    def __init__(self, owner: object, gate: Gate, span: Callable[[], Span | None]) -> None:
        self._owner = owner
        self._gate = gate
        self._span = span
        self._lock = threading.Lock()
        self.table: CallbackTable = CallbackTable()

    async def register(
        self,
        kind: CallbackKind,
        callback_type: int,
        function: Callable[..., Any] | None,
        user_data: Any,
        *,
        in_thread: bool,
        policy: Policy,
    ) -> None:
        """Register a callback; one for init is called at once while the runtime is up."""
        await self._settle(f"acl{kind.value.capitalize()}CallbackRegister")
        with self._lock:
            self.table = self.table.registered(
                kind, callback_type, function, user_data, runs_in_thread=in_thread
            )
            registered = self.table.entries[-1]

        if kind is CallbackKind.INIT:
            await self._call_late(registered, policy)

    async def register_context(
        self, callback_type: int, factory: Callable[..., Any], user_data: Any, policy: Policy
    ) -> None:
        """Register a context as a pair of callbacks; it is entered at once while up."""
        await self._settle("aclInitCallbackRegister")
        with self._lock:
            # The pair is found by its neighbouring serials; see `Span`.
            table = self.table.registered(
                CallbackKind.INIT, callback_type, factory, user_data, is_context=True
            )
            entering = table.entries[-1]
            self.table = table.registered(
                CallbackKind.FINALIZE, callback_type, factory, user_data, is_context=True
            )

        await self._call_late(entering, policy)

    async def unregister(
        self, kind: CallbackKind, callback_type: int, function: Callable[..., Any] | None
    ) -> None:
        """Remove the oldest callback of that type and function."""
        await self._settle(f"acl{kind.value.capitalize()}CallbackUnRegister")
        with self._lock:
            self.table = self.table.unregistered(kind, callback_type, function)

    def reset_after_fork(self) -> None:
        """Forget a lock that the parent may have held."""
        self._lock = threading.Lock()

    async def _settle(self, function: str) -> None:
        """Wait until no transition is under way, unless it is one that waits for this callback."""
        if not self._gate.state.standing.rules.has_callbacks:
            raise FeatureUnsupportedError(
                AclCode.FEATURE_UNSUPPORTED, function, "IPV350 has no lifecycle callbacks"
            )

        if running_callback(self._owner) is None:
            await self._ask(QuietRequested())

    async def _ask(self, request: Request) -> Decision:
        decision = await self._gate.request(request)
        if isinstance(decision, Refused):
            raise decision.error

        return decision

    async def _call_late(self, callback: Callback, policy: Policy) -> None:
        """Call an init callback that came after its pass, if the runtime is up.

        It stays up for as long as the call takes: whoever wants to end it waits.
        """
        if running_callback(self._owner) is not None:
            if is_up(self._gate.state):  # from inside another late call, which holds it up
                await self._call(callback, policy)

            return

        if not isinstance(await self._ask(LateCallRequested()), Admitted):
            return

        try:
            await self._call(callback, policy)
        finally:
            self._gate.tell(LateCallEnded())

    async def _call(self, callback: Callback, policy: Policy) -> None:
        span = self._span()
        if span is None or callback.serial in span.notified:
            return

        try:
            await span.call_init(callback)
        except AclError as exc:
            if policy.reports_late_callback:
                raise

            _log.info("a late callback failed, which the reference ignores: %s", exc)
