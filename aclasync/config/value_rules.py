"""The rules of everything outside `dump` and `profiler`, and the numbers that come out of them."""

from __future__ import annotations

import re
from typing import Any

from aclasync.product import Product

from .catalog import Phrase
from .check import MISSING, Drafts, kind_of, listed, shown
from .features import (
    AICORE_STACK,
    DEFAULT_DEVICE,
    ERR_MSG_MODE,
    EVENT_MODE,
    FIFOS,
    MAX_OPQUEUE_NUM,
    SIMT_FIFO,
    STACKS,
)
from .keys import BUILT_WITH_O0, KeySpec

_DEVICE = re.compile(DEFAULT_DEVICE.pattern)
_COUNT = re.compile(MAX_OPQUEUE_NUM.pattern)
_UINT32 = 2**32
_LONG_MAX = 2**63 - 1


def check_values(root: dict[str, Any], product: Product, drafts: Drafts) -> None:
    """Check every key but `err_msg_mode`, which comes first, `dump` and `profiler`."""
    if (count := root.get("max_opqueue_num", MISSING)) is not MISSING:
        _check_op_queue(count, product, drafts)

    _check_stacks(root, product, drafts)
    _check_default_device(root, product, drafts)
    for spec in FIFOS:
        if (value := root.get(spec.name, MISSING)) is not MISSING:
            _check_fifo(spec, value, product, drafts)

    _check_event_mode(root, product, drafts)


def check_err_msg_mode(root: dict[str, Any], drafts: Drafts) -> None:
    """Check `err_msg_mode`, which the reference reads before everything else."""
    value = root.get("err_msg_mode", MISSING)
    if value is MISSING or (isinstance(value, str) and value in ERR_MSG_MODE.allowed):
        return

    allowed = ERR_MSG_MODE.allowed
    if isinstance(value, str):
        drafts.refuse(ERR_MSG_MODE, "E301", value=shown(value), allowed=listed(allowed))
    else:
        meant = [text for text in allowed if text == shown(value)] or allowed
        args = {"one": shown(meant[0]), "other": shown(meant[-1])}
        template = "the string {one}" if len(meant) == 1 else "the string {one} or {other}"
        expected = Phrase(template, args)
        drafts.refuse(ERR_MSG_MODE, "E302", expected=expected, got=kind_of(value))


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


def cut_fifo_bytes(value: Any) -> int | None:
    """Return a FIFO size cut to 32 bits; None if it is no positive integer of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        return None

    return min(value, _LONG_MAX) % _UINT32


def fifo_bytes(spec: KeySpec, value: Any) -> int | None:
    """Return what a FIFO size becomes; None if it is refused. Bounds come before rounding."""
    cut = cut_fifo_bytes(value)
    assert spec.low is not None
    assert spec.high is not None
    if cut is None or not spec.low <= cut <= spec.high:
        return None

    return -(-cut // spec.multiple) * spec.multiple


def has_bounds(spec: KeySpec, product: Product) -> bool:
    """Whether the bounds of a FIFO count on a product."""
    # The reference answers that the product has no SIMT before it looks at the bounds.
    return spec is not SIMT_FIFO or product in spec.products


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
        drafts.warn("W021", MAX_OPQUEUE_NUM.path, value=shown(value), used=MAX_OPQUEUE_NUM.default)


def _section_of(root: dict[str, Any], specs: tuple[KeySpec, ...], drafts: Drafts) -> dict[str, Any]:
    name = specs[0].path[0]
    value = root.get(name, MISSING)
    if value is MISSING:
        return {}

    if not isinstance(value, dict):
        drafts.warn("W010", (name,), got=kind_of(value))
        return {}

    drafts.unknown_keys(value, tuple(spec.name for spec in specs), (name,))
    return value


def _check_stacks(root: dict[str, Any], product: Product, drafts: Drafts) -> None:
    found = _section_of(root, STACKS, drafts)
    for spec in STACKS:
        if (value := found.get(spec.name, MISSING)) is MISSING:
            continue

        used = stack_bytes(spec, value)
        if used is None:
            drafts.refuse(spec, "E320", got=kind_of(value))
            continue

        drafts.unsupported(spec, product)
        _warn_of_change(spec, value, used, drafts)
        high = spec.high_for(product)
        if high is not None and used > high:
            drafts.warn("W014", spec.path, value=used, product=product.name, high=high)

        if spec is AICORE_STACK and product in BUILT_WITH_O0:
            drafts.warn("I002", spec.path, product=product.name)


def _warn_of_change(spec: KeySpec, value: float, used: int, drafts: Drafts) -> None:
    if value < 0:
        drafts.warn("W015", spec.path, value=value, used=used)
    elif int(value) != value or int(value) >= _UINT32:
        drafts.warn("W016", spec.path, value=value, used=used)
    elif spec.low is not None and value < spec.low:
        drafts.warn("W013", spec.path, value=value, used=used)
    elif used != value:
        drafts.warn("W012", spec.path, value=value, step=spec.multiple, used=used)


def _check_default_device(root: dict[str, Any], product: Product, drafts: Drafts) -> None:
    found = _section_of(root, (DEFAULT_DEVICE,), drafts)
    value = found.get("default_device", MISSING)
    if value is MISSING:
        return

    drafts.unsupported(DEFAULT_DEVICE, product)
    if not isinstance(value, str):
        drafts.refuse(DEFAULT_DEVICE, "E311", got=kind_of(value))
    elif not _DEVICE.fullmatch(value):
        drafts.refuse(DEFAULT_DEVICE, "E310", value=shown(value))
    elif (number := device_number(value)) is None or str(number) != value:
        used = Phrase("not set") if number is None else number
        drafts.warn("W030", DEFAULT_DEVICE.path, used=used)


def _check_fifo(spec: KeySpec, value: Any, product: Product, drafts: Drafts) -> None:
    cut = cut_fifo_bytes(value)
    if cut is None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        drafts.refuse(spec, "E330", got=shown(value) if is_number else kind_of(value))
        return

    drafts.unsupported(spec, product)
    if not has_bounds(spec, product):
        return

    used = fifo_bytes(spec, value)
    if used is None:
        drafts.out_of_bounds(spec, product, value)
    elif cut != value:
        drafts.warn("W016", spec.path, value=value, used=used)
    elif used != value:
        drafts.warn("W012", spec.path, value=value, step=spec.multiple, used=used)


def _check_event_mode(root: dict[str, Any], product: Product, drafts: Drafts) -> None:
    found = _section_of(root, (EVENT_MODE,), drafts)
    value = found.get("event_mode", MISSING)
    if value is MISSING:
        return

    if not isinstance(value, str):
        drafts.refuse(EVENT_MODE, "E341", got=kind_of(value))
    elif value not in EVENT_MODE.allowed:
        drafts.refuse(EVENT_MODE, "E301", value=shown(value), allowed=listed(EVENT_MODE.allowed))
    elif product not in EVENT_MODE.products:
        drafts.refuse_product(EVENT_MODE, "E340", product)
