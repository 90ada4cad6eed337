"""Call one lifecycle callback, sync or async, and judge what it returned.

Also knows whether the running task stands inside a callback, or was started by one that still
runs: from there a lifecycle call would wait for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, final

import anyio

from aclasync.codes import AclCode
from aclasync.errors import AclError, CallbackError, ReentrantLifecycleError, shown
from aclasync.lifecycle.callbacks import Callback


@final
class _Run:
    """A callback while it runs; seen by its task and by every task started from there."""

    __slots__ = ("callback", "is_over", "owner")

    def __init__(self, owner: object, callback: Callback) -> None:
        self.owner = owner
        self.callback = callback
        self.is_over = False


#: None outside of every callback; anything else needs `running_callback` to judge it.
running_run: ContextVar[_Run | None] = ContextVar("aclasync_running_callback", default=None)


def running_callback(owner: object) -> Callback | None:
    """Return the callback of `owner` that this task stands in, or was started by."""
    run = running_run.get()
    return run.callback if run is not None and run.owner is owner and not run.is_over else None


def refuse_inside_callback(owner: object, function: str) -> None:
    """Raise if this task stands inside a callback of `owner`.

    Raises:
      ReentrantLifecycleError: it does.
    """
    if (callback := running_callback(owner)) is not None:
        raise ReentrantLifecycleError(
            AclCode.INTERNAL_ERROR,
            function,
            f"called from inside the {callback}, which would wait for itself; "
            "call it after the callback has returned",
        )


async def invoke(
    owner: object,
    callback: Callback,
    function: Callable[..., Any],
    args: tuple[object, ...],
    timeout_s: float | None,
) -> Any:
    """Call `function` for `callback` and return what it, or its awaitable, gave.

    Raises:
      CallbackError: it raised something other than an `AclError`, or `timeout_s` was over.
    """
    with _inside(owner, callback):
        try:
            if timeout_s is None:
                return await _call(callback, function, args, is_bounded=False)

            with anyio.move_on_after(timeout_s):
                return await _call(callback, function, args, is_bounded=True)
        except AclError:
            raise
        except Exception as exc:
            raise CallbackError(
                AclCode.FAILURE, "callback", f"the {callback} raised {shown(exc)}"
            ) from exc

        detail = f"the {callback} did not return within {timeout_s} s"
        raise CallbackError(AclCode.FAILURE, "callback", detail)


def check_status(callback: Callback, status: object) -> None:
    """Accept None and 0.

    Raises:
      CallbackError: a non-zero int, which is its code; or anything else (500001).
    """
    if status is None:
        return

    if not isinstance(status, int) or isinstance(status, bool):
        raise CallbackError(
            AclCode.FAILURE,
            "callback",
            f"the {callback} returned {shown(status)}; "
            "it must return None or an int, 0 for success",
        )

    if status != 0:
        raise CallbackError(status, "callback", f"the {callback} returned {status}")


@contextmanager
def _inside(owner: object, callback: Callback) -> Iterator[None]:
    run = _Run(owner, callback)
    token = running_run.set(run)
    try:
        yield
    finally:
        run.is_over = True
        running_run.reset(token)


async def _call(
    callback: Callback, function: Callable[..., Any], args: tuple[object, ...], *, is_bounded: bool
) -> Any:
    if callback.runs_in_thread:
        # Without a bound a thread is waited for: an abandoned one could not be accounted for.
        result = await anyio.to_thread.run_sync(function, *args, abandon_on_cancel=is_bounded)
    else:
        try:
            result = function(*args)
        except (GeneratorExit, anyio.get_cancelled_exc_class()) as exc:
            # Not the caller's, who can be cancelled or thrown away only while awaiting.
            detail = f"the {callback} raised {shown(exc)}"
            raise CallbackError(AclCode.FAILURE, "callback", detail) from exc

    return await result if isawaitable(result) else result
