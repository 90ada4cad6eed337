"""The command as a process: exit codes, what goes to which stream, no terminal."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time

import pytest

from .conftest import DIGITS

MODEL = DIGITS / "digits.onnx"
IMAGE = DIGITS / "images" / "00_label0.png"


def unread_bytes(pipe: int) -> int:
    """Return how much stands in a pipe."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what a command said until its end; one that does not end is killed."""
    try:
        return process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def test_help_names_every_command(cli):
    """`--help` works and lists what there is."""
    done = cli("--help")

    assert done.returncode == 0
    for command in ("check", "run", "doctor"):
        assert command in done.stdout


def test_version_is_one_line(cli):
    """`--version` prints name and number."""
    done = cli("--version")

    assert done.returncode == 0
    assert done.stdout.startswith("aclasync ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("check",),
        ("check", "--product", "toaster", "x.json"),
        ("run", "--model", "m.onnx"),
        ("run", "--model", "m.onnx", "--input", "missing.png"),
        ("doctor", "--format", "yaml"),
    ],
)
def test_wrong_usage_exits_2_and_leaves_stdout_empty(cli, arguments):
    """A wrong command line is told on stderr."""
    done = cli(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_extra_the_command_says_how_to_install_it(tmp_path, child_environment, package):
    """One line, no traceback, exit code 2."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import runpy; sys.argv = ['aclasync']; runpy.run_module('aclasync')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=child_environment,
        check=False,
    )

    assert done.returncode == 2
    assert 'pip install "aclasync[cli]"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_import_of_the_command_line_needs_no_extra(tmp_path, child_environment):
    """`aclasync.cli` itself loads neither typer nor rich nor numpy."""
    program = (
        "import sys, aclasync.cli;"
        "print(sorted({'typer', 'rich', 'numpy', 'PIL', 'onnx'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=child_environment,
        check=True,
    )

    assert done.stdout.strip() == "[]"


def test_checking_and_doctoring_import_no_numpy(tmp_path, child_environment):
    """Only `run` needs the embedded extra."""
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['numpy', 'onnx', 'onnxruntime', 'PIL']))\n"
        f"sys.argv = ['aclasync', 'check', {str(DIGITS / 'acl.json')!r}]\n"
        "import runpy; runpy.run_module('aclasync')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=child_environment,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_output_without_a_terminal_has_no_escape_codes(cli):
    """A pipe gets plain text."""
    done = cli("check", DIGITS / "acl.json")

    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr


def test_no_color_wins_on_a_terminal(tmp_path, child_environment):
    """With NO_COLOR even a terminal gets no colours."""
    pty = pytest.importorskip("pty")
    (tmp_path / "bad.json").write_text('{"err_msg_mode": 1}', encoding="utf-8")

    def colours(env: dict[str, str]) -> bytes:
        terminal, child_end = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "aclasync", "check", "bad.json"],
            stdin=subprocess.DEVNULL,
            stdout=child_end,
            stderr=child_end,
            cwd=tmp_path,
            env=child_environment | {"TERM": "xterm-256color"} | env,
        )
        os.close(child_end)
        said = b""
        try:
            while chunk := os.read(terminal, 4096):
                said += chunk
        except OSError:  # the other end is closed: everything was read
            pass

        os.close(terminal)
        assert process.wait() == 1
        return said

    assert b"\x1b[1;31m" in colours({})
    assert b"31m" not in colours({"NO_COLOR": "1"})


def test_interrupt_ends_a_waiting_command_with_130(tmp_path, child_environment):
    """Ctrl-C while `check -` waits for standard input is no error with a traceback."""
    reading, writing = os.pipe()
    os.write(writing, b"{")
    # What a shell starts in the background begins with SIGINT ignored, and hands that on.
    program = (
        "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "sys.argv = ['aclasync', 'check', '-']; runpy.run_module('aclasync')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=child_environment,
    )
    # An empty pipe says that the command has read what there is and waits for more.
    while unread_bytes(reading):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)

    process.send_signal(signal.SIGINT)
    out, err = ended(process)
    os.close(reading)
    os.close(writing)

    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_signal_ends_a_run_with_its_exit_code(tmp_path, child_environment, number, code):
    """A run that is interrupted while it opens its session undoes that and says nothing."""
    program = f"""
import sys, anyio, aclasync
from aclasync.cli import main

async def wait_inside(*_):
    print("inside", flush=True)
    await anyio.sleep_forever()

runtime = aclasync.default_runtime()
anyio.run(runtime.register_init_callback, aclasync.CallbackType.OTHER, wait_inside)
sys.argv = ["aclasync", "run", "--model", {str(MODEL)!r}, "--input", {str(IMAGE)!r}]
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=child_environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    process.send_signal(number)
    out, err = ended(process)

    assert process.returncode == code
    assert (out, err) == ("", "")


def test_json_is_one_object_and_nothing_else(cli):
    """Every command's stdout can be given to a JSON reader as it is."""
    for arguments in (
        ("check", DIGITS / "acl.json"),
        ("check", "missing.json"),
        ("doctor",),
        ("run", "--config", DIGITS / "acl.json", "--model", MODEL, "--input", IMAGE),
        ("run", "--config", "missing.json", "--model", MODEL, "--input", IMAGE),
        ("run", "--model", "missing.onnx", "--input", IMAGE),
    ):
        done = cli(*arguments, "--format", "json")
        assert isinstance(json.loads(done.stdout), dict), arguments
