"""The errors that the machine answers with, in words: what happened, and what to do instead."""

from __future__ import annotations

from aclasync.codes import AclCode
from aclasync.errors import (
    AclError,
    ConfigMismatchError,
    FeatureUnsupportedError,
    ForkedRuntimeError,
    RepeatFinalizeError,
    shown,
)

from .state import Content


def forked_child(parent_pid: int) -> ForkedRuntimeError:
    """Every call in a child of the process that initialised."""
    return ForkedRuntimeError(
        AclCode.INTERNAL_ERROR,
        "aclasync",
        f"this process was forked from {parent_pid}, which had initialised ACL; "
        'a forked child can\'t use it: start workers with the "spawn" start method',
    )


def nothing_to_give_back() -> RepeatFinalizeError:
    """A finalize_reference too many."""
    return RepeatFinalizeError(
        AclCode.REPEAT_FINALIZE,
        "aclFinalizeReference",
        "there is no reference to give back; every init pairs with one finalize_reference",
    )


def no_references() -> FeatureUnsupportedError:
    """finalize_reference on a product that has none."""
    return FeatureUnsupportedError(
        AclCode.FEATURE_UNSUPPORTED,
        "aclFinalizeReference",
        "IPV350 has no such call; pair every init with one finalize there",
    )


def no_callbacks(function: str) -> FeatureUnsupportedError:
    """A callback call on a product that has none."""
    return FeatureUnsupportedError(
        AclCode.FEATURE_UNSUPPORTED, function, "IPV350 has no lifecycle callbacks"
    )


def swept_away() -> RepeatFinalizeError:
    """A session leaves after somebody's finalize has taken its reference."""
    return RepeatFinalizeError(
        AclCode.REPEAT_FINALIZE,
        "aclFinalizeReference",
        "somebody called finalize() while this session was open, which ended the runtime for "
        "everyone; give back one reference with finalize_reference() instead",
    )


def finalized_already() -> RepeatFinalizeError:
    """A second finalize."""
    return RepeatFinalizeError(
        AclCode.REPEAT_FINALIZE, "aclFinalize", "the runtime is finalized already"
    )


def mismatch(asked: Content, bound: Content, how: str) -> ConfigMismatchError:
    """Another content than the one the process `how` ("is running with", ...)."""
    return ConfigMismatchError(
        AclCode.INVALID_PARAM,
        "aclInit",
        f"{asked.name} differs from {bound.name}, which this process {how}; a process keeps one "
        "configuration for life: use the same content, or start another process",
    )


def interrupted(error: BaseException) -> AclError:
    """A step of a finalize ended with what is no ordinary error."""
    wrapped = AclError(AclCode.FAILURE, "aclFinalize", f"a step was interrupted by {shown(error)}")
    wrapped.__cause__ = error
    return wrapped


def lost_loop(error: BaseException) -> AclError:
    """A finalize whose event loop was closed under it."""
    lost = AclError(AclCode.FAILURE, "aclFinalize", "its event loop was closed in the middle of it")
    lost.__cause__ = error
    return lost
