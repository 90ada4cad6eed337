"""What is in force: every value of the configuration with where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar, final

from attrs import fields, frozen

from .dump_rules import parse_steps
from .environment import Environment
from .features import (
    AICORE_STACK,
    DEFAULT_DEVICE,
    DEFAULT_STATS,
    ERR_MSG_MODE,
    EVENT_MODE,
    EXCEPTION_SCENES,
    MAX_OPQUEUE_NUM,
    SIMD_FIFO,
    SIMT_DIVERGENCE_STACK,
    SIMT_FIFO,
    SIMT_STACK,
    KeySpec,
)
from .findings import json_path
from .value_rules import (
    device_number,
    fifo_bytes,
    op_queue_capacity,
    section,
    stack_bytes,
)

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
@frozen(kw_only=True)
class DumpTarget:
    """One entry of dump_list."""

    model_name: str | None = None
    #: None for all.
    layers: tuple[str, ...] | None = None
    watcher_nodes: tuple[str, ...] = ()
    optype_blacklist: tuple[BlackList, ...] = ()
    opname_blacklist: tuple[BlackList, ...] = ()
    opname_ranges: tuple[tuple[str, str], ...] = ()


@final
@frozen(kw_only=True)
class DumpSettings:
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

    def __iter__(self) -> Iterator[tuple[str, Sourced[Any]]]:
        """Iterate over names and values, the environment left out."""
        for attribute in fields(Effective):
            value = getattr(self, attribute.name)
            if isinstance(value, Sourced):
                yield attribute.name, value


def effective_values(root: dict[str, Any], environment: Environment) -> Effective:
    """Compute what is in force from a tree and the environment."""
    stacks = section(root, "StackSize")
    device = section(root, "defaultDevice").get("default_device")
    event_mode = section(root, "acl_graph").get("event_mode")
    mode = root.get("err_msg_mode")

    def stack(spec: KeySpec) -> Sourced[int]:
        return _or_default(spec, stack_bytes(spec, stacks.get(spec.name)))

    def fifo(spec: KeySpec) -> Sourced[int]:
        size = fifo_bytes(spec, root.get(spec.name))
        assert spec.low is not None
        assert spec.high is not None
        return _or_default(spec, size if size and spec.low <= size <= spec.high else None)

    return Effective(
        err_msg_mode=_said(ERR_MSG_MODE, int(mode), 0) if mode in ("0", "1") else Sourced(0),
        default_device=_said(DEFAULT_DEVICE, device_number(device), None),
        aicore_stack_bytes=stack(AICORE_STACK),
        simt_stack_bytes=stack(SIMT_STACK),
        simt_divergence_stack_bytes=stack(SIMT_DIVERGENCE_STACK),
        simd_printf_fifo_bytes=fifo(SIMD_FIFO),
        simt_printf_fifo_bytes=fifo(SIMT_FIFO),
        op_queue_capacity=_or_default(
            MAX_OPQUEUE_NUM, op_queue_capacity(root.get("max_opqueue_num"))
        ),
        event_mode=_said(EVENT_MODE, int(event_mode), None)
        if event_mode in ("0", "1")
        else Sourced(None),
        dump=_dump_settings(section(root, "dump")),
        exception_dump_path=_exception_path(section(root, "dump"), environment),
        profiler=_profiler_settings(section(root, "profiler"), environment),
        environment=environment,
    )


def _said(spec: KeySpec, value: T, default: T) -> Sourced[T]:
    if value is None:
        return Sourced(default)

    return Sourced(value, Origin.FILE, json_path(spec.path))


def _or_default(spec: KeySpec, value: int | None) -> Sourced[int]:
    if value is not None:
        return Sourced(value, Origin.FILE, json_path(spec.path))

    assert isinstance(spec.default, int)
    return Sourced(spec.default)


def _exception_path(dump: dict[str, Any], environment: Environment) -> Sourced[str]:
    if environment.collect_path:
        return Sourced(environment.collect_path, Origin.ENVIRONMENT, "NPU_COLLECT_PATH")

    if environment.work_path:
        return Sourced(environment.work_path, Origin.ENVIRONMENT, "ASCEND_WORK_PATH")

    path = _text(dump, "dump_path")
    return Sourced(path, Origin.FILE, "$.dump.dump_path") if path else Sourced("./")


def _profiler_settings(
    found: dict[str, Any], environment: Environment
) -> Sourced[ProfilerSettings | None]:
    if environment.profiler_sample_config or found.get("switch") != "on":
        return Sourced(None)

    return Sourced(ProfilerSettings(values=dict(found)), Origin.FILE, "$.profiler")


def _dump_settings(dump: dict[str, Any]) -> Sourced[DumpSettings | None]:
    scene = _text(dump, "dump_scene")
    items = dump.get("dump_list")
    is_single_op = dump.get("dump_op_switch") == "on"
    is_overflow = dump.get("dump_debug") == "on"
    if not (scene or items or is_single_op or is_overflow):
        return Sourced(None)

    stats = _texts(dump, "dump_stats")
    steps = _text(dump, "dump_step")
    kernel_data = _text(dump, "dump_kernel_data")
    is_data_dump = not is_overflow and scene in (None, "watcher")
    settings = DumpSettings(
        scene=scene,
        path=_text(dump, "dump_path"),
        mode=_text(dump, "dump_mode") or "output",
        level=_text(dump, "dump_level") or "all",
        data=_text(dump, "dump_data") or "tensor",
        stats=stats or DEFAULT_STATS,
        steps=parse_steps(steps) if steps else None,
        targets=tuple(map(_target, items)) if isinstance(items, list) else (),
        kernel_data=frozenset(kernel_data.split(","))
        if kernel_data
        else frozenset({"all"} if is_data_dump else ()),
        is_single_op=is_single_op,
        is_overflow=is_overflow,
    )
    return Sourced(settings, Origin.FILE, "$.dump")


def _target(item: Any) -> DumpTarget:
    found = item if isinstance(item, dict) else {}
    return DumpTarget(
        model_name=_text(found, "model_name"),
        layers=_texts(found, "layer") or None,
        watcher_nodes=_texts(found, "watcher_nodes"),
        optype_blacklist=tuple(map(_blacklisted, _objects(found, "optype_blacklist"))),
        opname_blacklist=tuple(map(_blacklisted, _objects(found, "opname_blacklist"))),
        opname_ranges=tuple(
            (_text(entry, "begin") or "", _text(entry, "end") or "")
            for entry in _objects(found, "opname_range")
        ),
    )


def _blacklisted(entry: dict[str, Any]) -> BlackList:
    return BlackList(name=_text(entry, "name") or "", pos=_texts(entry, "pos"))


def _text(found: dict[str, Any], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) and value else None


def _texts(found: dict[str, Any], key: str) -> tuple[str, ...]:
    values = found.get(key)
    return tuple(v for v in values if isinstance(v, str)) if isinstance(values, list) else ()


def _objects(found: dict[str, Any], key: str) -> tuple[dict[str, Any], ...]:
    values = found.get(key)
    return tuple(v for v in values if isinstance(v, dict)) if isinstance(values, list) else ()
