"""Opening models with ONNX Runtime, which is imported when the first one is opened.

Decides how a session is set up, and which models have to be run in pieces because operators of
theirs are written in Python. Knows nothing of devices, dumps or what a run is for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from aclasync.errors import AclCode, BackendUnavailableError, DeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from .kernels import Kernels

#: Given a name's beginning, opens a session of the engine that times its nodes into such a file.
OpenEngine = Callable[[str | None], "Session"]
#: Opens an engine's session and decides what stands before it; told whether it can do so again
#: later, when the files may have changed.
Watch = Callable[[OpenEngine, bool], "Session"]

_LOAD = "aclmdlLoadFromFile"
# Of models that are watched, the content is kept if it is no larger.
_MOST_KEPT_BYTES = 32 * 1024 * 1024
_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


class Argument(Protocol):
    """An input or output, as ONNX Runtime describes it."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def type(self) -> str:
        """Its type, such as `tensor(float)`."""
        ...

    @property
    def shape(self) -> Sequence[int | str | None] | None:
        """Its dimensions, the dynamic ones as names or None; empty also if nothing is known."""
        ...


class Session(Protocol):
    """A model that can be run; an `InferenceSession` is one."""

    def get_inputs(self) -> Sequence[Argument]:
        """What `run` wants, in the model's order."""
        ...

    def get_outputs(self) -> Sequence[Argument]:
        """What `run` returns, in the model's order."""
        ...

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Run once; return the outputs named, all of them for None.

        Raises:
          Exception: the run failed; the engine's exceptions share no narrower class.
        """
        ...


class Open(Protocol):
    """Opens a model."""

    def __call__(
        self,
        model: Path | bytes,
        *,
        name: str = ...,
        folder: Path | None = ...,
        optimised: bool = ...,
    ) -> Session:
        """Open a file or a serialised model; see `open_session`."""
        ...


def open_session(
    model: Path | bytes,
    *,
    name: str = "a model",
    folder: Path | None = None,
    optimised: bool = True,
    kernels: Kernels | None = None,
    watch: Watch | None = None,
) -> Session:
    """Open a model on the calling thread, which does all the work of its runs.

    Args:
      model: a file, or a serialised model.
      name: what messages call a serialised model.
      folder: where a serialised model's external weights lie.
      optimised: False keeps every node and every name as the model has them.
      kernels: operators in Python; a model that uses one runs in pieces around them.
      watch: gets an opener for every session of the engine, which takes the beginning of the
        name of a file for the time of every node (None for none), and returns what is used.

    Raises:
      BackendUnavailableError: ONNX Runtime is not installed.
      DeviceError: it is no usable model (100013).
    """
    if not isinstance(model, bytes):
        name, folder = str(model), model.parent

    if kernels:
        from .segments import split_model  # noqa: PLC0415 (imports onnx, and few models need it)

        def open_piece(piece: bytes) -> Session:
            return open_session(piece, name=name, folder=folder, optimised=optimised, watch=watch)

        in_pieces = split_model(model, kernels, open_piece=open_piece, name=name)
        if in_pieces is not None:
            return in_pieces

    def open_engine(times_prefix: str | None = None) -> Session:
        return _open_engine(model, name, folder, optimised=optimised, times_prefix=times_prefix)

    if watch is None:
        return open_engine()

    from .segments import has_weights_elsewhere  # noqa: PLC0415 (as above)

    if not isinstance(model, bytes) and model.stat().st_size <= _MOST_KEPT_BYTES:
        content = model.read_bytes()
        if not has_weights_elsewhere(content):
            model = content

    return watch(open_engine, isinstance(model, bytes) and not has_weights_elsewhere(model))


def _open_engine(
    model: Path | bytes,
    name: str,
    folder: Path | None,
    *,
    optimised: bool,
    times_prefix: str | None,
) -> Session:
    runtime = import_engine(_LOAD)
    options = runtime.SessionOptions()
    # The caller's thread does all the work: a device has one thread, and none is left behind.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised; nothing but that on stderr
    if not optimised:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL

    if times_prefix is not None:
        options.enable_profiling = True
        options.profile_file_prefix = times_prefix

    if isinstance(model, bytes) and folder is not None:
        options.add_session_config_entry(_EXTERNAL_FOLDER, os.fspath(folder))

    source = model if isinstance(model, bytes) else os.fspath(model)
    try:
        session: Session = runtime.InferenceSession(
            source, options, providers=["CPUExecutionProvider"]
        )
    except Exception as exc:  # its exceptions share no narrower class
        raise DeviceError(AclCode.PARSE_MODEL, _LOAD, f"{name} is no usable model: {exc}") from exc

    return session


def import_engine(function: str) -> Any:
    """Import ONNX Runtime on behalf of `function`.

    Raises:
      BackendUnavailableError: it is not installed.
    """
    try:
        # It has no types, is optional, and slow to import.
        import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError as exc:
        detail = 'models need ONNX Runtime: pip install "aclasync[embedded]"'
        raise BackendUnavailableError(function, detail, [("onnxruntime", str(exc))]) from exc

    return onnxruntime
