"""The thirteen features as data: keys, spelling, bounds, rounding, products, environment.

The rules take their tables from here, and so do the documentation, the JSON Schema and the
command line; a number that stands here stands nowhere else. Source: the documentation of aclInit
and what the reference was seen to do.
"""

from __future__ import annotations

import itertools
from typing import Any

from aclasync.codes import AclCode
from aclasync.product import Product

from .keys import (
    A2_A3,
    ALL,
    ALL_BUT_IPV350,
    BUILT_WITH_O0,
    KIB,
    MIB,
    ONLY_950,
    FeatureSpec,
    KeySpec,
    Kind,
)
from .profiler_keys import PROFILER_KEYS
from .steps import ConfigStep


def _dump(name: str, kind: Kind, effect: str, **more: Any) -> KeySpec:
    return KeySpec(
        path=("dump", *name.split(".")),
        kind=kind,
        effect=effect,
        step=ConfigStep.DUMP,
        code=AclCode.INVALID_DUMP_CONFIG,
        **more,
    )


def _item(name: str, kind: Kind, effect: str, **more: Any) -> KeySpec:
    return _dump(f"dump_list.[].{name}", kind, effect, **more)


ON_OFF = ("on", "off")
STATS = ("Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm")
DEFAULT_STATS = STATS[:6]
EXCEPTION_SCENES = (
    "lite_exception",
    "aic_err_brief_dump",
    "aic_err_norm_dump",
    "aic_err_detail_dump",
)
KERNEL_DATA = ("all", "printf", "tensor", "assert", "timestamp")

DUMP_PATH = _dump(
    "dump_path",
    Kind.TEXT,
    "folder that dumps are written to; it must exist, except for exception dumps",
    high=512,
    environment=("NPU_COLLECT_PATH", "ASCEND_WORK_PATH"),
)
DUMP_MODE = _dump(
    "dump_mode",
    Kind.TEXT,
    "which tensors of an operator",
    allowed=("input", "output", "all"),
    default="output",
)
DUMP_OP_SWITCH = _dump(
    "dump_op_switch",
    Kind.TEXT,
    "dump single operators, too",
    allowed=ON_OFF,
    default="off",
    products=ALL_BUT_IPV350,
)
DUMP_LEVEL = _dump(
    "dump_level",
    Kind.TEXT,
    "operators of the graph, kernels, or both",
    allowed=("op", "kernel", "all"),
    default="all",
)
DUMP_SCENE = _dump(
    "dump_scene",
    Kind.TEXT,
    "what makes a dump: an exception, or the watcher",
    allowed=(*EXCEPTION_SCENES, "watcher"),
    products_of_value={"aic_err_detail_dump": A2_A3 | ONLY_950},
    product_code=AclCode.INTERNAL_ERROR,
)
DUMP_DATA = _dump(
    "dump_data",
    Kind.TEXT,
    "whole tensors, or statistics of them",
    allowed=("tensor", "stats"),
    default="tensor",
)
DUMP_DEBUG = _dump(
    "dump_debug", Kind.TEXT, "dump operators that overflow", allowed=ON_OFF, default="off"
)
DUMP_KERNEL_DATA = _dump(
    "dump_kernel_data",
    Kind.TEXT,
    "output of kernels: a comma list",
    allowed=KERNEL_DATA,
    is_list=True,
    default="all while a data dump is active",
    products=ALL - {Product.ATLAS_TRAINING, Product.IPV350},
)
#: A step, or the first and the last of a range.
STEP_RANGE = "([0-9]+)(?:-([0-9]+))?"
DUMP_STEP = _dump(
    "dump_step",
    Kind.TEXT,
    "which inferences: at most 100 steps and ranges like 0|3-5",
    high=100,
    pattern=rf"{STEP_RANGE}(?:\|{STEP_RANGE}){{0,99}}",
)
DUMP_STATS = _dump(
    "dump_stats", Kind.TEXTS, "which statistics", allowed=STATS, default=", ".join(DEFAULT_STATS)
)
DUMP_LIST = _dump("dump_list", Kind.OBJECTS, "which models and layers; an empty entry means all")
ITEM_KEYS = (
    _item("model_name", Kind.TEXT, "the model; every one without it"),
    _item("layer", Kind.TEXTS, "operators by name; all without it"),
    _item("watcher_nodes", Kind.TEXTS, "operators that the watcher writes"),
    _item("optype_blacklist", Kind.OBJECTS, "operator types left out", high=100),
    _item("opname_blacklist", Kind.OBJECTS, "operators left out", high=100),
    _item("opname_range", Kind.OBJECTS, "operators from begin to end"),
)
#: Members of the objects in an entry's arrays.
ENTRY_KEYS = {
    name: (
        _item(f"{name}.[].name", Kind.TEXT, "the operator"),
        _item(f"{name}.[].pos", Kind.TEXTS, "which of its tensors, like input0; all without it"),
    )
    for name in ("optype_blacklist", "opname_blacklist")
} | {
    "opname_range": (
        _item("opname_range.[].begin", Kind.TEXT, "the first operator"),
        _item("opname_range.[].end", Kind.TEXT, "the last one"),
    )
}

MAX_OPQUEUE_NUM = KeySpec(
    path=("max_opqueue_num",),
    kind=Kind.TEXT,
    code=AclCode.SUCCESS,
    step=ConfigStep.READ,
    default=20000,
    pattern="0*[1-9][0-9]{0,17}",
    effect="compiled single operators kept, fixed and dynamic shapes apart",
    products=ALL_BUT_IPV350,
)
ERR_MSG_MODE = KeySpec(
    path=("err_msg_mode",),
    kind=Kind.TEXT,
    code=AclCode.INVALID_PARAM,
    step=ConfigStep.ERR_MSG_MODE,
    allowed=("0", "1"),
    default="0",
    effect="recent error text per thread (0) or per process (1)",
    products=ALL_BUT_IPV350,
)
DEFAULT_DEVICE = KeySpec(
    path=("defaultDevice", "default_device"),
    kind=Kind.TEXT,
    code=AclCode.FAILURE,
    step=ConfigStep.DEFAULT_DEVICE,
    effect="device used when none was opened",
    pattern="0|[1-9][0-9]*",
    products=ALL_BUT_IPV350,
    environment=("ASCEND_RT_VISIBLE_DEVICES",),
)
AICORE_STACK = KeySpec(
    path=("StackSize", "aicore_stack_size"),
    kind=Kind.NUMBER,
    code=AclCode.FAILURE,
    step=ConfigStep.STACK_SIZE,
    effect="stack of an AI Core, in bytes",
    default=32 * KIB,
    low=32 * KIB,
    multiple=16 * KIB,
    products=ONLY_950 | BUILT_WITH_O0,
    undocumented_on=frozenset({Product.ATLAS_INFERENCE, Product.ATLAS_TRAINING}),
    high=192 * KIB,
    high_on={Product.ASCEND_950: 128 * KIB, Product.ATLAS_200I_500_A2: 7680 * KIB},
)
SIMT_STACK = KeySpec(
    path=("StackSize", "simt_stack_size"),
    kind=Kind.NUMBER,
    code=AclCode.FAILURE,
    step=ConfigStep.STACK_SIZE,
    effect="stack of a SIMT thread, in bytes",
    default=1152,
    multiple=128,
    products=ONLY_950,
)
SIMT_DIVERGENCE_STACK = KeySpec(
    path=("StackSize", "simt_divergence_stack_size"),
    kind=Kind.NUMBER,
    code=AclCode.FAILURE,
    step=ConfigStep.STACK_SIZE,
    effect="divergence stack of SIMT threads, in bytes",
    default=1024,
    multiple=128,
    products=ONLY_950,
)
SIMT_FIFO = KeySpec(
    path=("simt_printf_fifo_size",),
    kind=Kind.INTEGER,
    code=AclCode.FAILURE,
    bounds_code=AclCode.RT_PARAM_INVALID,
    step=ConfigStep.PRINTF_FIFO,
    effect="capacity for printf of SIMT kernels, in bytes",
    default=2 * MIB,
    low=MIB,
    high=64 * MIB,
    multiple=8,
    products=ONLY_950,
)
SIMD_FIFO = KeySpec(
    path=("simd_printf_fifo_size_per_core",),
    kind=Kind.INTEGER,
    code=AclCode.FAILURE,
    bounds_code=AclCode.RT_PARAM_INVALID,
    step=ConfigStep.PRINTF_FIFO,
    effect="capacity for printf of SIMD kernels, in bytes per core",
    default=32 * KIB,
    low=KIB,
    high=64 * MIB,
    multiple=8,
    products=ONLY_950 | A2_A3,
)
EVENT_MODE = KeySpec(
    path=("acl_graph", "event_mode"),
    kind=Kind.TEXT,
    code=AclCode.INVALID_PARAM,
    product_code=AclCode.RT_FEATURE_NOT_SUPPORT,
    step=ConfigStep.EVENT_MODE,
    allowed=("0", "1"),
    effect="software (0) or hardware (1) events of captured graphs",
    products=ONLY_950 | A2_A3,
)
PROFILER = KeySpec(
    path=("profiler",),
    kind=Kind.OBJECT,
    code=AclCode.INVALID_PARAM,
    step=ConfigStep.PROFILING,
    effect="what is profiled, and where it goes; see its keys",
    environment=("PROFILER_SAMPLECONFIG", "PROFILING_MODE", "ASCEND_WORK_PATH"),
    products=ALL_BUT_IPV350,
)

#: The scalars of `dump`, in the order in which the reference checks their types.
DUMP_TEXTS = (
    DUMP_PATH,
    DUMP_MODE,
    DUMP_OP_SWITCH,
    DUMP_LEVEL,
    DUMP_SCENE,
    DUMP_DATA,
    DUMP_DEBUG,
    DUMP_KERNEL_DATA,
    DUMP_STEP,
)
STACKS = (SIMT_STACK, SIMT_DIVERGENCE_STACK, AICORE_STACK)
FIFOS = (SIMD_FIFO, SIMT_FIFO)

FEATURES = (
    FeatureSpec(
        number=1,
        name="model dump and single-operator dump",
        keys=(
            DUMP_PATH,
            DUMP_LIST,
            *ITEM_KEYS,
            *itertools.chain(*ENTRY_KEYS.values()),
            DUMP_MODE,
            DUMP_OP_SWITCH,
            DUMP_DATA,
            DUMP_STATS,
            DUMP_STEP,
            DUMP_LEVEL,
        ),
    ),
    FeatureSpec(number=2, name="exception dump", keys=(DUMP_SCENE,)),
    FeatureSpec(number=3, name="overflow dump", keys=(DUMP_DEBUG,)),
    FeatureSpec(number=4, name="watcher", keys=(DUMP_SCENE, ITEM_KEYS[1], ITEM_KEYS[2])),
    FeatureSpec(
        number=5,
        name="kernel debug dump",
        keys=(DUMP_KERNEL_DATA,),
        products=DUMP_KERNEL_DATA.products,
    ),
    FeatureSpec(
        number=6, name="profiling", keys=(PROFILER, *PROFILER_KEYS), products=ALL_BUT_IPV350
    ),
    FeatureSpec(
        number=7, name="operator cache ageing", keys=(MAX_OPQUEUE_NUM,), products=ALL_BUT_IPV350
    ),
    FeatureSpec(number=8, name="error message mode", keys=(ERR_MSG_MODE,), products=ALL_BUT_IPV350),
    FeatureSpec(number=9, name="default device", keys=(DEFAULT_DEVICE,), products=ALL_BUT_IPV350),
    FeatureSpec(
        number=10, name="AI Core stack", keys=(AICORE_STACK,), products=AICORE_STACK.products
    ),
    FeatureSpec(
        number=11, name="SIMT stack", keys=(SIMT_STACK, SIMT_DIVERGENCE_STACK), products=ONLY_950
    ),
    FeatureSpec(number=12, name="SIMT printf FIFO", keys=(SIMT_FIFO,), products=ONLY_950),
    FeatureSpec(number=13, name="SIMD printf FIFO", keys=(SIMD_FIFO,), products=SIMD_FIFO.products),
    FeatureSpec(
        number=14,
        name="event mode (undocumented)",
        keys=(EVENT_MODE,),
        products=EVENT_MODE.products,
    ),
)
