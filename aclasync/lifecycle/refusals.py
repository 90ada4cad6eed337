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

from .state import NO_CONTENT, Content

# What a text that was not given calls itself.
_UNNAMED = "<none>"


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


def mismatch_while_up(asked: Content, running: Content) -> ConfigMismatchError:
    """Another content than the one that the runtime is up with."""
    what = _difference(asked, running, "with which the runtime is up")
    return _mismatch(
        f"{what}; give no configuration to join whatever runs, or "
        'on_mismatch="warn" to join it with a warning'
    )


def mismatch_while_down(asked: Content, pinned: Content) -> ConfigMismatchError:
    """Another content than the one that binds the process, though nothing is up any more."""
    what = _difference(asked, pinned, "with which this process was first initialised")
    nothing = "no configuration joins what is up, and nothing is; " if not asked.raw else ""
    return _mismatch(
        f"{what}; that one stays bound after everything is closed, whatever on_mismatch says: "
        f"{nothing}give {pinned.name} again, or start another process"
    )


def _mismatch(detail: str) -> ConfigMismatchError:
    rule = "contents are the same if their bytes are, white space and all"
    return ConfigMismatchError(AclCode.INVALID_PARAM, "aclInit", f"{detail} ({rule})")


def _difference(asked: Content, bound: Content, how: str) -> str:
    if asked.name == bound.name and not asked.name.startswith("<"):
        return f"{asked.name} differs from what stood there earlier, {how}; the file was changed"

    return f"{_told(asked)} differs from {_told(bound)}, {how}"


def _told(content: Content) -> str:
    if content.raw == b"{}":
        return f"{content.name} ({{}}, which is not the same as no configuration)"

    if content.raw or content.name in (NO_CONTENT.name, _UNNAMED):
        return NO_CONTENT.name if content.name == _UNNAMED else content.name

    return f"{content.name} (empty, which is the same as no configuration)"


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
