"""All that a configuration has dumped on the embedded device, from init to finalize.

Decides what looks at a model's runs, and tells at the end what came of every rule. Needs numpy;
onnx is imported when a model is loaded.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from attrs import frozen

from aclasync.config.dump_path import judge_dump_path
from aclasync.dump import records
from aclasync.dump.exceptions import ExceptionDump, start_exception_dump
from aclasync.dump.format import Operator, tensors_of
from aclasync.dump.names import time_digits
from aclasync.dump.plan import (
    STEP_RULE,
    Plan,
    Rule,
    is_step_chosen,
    plan_all,
    plan_dump,
    rules_of,
)
from aclasync.dump.writer import DumpWriter, WriterTally
from aclasync.errors import AclCode, BackendError, DeviceError

if TYPE_CHECKING:
    from aclasync.config import DumpSettings, Environment

    from .graph import Graph
    from .inspection import Exposure, Values
    from .ort import Open, Session

_logger = logging.getLogger("aclasync.dump")

# Numbers of models are given once in a process, as the driver gives them.
_model_ids = itertools.count(1)

# Rules without effect that are named one by one.
_MOST_NAMED = 20


@final
@frozen
class RuleCount:
    """What a rule of the configuration matched."""

    rule: Rule
    matched: int


@final
@frozen
class DumpReport:
    """What came of a dump."""

    #: Where it is; None if nothing was to be dumped.
    folder: Path | None
    files: int
    #: Bytes of the files.
    size: int
    #: Files that could not be written.
    lost: int
    rules: tuple[RuleCount, ...]
    #: Values that no dump can hold, by what they are.
    skipped: Mapping[str, int]


@final
class DataDump:
    """A model, single-operator, overflow or watcher dump that is switched on."""

    def __init__(self, settings: DumpSettings, began: datetime) -> None:
        assert settings.path is not None
        self._settings = settings
        stats = settings.stats if settings.data == "stats" else None
        self._writer = DumpWriter(_base_folder(settings.path), time_digits(began), stats=stats)
        self._rules = rules_of(settings)
        self._lock = threading.Lock()
        self._matches: Counter[str] = Counter()
        self._hints: dict[str, str] = {}
        self._exposures: list[Exposure] = []
        self._single_ops = itertools.count()
        self._is_closed = False

    @property
    def settings(self) -> DumpSettings:
        """What was configured."""
        return self._settings

    @property
    def writer(self) -> DumpWriter:
        """What the files are written with; below the number of a device."""
        return self._writer

    def count(self, path: str, matched: int = 1) -> None:
        """Note that the rule at `path` in the configuration matched."""
        with self._lock:
            self._matches[path] += matched

    def inspect(self, device_id: int, path: Path, session: Session, open_session: Open) -> Session:
        """Return a session that dumps its runs, or the one given if nothing of the model is."""
        if not (self._settings.targets or self._settings.is_overflow):
            return session

        try:
            return self._inspected(device_id, path, session, open_session)
        except Exception as exc:
            if not isinstance(exc, (DeviceError, OSError, ValueError)):
                raise

            _logger.warning("%s runs, but can't be dumped: %s", path, exc)
            return session

    def _inspected(
        self, device_id: int, path: Path, session: Session, open_session: Open
    ) -> Session:
        from .graph import Graph  # noqa: PLC0415 (imports onnx, and few models are dumped)
        from .inspection import Exposure, InspectedSession  # noqa: PLC0415 (as above)

        graph = Graph(path)
        plan = self._plan(path.stem, graph)
        if not (plan.choices or plan.watches):
            return session

        folders = (str(device_id), path.stem, str(next(_model_ids)))
        dump = ModelDump(self, plan, graph, folders)

        def open_plain(content: bytes) -> Session:
            return open_session(content, name=str(path), folder=path.parent, optimised=False)

        exposure = Exposure(graph, dump.tensors, open_plain)
        with self._lock:
            self._exposures.append(exposure)

        return InspectedSession(session, exposure, dump, is_repeatable=graph.is_repeatable)

    def observe_op(
        self, device_id: int, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        """Write an operator that was executed alone, if such are dumped or it has overflowed."""
        settings = self._settings
        if not (settings.is_single_op or settings.is_overflow):
            return

        given = tensors_of(inputs)
        made = tensors_of(outputs)
        if settings.is_overflow:
            if not records.overflows([tensor.array for tensor in given], outputs):
                return
        else:
            given = given if settings.mode in ("input", "all") else []
            made = made if settings.mode in ("output", "all") else []

        number = next(self._single_ops)
        operator = Operator(
            op_type=op_type, name=op_type, task_id=number, inputs=given, outputs=made
        )
        self._writer.write(operator, str(device_id))

    def _plan(self, name: str, graph: Graph) -> Plan:
        if self._settings.is_overflow:
            return plan_all(graph.operators)

        plan = plan_dump(self._settings, {name, graph.name}, graph.operators)
        with self._lock:
            self._matches.update(plan.matches)
            self._hints.update(graph.inner_operators)

        return plan

    def report(self) -> DumpReport:
        """Return what came of it so far."""
        skipped: Counter[str] = Counter()
        with self._lock:
            for exposure in self._exposures:
                skipped.update(exposure.skipped)

            counts = tuple(RuleCount(rule, self._matches[rule.path]) for rule in self._rules)

        tally: WriterTally = self._writer.tally
        return DumpReport(
            self._writer.root, tally.files, tally.size, tally.lost, counts, dict(skipped)
        )

    def close(self) -> DumpReport:
        """Say in the log what came of it, once; a rule that matched nothing is a warning."""
        report = self.report()
        if not self._is_closed:
            self._is_closed = True
            self._tell(report)

        return report

    def _tell(self, report: DumpReport) -> None:
        _logger.info("dumped %d files, %d bytes, in %s", report.files, report.size, report.folder)
        for count in report.rules:
            _logger.info(
                "%s (%s) matched %d %s",
                *(count.rule.path, count.rule.says, count.matched, count.rule.unit),
            )

        idle = [count.rule for count in report.rules if not count.matched]
        for rule in idle[:_MOST_NAMED]:
            outer = self._hints.get(rule.says)
            hint = f"; it is inside of {outer}, which is dumped as one" if outer else ""
            _logger.warning("%s (%s) matched no %s%s", rule.path, rule.says, rule.unit, hint)

        if len(idle) > _MOST_NAMED:
            _logger.warning("%d more rules of the dump matched nothing", len(idle) - _MOST_NAMED)

        for kind, number in report.skipped.items():
            _logger.warning("not dumped, for a dump can't hold them: %d %s", number, kind)

        if report.lost:
            _logger.warning("%d files of the dump could not be written", report.lost)


def start_dumps(
    settings: DumpSettings | None, environment: Environment
) -> tuple[DataDump | None, ExceptionDump | None]:
    """Return the data dump and the exception dump that are switched on.

    Raises:
      BackendError: the folder can't be made that a remote dump_path stands for (500000).
    """
    exceptions = start_exception_dump(settings, environment, Path.cwd())
    if settings is None or not settings.is_data_dump:
        return None, exceptions

    try:
        return DataDump(settings, datetime.now().astimezone()), exceptions
    except OSError as exc:
        detail = f"dump_path {settings.path}: {exc.filename}: {exc.strerror or exc}"
        raise BackendError(AclCode.INTERNAL_ERROR, "aclInit", detail) from exc


@final
class ModelDump:
    """Writes what is chosen of a loaded model's runs."""

    def __init__(self, dump: DataDump, plan: Plan, graph: Graph, folders: tuple[str, ...]) -> None:
        self._dump = dump
        self._plan = plan
        self._operators = graph.operators
        self._folders = folders
        self._records = records.overflowing if dump.settings.is_overflow else records.chosen

    @property
    def tensors(self) -> Iterable[str]:
        """The names of all tensors that it looks at."""
        for choice in self._plan.choices:
            operator = self._operators[choice.operator]
            yield from (operator.inputs[at] for at in choice.inputs)
            yield from (operator.outputs[at] for at in choice.outputs)

        for watch in self._plan.watches:
            yield from self._operators[watch.watched].outputs

    def wants(self, step: int) -> bool:
        """Whether that run is dumped."""
        settings = self._dump.settings
        is_wanted = is_step_chosen(settings, step)
        if is_wanted and settings.steps is not None:
            self._dump.count(STEP_RULE)

        return is_wanted

    def observe(self, step: int, values: Values) -> None:
        """Write what is chosen of a run."""
        for operator in self._records(self._plan, self._operators, values):
            self._dump.writer.write(operator, *self._folders, str(step))


def _base_folder(path: str) -> Path:
    """Return where a dump_path is, as it is now; one of the remote form is made below here."""
    here = Path.cwd()
    if judge_dump_path(path).local_folder is not None:
        return here / path

    inside = os.path.normpath("/" + path.partition(":")[2]).lstrip("/")
    folder = here / inside
    folder.mkdir(0o700, parents=True, exist_ok=True)
    return folder
