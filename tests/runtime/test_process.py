"""What a fork, an exit and a signal do to a runtime that is open in the process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import anyio
import pytest

import aclasync
from aclasync import (
    AclError,
    AclSession,
    Device,
    ForkedRuntimeError,
    LogLevel,
    Model,
    acl,
    acl_session,
)
from aclasync.testing import fresh_runtime

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def in_child(check) -> int:
    """Fork, run `check` in the child, and return its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            check()
            code = 0
        except BaseException:
            import traceback  # noqa: PLC0415

            traceback.print_exc()
        finally:
            os._exit(code)

    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("is_open", [True, False])
def test_forked_child_is_refused(is_open: bool) -> None:
    """Every call names the parent's pid and says spawn; the parent is unaffected."""
    parent = os.getpid()
    with fresh_runtime() as runtime:

        async def main() -> None:
            await runtime.init({})
            if not is_open:
                await runtime.finalize()

            def check() -> None:
                async def child() -> None:
                    for call in (runtime.init, runtime.finalize, acl_session().__aenter__):
                        with pytest.raises(ForkedRuntimeError, match=f"{parent}.*spawn"):
                            await call()

                    assert await acl.init() == 500000

                threading.Thread(target=lambda: failures.extend(outcome(child))).start()
                for thread in threading.enumerate():
                    if thread is not threading.current_thread():
                        thread.join()

                assert not failures, failures

            failures: list[BaseException] = []
            assert in_child(check) == 0
            assert runtime.statistics().ref_count == int(is_open)
            if is_open:
                await runtime.finalize()

        asyncio.run(main())


def outcome(main) -> list[BaseException]:
    try:
        anyio.run(main)
    except BaseException as exc:
        return [exc]

    return []


def test_device_and_model_in_a_forked_child_are_refused(tmp_path, monkeypatch) -> None:
    """Their thread did not come along, and a lock of theirs may be held by nobody for ever."""
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path))
    with fresh_runtime():

        async def main() -> None:
            async with acl_session({}) as session, session.open_device() as device:
                model = await device.load_model(DIGITS)
                assert in_child(lambda: check_calls(session, device, model)) == 0
                device.write_log(LogLevel.ERROR, "the parent goes on")

        asyncio.run(main())


def check_calls(session: AclSession, device: Device, model: Model) -> None:
    coroutines = (
        device.run(print),
        session.open_device(0).__aenter__(),
        device.load_model(DIGITS).__aenter__(),
        device.aclose(),
        model.execute({}),
        model.aclose(),
        session.__aexit__(None, None, None),
    )
    for coroutine in coroutines:
        with pytest.raises(ForkedRuntimeError, match="spawn"):
            coroutine.send(None)

    for call in (
        lambda: device.write_log(LogLevel.ERROR, "from the child"),
        device.bind_thread,
        device.unbind_thread,
        lambda: model.execute_blocking({}),
    ):
        with pytest.raises(ForkedRuntimeError, match="spawn"):
            call()


LEFT_IN_THE_MIDDLE = """
import asyncio
from aclasync import acl_session

async def main():
    async with acl_session("acl.json"):
        await asyncio.sleep(100)

loop = asyncio.new_event_loop()
task = loop.create_task(main())
loop.run_until_complete(asyncio.sleep(0.2))
loop.close()
print("the end")
"""


def test_process_ends_with_a_session_in_a_loop_that_was_closed(tmp_path, monkeypatch) -> None:
    """No thread that read its file holds the interpreter up."""
    (tmp_path / "acl.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    done = run_program(LEFT_IN_THE_MIDDLE)
    assert (done.returncode, done.stdout.strip()) == (0, "the end"), done.stderr


def test_run_in_a_forked_child_is_refused() -> None:
    """It says what is the matter instead of that a loop were running already."""
    with fresh_runtime() as runtime:

        def check() -> None:
            with pytest.raises(ForkedRuntimeError, match="spawn"):
                aclasync.run(runtime.finalize)

        async def main() -> None:
            async with acl_session({}):
                assert in_child(check) == 0

        aclasync.run(main)


def test_body_of_a_session_in_a_forked_child_keeps_its_exception() -> None:
    """That the session can't be left there is a note to it."""
    with fresh_runtime():

        async def main() -> None:
            session = await acl_session({}).__aenter__()

            def check() -> None:
                error = ValueError("in the body")
                leaving = session.__aexit__(ValueError, error, None)
                with pytest.raises(StopIteration):
                    leaving.send(None)

                assert "spawn" in error.__notes__[0]

            assert in_child(check) == 0
            await session.__aexit__(None, None, None)

        asyncio.run(main())


def test_fork_before_any_init_leaves_the_child_free() -> None:
    """A runtime that was never initialised works in the child, with a lock of its own."""
    with fresh_runtime() as runtime:

        def check() -> None:
            async def main() -> None:
                async with acl_session({}) as session:
                    assert session.ref_count == 1

            asyncio.run(main())

        runtime.core.gate._lock.acquire()
        try:
            assert in_child(check) == 0
        finally:
            runtime.core.gate._lock.release()


def run_program(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_runtime_left_open_at_exit_is_one_warning() -> None:
    """It says where it was opened, and the process ends at once with its own code."""
    done = run_program(
        """
        import asyncio, sys
        from aclasync import default_runtime

        async def forgetful():
            await default_runtime().init({})

        asyncio.run(forgetful())
        sys.exit(3)
        """,
        "-W",
        "always",
    )

    assert done.returncode == 3
    assert done.stderr.count("ResourceWarning") == 1
    assert "forgetful" in done.stderr


def test_import_starts_nothing() -> None:
    """No thread, no native library, no numeric package; no pytest either."""
    done = run_program(
        """
        import sys, threading
        import aclasync
        heavy = {"numpy", "onnx", "onnxruntime", "ctypes", "trio", "pytest", "uvloop"}
        print(sorted(heavy & set(sys.modules)), threading.active_count())
        """
    )

    assert done.stdout.split() == ["[]", "1"], done.stderr


SIGNALLED = """
import os, signal, sys
import anyio, aclasync
from aclasync import acl_session

async def main():
    async with acl_session() as session:
        os.kill(os.getpid(), signal.{signal})
        await anyio.sleep(30)

try:
    aclasync.run(main, backend={backend!r})
finally:
    print(aclasync.default_runtime().statistics().ref_count)
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_run_turns_a_signal_into_cancellation(backend: str, signal: str, code: int) -> None:
    """The session is left properly and the exit code says which signal it was."""
    done = run_program(SIGNALLED.format(signal=signal, backend=backend))

    assert (done.returncode, done.stdout.strip()) == (code, "0"), done.stderr


IMPATIENT = """
import os, signal, threading, time
import anyio, aclasync
from aclasync import LogLevel, acl_session
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

async def main():
    async with acl_session(flush_timeout=100) as session:
        device = await session.open_device()
        device.write_log(LogLevel.ERROR, "a line")
        threading.Thread(target=signal_twice).start()
        await anyio.sleep(100)

def signal_twice():
    os.kill(os.getpid(), signal.SIGTERM)
    wait_for(lambda: "finalize.log_flush" in spy.points)
    os.kill(os.getpid(), signal.SIGTERM)
    wait_for(lambda: runtime.core.span._is_flush_cut)
    spy.plan.release("finalize.log_flush")

def wait_for(condition):
    while not condition():
        time.sleep(0.001)

spy = SpyBackend(FaultPlan().park("finalize.log_flush"))
with fresh_runtime(backend=spy, log_latency=100) as runtime:
    try:
        aclasync.run(main)
    finally:
        report = runtime.statistics().flush_report
        print(report.outcome.name, report.left, runtime.statistics().ref_count)
"""


def test_second_signal_before_the_wait_for_the_log_skips_it(tmp_path, monkeypatch) -> None:
    """Whoever signals twice does not know how far the first has got."""
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path))
    done = run_program(IMPATIENT)
    assert (done.returncode, done.stdout.split()) == (143, ["SKIPPED", "1", "0"]), done.stderr


def test_run_takes_the_function_and_not_its_coroutine() -> None:
    """What is written by mistake is told, and leaves no coroutine unawaited."""

    async def main() -> None:
        raise AssertionError

    with pytest.raises(TypeError, match=r"write run\(main\), not run\(main\(\)\)"):
        aclasync.run(main())

    with pytest.raises(TypeError, match="coroutine function, not 7"):
        aclasync.run(7)


def test_run_returns_and_raises_like_anyio() -> None:
    """No exception group is put around what main raised."""

    async def answers(value: int) -> int:
        await anyio.lowlevel.checkpoint()
        return value

    async def fails() -> None:
        raise AclError(7, "x", "y")

    assert aclasync.run(answers, 7) == 7

    async def exits() -> None:
        sys.exit(3)

    with pytest.raises(AclError):
        aclasync.run(fails)

    with pytest.raises(SystemExit) as caught:
        aclasync.run(exits)

    assert caught.value.code == 3
