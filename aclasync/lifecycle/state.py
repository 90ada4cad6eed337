"""What a runtime is at one moment, as a value. Knows nothing of how it changes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import NamedTuple, final

from attrs import field, frozen

from aclasync.product import LifecycleRules

from .sequence import FinalizeEntry, InitEntry, InitStep


@final
class Phase(StrEnum):
    """Where a runtime stands between two calls."""

    DOWN = "down"
    OPENING = "opening"
    UP = "up"
    CLOSING = "closing"
    #: This process is a fork of the one that initialised; nothing is allowed here.
    FORKED = "forked"


@final
class OnMismatch(Enum):
    """What an init with other content does while the runtime is up."""

    ERROR = "error"
    WARN = "warn"
    IGNORE = "ignore"


@final
class OnError(Enum):
    """What a finalize does after a step that failed."""

    CONTINUE = "continue"
    STOP = "stop"


@final
@frozen
class Policy:
    """How strict the machine is: the safe policy of `Runtime`, or the reference's."""

    on_mismatch: OnMismatch = OnMismatch.ERROR
    on_error: OnError = OnError.CONTINUE
    #: Any fault of the config ends an init before its first step; otherwise at its own step.
    validates_first: bool = True
    #: What a callback registered late returned or raised is given to the caller.
    reports_late_callback: bool = True


SAFE = Policy()
FAITHFUL = Policy(
    on_mismatch=OnMismatch.IGNORE,
    on_error=OnError.STOP,
    validates_first=False,
    reports_late_callback=False,
)


@final
@frozen
class Content:
    """A configuration as the lifecycle sees it: bytes to compare, and a name for messages."""

    name: str
    #: None for a file that has not been read; then only `stamp` can tell.
    raw: bytes | None
    #: Equal stamps mean the same unchanged file; None if that can't be told.
    stamp: object = field(default=None, eq=False)

    def is_same_as(self, other: Content) -> bool | None:
        """Whether both have the same bytes; None if this one must be read first."""
        if self.raw is not None:
            return self.raw == other.raw

        if self.stamp is None:
            return True if self.name == other.name else None

        return True if self.stamp == other.stamp else None


NO_CONTENT = Content("no configuration", b"")


@final
class Opening(NamedTuple):
    """An init sequence under way."""

    policy: Policy
    #: Of the product that is asked for; in force once the init has succeeded.
    rules: LifecycleRules
    content: Content | None = None
    plan: tuple[InitEntry, ...] = ()
    at: int = 0
    faults: Mapping[InitStep, Exception] = MappingProxyType({})
    #: Set once a step failed: what is undone, last first, and why.
    undoing: tuple[InitStep, ...] = ()
    failure: BaseException | None = None
    undo_failures: tuple[BaseException, ...] = ()
    #: The device has been let go of, which is the last thing undone.
    is_released: bool = False


@final
class Closing(NamedTuple):
    """A finalize sequence under way."""

    on_error: OnError
    #: What the runtime goes back to when the sequence stops at a failure.
    before: Phase
    plan: tuple[FinalizeEntry, ...]
    at: int = 0
    failures: tuple[Exception, ...] = ()


@final
class Standing(NamedTuple):
    """Everything but the count."""

    rules: LifecycleRules
    phase: Phase = Phase.DOWN
    #: Counts the successful inits, so that a stale holder can't release a newer one's reference.
    epoch: int = 0
    running: Content | None = None
    #: The content of the first successful init; binds the runtime for life.
    pinned: Content | None = None
    #: The reference's flag: finalize has succeeded and no init since.
    is_finalized: bool = False
    transition: Opening | Closing | None = None
    #: Counts the transitions, so that whoever ran an abandoned one can't touch a later one.
    serial: int = 0
    #: Callers that change the callbacks or run a late one; no transition begins meanwhile.
    holds: int = 0
    parent_pid: int = 0


@final
class LifecycleState(NamedTuple):
    """The one state value. The count stands apart because nested entries change nothing else."""

    ref_count: int
    standing: Standing
