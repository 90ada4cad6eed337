"""The rules of the `dump` section, in the reference's order.

Every fault is left as a draft; what the reference does not come to look at is no fault.
"""

from __future__ import annotations

import re
from typing import Any

from aclasync.codes import AclCode
from aclasync.product import Product

from .check import MISSING, Drafts, is_of, kind_of, listed
from .dump_path import MAX_PATH_BYTES, judge_dump_path
from .features import (
    DETAIL_DUMP_PRODUCTS,
    DUMP_DATA,
    DUMP_DEBUG,
    DUMP_KERNEL_DATA,
    DUMP_LEVEL,
    DUMP_LIST,
    DUMP_MODE,
    DUMP_OP_SWITCH,
    DUMP_SCENE,
    DUMP_STATS,
    DUMP_TEXTS,
    ENTRY_KEYS,
    EXCEPTION_SCENES,
    ITEM_KEYS,
    KERNEL_DATA,
    KeySpec,
    Kind,
)
from .findings import Path
from .steps import ConfigStep

MAX_STEP_PIECES = 100
MAX_BLACKLIST = 100

_KEYS = (*(spec.name for spec in DUMP_TEXTS), DUMP_STATS.name, DUMP_LIST.name)
_ITEM_NAMES = tuple(spec.name for spec in ITEM_KEYS)
_CHOICES = (DUMP_MODE, DUMP_DATA, DUMP_OP_SWITCH, DUMP_LEVEL, DUMP_DEBUG, DUMP_SCENE)
_STEP = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_LONG_MAX = 2**63 - 1


def check_dump(root: dict[str, Any], product: Product, drafts: Drafts) -> str | None:
    """Check the section; return the local folder that must exist, if one must."""
    dump = root.get("dump", MISSING)
    if dump is MISSING:
        return None

    if not isinstance(dump, dict):
        _error(drafts, "E200", (), expected="an object", got=kind_of(dump))
        return None

    if not dump:
        return None

    drafts.unknown_keys(dump, _KEYS, ("dump",))
    rules = _DumpRules(dump, product, drafts)
    rules.check_types()
    rules.check_values()
    return rules.check_relations()


def parse_steps(text: str) -> tuple[tuple[int, int], ...] | None:
    """Return first and last of every range in a dump_step, or None if it is none."""
    pieces = text.split("|")
    if len(pieces) > MAX_STEP_PIECES:
        return None

    ranges = []
    for piece in pieces:
        match = _STEP.fullmatch(piece)
        if match is None:
            return None

        first = _saturated(match[1])
        last = first if match[2] is None else _saturated(match[2])
        if first > last:
            return None

        ranges.append((first, last))

    return tuple(ranges)


def _saturated(digits: str) -> int:
    significant = digits.lstrip("0")
    return _LONG_MAX if len(significant) > 19 else min(int(significant or "0"), _LONG_MAX)


def _error(
    drafts: Drafts,
    code: str,
    path: Path,
    acl_code: AclCode = AclCode.INVALID_DUMP_CONFIG,
    **args: Any,
) -> None:
    drafts.error(code, ("dump", *path), ConfigStep.DUMP, acl_code, **args)


class _DumpRules:
    def __init__(self, dump: dict[str, Any], product: Product, drafts: Drafts) -> None:
        self.dump = dump
        self.product = product
        self.drafts = drafts
        #: Keys of the right type; the others count as absent from here on.
        self.good: dict[str, Any] = {}

    def error(self, code: str, *path: str | int, **args: Any) -> None:
        _error(self.drafts, code, path, **args)

    # Types

    def check_types(self) -> None:
        dump, good = self.dump, self.good
        for spec in DUMP_TEXTS:
            if (value := dump.get(spec.name, MISSING)) is not MISSING:
                self.check_type(good, spec, value)

        if (stats := dump.get("dump_stats", MISSING)) is not MISSING:
            self.check_type(good, DUMP_STATS, stats)

        if (items := dump.get("dump_list", MISSING)) is not MISSING:
            if not isinstance(items, list):
                self.error("E200", "dump_list", expected=DUMP_LIST.kind.value, got=kind_of(items))
                return

            good["dump_list"] = [self.checked_item(i, item) for i, item in enumerate(items)]

    def check_type(self, good: dict[str, Any], spec: KeySpec, value: Any, *above: Any) -> None:
        if is_of(spec.kind, value):
            good[spec.name] = value
            return

        wrong = (
            next((v for v in value if not isinstance(v, str)), value)
            if (isinstance(value, list) and spec.kind is Kind.TEXTS)
            else value
        )
        got = kind_of(value) if wrong is value else f"an array with {kind_of(wrong)}"
        self.error("E200", *above, spec.name, expected=spec.kind.value, got=got)

    def checked_item(self, index: int, item: Any) -> dict[str, Any]:
        above = ("dump_list", index)
        if not isinstance(item, dict):
            self.error("E200", *above, expected="an object", got=kind_of(item))
            return {}

        self.drafts.unknown_keys(item, _ITEM_NAMES, ("dump", *above))
        good: dict[str, Any] = {}
        for spec in ITEM_KEYS:
            if (value := item.get(spec.name, MISSING)) is not MISSING:
                self.check_type(good, spec, value, *above)
                if spec.name in good and spec.kind is Kind.OBJECTS:
                    self.check_entries(spec.name, value, *above)

        return good

    def check_entries(self, name: str, entries: list[dict[str, Any]], *above: Any) -> None:
        members = ENTRY_KEYS[name]
        for index, entry in enumerate(entries):
            path = (*above, name, index)
            self.drafts.unknown_keys(entry, (key for key, _ in members), ("dump", *path))
            for key, kind in members:
                if key in entry and not is_of(kind, entry[key]):
                    self.error("E200", *path, key, expected=kind.value, got=kind_of(entry[key]))

    # Values

    def check_values(self) -> None:
        good = self.good
        for spec in _CHOICES:
            value = good.get(spec.name)
            if value is not None and value not in spec.allowed:
                self.refuse(value, spec.allowed, spec.name)
                del good[spec.name]

        kernel = good.get("dump_kernel_data")
        if kernel is not None:
            for piece in kernel.split(","):
                if not piece:
                    self.error("E203", "dump_kernel_data")
                elif piece not in KERNEL_DATA:
                    self.refuse(piece, KERNEL_DATA, "dump_kernel_data")

        for index, name in enumerate(good.get("dump_stats", ())):
            if name not in DUMP_STATS.allowed:
                self.refuse(name, DUMP_STATS.allowed, "dump_stats", index)

    def refuse(self, value: str, allowed: tuple[str, ...], *path: str | int) -> None:
        if value:
            self.error("E202", *path, value=value, allowed=listed(allowed))
        else:
            self.error("E201", *path, allowed=listed(allowed))

    # Relations

    def check_relations(self) -> str | None:
        good = self.good
        scene = good.get("dump_scene")
        is_debug = good.get("dump_debug") == "on"
        is_single_op = good.get("dump_op_switch") == "on"
        self.warn_of_product(is_single_op=is_single_op)
        if scene is not None:
            for name, conflicts in (("dump_debug", is_debug), ("dump_op_switch", is_single_op)):
                if conflicts:
                    self.error("E210", name, value="on", scene=scene, better="remove one of them")

        if scene in EXCEPTION_SCENES:
            self.check_exception_scene(scene)
            return None

        if scene == "watcher" and good.get("dump_mode", "output") != "output":
            better = "the watcher dumps outputs only"
            self.error("E210", "dump_mode", value=good["dump_mode"], scene=scene, better=better)

        folder = self.check_path()
        if is_debug:
            if is_single_op:
                self.error("E220", "dump_op_switch")

            self.warn_ignored("dump_debug", "dump_list", "dump_stats", "dump_step")
            return folder

        self.check_step()
        for index, item in enumerate(good.get("dump_list", ())):
            self.check_item(index, item, scene=scene, is_single_op=is_single_op)

        self.check_stats()
        if scene is None and not is_single_op and not good.get("dump_list"):
            self.drafts.warn("W022", ("dump",))

        return folder

    def check_exception_scene(self, scene: str) -> None:
        path = ("dump", "dump_scene")
        if scene == "aic_err_detail_dump":
            if self.product not in DETAIL_DUMP_PRODUCTS:
                args = {"product": self.product.name}
                self.drafts.error("E250", path, ConfigStep.DUMP, AclCode.INTERNAL_ERROR, **args)
            else:
                self.drafts.warn("W027", path)

        self.warn_ignored("dump_scene", "dump_list", "dump_stats", "dump_step")
        if "dump_kernel_data" in self.good and not self.good.get("dump_path"):
            self.drafts.warn("W029", ("dump", "dump_kernel_data"))

    def warn_ignored(self, reason: str, *names: str) -> None:
        for name in names:
            if self.dump.get(name):
                self.drafts.warn("W024", ("dump", name), reason=reason)

    def warn_of_product(self, *, is_single_op: bool) -> None:
        if is_single_op:
            self.drafts.unsupported(DUMP_OP_SWITCH, self.product)

        if "dump_kernel_data" in self.good:
            self.drafts.unsupported(DUMP_KERNEL_DATA, self.product)

    def check_path(self) -> str | None:
        if "dump_path" not in self.good:
            if "dump_path" not in self.dump:
                self.error("E211", "dump_path")

            return None

        text = self.good["dump_path"]
        if not text:
            self.error("E212", "dump_path")
            return None

        length = len(text.encode("utf-8", "surrogatepass"))
        if length > MAX_PATH_BYTES:
            self.error("E213", "dump_path", length=length)
            return None

        judged = judge_dump_path(text)
        if judged.fault:
            self.error(judged.fault, "dump_path")
        elif judged.oddity:
            self.drafts.warn(judged.oddity, ("dump", "dump_path"))

        return judged.local_folder

    def check_step(self) -> None:
        text = self.good.get("dump_step")
        if text and parse_steps(text) is None:
            self.error("E221", "dump_step", value=text[:60])

    def check_item(
        self, index: int, item: dict[str, Any], *, scene: str | None, is_single_op: bool
    ) -> None:
        above = ("dump_list", index)
        if not is_single_op:
            for name in ("model_name", "layer"):
                if name in item and not item[name]:
                    self.error("E230", *above, name)
        elif item.get("layer") == []:
            self.drafts.warn("W023", ("dump", *above, "layer"))

        if scene == "watcher":
            if not item.get("watcher_nodes"):
                self.error("E231", *above, "watcher_nodes")

            if "model_name" in item:
                self.error("E232", *above, "model_name")
        elif item.get("watcher_nodes"):
            self.error("E233", *above, "watcher_nodes")

        self.check_filters(item, *above)

    def check_filters(self, item: dict[str, Any], *above: str | int) -> None:
        is_op_level = self.good.get("dump_level") == "op"
        for name in ("optype_blacklist", "opname_blacklist"):
            entries = item.get(name, ())
            if len(entries) > MAX_BLACKLIST:
                self.error("E234", *above, name, count=len(entries))

            if entries and not is_op_level:
                self.error("E235", *above, name)

        ranges = item.get("opname_range", ())
        if not ranges:
            return

        if not is_op_level:
            self.error("E235", *above, "opname_range")

        if not item.get("model_name"):
            self.error("E236", *above, "opname_range")

        for position, entry in enumerate(ranges):
            if not (entry.get("begin") and entry.get("end")):
                self.error("E237", *above, "opname_range", position)

    def check_stats(self) -> None:
        stats = self.good.get("dump_stats")
        if stats is None:
            return

        if not stats:
            self.error("E240", "dump_stats")

        if self.good.get("dump_data") != "stats":
            self.error("E241", "dump_stats")
