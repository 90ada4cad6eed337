"""Call one lifecycle callback, sync or async, and judge what it returned.

Also knows whether the running task stands inside a callback, or was started by one that still
runs: from there a lifecycle call would wait for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, final

import anyio

from aclasync.codes import AclCode
from aclasync.errors import AclError, CallbackError, ReentrantLifecycleError, shown
from aclasync.lifecycle.callbacks import Callback

from .hop import in_worker_thread
from .loops import is_being_cancelled


@final
class _Run:
    """A callback while it runs; seen by its task and by every task started from there."""

    __slots__ = ("callback", "is_over", "outer", "owner")

    def __init__(self, owner: object, callback: Callback, outer: _Run | None) -> None:
        self.owner = owner
        self.callback = callback
        #: The callback, of this or of another runtime, that this one was called from.
        self.outer = outer
        self.is_over = False


#: None outside of every callback; anything else needs `running_callback` to judge it.
running_run: ContextVar[_Run | None] = ContextVar("aclasync_running_callback", default=None)


def running_callback(owner: object) -> Callback | None:
    """Return the callback of `owner` that this task stands in, or was started by."""
    run = running_run.get()
    while run is not None:
        if run.owner is owner and not run.is_over:
            return run.callback

        run = run.outer

    return None


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
    scope: anyio.CancelScope | None = None
    with _inside(owner, callback):
        try:
            if timeout_s is None:
                return await _call(callback, function, args, is_bounded=False)

            with anyio.move_on_after(timeout_s) as scope:
                result = await _call(callback, function, args, is_bounded=True)
                if not _is_over(
                    scope
                ):  # it may have swallowed the cancellation, or held the loop up
                    return result
        except AclError as exc:
            if exc.code is not AclCode.SUCCESS:
                raise

            detail = f"the {callback} raised an error that says success: {shown(exc)}"
            raise CallbackError(AclCode.FAILURE, "callback", detail) from exc
        except anyio.get_cancelled_exc_class() as exc:
            if is_being_cancelled():
                raise

            # It awaited something of its own that was cancelled.
            detail = f"the {callback} was cancelled from inside"
            raise CallbackError(AclCode.FAILURE, "callback", detail) from exc
        except Exception as exc:
            is_late = scope is not None and _is_over(scope)
            late = f" after it had not returned within {timeout_s} s" if is_late else ""
            detail = f"the {callback} raised {shown(exc)}{late}"
            raise CallbackError(AclCode.FAILURE, "callback", detail) from exc

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


def _is_over(scope: anyio.CancelScope) -> bool:
    # What held the loop up has not been cancelled, though its time was over.
    return scope.cancel_called or anyio.current_time() > scope.deadline


@contextmanager
def _inside(owner: object, callback: Callback) -> Iterator[None]:
    run = _Run(owner, callback, running_run.get())
    token = running_run.set(run)
    try:
        yield
    finally:
        run.is_over = True
        with suppress(ValueError):  # thrown away, in the context of whoever collects it
            running_run.reset(token)


async def _call(
    callback: Callback, function: Callable[..., Any], args: tuple[object, ...], *, is_bounded: bool
) -> Any:
    if callback.runs_in_thread:
        # Without a bound a thread is waited for: an abandoned one could not be accounted for.
        result = await in_worker_thread(function, *args, abandon_on_cancel=is_bounded)
    else:
        try:
            result = function(*args)
        except (GeneratorExit, anyio.get_cancelled_exc_class()) as exc:
            # Not the caller's, who can be cancelled or thrown away only while awaiting.
            detail = f"the {callback} raised {shown(exc)}"
            raise CallbackError(AclCode.FAILURE, "callback", detail) from exc

    return await result if isawaitable(result) else result
