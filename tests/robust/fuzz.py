"""Coverage-guided fuzzing of what reads other people's bytes, with atheris.

`python -m tests.robust.fuzz text 600` fuzzes the text of a configuration for 600 seconds. What it
learns goes to `corpus/`, which the suite replays. Targets are `text` and `mapping`.
"""

from __future__ import annotations

import json
import math
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

from aclasync.config import Resolution, resolve_config
from aclasync.config.text import parse
from aclasync.errors import ConfigError
from aclasync.product import Product

CORPUS = Path(__file__).with_name("corpus")
PRODUCTS = tuple(Product)

Target = Callable[[bytes], None]


def read_text(raw: bytes) -> None:
    """Any bytes give a Resolution, the same one each time."""
    resolution = resolve_config(raw, env={}, product=PRODUCTS[len(raw) % len(PRODUCTS)])
    check(resolution)
    parsed = parse(raw)
    if parsed.content and not parsed.too_deep and not parsed.is_valid:
        assert resolution.findings, raw


def read_mapping(raw: bytes) -> None:
    """Any mapping gives a Resolution or a ConfigError with findings."""
    try:
        resolution = resolve_config(mapping_of(raw), env={}, product=PRODUCTS[len(raw) % 7])
    except ConfigError as error:
        assert error.findings
        assert pickle.loads(pickle.dumps(error)).findings == error.findings
    else:
        check(resolution)


TARGETS: dict[str, Target] = {"text": read_text, "mapping": read_mapping}

WORDS = (
    "dump", "dump_list", "dump_path", "dump_mode", "dump_data", "dump_step", "dump_level",
    "dump_scene", "dump_debug", "dump_op_switch", "dump_stats", "dump_kernel_data", "model_name",
    "layer", "watcher_nodes", "opname_range", "begin", "end", "optype_blacklist", "name", "pos",
    "profiler", "switch", "output", "aic_metrics", "storage_limit", "max_opqueue_num",
    "err_msg_mode", "defaultDevice", "default_device", "StackSize", "aicore_stack_size",
    "simt_stack_size", "simt_printf_fifo_size", "simd_printf_fifo_size_per_core", "acl_graph",
    "event_mode", "on", "off", "all", "op", "model", "stats", "tensor", "./", "1", "0", "",
    "watcher", "lite_exception", "input0", "32768", "200MB", "1-3|7",
)  # fmt: skip
SCALARS: tuple[object, ...] = (
    None, True, False, 0, 1, -1, 2**63, 2**64, 32768, math.inf, math.nan, 1.5, b"x", 1j, "\udcff",
)  # fmt: skip


def mapping_of(raw: bytes) -> dict[object, object]:
    """Build a mapping from bytes: each is a word, a scalar, or opens or closes a container."""
    root: dict[object, object] = {}
    stack: list[tuple[dict[object, object] | list[object], object]] = [(root, "dump")]
    for byte in raw:
        container, key = stack[-1]
        kind, choice = divmod(byte, 64)
        value: object
        if kind == 0:  # the key of what comes next
            stack[-1] = container, WORDS[choice % len(WORDS)]
            continue

        if kind == 1:
            value = WORDS[choice % len(WORDS)]
        elif choice >= 48 and len(stack) > 1:
            stack.pop()
            continue
        elif kind == 2:
            value = SCALARS[choice % len(SCALARS)]
        else:
            value = ({}, [], root)[choice % 3 if choice else 2]

        if isinstance(container, list):
            container.append(value)
        else:
            container[key] = value

        if isinstance(value, (dict, list)) and value is not root and len(stack) < 80:
            stack.append((value, SCALARS[choice % len(SCALARS)] if choice > 40 else "name"))

    return root


def check(resolution: Resolution) -> None:
    """Everything it says can be said, pickled, and agrees with itself."""
    assert all(str(finding) for finding in resolution.findings)
    assert pickle.loads(pickle.dumps(resolution.findings)) == resolution.findings
    assert resolution.is_valid == (resolution.code == 0) == (not resolution.errors)
    if resolution.is_valid:
        assert resolution.config is not None


def corpus(name: str) -> list[Path]:
    """Return what was learnt about a target, in a stable order."""
    return sorted((CORPUS / name).iterdir())


def fuzz(name: str, seconds: int) -> None:
    """Run a target until the time is over or it fails."""
    import atheris  # noqa: PLC0415  # no part of the test environment

    folder = CORPUS / name
    folder.mkdir(parents=True, exist_ok=True)
    words = folder.with_suffix(".dict")
    words.write_text("".join(f"{json.dumps(word)}\n" for word in WORDS if word), encoding="ascii")
    for module in tuple(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("aclasync.config"):
            instrument(module)

    options = ["-max_len=512", f"-max_total_time={seconds}", f"-dict={words}", "-timeout=10"]
    atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", str(folder)], TARGETS[name])
    try:
        atheris.Fuzz()
    finally:
        words.unlink()


def instrument(module: object) -> None:
    """Have atheris see which branches of a module's functions and methods are taken."""
    import atheris  # noqa: PLC0415

    home = vars(module)["__name__"]
    for owner in (module, *(v for v in vars(module).values() if isinstance(v, type))):
        for value in tuple(vars(owner).values()):
            code = getattr(value, "__code__", None)
            if code is not None and value.__module__ == home:
                atheris.instrument_func(value)


if __name__ == "__main__":
    fuzz(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30)
