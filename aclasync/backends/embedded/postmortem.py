"""After a failed run: which operator it was, and where what it had is written."""

from __future__ import annotations

import logging
import os
import platform
import threading
import traceback
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, final

from aclasync.dump.exceptions import ExceptionDump, Failure
from aclasync.errors import AclCode, OperatorError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .ort import Open, Session

_logger = logging.getLogger("aclasync.dump")
_EXECUTE = "aclmdlExecute"


@final
class Postmortem:
    """Looks into the failed runs of one model; only there while an exception dump is on."""

    def __init__(self, dump: ExceptionDump, device_id: int, path: Path, open_session: Open) -> None:
        self._dump = dump
        self._device_id = device_id
        self._path = path
        self._open_session = open_session

    def explain(self, feed: Mapping[str, Any], error: Exception) -> OperatorError | None:
        """Return the error that names the operator and the file; None if none can be found.

        Runs the model again, operator by operator, on the calling thread.
        """
        from .failing import find_failing  # noqa: PLC0415 (imports onnx, and few runs fail)
        from .graph import Graph  # noqa: PLC0415 (as above)

        try:
            failing = find_failing(Graph(self._path), feed, self._open_plain)
        except Exception as exc:  # noqa: BLE001 (the engine's exceptions share no narrower class)
            _logger.warning("%s failed, and what failed in it can't be found: %s", self._path, exc)
            return None

        if failing is None:
            _logger.warning(
                "%s failed, but none of its operators does when they run one by one", self._path
            )
            return None

        operator, said = failing.operator, str(failing.error).strip()
        failure = Failure(
            operator=operator,
            log=f"operator {operator.name} ({operator.op_type}) failed: {said}",
            traceback="".join(traceback.format_exception(error)),
            model=failing.model,
            state=engine_state() | {"model": str(self._path), "device": str(self._device_id)},
        )
        file = self._dump.write(failure, self._device_id)
        where = f"what it had is in {file}" if file else "nothing of it could be dumped"
        return OperatorError(
            AclCode.FAILURE,
            _EXECUTE,
            f"the model {self._path} failed in the operator {operator.name} "
            f"({operator.op_type}): {said}; {where}",
            operator=operator.name,
            op_type=operator.op_type,
            dump_file=str(file) if file else None,
        )

    def _open_plain(self, content: bytes) -> Session:
        return self._open_session(
            content, name=str(self._path), folder=self._path.parent, optimised=False
        )


def engine_state() -> dict[str, str]:
    """Return what ran, and where, as a detail dump tells it."""
    return {
        "engine": f"onnxruntime {version('onnxruntime')} on the CPU, one thread",
        "python": platform.python_version(),
        "machine": platform.platform(),
        "process": str(os.getpid()),
        "thread": threading.current_thread().name,
    }
