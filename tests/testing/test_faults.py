"""Plans of faults: what strikes where, how often, and how a parked caller goes on."""

from __future__ import annotations

import anyio
import pytest

from aclasync import AclError, Product, acl_session, default_runtime
from aclasync.testing import Fault, FaultPlan, SpyBackend, fresh_runtime

NO = AclError(507899, "step", "no")


async def test_spy_announces_every_point_in_order() -> None:
    """Steps and callbacks of both sequences; and notes what reached the device."""
    spy = SpyBackend()
    with fresh_runtime(backend=spy):
        async with acl_session({}):
            assert spy.points[0] == "init.err_msg_mode"
            assert spy.points[-1] == "init.OTHER"
            assert spy.name == "embedded"
            assert spy.product is Product.ATLAS_A2
            assert spy.device_count == 1

    assert spy.points[-1] == "finalize.OTHER"
    assert ("start", "dump") in spy.calls
    assert ("stop", "dump_stop") in spy.calls
    assert spy.calls[-1] == ("close", "")


async def test_fault_strikes_as_often_as_planned() -> None:
    """Then the point is free."""
    plan = FaultPlan().fail("init.dump", NO, times=2)
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        for _ in range(2):
            with pytest.raises(AclError):
                await runtime.init({})

        async with acl_session({}):
            pass


async def test_fault_without_a_number_strikes_until_it_is_taken_away() -> None:
    """`set(point, None)` does that, and `release`."""
    plan = FaultPlan().fail("init.dump", lambda: ValueError("made anew"))
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        for _ in range(3):
            with pytest.raises(ValueError, match="made anew"):
                await runtime.init({})

        plan.set("init.dump", None)
        async with acl_session({}):
            pass


async def test_delay_and_failure_come_one_after_the_other() -> None:
    """A fault may have several parts."""
    plan = FaultPlan().set("init.MODEL", Fault(error=NO, delay_s=0.001, times=1))
    plan.delay("init.DVPP", 0.001)
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        with pytest.raises(AclError):
            await runtime.init()

        async with acl_session():
            pass


async def test_parked_caller_goes_on_after_release() -> None:
    """Whoever waits for it to arrive is told, also if it is there already."""
    plan = FaultPlan().park("init.MODEL")
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init)
            await plan.wait_parked("init.MODEL")
            await plan.wait_parked("init.MODEL")
            plan.release("init.MODEL")

        assert runtime.statistics().ref_count == 1
        await runtime.finalize()


def test_fresh_runtime_puts_the_old_one_back() -> None:
    """Also when it is left open, or by an exception."""
    old = default_runtime()
    with fresh_runtime() as runtime:
        assert default_runtime() is runtime
        anyio.run(runtime.init)
        with pytest.raises(KeyError), fresh_runtime() as inner:
            assert default_runtime() is inner
            raise KeyError

        assert default_runtime() is runtime

    assert default_runtime() is old


async def test_fresh_runtime_has_the_product_and_devices_it_was_told() -> None:
    """For sessions that name none."""
    with fresh_runtime(product=Product.ASCEND_950, devices=3):
        async with acl_session() as session, session.open_device(2) as device:
            assert session.product is Product.ASCEND_950
            assert device.device_id == 2
