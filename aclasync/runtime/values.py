"""What goes into a runtime and what comes out of it, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, final

from attrs import frozen

from aclasync.codes import AclCode
from aclasync.config import AclConfig
from aclasync.lifecycle.callbacks import Callback
from aclasync.lifecycle.flush import FlushReport
from aclasync.lifecycle.state import SAFE, Phase, Policy
from aclasync.product import Product

from .reading import ConfigSource

BackendName: TypeAlias = Literal["auto", "embedded", "cann"]
MismatchName: TypeAlias = Literal["error", "warn", "ignore"]
ErrorName: TypeAlias = Literal["continue", "stop"]


class ConfigIgnoredWarning(UserWarning):
    """A session joined a runtime that runs with another configuration than the one it brought."""


@final
@frozen
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
@frozen
class RuntimeStatistics:
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
@frozen
class InitRequest:
    """How an init is asked for; the defaults are those of `acl_session`."""

    config: ConfigSource = None
    product: Product | None = None
    backend: BackendName = "auto"
    policy: Policy = SAFE
    strict: bool = False
    env: Mapping[str, str] | None = None
    flush_timeout: float | None = None
