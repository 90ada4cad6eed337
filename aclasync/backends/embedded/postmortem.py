"""After a failed run: which operator it was, and where what it had is written."""

from __future__ import annotations

import logging
import os
import platform
import reprlib
import threading
import traceback
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from aclasync.dump.exceptions import ExceptionDump, Failure
from aclasync.dump.format import Operator, tensors_of
from aclasync.errors import AclCode, AclError, DeviceError, OperatorError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from .ort import Open, Session

_logger = logging.getLogger("aclasync.dump")
_EXECUTE = "aclmdlExecute"


@final
class Postmortem:
    """Names the operators that fail on one device; only there while an exception dump is on."""

    def __init__(self, dump: ExceptionDump, device_id: int) -> None:
        self._dump = dump
        self._device_id = device_id

    def explain_call(
        self,
        error: AclError,
        *,
        op_type: str,
        name: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        model: bytes = b"",
    ) -> OperatorError:
        """Return the error that names the operator, which was called with `inputs`, and the file.

        `model` is the operator alone, serialised, if it is one of the engine's.
        """
        operator = Operator(
            op_type=op_type,
            name=name,
            inputs=tensors_of(inputs),
            attributes={key: _text(value) for key, value in attributes.items()},
        )
        return self.report(operator, error, error, said=error.detail, model=model)

    def report(
        self,
        operator: Operator,
        raised: AclError,
        cause: Exception,
        *,
        said: str,
        model: bytes,
        state: Mapping[str, str] = MappingProxyType({}),
    ) -> OperatorError:
        """Write what an operator had; return `raised` as an error with its name and the file's."""
        failure = Failure(
            operator=operator,
            log=f"operator {operator.name} ({operator.op_type}) failed: {said}",
            traceback="".join(traceback.format_exception(cause)),
            model=model,
            state={**engine_state(), **state, "device": str(self._device_id)},
        )
        file = self._dump.write(failure, self._device_id)
        where = f"what it had is in {file}" if file else "nothing of it could be dumped"
        return OperatorError(
            raised.code,
            raised.function,
            f"{raised.detail}; {where}",
            operator=operator.name,
            op_type=operator.op_type,
            dump_file=str(file) if file else None,
        )


@final
class ModelPostmortem:
    """Looks into the failed runs of one model."""

    def __init__(self, postmortem: Postmortem, path: Path, open_session: Open) -> None:
        self._postmortem = postmortem
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

        if isinstance(failing.error, OperatorError):  # one in Python, which said it itself
            return failing.error

        operator, said = failing.operator, str(failing.error).strip()
        detail = (
            f"the model {self._path} failed in the operator {operator.name} ({operator.op_type}): "
            f"{said}"
        )
        raised = DeviceError(AclCode.FAILURE, _EXECUTE, detail)
        return self._postmortem.report(
            operator,
            raised,
            error,
            said=said,
            model=failing.model,
            state={"model": str(self._path)},
        )

    def _open_plain(self, content: bytes) -> Session:
        return self._open_session(
            content, name=str(self._path), folder=self._path.parent, optimised=False
        )


def _text(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"tensor {list(value.shape)} of {value.dtype}"

    return value if isinstance(value, str) else reprlib.repr(value)


def engine_state() -> dict[str, str]:
    """Return what ran, and where, as a detail dump tells it."""
    return {
        "engine": f"onnxruntime {version('onnxruntime')} on the CPU, one thread",
        "python": platform.python_version(),
        "machine": platform.platform(),
        "process": str(os.getpid()),
        "thread": threading.current_thread().name,
    }
