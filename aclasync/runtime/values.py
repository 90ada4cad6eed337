"""What goes into a runtime and what comes out of it, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, final, get_args

from attrs import frozen

from aclasync.codes import AclCode
from aclasync.config import AclConfig
from aclasync.config.display import Brief
from aclasync.errors import shown
from aclasync.lifecycle.callbacks import Callback
from aclasync.lifecycle.flush import FlushReport
from aclasync.lifecycle.state import SAFE, OnMismatch, Phase, Policy
from aclasync.product import Product, check_product

from .reading import ConfigSource

BackendName: TypeAlias = Literal["auto", "embedded", "cann"]
MismatchName: TypeAlias = Literal["error", "warn", "ignore"]
ErrorName: TypeAlias = Literal["continue", "stop"]

# Event loops take no much longer time.
_YEAR_S = 366 * 24 * 3600


class ConfigIgnoredWarning(UserWarning):
    """A session joined a runtime that runs with another configuration than the one it brought."""


@final
@frozen(kw_only=True)
class InitOutcome:
    """What an init did; `code` is SUCCESS for the first, REPEAT_INITIALIZE for those after it."""

    code: AclCode
    #: Whether the runtime was up already.
    is_repeat: bool
    #: References right after this init, its own included.
    ref_count: int
    #: Whether the configuration that this call brought is the one in force.
    config_applied: bool
    #: Tells this opening of the runtime from those before and after.
    epoch: int


@final
@frozen(repr=False)
class RuntimeStatistics(Brief):
    """A snapshot of a runtime."""

    ref_count: int
    phase: Phase
    #: `embedded` or `cann`; None while down.
    backend: str | None
    product: Product | None
    config: AclConfig | None
    #: Where the running configuration came from.
    config_source: str | None
    #: The configuration this process is bound to for life.
    pinned_source: str | None
    #: Of the last finalize.
    flush_report: FlushReport | None
    callbacks: tuple[Callback, ...]
    #: Callers that wait for a transition to be over.
    waiting: int


@final
@frozen(kw_only=True)
class InitRequest:
    """How an init is asked for; the defaults are those of `acl_session`."""

    config: ConfigSource = None
    product: Product | None = None
    backend: BackendName = "auto"
    policy: Policy = SAFE
    strict: bool = False
    env: Mapping[str, str] | None = None
    flush_timeout: float | None = None


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse what is none of the values allowed.

    Raises:
      ValueError: it is another.
    """
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {shown(value)}")


def check_seconds(name: str, seconds: object) -> None:
    """Refuse what is no time to wait; None is one.

    Raises:
      TypeError: it is no number.
      ValueError: it is negative, not finite, or more than a year.
    """
    if seconds is None:
        return

    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        raise TypeError(f"{name} must be seconds, not {shown(seconds)}")

    if not 0 <= seconds <= _YEAR_S:
        raise ValueError(f"{name} must be seconds, 0 or more, a year at most: {shown(seconds)}")


def _check_environment(env: object) -> None:
    if env is None:
        return

    if not isinstance(env, Mapping):
        raise TypeError(f"env must map names to strings, not {shown(env)}")

    for name, text in env.items():
        if not (isinstance(name, str) and isinstance(text, str)):
            raise TypeError(f"env must map names to strings, not {shown(name)} to {shown(text)}")


def checked_request(
    config: ConfigSource,
    *,
    product: Product | None,
    backend: BackendName,
    on_mismatch: MismatchName,
    strict: bool,
    env: Mapping[str, str] | None,
    flush_timeout: float | None,
) -> InitRequest:
    """Return what an init asks for, once its arguments are of the right kind.

    Raises:
      TypeError: an argument is of another type.
      ValueError: it is of the right type and none of the allowed values.
    """
    check_product(product)
    check_choice("backend", backend, get_args(BackendName))
    check_choice("on_mismatch", on_mismatch, get_args(MismatchName))
    _check_environment(env)
    check_seconds("flush_timeout", flush_timeout)

    return InitRequest(
        config=config,
        product=product,
        backend=backend,
        policy=SAFE if on_mismatch == "error" else Policy(on_mismatch=OnMismatch(on_mismatch)),
        strict=strict,
        env=env,
        flush_timeout=flush_timeout,
    )
