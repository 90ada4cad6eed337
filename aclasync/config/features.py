"""The thirteen features as data: keys, spelling, bounds, rounding, products, environment.

The rules take their tables from here, and so do the documentation, the JSON Schema and the
command line; a number that stands here stands nowhere else. Source: the documentation of aclInit
and what the reference was seen to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, final

from attrs import field, frozen

from aclasync.product import Product

from .steps import ConfigStep

ALL = frozenset(Product)
ALL_BUT_IPV350 = ALL - {Product.IPV350}
A2_A3 = frozenset({Product.ATLAS_A2, Product.ATLAS_A3})
ONLY_950 = frozenset({Product.ASCEND_950})
#: Products whose init hands the file to a reader that knows the dump section alone.
DUMP_ONLY = frozenset({Product.IPV350})
BUILT_WITH_O0 = A2_A3 | {Product.ATLAS_200I_500_A2}

KIB = 1024
MIB = 1024 * KIB


@final
class Kind(Enum):
    """The JSON type of a key, as the reference checks it."""

    TEXT = "a string"
    TEXTS = "an array of strings"
    OBJECTS = "an array of objects"
    OBJECT = "an object"
    NUMBER = "a number"
    INTEGER = "an integer"


@final
@frozen(kw_only=True)
class KeySpec:
    """One key of the file."""

    #: From the root; `[]` stands for every element of an array.
    path: tuple[str, ...]
    kind: Kind
    #: What it does, in one line.
    effect: str
    #: The values allowed, exactly; any other of the kind if empty.
    allowed: tuple[str, ...] = ()
    #: What is in force without the key, in words where it is no single value.
    default: str | int | None = None
    products: frozenset[Product] = ALL
    #: Where the reference meets a fault of it.
    step: ConfigStep
    #: Bytes; the bound is tested before the rounding.
    low: int | None = None
    high: int | None = None
    #: Where the maximum depends on the product.
    high_on: Mapping[Product, int] = field(factory=dict, hash=False)
    #: Rounded up to a multiple of it.
    multiple: int = 1
    #: Variables that matter for it, the strongest first.
    environment: tuple[str, ...] = ()
    #: The key itself.
    name: str = field(init=False)

    @name.default
    def _last_of_path(self) -> str:
        return self.path[-1]


@final
@frozen(kw_only=True)
class FeatureSpec:
    """One of the features; 14 is the undocumented one."""

    number: int
    name: str
    keys: tuple[KeySpec, ...]
    products: frozenset[Product] = ALL


def by_name(*specs: KeySpec) -> dict[str, KeySpec]:
    """Return the specs of one object by their keys."""
    return {spec.name: spec for spec in specs}


def _dump(name: str, kind: Kind, effect: str, **more: Any) -> KeySpec:
    return KeySpec(path=("dump", name), kind=kind, effect=effect, step=ConfigStep.DUMP, **more)


def _item(name: str, kind: Kind, effect: str, **more: Any) -> KeySpec:
    path = ("dump", "dump_list", "[]", *name.split("."))
    return KeySpec(path=path, kind=kind, effect=effect, step=ConfigStep.DUMP, **more)


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
#: aic_err_detail_dump elsewhere fails with INTERNAL_ERROR.
DETAIL_DUMP_PRODUCTS = A2_A3 | ONLY_950

DUMP_PATH = _dump(
    "dump_path",
    Kind.TEXT,
    "folder that dumps are written to; it must exist, except for exception dumps",
    high=512,
    environment=("NPU_COLLECT_PATH", "ASCEND_WORK_PATH"),
)
DUMP_MODE = _dump(
    "dump_mode", Kind.TEXT, "which tensors of an operator", allowed=("input", "output", "all"),
    default="output",
)  # fmt: skip
DUMP_OP_SWITCH = _dump(
    "dump_op_switch", Kind.TEXT, "dump single operators, too", allowed=ON_OFF, default="off",
    products=ALL_BUT_IPV350,
)  # fmt: skip
DUMP_LEVEL = _dump(
    "dump_level", Kind.TEXT, "operators of the graph, kernels, or both",
    allowed=("op", "kernel", "all"), default="all",
)  # fmt: skip
DUMP_SCENE = _dump(
    "dump_scene", Kind.TEXT, "what makes a dump: an exception, or the watcher",
    allowed=(*EXCEPTION_SCENES, "watcher"), products=ALL_BUT_IPV350,
)  # fmt: skip
DUMP_DATA = _dump(
    "dump_data", Kind.TEXT, "whole tensors, or statistics of them", allowed=("tensor", "stats"),
    default="tensor",
)  # fmt: skip
DUMP_DEBUG = _dump(
    "dump_debug", Kind.TEXT, "dump operators that overflow", allowed=ON_OFF, default="off",
    products=ALL_BUT_IPV350,
)  # fmt: skip
DUMP_KERNEL_DATA = _dump(
    "dump_kernel_data", Kind.TEXT, "output of kernels: a comma list", allowed=KERNEL_DATA,
    default="all while a data dump is active",
    products=ALL - {Product.ATLAS_TRAINING, Product.IPV350},
)  # fmt: skip
DUMP_STEP = _dump("dump_step", Kind.TEXT, "which inferences: steps and ranges like 0|3-5")
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
    "optype_blacklist": {"name": Kind.TEXT, "pos": Kind.TEXTS},
    "opname_blacklist": {"name": Kind.TEXT, "pos": Kind.TEXTS},
    "opname_range": {"begin": Kind.TEXT, "end": Kind.TEXT},
}

MAX_OPQUEUE_NUM = KeySpec(
    path=("max_opqueue_num",), kind=Kind.TEXT, step=ConfigStep.READ, default=20000,
    effect="compiled single operators kept, fixed and dynamic shapes apart",
    products=ALL_BUT_IPV350,
)  # fmt: skip
ERR_MSG_MODE = KeySpec(
    path=("err_msg_mode",), kind=Kind.TEXT, step=ConfigStep.ERR_MSG_MODE, allowed=("0", "1"),
    default="0", effect="recent error text per thread (0) or per process (1)",
    products=ALL_BUT_IPV350,
)  # fmt: skip
DEFAULT_DEVICE = KeySpec(
    path=("defaultDevice", "default_device"), kind=Kind.TEXT, step=ConfigStep.DEFAULT_DEVICE,
    effect="device used when none was opened", products=ALL_BUT_IPV350,
    environment=("ASCEND_RT_VISIBLE_DEVICES",),
)  # fmt: skip
AICORE_STACK = KeySpec(
    path=("StackSize", "aicore_stack_size"), kind=Kind.NUMBER, step=ConfigStep.STACK_SIZE,
    effect="stack of an AI Core, in bytes", default=32 * KIB, low=32 * KIB, multiple=16 * KIB,
    products=ONLY_950 | BUILT_WITH_O0,
    high_on={
        Product.ASCEND_950: 128 * KIB,
        Product.ATLAS_A2: 192 * KIB,
        Product.ATLAS_A3: 192 * KIB,
        Product.ATLAS_200I_500_A2: 7680 * KIB,
    },
)  # fmt: skip
SIMT_STACK = KeySpec(
    path=("StackSize", "simt_stack_size"), kind=Kind.NUMBER, step=ConfigStep.STACK_SIZE,
    effect="stack of a SIMT thread, in bytes", default=1152, multiple=128, products=ONLY_950,
)  # fmt: skip
SIMT_DIVERGENCE_STACK = KeySpec(
    path=("StackSize", "simt_divergence_stack_size"), kind=Kind.NUMBER,
    step=ConfigStep.STACK_SIZE, effect="divergence stack of SIMT threads, in bytes",
    default=1024, multiple=128, products=ONLY_950,
)  # fmt: skip
SIMT_FIFO = KeySpec(
    path=("simt_printf_fifo_size",), kind=Kind.INTEGER, step=ConfigStep.PRINTF_FIFO,
    effect="capacity for printf of SIMT kernels, in bytes", default=2 * MIB, low=MIB,
    high=64 * MIB, multiple=8, products=ONLY_950,
)  # fmt: skip
SIMD_FIFO = KeySpec(
    path=("simd_printf_fifo_size_per_core",), kind=Kind.INTEGER, step=ConfigStep.PRINTF_FIFO,
    effect="capacity for printf of SIMD kernels, in bytes per core", default=32 * KIB, low=KIB,
    high=64 * MIB, multiple=8, products=ONLY_950 | A2_A3,
)  # fmt: skip
EVENT_MODE = KeySpec(
    path=("acl_graph", "event_mode"), kind=Kind.TEXT, step=ConfigStep.EVENT_MODE,
    allowed=("0", "1"), effect="software (0) or hardware (1) events of captured graphs",
    products=ONLY_950 | A2_A3,
)  # fmt: skip
PROFILER = KeySpec(
    path=("profiler",), kind=Kind.OBJECT, step=ConfigStep.PROFILING,
    effect="what is profiled, and where it goes; see `profiler_rules.PROFILER_KEYS`",
    products=ALL_BUT_IPV350,
    environment=("PROFILER_SAMPLECONFIG", "PROFILING_MODE", "ASCEND_WORK_PATH"),
)  # fmt: skip

#: The scalars of `dump`, in the order in which the reference checks their types.
DUMP_TEXTS = (
    DUMP_PATH, DUMP_MODE, DUMP_OP_SWITCH, DUMP_LEVEL, DUMP_SCENE, DUMP_DATA, DUMP_DEBUG,
    DUMP_KERNEL_DATA, DUMP_STEP,
)  # fmt: skip
STACKS = (SIMT_STACK, SIMT_DIVERGENCE_STACK, AICORE_STACK)
FIFOS = (SIMD_FIFO, SIMT_FIFO)

FEATURES = (
    FeatureSpec(
        number=1,
        name="model dump and single-operator dump",
        keys=(
            DUMP_PATH, DUMP_LIST, *ITEM_KEYS, DUMP_MODE, DUMP_OP_SWITCH, DUMP_DATA, DUMP_STATS,
            DUMP_STEP, DUMP_LEVEL,
        ),
    ),
    FeatureSpec(
        number=2, name="exception dump", keys=(DUMP_SCENE,), products=DUMP_SCENE.products
    ),
    FeatureSpec(
        number=3, name="overflow dump", keys=(DUMP_DEBUG,), products=DUMP_DEBUG.products
    ),
    FeatureSpec(
        number=4, name="watcher", keys=(DUMP_SCENE, ITEM_KEYS[1], ITEM_KEYS[2]),
        products=DUMP_SCENE.products,
    ),
    FeatureSpec(
        number=5, name="kernel debug dump", keys=(DUMP_KERNEL_DATA,),
        products=DUMP_KERNEL_DATA.products,
    ),
    FeatureSpec(number=6, name="profiling", keys=(PROFILER,), products=PROFILER.products),
    FeatureSpec(
        number=7, name="operator cache ageing", keys=(MAX_OPQUEUE_NUM,), products=ALL_BUT_IPV350
    ),
    FeatureSpec(
        number=8, name="error message mode", keys=(ERR_MSG_MODE,), products=ERR_MSG_MODE.products
    ),
    FeatureSpec(
        number=9, name="default device", keys=(DEFAULT_DEVICE,), products=ALL_BUT_IPV350
    ),
    FeatureSpec(
        number=10, name="AI Core stack", keys=(AICORE_STACK,), products=AICORE_STACK.products
    ),
    FeatureSpec(
        number=11, name="SIMT stack", keys=(SIMT_STACK, SIMT_DIVERGENCE_STACK), products=ONLY_950
    ),
    FeatureSpec(number=12, name="SIMT printf FIFO", keys=(SIMT_FIFO,), products=ONLY_950),
    FeatureSpec(
        number=13, name="SIMD printf FIFO", keys=(SIMD_FIFO,), products=SIMD_FIFO.products
    ),
    FeatureSpec(
        number=14, name="event mode (undocumented)", keys=(EVENT_MODE,),
        products=EVENT_MODE.products,
    ),
)  # fmt: skip
