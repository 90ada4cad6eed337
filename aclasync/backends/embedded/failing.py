"""Finds the operator that makes a run fail: runs the model again, node by node.

Needs onnx: imported only when a run has failed and an exception dump waits for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np
import onnx
from attrs import frozen
from onnx import AttributeProto, GraphProto, NodeProto, TypeProto, helper

from aclasync.dump.format import Operator, Tensor

from .casts import CASTS, cast_name

if TYPE_CHECKING:
    from .graph import Graph
    from .ort import Session

#: Opens a serialised model with nothing optimised.
OpenPlain = Callable[[bytes], "Session"]

_TENSOR = re.compile(r"tensor\((\w+)\)")
_ELEMENTS = {
    # What the engine calls an element type, where ONNX has another name for it.
    "float": "FLOAT",
    "double": "DOUBLE",
}


@final
@frozen(kw_only=True)
class Failing:
    """The operator that failed when it ran alone, as it had in the model."""

    operator: Operator
    #: What the engine said.
    error: Exception
    #: The operator alone, as a serialised model.
    model: bytes


def find_failing(graph: Graph, feed: Mapping[str, Any], open_plain: OpenPlain) -> Failing | None:
    """Return the first operator that fails for `feed`; None if none does, run one by one.

    Raises:
      Exception: a node can't be run alone; the engine's exceptions share no narrower class.
    """
    types = _types_of(graph, open_plain)
    values: dict[str, Any] = dict(feed)
    left = Counter(name for node in graph.model.graph.node for name in _reads(node))
    place = -1
    for node in graph.model.graph.node:
        is_operator = node.op_type != "Constant"
        place += is_operator
        reads = [name for name in dict.fromkeys(_reads(node)) if name in values]
        content = _alone(graph, node, reads, types)
        session = open_plain(content)
        given = {_shown(name, types): values[name] for name in reads}
        try:
            results = session.run(None, given)
        except Exception as exc:
            if not is_operator:
                raise

            return Failing(operator=_record(graph, place, values, types), error=exc, model=content)

        named = [name for name in node.output if name]
        values.update(zip(named, results, strict=True))
        left.subtract(_reads(node))
        for name in reads:
            if not left[name] and name not in feed:
                del values[name]

    return None


def _types_of(graph: Graph, open_plain: OpenPlain) -> dict[str, str]:
    """Return the engine's type of every tensor of the main graph."""
    have = {*graph.outputs, *graph.inputs}
    names = [
        name for node in graph.model.graph.node for name in node.output if name and name not in have
    ]
    session = open_plain(graph.with_outputs(dict.fromkeys(names), {}))
    return {a.name: a.type for a in (*session.get_inputs(), *session.get_outputs())}


def _alone(graph: Graph, node: NodeProto, reads: Iterable[str], types: Mapping[str, str]) -> bytes:
    """Return a model of one node: what it reads is fed, the model's weights stay inside."""
    nodes = [node]
    inputs, outputs = [], []
    for name in reads:
        cast = CASTS.get(types[name])
        if cast is None:
            inputs.append(onnx.ValueInfoProto(name=name, type=_type_proto(types[name])))
            continue

        fed = cast_name(name)
        inputs.append(helper.make_tensor_value_info(fed, cast.crosses_as, None))
        nodes.insert(0, helper.make_node("Cast", [fed], [name], to=cast.original))

    for name in filter(None, node.output):
        cast = CASTS.get(types[name])
        outputs.append(onnx.ValueInfoProto(name=_shown(name, types)))
        if cast is not None:
            nodes.append(
                helper.make_node("Cast", [name], [_shown(name, types)], to=cast.crosses_as)
            )

    wanted = set(_reads(node))
    whole = graph.model
    alone = onnx.ModelProto(
        ir_version=whole.ir_version,
        opset_import=whole.opset_import,
        functions=whole.functions,
        graph=GraphProto(
            name=node.name or node.op_type,
            node=nodes,
            input=inputs,
            output=outputs,
            initializer=[t for t in whole.graph.initializer if t.name in wanted],
            sparse_initializer=[
                t for t in whole.graph.sparse_initializer if t.values.name in wanted
            ],
        ),
    )
    content: bytes = alone.SerializeToString()
    return content


def _reads(node: NodeProto) -> Iterator[str]:
    """Yield every tensor that a node needs, also what its branches and bodies take from outside."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        inner = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        for body in inner:
            yield from _taken_from_outside(body)


def _taken_from_outside(body: GraphProto) -> Iterator[str]:
    own = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
    for node in body.node:
        yield from (name for name in _reads(node) if name not in own)
        own.update(node.output)

    yield from (value.name for value in body.output if value.name not in own)


def _type_proto(text: str) -> TypeProto:
    """Return a type from the engine's words for it, of any shape.

    Raises:
      ValueError: it is of a kind that can't be given to a model.
    """
    for prefix, make in (
        ("seq(", helper.make_sequence_type_proto),
        ("optional(", helper.make_optional_type_proto),
    ):
        if text.startswith(prefix):
            made: TypeProto = make(_type_proto(text.removeprefix(prefix).removesuffix(")")))
            return made

    match = _TENSOR.fullmatch(text)
    if match is None:
        raise ValueError(f"a value of type {text} can't be given to an operator alone")

    name = _ELEMENTS.get(match[1], match[1].upper())
    tensor: TypeProto = helper.make_tensor_type_proto(onnx.TensorProto.DataType.Value(name), None)
    return tensor


def _shown(name: str, types: Mapping[str, str]) -> str:
    return cast_name(name) if types[name] in CASTS else name


def _record(
    graph: Graph, place: int, values: Mapping[str, Any], types: Mapping[str, str]
) -> Operator:
    operator = graph.operators[place]
    inputs = []
    for at, name in enumerate(operator.inputs):
        value = values[name] if name in values else graph.weight(name)
        if isinstance(value, np.ndarray):
            cast = CASTS.get(types[name]) if name in values else None
            inputs.append(Tensor(cast.restore(value) if cast else value, at, name))

    return Operator(
        op_type=operator.op_type,
        name=operator.name,
        task_id=place,
        inputs=inputs,
        attributes=graph.attributes_of(place),
    )
