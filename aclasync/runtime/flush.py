"""The wait for the device's log: ends when it is drained, when time is up, or when cut short."""

from __future__ import annotations

import logging
import os
import time
from enum import Enum
from typing import final

import anyio

from aclasync.backends.base import Backend
from aclasync.lifecycle.flush import FlushOutcome, FlushReport

from .hop import in_short_thread
from .loops import Wakeup
from .uninterrupted import insist

FLUSH_VARIABLE = "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT"

_log = logging.getLogger("aclasync.flush")


class Missing(Enum):
    """Marks a value that is not there, where None is one."""

    MISSING = "missing"


def warn_if_variable_changed(at_init: str | None) -> None:
    """Say so if the timeout's variable was changed since init, which is too late."""
    now = os.environ.get(FLUSH_VARIABLE)
    if now != at_init:
        _log.warning(
            "%s was %r at init and is %r now; it is read once, at init",
            FLUSH_VARIABLE,
            at_init,
            now,
        )


@final
class Flush:
    """One wait. Made by the task that waits; `skip` may be called from anywhere."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._wakeup = Wakeup()
        self._cause: FlushOutcome | None = None

    def skip(self) -> None:
        """End the wait now."""
        self._end(FlushOutcome.SKIPPED)

    async def run(self, backend: Backend) -> tuple[FlushOutcome, float]:
        """Wait for the log of every device that was opened; return how it ended, and the seconds.

        The log goes on afterwards, so that a finalize that stops at a later step has lost nothing.
        """
        began = time.monotonic()
        outcome = await self._wait(backend)
        return outcome, time.monotonic() - began

    async def _wait(self, backend: Backend) -> FlushOutcome:
        if self._timeout_s <= 0:
            return FlushOutcome.DISABLED

        if not backend.begin_drain(self._acknowledged):
            return FlushOutcome.DRAINED

        try:
            with anyio.move_on_after(self._timeout_s):
                await self._wakeup.wait()
        except anyio.get_cancelled_exc_class():
            # This task is shielded, so its loop is being shut down: go on to the spool.
            return FlushOutcome.SKIPPED

        return self._cause or FlushOutcome.TIMED_OUT

    def _acknowledged(self) -> None:
        self._end(FlushOutcome.DRAINED)

    def _end(self, cause: FlushOutcome) -> None:
        # Two causes at once: either is true, and the later one only wakes in vain.
        if self._cause is None:
            self._cause = cause

        self._wakeup.wake()


async def end_log(
    backend: Backend, outcome: FlushOutcome, elapsed_s: float, timeout_s: float
) -> FlushReport:
    """End the device's log, spool what was not delivered, and report."""
    # Joining its thread and writing what is left to a file is no work for the loop's thread.
    if backend.has_logs:
        tally = await insist(lambda: in_short_thread(backend.end_drain))
    else:
        tally = backend.end_drain()

    if tally.left:
        where = ", ".join(map(str, tally.spools)) or "no spool file"
        _log.warning(
            "device log flush %s after %.3f s: %s not delivered, see %s",
            outcome.value,
            elapsed_s,
            "1 line was" if tally.left == 1 else f"{tally.left} lines were",
            where,
        )

    return FlushReport(outcome, tally.delivered, tally.left, elapsed_s, timeout_s, tally.spools)
