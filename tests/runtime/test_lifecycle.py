"""Init, finalize and sessions on real loops: what counts, what is refused, what is undone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import anyio
import pytest

import aclasync
from aclasync import (
    AclCode,
    AclConfig,
    AclError,
    ConfigError,
    ConfigIgnoredWarning,
    ConfigMismatchError,
    FeatureUnsupportedError,
    FinalizeError,
    NotInitializedError,
    Product,
    RepeatFinalizeError,
    Runtime,
    acl,
    acl_session,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

ERR_MODE = {"err_msg_mode": "1"}


async def test_session_opens_and_closes_the_runtime(runtime: Runtime) -> None:
    """One reference inside the block, none after it."""
    async with acl_session() as session:
        assert session.ref_count == 1
        assert session.backend_name == "embedded"
        assert session.product is Product.ATLAS_A2
        assert not session.joined
        assert session.config_applied

    assert runtime.statistics().ref_count == 0
    assert session.flush_report is not None


async def test_sessions_nest(runtime: Runtime) -> None:
    """The inner one joins, and leaving it ends nothing."""
    async with acl_session(ERR_MODE) as outer:
        async with acl_session() as inner, acl_session(ERR_MODE) as third:
            assert outer.ref_count == 3
            assert inner.joined
            assert third.joined
            assert third.config_applied

        assert outer.ref_count == 1
        assert inner.flush_report is None


async def test_sessions_may_leave_in_any_order(runtime: Runtime) -> None:
    """Close the first and use the second: the runtime is up until the last one leaves."""
    first, second = acl_session(), acl_session()
    await first.__aenter__()
    await second.__aenter__()
    await first.__aexit__(None, None, None)

    assert second.ref_count == 1
    async with second.open_device() as device:
        assert await device.run(lambda: 7) == 7

    await second.__aexit__(None, None, None)
    assert runtime.statistics().ref_count == 0


async def test_join_refused_during_a_late_callback_gives_its_reference_back() -> None:
    """The others have left, and the callback holds the runtime up: it ends after it."""
    plan = FaultPlan().park("init.MODEL", times=1)
    may_end = anyio.Event()

    async def late(*_: object) -> None:
        await may_end.wait()

    with fresh_runtime(backend=SpyBackend(plan)) as runtime:

        async def open_and_leave() -> None:
            session = await acl_session()
            await session.aclose()  # the other one has joined, and does not know it yet
            assert runtime.statistics().ref_count == 1
            await runtime.register_init_callback(aclasync.CallbackType.OTHER, late)

        async def join_as_another_product() -> None:
            with pytest.raises(ConfigMismatchError):
                await acl_session(product=aclasync.Product.ASCEND_950)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_and_leave)
            await plan.wait_parked("init.MODEL")
            tasks.start_soon(join_as_another_product)
            await anyio.wait_all_tasks_blocked()
            plan.release("init.MODEL")
            await anyio.wait_all_tasks_blocked()
            assert runtime.statistics().ref_count == 1
            may_end.set()

        assert runtime.statistics().ref_count == 0


async def test_session_of_an_earlier_opening_takes_no_reference_of_the_next(
    runtime: Runtime,
) -> None:
    """Somebody's finalize had taken its own, which it is told; the new holders keep theirs."""
    stale = await acl_session({})
    await runtime.finalize()
    await runtime.init({})
    await runtime.init({})
    with pytest.raises(RepeatFinalizeError, match="while this session was open"):
        await stale.aclose()

    assert runtime.statistics().ref_count == 2
    await runtime.finalize()


async def test_session_can_be_awaited_and_closed(runtime: Runtime) -> None:
    """At a prompt there is no block to stand in."""
    session = await acl_session({})
    assert session.ref_count == 1
    second = await acl_session()
    await session.aclose()
    assert second.ref_count == 1
    await second.aclose()
    assert second.flush_report is not None


async def test_session_can_not_be_entered_twice(runtime: Runtime) -> None:
    """It is one holder's view of one block."""
    async with acl_session() as session:
        with pytest.raises(AclError, match="entered before"):
            await session.__aenter__()

        assert session.ref_count == 1


async def test_session_can_not_be_left_twice(runtime: Runtime) -> None:
    """The reference it would give back is somebody else's."""
    async with acl_session() as holder:
        session = acl_session()
        await session.__aenter__()
        await session.__aexit__(None, None, None)
        with pytest.raises(RepeatFinalizeError, match="left before"):
            await session.__aexit__(None, None, None)

        with pytest.raises(NotInitializedError):
            await session.open_device()

        assert holder.ref_count == 1
        assert "left" in repr(session)


async def test_init_outcome_tells_first_from_repeated(runtime: Runtime) -> None:
    """Only the code differs; both took a reference."""
    first = await runtime.init()
    second = await runtime.init()

    assert (first.code, first.ref_count) == (AclCode.SUCCESS, 1)
    assert (second.code, second.ref_count) == (AclCode.REPEAT_INITIALIZE, 2)
    assert await runtime.finalize_reference() == 1
    assert await runtime.finalize_reference() == 0


async def test_surplus_finalizes_are_refused(runtime: Runtime) -> None:
    """With 100037, and the count stays 0."""
    with pytest.raises(RepeatFinalizeError) as failure:
        await runtime.finalize_reference()

    assert failure.value.code == 100037
    await runtime.finalize()
    with pytest.raises(RepeatFinalizeError):
        await runtime.finalize()

    await runtime.init()
    await runtime.finalize()


async def test_finalize_by_somebody_else_is_told_at_exit(runtime: Runtime) -> None:
    """The session's reference was swept away, and its exit can't take a newer one's."""
    with pytest.raises(RepeatFinalizeError, match=r"finalize\(\)"):
        async with acl_session():
            await runtime.finalize()
            await runtime.init()

    assert runtime.statistics().ref_count == 1


async def test_error_of_the_body_stays_primary(runtime: Runtime) -> None:
    """What failed on exit is added as a note."""
    with pytest.raises(ValueError, match="body") as failure:
        async with acl_session():
            await runtime.finalize()
            raise ValueError("body")

    assert "leaving the session failed, too" in failure.value.__notes__[0]


# The configuration


async def test_invalid_config_starts_nothing() -> None:
    """All findings are listed and no step has reached the device."""
    spy = SpyBackend()
    with fresh_runtime(backend=spy) as runtime:
        with pytest.raises(ConfigError) as failure:
            await runtime.init({"dump": {"dump_op_switch": "on"}, "err_msg_mode": "9"})

        assert failure.value.code == 100000
        assert {f.path for f in failure.value.findings} >= {"$.err_msg_mode", "$.dump.dump_path"}
        assert (spy.points, spy.calls) == ([], [])
        assert runtime.statistics().ref_count == 0


async def test_strict_refuses_a_warning(runtime: Runtime) -> None:
    """A misspelt key does nothing in the reference; strict makes it an error."""
    config = {"err_msg_mod": "1"}
    await runtime.init(config)
    await runtime.finalize()
    with pytest.raises(ConfigError, match="err_msg_mode"):
        await runtime.init(config, strict=True)


async def test_content_is_pinned_for_life(runtime: Runtime, tmp_path: Path) -> None:
    """Another content is refused after a full finalize, the same under another path is not."""
    first, second, copy = (tmp_path / name for name in ("a.json", "b.json", "copy.json"))
    first.write_text('{"err_msg_mode":"1"}')
    copy.write_text('{"err_msg_mode":"1"}')
    second.write_text("{}")
    async with acl_session(first):
        pass

    with pytest.raises(ConfigMismatchError) as failure:
        await runtime.init(second)

    assert failure.value.code == 100000
    assert str(first) in str(failure.value)
    assert str(second) in str(failure.value)
    async with acl_session(copy), acl_session({"err_msg_mode": "1"}):
        pass


@pytest.mark.parametrize("empty", [None, "", b""])
async def test_nothing_empty_text_and_empty_path_are_one_content(runtime: Runtime, empty) -> None:
    """And an empty object is another."""
    async with acl_session(empty):
        pass

    async with acl_session(None):
        pass

    with pytest.raises(ConfigMismatchError):
        await runtime.init({})


async def test_other_content_while_up(runtime: Runtime, tmp_path: Path) -> None:
    """Refused, warned of or ignored, as asked; a refusal takes no reference."""
    other = tmp_path / "other.json"
    other.write_text("{}")
    async with acl_session(ERR_MODE):
        for config in (other, {}, b"{}", AclConfig()):
            with pytest.raises(ConfigMismatchError):
                await runtime.init(config)

            assert runtime.statistics().ref_count == 1

        with pytest.warns(ConfigIgnoredWarning, match="no effect"):
            async with acl_session({}, on_mismatch="warn") as warned:
                assert not warned.config_applied

        async with acl_session(other, on_mismatch="ignore") as ignored:
            assert not ignored.config_applied
            assert ignored.config is not None
            assert ignored.config.err_msg_mode == "1"


async def test_mismatch_warning_that_is_an_error_takes_no_reference(runtime: Runtime) -> None:
    """With warnings as errors, as in a strict test suite, the count stays exact."""
    async with acl_session(ERR_MODE):
        with pytest.raises(ConfigIgnoredWarning):
            await runtime.init({}, on_mismatch="warn")

        assert runtime.statistics().ref_count == 1


async def test_changed_file_is_noticed_while_up(runtime: Runtime, tmp_path: Path) -> None:
    """The same path with another content is another content."""
    path = tmp_path / "acl.json"
    path.write_text('{"err_msg_mode":"1"}')
    async with acl_session(path):
        async with acl_session(path):
            pass

        path.write_text('{"err_msg_mode":"0"}')
        with pytest.raises(ConfigMismatchError):
            await runtime.init(path)


async def test_file_that_has_gone_does_not_hinder_joining(runtime: Runtime, tmp_path: Path) -> None:
    """Nothing is read while up, if the path is the one in force."""
    path = tmp_path / "acl.json"
    path.write_text("{}")
    async with acl_session(path):
        path.unlink()
        async with acl_session(path) as joined:
            assert joined.joined

        with pytest.raises(ConfigError) as failure:
            await runtime.init(tmp_path / "missing.json")

        assert failure.value.code == 100003


async def test_mappings_are_canonical(runtime: Runtime) -> None:
    """The order of keys does not matter, nor who spelt them."""
    async with acl_session({"err_msg_mode": "1", "max_opqueue_num": "100"}):
        async with acl_session({"max_opqueue_num": "100", "err_msg_mode": "1"}):
            pass

        async with acl_session(AclConfig(err_msg_mode="1", max_opqueue_num="100")):
            pass


async def test_relative_path_means_the_folder_of_the_call(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of the import; and messages show it absolute."""
    (tmp_path / "acl.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    async with acl_session("acl.json"):
        source = runtime.statistics().config_source

    assert source == os.path.join(os.getcwd(), "acl.json")


BAD_SOURCES = {
    "missing": (lambda p: p / "none.json", 100003),
    "directory": (lambda p: p, 100003),
    "unreadable even for root": (lambda _: "/proc/self/mem", 100003),
    "device": (lambda _: "/dev/zero", 100003),
    "socket": (lambda p: p / "socket", 100003),
    "below a file": (lambda p: p / "acl.json" / "x", 100003),
    "FIFO": (lambda p: p / "fifo", 100003),
    "too large": (lambda p: p / "large.json", 100003),
    "NUL in the path": (lambda p: f"{p}/a\0b", 100003),
    "too long a path": (lambda p: p / ("x" * 300), 100003),
    "link in a circle": (lambda p: p / "circle", 100003),
    "broken JSON": (lambda _: b'{"a": }', 100006),
    "depth 11": (lambda _: b'{"a":' * 11 + b"1" + b"}" * 11, 100006),
    "NUL bytes": (lambda _: b'{"a"\0:1}', 100006),
    "invalid UTF-8": (lambda _: b'{"a":"\xff"}', 100006),
    "not JSON": (lambda _: {"a": {1, 2}}, 100000),
    "endless": (lambda _: endless(), 100000),
    "NaN": (lambda _: {"a": float("nan")}, 100000),
    "key no text": (lambda _: {1: 2}, 100000),
}


def endless() -> dict[str, object]:
    circle: dict[str, object] = {}
    circle["again"] = circle
    return circle


@pytest.fixture
def bad_files(tmp_path: Path) -> Path:
    (tmp_path / "acl.json").write_text("{}")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))

    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(10 * 1024 * 1024 + 1)

    return tmp_path


@pytest.mark.parametrize("kind", BAD_SOURCES)
async def test_bad_source_is_a_config_error(runtime: Runtime, bad_files: Path, kind: str) -> None:
    """With the reference's number, the count as before, and nothing left open."""
    make, code = BAD_SOURCES[kind]

    with pytest.raises(ConfigError) as failure:
        await runtime.init(make(bad_files))

    assert failure.value.code == code
    assert failure.value.findings
    statistics = runtime.statistics()
    assert (statistics.ref_count, statistics.phase) == (0, aclasync.Phase.DOWN)
    async with acl_session():
        pass


async def test_resolution_brings_its_product(runtime: Runtime) -> None:
    """What was judged for one product is not run as another."""
    resolution = await aclasync.load_config(
        {"simt_printf_fifo_size": 1048576}, product=Product.ASCEND_950
    )
    async with acl_session(resolution) as session:
        assert session.product is Product.ASCEND_950


async def test_joiner_swept_away_before_it_woke_takes_nobody_s_reference() -> None:
    """It was decided in an earlier opening; what is up when it runs belongs to others."""
    plan = FaultPlan().park("init.OTHER")
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init, {})
            await plan.wait_parked("init.OTHER")

            async def join() -> None:
                with pytest.raises(RepeatFinalizeError):
                    async with acl_session({}):
                        await may_leave.wait()

            may_leave = anyio.Event()
            tasks.start_soon(join)
            await anyio.wait_all_tasks_blocked()
            plan.release("init.OTHER")
            while runtime.statistics().ref_count < 2:
                await anyio.lowlevel.checkpoint()

            await runtime.finalize()
            await runtime.init({})
            may_leave.set()

        assert runtime.statistics().ref_count == 1
        await runtime.finalize()


async def test_device_is_let_go_of_before_the_gate_opens() -> None:
    """Nobody opens a second one while the first is being closed."""
    plan = FaultPlan().park("finalize.OTHER")
    spy = SpyBackend(plan)
    with fresh_runtime(backend=spy) as runtime:
        await runtime.init({})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.finalize)
            await plan.wait_parked("finalize.OTHER")
            tasks.start_soon(runtime.init, {})
            await anyio.wait_all_tasks_blocked()
            plan.release("finalize.OTHER")

        closed = spy.calls.index(("close", ""))
        assert ("start", "err_msg_mode") in spy.calls[closed:]
        assert spy.calls.count(("close", "")) == 1
        await runtime.finalize()


async def test_joining_with_another_product_is_refused(runtime: Runtime) -> None:
    """The runtime is up on one product."""
    async with acl_session():
        with pytest.raises(ConfigMismatchError, match="950"):
            await runtime.init(product=Product.ASCEND_950)

        assert runtime.statistics().ref_count == 1
        async with acl_session(product=Product.ATLAS_A2, backend="embedded") as session:
            assert session.joined


# Failing steps


INIT_POINTS = [
    "init.err_msg_mode", "init.error_manager", "init.device_log", "init.MODEL", "init.dump",
    "init.OP_EXECUTOR", "init.stack_size", "init.default_device", "init.printf_fifo",
    "init.event_mode", "init.profiling", "init.DVPP", "init.OTHER",
]  # fmt: skip


@pytest.mark.parametrize("point", INIT_POINTS)
async def test_failing_init_step_is_undone(point: str) -> None:
    """Each step that was done is taken back once, last first, and a new init works."""
    spy = SpyBackend(FaultPlan().fail(point, lambda: AclError(507899, "step", "no"), times=1))
    with fresh_runtime(backend=spy) as runtime:
        with pytest.raises(AclError) as failure:
            await runtime.init({})

        assert failure.value.code == 507899
        started = [step for what, step in spy.calls if what == "start"]
        undone = [step for what, step in spy.calls if what == "undo"]
        assert [step for step in undone if step in started] == started[::-1]
        assert len(undone) == len(set(undone))
        assert spy.calls[-1] == ("close", "")
        assert runtime.statistics().ref_count == 0
        async with acl_session({}):
            assert runtime.statistics().ref_count == 1


async def test_failing_finalize_step_does_not_wedge_the_runtime() -> None:
    """The rest of the sequence runs, all failures are in one group, and a new init works."""
    plan = FaultPlan().fail("finalize.statistics", AclError(507000, "a", "x"), times=1)
    plan.fail("finalize.dump_stop", OSError("disk"), times=1)
    spy = SpyBackend(plan)
    with fresh_runtime(backend=spy) as runtime:
        await runtime.init()
        with pytest.raises(FinalizeError) as failure:
            await runtime.finalize_reference()

        assert failure.value.code == 507000
        assert [type(e) for e in failure.value.exceptions] == [AclError, OSError]
        assert runtime.statistics().ref_count == 0
        assert ("stop", "default_device_off") in spy.calls
        async with acl_session():
            pass


async def test_finalize_that_stops_can_be_tried_again() -> None:
    """Count and state are as before, and the sequence starts over."""
    plan = FaultPlan().fail("finalize.dump_stop", AclError(500000, "dump", "busy"), times=1)
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        await runtime.init()
        await runtime.init()
        with pytest.raises(AclError) as failure:
            await runtime.finalize(on_error="stop")

        assert failure.value.code == 500000
        assert runtime.statistics().ref_count == 2
        await runtime.finalize(on_error="stop")
        assert runtime.statistics().ref_count == 0


# IPV350


async def test_ipv350_pairs_inits_with_finalizes() -> None:
    """SUCCESS for all of them, and each pair may bring its own config."""
    with fresh_runtime(product=Product.IPV350) as runtime:
        assert (await runtime.init()).code == AclCode.SUCCESS
        assert (await runtime.init({})).code == AclCode.SUCCESS
        await runtime.finalize()
        assert runtime.statistics().ref_count == 1
        await runtime.finalize()
        await runtime.finalize()
        assert await acl.init("missing.json") == 0
        await runtime.finalize()
        async with acl_session({}), acl_session(ERR_MODE):
            assert runtime.statistics().ref_count == 2

        assert runtime.statistics().ref_count == 0


async def test_ipv350_lacks_references_and_callbacks() -> None:
    """They are refused by name."""
    with fresh_runtime(product=Product.IPV350) as runtime:
        await runtime.init()
        for call in (
            runtime.finalize_reference(),
            runtime.register_init_callback(0, print),
            runtime.unregister_init_callback(0, print),
            runtime.register_finalize_callback(0, print),
            runtime.unregister_finalize_callback(0, print),
            runtime.register_context(0, print),
        ):
            with pytest.raises(FeatureUnsupportedError, match="IPV350"):
                await call

        await runtime.finalize()


async def test_ipv350_flattens_every_init_failure() -> None:
    """Whatever failed, the number is 500000."""
    with fresh_runtime(product=Product.IPV350):
        assert await acl.init("acl.json") == 0
        await acl.finalize()

    plan = FaultPlan().fail("init.dump", AclError(107001, "x", "y"))
    with fresh_runtime(product=Product.IPV350, backend=SpyBackend(plan)) as runtime:
        with pytest.raises(AclError) as failure:
            await runtime.init({})

        assert failure.value.code == 500000
        with pytest.raises(AclError) as failure:
            await runtime.init(b"{")

        assert failure.value.code == 500000


# Devices of a session


async def test_device_calls_run_on_the_thread_that_owns_the_context(runtime: Runtime) -> None:
    """Through the library every call works; a raw one from a pool thread has no context."""
    import threading  # noqa: PLC0415

    async with acl_session() as session, session.open_device(1) as device:
        threads = {await device.run(threading.get_ident) for _ in range(20)}
        assert len(threads) == 1
        assert threading.get_ident() not in threads
        assert device.device_id == 1


async def test_session_closes_the_devices_left_open(runtime: Runtime) -> None:
    """And a device does not outlive it."""
    async with acl_session() as session:
        device = await session.open_device()
        assert not device.is_closed

    assert device.is_closed
    with pytest.raises(aclasync.DeviceError):
        await device.run(lambda: None)

    with pytest.raises(NotInitializedError):
        await session.open_device()


async def test_session_waits_for_a_device_that_somebody_is_closing(runtime: Runtime) -> None:
    """The runtime does not end under it."""
    import threading  # noqa: PLC0415

    may_end, closed = threading.Event(), []
    async with anyio.create_task_group() as tasks, acl_session() as session:
        device = await session.open_device()
        tasks.start_soon(device.run, may_end.wait)
        await anyio.wait_all_tasks_blocked()

        async def close() -> None:
            await device.aclose()
            closed.append(runtime.statistics().ref_count)

        tasks.start_soon(close)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(anyio.to_thread.run_sync, may_end.set)

    assert closed == [1]


async def test_device_that_opens_after_its_session_was_left_is_closed(runtime: Runtime) -> None:
    """Nobody would close it later."""
    session = acl_session()
    await session.__aenter__()
    async with anyio.create_task_group() as tasks:

        async def opens() -> None:
            with pytest.raises(NotInitializedError):
                await session.open_device()

        tasks.start_soon(opens)
        await anyio.lowlevel.checkpoint()
        await session.__aexit__(None, None, None)

    assert runtime.statistics().ref_count == 0


async def test_default_device_comes_from_the_config(runtime: Runtime) -> None:
    """An explicit number wins."""
    async with acl_session({"defaultDevice": {"default_device": "1"}}) as session:
        async with session.open_device() as device:
            assert device.device_id == 1

        async with session.open_device(0) as device:
            assert device.device_id == 0

        with pytest.raises(aclasync.InvalidDeviceError) as failure:
            await session.open_device(7)

        assert failure.value.code == 107001


async def test_device_closes_with_the_error_of_its_block(runtime: Runtime) -> None:
    """Nothing hides what the block raised."""
    async with acl_session() as session:
        with pytest.raises(ZeroDivisionError):
            async with session.open_device() as device:
                await device.run(lambda: 1 / 0)

        assert device.is_closed


async def test_cancelled_device_call_is_waited_for(runtime: Runtime) -> None:
    """A call that runs can't be interrupted; one that waits behind it is dropped."""
    import threading  # noqa: PLC0415

    began, may_end, ran = threading.Event(), threading.Event(), []

    def blocks() -> None:
        began.set()
        may_end.wait()
        ran.append("first")

    async with acl_session() as session, session.open_device() as device:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(device.run, blocks)
            await anyio.to_thread.run_sync(began.wait)
            tasks.start_soon(device.run, ran.append, "second")
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                may_end.set()

        assert ran == ["first"]
        assert await device.run(lambda: 7) == 7


def test_loop_is_never_blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No blocking call of the standard library from the loop's thread, whatever the config is."""
    from blockbuster import blockbuster_ctx  # noqa: PLC0415

    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acl.json").write_text('{"dump":{"dump_op_switch":"on","dump_path":"./"}}')
    mapping = {"dump": {"dump_path": "./", "dump_op_switch": "on"}}

    async def main() -> None:
        for config in ("acl.json", tmp_path / "acl.json", mapping):
            async with (
                acl_session(config) as session,
                acl_session(config),
                session.open_device() as device,
            ):
                device.write_log(aclasync.LogLevel.ERROR, "line")

    # Only ours is watched: anyio's own selector and pool have their reasons.
    with fresh_runtime(log_latency=0.01), blockbuster_ctx("aclasync") as watch:
        # The kernel keeps it in memory; a path means what it does at the call.
        watch.functions["os.getcwd"].can_block_in("reading.py", "located")
        watch.functions["os.getcwd"].can_block_in("kerneloutput.py", "plan_output")
        anyio.run(main)
