"""Operators written in Python: finding them, and calling one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from aclasync.errors import AclCode, AclError, DeviceError

#: An operator: gets its context and its inputs, its attributes by name; returns its outputs.
KernelFunction = Callable[..., Any]


@final
class PythonKernel:
    """One operator."""

    def __init__(self, op_type: str, function: KernelFunction) -> None:
        self.op_type = op_type
        self._function = function

    def call(
        self,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        *,
        name: str,
        outputs: int | None,
    ) -> list[Any]:
        """Run it as the operator `name` and return that many outputs.

        Raises:
          DeviceError: it raised, or returned something else.
        """
        import numpy as np  # noqa: PLC0415 (loaded by the model already)

        try:
            returned = self._function(None, *inputs, **attributes)
        except AclError:
            raise
        except Exception as exc:
            detail = f"the Python operator {self.op_type} ({name}) failed: {exc!r}"
            raise DeviceError(AclCode.FAILURE, self.op_type, detail) from exc

        values = returned if isinstance(returned, (tuple, list)) else (returned,)
        if outputs is not None and len(values) < outputs:
            detail = f"{self.op_type} ({name}) gave {len(values)} outputs, {outputs} are wanted"
            raise DeviceError(AclCode.FAILURE, self.op_type, detail)

        return [np.asarray(value) for value in values[:outputs]]


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
