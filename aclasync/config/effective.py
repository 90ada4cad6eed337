"""What is in force: every value of the configuration with where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar, final

from attrs import fields, frozen

from .check import is_of
from .dump_rules import parse_steps
from .environment import Environment
from .features import (
    AICORE_STACK,
    DEFAULT_DEVICE,
    DEFAULT_STATS,
    DUMP_LIST,
    DUMP_PATH,
    DUMP_STATS,
    DUMP_TEXTS,
    ERR_MSG_MODE,
    EVENT_MODE,
    EXCEPTION_SCENES,
    MAX_OPQUEUE_NUM,
    PROFILER,
    SIMD_FIFO,
    SIMT_DIVERGENCE_STACK,
    SIMT_FIFO,
    SIMT_STACK,
    KeySpec,
)
from .findings import Path, json_path
from .profiler_rules import PROFILER_KEYS
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
@frozen
class Statement:
    """One value in force as messages say it."""

    path: Path
    value: Any
    origin: Origin
    #: The variable that said it, if one did.
    variable: str = ""


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
        return _or_default(spec, fifo_bytes(spec, root.get(spec.name)))

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


_PATHS: dict[str, Path] = {
    "err_msg_mode": ERR_MSG_MODE.path,
    "default_device": DEFAULT_DEVICE.path,
    "aicore_stack_bytes": AICORE_STACK.path,
    "simt_stack_bytes": SIMT_STACK.path,
    "simt_divergence_stack_bytes": SIMT_DIVERGENCE_STACK.path,
    "simd_printf_fifo_bytes": SIMD_FIFO.path,
    "simt_printf_fifo_bytes": SIMT_FIFO.path,
    "op_queue_capacity": MAX_OPQUEUE_NUM.path,
    "event_mode": EVENT_MODE.path,
}


def statements(effective: Effective, root: dict[str, Any]) -> Iterator[Statement]:
    """Say every value in force with its origin, sections that are on key by key."""
    for name, path in _PATHS.items():
        sourced: Sourced[Any] = getattr(effective, name)
        yield Statement(path, sourced.value, sourced.origin)

    yield from _dump_statements(effective, section(root, "dump"))
    yield from _profiler_statements(effective, section(root, "profiler"))


def _dump_statements(effective: Effective, dump: dict[str, Any]) -> Iterator[Statement]:
    settings = effective.dump.value
    is_exception = settings is not None and settings.is_exception
    if is_exception or effective.environment.collect_path:
        folder = effective.exception_dump_path
        variable = folder.name if folder.origin is Origin.ENVIRONMENT else ""
        yield Statement(DUMP_PATH.path, folder.value, folder.origin, variable)

    if settings is None:
        yield Statement(("dump",), "off", Origin.DEFAULT)
        return

    for spec in (*DUMP_TEXTS, DUMP_STATS, DUMP_LIST):
        value = dump.get(spec.name)
        values: list[Any] = value if isinstance(value, list) else [value]
        if value and is_of(spec.kind, value) and (not spec.allowed or _are_in(values, spec)):
            if not (is_exception and spec is DUMP_PATH):
                said = f"{len(value)} entries" if spec is DUMP_LIST else ", ".join(values)
                yield Statement(spec.path, said, Origin.FILE)
        elif spec.default is not None:
            yield Statement(spec.path, spec.default, Origin.DEFAULT)


def _are_in(values: list[str], spec: KeySpec) -> bool:
    pieces = (piece for value in values for piece in value.split(","))
    return all(piece in spec.allowed for piece in pieces)


def _profiler_statements(effective: Effective, found: dict[str, Any]) -> Iterator[Statement]:
    if effective.profiler.value is None:
        override = effective.environment.profiling
        if override is None:
            yield Statement(PROFILER.path, "off", Origin.DEFAULT)
        else:
            yield Statement(PROFILER.path, override[1], Origin.ENVIRONMENT, override[0])

        return

    for name, key in PROFILER_KEYS.items():
        path = ("profiler", name)
        if found.get(name) not in (None, ""):
            yield Statement(path, found[name], Origin.FILE)
        elif name == "output" and effective.environment.work_path:
            folder = f"{effective.environment.work_path}/profiling_data"
            yield Statement(path, folder, Origin.ENVIRONMENT, "ASCEND_WORK_PATH")
        else:
            yield Statement(path, key.default, Origin.DEFAULT)


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
    if environment.exception_folder is not None:
        variable, folder = environment.exception_folder
        return Sourced(folder, Origin.ENVIRONMENT, variable)

    path = _text(dump, "dump_path")
    return Sourced(path, Origin.FILE, "$.dump.dump_path") if path else Sourced("./")


def _profiler_settings(
    found: dict[str, Any], environment: Environment
) -> Sourced[ProfilerSettings | None]:
    if environment.profiling is not None or found.get("switch") != "on":
        return Sourced(None)

    return Sourced(ProfilerSettings(values=dict(found)), Origin.FILE, "$.profiler")


def _dump_settings(dump: dict[str, Any]) -> Sourced[DumpSettings | None]:
    scene = _text(dump, "dump_scene")
    items = dump.get("dump_list")
    is_single_op = dump.get("dump_op_switch") == "on"
    is_overflow = dump.get("dump_debug") == "on"
    kernel_data = _text(dump, "dump_kernel_data")
    if not (scene or items or is_single_op or is_overflow or kernel_data):
        return Sourced(None)

    stats = _texts(dump, "dump_stats")
    steps = _text(dump, "dump_step")
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
