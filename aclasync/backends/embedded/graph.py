"""A model's graph as a dump sees it: its operators in order, its constants, and more outputs.

Operators inside the branches and bodies of If, Loop and Scan are part of that operator: only its
own inputs and outputs can be looked at. Needs onnx: imported only when something is dumped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, numpy_helper

from aclasync.dump.plan import GraphOperator
from aclasync.errors import AclCode, DeviceError

from .casts import cast_name

if TYPE_CHECKING:
    import numpy as np

    from .casts import Cast

_LOAD = "aclmdlLoadFromFile"

# Two runs of these differ.
_RANDOM = {
    *("Bernoulli", "Dropout", "Multinomial"),
    *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
}
# Operators of other domains may be anything, such as a function in Python that is called twice.
_KNOWN_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
# Values that a text for people shows of a long list.
_MOST_SHOWN = 64


@final
class Graph:
    """The main graph of a model."""

    def __init__(self, path: Path) -> None:
        """Read a model.

        Raises:
          DeviceError: ONNX can't read it (100013).
        """
        try:
            self._model = onnx.load(path, load_external_data=False)
        except Exception as exc:  # protobuf's own error, or the file system's
            raise DeviceError(AclCode.PARSE_MODEL, _LOAD, f"{path} is no ONNX: {exc}") from exc

        self._folder = path.parent
        graph = self._model.graph
        self._weights = {tensor.name: tensor for tensor in graph.initializer}
        # What is written in the file is no operator: nothing is computed.
        self.nodes: tuple[NodeProto, ...] = tuple(
            node for node in graph.node if node.op_type != "Constant"
        )
        self.operators: tuple[GraphOperator, ...] = tuple(
            GraphOperator(
                node.name or f"{node.op_type}_{at}",
                node.op_type,
                tuple(node.input),
                tuple(node.output),
            )
            for at, node in enumerate(graph.node)
            if node.op_type != "Constant"
        )

    @property
    def name(self) -> str:
        """What the graph calls itself."""
        return self._model.graph.name

    @property
    def model(self) -> ModelProto:
        """The whole of it, without weights that lie in other files."""
        return self._model

    @property
    def folder(self) -> Path:
        """Where weights in other files lie."""
        return self._folder

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of what a run is fed."""
        names = (value.name for value in self._model.graph.input)
        return tuple(name for name in names if name not in self._weights)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what a run returns."""
        return tuple(value.name for value in self._model.graph.output)

    @property
    def is_repeatable(self) -> bool:
        """Whether a second run gives the same, and does nothing but that."""
        nodes = [*self._model.graph.node, *_inner_nodes(self._model.graph)]
        nodes += (node for function in self._model.functions for node in function.node)
        functions = {(function.domain, function.name) for function in self._model.functions}
        return all(
            node.op_type not in _RANDOM
            and (node.domain in _KNOWN_DOMAINS or (node.domain, node.op_type) in functions)
            for node in nodes
        )

    @property
    def inner_operators(self) -> Mapping[str, str]:
        """The operator around every named operator of a branch or body."""
        return {
            inner.name: operator.name
            for node, operator in zip(self.nodes, self.operators, strict=True)
            for inner in _inner_nodes_of(node)
            if inner.name
        }

    def weight(self, name: str) -> np.ndarray[Any, Any] | None:
        """Return a tensor that the model comes with; None if it has none of that name.

        Raises:
          Exception: its data can't be read; onnx's exceptions share no narrower class.
        """
        tensor = self._weights.get(name)
        if tensor is None:
            return None

        array: np.ndarray[Any, Any] = numpy_helper.to_array(tensor, str(self._folder))
        return array

    def with_outputs(self, names: Iterable[str], casts: Mapping[str, Cast]) -> bytes:
        """Return the model with more outputs; those in `casts` under another name, in that type."""
        changed = ModelProto()
        changed.CopyFrom(self._model)
        for name in names:
            shown = name
            if name in casts:
                shown = cast_name(name)
                to = casts[name].crosses_as
                changed.graph.node.append(onnx.helper.make_node("Cast", [name], [shown], to=to))

            changed.graph.output.append(ValueInfoProto(name=shown))

        content: bytes = changed.SerializeToString()
        return content

    def attributes_of(self, place: int) -> dict[str, str]:
        """Return an operator's attributes as text."""
        return {a.name: _attribute_text(a) for a in self.nodes[place].attribute}


def _inner_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield from _inner_nodes_of(node)


def _inner_nodes_of(node: NodeProto) -> Iterator[NodeProto]:
    """Yield what is in the branches and bodies of an operator, at any depth."""
    for attribute in node.attribute:
        inner = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        for graph in inner:
            yield from graph.node
            yield from _inner_nodes(graph)


def _attribute_text(attribute: AttributeProto) -> str:
    kind = AttributeProto.AttributeType.Name(attribute.type)
    if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        return kind.lower()

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")

    if isinstance(value, onnx.TensorProto):
        return f"tensor {list(value.dims)} of type {value.data_type}"

    if isinstance(value, (list, tuple)) and len(value) > _MOST_SHOWN:
        return f"{list(value[:_MOST_SHOWN])} and {len(value) - _MOST_SHOWN} more"

    return str(value)
