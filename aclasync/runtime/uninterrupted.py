"""Run something to its end, whatever cancellation arrives, and deliver that afterwards.

A shielded scope alone stops scope cancellation but not `task.cancel()`, which interrupts whatever
its own task awaits. So the work gets a task of its own, and only the wait for it is interrupted.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")

_log = logging.getLogger("aclasync.lifecycle")


async def run_uninterrupted(
    work: Callable[[], Awaitable[T]],
    *,
    on_cancel: Callable[[], object] | None = None,
    expects_cancel: bool = False,
) -> T:
    """Return what `work` returns, or raise what it raises, once it is over.

    `on_cancel` is told when a cancellation arrives in the meantime. With `expects_cancel` the
    surrounding scope is known to be cancelled already, and that is not told again.
    Cancellation: delivered when `work` is over; a failure of `work` is then logged, not lost.
    """
    results: list[T] = []
    failures: list[BaseException] = []
    is_over = anyio.Event()

    async def run() -> None:
        # The scope keeps the task group's own cancellation out.
        with anyio.CancelScope(shield=True):
            try:
                results.append(await work())
            except GeneratorExit:
                raise
            except BaseException as exc:  # noqa: BLE001  # raised again below, in the caller's task
                failures.append(exc)

        is_over.set()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            try:
                with anyio.CancelScope(shield=expects_cancel):
                    await is_over.wait()
            except BaseException:
                if on_cancel is not None:
                    on_cancel()

                raise
    except BaseException as cancellation:
        for failure in failures:
            _log.error("failed while being cancelled", exc_info=failure)
            cancellation.add_note(f"meanwhile: {failure!r}")

        raise

    if failures:
        raise failures[0]

    return results[0]
