"""What people want of an acl.json, as the keys that it takes; a start to be edited."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, final

from .features import DEFAULT_DEVICE, DUMP_PATH, ERR_MSG_MODE
from .keys import KeySpec

Tree = dict[str, Any]


@final
class Recipe(StrEnum):
    """A purpose of a configuration."""

    MODEL_DUMP = "model-dump"
    SINGLE_OP_DUMP = "single-op-dump"
    OVERFLOW_DUMP = "overflow-dump"
    EXCEPTION_DUMP = "exception-dump"
    KERNEL_OUTPUT = "kernel-output"
    PROFILING = "profiling"


_DUMP_PATH = "./dump"

#: The keys of each, dump_path apart, which all that write dumps need.
KEYS_OF: Mapping[Recipe, Mapping[str, Any]] = {
    Recipe.MODEL_DUMP: {"dump": {"dump_mode": "all", "dump_list": [{}]}},
    Recipe.SINGLE_OP_DUMP: {"dump": {"dump_mode": "all", "dump_op_switch": "on"}},
    Recipe.OVERFLOW_DUMP: {"dump": {"dump_mode": "all", "dump_debug": "on"}},
    Recipe.EXCEPTION_DUMP: {"dump": {"dump_scene": "aic_err_brief_dump"}},
    Recipe.KERNEL_OUTPUT: {"dump": {"dump_kernel_data": "printf,assert"}},
    Recipe.PROFILING: {
        "profiler": {"switch": "on", "output": "./profiling", "aic_metrics": "PipeUtilization"}
    },
}


def made_of(
    recipes: tuple[Recipe, ...],
    *,
    dump_path: str | None = None,
    default_device: int | None = None,
    is_error_per_process: bool = False,
) -> Tree:
    """Return the configuration for some purposes; whether they go together, the rules decide."""
    tree: Tree = {}
    for recipe in recipes:
        for section, keys in KEYS_OF[recipe].items():
            tree.setdefault(section, {}).update(keys)

    if dump_path is not None or "dump" in tree:
        put(tree, DUMP_PATH, dump_path or _DUMP_PATH)
        tree["dump"] = {DUMP_PATH.name: tree["dump"].pop(DUMP_PATH.name), **tree["dump"]}

    if default_device is not None:
        put(tree, DEFAULT_DEVICE, str(default_device))

    if is_error_per_process:
        put(tree, ERR_MSG_MODE, "1")

    return tree


def put(tree: Tree, spec: KeySpec, value: Any) -> None:
    """Set the value of a key that stands in no array."""
    *sections, name = spec.path
    for section in sections:
        tree = tree.setdefault(section, {})

    tree[name] = value
