"""Models with operators in Python: cut into pieces around them, and run piece by piece.

A node belongs to the piece after the last Python operator that it needs, so there are no more
pieces than Python operators in a row. Types that only a Python operator can tell are known once it
has run: the piece behind it is compiled then, once for every combination of element types.

Needs onnx: imported only when a device has Python operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final

import onnx
import onnx.inliner
import onnx.shape_inference
from attrs import frozen
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto

from aclasync.errors import AclCode, DeviceError

if TYPE_CHECKING:
    from .kernels import Kernels, PythonKernel
    from .ort import Argument, Session

_LOAD = "aclmdlLoadFromFile"
_EXECUTE = "aclmdlExecute"

#: Opens a serialised piece.
OpenPiece = Callable[[bytes], "Session"]


def split_model(
    source: Path | bytes, kernels: Kernels, *, open_piece: OpenPiece, name: str
) -> SegmentedSession | None:
    """Return a session that runs `source` around its Python operators; None if it has none.

    Raises:
      DeviceError: it is no usable model, or has a Python operator in a loop or branch (100013).
    """
    folder = "" if isinstance(source, bytes) else str(source.parent)
    try:
        if isinstance(source, bytes):
            model = onnx.load_from_string(source)
        else:
            model = onnx.load(source, load_external_data=False)
    except Exception as exc:  # protobuf's own error, or the file system's
        raise DeviceError(AclCode.PARSE_MODEL, _LOAD, f"{name} is no usable model: {exc}") from exc

    if model.functions:
        model = onnx.inliner.inline_local_functions(model)

    for inner in _inner_graphs(model.graph):
        for node in inner.node:
            if kernels.find(node.domain, node.op_type) is not None:
                detail = (
                    f"{name}: the Python operator {_title(node)} is inside a loop or branch, "
                    "where the engine can't call it; move it out"
                )
                raise DeviceError(AclCode.PARSE_MODEL, _LOAD, detail)

    found = [kernels.find(node.domain, node.op_type) for node in model.graph.node]
    if not any(found):
        return None

    return SegmentedSession(model, found, open_piece=open_piece, folder=folder)


@final
@frozen
class _Argument:
    name: str
    type: str
    shape: tuple[int | str | None, ...]


class _Step(Protocol):
    """Takes values by name and adds its own."""

    def run(self, values: dict[str, Any]) -> None: ...


@final
class SegmentedSession:
    """Several engine sessions with Python operators between them, in the shape of one session."""

    def __init__(
        self,
        model: ModelProto,
        kernels: Sequence[PythonKernel | None],
        *,
        open_piece: OpenPiece,
        folder: str,
    ) -> None:
        graph = model.graph
        weights = {tensor.name: tensor for tensor in graph.initializer}
        self._inputs = [_argument(value) for value in graph.input if value.name not in weights]
        self._outputs = [_argument(value) for value in graph.output]
        outputs = {value.name for value in graph.output}
        called = [node for node, kernel in zip(graph.node, kernels, strict=True) if kernel]
        # Weights that no piece holds: a Python operator reads them, or they are an output.
        shown = outputs.union(*(node.input for node in called)) & set(weights)
        self._weights = {
            name: onnx.numpy_helper.to_array(weights[name], folder) for name in sorted(shown)
        }
        levels = _levels(graph, kernels)
        types = _types_of(model)
        self._steps: list[_Step] = []
        for level in range(max(levels) + 1):
            here = [at for at, its_level in enumerate(levels) if its_level == level]
            plain = [at for at in here if kernels[at] is None]
            if plain:
                others = (n for at, n in enumerate(graph.node) if at not in set(plain))
                wanted = outputs.union(*map(_reads, others))
                piece = _cut(model, [graph.node[at] for at in plain], wanted)
                self._steps.append(_Piece(piece, types, open_piece=open_piece))

            for at in here:
                kernel = kernels[at]
                if kernel is not None:
                    self._steps.append(_Call(graph.node[at], kernel, folder))

    def get_inputs(self) -> Sequence[Argument]:
        """What `run` wants, in the model's order."""
        return self._inputs

    def get_outputs(self) -> Sequence[Argument]:
        """What `run` returns, in the model's order."""
        return self._outputs

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Run every piece once and return the outputs named, all of them for None.

        Raises:
          DeviceError: a Python operator failed.
          Exception: the engine failed.
        """
        values = {**self._weights, **input_feed}
        for step in self._steps:
            step.run(values)

        names = [output.name for output in self._outputs] if output_names is None else output_names
        return [values[name] for name in names]


@final
class _Call:
    """One Python operator."""

    def __init__(self, node: NodeProto, kernel: PythonKernel, folder: str) -> None:
        self._kernel = kernel
        self._name = node.name or (node.output[0] if node.output else node.op_type)
        self._inputs = tuple(node.input)
        self._outputs = tuple(node.output)
        self._attributes = {a.name: _attribute(a, folder) for a in node.attribute}

    def run(self, values: dict[str, Any]) -> None:
        inputs = [values[name] if name else None for name in self._inputs]
        outputs = self._kernel.call(
            inputs, self._attributes, name=self._name, outputs=len(self._outputs)
        )
        values.update((n, v) for n, v in zip(self._outputs, outputs, strict=False) if n)


@final
class _Piece:
    """Nodes that the engine runs at one go."""

    def __init__(
        self,
        model: ModelProto,
        types: Mapping[str, TypeProto],
        *,
        open_piece: OpenPiece,
    ) -> None:
        self._model = model
        self._open = open_piece
        self._inputs = [value.name for value in model.graph.input]
        self._outputs = [value.name for value in model.graph.output]
        self._sessions: dict[tuple[int, ...], Session] = {}
        self._types = types
        known = [types.get(name) for name in self._inputs]
        self._open_types: list[str] = []
        if None in known:
            self._open_types = [n for n, t in zip(self._inputs, known, strict=True) if t is None]
        else:
            # What can be wrong with it is told when the model is loaded, not in its first run.
            self._sessions[()] = self._compile({})

    def run(self, values: dict[str, Any]) -> None:
        given = tuple(_element_type(values[name]) for name in self._open_types)
        session = self._sessions.get(given)
        if session is None:
            kinds = dict(zip(self._open_types, given, strict=True))
            session = self._sessions[given] = self._compile(kinds)

        feed = {name: values[name] for name in self._inputs if name in values}
        outputs = session.run(self._outputs, feed)
        values.update(zip(self._outputs, outputs, strict=True))

    def _compile(self, kinds: Mapping[str, int]) -> Session:
        model = ModelProto()
        model.CopyFrom(self._model)
        for value in model.graph.input:
            if value.name in kinds:
                value.type.CopyFrom(onnx.helper.make_tensor_type_proto(kinds[value.name], None))
            else:
                value.type.CopyFrom(self._types[value.name])

        return self._open(model.SerializeToString())


def has_weights_elsewhere(content: bytes) -> bool:
    """Whether a serialised model has weights in other files; False for what is no model."""
    try:
        model = onnx.load_from_string(content)
    except Exception:  # noqa: BLE001  # protobuf's own error; the engine will say it better
        return False

    graphs = (model.graph, *_inner_graphs(model.graph))
    tensors = (tensor for graph in graphs for tensor in (*graph.initializer, *_constants(graph)))
    return any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in tensors)


def _constants(graph: GraphProto) -> Iterator[onnx.TensorProto]:
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)


def _cut(model: ModelProto, nodes: Sequence[NodeProto], wanted: set[str]) -> ModelProto:
    """Return a model of these nodes alone; its inputs have no types yet."""
    made = {name for node in nodes for name in node.output}
    read = set[str]().union(*map(_reads, nodes))
    graph = model.graph
    weights = [tensor for tensor in graph.initializer if tensor.name in read]
    defaults = {value.name for value in graph.input} & {tensor.name for tensor in weights}
    piece = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    needed = read - made - {tensor.name for tensor in weights} | defaults
    piece.graph.CopyFrom(
        GraphProto(
            name=graph.name,
            node=nodes,
            initializer=weights,
            sparse_initializer=[t for t in graph.sparse_initializer if t.values.name in read],
            input=[ValueInfoProto(name=name) for name in sorted(needed) if name],
            output=[ValueInfoProto(name=name) for name in sorted(made & wanted) if name],
        )
    )
    return piece


def _levels(graph: GraphProto, kernels: Sequence[PythonKernel | None]) -> list[int]:
    """Return for each node after how many Python operators in a row it can run."""
    level_of: dict[str, int] = {}
    levels = []
    for node, kernel in zip(graph.node, kernels, strict=True):
        level = max((level_of.get(name, 0) for name in _reads(node)), default=0)
        levels.append(level)
        for name in node.output:
            level_of[name] = level + (kernel is not None)

    return levels


def _reads(node: NodeProto) -> set[str]:
    """Return what a node reads, the graphs inside it included."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs) if _is_graph(attribute) else ():
            # What it gives back need not be made inside.
            read = {value.name for value in graph.output}.union(*map(_reads, graph.node))
            made = {name for inner in graph.node for name in inner.output}
            given = {value.name for value in graph.input} | {w.name for w in graph.initializer}
            names |= read - made - given

    return names


def _inner_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if _is_graph(attribute) else ():
                yield inner
                yield from _inner_graphs(inner)


def _is_graph(attribute: AttributeProto) -> bool:
    return attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def _types_of(model: ModelProto) -> dict[str, TypeProto]:
    """Return the types that are known before anything runs."""
    inferred = onnx.shape_inference.infer_shapes(model)
    values = (*inferred.graph.input, *inferred.graph.output, *inferred.graph.value_info)
    return {
        value.name: value.type
        for value in values
        if value.type.WhichOneof("value") != "tensor_type" or value.type.tensor_type.elem_type
    }


def _argument(value: ValueInfoProto) -> _Argument:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return _Argument(value.name, str(kind or "unknown").removesuffix("_type"), ())

    tensor = value.type.tensor_type
    name = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    shape = tuple(
        dim.dim_value if dim.WhichOneof("value") == "dim_value" else dim.dim_param or None
        for dim in tensor.shape.dim
    )
    return _Argument(value.name, f"tensor({name})", shape)


def _element_type(value: Any) -> int:
    """Return ONNX's number for the type of what a Python operator gave.

    Raises:
      DeviceError: the engine has no such type (100026).
    """
    try:
        return onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    except (AttributeError, KeyError, ValueError) as exc:
        what = getattr(value, "dtype", type(value).__name__)
        detail = f"a Python operator gave {what}, which the engine can't take"
        raise DeviceError(AclCode.UNSUPPORTED_DATA_TYPE, _EXECUTE, detail) from exc


def _attribute(attribute: AttributeProto, folder: str) -> Any:
    """Return an attribute as a kernel gets it: numbers, strings, arrays, and lists of them."""
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.TENSOR:
        return onnx.numpy_helper.to_array(value, folder)

    if attribute.type == AttributeProto.STRING:
        return value.decode()

    if attribute.type == AttributeProto.STRINGS:
        return [text.decode() for text in value]

    return list(value) if isinstance(value, Sequence) else value


def _title(node: NodeProto) -> str:
    return f"{node.op_type} ({node.name})" if node.name else node.op_type
