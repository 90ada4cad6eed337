"""The rules of the `dump` section, in the reference's order.

Every fault is left as a draft; what the reference does not come to look at is no fault.
"""

from __future__ import annotations

import re
from typing import Any

from aclasync.codes import AclCode
from aclasync.product import Product

from .check import MISSING, Drafts, is_of, kind_of, nearest, shape_of
from .dump_filters import warn_of_filters
from .dump_path import MAX_PATH_BYTES, judge_dump_path
from .environment import Environment
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
    by_name,
)
from .findings import Path
from .steps import ConfigStep

MAX_STEP_PIECES = 100
MAX_BLACKLIST = 100

_KEYS = by_name(*DUMP_TEXTS, DUMP_STATS, DUMP_LIST)
_ITEM_NAMES = by_name(*ITEM_KEYS)
_CHOICES = (DUMP_MODE, DUMP_DATA, DUMP_OP_SWITCH, DUMP_LEVEL, DUMP_DEBUG, DUMP_SCENE)
_STEP = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_LONG_MAX = 2**63 - 1


def check_dump(
    root: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
) -> str | None:
    """Check the section; return the local folder that must exist, if one must."""
    dump = root.get("dump", MISSING)
    if dump is MISSING:
        return None

    if not isinstance(dump, dict):
        better = shape_of(Kind.OBJECT)
        _error(drafts, "E200", (), expected="an object", got=kind_of(dump), better=better)
        return None

    if not dump:
        return None

    drafts.unknown_keys(dump, _KEYS, ("dump",))
    rules = _DumpRules(dump, product, environment, drafts)
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
    def __init__(
        self, dump: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
    ) -> None:
        self.dump = dump
        self.product = product
        self.environment = environment
        self.drafts = drafts
        #: Keys of the right type; the others count as absent from here on.
        self.good: dict[str, Any] = {}

    def error(self, code: str, *path: str | int, **args: Any) -> None:
        _error(self.drafts, code, path, **args)

    # Types

    def check_types(self) -> None:
        dump, good = self.dump, self.good
        for spec in DUMP_TEXTS:
            if spec.name in dump:
                self.check_type(good, spec, dump[spec.name])

        if "dump_stats" in dump:
            self.check_type(good, DUMP_STATS, dump["dump_stats"])

        if "dump_list" in dump:
            items = dump["dump_list"]
            if not isinstance(items, list):
                self.refuse_type(DUMP_LIST.kind, items, "dump_list")
                return

            good["dump_list"] = [self.checked_item(i, item) for i, item in enumerate(items)]

    def check_type(self, good: dict[str, Any], spec: KeySpec, value: Any, *above: Any) -> None:
        if is_of(spec.kind, value):
            good[spec.name] = value
            return

        if isinstance(value, list) and spec.kind is not Kind.TEXT:
            # The array is fine; say which of its elements is not.
            element = Kind.TEXT if spec.kind is Kind.TEXTS else Kind.OBJECT
            for index, inner in enumerate(value):
                if not is_of(element, inner):
                    self.refuse_type(element, inner, *above, spec.name, index)

            return

        self.refuse_type(spec.kind, value, *above, spec.name)

    def refuse_type(self, kind: Kind, value: Any, *path: str | int) -> None:
        args = {"expected": kind.value, "got": kind_of(value), "better": shape_of(kind)}
        self.error("E200", *path, **args)

    def checked_item(self, index: int, item: Any) -> dict[str, Any]:
        above = ("dump_list", index)
        if not isinstance(item, dict):
            self.refuse_type(Kind.OBJECT, item, *above)
            return {}

        self.drafts.unknown_keys(item, _ITEM_NAMES, ("dump", *above))
        good: dict[str, Any] = {}
        for spec in ITEM_KEYS:
            if spec.name in item:
                value = item[spec.name]
                self.check_type(good, spec, value, *above)
                if spec.kind is Kind.OBJECTS and spec.name in good:
                    self.check_entries(spec.name, value, *above)

        return good

    def check_entries(self, name: str, entries: list[dict[str, Any]], *above: Any) -> None:
        members = ENTRY_KEYS[name]
        for index, entry in enumerate(entries):
            path = (*above, name, index)
            self.drafts.unknown_keys(entry, members, ("dump", *path))
            for key, kind in members.items():
                if key in entry and not is_of(kind, entry[key]):
                    self.refuse_type(kind, entry[key], *path, key)

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
            better = nearest(value, allowed) or "the spelling must be exact"
            self.error("E202", *path, value=value, allowed=allowed, better=better)
        else:
            self.error("E201", *path, allowed=allowed)

    # Relations

    def check_relations(self) -> str | None:
        good = self.good
        scene = good.get("dump_scene")
        is_debug = good.get("dump_debug") == "on"
        is_single_op = good.get("dump_op_switch") == "on"
        self.warn_of_product()
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

            self.warn_ignored("dump_debug", "dump_mode", "dump_list", "dump_stats", "dump_step")
            return folder

        self.check_step()
        for index, item in enumerate(good.get("dump_list", ())):
            self.check_item(index, item, scene=scene, is_single_op=is_single_op)

        self.check_stats()
        asks = ("dump_scene", "dump_list", "dump_kernel_data")
        if not is_single_op and not any(good.get(key) or self.is_faulty(key) for key in asks):
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
        folder = self.good.get("dump_path")
        if "dump_kernel_data" in self.good and not folder:
            self.drafts.warn("W029", ("dump", "dump_kernel_data"))

        override = self.environment.exception_folder
        if folder and override is not None:
            variable, value = override
            self.drafts.warn("W026", ("dump", "dump_path"), variable=variable, value=value)

    def warn_ignored(self, reason: str, *names: str) -> None:
        for name in names:
            if self.dump.get(name):
                self.drafts.warn("W024", ("dump", name), reason=reason)

    def warn_of_product(self) -> None:
        for spec in (DUMP_OP_SWITCH, DUMP_DEBUG, DUMP_SCENE, DUMP_KERNEL_DATA):
            if self.good.get(spec.name) not in (None, "off"):
                self.drafts.unsupported(spec, self.product)

    def is_faulty(self, name: str) -> bool:
        """Whether a key is there but counts as absent, so that nothing can be said of its lack."""
        return name in self.dump and name not in self.good

    def check_path(self) -> str | None:
        if "dump_path" not in self.good:
            if not self.is_faulty("dump_path"):
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
        for name in ("model_name", "layer"):
            if name in item and not item[name]:
                if is_single_op:
                    self.warn_of_filter("name something, or remove it", *above, name)
                else:
                    self.error("E230", *above, name)

        if scene == "watcher":
            if not item.get("watcher_nodes") and not self.is_faulty_in(
                item, index, "watcher_nodes"
            ):
                self.error("E231", *above, "watcher_nodes")

            if "model_name" in item:
                self.error("E232", *above, "model_name")
        elif item.get("watcher_nodes") and not self.is_faulty("dump_scene"):
            self.error("E233", *above, "watcher_nodes")

        self.check_filters(item, *above)
        warn_of_filters(item, ("dump", *above), self.drafts)

    def is_faulty_in(self, item: dict[str, Any], index: int, name: str) -> bool:
        """Whether a key of an entry is there but of the wrong type."""
        written = self.dump["dump_list"][index]
        return not isinstance(written, dict) or (name in written and name not in item)

    def warn_of_filter(self, better: str, *path: str | int) -> None:
        self.drafts.warn("W023", ("dump", *path), better=better)

    def check_filters(self, item: dict[str, Any], *above: str | int) -> None:
        # A level that is no level may have been meant to be op.
        is_op_level = self.good.get("dump_level") == "op" or self.is_faulty("dump_level")
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

        index = above[-1]
        assert isinstance(index, int)
        if not item.get("model_name") and not self.is_faulty_in(item, index, "model_name"):
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

        if self.good.get("dump_data") != "stats" and not self.is_faulty("dump_data"):
            self.error("E241", "dump_stats")
