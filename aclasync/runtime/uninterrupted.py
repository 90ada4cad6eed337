"""Run something to its end, whatever cancellation arrives, and deliver that afterwards.

A shielded scope alone stops scope cancellation but not `task.cancel()`, which interrupts whatever
its own task awaits. So the work gets a task of its own, and only the wait for it is interrupted.
An event loop that is shut down cancels every task, that one too: once, shielded or not.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from aclasync.errors import shown

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
    has_begun = anyio.Event()
    is_over = anyio.Event()

    async def run() -> None:
        has_begun.set()
        # The scope keeps the task group's own cancellation out.
        with anyio.CancelScope(shield=True):
            try:
                results.append(await work())
            except GeneratorExit:
                raise
            except BaseException as exc:  # noqa: BLE001  # raised again below, in the caller's task
                failures.append(exc)

        is_over.set()

    async def run_in_own_task(*, expects_cancel: bool) -> None:
        running = run()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: running)
                try:
                    with anyio.CancelScope(shield=expects_cancel):
                        await is_over.wait()
                except BaseException:
                    if on_cancel is not None:
                        on_cancel()

                    raise
        finally:
            if not has_begun.is_set():
                running.close()

    try:
        await run_in_own_task(expects_cancel=expects_cancel)
    except GeneratorExit:
        raise
    except BaseException as cancellation:
        # A task that is cancelled before its first step never takes one; the work gets another.
        while not has_begun.is_set():
            try:
                await run_in_own_task(expects_cancel=True)
            except anyio.get_cancelled_exc_class():
                continue

        for failure in failures:
            if isinstance(failure, anyio.get_cancelled_exc_class()):
                continue  # the same shutdown of the loop

            _log.error("failed while being cancelled", exc_info=failure)
            cancellation.add_note(f"meanwhile: {shown(failure)}")

        raise

    if failures:
        raise failures[0]

    return results[0]


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """Await `call` again for as long as it is cancelled, which must leave nothing changed.

    For work that `run_uninterrupted` runs: what reaches it is the shutdown of its event loop, and
    whoever waits for the work is told of that as well.
    """
    while True:
        try:
            return await call()
        except anyio.get_cancelled_exc_class():
            continue
