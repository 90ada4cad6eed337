"""The wait for the device's log: every outcome, its report, and the loop that never blocks."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import anyio
import pytest

from aclasync import (
    AclError,
    CallbackType,
    FlushOutcome,
    FlushReport,
    LogLevel,
    Phase,
    Runtime,
    acl_session,
)
from aclasync.testing import fresh_runtime

FOREVER = 3600.0


@pytest.fixture(autouse=True)
def log_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path))
    monkeypatch.delenv("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", raising=False)
    return tmp_path


async def session_with_lines(count: int, **options) -> FlushReport:
    """Open a session, write lines to device 0, leave."""
    async with acl_session(**options) as session:
        device = await session.open_device()
        for number in range(count):
            device.write_log(LogLevel.ERROR, f"line {number}")

    assert session.flush_report is not None
    return session.flush_report


def text_below(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*.log"))


async def test_nothing_pending_ends_at_once(runtime: Runtime) -> None:
    """No device, no lines, no wait."""
    async with acl_session(flush_timeout=FOREVER) as session:
        pass

    report = session.flush_report
    assert report == FlushReport(FlushOutcome.DRAINED, 0, 0, report.elapsed, FOREVER)


async def test_drained_log_reaches_the_host(log_folder: Path) -> None:
    """As soon as the device acknowledges, whatever the timeout."""
    with fresh_runtime(log_latency=0.02):
        report = await session_with_lines(3, flush_timeout=FOREVER)

    assert (report.outcome, report.delivered, report.left) == (FlushOutcome.DRAINED, 3, 0)
    assert "line 2" in text_below(log_folder / "debug")


async def test_timeout_spools_what_is_left(log_folder: Path, caplog) -> None:
    """Nothing is lost, and a warning names the spool."""
    with fresh_runtime(log_latency=FOREVER), caplog.at_level(logging.WARNING):
        report = await session_with_lines(3, flush_timeout=0.05)

    assert (report.outcome, report.delivered, report.left) == (FlushOutcome.TIMED_OUT, 0, 3)
    assert report.elapsed >= 0.05
    assert report.timeout == 0.05
    assert [p.read_text().count("line") for p in report.spools] == [3]
    assert str(report.spools[0]) in caplog.text


@pytest.mark.parametrize("from_thread", [False, True])
async def test_skip_flush_cuts_the_wait(from_thread: bool) -> None:
    """From another task or from another thread; finalize goes on to its end."""
    ended: list[str] = []
    with fresh_runtime(log_latency=FOREVER) as runtime:
        await runtime.register_finalize_callback(0, lambda _: ended.append("model"))
        assert runtime.skip_flush() is False
        async with anyio.create_task_group() as tasks:

            async def skip() -> None:
                while not runtime.skip_flush():
                    await anyio.sleep(0.001)

            if from_thread:
                tasks.start_soon(anyio.to_thread.run_sync, anyio.run, skip)
            else:
                tasks.start_soon(skip)

            report = await session_with_lines(2, flush_timeout=FOREVER)

    assert (report.outcome, report.left) == (FlushOutcome.SKIPPED, 2)
    assert ended == ["model"]


async def test_cancellation_cuts_the_wait_and_comes_after(log_folder: Path) -> None:
    """Finalize completes first; the lines are in the spool."""
    ended: list[str] = []
    with fresh_runtime(log_latency=FOREVER) as runtime:
        await runtime.register_finalize_callback(0, lambda _: ended.append("model"))
        await runtime.init(flush_timeout=FOREVER)
        span = runtime.core.span
        assert span is not None
        device = span.backend.open_device(0)
        device.write_log(LogLevel.ERROR, "line")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.finalize)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

        assert ended == ["model"]
        statistics = runtime.statistics()
        assert statistics.ref_count == 0
        assert statistics.flush_report is not None
        assert statistics.flush_report.outcome is FlushOutcome.SKIPPED
        assert statistics.flush_report.left == 1


async def test_zero_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's 0 disables the wait; what is left goes to the spool."""
    monkeypatch.setenv("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "0")
    with fresh_runtime(log_latency=FOREVER):
        report = await session_with_lines(2)

    assert (report.outcome, report.left, report.timeout) == (FlushOutcome.DISABLED, 2, 0.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 2.0), ("", 2.0), ("1500", 1.5), ("180000", 180.0), ("180001", 2.0), ("-1", 2.0),
        ("1.5", 2.0), ("x", 2.0), (" 50", 0.05), ("+50", 0.05), ("50 ", 2.0),
    ],
)  # fmt: skip
async def test_timeout_comes_from_the_environment(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, text: str | None, seconds: float
) -> None:
    """Milliseconds from 0 to 180000; everything else means 2000."""
    if text is not None:
        monkeypatch.setenv("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", text)

    async with acl_session() as session:
        pass

    assert session.flush_report is not None
    assert session.flush_report.timeout == seconds


async def test_argument_wins_over_the_environment(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In seconds."""
    monkeypatch.setenv("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "1500")
    async with acl_session(flush_timeout=0.25) as session:
        pass

    assert session.flush_report is not None
    assert session.flush_report.timeout == 0.25


async def test_later_change_of_the_variable_is_warned_of(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    """It is read once, at the init that opens the runtime."""
    async with acl_session() as session:
        monkeypatch.setenv("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "5")

    assert session.flush_report is not None
    assert session.flush_report.timeout == 2.0
    assert "read once" in caplog.text


async def test_loop_is_never_blocked_by_the_flush() -> None:
    """A heartbeat goes on while finalize waits for the log."""
    beats = 0
    with fresh_runtime(log_latency=0.05):
        async with anyio.create_task_group() as tasks:

            async def beat() -> None:
                nonlocal beats
                while True:
                    await anyio.sleep(0.001)
                    beats += 1

            tasks.start_soon(beat)
            report = await session_with_lines(50, flush_timeout=FOREVER)
            tasks.cancel_scope.cancel()

    assert report.outcome is FlushOutcome.DRAINED
    assert beats >= 5


async def test_body_that_was_cancelled_does_not_cut_the_flush(log_folder: Path) -> None:
    """Leaving is the normal exit path: graceful, so the log is drained."""
    with fresh_runtime(log_latency=0.05), anyio.CancelScope() as scope:
        async with acl_session(flush_timeout=FOREVER) as session:
            device = await session.open_device()
            device.write_log(LogLevel.ERROR, "line")
            scope.cancel()
            await anyio.sleep_forever()

    assert session.flush_report is not None
    assert session.flush_report.outcome is FlushOutcome.DRAINED
    assert session.flush_report.delivered == 1


async def test_devices_are_drained_side_by_side() -> None:
    """Every opened device acknowledges, also one that was closed before."""
    with fresh_runtime(devices=3, log_latency=0.02):
        async with acl_session(flush_timeout=FOREVER) as session:
            for number in range(3):
                async with session.open_device(number) as device:
                    device.write_log(LogLevel.EVENT, "bye")

    assert session.flush_report is not None
    assert (session.flush_report.outcome, session.flush_report.delivered) == (
        FlushOutcome.DRAINED,
        3,
    )


async def test_no_task_or_thread_is_left_after_a_skipped_flush() -> None:
    """The wait is over for everybody."""
    with fresh_runtime(log_latency=FOREVER) as runtime:
        await session_with_lines(1, flush_timeout=0.01)
        assert not [t for t in threading.enumerate() if t.name.startswith("aclasync-log")]
        async with acl_session():
            pass

        assert runtime.statistics().waiting == 0


async def test_finalize_that_stops_leaves_the_log_alive(log_folder: Path) -> None:
    """Lines written before the retry are delivered, too."""
    fails = [7, 0]
    with fresh_runtime() as runtime:
        await runtime.register_finalize_callback(0, lambda _: fails.pop(0))
        async with acl_session(flush_timeout=FOREVER) as session:
            device = await session.open_device()
            device.write_log(LogLevel.ERROR, "first")
            with pytest.raises(AclError):
                await runtime.finalize(on_error="stop")

            device.write_log(LogLevel.ERROR, "second")

        report = session.flush_report

    assert report is not None
    assert (report.outcome, report.delivered, report.left) == (FlushOutcome.DRAINED, 2, 0)
    assert "second" in text_below(log_folder / "debug")


@pytest.mark.parametrize(("count", "said"), [(1, "1 line was not"), (2, "2 lines were not")])
async def test_warning_counts_lines_in_good_english(log_folder: Path, caplog, count, said) -> None:
    """One is one."""
    with fresh_runtime(log_latency=FOREVER), caplog.at_level(logging.WARNING):
        await session_with_lines(count, flush_timeout=0)

    assert f"{said} delivered" in caplog.text


async def test_flush_is_waited_for_again_after_a_finalize_that_stopped(runtime: Runtime) -> None:
    """The wait of the first try was cut; nobody cuts the second one."""
    fails = [True]

    def fail(_: object) -> None:
        if fails:
            raise ValueError("not yet")

    with fresh_runtime(log_latency=0.2) as slow:
        await slow.register_finalize_callback(CallbackType.OTHER, fail)
        session = await acl_session({})
        device = await session.open_device()
        device.write_log(LogLevel.ERROR, "one")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_finalize_and_stop, slow)
            while slow.statistics().phase is Phase.UP:
                await anyio.lowlevel.checkpoint()

            tasks.cancel_scope.cancel()

        assert slow.statistics().ref_count == 1
        fails.clear()
        device.write_log(LogLevel.ERROR, "two")
        report = await slow.finalize(on_error="stop")
        assert (report.outcome, report.delivered, report.left) == (FlushOutcome.DRAINED, 2, 0)
        await device.aclose()


async def _finalize_and_stop(runtime: Runtime) -> None:
    await runtime.finalize(on_error="stop")


async def test_leaving_does_not_wait_for_the_worker_threads_of_others(runtime: Runtime) -> None:
    """A pool that somebody has filled with their own work holds no finalize up."""
    may_end = threading.Event()
    session = await acl_session({})
    device = await session.open_device()
    device.write_log(LogLevel.ERROR, "a line")
    limiter = anyio.to_thread.current_default_thread_limiter()
    async with anyio.create_task_group() as tasks:
        for _ in range(int(limiter.total_tokens)):
            tasks.start_soon(anyio.to_thread.run_sync, may_end.wait)

        while limiter.available_tokens:
            await anyio.lowlevel.checkpoint()

        await session.aclose()
        assert runtime.statistics().ref_count == 0
        may_end.set()
