"""What a compiled operator is for, as a value that can be compared."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import onnx
from onnx import helper

from aclasync.errors import AclCode, DeviceError

if TYPE_CHECKING:
    from onnx import ModelProto

#: Element type and dimensions.
Tensor: TypeAlias = "tuple[np.dtype[Any], tuple[int | None, ...]]"


class Signature(NamedTuple):
    """What a model of one operator is for; a dynamic dimension is None."""

    op_type: str
    domain: str
    attributes: Hashable
    #: Element type and dimensions of every input; None for one that is left out.
    inputs: tuple[Tensor | None, ...]
    outputs: int

    @property
    def is_dynamic(self) -> bool:
        """Whether a dimension of it is."""
        return any(given is not None and None in given[1] for given in self.inputs)

    def with_any_size(self) -> Signature:
        """Return the same with every dimension dynamic."""
        inputs = tuple(given and (given[0], (None,) * len(given[1])) for given in self.inputs)
        return self._replace(inputs=inputs)

    def is_covered_by(self, other: Signature) -> bool:
        """Whether a model for `other` runs what this one is for, too."""
        return self._replace(inputs=()) == other._replace(inputs=()) and all(
            _covers(theirs, mine) for theirs, mine in zip_longest(other.inputs, self.inputs)
        )


def signature_of(model: ModelProto, name: str) -> Signature:
    """Return what a model of one operator is for.

    Raises:
      DeviceError: it has more than one, or weights (100025).
    """
    graph = model.graph
    if len(graph.node) != 1 or graph.initializer:
        detail = (
            f"{name}: {len(graph.node)} operators and {len(graph.initializer)} weights; a single "
            "operator is one, and all it works on are inputs"
        )
        raise DeviceError(AclCode.OP_LOAD_FAILED, "aclopLoad", detail)

    node = graph.node[0]
    given = {value.name: value.type.tensor_type for value in graph.input}
    inputs: list[Tensor | None] = []
    for text in node.input:
        tensor = given.get(text)
        if tensor is None:
            inputs.append(None)
            continue

        sizes = tuple(dim.dim_value or None for dim in tensor.shape.dim)
        inputs.append((helper.tensor_dtype_to_np_dtype(tensor.elem_type), sizes))

    attributes = {a.name: _plain(helper.get_attribute_value(a)) for a in node.attribute}
    domain = "" if node.domain == "ai.onnx" else node.domain
    return Signature(
        node.op_type, domain, attributes_key(attributes), tuple(inputs), len(node.output)
    )


def attributes_key(attributes: Mapping[str, Any]) -> Hashable:
    """Return attributes as something that is equal for those that mean the same."""
    return tuple(sorted((name, _key(value)) for name, value in attributes.items()))


def _key(value: Any) -> tuple[str, Hashable]:
    kind = type(value).__name__
    if isinstance(value, (float, np.floating)):
        # As ONNX keeps it; every NaN is the same one there.
        return "float", struct.pack("<f", value)

    if isinstance(value, np.ndarray):
        return str(value.dtype), (value.shape, value.tobytes())

    if isinstance(value, (list, tuple)):
        return "list", tuple(map(_key, value))

    return kind, value if isinstance(value, (int, str, bytes)) else repr(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="surrogateescape")

    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)

    return list(map(_plain, value)) if isinstance(value, Sequence) else value


def _covers(mine: Tensor | None, theirs: Tensor | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs

    same_rank = len(mine[1]) == len(theirs[1])
    sizes = zip(mine[1], theirs[1], strict=False)
    return mine[0] == theirs[0] and same_rank and all(a in (None, b) for a, b in sizes)
