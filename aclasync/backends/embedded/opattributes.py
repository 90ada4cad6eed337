"""From attributes as Python has them to those that ONNX's schemas declare."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper
from onnx.defs import OpSchema

from aclasync.errors import AclCode, DeviceError

_Kind = OpSchema.AttrType

# For a declared kind of attribute, the Python types that are values of it.
_ATTRIBUTE_TYPES: dict[Any, tuple[type, ...]] = {
    _Kind.INT: (int, np.integer, np.bool_),
    _Kind.FLOAT: (float, int, np.floating, np.integer),
    _Kind.STRING: (str, bytes),
    _Kind.TENSOR: (np.ndarray,),
}
_ELEMENT_OF = {_Kind.INTS: _Kind.INT, _Kind.FLOATS: _Kind.FLOAT, _Kind.STRINGS: _Kind.STRING,
               _Kind.TENSORS: _Kind.TENSOR}  # fmt: skip
_PROTO_KIND = {
    _Kind.INT: AttributeProto.INT,
    _Kind.FLOAT: AttributeProto.FLOAT,
    _Kind.STRING: AttributeProto.STRING,
    _Kind.TENSOR: AttributeProto.TENSOR,
    _Kind.INTS: AttributeProto.INTS,
    _Kind.FLOATS: AttributeProto.FLOATS,
    _Kind.STRINGS: AttributeProto.STRINGS,
    _Kind.TENSORS: AttributeProto.TENSORS,
}


def checked_attributes(schema: OpSchema, attributes: Mapping[str, Any]) -> list[AttributeProto]:
    """Return attributes as ONNX has them.

    Raises:
      DeviceError: one is missing, unknown or of another type (100023).
    """
    known = schema.attributes
    for name in attributes:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            names = ", ".join(sorted(known)) or "none"
            raise _refuse(
                f"{schema.name} has no attribute {name!r}, only {names}{hint}",
            )

    for name, declared in known.items():
        if declared.required and name not in attributes:
            raise _refuse(f"{schema.name} needs the attribute {name!r}")

    return [_attribute(schema.name, known[name], value) for name, value in attributes.items()]


def _attribute(op_type: str, declared: OpSchema.Attribute, value: Any) -> AttributeProto:
    kind = declared.type
    element = _ELEMENT_OF.get(kind)
    types = _ATTRIBUTE_TYPES.get(element or kind)
    if types is None:
        raise _refuse(
            f"{op_type}: {declared.name} is a {_title(kind)}, which can't be given here; "
            "load a model that has it",
        )

    values = list(value) if element and isinstance(value, (list, tuple, np.ndarray)) else [value]
    if (element and not isinstance(value, (list, tuple, np.ndarray))) or not all(
        isinstance(item, types) for item in values
    ):
        raise _refuse(
            f"{op_type}: {declared.name} must be of type {_title(kind)}, not {value!r:.200}",
        )

    try:
        return _proto(declared.name, kind, values)
    except (ValueError, TypeError, OverflowError) as exc:
        raise _refuse(f"{op_type}: {declared.name} can't be {value!r:.200}: {exc}") from exc


def _proto(name: str, kind: Any, values: list[Any]) -> AttributeProto:
    proto = AttributeProto(name=name, type=_PROTO_KIND[kind])
    if kind in (_Kind.TENSOR, _Kind.TENSORS):
        values = [onnx.numpy_helper.from_array(item) for item in values]
    elif kind in (_Kind.STRING, _Kind.STRINGS):
        values = [item.encode() if isinstance(item, str) else item for item in values]

    match kind:
        case _Kind.INT:
            proto.i = int(values[0])
        case _Kind.FLOAT:
            proto.f = float(values[0])
        case _Kind.STRING:
            proto.s = values[0]
        case _Kind.TENSOR:
            proto.t.CopyFrom(values[0])
        case _Kind.INTS:
            proto.ints.extend(map(int, values))
        case _Kind.FLOATS:
            proto.floats.extend(map(float, values))
        case _Kind.STRINGS:
            proto.strings.extend(values)
        case _:
            proto.tensors.extend(values)

    return proto


def free_attribute(op_type: str, name: str, value: Any) -> AttributeProto:
    """Return an attribute of an operator that ONNX knows nothing of."""
    try:
        if isinstance(value, np.ndarray):
            value = onnx.numpy_helper.from_array(value)

        return helper.make_attribute(name, value)
    except (ValueError, TypeError) as exc:
        detail = f"{op_type}: {name} can't be {value!r:.200}: {exc}"
        raise _refuse(detail) from exc


def _title(kind: Any) -> str:
    return str(kind).rpartition(".")[2].lower()


def _refuse(detail: str) -> DeviceError:
    return DeviceError(AclCode.OP_ATTR_NOT_MATCH, "aclopCompile", detail)
