"""From a tree and the environment to what is in force; what is faulty or without effect is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from aclasync.product import Product

from .dump_rules import parse_steps
from .environment import Environment
from .features import (
    AICORE_STACK,
    DEFAULT_DEVICE,
    DEFAULT_STATS,
    DUMP_DATA,
    DUMP_DEBUG,
    DUMP_KERNEL_DATA,
    DUMP_LEVEL,
    DUMP_MODE,
    DUMP_OP_SWITCH,
    DUMP_PATH,
    DUMP_SCENE,
    DUMP_STATS,
    DUMP_STEP,
    ERR_MSG_MODE,
    EVENT_MODE,
    EXCEPTION_SCENES,
    MAX_OPQUEUE_NUM,
    PROFILER,
    SIMD_FIFO,
    SIMT_DIVERGENCE_STACK,
    SIMT_FIFO,
    SIMT_STACK,
)
from .findings import json_path
from .keys import KeySpec
from .profiler_rules import is_on, sample_config, usable
from .settings import (
    BlackList,
    DumpSettings,
    DumpTarget,
    Effective,
    Origin,
    ProfilerSettings,
    Sourced,
)
from .value_rules import (
    device_number,
    fifo_bytes,
    op_queue_capacity,
    section,
    stack_bytes,
)

T = TypeVar("T")


def effective_values(root: dict[str, Any], environment: Environment, product: Product) -> Effective:
    """Compute what is in force on a product."""
    reader = _Reader(root, product)
    return Effective(
        err_msg_mode=reader.choice(ERR_MSG_MODE, 0),
        default_device=reader.sourced(DEFAULT_DEVICE, device_number, None),
        aicore_stack_bytes=reader.stack(AICORE_STACK),
        simt_stack_bytes=reader.stack(SIMT_STACK),
        simt_divergence_stack_bytes=reader.stack(SIMT_DIVERGENCE_STACK),
        simd_printf_fifo_bytes=reader.fifo(SIMD_FIFO),
        simt_printf_fifo_bytes=reader.fifo(SIMT_FIFO),
        op_queue_capacity=reader.sourced(
            MAX_OPQUEUE_NUM, op_queue_capacity, _default_of(MAX_OPQUEUE_NUM)
        ),
        event_mode=reader.choice(EVENT_MODE, None),
        dump=_dump_settings(section(root, "dump"), product),
        exception_dump_path=_exception_path(section(root, "dump"), environment),
        profiler=_profiler_settings(section(root, "profiler"), environment, product),
        environment=environment,
    )


class _Reader:
    def __init__(self, root: dict[str, Any], product: Product) -> None:
        self.root = root
        self.product = product

    def value(self, spec: KeySpec) -> Any:
        """Return what the tree says; None if the product pays no heed to the key."""
        if not spec.acts_on(self.product):
            return None

        above = self.root if len(spec.path) == 1 else section(self.root, spec.path[0])
        return above.get(spec.name)

    def sourced(self, spec: KeySpec, convert: Callable[[Any], T | None], default: T) -> Sourced[T]:
        value = convert(self.value(spec))
        if value is None:
            return Sourced(default)

        return Sourced(value, Origin.FILE, json_path(spec.path))

    def choice(self, spec: KeySpec, default: T) -> Sourced[int | T]:
        def number_of(value: Any) -> int | None:
            return int(value) if value in spec.allowed else None

        return self.sourced(spec, number_of, default)

    def stack(self, spec: KeySpec) -> Sourced[int]:
        return self.sourced(spec, lambda value: stack_bytes(spec, value), _default_of(spec))

    def fifo(self, spec: KeySpec) -> Sourced[int]:
        return self.sourced(spec, lambda value: fifo_bytes(spec, value), _default_of(spec))


def _default_of(spec: KeySpec) -> int:
    assert isinstance(spec.default, int)
    return spec.default


def _exception_path(dump: dict[str, Any], environment: Environment) -> Sourced[str]:
    if variable := environment.exception_path_variable:
        return Sourced(environment.given[variable], Origin.ENVIRONMENT, variable)

    path = _text(dump, DUMP_PATH)
    return Sourced(path, Origin.FILE, json_path(DUMP_PATH.path)) if path else Sourced("./")


def _profiler_settings(
    found: dict[str, Any], environment: Environment, product: Product
) -> Sourced[ProfilerSettings | None]:
    if product not in PROFILER.products:
        return Sourced(None)

    if variable := environment.profiler_variable:
        said = sample_config(environment)
        if said is None or not is_on(said):
            return Sourced(None)

        settings = ProfilerSettings(values=usable(said, product))
        return Sourced(settings, Origin.ENVIRONMENT, variable)

    if not is_on(found):
        return Sourced(None)

    settings = ProfilerSettings(values=usable(found, product))
    return Sourced(settings, Origin.FILE, json_path(PROFILER.path))


def _dump_settings(dump: dict[str, Any], product: Product) -> Sourced[DumpSettings | None]:
    scene = _choice(dump, DUMP_SCENE)
    path = _text(dump, DUMP_PATH)
    is_single_op = _is_on(dump, DUMP_OP_SWITCH, product)
    is_overflow = _is_on(dump, DUMP_DEBUG, product)
    is_exception = scene in EXCEPTION_SCENES
    is_data_dump = not (is_exception or is_overflow)
    items = _objects(dump, "dump_list") if is_data_dump else ()
    kernel_data = _kernel_data(dump, product) if path else frozenset()
    if not (scene or items or is_single_op or is_overflow or kernel_data):
        return Sourced(None)

    steps = _text(dump, DUMP_STEP) if is_data_dump else None
    stats = _texts(dump, DUMP_STATS.name)
    is_active = is_data_dump and bool(scene or items or is_single_op)
    if is_active and DUMP_KERNEL_DATA.name not in dump and product in DUMP_KERNEL_DATA.products:
        kernel_data = frozenset({"all"})

    settings = DumpSettings(
        scene=scene,
        path=path,
        # An overflow dump writes them all, whatever is said.
        mode="all" if is_overflow else _choice(dump, DUMP_MODE) or "output",
        level=_choice(dump, DUMP_LEVEL) or "all",
        data=_choice(dump, DUMP_DATA) or "tensor",
        stats=tuple(s for s in stats if s in DUMP_STATS.allowed) or DEFAULT_STATS,
        steps=parse_steps(steps) if steps else None,
        targets=tuple(map(_target, items)),
        kernel_data=kernel_data,
        is_single_op=is_single_op,
        is_overflow=is_overflow,
    )
    return Sourced(settings, Origin.FILE, "$.dump")


def _kernel_data(dump: dict[str, Any], product: Product) -> frozenset[str]:
    text = _text(dump, DUMP_KERNEL_DATA)
    if text is None or product not in DUMP_KERNEL_DATA.products:
        return frozenset()

    return frozenset(text.split(",")) & frozenset(DUMP_KERNEL_DATA.allowed)


def _is_on(dump: dict[str, Any], spec: KeySpec, product: Product) -> bool:
    return product in spec.products and dump.get(spec.name) == "on"


def _choice(dump: dict[str, Any], spec: KeySpec) -> str | None:
    text = _text(dump, spec)
    return text if text in spec.allowed else None


def _text(found: dict[str, Any], spec: KeySpec) -> str | None:
    return _said(found, spec.name)


def _target(item: dict[str, Any]) -> DumpTarget:
    return DumpTarget(
        model_name=_said(item, "model_name"),
        layers=_texts(item, "layer") or None,
        watcher_nodes=_texts(item, "watcher_nodes"),
        optype_blacklist=tuple(map(_blacklisted, _objects(item, "optype_blacklist"))),
        opname_blacklist=tuple(map(_blacklisted, _objects(item, "opname_blacklist"))),
        opname_ranges=tuple(
            (_said(entry, "begin") or "", _said(entry, "end") or "")
            for entry in _objects(item, "opname_range")
        ),
    )


def _blacklisted(entry: dict[str, Any]) -> BlackList:
    return BlackList(name=_said(entry, "name") or "", pos=_texts(entry, "pos"))


def _said(found: dict[str, Any], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) and value else None


def _texts(found: dict[str, Any], key: str) -> tuple[str, ...]:
    values = found.get(key)
    return tuple(v for v in values if isinstance(v, str)) if isinstance(values, list) else ()


def _objects(found: dict[str, Any], key: str) -> tuple[dict[str, Any], ...]:
    values = found.get(key)
    return tuple(v for v in values if isinstance(v, dict)) if isinstance(values, list) else ()
