"""From the values of a run to the operators that are written: chosen, watched or overflowing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .format import Operator, Tensor
from .plan import Choice, GraphOperator, Plan

Values = Mapping[str, np.ndarray[Any, Any]]


def chosen(
    plan: Plan, operators: Sequence[GraphOperator], values: Values, *, stream_id: int = 0
) -> Iterator[Operator]:
    """Yield every operator of a plan with those of its tensors that there are values for."""
    for choice in plan.choices:
        record = _record(choice, operators[choice.operator], values, stream_id)
        if record.tensors:
            yield record

    for watch in plan.watches:
        watched, after = operators[watch.watched], operators[watch.after]
        place = Choice(watch.after, outputs=tuple(range(len(watched.outputs))))
        name = watched.name
        if watch.after != watch.watched:
            name = f"{watched.name}_after_{after.name}"

        record = _record(place, watched, values, stream_id, name=name)
        if record.tensors:
            yield record


def overflowing(
    plan: Plan, operators: Sequence[GraphOperator], values: Values, *, stream_id: int = 0
) -> Iterator[Operator]:
    """Yield the operators of a plan that made something infinite, or no number, of finite inputs.

    An operator with an input that there is no value for is judged by the others.
    """
    is_finite = {name: _is_finite(array) for name, array in values.items()}
    for choice in plan.choices:
        operator = operators[choice.operator]
        is_bad = any(not is_finite.get(name, True) for name in operator.outputs)
        if is_bad and all(is_finite.get(name, True) for name in operator.inputs):
            yield _record(choice, operator, values, stream_id)


def overflows(inputs: Sequence[np.ndarray[Any, Any]], outputs: Sequence[Any]) -> bool:
    """Whether an operator made something infinite, or no number, of finite inputs."""
    arrays = [output for output in outputs if isinstance(output, np.ndarray)]
    return not all(map(_is_finite, arrays)) and all(map(_is_finite, inputs))


def _record(
    choice: Choice, operator: GraphOperator, values: Values, stream_id: int, name: str = ""
) -> Operator:
    inputs = [(at, operator.inputs[at]) for at in choice.inputs if operator.inputs[at] in values]
    outputs = [
        (at, operator.outputs[at]) for at in choice.outputs if operator.outputs[at] in values
    ]
    return Operator(
        op_type=operator.op_type,
        name=name or operator.name,
        original_name=operator.name,
        task_id=choice.operator,
        stream_id=stream_id,
        inputs=[Tensor(values[key], at, key) for at, key in inputs],
        outputs=[Tensor(values[key], at, key) for at, key in outputs],
    )


def _is_finite(array: np.ndarray[Any, Any]) -> bool:
    # The floats that numpy has not are of its kind V, as are the small integers.
    is_float = array.dtype.kind in "fc" or array.dtype.name.startswith(("bfloat", "float"))
    return not is_float or bool(np.isfinite(array).all())
