"""The keys of the `profiler` section: a white list, for the reference refuses every other."""

from __future__ import annotations

from typing import Any

from aclasync.codes import AclCode
from aclasync.product import Product

from .keys import A2_A3, ALL, ONLY_950, KeySpec, Kind
from .steps import ConfigStep


def _key(name: str, kind: Kind, effect: str, **more: Any) -> KeySpec:
    return KeySpec(
        path=("profiler", name),
        kind=kind,
        effect=effect,
        step=ConfigStep.PROFILING,
        code=AclCode.INVALID_PARAM,
        **more,
    )


def _switch(name: str, effect: str, default: str = "off") -> KeySpec:
    return _key(name, Kind.TEXT, effect, allowed=("on", "off"), default=default)


def _frequency(name: str, effect: str, high: int, **more: Any) -> KeySpec:
    return _key(name, Kind.INTEGER, f"{effect}, Hz", low=1, high=high, **more)


_NOT_A2_A3 = ALL - A2_A3
_SOME = frozenset({Product.ATLAS_200I_500_A2, Product.ATLAS_INFERENCE})

SWITCH = _switch("switch", "on starts profiling")
OUTPUT = _key(
    "output",
    Kind.TEXT,
    "folder of the results; made if it is missing",
    default="ASCEND_WORK_PATH/profiling_data, or the folder of the interpreter",
    pattern="[^\\x00-\\x1f\\x7f\"'\\\\%><|&$;`]*",
    is_only_on=True,
    environment=("ASCEND_WORK_PATH",),
)
AIC_METRICS = _key(
    "aic_metrics",
    Kind.TEXT,
    "AI Core counters; Custom: with a list of event numbers, too",
    allowed=(
        "ArithmeticUtilization", "PipeUtilization", "PipeUtilizationExct",
        "PipelineExecuteUtilization", "ResourceConflictRatio", "PipeStallCycle", "Memory",
        "MemoryL0", "MemoryUB", "L2Cache", "ScalarRatio", "MemoryAccess",
    ),
    products_of_value={
        "PipelineExecuteUtilization": ONLY_950 | _SOME,
        "PipeStallCycle": _SOME,
        "ScalarRatio": ONLY_950 | _SOME,
    },
    default="PipeUtilization",
    pattern="Custom:(?:0[xX][0-9a-fA-F]+|[0-9]+)(?:,(?:0[xX][0-9a-fA-F]+|[0-9]+))*",
    high=70,
)  # fmt: skip
INSTR_PROFILING = _switch("instr_profiling", "instructions of AI Cores")
INSTR_PROFILING_FREQ = _key(
    "instr_profiling_freq", Kind.INTEGER, "cycles between two samples of instructions",
    default=1000, low=300, high=30000, is_only_on=True, products=_NOT_A2_A3 - ONLY_950,
)  # fmt: skip
STORAGE_LIMIT = _key(
    "storage_limit", Kind.TEXT, "size of the results, like 500MB", default="free space",
    low=200, high=4_294_967_295, is_only_on=True, pattern="[0-9]{1,12}MB",
)  # fmt: skip
OPTYPE = _key(
    "optype", Kind.TEXT, "only these operator types", default="all", high=256, is_only_on=True,
    products=_NOT_A2_A3, product_code=AclCode.INVALID_PARAM,
)  # fmt: skip
SYS_MEM_SERVICEFLOW = _key("sys_mem_serviceflow", Kind.TEXT, "memory by service flow", low=1)
HCCL = _switch("hccl", "communication; deprecated")

PROFILER_KEYS = (
    SWITCH,
    OUTPUT,
    AIC_METRICS,
    _switch("ascendcl", "time of acl calls", "on"),
    _switch("runtime_api", "time of runtime calls", "on"),
    _key(
        "task_time", Kind.TEXT, "time of tasks", allowed=("on", "off", "l0", "l1", "l2", "l3"),
        default="on",
    ),
    _key("ge_api", Kind.TEXT, "time of graph engine calls", allowed=("off", "l0", "l1"),
         default="off"),
    _switch("task_memory", "memory of operators"),
    _switch("aicpu", "operators on the AI CPU"),
    _switch("l2", "hit rate of the L2 cache"),
    HCCL,
    _switch("msproftx", "marks of the program"),
    _switch("task_tsfw", "task scheduler firmware"),
    INSTR_PROFILING,
    INSTR_PROFILING_FREQ,
    STORAGE_LIMIT,
    OPTYPE,
    _frequency("sys_hardware_mem_freq", "memory bandwidth", 100,
               high_on={Product.ASCEND_950: 10000}),
    SYS_MEM_SERVICEFLOW,
    _key("llc_profiling", Kind.TEXT, "last-level cache", allowed=("read", "write"),
         default="by chip"),
    _frequency("sys_io_sampling_freq", "network cards", 100),
    _frequency("sys_interconnection_freq", "links between devices", 50),
    _frequency("sys_cpu_freq", "CPUs of the device", 50),
    _frequency("dvpp_freq", "media processing", 100),
    _key(
        "host_sys", Kind.TEXT, "the host", is_list=True,
        allowed=("cpu", "mem", "disk", "network", "osrt", "numa"),
    ),
    _key("host_sys_usage", Kind.TEXT, "use of the host", is_list=True, allowed=("cpu", "mem")),
    _frequency("host_sys_usage_freq", "use of the host", 50),
    _frequency("sys_lp_freq", "low-power samples", 100, default=100),
)  # fmt: skip
