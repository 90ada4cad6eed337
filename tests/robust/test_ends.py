"""Every way a process can end: its exit code, what it says, and that it does end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NUMBERS = {"SIGINT": 130, "SIGTERM": 143}


@pytest.fixture
def program(tmp_path: Path):
    """Start a program whose device logs lie in a folder of its own."""
    environment = {**os.environ, "ASCEND_PROCESS_LOG_PATH": str(tmp_path), "PYTHONPATH": str(ROOT)}

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "always", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
        )  # fmt: skip

    return start


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=40)
    finally:
        process.kill()

    return process.returncode, out, err


def said(out: str) -> dict[str, Any]:
    return json.loads(out.splitlines()[-1])


CASES = [
    (phase, name, count, library)
    for phase, counts in {
        "before": (1,), "init": (1,), "body": (1,), "flush": (1,), "finalize": (1, 2, 3),
        "shielded": (3,),
    }.items()
    for count in counts
    for name, library in (("SIGINT", "asyncio"), ("SIGTERM", "trio"))
]  # fmt: skip


@pytest.mark.parametrize(("phase", "name", "count", "library"), CASES)
def test_signal_in_any_phase_ends_the_process_in_order(
    program, phase: str, name: str, count: int, library: str
) -> None:
    """The code says which signal; what was open is closed, unless the third one cut it off."""
    process = program("-m", "tests.robust.child", "signalled", phase, name, str(count), library)
    code, out, err = ended(process)
    assert code == NUMBERS[name], err
    assert "Traceback" not in err, err
    if count == 3:
        assert not out
        return

    last = {"before": None, "init": "undo.err_msg_mode"}.get(phase, "finalize.OTHER")
    state = said(out)
    assert (state["count"], state["phase"], state["last"]) == (0, "down", last), err
    assert not state["threads"]
    if phase == "flush":
        assert (state["flush"], state["left"]) == ("SKIPPED", 1)


def test_signal_before_the_loop_sleeps_is_not_slept_through(program) -> None:
    """Python runs handlers between two steps of code; after the last one nobody looks any more."""
    process = program("-m", "tests.robust.child", "signalled_before_sleep", "SIGTERM")
    code, out, err = ended(process)
    assert code == 143, err
    assert said(out)["last"] == "finalize.OTHER"


@pytest.mark.parametrize(
    ("ending", "code", "told"),
    [("sys.exit", 7, ""), ("exception", 1, "LookupError"), ("SIGINT", -2, "KeyboardInterrupt")],
)
def test_body_left_by_an_end_of_the_program_finalizes(
    program, ending: str, code: int, told: str
) -> None:
    """With a plain asyncio.run, too."""
    done, out, err = ended(program("-m", "tests.robust.child", "leaves_by", ending))
    assert done in (code, 128 - code), err
    assert told in err
    assert "ResourceWarning" not in err
    assert (said(out)["count"], said(out)["last"]) == (0, "finalize.OTHER")


@pytest.mark.parametrize(("ending", "code"), [("os._exit", 5), ("SIGTERM", -15)])
def test_end_that_runs_no_python_code_is_quiet(program, ending: str, code: int) -> None:
    """Nothing native is called on the way out, and nothing hangs."""
    assert ended(program("-m", "tests.robust.child", "leaves_by", ending)) == (code, "", "")


@pytest.mark.parametrize("what", ["device", "flush"])
def test_exit_of_the_interpreter_waits_for_no_daemon_thread(program, what: str) -> None:
    """Whatever it does with the runtime at that moment."""
    code, out, err = ended(program("-m", "tests.robust.child", "exits_while", what))
    assert (code, out.strip()) == (4, "ends"), err
    assert "Fatal Python error" not in err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_process_that_was_killed_hinders_no_later_one(
    program, tmp_path: Path, number: signal.Signals
) -> None:
    """Its log stays, and the next process opens the same device and ends as if it were first."""
    for is_killed in (True, False):
        process = program("-m", "tests.robust.child", "holds")
        assert process.stdout.readline() == "holds\n"
        process.send_signal(number if is_killed else signal.SIGINT)
        code, _, err = ended(process)
        assert code in ((-number,) if is_killed else (-2, 130)), err

    logs = [path.read_text() for path in tmp_path.rglob("device-*.log")]
    assert len(logs) == 2
    assert all("written before the end" in text for text in logs)


POOL = """
import asyncio, multiprocessing, os, sys, threading
from aclasync import ForkedRuntimeError, acl_session

async def one_session():
    async with acl_session({}) as session, session.open_device() as device:
        return await device.run(os.getpid)

def work(result):
    try:
        result.put(asyncio.run(one_session()) == os.getpid())
    except ForkedRuntimeError as exc:
        result.put("spawn" in str(exc) and str(os.getppid()) in str(exc) and "refused")

def ask(method):
    context = multiprocessing.get_context(method)
    result = context.SimpleQueue()
    child = context.Process(target=work, args=(result,))
    child.start()
    answer = result.get()
    child.join()
    return answer, child.exitcode

async def main(method):
    async with acl_session({}):
        return ask(method)  # a fork made by another thread ends with 1 in plain Python, too

if __name__ == "__main__":
    before, opened = ask(sys.argv[1]), None
    opened = asyncio.run(main(sys.argv[1]))
    print(before, opened)
"""


@pytest.mark.parametrize(
    ("method", "answer"), [("fork", "refused"), ("forkserver", True), ("spawn", True)]
)
def test_multiprocessing_works_or_is_refused(program, tmp_path: Path, method: str, answer) -> None:
    """A fork of a process that is up is refused with what to do; every other child is free."""
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    code, out, err = ended(program(str(script), method))
    assert (code, out.strip()) == (0, f"(True, 0) ({answer!r}, 0)"), err


def test_pytest_workers_are_processes_of_their_own(program, tmp_path: Path) -> None:
    """pytest-xdist starts them; each test in each has a fresh runtime."""
    tests = """
    import pytest
    from aclasync import acl_session

    @pytest.mark.anyio
    @pytest.mark.parametrize("number", range(6))
    async def test_counts_alone(acl_runtime, number):
        async with acl_session({}) as session, session.open_device():
            assert session.ref_count == 1

    @pytest.fixture
    def anyio_backend():
        return "asyncio"
    """
    (tmp_path / "test_inner.py").write_text(textwrap.dedent(tests))
    arguments = ("-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--rootdir")
    code, out, err = ended(program(*arguments, str(tmp_path), str(tmp_path)))
    assert code == 0, out + err
    assert "6 passed" in out
