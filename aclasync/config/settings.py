"""What is in force, as values: every setting with where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar, final

from attrs import fields, frozen

from .display import Brief, effective_html
from .environment import Environment
from .features import DEFAULT_STATS, EXCEPTION_SCENES

T = TypeVar("T")


@final
class Origin(Enum):
    """Where a value came from."""

    FILE = "configuration"
    ENVIRONMENT = "environment"
    DEFAULT = "default"
    ARGUMENT = "argument"


@final
@frozen
class Sourced(Generic[T]):
    """A value, where it came from, and the JSON path or variable that said it."""

    value: T
    origin: Origin = Origin.DEFAULT
    name: str = ""


@final
@frozen(kw_only=True)
class BlackList:
    """Operators left out, by `name`, and which of their tensors; all of them if `pos` is empty."""

    name: str
    pos: tuple[str, ...] = ()


@final
@frozen(kw_only=True, repr=False)
class DumpTarget(Brief):
    """One entry of dump_list."""

    model_name: str | None = None
    #: None for all.
    layers: tuple[str, ...] | None = None
    watcher_nodes: tuple[str, ...] = ()
    optype_blacklist: tuple[BlackList, ...] = ()
    opname_blacklist: tuple[BlackList, ...] = ()
    opname_ranges: tuple[tuple[str, str], ...] = ()


@final
@frozen(kw_only=True, repr=False)
class DumpSettings(Brief):
    """A dump that is switched on."""

    #: None for model, single-operator and overflow dumps; `watcher`, or an exception scene.
    scene: str | None = None
    path: str | None = None
    mode: str = "output"
    level: str = "all"
    data: str = "tensor"
    stats: tuple[str, ...] = DEFAULT_STATS
    #: First and last of every range; None for every step.
    steps: tuple[tuple[int, int], ...] | None = None
    targets: tuple[DumpTarget, ...] = ()
    kernel_data: frozenset[str] = frozenset()
    is_single_op: bool = False
    is_overflow: bool = False

    @property
    def is_data_dump(self) -> bool:
        """Whether tensors of runs that succeed are written."""
        chosen = bool(self.targets) or self.is_single_op or self.is_overflow
        return chosen and not self.is_exception

    @property
    def is_exception(self) -> bool:
        """Whether it waits for an operator to fail."""
        return self.scene in EXCEPTION_SCENES


@final
@frozen(kw_only=True)
class ProfilerSettings:
    """Profiling that is switched on: the keys of the section as they were written."""

    values: Mapping[str, Any]


@final
@frozen(kw_only=True)
class Effective:
    """Every value in force; what was faulty is at its default here."""

    err_msg_mode: Sourced[int]
    default_device: Sourced[int | None]
    aicore_stack_bytes: Sourced[int]
    #: Of one SIMT thread; the device reserves 32 times as much.
    simt_stack_bytes: Sourced[int]
    simt_divergence_stack_bytes: Sourced[int]
    simd_printf_fifo_bytes: Sourced[int]
    simt_printf_fifo_bytes: Sourced[int]
    op_queue_capacity: Sourced[int]
    event_mode: Sourced[int | None]
    dump: Sourced[DumpSettings | None]
    exception_dump_path: Sourced[str]
    profiler: Sourced[ProfilerSettings | None]
    environment: Environment

    def __rich_repr__(self) -> Iterator[tuple[str, Any]]:
        for name, sourced in self:
            if sourced.origin is not Origin.DEFAULT:
                yield name, sourced

    def _repr_html_(self) -> str:
        return effective_html(self)

    def __iter__(self) -> Iterator[tuple[str, Sourced[Any]]]:
        """Iterate over names and values, the environment left out."""
        for attribute in fields(Effective):
            value = getattr(self, attribute.name)
            if isinstance(value, Sourced):
                yield attribute.name, value
