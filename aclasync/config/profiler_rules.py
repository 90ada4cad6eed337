"""The `profiler` section: a white list with a rule for each key.

Values are checked even while the switch is off, except for the keys marked `only_on`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, final

from aclasync.codes import AclCode
from aclasync.product import Product

from .check import MISSING, Drafts, kind_of, nearest
from .environment import Environment
from .features import ALL, PROFILER
from .findings import Path

METRICS_MAX_CHARS = 70
OPTYPE_MAX_CHARS = 256
STORAGE_MB = (200, 4_294_967_295)

#: Where `aic_metrics` differ by product, these have them all but what follows.
_COMMON_METRICS = (
    "ArithmeticUtilization", "PipeUtilization", "PipeUtilizationExct", "ResourceConflictRatio",
    "Memory", "MemoryL0", "MemoryUB", "L2Cache", "MemoryAccess",
)  # fmt: skip
_MORE_METRICS = {
    Product.ASCEND_950: ("PipelineExecuteUtilization", "ScalarRatio"),
    Product.ATLAS_200I_500_A2: ("PipelineExecuteUtilization", "PipeStallCycle", "ScalarRatio"),
    Product.ATLAS_INFERENCE: ("PipelineExecuteUtilization", "PipeStallCycle", "ScalarRatio"),
}
#: Products whose instruction profiling ignores `instr_profiling_freq`.
_NEW_INSTRUCTION_PROFILING = frozenset({Product.ATLAS_A2, Product.ATLAS_A3, Product.ASCEND_950})
_FAST_SAMPLING = frozenset({Product.ASCEND_950})
_OPTYPE_PRODUCTS = ALL - {Product.ATLAS_A2, Product.ATLAS_A3}

# The parser behind the reference's gets control characters as escapes, so with a backslash.
_FORBIDDEN_IN_FOLDER = re.compile("[\0-\x1f\x7f\"'\\\\%><|&$;`]")
_STORAGE = re.compile(r"([0-9]{1,12})MB")
_EVENT = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9]+)")


@final
class _Context(NamedTuple):
    product: Product
    found: dict[str, Any]
    drafts: Drafts

    def refuse(self, code: str, key: str, **args: Any) -> None:
        path: Path = ("profiler", key)
        self.drafts.error(code, path, PROFILER.step, AclCode.INVALID_PARAM, **args)

    def is_text(self, key: str, value: Any) -> bool:
        if isinstance(value, str):
            return True

        better = 'write "..."'
        self.refuse("E402", key, expected="a string", got=kind_of(value), better=better)
        return False

    def is_integer(self, key: str, value: Any) -> bool:
        if isinstance(value, int) and not isinstance(value, bool):
            return True

        better = "write digits without quotes and without a point"
        self.refuse("E402", key, expected="an integer", got=kind_of(value), better=better)
        return False

    def refuse_choice(self, key: str, value: str, allowed: tuple[str, ...]) -> None:
        better = nearest(value, allowed) or "the spelling must be exact"
        self.refuse("E403", key, value=value, allowed=allowed, better=better)


_Rule = Callable[[_Context, str, Any], None]


@final
class ProfilerKey(NamedTuple):
    """One accepted key."""

    name: str
    rule: _Rule
    effect: str
    default: str = "off"
    #: Looked at only while the switch is on.
    only_on: bool = False


def check_profiler(
    root: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
) -> None:
    """Check the section, unless the environment takes its place."""
    found = root.get("profiler", MISSING)
    if found is MISSING:
        return

    if (override := environment.profiling) is not None:
        variable, value = override
        drafts.warn("W026", PROFILER.path, variable=variable, value=value)
        return

    if not isinstance(found, dict):
        got = kind_of(found)
        drafts.error("E400", PROFILER.path, PROFILER.step, AclCode.INVALID_PARAM, got=got)
        return

    context = _Context(product, found, drafts)
    is_on = found.get("switch") == "on"
    for name, value in found.items():
        key = PROFILER_KEYS.get(name)
        if key is None:
            context.refuse("E401", name, better=nearest(name, PROFILER_KEYS) or "remove it")
        # The parser behind the reference's knows no escapes: a quote ends any string.
        elif isinstance(value, str) and '"' in value:
            context.refuse("E405", name, text='"')
        elif is_on or not key.only_on:
            key.rule(context, name, value)

    if "hccl" in found:
        drafts.warn("W031", ("profiler", "hccl"))


def _choice(*allowed: str) -> _Rule:
    def rule(context: _Context, key: str, value: Any) -> None:
        if context.is_text(key, value) and value and value not in allowed:
            context.refuse_choice(key, value, allowed)

    return rule


def _choices(*allowed: str) -> _Rule:
    def rule(context: _Context, key: str, value: Any) -> None:
        if context.is_text(key, value) and value and not set(value.split(",")) <= set(allowed):
            better = "separate several with single commas, without spaces"
            context.refuse("E403", key, value=value, allowed=allowed, better=better)

    return rule


def _frequency(high: int, fast_high: int | None = None) -> _Rule:
    def rule(context: _Context, key: str, value: Any) -> None:
        if not context.is_integer(key, value):
            return

        limit = fast_high if fast_high and context.product in _FAST_SAMPLING else high
        if not 1 <= value <= limit:
            context.refuse("E404", key, value=value, low=1, high=limit)

    return rule


def _instruction_frequency(context: _Context, key: str, value: Any) -> None:
    if not context.is_integer(key, value):
        return

    is_used = context.found.get("instr_profiling") == "on"
    if is_used and context.product in _NEW_INSTRUCTION_PROFILING:
        context.drafts.warn("W011", ("profiler", key), product=context.product.name)
    elif is_used and not 300 <= value <= 30000:
        context.refuse("E404", key, value=value, low=300, high=30000)


def metrics_of(product: Product) -> tuple[str, ...]:
    """Return the values of `aic_metrics` that a product has."""
    return (*_COMMON_METRICS, *_MORE_METRICS.get(product, ()))


def _metrics(context: _Context, key: str, value: Any) -> None:
    if not context.is_text(key, value):
        return

    if len(value) > METRICS_MAX_CHARS:
        context.refuse("E408", key, length=len(value), high=METRICS_MAX_CHARS)
        return

    prefix, colon, events = value.partition(":")
    if prefix == "Custom" and colon and all(map(_EVENT.fullmatch, events.split(","))):
        return

    allowed = metrics_of(context.product)
    if value and value not in allowed:
        context.refuse_choice(key, value, (*allowed, "Custom:0x1,0x2"))


def _folder(context: _Context, key: str, value: Any) -> None:
    # Anything but text means no folder, which is what the reference makes of it.
    if isinstance(value, str) and (match := _FORBIDDEN_IN_FOLDER.search(value)):
        context.refuse("E405", key, text=match[0])


def _storage(context: _Context, key: str, value: Any) -> None:
    if not context.is_text(key, value):
        return

    match = _STORAGE.fullmatch(value)
    low, high = STORAGE_MB
    if value and not (match and low <= int(match[1]) <= high):
        context.refuse("E406", key, value=value)


def _operator_types(context: _Context, key: str, value: Any) -> None:
    if not context.is_text(key, value):
        return

    if value and context.product not in _OPTYPE_PRODUCTS:
        context.refuse("E407", key, product=context.product.name)
    elif len(value) > OPTYPE_MAX_CHARS:
        context.refuse("E408", key, length=len(value), high=OPTYPE_MAX_CHARS)


def _some_text(context: _Context, key: str, value: Any) -> None:
    if context.is_text(key, value) and not value:
        context.refuse("E409", key)


_SWITCH = _choice("on", "off")

PROFILER_KEYS = {
    key.name: key
    for key in (
        ProfilerKey("switch", _SWITCH, "on starts profiling"),
        ProfilerKey(
            "output",
            _folder,
            "folder of the results",
            "the folder of the interpreter",
            only_on=True,
        ),
        ProfilerKey("aic_metrics", _metrics, "AI Core counters", "PipeUtilization"),
        ProfilerKey("ascendcl", _SWITCH, "time of acl calls", "on"),
        ProfilerKey("runtime_api", _SWITCH, "time of runtime calls", "on"),
        ProfilerKey(
            "task_time", _choice("on", "off", "l0", "l1", "l2", "l3"), "time of tasks", "on"
        ),
        ProfilerKey("ge_api", _choice("off", "l0", "l1"), "time of graph engine calls"),
        ProfilerKey("task_memory", _SWITCH, "memory of operators"),
        ProfilerKey("aicpu", _SWITCH, "operators on the AI CPU"),
        ProfilerKey("l2", _SWITCH, "hit rate of the L2 cache"),
        ProfilerKey("hccl", _SWITCH, "communication; deprecated"),
        ProfilerKey("msproftx", _SWITCH, "marks of the program"),
        ProfilerKey("task_tsfw", _SWITCH, "task scheduler firmware"),
        ProfilerKey("instr_profiling", _SWITCH, "instructions of AI Cores"),
        ProfilerKey(
            "instr_profiling_freq", _instruction_frequency, "300 to 30000", "1000", only_on=True
        ),
        ProfilerKey("storage_limit", _storage, "size of the results", "free space", only_on=True),
        ProfilerKey("optype", _operator_types, "only these operators", "all", only_on=True),
        ProfilerKey("sys_hardware_mem_freq", _frequency(100, 10000), "memory bandwidth, Hz"),
        ProfilerKey("sys_mem_serviceflow", _some_text, "memory by service flow"),
        ProfilerKey("llc_profiling", _choice("read", "write"), "last-level cache", "by chip"),
        ProfilerKey("sys_io_sampling_freq", _frequency(100), "network cards, Hz"),
        ProfilerKey("sys_interconnection_freq", _frequency(50), "links between devices, Hz"),
        ProfilerKey("sys_cpu_freq", _frequency(50), "CPUs of the device, Hz"),
        ProfilerKey("dvpp_freq", _frequency(100), "media processing, Hz"),
        ProfilerKey(
            "host_sys", _choices("cpu", "mem", "disk", "network", "osrt", "numa"), "the host"
        ),
        ProfilerKey("host_sys_usage", _choices("cpu", "mem"), "use of the host"),
        ProfilerKey("host_sys_usage_freq", _frequency(50), "use of the host, Hz"),
        ProfilerKey("sys_lp_freq", _frequency(100), "low-power data, Hz", "100"),
    )
}
