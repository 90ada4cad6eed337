"""What tests of programs that use aclasync need: a fresh runtime, a spy, and planned faults.

    async def test_failed_init_leaves_nothing_open():
        plan = FaultPlan().fail("init.OTHER", RuntimeError("broken"))
        spy = SpyBackend(plan)
        with fresh_runtime(backend=spy, devices=2) as runtime:
            with pytest.raises(RuntimeError):
                async with acl_session():
                    ...
            assert runtime.statistics().ref_count == 0
        assert spy.points[-1] == "undo.err_msg_mode"

`fresh_runtime` puts a runtime of its own in the place of the process's, so that every test may
bring another configuration; a `SpyBackend` notes what is done to the device and passes the named
points at which a `FaultPlan` can fail, delay or park. With pytest, the fixtures `acl_runtime` and
`acl_session_factory` are there without an import; async tests need `@pytest.mark.anyio`, or
`anyio_mode = "auto"` in the project's settings.
"""

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
