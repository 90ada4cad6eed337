"""Operators written in Python: finding them, calling one, and what it can do meanwhile."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, final

from attrs import frozen

from aclasync.backends.base import CoreKind
from aclasync.dump.kernel_output import RecordKind, pack_tensor, pack_text, pack_timestamp
from aclasync.errors import AclCode, AclError, DeviceError

if TYPE_CHECKING:
    import numpy as np

    from .kerneloutput import KernelOutput

_FAILURES = {
    "aic": AclCode.RT_AICORE_EXCEPTION,
    "aiv": AclCode.RT_VECTOR_CORE_EXCEPTION,
    "simt": AclCode.RT_VECTOR_CORE_EXCEPTION,
}
_TRAPS = {
    "aic": AclCode.RT_AICORE_TRAP_EXCEPTION,
    "aiv": AclCode.RT_VECTOR_CORE_TRAP_EXCEPTION,
    "simt": AclCode.RT_VECTOR_CORE_TRAP_EXCEPTION,
}

# C's length modifiers, of which Python knows not all and needs none.
_LENGTHS = re.compile(
    r"%%|(%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?)(?:hh|h|ll|l|j|z|t|L)(?=[a-zA-Z])"
)
_MOST_DESC = 2**32 - 1


@final
@frozen(eq=False)
class Launch:
    """One call of a kernel, on all its cores."""

    output: KernelOutput
    number: int
    kernel: PythonKernel
    op_name: str
    mark: Callable[[str], None] | None


@final
class EmbeddedKernelContext:
    """What a kernel can do on one of its cores."""

    def __init__(self, launch: Launch, core: int = 0) -> None:
        self._launch = launch
        self._core = core

    @property
    def core(self) -> int:
        """The number of this core, from 0."""
        return self._core

    @property
    def cores(self) -> int:
        """How many cores the kernel was launched on."""
        return self._launch.kernel.cores

    def on_core(self, core: int) -> EmbeddedKernelContext:
        """Return the context of another core of this launch.

        Raises:
          ValueError: the kernel has no such core.
        """
        if core not in range(self.cores):
            raise ValueError(f"there is no core {core!r}; there are 0 to {self.cores - 1}")

        return EmbeddedKernelContext(self._launch, core)

    def printf(self, text: str, *args: object) -> None:
        """Print `text` with `args` in it, as C's printf does.

        Raises:
          ValueError: they do not fit together.
          TypeError: neither do their types.
        """
        said = format_c(text, args)
        if self._launch.output.wants(RecordKind.PRINTF):
            self._push(RecordKind.PRINTF, pack_text(said))

    def dump_tensor(
        self, tensor: np.ndarray[Any, Any], desc: int = 0, size: int | None = None
    ) -> None:
        """Dump a tensor, or its first `size` elements, with a number that tells it from others.

        Raises:
          ValueError: the number has more than 32 bits, or the tensor has less elements.
        """
        _check_desc(desc)
        if self._launch.output.wants(RecordKind.TENSOR):
            import numpy as np  # noqa: PLC0415 (loaded by the operator's inputs already)

            array = np.ascontiguousarray(tensor).reshape(np.shape(tensor))
            if size is not None:
                if not 0 <= size <= array.size:
                    raise ValueError(f"size is {size}, the tensor has {array.size} elements")

                array = array.reshape(-1)[:size]

            if array.dtype.hasobject:
                raise ValueError(f"a tensor of {array.dtype} has no elements that can be dumped")

            self._push(RecordKind.TENSOR, pack_tensor(array, desc))

    def assert_(self, condition: object, text: str = "", *args: object) -> None:
        """Let the operator fail, with that text, unless `condition` holds.

        Raises:
          DeviceError: it does not.
        """
        if condition:
            return

        launch = self._launch
        kernel = launch.kernel
        said = format_c(text, args) or "assertion failed"
        if launch.output.wants(RecordKind.ASSERT):
            self._push(RecordKind.ASSERT, pack_text(said))

        detail = (
            f"the Python operator {kernel.op_type} ({launch.op_name}) stopped on core "
            f"{self._core}: {said}"
        )
        raise DeviceError(_TRAPS[kernel.core_kind], kernel.op_type, detail)

    def timestamp(self, desc: int = 0) -> None:
        """Note the time of a steady clock, with a number that tells it from others.

        Raises:
          ValueError: the number has more than 32 bits.
        """
        _check_desc(desc)
        if self._launch.mark is not None:
            self._launch.mark(f"{self._launch.kernel.op_type} {desc}")

        if self._launch.output.wants(RecordKind.TIMESTAMP):
            self._push(RecordKind.TIMESTAMP, pack_timestamp(desc, time.perf_counter_ns()))

    def _push(self, kind: RecordKind, content: bytes) -> None:
        launch = self._launch
        launch.output.push(launch.kernel.core_kind, self._core, launch.number, kind, content)


#: Told of a call: the operator's type and name, when it began, its inputs and its outputs.
Observer = Callable[[str, str, int, Sequence[Any], Sequence[Any]], None]


class ExplainCall(Protocol):
    """Makes a better error of one that an operator's call has ended with."""

    def __call__(
        self,
        error: AclError,
        *,
        op_type: str,
        name: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        model: bytes = ...,
    ) -> AclError:
        """Return it; see `Postmortem.explain_call`."""
        ...


@final
@frozen(kw_only=True, eq=False)
class PythonKernel:
    """One operator."""

    op_type: str
    function: Callable[..., Any]
    output: KernelOutput
    core_kind: CoreKind = "aiv"
    cores: int = 1
    #: Told of every call that succeeded.
    observe: Observer | None = None
    #: Asked about every call that failed.
    explain: ExplainCall | None = None
    mark: Callable[[str], None] | None = None

    def call(
        self,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        *,
        name: str,
        outputs: int | None,
    ) -> list[Any]:
        """Run it as the operator `name` and return that many outputs, all for None.

        Raises:
          DeviceError: it raised, or returned something else.
        """
        try:
            return self._call(inputs, attributes, name=name, outputs=outputs)
        except AclError as exc:
            if self.explain is None:
                raise

            raise self.explain(
                exc, op_type=self.op_type, name=name, inputs=inputs, attributes=attributes
            ) from exc

    def _call(
        self,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        *,
        name: str,
        outputs: int | None,
    ) -> list[Any]:
        import numpy as np  # noqa: PLC0415 (loaded by the operator's inputs already)

        launch = Launch(self.output, self.output.begin_launch(), self, name, self.mark)
        title = f"the Python operator {self.op_type} ({name})"
        code = _FAILURES[self.core_kind]
        began = time.perf_counter_ns()
        try:
            returned = self.function(EmbeddedKernelContext(launch), *inputs, **attributes)
        except AclError:
            raise
        except Exception as exc:
            detail = f"{title} failed: {type(exc).__name__}: {exc}"
            raise DeviceError(code, self.op_type, detail) from exc
        finally:
            self.output.end_launch(self.core_kind, launch.number, self.op_type, name)

        values = returned if isinstance(returned, (tuple, list)) else (returned,)
        if outputs is not None and len(values) != outputs:
            detail = f"{title} returned {len(values)} outputs; the model has {outputs}"
            raise DeviceError(code, self.op_type, detail)

        arrays = []
        for at, value in enumerate(values):
            array = np.asarray(value)
            if value is None or (array.dtype.hasobject and not _is_text(array)):
                detail = f"{title} returned {type(value).__name__} as output {at}, not an array"
                raise DeviceError(code, self.op_type, detail)

            arrays.append(array)

        if self.observe is not None:
            self.observe(self.op_type, name, began, inputs, arrays)

        return arrays


@final
class Kernels:
    """The operators of one device by the name of their type."""

    def __init__(self) -> None:
        self._kernels: dict[str, PythonKernel] = {}

    def __bool__(self) -> bool:
        return bool(self._kernels)

    def add(self, kernel: PythonKernel) -> None:
        """Add one; it takes the place of an earlier one of the same type."""
        self._kernels[kernel.op_type] = kernel

    def find(self, domain: str, op_type: str, *, alone: bool = False) -> PythonKernel | None:
        """Return the operator of that type; None for those of ONNX itself, and unknown ones.

        One that runs alone need not say what domain it is of.
        """
        is_ours = alone or domain not in ("", "ai.onnx")
        return self._kernels.get(op_type) if is_ours else None


def format_c(text: str, args: tuple[object, ...]) -> str:
    """Return `text` with `args` in it, as C's printf has it.

    Raises:
      ValueError: a conversion is unknown.
      TypeError: there are more or less of them than `args`, or of other types.
    """
    return _LENGTHS.sub(lambda match: match[1] or match[0], text) % tuple(args)


def _check_desc(desc: int) -> None:
    if not 0 <= desc <= _MOST_DESC:
        raise ValueError(f"desc is {desc}, a number of 32 bits is wanted")


def _is_text(array: np.ndarray[Any, Any]) -> bool:
    return all(isinstance(item, str) for item in array.flat)
