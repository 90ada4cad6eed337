"""A handle of the embedded device: its context, its log and the models loaded through it."""

from __future__ import annotations

import time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, final

from aclasync.config.features import SIMT_FIFO
from aclasync.errors import AclCode, FeatureUnsupportedError
from aclasync.profiling.records import Name

from .context import Context
from .engine import load_model
from .kernels import Kernels, PythonKernel
from .opcache import OpCache
from .ort import import_engine, open_session
from .recorded import RecordedModel
from .timing import TimedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from aclasync.backends.base import CoreKind, DeviceLimits, LogLevel, OpCacheCounts
    from aclasync.dump.exceptions import ExceptionDump
    from aclasync.product import Product
    from aclasync.profiling.recorder import Recorder

    from .context import ThreadContexts
    from .devicelog import DeviceLog
    from .dumping import DataDump
    from .engine import Explain, OnnxModel
    from .kerneloutput import KernelOutput
    from .kernels import ExplainCall
    from .operators import CompiledOp, Operators
    from .opsignature import Signature
    from .ort import OpenEngine, Session, Watch
    from .postmortem import Postmortem


@final
class EmbeddedDevice:
    """One holder's view of a device; the device itself is open while any handle is."""

    def __init__(
        self,
        device_id: int,
        limits: DeviceLimits,
        *,
        product: Product,
        contexts: ThreadContexts,
        log: DeviceLog,
        closed: Callable[[EmbeddedDevice], None],
        output: KernelOutput,
        recorder: Recorder | None = None,
        data_dump: DataDump | None = None,
        exception_dump: ExceptionDump | None = None,
    ) -> None:
        self._context = Context(device_id)
        self._limits = limits
        self._product = product
        self._contexts = contexts
        self._log = log
        self._closed = closed
        self._data_dump = data_dump
        self._exception_dump = exception_dump
        self._models: list[OnnxModel] = []
        self._kernels = Kernels()
        self._output = output
        self._cache: OpCache[Signature, CompiledOp] = OpCache(limits.op_queue_capacity)
        self._recorder = recorder
        self._times = recorder.device(device_id) if recorder else None

    @property
    def device_id(self) -> int:
        """The number it was opened by."""
        return self._context.device_id

    @property
    def limits(self) -> DeviceLimits:
        """What was in force when it was opened."""
        return self._limits

    @property
    def is_open(self) -> bool:
        """False once `close` was called."""
        return self._context.is_open

    @property
    def models(self) -> tuple[OnnxModel, ...]:
        """What is loaded through this handle."""
        return tuple(self._models)

    def bind_thread(self) -> None:
        """Make this device's context current on the calling thread.

        Raises:
          DeviceError: the handle is closed.
        """
        self._context.require_open("aclrtSetCurrentContext")
        self._contexts.bind(self._context)

    def unbind_thread(self) -> None:
        """Take the context from the calling thread; what was current before it is so again."""
        self._contexts.unbind(self._context)

    def write_log(self, level: LogLevel, text: str) -> None:
        """Put one line into the device's log; any thread may, also after `close`."""
        self._log.write(level, text)

    def load_model(self, path: Path) -> OnnxModel | RecordedModel:
        """Load an ONNX file.

        Raises:
          NoContextError: the calling thread has no context of this device (107002).
          BackendUnavailableError: ONNX Runtime is not installed.
          DeviceError: there is no such file (100003) or it is no model (100013).
        """
        self.require("aclmdlLoadFromFile")
        timed: list[TimedSession] = []

        def watch(open_engine: OpenEngine, can_reopen: bool) -> Session:  # noqa: FBT001
            assert self._times is not None
            session = TimedSession(open_engine, self._times, model=path.name, can_reopen=can_reopen)
            timed.append(session)
            return session

        def closed(model: OnnxModel) -> None:
            self._models.remove(model)
            for session in timed:
                session.finish()

        is_timed = self._times is not None and self._times.options.has_operators
        began = time.perf_counter_ns()
        model = load_model(
            path,
            require=self.require,
            closed=closed,
            opener=partial(self._open_model, watch=watch if is_timed else None),
            explain=self._explainer(path),
        )
        self._models.append(model)
        if self._recorder is None:
            return model

        self._recorder.call("ascendcl", "aclmdlLoadFromFile")(began)
        return RecordedModel(model, self._recorder)

    def add_kernel(
        self, op_type: str, function: Callable[..., Any], *, core_kind: CoreKind, cores: int
    ) -> None:
        """Take a function as an operator, in models that are loaded from now on, too.

        Raises:
          FeatureUnsupportedError: the product has no such cores (200006).
        """
        if core_kind == "simt" and self._product not in SIMT_FIFO.products:
            detail = f"{op_type}: {self._product.name} has no SIMT cores"
            raise FeatureUnsupportedError(AclCode.FEATURE_UNSUPPORTED, "kernel", detail)

        kernel = PythonKernel(
            op_type=op_type,
            function=function,
            output=self._output,
            core_kind=core_kind,
            cores=cores,
            observe=self._observe_kernel if self._times else None,
            explain=self._explain_call,
            mark=self._times.mark if self._times and self._times.options.has_marks else None,
        )
        self._kernels.add(kernel)

    def _observe_kernel(
        self, op_type: str, name: str, began: int, inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        assert self._times is not None
        took = time.perf_counter_ns() - began
        given = [array for array in inputs if array is not None]
        self._times.operator(Name(name, op_type), began, took, arrays=(given, outputs))

    @property
    def op_cache(self) -> OpCacheCounts:
        """What is kept of single operators."""
        return self._cache.counts

    def load_op(self, path: Path) -> None:
        """Load a model of one operator, which is kept until the device is closed.

        Raises:
          NoContextError: the calling thread has no context of this device (107002).
          BackendUnavailableError: ONNX Runtime is not installed.
          DeviceError: there is no such file (100003), or it is no model of one operator (100025).
        """
        self.require("aclopLoad")
        self._single.load(path)

    def execute_op(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        *,
        domain: str,
        outputs: int | None,
        is_dynamic: bool,
    ) -> tuple[Any, ...]:
        """Run one operator and return its outputs; see `Operators.execute`.

        Raises:
          NoContextError: the calling thread has no context of this device (107002).
          BackendUnavailableError: ONNX Runtime is not installed.
          DeviceError: there is no such operator, something does not fit it, or it failed.
        """
        self.require("aclopExecuteV2")
        values = self._single.execute(
            op_type, inputs, attributes, domain=domain, outputs=outputs, is_dynamic=is_dynamic
        )
        if self._data_dump is not None:
            self._data_dump.observe_op(self.device_id, op_type, inputs, values)

        return values

    @cached_property
    def _single(self) -> Operators:
        import_engine("aclopExecuteV2")
        from . import operators  # noqa: PLC0415 (imports numpy and onnx)

        return operators.Operators(
            self._cache, self._kernels, self._recorder, self._times, self._explain_call
        )

    def _open_model(self, path: Path, *, watch: Watch | None) -> Session:
        session = open_session(path, kernels=self._kernels, watch=watch)
        if self._data_dump is None:
            return session

        return self._data_dump.inspect(
            self.device_id, path, session, partial(open_session, kernels=self._kernels)
        )

    @cached_property
    def _postmortem(self) -> Postmortem | None:
        if self._exception_dump is None:
            return None

        from .postmortem import Postmortem  # noqa: PLC0415 (imports numpy)

        return Postmortem(self._exception_dump, self.device_id)

    @property
    def _explain_call(self) -> ExplainCall | None:
        return self._postmortem.explain_call if self._postmortem is not None else None

    def _explainer(self, path: Path) -> Explain | None:
        if self._postmortem is None:
            return None

        from .postmortem import ModelPostmortem  # noqa: PLC0415 (as above)

        opener = partial(open_session, kernels=self._kernels)
        return ModelPostmortem(self._postmortem, path, opener).explain

    def require(self, function: str) -> None:
        """Refuse, as `function`, to go on unless this device is current on the calling thread.

        Raises:
          NoContextError: nothing is current there (107002).
          DeviceError: the handle is closed, or another device is current.
        """
        self._contexts.require(self._context, function)

    def close(self) -> None:
        """Unload the models and end the context on every thread; a second call does nothing."""
        if not self.is_open:
            return

        began = time.perf_counter_ns()
        for model in self.models:
            model.close()

        self._output.close()
        self._cache.clear()
        self._contexts.unbind(self._context)
        self._context.is_open = False
        self._closed(self)
        if self._recorder is not None:
            self._recorder.call("runtime_api", "rtDeviceReset")(began)
