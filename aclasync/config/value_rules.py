"""The rules of everything outside `dump` and `profiler`, and the numbers that come out of them."""

from __future__ import annotations

import re
from typing import Any

from aclasync.codes import AclCode
from aclasync.product import Product

from .check import MISSING, Drafts, kind_of
from .environment import Environment
from .features import (
    AICORE_STACK,
    BUILT_WITH_O0,
    DEFAULT_DEVICE,
    ERR_MSG_MODE,
    EVENT_MODE,
    FIFOS,
    MAX_OPQUEUE_NUM,
    SIMT_FIFO,
    STACKS,
    KeySpec,
    by_name,
)
from .findings import Path
from .steps import ConfigStep

_DEVICE = re.compile(r"0|[1-9][0-9]*")
_COUNT = re.compile(r"0*[1-9][0-9]{0,17}")
_STACKS = by_name(*STACKS)
_DEVICES = by_name(DEFAULT_DEVICE)
_GRAPHS = by_name(EVENT_MODE)
_UINT32 = 2**32
_LONG_MAX = 2**63 - 1


def check_values(
    root: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
) -> None:
    """Check every key but `err_msg_mode`, which comes first, `dump` and `profiler`."""
    if (count := root.get("max_opqueue_num", MISSING)) is not MISSING:
        _check_op_queue(count, product, drafts)

    _check_stacks(root, product, drafts)
    _check_default_device(root, product, environment, drafts)
    for spec in FIFOS:
        if (value := root.get(spec.name, MISSING)) is not MISSING:
            _check_fifo(spec, value, product, drafts)

    _check_event_mode(root, product, drafts)


def check_err_msg_mode(root: dict[str, Any], drafts: Drafts) -> None:
    """Check `err_msg_mode`, which the reference reads before everything else."""
    value = root.get("err_msg_mode", MISSING)
    if value is MISSING or (isinstance(value, str) and value in ERR_MSG_MODE.allowed):
        return

    args = {"value": value, "allowed": ERR_MSG_MODE.allowed}
    drafts.error("E301", ERR_MSG_MODE.path, ERR_MSG_MODE.step, AclCode.INVALID_PARAM, **args)


def section(root: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a section, empty if it is missing or, as the reference sees it, no object."""
    value = root.get(name)
    return value if isinstance(value, dict) else {}


def stack_bytes(spec: KeySpec, value: Any) -> int | None:
    """Return what a stack size becomes: cut to 32 bits, and rounded up; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None

    cut = int(value) % _UINT32
    if spec.low is not None and cut <= spec.low:
        return spec.low

    return -(-cut // spec.multiple) * spec.multiple % _UINT32


def fifo_bytes(spec: KeySpec, value: Any) -> int | None:
    """Return what a FIFO size becomes; None if it is none, or out of range."""
    cut = _fifo_cut(value)
    assert spec.low is not None
    assert spec.high is not None
    if cut is None or not spec.low <= cut <= spec.high:
        return None

    return -(-cut // spec.multiple) * spec.multiple


def _fifo_cut(value: Any) -> int | None:
    """Return 32 bits of a positive integer of 64 bits; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        return None

    return min(value, _LONG_MAX) % _UINT32


def device_number(value: Any) -> int | None:
    """Return the device that a default_device names; None for none, and for -1 after the cut."""
    if not isinstance(value, str) or not _DEVICE.fullmatch(value):
        return None

    number = _LONG_MAX if len(value) > 19 else min(int(value), _LONG_MAX)
    cut = (number + 2**31) % _UINT32 - 2**31
    return None if cut == -1 else cut


def op_queue_capacity(value: Any) -> int | None:
    """Return the capacity that a max_opqueue_num asks for; None if it is no positive number."""
    return int(value) if isinstance(value, str) and _COUNT.fullmatch(value) else None


def _check_op_queue(value: Any, product: Product, drafts: Drafts) -> None:
    drafts.unsupported(MAX_OPQUEUE_NUM, product)
    if op_queue_capacity(value) is None:
        drafts.warn("W021", MAX_OPQUEUE_NUM.path, value=value, used=MAX_OPQUEUE_NUM.default)


def _section_of(
    root: dict[str, Any], name: str, known: dict[str, KeySpec], drafts: Drafts
) -> dict[str, Any]:
    value = root.get(name, MISSING)
    if value is MISSING:
        return {}

    if not isinstance(value, dict):
        drafts.warn("W010", (name,), got=kind_of(value))
        return {}

    drafts.unknown_keys(value, known, (name,))
    return value


def _check_stacks(root: dict[str, Any], product: Product, drafts: Drafts) -> None:
    found = _section_of(root, "StackSize", _STACKS, drafts)
    for spec in STACKS:
        if (value := found.get(spec.name, MISSING)) is MISSING:
            continue

        used = stack_bytes(spec, value)
        if used is None:
            got = kind_of(value)
            drafts.error("E320", spec.path, spec.step, AclCode.FAILURE, got=got)
            continue

        drafts.unsupported(spec, product)
        _warn_of_change(spec, value, used, drafts)
        high = spec.high_on.get(product)
        if high is not None and used > high:
            drafts.warn("W014", spec.path, value=used, product=product.name, high=high)

        if spec is AICORE_STACK and product in BUILT_WITH_O0:
            drafts.warn("I002", spec.path, product=product.name)


def _warn_of_change(spec: KeySpec, value: float, used: int, drafts: Drafts) -> None:
    if int(value) < 0:
        drafts.warn("W015", spec.path, value=value, used=used)
    elif int(value) != value or int(value) >= _UINT32:
        drafts.warn("W016", spec.path, value=value, used=used)
    elif spec.low is not None and value < spec.low:
        drafts.warn("W013", spec.path, value=value, used=used)
    elif used != value:
        drafts.warn("W012", spec.path, value=value, step=spec.multiple, used=used)


def _check_default_device(
    root: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
) -> None:
    found = _section_of(root, "defaultDevice", _DEVICES, drafts)
    value = found.get("default_device", MISSING)
    if value is MISSING:
        return

    path, step = DEFAULT_DEVICE.path, DEFAULT_DEVICE.step
    drafts.unsupported(DEFAULT_DEVICE, product)
    if not isinstance(value, str):
        args = {"expected": "a string", "got": kind_of(value), "better": 'write it like "0"'}
        drafts.error("E300", path, step, AclCode.FAILURE, **args)
    elif not _DEVICE.fullmatch(value):
        drafts.error("E310", path, step, AclCode.FAILURE, value=value)
    else:
        number = device_number(value)
        if str(number) != value:
            drafts.warn("W030", path, used="not set" if number is None else number)

        visible = environment.visible_devices
        if visible is not None and number is not None and number >= len(visible):
            drafts.warn("W032", path, value=number, count=len(visible))


def _check_fifo(spec: KeySpec, value: Any, product: Product, drafts: Drafts) -> None:
    cut = _fifo_cut(value)
    if cut is None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        got = value if is_number else kind_of(value)
        drafts.error("E330", spec.path, spec.step, AclCode.FAILURE, got=got)
        return

    drafts.unsupported(spec, product)
    if spec is SIMT_FIFO and product not in spec.products:
        return

    used = fifo_bytes(spec, value)
    if used is None:
        args = {"value": value, "low": spec.low, "high": spec.high}
        drafts.error("E331", spec.path, spec.step, AclCode.RT_PARAM_INVALID, **args)
    elif cut != value:
        drafts.warn("W016", spec.path, value=value, used=used)
    elif used != value:
        drafts.warn("W012", spec.path, value=value, step=spec.multiple, used=used)


def _check_event_mode(root: dict[str, Any], product: Product, drafts: Drafts) -> None:
    found = _section_of(root, "acl_graph", _GRAPHS, drafts)
    value = found.get("event_mode", MISSING)
    if value is MISSING:
        return

    path: Path = EVENT_MODE.path
    step: ConfigStep = EVENT_MODE.step
    if not isinstance(value, str):
        drafts.error("E341", path, step, AclCode.INVALID_PARAM, got=kind_of(value))
    elif value not in EVENT_MODE.allowed:
        args = {"value": value, "allowed": EVENT_MODE.allowed}
        drafts.error("E301", path, step, AclCode.INVALID_PARAM, **args)
    elif product not in EVENT_MODE.products:
        acl_code = AclCode.RT_FEATURE_NOT_SUPPORT
        drafts.error("E340", path, step, acl_code, product=product.name)
