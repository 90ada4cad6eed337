"""Times of a model's operators, taken by the engine in some of its runs.

The engine's own timing triples the cost of a small model's run. So it is on for a window of runs,
then off until all that timing has cost is a small share of the time that the model ran. A program
that does no more than a window's runs has every one timed.

An engine's session can stop timing but not begin again: a new one takes its place then.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

from attrs import define

from aclasync.errors import AclError
from aclasync.profiling.folder import DATA
from aclasync.profiling.records import Name
from aclasync.profiling.totals import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from aclasync.profiling.recorder import DeviceRecorder

    from .ort import Argument, OpenEngine

_logger = logging.getLogger("aclasync.profiling")
_clock = time.perf_counter_ns
_numbers = itertools.count()

#: Runs that are timed together.
WINDOW = 64
#: The most that timing may cost, as a share of the time that a model ran.
SHARE = 0.03

_KERNEL = "_kernel_time"
_RUN = "model_run"


@final
@define
class Budget:
    """Decides when runs are timed."""

    timed_runs: int = 0
    timed_ns: int = 0
    plain_runs: int = 0
    plain_ns: int = 0
    #: What opening sessions, writing and reading times has cost.
    spent_ns: int = 0

    @property
    def allows_window(self) -> bool:
        """Whether timing has cost little enough to go on with it."""
        if self.plain_runs < WINDOW:
            return False

        usual_ns = self.timed_runs * self.plain_ns / self.plain_runs
        cost_ns = self.spent_ns + max(self.timed_ns - usual_ns, 0.0)
        return cost_ns <= SHARE * (self.plain_ns + self.timed_ns)


@final
class TimedSession:
    """A session of the engine that times its operators now and then."""

    def __init__(
        self, open_engine: OpenEngine, recorder: DeviceRecorder, *, model: str, can_reopen: bool
    ) -> None:
        self._open = open_engine
        self._recorder = recorder
        self._model = model
        self._can_reopen = can_reopen
        self._number = recorder.number_of(Name(model, "model"))
        self._lock = threading.Lock()
        self._budget = Budget()
        self._tallies: dict[Name, Tally] = {}
        #: Runs that the tallies are of.
        self._counted = 0
        self._is_first_window = True
        self._plain_ns = 0
        # The next number is taken in one step, whatever the threads do.
        self._plain_runs = itertools.count(1)
        # While a window is open: how many of its runs are left, and how many are under way.
        self._left = WINDOW
        self._running = 0
        self._is_timing = True
        self._has_ended = False
        self._session = open_engine(self._prefix)
        recorder.until_stop(self.finish)

    def get_inputs(self) -> Sequence[Argument]:
        """What `run` wants, in the model's order."""
        return self._session.get_inputs()

    def get_outputs(self) -> Sequence[Argument]:
        """What `run` returns, in the model's order."""
        return self._session.get_outputs()

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Run once, on any thread, and note how long it took."""
        if self._is_timing:
            return self._run_timed(output_names, input_feed)

        began = _clock()
        values = self._session.run(output_names, input_feed)
        took = _clock() - began
        self._recorder.run(self._number, began, took)
        self._plain_ns += took  # may miss one now and then; nothing but the budget needs it
        runs = next(self._plain_runs)
        if not runs % WINDOW and self._can_reopen:
            self._consider_window(runs)

        return values

    def _run_timed(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]
    ) -> list[Any]:
        with self._lock:
            session = self._session
            self._running += 1

        began = _clock()
        try:
            values = session.run(output_names, input_feed)
        except BaseException:
            with self._lock:
                self._running -= 1

            raise

        took = _clock() - began
        self._recorder.run(self._number, began, took)
        with self._lock:
            self._running -= 1
            self._left -= 1
            self._budget.timed_runs += 1
            self._budget.timed_ns += took
            # The engine must not stop timing while it runs on another thread.
            if self._left <= 0 and not self._running and self._is_timing:
                self._end_window()

        return values

    def _consider_window(self, plain_runs: int) -> None:
        with self._lock:
            budget = self._budget
            budget.plain_runs, budget.plain_ns = plain_runs, self._plain_ns
            if self._is_timing or self._has_ended or not budget.allows_window:
                return

            began = _clock()
            try:
                self._session = self._open(self._prefix)
            except AclError as exc:
                self._can_reopen = False
                _logger.warning("profiling: no more times for %s: %s", self._model, exc)
                return

            self._left = WINDOW
            self._is_timing = True
            budget.spent_ns += _clock() - began

    def _end_window(self) -> None:
        began = _clock()
        self._is_timing = False
        self._collect()
        self._budget.spent_ns += _clock() - began

    def finish(self) -> None:
        """Hand over what was counted; later runs are not timed."""
        with self._lock:
            if self._has_ended:
                return

            self._has_ended = True
            if self._is_timing:
                self._end_window()

        self._recorder.forget(self.finish)
        if self._counted:
            runs = self._budget.timed_runs + next(self._plain_runs) - 1
            self._recorder.add_sample(self._tallies, runs=runs, timed_runs=self._counted)

    @property
    def _prefix(self) -> str:
        return str(self._recorder.folder / DATA / f"engine_{next(_numbers)}")

    def _collect(self) -> None:
        """Take over what the engine has timed."""
        path = ""
        try:
            epoch_ns = self._session.get_profiling_start_time_ns()  # type: ignore[attr-defined]
            path = self._session.end_profiling()  # type: ignore[attr-defined]  # an engine's own
            runs = list(read_runs(Path(path), epoch_ns))
        except Exception as exc:  # noqa: BLE001  # the engine's, or a full disk's: the run was fine
            _logger.warning("profiling: lost the times of %s: %s", self._model, exc)
            return
        finally:
            if path:
                Path(path).unlink(missing_ok=True)

        # The first run of a session that took another's place pays for its memory.
        for run in runs if self._is_first_window else runs[1:]:
            self._counted += 1
            for node in run:
                name = Name(node.name, node.op_type, self._model)
                if self._recorder.wants(node.op_type):
                    self._take(name, node)

        self._is_first_window = False

    def _take(self, name: Name, node: NodeTime) -> None:
        tally = self._tallies.setdefault(name, Tally())
        tally.add(node.duration_ns)
        options = self._recorder.options
        if options.has_shapes:
            tally.inputs, tally.outputs = node.inputs, node.outputs

        if options.has_memory:
            tally.memory = node.memory

        self._recorder.note(name, node.begin_ns, node.duration_ns, node.thread_id)


class NodeTime(NamedTuple):
    """One run of one node."""

    name: str
    op_type: str
    #: Since the epoch.
    begin_ns: int
    #: In whole microseconds, as the engine takes it.
    duration_ns: int
    thread_id: int
    inputs: str
    outputs: str
    #: Bytes of outputs, of inputs that are results, and of weights.
    memory: tuple[int, int, int]


def read_runs(path: Path, epoch_ns: int) -> Iterator[list[NodeTime]]:
    """Yield the nodes of every whole run in a file of the engine's, begun at that time.

    Raises:
      OSError: it can't be read.
      ValueError: it is no such file.
    """
    running: dict[int, list[NodeTime]] = {}
    for event in json.loads(path.read_bytes()):
        name, thread_id = event["name"], event["tid"]
        if name == _RUN:
            yield running.pop(thread_id, [])
        elif event["cat"] == "Node" and name.endswith(_KERNEL):
            args = event["args"]
            node = NodeTime(
                name.removesuffix(_KERNEL),
                args["op_name"],
                epoch_ns + event["ts"] * 1000,
                event["dur"] * 1000,
                thread_id,
                _shapes(args.get("input_type_shape", ())),
                _shapes(args.get("output_type_shape", ())),
                (
                    int(args.get("output_size", 0)),
                    int(args.get("activation_size", 0)),
                    int(args.get("parameter_size", 0)),
                ),
            )
            running.setdefault(thread_id, []).append(node)


def _shapes(tensors: Iterable[Mapping[str, Sequence[int]]]) -> str:
    """Return the engine's types and shapes as a cell of a table: `float[32,64];float[64]`."""
    return ";".join(
        f"{kind}[{','.join(map(str, shape))}]"
        for tensor in tensors
        for kind, shape in tensor.items()
    )
