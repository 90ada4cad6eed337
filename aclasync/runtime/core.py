"""What a `Runtime` is made of: ask the gate, and run the transition it hands over.

Takes no decisions and has no opinions: the policy comes with each request.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import final

from aclasync.backends.base import Backend
from aclasync.codes import AclCode
from aclasync.config import AclConfig, ConfigText, Resolution, resolve_config
from aclasync.errors import (
    AclError,
    ConfigError,
    ConfigMismatchError,
    NotInitializedError,
    RepeatFinalizeError,
)
from aclasync.lifecycle.events import (
    Closed,
    ConfigRead,
    Counted,
    Decision,
    Effect,
    FinalizeRequested,
    InitRequested,
    Joined,
    Opened,
    Read,
    ReadFirst,
    Refused,
    ReleaseRequested,
    Request,
    StepFailed,
    Stop,
    Wait,
)
from aclasync.lifecycle.flush import NOTHING_TO_FLUSH, FlushReport
from aclasync.lifecycle.machine import initial_state, refusal_of_forked_child
from aclasync.lifecycle.sequence import InitStep
from aclasync.lifecycle.state import Content, OnError
from aclasync.product import Product

from . import process
from .errtext import ErrorText
from .flush import FLUSH_VARIABLE, Missing
from .gate import Gate
from .invoke import refuse_inside_callback
from .reading import ConfigSource, describe, log_findings, read, snapshot_environment
from .registry import Registry
from .span import Span
from .transition import run_closing, run_opening
from .uninterrupted import insist, run_uninterrupted
from .values import BackendName, ConfigIgnoredWarning, InitOutcome, InitRequest


@final
class Core:
    """One runtime's state and the calls that change it."""

    def __init__(
        self,
        *,
        backend: BackendName,
        product: Product | None,
        callback_timeout_s: float | None,
        open_backend: Callable[..., Backend],
    ) -> None:
        self._backend_name = backend
        self._product = product
        self._callback_timeout_s = callback_timeout_s
        self._open_backend = open_backend
        self._opened_at: traceback.StackSummary | None = None
        self.error_text: ErrorText = ErrorText()
        #: What the running init opened.
        self.span: Span | None = None
        # What the transition under way opens or closes.
        self._moving: Span | None = None
        #: The very object that the running init was given, if it can't have changed since.
        self.running_config: object = None
        self.flush_report: FlushReport | None = None
        rules = self._product_for(InitRequest()).rules
        self.gate: Gate = Gate(
            initial_state(rules),
            close_last=self._close_last,
            give_back=self._give_back,
            let_go=self._let_go,
        )
        self.registry: Registry = Registry(self, self.gate, lambda: self.span)
        process.watch(self)

    async def init(self, request: InitRequest) -> InitOutcome:
        """Initialise or join, under the request's policy."""
        self.refuse_forked()  # before anything that asks for the event loop
        refuse_inside_callback(self, "aclInit")
        try:
            return await self._init(request)
        except AclError as exc:
            if self._product_for(request).rules.flattens_init_failure:
                exc.code = AclCode.INTERNAL_ERROR

            raise

    async def finalize(self, on_error: OnError) -> FlushReport:
        """End the runtime, whatever the count."""
        self.refuse_forked()
        refuse_inside_callback(self, "aclFinalize")
        decision = await self._ask(FinalizeRequested(on_error))
        return await self._close(decision) if isinstance(decision, Stop) else NOTHING_TO_FLUSH

    async def finalize_reference(self, on_error: OnError) -> int:
        """Give back a reference that no session holds.

        Raises:
          FeatureUnsupportedError: the product counts with finalize alone.
        """
        self.refuse_forked()
        refuse_inside_callback(self, "aclFinalizeReference")
        return await self._released(await self._ask(ReleaseRequested(on_error)))

    async def release(
        self, epoch: int, *, on_close: Callable[[Span], object] | None = None
    ) -> None:
        """Give back the reference that somebody holds of the opening `epoch`.

        `on_close` is told what is about to be closed, if it was the last. To be run by
        `run_uninterrupted`: the wait for its turn begins again when it is cancelled.
        """
        refuse_inside_callback(self, "aclFinalizeReference")
        decision = await insist(lambda: self._ask(ReleaseRequested(OnError.CONTINUE, epoch)))
        if on_close is not None and isinstance(decision, Stop) and self.span is not None:
            on_close(self.span)

        await self._released(decision)

    async def _released(self, decision: Decision) -> int:
        if isinstance(decision, Counted):
            return decision.ref_count

        assert isinstance(decision, Stop)
        await self._close(decision)
        return 0

    def cut_flush(self) -> None:
        """End the wait for the device's log, now or when it begins; for a process that ends."""
        for span in (self.span, self._moving):
            if span is not None:
                span.cut_flush()

    def refuse_forked(self) -> None:
        """Raise in a forked child of the process that initialised.

        Raises:
          ForkedRuntimeError: this is one.
        """
        if (forked := refusal_of_forked_child(self.gate.state)) is not None:
            raise forked

    def open_span(self, function: str) -> Span:
        """Return what the running init opened.

        Raises:
          NotInitializedError: the runtime is down (100001).
        """
        if self.span is None:
            self.refuse_forked()
            raise NotInitializedError(
                AclCode.UNINITIALIZE, function, "the runtime is down; open a session first"
            )

        return self.span

    def product(self) -> Product:
        """The product in force, or the one that an init would take."""
        span = self.span
        return self._product_for(InitRequest()) if span is None else span.resolution.product

    # The process

    def reset_after_fork(self, parent_pid: int) -> None:
        """Start over in a forked child, or refuse everything there if the parent had begun."""
        self.gate.reset_after_fork(parent_pid)
        self.registry.reset_after_fork()
        self.error_text.reset_after_fork()
        self.span = None

    def left_open_at(self) -> str | None:
        """Where the runtime was opened, if it is up."""
        if self.span is None or self._opened_at is None:
            return None

        return "".join(reversed(self._opened_at.format()))

    def abandon(self) -> None:
        """Let go of the device without a finalize; for tests, which throw the runtime away."""
        process.unwatch(self)
        if self.span is not None:
            self.span.let_go()

    # Transitions

    async def _init(self, request: InitRequest) -> InitOutcome:
        content, source = await describe(request.config)
        rules = self._product_for(request).rules
        while True:
            decision = await self._ask(InitRequested(content, request.policy, rules))
            if isinstance(decision, Joined):
                return await self._join(request, decision)

            if isinstance(decision, Read):
                return await self._open(request, decision, source)

            assert isinstance(decision, ReadFirst)
            content, resolution = await self._read(request, source)
            unreadable = _faults_of(resolution).get(InitStep.READ)
            if unreadable is not None:
                raise unreadable

    async def _open(
        self, request: InitRequest, read: Read, source: ConfigText | str
    ) -> InitOutcome:
        span: Span | None = None
        outcome: ConfigRead | StepFailed
        try:
            content, resolution = await self._read(request, source)
            log_findings(resolution)
            span = self._moving = self._span_for(request, resolution)
            outcome = _judge(content, resolution, strict=request.strict)
        except GeneratorExit as exc:
            self.gate.abandon(read.serial, exc)
            raise
        except BaseException as exc:  # noqa: BLE001  # raised again by run_opening
            outcome = StepFailed((exc,))

        opened_at = traceback.StackSummary.extract(
            traceback.walk_stack(None), limit=20, lookup_lines=False
        )

        def publish(effect: Effect) -> None:
            if isinstance(effect, Opened):
                self.span = span
                self.running_config = _unchanging(request.config)
                self._opened_at = opened_at

        epoch = await run_opening(self.gate, read, span, outcome, publish)
        return InitOutcome(
            code=AclCode.SUCCESS, is_repeat=False, ref_count=1, config_applied=True, epoch=epoch
        )

    async def _join(self, request: InitRequest, joined: Joined) -> InitOutcome:
        try:
            self._check_same_device(request)
            if joined.warns:
                warnings.warn(
                    "joined a runtime that runs with another configuration; the one given here "
                    "has no effect",
                    ConfigIgnoredWarning,
                    stacklevel=_levels_above_us(),
                )
        except BaseException:
            effect = self.gate.withdraw(joined)
            if isinstance(effect, Stop):  # everybody else has left in the meantime
                await self._close(effect)
            elif isinstance(effect, Wait):  # they have, and a late callback holds the runtime up
                await self._give_back(joined)

            raise

        code = AclCode.REPEAT_INITIALIZE if joined.is_repeat else AclCode.SUCCESS
        return InitOutcome(
            code=code,
            is_repeat=True,
            ref_count=joined.ref_count,
            config_applied=joined.config_applied,
            epoch=joined.epoch,
        )

    async def _close(self, first: Stop, *, expects_cancel: bool = False) -> FlushReport:
        span = self._moving = self.span or self._span_of_nothing()

        def publish(effect: Effect) -> None:
            self.flush_report = span.flush_report
            if isinstance(effect, Closed):
                self.span = None
                self.running_config = None
            else:
                span.mend_flush()

        await run_uninterrupted(
            lambda: run_closing(self.gate, first, span, publish),
            on_cancel=span.cut_flush,
            expects_cancel=expects_cancel,
        )
        return span.flush_report

    async def _give_back(self, joined: Joined) -> None:
        """Release the reference of a caller who was cancelled before it could use it."""
        with suppress(RepeatFinalizeError):  # the finalize that it waited for has taken it
            await run_uninterrupted(lambda: self.release(joined.epoch), expects_cancel=True)

    def _let_go(self) -> Callable[[], None]:
        """Take away what an abandoned transition held; return what drops it, without waiting."""
        moving, self._moving, self.span, self.running_config = self._moving, None, None, None
        return moving.drop if moving is not None else lambda: None

    async def _close_last(self, first: Stop) -> None:
        """Finalize for a caller who was cancelled with the last reference in its hand."""
        await self._close(first, expects_cancel=True)

    async def _ask(self, request: Request) -> Decision:
        decision = await self.gate.request(request)
        if isinstance(decision, Refused):
            raise decision.error

        return decision

    async def _read(
        self, request: InitRequest, source: ConfigText | str
    ) -> tuple[Content, Resolution]:
        env = snapshot_environment(request.env)
        return await read(source, env=env, product=self._product_for(request))

    # What a span begins with

    def _product_for(self, request: InitRequest) -> Product:
        config = request.config
        resolved_for = config.product if isinstance(config, Resolution) else None
        return request.product or resolved_for or self._product or Product.ATLAS_A2

    def _span_for(self, request: InitRequest, resolution: Resolution) -> Span:
        environment = resolution.effective.environment
        name = self._backend_name if request.backend == "auto" else request.backend
        timeout_s = request.flush_timeout

        def open_backend() -> Backend:
            return self._open_backend(name, product=resolution.product, environment=environment)

        return Span(
            owner=self,
            resolution=resolution,
            flush_timeout_s=environment.flush_timeout_ms / 1000 if timeout_s is None else timeout_s,
            flush_variable=os.environ.get(FLUSH_VARIABLE)
            if timeout_s is None and request.env is None
            else Missing.MISSING,
            callback_timeout_s=self._callback_timeout_s,
            table=lambda: self.registry.table,
            error_text=self.error_text,
            open_backend=open_backend,
        )

    def _span_of_nothing(self) -> Span:
        """What a finalize before any init has to close: callbacks are called, and that is all."""
        request = InitRequest()
        env = snapshot_environment(None)
        resolution = resolve_config(None, env=env, product=self._product_for(request))
        return self._span_for(request, resolution)

    def _check_same_device(self, request: InitRequest) -> None:
        span = self.span
        if span is None:  # swept away since, which its exit will say
            return

        product = span.resolution.product
        backend = span.backend.name if span.backend is not None else self._backend_name
        if request.product not in (None, product) or request.backend not in ("auto", backend):
            raise ConfigMismatchError(
                AclCode.INVALID_PARAM,
                "aclInit",
                f"asked for backend {request.backend} and {request.product}, but the runtime is "
                f"up on {backend} as {product}; ask for the same, or leave it out",
            )


def _judge(content: Content, resolution: Resolution, *, strict: bool) -> ConfigRead:
    invalid: ConfigError | None = None
    try:
        resolution.raise_for_findings("aclInit", strict=strict)
    except ConfigError as exc:
        invalid = exc

    return ConfigRead(content, resolution.text.is_given, invalid, _faults_of(resolution))


def _faults_of(resolution: Resolution) -> dict[InitStep, Exception]:
    faults: dict[InitStep, Exception] = {}
    for step in resolution.faults:
        if (fault := resolution.fault_error(step, "aclInit")) is not None:
            faults[InitStep(step.value)] = fault

    return faults


def _unchanging(config: ConfigSource) -> object:
    return config if isinstance(config, (AclConfig, Resolution, bytes)) else None


def _levels_above_us() -> int:
    """How far up the stack the first frame outside of this package is, for a warning."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    frame = sys._getframe(1)  # noqa: SLF001  # what warnings itself counts
    level = 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1

    return level
