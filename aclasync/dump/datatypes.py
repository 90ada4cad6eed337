"""Element types and formats of dumped tensors: their numbers, and what numpy has for them.

Needs numpy; ml_dtypes, which comes with onnx, for the types that numpy has not.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any, final

import numpy as np
from attrs import frozen

#: What the reference calls a number that it has no name for.
UNKNOWN = "UNKNOW"


@final
class DataType(IntEnum):
    """`OutputDataType` of the dump's messages; not the numbers of aclDataType."""

    UNDEFINED = 0
    FLOAT = 1
    FLOAT16 = 2
    INT8 = 3
    UINT8 = 4
    INT16 = 5
    UINT16 = 6
    INT32 = 7
    INT64 = 8
    UINT32 = 9
    UINT64 = 10
    BOOL = 11
    DOUBLE = 12
    STRING = 13
    DUAL_SUB_INT8 = 14
    DUAL_SUB_UINT8 = 15
    COMPLEX64 = 16
    COMPLEX128 = 17
    QINT8 = 18
    QINT16 = 19
    QINT32 = 20
    QUINT8 = 21
    QUINT16 = 22
    RESOURCE = 23
    STRING_REF = 24
    DUAL = 25
    VARIANT = 26
    BF16 = 27
    INT4 = 28
    UINT1 = 29
    INT2 = 30
    UINT2 = 31
    COMPLEX32 = 32
    HIFLOAT8 = 33
    FLOAT8_E5M2 = 34
    FLOAT8_E4M3FN = 35
    FLOAT8_E8M0 = 36
    FLOAT6_E3M2 = 37
    FLOAT6_E2M3 = 38
    FLOAT4_E2M1 = 39
    FLOAT4_E1M2 = 40
    HIFLOAT4 = 41
    HIFLOAT4_SCALE = 42


@final
class Format(IntEnum):
    """`OutputFormat` of the dump's messages: how the axes of a tensor lie in memory."""

    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1C0HWPAD = 5
    NHWC1C0 = 6
    FSR_NCHW = 7
    FRACTAL_DECONV = 8
    C1HWNC0 = 9
    FRACTAL_DECONV_TRANSPOSE = 10
    FRACTAL_DECONV_SP_STRIDE_TRANS = 11
    NC1HWC0_C04 = 12
    FRACTAL_Z_C04 = 13
    CHWN = 14
    FRACTAL_DECONV_SP_STRIDE8_TRANS = 15
    HWCN = 16
    NC1KHKWHWC0 = 17
    BN_WEIGHT = 18
    FILTER_HWCK = 19
    HASHTABLE_LOOKUP_LOOKUPS = 20
    HASHTABLE_LOOKUP_KEYS = 21
    HASHTABLE_LOOKUP_VALUE = 22
    HASHTABLE_LOOKUP_OUTPUT = 23
    HASHTABLE_LOOKUP_HITS = 24
    C1HWNCoC0 = 25
    MD = 26
    NDHWC = 27
    FRACTAL_ZZ = 28
    FRACTAL_NZ = 29
    NCDHW = 30
    DHWCH = 31
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    CN = 34
    NC = 35
    DHWNC = 36
    FRACTAL_Z_3D_TRANSPOSE = 37
    FRACTAL_ZN_LSTM = 38
    FRACTAL_Z_G = 39
    RESERVED = 40
    ALL = 41
    NULL = 42
    ND_RNN_BIAS = 43
    FRACTAL_ZN_RNN = 44
    NYUV = 45
    NYUV_A = 46
    NCL = 47
    FRACTAL_Z_WINO = 48
    C1HWC0 = 49
    MAX = 255


@final
class InputType(IntEnum):
    """`input_type` of the dump's messages: what a buffer is to the operator."""

    INVALID = 0
    GENERAL_TENSOR = 1
    INPUT_TENSOR = 2
    OUTPUT_TENSOR = 3
    WORKSPACE_TENSOR = 4
    ASCENDC_LOG = 5
    MC2_CTX = 6
    TILING_DATA = 7
    L1_TENSOR = 8
    L2_TENSOR = 9
    OVERFLOW_ADDRESS = 10
    FFTS_ADDRESS = 11
    SHAPE_TENSOR = 12
    ARGS = 101
    STACK = 102
    DEVICE_KERNEL_OBJECT = 103
    SIMT_STACK = 104


@final
@frozen
class Element:
    """How one element of a data type is held by numpy."""

    #: Name of the type, in numpy or in ml_dtypes.
    name: str
    #: Bits of one element in the file; below eight, elements share bytes, the lowest bits first.
    bits: int


#: What numpy or ml_dtypes holds. Quantised types are the integers that are stored.
ELEMENTS = {
    DataType.FLOAT: Element("float32", 32),
    DataType.FLOAT16: Element("float16", 16),
    DataType.INT8: Element("int8", 8),
    DataType.UINT8: Element("uint8", 8),
    DataType.INT16: Element("int16", 16),
    DataType.UINT16: Element("uint16", 16),
    DataType.INT32: Element("int32", 32),
    DataType.INT64: Element("int64", 64),
    DataType.UINT32: Element("uint32", 32),
    DataType.UINT64: Element("uint64", 64),
    DataType.BOOL: Element("bool", 8),
    DataType.DOUBLE: Element("float64", 64),
    DataType.DUAL_SUB_INT8: Element("int8", 8),
    DataType.DUAL_SUB_UINT8: Element("uint8", 8),
    DataType.COMPLEX64: Element("complex64", 64),
    DataType.COMPLEX128: Element("complex128", 128),
    DataType.QINT8: Element("int8", 8),
    DataType.QINT16: Element("int16", 16),
    DataType.QINT32: Element("int32", 32),
    DataType.QUINT8: Element("uint8", 8),
    DataType.QUINT16: Element("uint16", 16),
    DataType.BF16: Element("bfloat16", 16),
    DataType.INT4: Element("int4", 4),
    DataType.UINT1: Element("uint1", 1),
    DataType.INT2: Element("int2", 2),
    DataType.UINT2: Element("uint2", 2),
    DataType.COMPLEX32: Element("complex32", 32),
    DataType.FLOAT8_E5M2: Element("float8_e5m2", 8),
    DataType.FLOAT8_E4M3FN: Element("float8_e4m3fn", 8),
    DataType.FLOAT8_E8M0: Element("float8_e8m0fnu", 8),
    DataType.FLOAT6_E3M2: Element("float6_e3m2fn", 6),
    DataType.FLOAT6_E2M3: Element("float6_e2m3fn", 6),
    DataType.FLOAT4_E2M1: Element("float4_e2m1fn", 4),
}

_ELEMENTS: dict[int, Element] = {int(number): element for number, element in ELEMENTS.items()}
_TYPE_NAMES = {int(number): number.name for number in DataType}
_FORMAT_NAMES = {int(number): number.name for number in Format}

# The types that an array can have here; where two share a numpy type, the plain one.
_DATA_TYPES = {
    element.name: number
    for number, element in reversed(ELEMENTS.items())
    if not number.name.startswith(("Q", "DUAL"))
}


def element_of(number: int) -> Element | None:
    """Return how a data type is held; None if nothing holds it."""
    return _ELEMENTS.get(number)


@cache
def dtype_of(number: int) -> np.dtype[Any] | None:
    """Return what numpy or the installed ml_dtypes holds a data type in; None if neither does."""
    element = element_of(number)
    try:
        return named_dtype(element.name) if element is not None else None
    except AttributeError:
        return None


def named_dtype(name: str) -> np.dtype[Any]:
    """Return a type of numpy's or of ml_dtypes' by its name.

    Raises:
      AttributeError: the installed ml_dtypes has none of that name.
    """
    try:
        return np.dtype(name)
    except TypeError:
        # Few dumps need it, and numpy knows its types only after its import.
        import ml_dtypes  # noqa: PLC0415

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype


def data_type_of(array: np.ndarray[Any, Any]) -> DataType:
    """Return the number of an array's type; UNDEFINED if the table has none for it."""
    if array.dtype.kind in "OUT":
        return DataType.STRING

    return _DATA_TYPES.get(array.dtype.name, DataType.UNDEFINED)


def name_of_data_type(number: int) -> str:
    """Return the name with the prefix that the reference prints; `UNKNOW` is its spelling."""
    return f"DT_{_TYPE_NAMES[number]}" if number in _TYPE_NAMES else UNKNOWN


def name_of_format(number: int) -> str:
    """Return a format's name as the reference prints it."""
    return _FORMAT_NAMES.get(number, UNKNOWN)
