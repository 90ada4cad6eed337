"""Single operators of one device: compiled when first run, kept as the configuration says.

Needs numpy and onnx: imported only when one runs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
import onnx
from attrs import frozen

from aclasync.errors import AclCode, AclError, DeviceError
from aclasync.profiling.records import Name

from . import opmodel
from .opsignature import Signature, attributes_key, signature_of
from .ort import open_session

if TYPE_CHECKING:
    from pathlib import Path

    from aclasync.profiling.recorder import DeviceRecorder, Recorder

    from .kernels import ExplainCall, Kernels
    from .opcache import OpCache
    from .ort import Session

_COMPILE = "aclopCompile"
_EXECUTE = "aclopExecuteV2"
_LOAD = "aclopLoad"

# What the engine takes from numpy; other packages teach numpy more names, but not the engine.
_NOT_IMPLEMENTED = "NOT_IMPLEMENTED"
_KINDS = "biuf"
_MOST_BYTES = 8


@final
@frozen
class CompiledOp:
    """A model of one operator, ready to run."""

    session: Session
    #: The model itself, serialised.
    model: bytes
    #: Names of its inputs that are given.
    inputs: tuple[str, ...]


@final
class Operators:
    """Runs single operators."""

    def __init__(
        self,
        cache: OpCache[Signature, CompiledOp],
        kernels: Kernels,
        recorder: Recorder | None,
        times: DeviceRecorder | None,
        explain: ExplainCall | None,
    ) -> None:
        self._cache = cache
        self._kernels = kernels
        self._times = times
        self._explain = explain
        self._record_call = recorder and recorder.call("ascendcl", _EXECUTE)
        self._record_compile = recorder and recorder.call("ge_api", _COMPILE)

    def load(self, path: Path) -> None:
        """Load a model of one operator, which is kept for good.

        Raises:
          DeviceError: there is no such file (100003), or it is no such model (100025).
        """
        try:
            content = path.read_bytes()
        except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
            why = (exc.strerror if isinstance(exc, OSError) else None) or exc
            detail = f"can't read the operator {path}: {why}"
            raise DeviceError(AclCode.INVALID_FILE, _LOAD, detail) from exc

        try:
            model = onnx.load_from_string(content)
        except Exception as exc:  # protobuf's own error
            detail = f"{path} is no usable model: {exc}"
            raise DeviceError(AclCode.OP_LOAD_FAILED, _LOAD, detail) from exc

        signature = signature_of(model, str(path))
        compiled = _compiled(content, str(path), _LOAD)
        self._cache.put_static(signature, compiled, is_dynamic=signature.is_dynamic)

    def execute(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        *,
        domain: str,
        outputs: int | None,
        is_dynamic: bool,
    ) -> tuple[Any, ...]:
        """Run one operator and return its outputs.

        Raises:
          DeviceError: there is no such operator (100024); it takes no such inputs (100021),
            outputs (100022) or attributes (100023); or it failed (500001).
        """
        called = time.perf_counter_ns()
        try:
            return self._execute(
                op_type, inputs, attributes, domain=domain, outputs=outputs, is_dynamic=is_dynamic
            )
        finally:
            if self._record_call is not None:
                self._record_call(called)

    def _execute(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        *,
        domain: str,
        outputs: int | None,
        is_dynamic: bool,
    ) -> tuple[Any, ...]:
        arrays = [None if given is None else _array(op_type, given) for given in inputs]
        # Without a domain, ONNX's own operator comes before one of the same name.
        alone = bool(self._kernels) and not domain and not opmodel.has_schema(op_type, "")
        kernel = self._kernels.find(domain, op_type, alone=alone)
        if kernel is not None:
            return tuple(kernel.call(arrays, attributes, name=op_type, outputs=outputs))

        if outputs is None:
            outputs = opmodel.outputs_of(op_type, domain, attributes)

        tensors = tuple(None if a is None else (a.dtype, a.shape) for a in arrays)
        exact = Signature(op_type, domain, attributes_key(attributes), tensors, outputs)
        compiled = self._compiled(exact, attributes, is_dynamic=is_dynamic)
        given = [array for array in arrays if array is not None]
        feed = dict(zip(compiled.inputs, given, strict=True))
        began = time.perf_counter_ns()
        try:
            values = compiled.session.run(None, feed)
        except Exception as exc:  # its exceptions share no narrower class
            detail = f"the operator {op_type} failed: {exc}"
            error = DeviceError(AclCode.FAILURE, _EXECUTE, detail)
            if self._explain is None:
                raise error from exc

            raise self._explain(
                error,
                op_type=op_type,
                name=op_type,
                inputs=arrays,
                attributes=attributes,
                model=compiled.model,
            ) from exc

        if self._times is not None:
            took = time.perf_counter_ns() - began
            self._times.operator(Name(op_type, op_type), began, took, arrays=(given, values))

        return tuple(values)

    def _compiled(
        self, exact: Signature, attributes: Mapping[str, Any], *, is_dynamic: bool
    ) -> CompiledOp:
        wanted = exact.with_any_size() if is_dynamic else exact
        # An operator of no dimensions has only one shape, however it is asked for.
        is_dynamic = wanted.is_dynamic
        compiled = self._cache.get(wanted, is_dynamic=is_dynamic, covers=exact.is_covered_by)
        if compiled is None:
            began = time.perf_counter_ns()
            compiled = _compile(wanted, attributes)
            self._cache.put(wanted, compiled, is_dynamic=is_dynamic)
            if self._record_compile is not None:
                self._record_compile(began)

        return compiled


def _compile(signature: Signature, attributes: Mapping[str, Any]) -> CompiledOp:
    """Compile an operator in the newest version that the engine can run with these types.

    Raises:
      DeviceError: there is none.
    """
    newest: AclError | None = None
    for opset in opmodel.versions_of(signature.op_type, signature.domain):
        content = opmodel.build(signature, attributes, opset)
        try:
            return _compiled(content, f"the operator {signature.op_type}", _COMPILE)
        except AclError as exc:
            newest = newest or exc
            if _NOT_IMPLEMENTED not in exc.detail:
                break

    assert newest is not None
    raise newest


def _compiled(content: bytes, name: str, function: str) -> CompiledOp:
    try:
        session = open_session(content, name=name)
    except AclError as exc:
        if exc.code is not AclCode.PARSE_MODEL:
            raise

        why = exc.__cause__ or exc.detail
        detail = f"{name} can't be compiled: {why}"
        raise DeviceError(AclCode.OP_LOAD_FAILED, function, detail) from exc

    return CompiledOp(session, content, tuple(a.name for a in session.get_inputs()))


def _array(op_type: str, given: Any) -> np.ndarray[Any, Any]:
    """Return an input as the engine takes it; nothing is converted.

    Raises:
      DeviceError: it is no array (100021), or of a type that can't be given (100026).
    """
    if not hasattr(given, "__array__"):
        detail = (
            f"{op_type}: an input is {type(given).__name__}, which has no element type; "
            "make it an array of the one you mean: np.asarray(value, np.float32)"
        )
        raise DeviceError(AclCode.OP_INPUT_NOT_MATCH, _EXECUTE, detail)

    array = np.asarray(given)
    kind = array.dtype.kind
    if kind in "UT" or (kind == "O" and all(isinstance(item, str) for item in array.flat)):
        return array.astype(object)

    if kind not in _KINDS or array.dtype.itemsize > _MOST_BYTES:
        detail = f"{op_type}: an input is {array.dtype}, which can't be given here"
        raise DeviceError(AclCode.UNSUPPORTED_DATA_TYPE, _EXECUTE, detail)

    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
