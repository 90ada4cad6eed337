"""What the end and the forking of a process mean for a runtime that is open in it.

Nothing is registered before the first runtime is made, and nothing is ever finalized here.
"""

from __future__ import annotations

import atexit
import os
import warnings
from typing import Protocol
from weakref import WeakSet


class Watched(Protocol):
    """A runtime, as the process sees it."""

    def reset_after_fork(self, parent_pid: int) -> None:
        """Run in the child, before anything else does."""
        ...

    def left_open_at(self) -> str | None:
        """Where the runtime was opened, if it is still up."""
        ...


_watched: WeakSet[Watched] = WeakSet()
_pids: list[int] = []


def watch(runtime: Watched) -> None:
    """Tell `runtime` of a fork, and people of a runtime left open at exit."""
    if not _pids:
        _pids.append(os.getpid())
        os.register_at_fork(after_in_child=_after_fork_in_child)
        atexit.register(_warn_at_exit)

    _watched.add(runtime)


def unwatch(runtime: Watched) -> None:
    """Forget a runtime whose owner has closed it."""
    _watched.discard(runtime)


def _after_fork_in_child() -> None:
    parent_pid = _pids[-1]
    _pids.append(os.getpid())
    for runtime in tuple(_watched):
        runtime.reset_after_fork(parent_pid)


def _warn_at_exit() -> None:
    for runtime in tuple(_watched):
        if (opened_at := runtime.left_open_at()) is not None:
            warnings.warn(
                f"the ACL runtime is still open at exit and was not finalized; opened at\n"
                f"{opened_at}",
                ResourceWarning,
                stacklevel=1,
            )
