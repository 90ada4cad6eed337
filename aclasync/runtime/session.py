"""Sessions: one holder's view of the running runtime, and the composition root of the library."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Generator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, final

import anyio
from attrs import define, evolve, field

from aclasync.codes import AclCode
from aclasync.config import AclConfig, Resolution
from aclasync.errors import FinalizeError, NotInitializedError, RepeatFinalizeError, shown
from aclasync.lifecycle.flush import FlushReport
from aclasync.product import Product

from .core import Core
from .device import Device, Opening, open_device
from .invoke import refuse_inside_callback, running_run
from .loops import is_thrown_away
from .reading import ConfigSource, located
from .runtime import Runtime, default_runtime
from .span import Span
from .uninterrupted import insist, run_uninterrupted
from .values import BackendName, InitRequest, MismatchName, checked_request

_log = logging.getLogger("aclasync.lifecycle")

# What `acl_session(config)` asks for when nothing else is said; shared, so that entering a
# runtime that is up allocates nothing but the session.
_PLAIN = InitRequest()

# The kinds of configuration that do not depend on the working directory.
_NO_PATHS = frozenset({type(None), Resolution, AclConfig, bytes, dict})

# The epochs of a session that holds no reference; no opening ever has them.
_NEW = 0
_LEFT = -1
_ENTERING = -2
_NOT_OPEN = (_NEW, _ENTERING)


def acl_session(
    config: ConfigSource = None,
    *,
    product: Product | None = None,
    backend: BackendName = "auto",
    on_mismatch: MismatchName = "error",
    strict: bool = False,
    env: Mapping[str, str] | None = None,
    flush_timeout: float | None = None,
) -> AclSession:
    """Hold the ACL runtime open for the duration of an `async with` block.

    Sessions nest and may be opened from several tasks, event loops and threads at once; the first
    init starts the runtime and the last exit ends it, after waiting for the device's log.

    Args:
      config: a path, a mapping, JSON text as bytes, an `AclConfig`, or None, which joins whatever
        runs. Relative paths are resolved against the working directory of this moment.
      product: judge the configuration for this product; the device's own by default.
      backend: "auto" takes the native library if it can be loaded, else the embedded device.
      on_mismatch: when the runtime is up with another content, "error" refuses, "warn" joins with
        a `ConfigIgnoredWarning`, "ignore" just joins.
      strict: let a warning about the configuration refuse it, too.
      env: environment variables instead of the process's.
      flush_timeout: seconds that the exit waits for the device's log, at most; wins over
        ASCEND_LOG_DEVICE_FLUSH_TIMEOUT, whose default is 2000 ms.

    Raises:
      ConfigError: the configuration is wrong; all findings are listed, nothing was started.
      ConfigMismatchError: the process is bound to, or runs with, different content.
      BackendUnavailableError: no such backend here; every candidate is listed with its reason.
      FinalizeError: on exit, the runtime is down but some steps of finalize failed.
    Cancellation: safe at every point. Entering undoes what it had done; leaving always finishes.
    """
    if type(config) not in _NO_PATHS:
        config = located(config)

    if (
        product is None
        and backend == "auto"
        and on_mismatch == "error"
        and not strict
        and env is None
        and flush_timeout is None
    ):
        return AclSession(config, _PLAIN)

    request = checked_request(
        None,
        product=product,
        backend=backend,
        on_mismatch=on_mismatch,
        strict=strict,
        env=env,
        flush_timeout=flush_timeout,
    )
    return AclSession(config, request)


@final
class AclSession:
    """One holder's view of the running runtime; alive only inside its `async with`.

    It does not own the process state: the last session to leave does the finalizing. At a prompt,
    `session = await acl_session()` enters it and `await session.aclose()` leaves it.
    """

    __slots__ = ("_config", "_details", "_epoch", "_gate", "_request", "_runtime")

    def __init__(self, config: ConfigSource, request: InitRequest) -> None:
        self._config = config
        self._request = request
        self._epoch = _NEW
        self._details: _Details | None = None

    def __await__(self) -> Generator[Any, Any, Self]:
        # For a prompt, where a block that stays open can't be typed.
        return self.__aenter__().__await__()

    async def aclose(self) -> None:
        """Leave a session that was entered with `await acl_session(...)`, as its block would."""
        await self.__aexit__(None, None, None)

    async def __aenter__(self) -> Self:
        if self._epoch:
            raise NotInitializedError(
                AclCode.REPEAT_INITIALIZE,
                "acl_session",
                "this session was entered before; make a new one for every async with",
            )

        runtime = self._runtime = default_runtime()
        core = runtime.core
        gate = self._gate = core.gate
        config = self._config
        if self._request is _PLAIN and (config is None or config is core.running_config):
            if running_run.get() is not None:
                refuse_inside_callback(core, "aclInit")

            if epoch := gate.enter_nested():
                self._epoch = epoch
                return self

        self._epoch = _ENTERING
        try:
            await self._enter(runtime)
        except BaseException:
            self._epoch = _NEW
            raise

        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        epoch = self._epoch
        details = self._details
        if epoch > 0:
            if (details is None or not details.devices) and self._gate.leave_nested(epoch):
                self._epoch = _LEFT
                return
        elif epoch in _NOT_OPEN:
            self.runtime  # noqa: B018  # says so

        self._epoch = _LEFT
        await self._leave(epoch, exc)

    @property
    def runtime(self) -> Runtime:
        """The runtime behind this session.

        Raises:
          NotInitializedError: it has not been entered yet; so does everything below (100001).
        """
        if self._epoch in _NOT_OPEN:
            raise NotInitializedError(
                AclCode.UNINITIALIZE,
                "acl_session",
                "this session is not open yet; enter it with `async with`",
            )

        return self._runtime

    @property
    def ref_count(self) -> int:
        """References to the runtime at this moment, all holders counted."""
        return self.runtime.core.gate.state.ref_count

    @property
    def config(self) -> AclConfig | None:
        """The configuration in force, whoever brought it; None after finalize."""
        span = self.runtime.core.span
        return span.resolution.config if span is not None else None

    @property
    def resolution(self) -> Resolution:
        """Every value in force with its origin, and all findings."""
        return self.runtime.core.open_span("resolution").resolution

    @property
    def product(self) -> Product:
        """The product the runtime is up on."""
        return self.runtime.core.product()

    @property
    def backend_name(self) -> str | None:
        """`embedded` or `cann`; None after finalize."""
        return self.runtime.statistics().backend

    @property
    def joined(self) -> bool:
        """Whether somebody else had initialised ACL first."""
        self.runtime  # noqa: B018  # refuses a session that is not open yet
        return self._details is None or not self._details.is_first

    @property
    def config_applied(self) -> bool:
        """Whether the configuration that this session brought is the one in force."""
        self.runtime  # noqa: B018  # as above
        return self._details is None or self._details.is_config_applied

    @property
    def flush_report(self) -> FlushReport | None:
        """What became of the device's log, if leaving this session ended the runtime."""
        if self._epoch in _NOT_OPEN or self._details is None:
            return None

        return self._details.flush_report

    def open_device(self, device_id: int | None = None) -> Opening[Device]:
        """Open a device: `await` it, or hold it with `async with`; the session closes what is left.

        Args:
          device_id: counted among the visible devices; by default the configuration's
            `defaultDevice`, or 0.

        Raises:
          InvalidDeviceError: there is no such device (107001).
          NotInitializedError: the session is not open (100001).
        """
        return Opening(lambda: self._open_device(device_id))

    def __rich_repr__(self) -> Iterator[tuple[str, object]]:
        if self._epoch in _NOT_OPEN:
            return

        if self._epoch == _LEFT:
            yield "flush_report", self.flush_report
            return

        for name in ("ref_count", "backend_name", "product", "joined", "config_applied", "config"):
            yield name, getattr(self, name)

    def __repr__(self) -> str:
        if self._epoch in _NOT_OPEN:
            return "<AclSession not entered>"

        if self._epoch == _LEFT:
            return "<AclSession left>"

        return f"<AclSession of {self._runtime!r}{', joined' if self.joined else ''}>"

    async def _enter(self, runtime: Runtime) -> None:
        request = evolve(self._request, config=self._config)
        with runtime.core.error_text.recording():
            outcome = await runtime.core.init(request)

        self._epoch = outcome.epoch
        self._details = _Details(
            is_first=not outcome.is_repeat, is_config_applied=outcome.config_applied
        )

    async def _leave(self, epoch: int, exc: BaseException | None) -> None:
        if isinstance(exc, GeneratorExit) and is_thrown_away():
            # The task was thrown away with its event loop: nothing can be awaited here.
            _log.warning("a session was lost with its event loop and still holds a reference")
            return

        exit_ = _Exit(epoch)
        core = self._runtime.core
        try:
            core.refuse_forked()
            with core.error_text.recording():
                await run_uninterrupted(
                    lambda: self._close(exit_),
                    on_cancel=exit_.cut_flush,
                    expects_cancel=isinstance(exc, anyio.get_cancelled_exc_class()),
                )
        except Exception as failure:
            if exc is None:
                raise

            _log.exception("leaving the session failed, too")
            exc.add_note(f"leaving the session failed, too: {shown(failure)}")
        except BaseException as interrupt:
            if isinstance(exc, Exception):  # it gives way to a cancellation, but not in silence
                _log.error("the body of a session had failed before this", exc_info=exc)
                interrupt.add_note(f"the body had failed before: {shown(exc)}")

            raise
        finally:
            if exit_.span is not None:
                self._own_details().flush_report = exit_.span.flush_report

    async def _close(self, exit_: _Exit) -> None:
        if exit_.epoch == _LEFT:
            raise RepeatFinalizeError(
                AclCode.REPEAT_FINALIZE, "acl_session", "this session has been left before"
            )

        failures: list[BaseException] = []
        devices = self._own_details().devices
        while devices:
            failures += await _failures_of(insist(devices.pop().aclose))

        release = self._runtime.core.release(exit_.epoch, on_close=exit_.close_span)
        failures += await _failures_of(release)
        ordinary = [failure for failure in failures if isinstance(failure, Exception)]
        if len(ordinary) > 1:
            raise FinalizeError("acl_session", ordinary)

        if failures:
            raise ordinary[0] if ordinary else failures[0]

    async def _open_device(self, device_id: int | None) -> Device:
        core = self.runtime.core
        with core.error_text.recording():
            return await self._opened_device(core, device_id)

    async def _opened_device(self, core: Core, device_id: int | None) -> Device:
        span = core.open_span("aclrtSetDevice")
        if core.gate.state.standing.epoch != self._epoch or span.backend is None:
            raise NotInitializedError(
                AclCode.UNINITIALIZE, "aclrtSetDevice", "this session is not open any more"
            )

        if device_id is None:
            device_id = span.resolution.effective.default_device.value or 0

        device = await open_device(span.backend, device_id, core.error_text)
        if self._epoch == _LEFT:  # while the device was being opened
            await device.aclose()
            raise NotInitializedError(
                AclCode.UNINITIALIZE, "aclrtSetDevice", "the session was left meanwhile"
            )

        self._own_details().devices.append(device)
        return device

    def _own_details(self) -> _Details:
        if self._details is None:
            self._details = _Details(is_first=False, is_config_applied=True)

        return self._details


@final
@define(eq=False)
class _Details:
    """What a session is beyond a counted reference; most in a server have none."""

    is_first: bool
    is_config_applied: bool
    devices: list[Device] = field(factory=list)
    #: Once leaving has ended the runtime.
    flush_report: FlushReport | None = None


@final
class _Exit:
    """A session's way out: what it closes, and whether the wait for the log is to be cut."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.span: Span | None = None
        self._is_cut = False

    def close_span(self, span: Span) -> None:
        self.span = span
        if self._is_cut:
            span.cut_flush()

    def cut_flush(self) -> None:
        self._is_cut = True
        if self.span is not None:
            self.span.cut_flush()


async def _failures_of(call: Awaitable[object]) -> list[BaseException]:
    try:
        await call
    except GeneratorExit:
        raise
    except BaseException as failure:  # noqa: BLE001  # raised by the caller, once all is closed
        return [failure]

    return []
