"""Draining the logs of several devices together, on real files."""

from __future__ import annotations

import os
import threading

import pytest

from aclasync.backends.base import LogLevel, LogTally

HOUR_S = 3600.0


def host_lines(log_root, device_id):
    paths = sorted((log_root / "debug" / f"device-{device_id}").glob("*"))
    return [line for path in paths for line in path.read_text().splitlines()]


def spool_of(log_root, device_id):
    return log_root / "spool" / f"device-app-{os.getpid()}" / f"device-{device_id}.log"


def drain(backend):
    """Ask and wait; return what was asked and told."""
    done = threading.Event()
    told = []

    def acknowledged():
        told.append(threading.current_thread().name)
        done.set()

    owing = backend.begin_drain(acknowledged)
    assert done.wait(30) if owing else True
    return owing, told


def begin_owing(backend, device, acknowledged):
    """Begin a drain with a line on its way, however fast lines are delivered."""
    device.write_log(LogLevel.ERROR, "on its way")
    while not backend.begin_drain(acknowledged):
        device.write_log(LogLevel.ERROR, "on its way")


def test_nothing_written_is_nothing_owed(open_embedded):
    """Silent devices are not waited for and never acknowledge."""
    backend = open_embedded(devices=2)
    assert backend.begin_drain(pytest.fail) == 0
    backend.open_device(0)
    assert backend.begin_drain(pytest.fail) == 0
    assert backend.end_drain() == LogTally()


def test_lines_of_every_device_reach_their_own_file(open_embedded, log_root):
    """One folder per device, and one tally of all."""
    backend = open_embedded(devices=3)
    for device_id in range(3):
        device = backend.open_device(device_id)
        device.write_log(LogLevel.ERROR, f"from {device_id}")
        device.close()

    drain(backend)
    assert backend.end_drain() == LogTally(delivered=3)
    for device_id in range(3):
        [line] = host_lines(log_root, device_id)
        assert line.endswith(f"]from {device_id}")
        assert "[test_drain.py:" in line


def test_acknowledgement_comes_once_from_a_log_thread(open_embedded):
    """However many devices owe lines, the last one to deliver tells, once."""
    backend = open_embedded(devices=8)
    devices = [backend.open_device(device_id) for device_id in range(8)]
    for _ in range(50):
        for device in devices:
            device.write_log(LogLevel.ERROR, "x")

        owing, told = drain(backend)
        assert owing <= 8
        assert len(told) == bool(owing)
        assert all(name.startswith("aclasync-log-") for name in told)


def test_drain_can_be_asked_for_twice(open_embedded):
    """Each who asked is told."""
    backend = open_embedded(log_latency=0.01)
    device = backend.open_device(0)
    first, second = threading.Event(), threading.Event()
    for event in (first, second):
        begin_owing(backend, device, event.set)

    assert first.wait(30)
    assert second.wait(30)


def test_acknowledgement_that_raises_does_not_stop_the_log(open_embedded, log_root, caplog):
    """Whoever asked may be gone; lines go on arriving."""
    backend = open_embedded(log_latency=0.01)
    device = backend.open_device(0)
    asked = threading.Event()

    def fail():
        asked.set()
        raise RuntimeError("the loop is closed")

    begin_owing(backend, device, fail)
    assert asked.wait(30)
    device.write_log(LogLevel.ERROR, "after it")
    drain(backend)
    assert host_lines(log_root, 0)[-1].endswith("]after it")
    assert "the loop is closed" in caplog.text


def test_end_cuts_the_wait_short_and_spools_what_is_left(open_embedded, log_root):
    """With an hour of latency the end comes at once, and every line is in its device's spool."""
    backend = open_embedded(devices=2, log_latency=HOUR_S)
    for device_id in range(2):
        device = backend.open_device(device_id)
        for number in range(3):
            device.write_log(LogLevel.ERROR, f"{device_id}-{number}")

    assert backend.begin_drain(pytest.fail) == 2
    spools = (spool_of(log_root, 0), spool_of(log_root, 1))
    assert backend.end_drain() == LogTally(delivered=0, left=6, spools=spools)
    assert not (log_root / "debug").exists()
    texts = [line.rpartition("]")[2] for line in spools[1].read_text().splitlines()]
    assert texts == ["1-0", "1-1", "1-2"]
    assert backend.end_drain().left == 6


def test_lines_after_the_end_are_spooled_also_for_devices_opened_then(open_embedded, log_root):
    """No line needs a thread once delivery is over."""
    backend = open_embedded(devices=2)
    first = backend.open_device(0)
    backend.end_drain()
    first.write_log(LogLevel.EVENT, "late")
    backend.open_device(1).write_log(LogLevel.ERROR, "later still")
    assert backend.begin_drain(pytest.fail) == 0
    assert backend.end_drain() == LogTally(
        left=2, spools=(spool_of(log_root, 0), spool_of(log_root, 1))
    )


def test_log_outlives_its_device(open_embedded, log_root):
    """What was written before a device was closed still arrives, and what comes after it too."""
    backend = open_embedded()
    device = backend.open_device(0)
    device.write_log(LogLevel.ERROR, "before")
    device.close()
    device.write_log(LogLevel.ERROR, "after")
    drain(backend)
    assert backend.end_drain().delivered == 2
    assert len(host_lines(log_root, 0)) == 2


@pytest.mark.parametrize(
    ("variables", "written"),
    [
        ({}, "ERROR EVENT"),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "0"}, "DEBUG INFO WARNING ERROR EVENT"),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "2"}, "WARNING ERROR EVENT"),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "4"}, "ERROR EVENT"),
        ({"ASCEND_GLOBAL_EVENT_ENABLE": "0"}, "ERROR"),
    ],
)
def test_levels_follow_the_environment(open_embedded, log_root, variables, written):
    """ERROR always, EVENT unless switched off, the others by level."""
    backend = open_embedded(variables=variables)
    device = backend.open_device(0)
    for level in LogLevel:
        if level is not LogLevel.NULL:
            device.write_log(level, "x")

    drain(backend)
    levels = [line.partition("]")[0][1:] for line in host_lines(log_root, 0)]
    assert levels == written.split()


def test_host_folder_that_can_not_be_written_sends_lines_to_the_spool(
    open_embedded, log_root, caplog
):
    """A file where the folder should be: lines are spooled, and the fault is said once."""
    log_root.mkdir()
    (log_root / "debug").touch()
    backend = open_embedded()
    device = backend.open_device(0)
    for text in ("a", "b"):
        device.write_log(LogLevel.ERROR, text)
        drain(backend)

    assert backend.end_drain() == LogTally(left=2, spools=(spool_of(log_root, 0),))
    assert len(caplog.records) == 1
    assert "can't write the host's log" in caplog.text


def test_lines_that_no_folder_takes_are_in_the_program_s_own_log(open_embedded, log_root, caplog):
    """Files where both folders should be: each line is a warning of `aclasync.device`."""
    log_root.mkdir()
    (log_root / "debug").touch()
    (log_root / "spool").touch()
    backend = open_embedded()
    backend.open_device(0).write_log(LogLevel.ERROR, "not swallowed")
    drain(backend)
    assert backend.end_drain() == LogTally(left=1)
    assert {record.name for record in caplog.records} == {"aclasync.device"}
    assert "]not swallowed" in caplog.text


def test_closing_the_backend_spools_what_nobody_drained(open_embedded, log_root):
    """A backend that is closed without a drain loses no line and leaves no thread."""
    backend = open_embedded(log_latency=HOUR_S)
    device = backend.open_device(0)
    device.write_log(LogLevel.ERROR, "undrained")
    device.close()
    backend.close()
    assert spool_of(log_root, 0).read_text().endswith("]undrained\n")


@pytest.mark.parametrize("text", ["two\nlines", "nul\0", "\ud800", "x" * 10_000, "[ERROR] fake"])
def test_hostile_text_is_one_line_on_disk(open_embedded, log_root, text):
    """One call is one line, whatever it says."""
    backend = open_embedded()
    backend.open_device(0).write_log(LogLevel.ERROR, text)
    drain(backend)
    assert backend.end_drain() == LogTally(delivered=1)
    [line] = host_lines(log_root, 0)
    assert line.startswith("[ERROR] APP(")
