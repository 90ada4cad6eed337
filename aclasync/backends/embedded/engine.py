"""Models on the CPU, run by ONNX Runtime."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any, TypeAlias, final

from aclasync.backends.base import TensorSpec
from aclasync.errors import AclCode, AclError, DeviceError

from .ort import open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .ort import Argument, Session

_LOAD = "aclmdlLoadFromFile"
_EXECUTE = "aclmdlExecute"

#: Given what a failed run was fed and what it raised, returns a better error if there is one.
Explain: TypeAlias = "Callable[[Mapping[str, Any], Exception], DeviceError | None]"


def load_model(
    path: Path,
    *,
    require: Callable[[str], None],
    closed: Callable[[OnnxModel], None],
    opener: Callable[[Path], Session] = open_session,
    explain: Explain | None = None,
) -> OnnxModel:
    """Load a file; `require` is asked before every run, `closed` is told of the unloading.

    `opener` is what the engine is opened with; `explain` is asked what failed in a failed run.

    Raises:
      BackendUnavailableError: ONNX Runtime is not installed.
      DeviceError: there is no such file (100003) or it is no model (100013).
    """
    _require_readable(path)

    session = opener(path)
    return OnnxModel(path, session, require=require, closed=closed, explain=explain)


def _require_readable(path: Path) -> None:
    """Refuse what is no file that can be read, before an engine puts it in its own words.

    Raises:
      DeviceError: it is not (100003).
    """
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
        if is_file:
            path.open("rb").close()
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        why = (exc.strerror if isinstance(exc, OSError) else None) or exc
        detail = f"can't read the model {path}: {why}"
        raise DeviceError(AclCode.INVALID_FILE, _LOAD, detail) from exc

    if not is_file:
        detail = f"can't read the model {path}: not a regular file"
        raise DeviceError(AclCode.INVALID_FILE, _LOAD, detail)


@final
class OnnxModel:
    """A loaded ONNX model."""

    def __init__(
        self,
        path: Path,
        session: Session,
        *,
        require: Callable[[str], None],
        closed: Callable[[OnnxModel], None],
        explain: Explain | None = None,
    ) -> None:
        self._path = path
        self._session: Session | None = session
        self._require = require
        self._closed = closed
        self._explain = explain
        self._inputs = tuple(map(_tensor_spec, session.get_inputs()))
        self._outputs = tuple(map(_tensor_spec, session.get_outputs()))

    @property
    def path(self) -> Path:
        """The file it came from."""
        return self._path

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What `execute` wants, in the model's order."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What `execute` returns, in the model's order."""
        return self._outputs

    def execute(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run once and return every output by name; see `tensors` for what an input may be.

        Raises:
          NoContextError: the calling thread has no context of this device (107002).
          DeviceError: an input is missing, unknown, of another type or shape (100017), the run
            failed (500001), or the model was unloaded (100011).
        """
        from .tensors import fit_inputs  # noqa: PLC0415 (imports numpy)

        self._require(_EXECUTE)
        session = self._session
        if session is None:
            detail = f"the model {self._path} was unloaded"
            raise DeviceError(AclCode.INVALID_MODEL_ID, _EXECUTE, detail)

        feed = fit_inputs(self._inputs, inputs, model=self._path.name)
        try:
            values = session.run(None, feed)
        except AclError:  # an operator in Python has said it
            raise
        except Exception as exc:  # its exceptions share no narrower class
            error = self._explain(feed, exc) if self._explain is not None else None
            if error is not None:
                raise error from exc

            detail = f"the model {self._path} failed: {exc}"
            raise DeviceError(AclCode.FAILURE, _EXECUTE, detail) from exc

        return dict(zip((spec.name for spec in self._outputs), values, strict=True))

    def close(self) -> None:
        """Unload; a second call does nothing."""
        if self._session is not None:
            self._session = None
            self._closed(self)


# What ONNX Runtime calls an element type, where numpy has another name for it.
_DTYPES = {"float": "float32", "double": "float64", "string": "str"}


def _tensor_spec(argument: Argument) -> TensorSpec:
    """Return what ONNX Runtime says of an input or output; no tensor keeps its type's full text."""
    text = argument.type
    if text.startswith("tensor("):
        text = text.removeprefix("tensor(").removesuffix(")")
        text = _DTYPES.get(text, text)

    return TensorSpec(argument.name, text, tuple(argument.shape or ()))
