"""The public runtime: one per process, behind every session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, final, get_args

from aclasync.backends.base import Backend
from aclasync.backends.choose import open_backend
from aclasync.lifecycle.callbacks import CallbackKind
from aclasync.lifecycle.flush import FlushReport
from aclasync.lifecycle.state import SAFE, OnError
from aclasync.product import Product, check_product

from .core import Core
from .reading import ConfigSource
from .values import (
    BackendName,
    ErrorName,
    InitOutcome,
    MismatchName,
    RuntimeStatistics,
    check_choice,
    check_seconds,
    checked_request,
)


@final
class Runtime:
    """One ACL runtime, shared by every session of the process.

    Sessions nest and may be opened from several tasks, event loops and threads at once; the first
    init opens the device, the last release closes it.
    """

    def __init__(
        self,
        *,
        backend: BackendName = "auto",
        product: Product | None = None,
        callback_timeout: float | None = None,
        backend_opener: Callable[..., Backend] = open_backend,
    ) -> None:
        """Make a runtime that is down.

        Args:
          backend: what "auto" means for its sessions.
          product: the product of sessions that name none; the backend's own by default.
          callback_timeout: seconds that one lifecycle callback may take; None for no bound.
          backend_opener: opens the backend at the first init; see `aclasync.testing`.

        Raises:
          TypeError: an argument is of another type.
          ValueError: `callback_timeout` is no time to wait.
        """
        check_product(product)
        check_choice("backend", backend, get_args(BackendName))
        check_seconds("callback_timeout", callback_timeout)
        #: For the library itself.
        self.core: Core = Core(
            backend=backend,
            product=product,
            callback_timeout_s=callback_timeout,
            open_backend=backend_opener,
        )

    # Lifecycle

    async def init(
        self,
        config: ConfigSource = None,
        *,
        product: Product | None = None,
        backend: BackendName = "auto",
        on_mismatch: MismatchName = "error",
        strict: bool = False,
        env: Mapping[str, str] | None = None,
        flush_timeout: float | None = None,
    ) -> InitOutcome:
        """Initialise ACL, or take one more reference if it is up.

        Args:
          config: a path, a mapping, JSON text as bytes, an `AclConfig`, a `Resolution` or None.
          product: judge the configuration for this product.
          backend: "auto" takes the native library if it can be loaded, else the embedded device.
          on_mismatch: what to do when the runtime is up with other content.
          strict: let a warning about the configuration refuse it, too.
          env: environment variables instead of the process's.
          flush_timeout: seconds that finalize waits for the device's log, at most; wins over
            ASCEND_LOG_DEVICE_FLUSH_TIMEOUT.

        Raises:
          ConfigError: the configuration is wrong; all findings are listed, nothing was started.
          ConfigMismatchError: the process is bound to, or runs with, different content.
          AclError: a step or a callback failed; what had been done is undone.
        Cancellation: safe at every point; what had been done is undone, the count is as before.
        """
        request = checked_request(
            config,
            product=product,
            backend=backend,
            on_mismatch=on_mismatch,
            strict=strict,
            env=env,
            flush_timeout=flush_timeout,
        )
        with self.core.error_text.recording():
            return await self.core.init(request)

    async def finalize(self, *, on_error: ErrorName = "continue") -> FlushReport:
        """End the runtime for everybody, whatever the count; prefer `finalize_reference`.

        Args:
          on_error: "continue" runs the rest of the sequence after a failing step; "stop" leaves
            count and state as they are, so that it can be tried again.

        Raises:
          RepeatFinalizeError: it has been finalized and no init has succeeded since (100037).
          FinalizeError: the runtime is down, but these steps failed on the way.
        Cancellation: cuts the wait for the device's log short; the sequence runs to its end.
        """
        with self.core.error_text.recording():
            return await self.core.finalize(OnError(on_error))

    async def finalize_reference(self, *, on_error: ErrorName = "continue") -> int:
        """Give one reference back and return how many are left; the last one ends the runtime.

        Raises:
          RepeatFinalizeError: there is none (100037).
          FinalizeError: the runtime is down, but these steps failed on the way.
          FeatureUnsupportedError: the product is IPV350, where `finalize` counts.
        Cancellation: as `finalize`.
        """
        with self.core.error_text.recording():
            return await self.core.finalize_reference(OnError(on_error))

    def skip_flush(self) -> bool:
        """End a running wait for the device's log, from any thread; return whether there was one.

        Finalize goes on, and the lines that were not delivered go to the spool.
        """
        self.core.refuse_forked()
        span = self.core.span
        return span is not None and span.skip_flush()

    def statistics(self) -> RuntimeStatistics:
        """Return a snapshot of what the runtime is at this moment."""
        core = self.core
        ref_count, standing = core.gate.state
        span = core.span
        backend = span.backend if span is not None else None
        return RuntimeStatistics(
            ref_count=ref_count,
            phase=standing.phase,
            backend=backend.name if backend is not None else None,
            product=core.product(),
            config=span.resolution.config if span is not None else None,
            config_source=standing.running.name if standing.running is not None else None,
            pinned_source=standing.pinned.name if standing.pinned is not None else None,
            flush_report=core.flush_report,
            callbacks=core.registry.table.entries,
            waiting=core.gate.waiting,
        )

    def __repr__(self) -> str:
        ref_count, standing = self.core.gate.state
        return f"<Runtime {standing.phase.value}, {ref_count} references>"

    # Callbacks

    async def register_init_callback(
        self,
        callback_type: int,
        function: Callable[..., Any] | None,
        user_data: Any = None,
        *,
        in_thread: bool = False,
    ) -> None:
        """Have `function(config_text, length, user_data)` called or awaited during init.

        While the runtime is up it is called at once, whatever its type, and stays registered even
        if it fails. `length` counts UTF-8 bytes. Success is None or 0.

        Args:
          callback_type: a `CallbackType`; OTHER takes any number, every other type one.
          function: a function or coroutine function.
          user_data: handed to `function` as it is.
          in_thread: call `function` in a worker thread instead of the event loop's.

        Raises:
          CallbackSlotTakenError: the type has one (500000).
          CallbackError: `function` can't be called (100000), or failed when called at once.
        """
        with self.core.error_text.recording():
            await self.core.registry.register(
                CallbackKind.INIT,
                callback_type,
                function,
                user_data,
                in_thread=in_thread,
                policy=SAFE,
            )

    async def unregister_init_callback(
        self, callback_type: int, function: Callable[..., Any] | None
    ) -> None:
        """Remove the oldest init callback of that type and function.

        Raises:
          CallbackError: there is none (500000), or `function` is None (100000).
        """
        with self.core.error_text.recording():
            await self.core.registry.unregister(CallbackKind.INIT, callback_type, function)

    async def register_finalize_callback(
        self,
        callback_type: int,
        function: Callable[..., Any] | None,
        user_data: Any = None,
        *,
        in_thread: bool = False,
    ) -> None:
        """Have `function(user_data)` called or awaited during finalize; success is None or 0.

        Arguments and errors are those of `register_init_callback`.
        """
        with self.core.error_text.recording():
            await self.core.registry.register(
                CallbackKind.FINALIZE,
                callback_type,
                function,
                user_data,
                in_thread=in_thread,
                policy=SAFE,
            )

    async def unregister_finalize_callback(
        self, callback_type: int, function: Callable[..., Any] | None
    ) -> None:
        """Remove the oldest finalize callback of that type and function.

        Raises:
          CallbackError: there is none (500000), or `function` is None (100000).
        """
        with self.core.error_text.recording():
            await self.core.registry.unregister(CallbackKind.FINALIZE, callback_type, function)

    async def register_context(
        self, callback_type: int, factory: Callable[..., Any], user_data: Any = None
    ) -> None:
        """Have `factory(config_text, length, user_data)` entered by init and exited by finalize.

        `factory` returns an async or a plain context manager, as a function decorated with
        `contextlib.asynccontextmanager` does. If a later step of the init fails or is cancelled,
        the contexts that were entered are exited in reverse.

        A context is exited by whoever leaves last, in another task and maybe another event loop. So
        no task group, cancel scope or timeout may be open at its `yield`.

        Raises:
          CallbackSlotTakenError: the type has an init or a finalize callback (500000).
          CallbackError: `factory` can't be called (100000), or failed when entered at once.
        """
        with self.core.error_text.recording():
            await self.core.registry.register_context(callback_type, factory, user_data, SAFE)


_default_lock = threading.Lock()
_default: Runtime | None = None


def default_runtime() -> Runtime:
    """Return the one runtime of this process, which `acl_session` uses."""
    global _default  # noqa: PLW0603  # process state is what this is
    runtime = _default
    if runtime is None:
        with _default_lock:
            runtime = _default = _default or Runtime()

    return runtime


def replace_default_runtime(runtime: Runtime | None) -> Runtime | None:
    """Put another default runtime in place and return the old one; for tests."""
    global _default  # as above
    with _default_lock:
        old, _default = _default, runtime

    return old
