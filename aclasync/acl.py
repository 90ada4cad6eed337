"""The status-code façade: the calls and numbers that pyACL and C know, as coroutines.

    code = await acl.init("acl.json")
    count = (await acl.finalize_reference())[1]

Nothing here raises for what the reference answers with a number, and the rules are the
reference's: a fault of the configuration surfaces at its own step of the init sequence, a second
init with another configuration is counted without a look at it, finalize stops at the first step
that fails. The numbers are the values of `AclCode`. Use `acl_session` unless you port code that
depends on this; devices and models are only there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from os import PathLike
from typing import Any, NoReturn, TypeVar

from .codes import AclCode
from .errors import AclError
from .lifecycle.callbacks import CallbackKind
from .lifecycle.state import FAITHFUL, OnError
from .runtime.runtime import default_runtime
from .runtime.values import InitRequest

__all__ = (
    "finalize",
    "finalize_callback_register",
    "finalize_callback_unregister",
    "finalize_reference",
    "get_recent_err_msg",
    "init",
    "init_callback_register",
    "init_callback_unregister",
)

T = TypeVar("T")

# What pyACL has and this has not, with what to use.
_ELSEWHERE = {
    "rt": "a session's open_device() gives a device, and its methods are the calls",
    "mdl": "a device's load_model() gives a model, and its execute() runs it",
    "op": "a device's load_model() runs an ONNX model of any size, also of one operator",
    "util": "a model's execute() takes and returns numpy arrays",
}


async def init(path: str | PathLike[str] | None = None) -> int:
    """Initialise ACL with a config file; None and "" mean no configuration.

    Returns:
      0, or 100002 if ACL was up already (a reference was taken all the same), or what failed.
    """
    request = InitRequest(config=path, policy=FAITHFUL)
    code, outcome = await _answer(default_runtime().core.init(request))
    return code if outcome is None else int(outcome.code)


async def finalize() -> int:
    """End ACL for everybody, whatever the count.

    Returns:
      0; 100037 if it has been finalized since the last init; or the code of the step that failed,
      and then nothing has changed.
    """
    return (await _answer(default_runtime().core.finalize(OnError.STOP)))[0]


async def finalize_reference() -> tuple[int, int]:
    """Give one reference back; the last one ends ACL.

    Returns:
      The code, 100037 if there was none, and the references left.
    """
    core = default_runtime().core
    code, count = await _answer(core.finalize_reference(OnError.STOP))
    return code, core.gate.state.ref_count if count is None else count


async def init_callback_register(
    callback_type: int, function: Callable[..., Any] | None, user_data: Any = None
) -> int:
    """Have `function(config_text, length, user_data)` called by init; at once if ACL is up.

    Returns:
      0; 500000 if the type, which is not OTHER, has one; 100000 for no function. What a function
      that is called at once returns is thrown away.
    """
    return await _register(CallbackKind.INIT, callback_type, function, user_data)


async def init_callback_unregister(callback_type: int, function: Callable[..., Any] | None) -> int:
    """Remove the oldest init callback of that type and function.

    Returns:
      0; 500000 if there is none; 100000 for no function.
    """
    registry = default_runtime().core.registry
    return (await _answer(registry.unregister(CallbackKind.INIT, callback_type, function)))[0]


async def finalize_callback_register(
    callback_type: int, function: Callable[..., Any] | None, user_data: Any = None
) -> int:
    """Have `function(user_data)` called by finalize.

    Returns:
      0; 500000 if the type, which is not OTHER, has one; 100000 for no function.
    """
    return await _register(CallbackKind.FINALIZE, callback_type, function, user_data)


async def finalize_callback_unregister(
    callback_type: int, function: Callable[..., Any] | None
) -> int:
    """Remove the oldest finalize callback of that type and function.

    Returns:
      0; 500000 if there is none; 100000 for no function.
    """
    registry = default_runtime().core.registry
    return (await _answer(registry.unregister(CallbackKind.FINALIZE, callback_type, function)))[0]


async def get_recent_err_msg() -> str | None:
    """Return the recent error text of this thread and task, or of the process, and clear it.

    Which of the two, `err_msg_mode` says. The newest text comes first; None if there is none.
    """
    return default_runtime().core.error_text.take()


async def _register(
    kind: CallbackKind, callback_type: int, function: Callable[..., Any] | None, user_data: Any
) -> int:
    registry = default_runtime().core.registry
    call = registry.register(
        kind, callback_type, function, user_data, in_thread=False, policy=FAITHFUL
    )
    return (await _answer(call))[0]


async def _answer(call: Awaitable[T]) -> tuple[int, T | None]:
    """Return 0 and what the call gave, or the number of its failure and None."""
    try:
        with default_runtime().core.error_text.recording():
            return int(AclCode.SUCCESS), await call
    except AclError as exc:
        return int(exc.code), None


def __getattr__(name: str) -> NoReturn:
    """Say where the name of pyACL that somebody looks for has gone."""
    hint = _ELSEWHERE.get(name, f"it has {', '.join(__all__)}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {hint}", name=name)
