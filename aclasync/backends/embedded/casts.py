"""Element types that the engine has and does not exchange with numpy: they cross as others.

Needs onnx.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import onnx
from attrs import frozen

from aclasync.dump.datatypes import named_dtype

if TYPE_CHECKING:
    import numpy as np

_T = onnx.TensorProto


@final
@frozen
class Cast:
    """An element type, and one that holds every value of it and that numpy has."""

    #: ONNX's number of the type.
    original: int
    #: ONNX's number of the type that it crosses as.
    crosses_as: int
    #: What ml_dtypes calls it.
    dtype: str

    def restore(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return an array that crossed as what it was."""
        return array.astype(named_dtype(self.dtype))


#: By the engine's name of the type.
CASTS = {
    "tensor(bfloat16)": Cast(_T.BFLOAT16, _T.FLOAT, "bfloat16"),
    "tensor(float8e4m3fn)": Cast(_T.FLOAT8E4M3FN, _T.FLOAT, "float8_e4m3fn"),
    "tensor(float8e4m3fnuz)": Cast(_T.FLOAT8E4M3FNUZ, _T.FLOAT, "float8_e4m3fnuz"),
    "tensor(float8e5m2)": Cast(_T.FLOAT8E5M2, _T.FLOAT, "float8_e5m2"),
    "tensor(float8e5m2fnuz)": Cast(_T.FLOAT8E5M2FNUZ, _T.FLOAT, "float8_e5m2fnuz"),
    "tensor(float4e2m1)": Cast(_T.FLOAT4E2M1, _T.FLOAT, "float4_e2m1fn"),
    "tensor(int4)": Cast(_T.INT4, _T.INT8, "int4"),
    "tensor(uint4)": Cast(_T.UINT4, _T.UINT8, "uint4"),
}


def cast_name(name: str) -> str:
    """Return what a tensor is called as the type that it crosses as."""
    return f"{name}/aclasync_cast"
