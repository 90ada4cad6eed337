"""Plans of faults: what strikes where, how often, and how a parked caller goes on."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath

import anyio
import pytest

from aclasync import AclError, LogLevel, Product, acl_session, default_runtime
from aclasync.testing import Fault, FaultPlan, SpyBackend, fresh_runtime
from aclasync.testing.faults import POINTS

NO = AclError(507899, "step", "no")


def text_below(folder: PurePath) -> str:
    return "".join(path.read_text() for path in Path(folder).rglob("*.log"))


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


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("init.model", "did you mean 'init.MODEL'"),
        ("init.dmup", "did you mean 'init.dump'"),
        ("init.read", "there is no point"),
        ("elsewhere", "there are init.err_msg_mode, "),
    ],
)
def test_point_that_nobody_can_pass_is_refused(point: str, said: str) -> None:
    """A misspelt name would make a test that can't fail."""
    plan = FaultPlan()
    for call in (
        lambda: plan.park(point),
        lambda: plan.fail(point, NO),
        lambda: plan.delay(point, 1),
        lambda: plan.set(point, None),
        lambda: plan.release(point),
    ):
        with pytest.raises(ValueError, match=said):
            call()


async def test_waiting_at_a_point_that_nobody_can_pass_is_refused() -> None:
    """Instead of waiting for ever."""
    with pytest.raises(ValueError, match=r"init\.DVPP"):
        await FaultPlan().wait_parked("init.DVP")


async def test_faults_that_never_struck_are_told() -> None:
    """Without a configuration `init.dump` is not passed."""
    plan = FaultPlan().delay("init.dump", 0).delay("init.MODEL", 0, times=1)
    plan.delay("undo.MODEL", 0).set("undo.MODEL", None)
    assert plan.unused() == ("init.dump", "init.MODEL")
    with fresh_runtime(backend=SpyBackend(plan)):
        async with acl_session():
            pass

    assert plan.unused() == ("init.dump",)


async def test_every_point_there_is_can_be_passed() -> None:
    """The names that a plan takes are those that a lifecycle passes."""
    spy = SpyBackend(FaultPlan().fail("init.OTHER", NO, times=1))
    with fresh_runtime(backend=spy) as runtime:
        with pytest.raises(AclError):
            await runtime.init({})

        await runtime.init({})
        await runtime.finalize()

    assert set(spy.points) == set(POINTS)


async def test_device_logs_of_a_fresh_runtime_are_gone_with_it(monkeypatch) -> None:
    """Unless the environment says where they belong, nothing is left in anybody's home."""
    monkeypatch.delenv("ASCEND_PROCESS_LOG_PATH", raising=False)
    monkeypatch.delenv("ASCEND_WORK_PATH", raising=False)
    with fresh_runtime(log_latency=60):
        async with acl_session(flush_timeout=0) as session, session.open_device() as device:
            device.write_log(LogLevel.ERROR, "a line")

        assert session.flush_report is not None
        (spool,) = session.flush_report.spools
        folder = spool.parents[2]
        assert "a line" in text_below(folder)
        assert folder.parent == PurePath(tempfile.gettempdir())

    assert not text_below(folder)


async def test_device_logs_go_where_the_environment_says(monkeypatch, tmp_path: Path) -> None:
    """And stay there."""
    monkeypatch.delenv("ASCEND_PROCESS_LOG_PATH", raising=False)
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))
    with fresh_runtime():
        async with acl_session() as session, session.open_device() as device:
            device.write_log(LogLevel.ERROR, "a line")

    assert "a line" in text_below(tmp_path)
