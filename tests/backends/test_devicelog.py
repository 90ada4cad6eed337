"""The buffer of one device's log and the thread that empties it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from aclasync.backends.base import LogLevel
from aclasync.backends.embedded.devicelog import DeviceLog

ALL = tuple(level for level in LogLevel if level is not LogLevel.NULL)
HOUR_S = 3600.0


class Sink:
    """Keeps the texts of lines in memory; closed, it makes its writer wait."""

    path = Path("memory")

    def __init__(self, *, is_closed=False):
        self.texts = []
        self.entered = threading.Event()
        self.gate = threading.Event()
        if not is_closed:
            self.gate.set()

    def append(self, lines):
        self.entered.set()
        self.gate.wait()
        self.texts += [line.decode().partition("]")[2].partition("]")[2].strip() for line in lines]


class FullSink:
    """A disk with no room."""

    path = Path("full")

    def append(self, lines):
        raise OSError(28, "no space left on device")


@pytest.fixture
def make_log():
    logs = []

    def make(host, spool, **options):
        options.setdefault("levels", ALL)
        log = DeviceLog(3, host=host, spool=spool, **options)
        logs.append(log)
        return log

    yield make
    for log in logs:
        log.end()


def wait_delivered(log):
    done = threading.Event()
    if log.ask(done.set):
        assert done.wait(30)


def receivers():
    return [thread for thread in threading.enumerate() if thread.name == "aclasync-log-3"]


def test_lines_arrive_in_order(make_log):
    """What one thread writes, the host reads in that order, whatever the levels."""
    host = Sink()
    log = make_log(host, Sink())
    levels = [LogLevel.ERROR, LogLevel.INFO, LogLevel.EVENT, LogLevel.DEBUG]
    texts = [f"line {number}" for number in range(200)]
    for number, text in enumerate(texts):
        log.write(levels[number % 4], text)

    wait_delivered(log)
    assert host.texts == texts
    assert (log.delivered, log.left, log.dropped) == (200, 0, 0)


def test_no_thread_before_the_first_line(make_log):
    """A silent device costs no thread, and its log ends at once."""
    log = make_log(Sink(), Sink())
    assert not log.ask(pytest.fail)
    assert receivers() == []
    log.write(LogLevel.ERROR, "first")
    assert [thread.daemon for thread in receivers()] == [True]


def test_levels_that_are_off_leave_nothing(make_log):
    """A line below the level is neither delivered nor counted, and starts no thread."""
    log = make_log(Sink(), Sink(), levels=(LogLevel.ERROR,))
    log.write(LogLevel.INFO, "quiet")
    log.write(LogLevel.EVENT, "quiet too")
    assert not log.ask(pytest.fail)
    assert receivers() == []


@pytest.mark.parametrize("level", [LogLevel.NULL, 7, -1])
def test_a_line_needs_a_level_of_lines(make_log, level):
    """NULL switches a log off and other numbers mean nothing; neither is swallowed."""
    log = make_log(Sink(), Sink())
    with pytest.raises(ValueError, match="no level of a log line"):
        log.write(level, "lost?")


def test_plain_numbers_are_levels_too(make_log):
    """3 is ERROR, as people who come from pyACL write it."""
    host = Sink()
    log = make_log(host, Sink())
    log.write(3, "number")
    wait_delivered(log)
    assert host.texts == ["number"]


def test_full_buffer_drops_the_oldest_line_that_may_go(make_log):
    """Lines of other levels make room first, oldest first, and are counted."""
    host = Sink(is_closed=True)
    log = make_log(host, spool := Sink(), capacity=4)
    log.write(LogLevel.ERROR, "in flight")
    assert host.entered.wait(30)
    for text in ("i1", "i2"):
        log.write(LogLevel.INFO, text)

    for text in ("e1", "e2", "e3"):
        log.write(LogLevel.ERROR, text)

    host.gate.set()
    wait_delivered(log)
    assert host.texts == ["in flight", "i2", "e1", "e2", "e3"]
    assert (log.dropped, spool.texts) == (1, [])


def test_full_buffer_of_errors_spills_the_oldest_to_the_spool(make_log):
    """An ERROR line is never dropped: when only such lines are held, the oldest is spooled."""
    host = Sink(is_closed=True)
    log = make_log(host, spool := Sink(), capacity=2)
    log.write(LogLevel.ERROR, "in flight")
    assert host.entered.wait(30)
    for text in ("e1", "e2", "e3"):
        log.write(LogLevel.ERROR, text)

    log.write(LogLevel.INFO, "no room for me")
    log.write(LogLevel.EVENT, "v4")
    assert spool.texts == ["e1", "e2"]
    host.gate.set()
    wait_delivered(log)
    assert host.texts == ["in flight", "e3", "v4"]
    assert (log.delivered, log.left, log.dropped) == (3, 2, 1)


def test_dropped_lines_are_reported_at_the_end(make_log, caplog):
    """The loss of lines below ERROR is said, with their number."""
    host = Sink(is_closed=True)
    log = make_log(host, Sink(), capacity=1)
    log.write(LogLevel.ERROR, "in flight")
    assert host.entered.wait(30)
    for number in range(6):
        log.write(LogLevel.INFO, str(number))

    host.gate.set()
    log.end()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "5 log lines below ERROR" in caplog.text


def test_latency_is_cut_short_and_nothing_is_lost(make_log):
    """Ending a log does not wait for a batch on its way; the batch is spooled."""
    log = make_log(host := Sink(), spool := Sink(), latency_s=HOUR_S)
    for text in ("a", "b", "c"):
        log.write(LogLevel.ERROR, text)

    assert log.ask(pytest.fail)
    log.end()
    assert (host.texts, spool.texts) == ([], ["a", "b", "c"])
    assert (log.delivered, log.left) == (0, 3)
    assert receivers() == []


def test_line_after_the_end_goes_to_the_spool(make_log):
    """The device outlives the delivery of its log."""
    log = make_log(host := Sink(), spool := Sink())
    log.end()
    log.write(LogLevel.ERROR, "late")
    assert (host.texts, spool.texts, log.left) == ([], ["late"], 1)
    assert not log.ask(pytest.fail)
    assert receivers() == []


def test_second_end_does_nothing(make_log):
    """Nothing is spooled twice."""
    log = make_log(Sink(), spool := Sink(), latency_s=HOUR_S)
    log.write(LogLevel.ERROR, "once")
    log.end()
    log.end()
    assert (spool.texts, log.left) == (["once"], 1)


def test_batch_on_a_hanging_host_is_spooled_and_not_counted_twice(make_log):
    """A disk that hangs delays the end by a bounded time; its batch counts as left for good."""
    host = Sink(is_closed=True)
    log = make_log(host, spool := Sink(), patience_s=0.01)
    log.write(LogLevel.ERROR, "stuck")
    assert host.entered.wait(30)
    log.write(LogLevel.ERROR, "behind it")
    log.end()
    assert spool.texts == ["stuck", "behind it"]
    [thread] = receivers()
    host.gate.set()
    thread.join()
    assert (log.delivered, log.left, spool.texts) == (0, 2, ["stuck", "behind it"])


def test_full_host_disk_sends_lines_to_the_spool(make_log, caplog):
    """A host that can't write costs no line, is said once, and still acknowledges."""
    log = make_log(FullSink(), spool := Sink())
    for text in ("a", "b"):
        log.write(LogLevel.ERROR, text)
        wait_delivered(log)

    assert spool.texts == ["a", "b"]
    assert (log.delivered, log.left) == (0, 2)
    assert [record.name for record in caplog.records] == ["aclasync.device"]
    assert "no space left" in caplog.text


def test_without_host_and_spool_lines_go_to_the_logger(make_log, caplog):
    """When no disk takes a line, the program's own log gets it."""
    log = make_log(FullSink(), FullSink())
    log.write(LogLevel.ERROR, "the last word")
    wait_delivered(log)
    assert "the last word" in caplog.text
    assert log.spool is None
    assert log.left == 1


def test_question_covers_only_what_was_held(make_log):
    """A writer that never stops can't keep an acknowledgement away."""
    host = Sink(is_closed=True)
    log = make_log(host, Sink())
    log.write(LogLevel.ERROR, "held")
    assert host.entered.wait(30)
    done = threading.Event()

    def write_more():
        log.write(LogLevel.ERROR, "written by the acknowledgement")
        done.set()

    assert log.ask(write_more)
    host.gate.set()
    assert done.wait(30)
    wait_delivered(log)
    assert host.texts == ["held", "written by the acknowledgement"]


def test_ending_from_the_acknowledgement_does_not_deadlock(make_log):
    """Whoever is told may end the log at once, on the log's own thread."""
    host = Sink(is_closed=True)
    log = make_log(host, Sink())
    log.write(LogLevel.ERROR, "only")
    assert host.entered.wait(30)
    done = threading.Event()

    def finish():
        log.end()
        done.set()

    assert log.ask(finish)
    host.gate.set()
    assert done.wait(30)
    assert host.texts == ["only"]
    for thread in receivers():
        thread.join()


def test_lines_of_many_threads_all_arrive(make_log):
    """Every line of every writer arrives once, each writer's own in order."""
    log = make_log(host := Sink(), spool := Sink(), capacity=100_000)

    def write(writer):
        for number in range(500):
            log.write(LogLevel.ERROR, f"{writer} {number}")

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()

    for writer in writers:
        writer.join()

    wait_delivered(log)
    assert log.delivered == 2000
    assert spool.texts == []
    for name in "abcd":
        own = [text for text in host.texts if text.startswith(name)]
        assert own == [f"{name} {number}" for number in range(500)]


def test_no_line_is_lost_when_the_end_races_with_writers(make_log):
    """Whatever the moment of the end, delivered and spooled lines together are all lines."""
    for _ in range(20):
        log = make_log(host := Sink(), spool := Sink(), capacity=8)
        start = threading.Barrier(3)

        def write(name, log=log, start=start):
            start.wait()
            for number in range(50):
                log.write(LogLevel.ERROR, f"{name}{number}")

        writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
        for writer in writers:
            writer.start()

        start.wait()
        log.end()
        for writer in writers:
            writer.join()

        expected = sorted(f"{name}{number}" for name in "ab" for number in range(50))
        assert sorted(host.texts + spool.texts) == expected
        assert log.delivered + log.left == 100
