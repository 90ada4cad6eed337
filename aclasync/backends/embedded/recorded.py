"""A model whose calls a profiling session records."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from aclasync.backends.base import TensorSpec
    from aclasync.profiling.recorder import Recorder

    from .engine import OnnxModel

_clock = time.perf_counter_ns


@final
class RecordedModel:
    """Stands before a model; only there while profiling is on."""

    def __init__(self, model: OnnxModel, recorder: Recorder) -> None:
        self._model = model
        self._record = recorder.call("ascendcl", "aclmdlExecute")
        self._record_unload = recorder.call("ascendcl", "aclmdlUnload")

    @property
    def path(self) -> Path:
        """The file it came from."""
        return self._model.path

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What `execute` wants, in the model's order."""
        return self._model.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What `execute` returns, in the model's order."""
        return self._model.outputs

    def execute(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run once; see `OnnxModel.execute`."""
        began = _clock()
        try:
            return self._model.execute(inputs)
        finally:
            self._record(began)

    def close(self) -> None:
        """Unload; a second call does nothing."""
        began = _clock()
        self._model.close()
        self._record_unload(began)
