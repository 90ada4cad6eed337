"""From an operator's name, inputs and attributes to a model of one node; ONNX's schemas judge.

Needs onnx: imported only when a single operator is compiled.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import onnx
from onnx import helper
from onnx.defs import OpSchema

from aclasync.errors import AclCode, AclError, DeviceError

from .opattributes import checked_attributes, free_attribute
from .ort import open_session

if TYPE_CHECKING:
    import numpy as np
    from onnx import ModelProto

    from .opsignature import Signature

_COMPILE = "aclopCompile"

_MANY = 1000
_Option = OpSchema.FormalParameterOption


@functools.cache
def newest_opset() -> int:
    """Return the newest version of ONNX's operators that the engine knows, too."""
    newest = onnx.defs.onnx_opset_version()
    for version in range(newest, 0, -1):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])],
            "probe",
            [value("x", onnx.TensorProto.FLOAT, [1])],
            [value("y", onnx.TensorProto.FLOAT, [1])],
        )
        try:
            open_session(_model(graph, "", version).SerializeToString())
        except DeviceError:
            continue

        return version

    raise DeviceError(AclCode.OP_LOAD_FAILED, _COMPILE, "the engine knows no version of ONNX")


def has_schema(op_type: str, domain: str) -> bool:
    """Whether ONNX defines that operator."""
    return bool(onnx.defs.has(op_type, domain))


def outputs_of(op_type: str, domain: str, attributes: Mapping[str, Any]) -> int:
    """Return how many outputs an operator has if nobody says how many are wanted.

    Raises:
      DeviceError: there is no such operator (100024).
    """
    schema = _schema(op_type, domain, newest_opset() if not domain else _domain_version(domain))
    if schema is None:
        return 1

    if schema.outputs and schema.outputs[-1].option is _Option.Variadic:
        count = attributes.get("num_outputs", 1)
        return count if isinstance(count, int) and count > 0 else 1

    return max(1, schema.min_output)


def versions_of(op_type: str, domain: str) -> list[int]:
    """Return the versions of a domain with another definition of the operator, the newest first.

    Raises:
      DeviceError: there is no such operator (100024).
    """
    version = newest_opset() if not domain else _domain_version(domain)
    versions = []
    schema = _schema(op_type, domain, version)
    while schema is not None:
        versions.append(version)
        version = schema.since_version - 1
        known = onnx.defs.has(op_type, version, domain) if version else False
        schema = _schema(op_type, domain, version) if known else None

    return versions or [version]


def build(signature: Signature, attributes: Mapping[str, Any], version: int) -> bytes:
    """Return a serialised model of one operator, in a version of its domain.

    Raises:
      DeviceError: there is no such operator (100024), or it takes no such inputs (100021),
        outputs (100022) or attributes (100023).
    """
    schema = _schema(signature.op_type, signature.domain, version)
    if schema is None:
        protos = [free_attribute(signature.op_type, n, v) for n, v in attributes.items()]
    else:
        _check_inputs(schema, signature)
        _check_outputs(schema, signature)
        protos = checked_attributes(schema, attributes)

    names = [f"x{at}" if given else "" for at, given in enumerate(signature.inputs)]
    outputs = [f"y{at}" for at in range(signature.outputs)]
    node = helper.make_node(
        signature.op_type, names, outputs, name=signature.op_type, domain=signature.domain
    )
    node.attribute.extend(protos)
    inputs = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(given[0]),
            [f"d{at}_{axis}" if size is None else size for axis, size in enumerate(given[1])],
        )
        for at, (name, given) in enumerate(zip(names, signature.inputs, strict=True))
        if given
    ]
    graph = helper.make_graph(
        [node], signature.op_type, inputs, [onnx.ValueInfoProto(name=name) for name in outputs]
    )
    content: bytes = _model(graph, signature.domain, version).SerializeToString()
    return content


def _model(graph: onnx.GraphProto, domain: str, version: int) -> ModelProto:
    imports = [helper.make_opsetid(domain, version)]
    if domain:
        imports.append(helper.make_opsetid("", newest_opset()))

    return helper.make_model(graph, opset_imports=imports, ir_version=10)


@functools.cache
def _domain_version(domain: str) -> int:
    known = [s.since_version for s in onnx.defs.get_all_schemas() if s.domain == domain]
    return max(known, default=1)


@functools.cache
def _schema(op_type: str, domain: str, version: int) -> OpSchema | None:
    """Return what ONNX says of an operator; None if the domain is none of its own.

    Raises:
      DeviceError: there is no such operator (100024).
    """
    names = {s.name for s in onnx.defs.get_all_schemas() if s.domain == domain and not s.deprecated}
    if not names:
        return None

    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        schema = None

    if schema is None or schema.deprecated:
        near = difflib.get_close_matches(op_type, names, 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        place = f" in {domain}" if domain else ""
        detail = f"there is no operator {op_type!r}{place} in version {version} of ONNX{hint}"
        raise DeviceError(AclCode.OP_NOT_FOUND, _COMPILE, detail)

    return schema


def _check_inputs(schema: OpSchema, signature: Signature) -> None:
    """Refuse what the schema does not allow.

    Raises:
      DeviceError: too few or many inputs, or of a wrong type (100021).
    """
    given = signature.inputs
    if not schema.min_input <= len(given) <= schema.max_input:
        most = "more" if schema.max_input > _MANY else str(schema.max_input)
        wanted = str(schema.min_input)
        wanted += f" to {most}" if most == "more" or schema.max_input != schema.min_input else ""
        names = ", ".join(p.name for p in schema.inputs)
        raise _refuse(
            AclCode.OP_INPUT_NOT_MATCH,
            f"{schema.name} takes {wanted} inputs ({names}), not {len(given)}",
        )

    allowed_of = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    bound: dict[str, tuple[str, str]] = {}
    for at, tensor in enumerate(given):
        parameter = schema.inputs[min(at, len(schema.inputs) - 1)]
        title = f"{schema.name}: input {at} ({parameter.name})"
        if tensor is None:
            if parameter.option is _Option.Single:
                raise _refuse(AclCode.OP_INPUT_NOT_MATCH, f"{title} is missing")

            continue

        kind = parameter.type_str
        got = _onnx_name(tensor[0])
        allowed = allowed_of.get(kind, (kind,))
        if got not in allowed:
            expected = ", ".join(sorted(allowed))
            raise _refuse(AclCode.OP_INPUT_NOT_MATCH, f"{title} is {got}, expected {expected}")

        if kind in allowed_of and (parameter.is_homogeneous or len(schema.inputs) > at + 1):
            first, where = bound.setdefault(kind, (got, parameter.name))
            if first != got:
                raise _refuse(
                    AclCode.OP_INPUT_NOT_MATCH,
                    f"{title} is {got}, but {where} is {first}, and they must be of one type",
                )


def _check_outputs(schema: OpSchema, signature: Signature) -> None:
    if not schema.min_output <= signature.outputs <= schema.max_output:
        names = ", ".join(p.name for p in schema.outputs)
        wanted = f"{schema.min_output} to {schema.max_output}"
        raise _refuse(
            AclCode.OP_OUTPUT_NOT_MATCH,
            f"{schema.name} has {wanted} outputs ({names}), not {signature.outputs}",
        )


def _onnx_name(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "OUT":
        return "tensor(string)"

    number = helper.np_dtype_to_tensor_dtype(dtype)
    return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"


def _refuse(code: AclCode, detail: str) -> AclError:
    return DeviceError(code, _COMPILE, detail)
