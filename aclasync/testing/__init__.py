"""What tests of programs that use aclasync need: a fresh runtime, a spy, and planned faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aclasync.lazy import loader

if TYPE_CHECKING:
    from .faults import Fault as Fault
    from .faults import FaultPlan as FaultPlan
    from .fresh import fresh_runtime as fresh_runtime
    from .spy import SpyBackend as SpyBackend

# pytest imports this package for the plugin in every project that has it installed.
_HOMES = {
    "faults": ("Fault", "FaultPlan"),
    "fresh": ("fresh_runtime",),
    "spy": ("SpyBackend",),
}

__all__ = ("Fault", "FaultPlan", "SpyBackend", "fresh_runtime")
_load = loader(__name__, _HOMES)


def __getattr__(name: str) -> object:
    return _load(name)
