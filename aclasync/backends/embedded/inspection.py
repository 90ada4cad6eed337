"""A session that lets a dump look at the tensors inside a run.

The tensors that are wanted are outputs of a second session, with the engine's optimisation off so
that every operator and every name is there. What a caller gets is the first session's answer: it
is the same with a dump and without. A model whose second run would differ, or do something twice,
runs once, in the second session.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from .casts import CASTS, cast_name

if TYPE_CHECKING:
    from .graph import Graph
    from .ort import Session

_logger = logging.getLogger("aclasync.dump")

#: Opens a serialised model with nothing optimised.
OpenPlain = Callable[[bytes], "Session"]

#: Values of a run by name; what is no array has no place in a dump.
Values = Mapping[str, np.ndarray[Any, Any]]


class Observer(Protocol):
    """Who looks at runs."""

    @property
    def tensors(self) -> Iterable[str]:
        """The names of all tensors that it looks at."""
        ...

    def wants(self, step: int) -> bool:
        """Whether it looks at that run, counted from 0 for every loaded model."""
        ...

    def observe(self, step: int, values: Values) -> None:
        """Look at a run that is done; called on the thread that made it. Must not raise."""
        ...


@final
class Exposure:
    """A model's session that also returns tensors from inside."""

    def __init__(self, graph: Graph, names: Iterable[str], open_plain: OpenPlain) -> None:
        """Open it.

        Raises:
          DeviceError: the engine can't run the model with these outputs (100013).
        """
        wanted = dict.fromkeys(name for name in names if name)
        self._fed = [name for name in graph.inputs if name in wanted]
        weights = {name: graph.weight(name) for name in wanted if name not in self._fed}
        self._weights = {name: array for name, array in weights.items() if array is not None}
        made = [name for name in wanted if not {name} & {*self._fed, *self._weights}]
        inside = [name for name in made if name not in graph.outputs]
        session = open_plain(graph.with_outputs(inside, {}))
        types = {argument.name: argument.type for argument in session.get_outputs()}
        self._casts = {name: CASTS[types[name]] for name in made if types[name] in CASTS}
        if self._casts:
            inside = [name for name in made if name in self._casts or name not in graph.outputs]
            session = open_plain(graph.with_outputs(inside, self._casts))

        self._session = session
        self._outputs = graph.outputs
        # Each tensor that is looked at, by the name of the output that shows it.
        self._shown = {cast_name(n) if n in self._casts else n: n for n in made}
        self._fetched = [*dict.fromkeys((*self._outputs, *self._shown))]
        #: How many values of runs were no arrays, by what they were.
        self.skipped: Counter[str] = Counter()

    def run(self, feed: Mapping[str, Any]) -> tuple[list[Any], Values]:
        """Run once; return the model's outputs, and every tensor that is looked at.

        Raises:
          Exception: the run failed; the engine's exceptions share no narrower class.
        """
        values = dict(zip(self._fetched, self._session.run(self._fetched, feed), strict=True))
        tensors = dict(self._weights)
        tensors.update((name, feed[name]) for name in self._fed if name in feed)
        for shown, name in self._shown.items():
            value = values[shown]
            if not isinstance(value, np.ndarray):
                self.skipped[_kind_of(value)] += 1
            else:
                cast = self._casts.get(name)
                tensors[name] = value if cast is None else cast.restore(value)

        return [values[name] for name in self._outputs], tensors


@final
class InspectedSession:
    """Stands before a model's session; only there while something looks at its runs."""

    def __init__(
        self, plain: Session, exposure: Exposure, observer: Observer, *, is_repeatable: bool
    ) -> None:
        self._plain = plain
        self._exposure = exposure
        self._observer = observer
        self._is_repeatable = is_repeatable
        self._lock = threading.Lock()
        self._steps = itertools.count()
        self._has_warned = False

    def get_inputs(self) -> Sequence[Any]:
        """What `run` wants, in the model's order."""
        return self._plain.get_inputs()

    def get_outputs(self) -> Sequence[Any]:
        """What `run` returns, in the model's order."""
        return self._plain.get_outputs()

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Run once, and let it be looked at; return the outputs named, all of them for None.

        Raises:
          Exception: the run failed; the engine's exceptions share no narrower class.
        """
        with self._lock:
            step = next(self._steps)

        if not self._observer.wants(step):
            return self._plain.run(output_names, input_feed)

        if not self._is_repeatable:
            outputs, values = self._exposure.run(input_feed)
            self._observer.observe(step, values)
            names = [argument.name for argument in self._plain.get_outputs()]
            by_name = dict(zip(names, outputs, strict=True))
            return outputs if output_names is None else [by_name[n] for n in output_names]

        outputs = self._plain.run(output_names, input_feed)
        try:
            _, values = self._exposure.run(input_feed)
        except Exception as exc:  # noqa: BLE001 (its exceptions share no narrower class)
            self._exposure.skipped["runs that failed with their tensors shown"] += 1
            if not self._has_warned:
                self._has_warned = True
                _logger.warning("a run can't be dumped, its result is not affected: %s", exc)

            return outputs

        self._observer.observe(step, values)
        return outputs


def _kind_of(value: Any) -> str:
    if value is None:
        return "optional values that were not there"

    return "sequences" if isinstance(value, list) else f"values of type {type(value).__name__}"
