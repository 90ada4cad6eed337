"""Which runs are timed, and that it never shows in what a model gives."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import numpy as np
import pytest

from aclasync.backends.embedded import timing
from aclasync.backends.embedded.ort import open_session
from aclasync.backends.embedded.timing import WINDOW, Budget, TimedSession, read_runs
from aclasync.profiling.options import Options
from aclasync.profiling.recorder import Recorder

from .conftest import DIGITS


@pytest.fixture
def recorder(tmp_path):
    made = Recorder(Options(output=str(tmp_path)), work_path=None, product="ATLAS_A2")
    yield made
    made.stop()


@pytest.fixture
def open_timed(recorder):
    def open_one(model=DIGITS):
        def watch(open_engine, can_reopen):
            return TimedSession(
                open_engine, recorder.device(0), model="digits", can_reopen=can_reopen
            )

        return open_session(model, watch=watch)

    return open_one


def lines(recorder):
    return {line.operator.name: line for line in recorder.device(0).totals.lines(0)}


def test_budget_waits_until_timing_was_cheap_enough():
    """Costs are what timed runs took beyond plain ones, and what opening and reading took."""
    budget = Budget(timed_runs=10, timed_ns=3000)
    assert not budget.allows_window
    budget.plain_runs, budget.plain_ns = WINDOW, WINDOW * 100
    assert not budget.allows_window  # 2000 of 9400
    budget.plain_runs, budget.plain_ns = 1000, 100_000
    assert budget.allows_window  # 2000 of 103000
    budget.spent_ns = 2000
    assert not budget.allows_window


def test_no_more_runs_than_a_window_are_all_timed(open_timed, recorder, images):
    """Then counts are exact, and so are times."""
    session = open_timed()
    for _ in range(WINDOW):
        session.run(None, images)

    session.finish()
    assert {(line.count, line.timed) for line in lines(recorder).values()} == {(WINDOW, WINDOW)}


@pytest.mark.parametrize(
    ("share", "runs", "timed"),
    [
        (0.0, WINDOW + 1, WINDOW),
        (0.0, 10 * WINDOW, WINDOW),
        # The first run of a session that was opened for a window is left out.
        (math.inf, 3 * WINDOW, 2 * WINDOW - 1),
        (math.inf, 5 * WINDOW + 7, 3 * WINDOW - 2),
    ],
)
def test_count_is_of_all_runs_however_few_were_timed(
    open_timed, recorder, images, monkeypatch, share, runs, timed
):
    """There is one window if timing may cost nothing; else they take turns with plain runs."""
    monkeypatch.setattr(timing, "SHARE", share)
    session = open_timed()
    for _ in range(runs):
        session.run(None, images)

    session.finish()
    for line in lines(recorder).values():
        assert (line.count, line.timed) == (runs, timed)
        assert line.total_us == pytest.approx(line.mean_us * runs, rel=1e-6)


def test_results_are_the_same_in_and_between_windows(open_timed, images, monkeypatch):
    """Whichever session of the engine it is."""
    monkeypatch.setattr(timing, "SHARE", math.inf)
    expected = open_session(DIGITS).run(None, images)[0]
    session = open_timed()
    for _ in range(4 * WINDOW):
        assert np.array_equal(session.run(None, images)[0], expected)


def test_model_that_changed_on_disk_is_not_taken_up_again(
    open_timed, images, tmp_path, monkeypatch
):
    """The one that was loaded runs on."""
    monkeypatch.setattr(timing, "SHARE", math.inf)
    path = tmp_path / "model.onnx"
    path.write_bytes(DIGITS.read_bytes())
    session = open_timed(path)
    path.write_bytes(b"something else")
    expected = open_session(DIGITS).run(None, images)[0]
    for _ in range(4 * WINDOW):
        assert np.array_equal(session.run(None, images)[0], expected)


def test_failed_run_is_not_counted(open_timed, recorder, images):
    """It raises what it would raise without profiling."""
    session = open_timed()
    session.run(None, images)
    with pytest.raises(Exception, match="image"):
        session.run(None, {})

    session.run(None, images)
    session.finish()
    assert {(line.count, line.timed) for line in lines(recorder).values()} == {(2, 2)}


def test_threads_may_run_it_at_once(open_timed, recorder, images, monkeypatch):
    """Every run counts, none fails, and no window ends under a run."""
    monkeypatch.setattr(timing, "SHARE", math.inf)
    session = open_timed()
    expected = session.run(None, images)[0]
    wrong = []

    def work():
        try:
            for _ in range(200):
                assert np.array_equal(session.run(None, images)[0], expected)
        except Exception as exc:
            wrong.append(exc)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    session.finish()
    assert not wrong
    assert {line.count for line in lines(recorder).values()} == {801}


def test_engine_s_files_are_removed(open_timed, recorder, images):
    """They are raw material."""
    session = open_timed()
    session.run(None, images)
    session.finish()
    session.finish()
    assert list((recorder.device(0).folder / "data").glob("engine_*")) == []


def test_times_that_can_not_be_read_are_lost_with_a_warning(open_timed, recorder, images, caplog):
    """The runs were fine."""
    session = open_timed()
    session.run(None, images)
    (recorder.device(0).folder / "data").rename(recorder.folder / "moved")
    session.run(None, images)
    session.finish()
    assert "lost the times of digits" in caplog.text
    assert lines(recorder) == {}
    (recorder.folder / "moved").rename(recorder.device(0).folder / "data")


def test_only_whole_runs_are_read(tmp_path):
    """What the engine writes of one that failed is left out; threads are told apart."""

    def event(name, tid, **args):
        return {"cat": "Node" if args else "Session", "name": name, "tid": tid, "ts": 1, "dur": 2,
                "args": args}  # fmt: skip

    node = {"op_name": "Add", "input_type_shape": [{"float": [2, 3]}, {"int64": []}]}
    path = tmp_path / "engine.json"
    path.write_text(
        json.dumps(
            [
                event("a_kernel_time", 1, **node),
                event("b_kernel_time", 2, **node),
                event("model_run", 1),
                event("a_kernel_time", 1, **node),
            ]
        )
    )
    ((only,),) = read_runs(Path(path), 1000)
    assert (only.name, only.op_type, only.thread_id) == ("a", "Add", 1)
    assert (only.begin_ns, only.duration_ns) == (2000, 2000)
    assert only.inputs == "float[2,3];int64[]"
