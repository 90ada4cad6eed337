"""What can happen to a runtime, and what it may order in return.

Named tuples rather than attrs classes: there are many, and one costs a fifth to make at import.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, final

from aclasync.errors import AclError
from aclasync.product import LifecycleRules

from .sequence import FinalizeEntry, FinalizeStep, InitEntry, InitStep
from .state import Content, OnError, Policy

# Requests: somebody calls.


@final
class InitRequested(NamedTuple):
    """An init; `content` is None when the caller joins whatever is running."""

    content: Content | None
    policy: Policy
    rules: LifecycleRules


@final
class ReleaseRequested(NamedTuple):
    """One reference comes back; `epoch` is the holder's, None for a bare finalize_reference."""

    on_error: OnError
    epoch: int | None = None


@final
class FinalizeRequested(NamedTuple):
    """A full finalize, whatever the count."""

    on_error: OnError


@final
class HoldRequested(NamedTuple):
    """No transition is to begin while the caller changes the callbacks or runs a late one."""

    #: The caller, as the reference names it.
    function: str


Request = InitRequested | ReleaseRequested | FinalizeRequested | HoldRequested


# Outcomes: an order of the machine's was carried out.


@final
class ConfigRead(NamedTuple):
    """The configuration has been read and judged."""

    content: Content
    is_given: bool
    #: The error that the safe policy raises before anything starts.
    invalid: Exception | None = None
    #: For the faithful policy: the error at each step that would meet a fault.
    faults: Mapping[InitStep, Exception] = MappingProxyType({})


@final
class StepSucceeded(NamedTuple):
    """The ordered step is done."""


@final
class StepFailed(NamedTuple):
    """The ordered step failed or was cancelled; a pass of callbacks may fail more than once."""

    errors: tuple[BaseException, ...]


Outcome = ConfigRead | StepSucceeded | StepFailed


# Facts from outside.


@final
class Withdrawn(NamedTuple):
    """The caller was cancelled after its request had been decided and before it could act.

    With `may_close` false a reference is kept rather than be the last one given back, because
    nobody is there who could run the finalize sequence.
    """

    decision: Decision
    may_close: bool = True


@final
class Forked(NamedTuple):
    """This process is now a child of the one with that pid."""

    parent_pid: int


@final
class HoldEnded(NamedTuple):
    """A hold is over."""


@final
class Abandoned(NamedTuple):
    """Whoever ran the transition is gone for good, with its event loop."""

    error: BaseException


Event = Request | Outcome | Withdrawn | Forked | HoldEnded | Abandoned


# Decisions: the answer to a request.


@final
class Wait(NamedTuple):
    """A transition is under way; ask again when it is over."""


@final
class ReadFirst(NamedTuple):
    """The content can't be compared before the file has been read."""


@final
class Joined(NamedTuple):
    """The runtime was up; one reference was taken."""

    is_repeat: bool
    config_applied: bool
    #: The opening that the reference is of, and the references right after this one.
    epoch: int
    ref_count: int
    #: The caller's policy wants to hear that its config is not in force.
    warns: bool = False


@final
class Counted(NamedTuple):
    """One reference was given back, and others are left."""

    ref_count: int
    epoch: int


@final
class Refused(NamedTuple):
    """Nothing changed."""

    error: AclError


@final
class NothingToDo(NamedTuple):
    """The product's rules make this call a success without effect."""


@final
class Held(NamedTuple):
    """The runtime is up, or down, and stays so until `HoldEnded`."""

    epoch: int
    is_up: bool


# Orders: one at a time, to whoever runs the transition.


@final
class Read(NamedTuple):
    """Read and judge the configuration; answer `ConfigRead`. Begins an init."""

    #: Names the transition; a later one has another.
    serial: int


@final
class Start(NamedTuple):
    """Perform a step of the init sequence."""

    entry: InitEntry


@final
class Undo(NamedTuple):
    """Take back a step of the init sequence."""

    step: InitStep


@final
class Stop(NamedTuple):
    """Perform a step of the finalize sequence. The first one begins a finalize."""

    entry: FinalizeEntry
    on_error: OnError
    serial: int


@final
class Release(NamedTuple):
    """Let go of the device; the last order of a finalize, and of an init that failed."""


@final
class Opened(NamedTuple):
    """The runtime is up with one reference, the caller's."""

    epoch: int


@final
class OpenFailed(NamedTuple):
    """The runtime is down as before; raise this."""

    error: BaseException
    undo_failures: tuple[BaseException, ...] = ()


@final
class Closed(NamedTuple):
    """The runtime is down; these steps failed on the way."""

    failures: tuple[Exception, ...]


@final
class CloseStopped(NamedTuple):
    """The runtime is as it was before the finalize; this step's failure stopped it."""

    error: Exception


Decision = Wait | ReadFirst | Joined | Counted | Refused | NothingToDo | Held | Read | Stop
Effect = Decision | Start | Undo | Release | Opened | OpenFailed | Closed | CloseStopped

# The sequence names that travel inside effects.
Step = InitStep | FinalizeStep
