"""Registering callbacks while a runtime lives: when to wait, and what is called late."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, final

from aclasync.errors import AclError
from aclasync.lifecycle.callbacks import Callback, CallbackKind, CallbackTable
from aclasync.lifecycle.events import Decision, Held, HoldRequested, Refused
from aclasync.lifecycle.nested import is_up
from aclasync.lifecycle.state import Policy

from .gate import Gate
from .invoke import running_callback
from .loops import HomeLoop
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
        named = f"acl{kind.value.capitalize()}CallbackRegister"
        async with self._holding_still(named):
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
        async with self._holding_still("aclInitCallbackRegister"):
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
        named = f"acl{kind.value.capitalize()}CallbackUnRegister"
        async with self._holding_still(named):
            with self._lock:
                self.table = self.table.unregistered(kind, callback_type, function)

    def reset_after_fork(self) -> None:
        """Forget a lock that the parent may have held."""
        self._lock = threading.Lock()

    @asynccontextmanager
    async def _holding_still(self, function: str) -> AsyncIterator[None]:
        """Let no transition begin during the block, once the one under way is over.

        A callback can't wait for that: its transition waits for it, or its own hold is there.
        """
        request = HoldRequested(function)
        decision: Decision | None
        if running_callback(self._owner) is None:
            decision = await self._gate.request(request)
        else:
            # Of its own, too: a task that the callback has started may go on after it.
            decision = self._gate.hold_more(request, HomeLoop())

        if isinstance(decision, Refused):
            raise decision.error

        home = HomeLoop()
        try:
            yield
        finally:
            if isinstance(decision, Held):
                self._gate.end_hold(home)

    async def _call_late(self, callback: Callback, policy: Policy) -> None:
        """Call an init callback that came after its pass, if the runtime is up."""
        span = self._span() if is_up(self._gate.state) else None
        if span is None:
            return

        try:
            await span.call_init(callback)
        except AclError as exc:
            if policy.reports_late_callback:
                raise

            _log.info("a late callback failed, which the reference ignores: %s", exc)
