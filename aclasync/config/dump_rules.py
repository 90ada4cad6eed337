"""The rules of the `dump` section, in the reference's order.

Every fault is left as a draft. A rule between two keys is left out while one of them is faulty
itself, and what the reference does not come to look at is no fault.
"""

from __future__ import annotations

import re
from typing import Any

from aclasync.product import Product

from .catalog import Phrase
from .check import MISSING, Drafts, kind_of, listed, shown
from .dump_path import FolderCheck, judge_dump_path
from .environment import Environment
from .features import (
    DUMP_DATA,
    DUMP_DEBUG,
    DUMP_KERNEL_DATA,
    DUMP_LEVEL,
    DUMP_LIST,
    DUMP_MODE,
    DUMP_OP_SWITCH,
    DUMP_PATH,
    DUMP_SCENE,
    DUMP_STATS,
    DUMP_STEP,
    DUMP_TEXTS,
    EXCEPTION_SCENES,
    STEP_RANGE,
)
from .findings import json_path
from .item_rules import ItemRules
from .keys import KeySpec

_KEYS = (*DUMP_TEXTS, DUMP_STATS, DUMP_LIST)
_NAMES = tuple(spec.name for spec in _KEYS)
_CHOICES = (DUMP_MODE, DUMP_DATA, DUMP_OP_SWITCH, DUMP_LEVEL, DUMP_DEBUG, DUMP_SCENE)
_STEP = re.compile(STEP_RANGE)
_LONG_MAX = 2**63 - 1


def check_dump(
    root: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
) -> FolderCheck | None:
    """Check the section; return the local folder that must exist, if one must."""
    dump = root.get("dump", MISSING)
    if dump is MISSING:
        return None

    if not isinstance(dump, dict):
        args = {"expected": "an object", "got": kind_of(dump)}
        drafts.error("E200", ("dump",), DUMP_PATH.step, DUMP_PATH.code, **args)
        return None

    if not dump:
        drafts.warn("W022", ("dump",))
        return None

    drafts.unknown_keys(dump, _NAMES, ("dump",))
    rules = _DumpRules(dump, product, environment, drafts)
    rules.check_types()
    rules.check_values()
    return rules.check_relations()


def parse_steps(text: str) -> tuple[tuple[int, int], ...] | None:
    """Return first and last of every range in a dump_step, or None if it is none."""
    pieces = text.split("|")
    assert DUMP_STEP.high is not None
    if len(pieces) > DUMP_STEP.high:
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


class _DumpRules:
    def __init__(
        self, dump: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
    ) -> None:
        self.dump = dump
        self.product = product
        self.environment = environment
        self.drafts = drafts
        #: Keys that are right by themselves; the faulty ones are in `bad`.
        self.good: dict[str, Any] = {}
        self.bad: set[str] = set()
        self.items = ItemRules(drafts)

    def error(self, code: str, *path: str | int, **args: Any) -> None:
        self.drafts.error(code, ("dump", *path), DUMP_PATH.step, DUMP_PATH.code, **args)

    def has(self, spec: KeySpec, value: str) -> bool:
        """Whether a key has that value, given or by default."""
        return spec.name not in self.bad and self.good.get(spec.name, spec.default) == value

    # Types

    def check_types(self) -> None:
        for spec in (*DUMP_TEXTS, DUMP_STATS):
            if (value := self.dump.get(spec.name, MISSING)) is not MISSING:
                if spec.fits(value):
                    self.good[spec.name] = value
                else:
                    self.bad.add(spec.name)
                    self.items.refuse_type(spec, value, "dump", spec.name)

        items = self.dump.get(DUMP_LIST.name, [])
        if isinstance(items, list):
            self.items.check_types(items)
        else:
            self.bad.add(DUMP_LIST.name)
            self.items.refuse_type(DUMP_LIST, items, "dump", DUMP_LIST.name)

    # Values

    def check_values(self) -> None:
        for spec in _CHOICES:
            value = self.good.get(spec.name)
            if value is not None and value not in spec.allowed:
                self.refuse(spec, value)

        kernel = self.good.get(DUMP_KERNEL_DATA.name)
        for piece in () if kernel is None else kernel.split(","):
            if not piece:
                self.error("E203", DUMP_KERNEL_DATA.name)
            elif piece not in DUMP_KERNEL_DATA.allowed:
                self.refuse(DUMP_KERNEL_DATA, piece)

        for index, name in enumerate(self.good.get(DUMP_STATS.name, ())):
            if name not in DUMP_STATS.allowed:
                self.refuse(DUMP_STATS, name, index)

    def refuse(self, spec: KeySpec, value: str, *index: int) -> None:
        self.bad.add(spec.name)
        allowed = listed(spec.allowed)
        if value:
            self.error("E202", spec.name, *index, value=shown(value), allowed=allowed)
        else:
            self.error("E201", spec.name, *index, allowed=allowed)

    # Relations

    def check_relations(self) -> FolderCheck | None:
        scene = None if DUMP_SCENE.name in self.bad else self.good.get(DUMP_SCENE.name)
        is_debug = self.has(DUMP_DEBUG, "on")
        is_single_op = self.has(DUMP_OP_SWITCH, "on")
        self.warn_of_product(is_single_op=is_single_op)
        if scene is not None:
            for name, conflicts in (("dump_debug", is_debug), ("dump_op_switch", is_single_op)):
                if conflicts:
                    self.refuse_with_scene(name, "on", scene, Phrase("remove one of them"))

        if scene in EXCEPTION_SCENES:
            self.check_exception_scene(scene)
            return None

        mode = self.good.get(DUMP_MODE.name, "output")
        if scene == "watcher" and DUMP_MODE.name not in self.bad and mode != "output":
            self.refuse_with_scene(
                DUMP_MODE.name, mode, scene, Phrase("the watcher dumps outputs only")
            )

        folder = self.check_path()
        if is_debug:
            if is_single_op and scene is None:
                self.error("E220", DUMP_OP_SWITCH.name)

            mode_too = ("dump_mode",) if mode != "all" else ()
            self.warn_ignored("dump_debug", "dump_list", "dump_stats", "dump_step", *mode_too)
            return folder

        self.check_step()
        self.items.check_relations(
            scene="" if DUMP_SCENE.name in self.bad else scene,
            is_single_op=is_single_op or DUMP_OP_SWITCH.name in self.bad,
            is_op_level=self.has(DUMP_LEVEL, "op") or DUMP_LEVEL.name in self.bad,
        )
        self.check_stats()
        self.warn_of_nothing(scene, is_single_op=is_single_op)
        self.warn_of_variables()
        return folder

    def refuse_with_scene(self, name: str, value: str, scene: str, better: Phrase) -> None:
        self.error("E210", name, value=value, scene=scene, better=better)

    def check_exception_scene(self, scene: str) -> None:
        if self.product not in DUMP_SCENE.products_of_value.get(scene, {self.product}):
            self.drafts.refuse_product(DUMP_SCENE, "E250", self.product)
        elif scene == "aic_err_detail_dump":
            self.drafts.warn("W027", DUMP_SCENE.path)

        self.warn_ignored("dump_scene", "dump_list", "dump_stats", "dump_step")
        path = self.good.get(DUMP_PATH.name)
        if DUMP_KERNEL_DATA.name in self.good and not path:
            self.drafts.warn("W029", DUMP_KERNEL_DATA.path)

        if self.environment.dump_scene:
            self.override(DUMP_SCENE, "ASCEND_DUMP_SCENE")

        if path and self.environment.exception_path_variable:
            self.override(DUMP_PATH, self.environment.exception_path_variable)

        self.note_relative_path(path)

    def override(self, spec: KeySpec, variable: str) -> None:
        value = shown(self.environment.given[variable])
        self.drafts.warn("W026", spec.path, variable=variable, value=value)

    def warn_ignored(self, reason: str, *names: str) -> None:
        for name in names:
            if self.dump.get(name):
                self.drafts.warn("W024", ("dump", name), reason=reason)

    def warn_of_product(self, *, is_single_op: bool) -> None:
        if is_single_op:
            self.drafts.unsupported(DUMP_OP_SWITCH, self.product)

        if DUMP_KERNEL_DATA.name in self.good:
            self.drafts.unsupported(DUMP_KERNEL_DATA, self.product)

    def warn_of_nothing(self, scene: str | None, *, is_single_op: bool) -> None:
        """Warn where nothing can ever be dumped."""
        if self.bad or self.dump.get(DUMP_LIST.name) or is_single_op:
            return

        if scene is not None:
            self.drafts.warn("W034", DUMP_SCENE.path)
        elif DUMP_KERNEL_DATA.name not in self.good:
            self.drafts.warn("W022", ("dump",))

    def warn_of_variables(self) -> None:
        for variable in ("ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"):
            if DUMP_KERNEL_DATA.name in self.good and self.environment.given.get(variable):
                self.override(DUMP_KERNEL_DATA, variable)
                return

    def check_path(self) -> FolderCheck | None:
        if DUMP_PATH.name in self.bad:
            return None

        text = self.good.get(DUMP_PATH.name)
        if not text:
            self.error("E211" if text is None else "E212", DUMP_PATH.name)
            return None

        length = len(text.encode("utf-8", "surrogatepass"))
        assert DUMP_PATH.high is not None
        if length > DUMP_PATH.high:
            self.error("E213", DUMP_PATH.name, length=length, high=DUMP_PATH.high)
            return None

        judged = judge_dump_path(text)
        if judged.fault:
            self.error(judged.fault, DUMP_PATH.name)
        elif judged.oddity:
            self.drafts.warn(judged.oddity, DUMP_PATH.path)

        self.note_relative_path(judged.local_folder)
        if judged.local_folder is None:
            return None

        return FolderCheck(judged.local_folder, json_path(DUMP_PATH.path), len(self.drafts))

    def note_relative_path(self, path: str | None) -> None:
        if path and not path.startswith("/"):
            self.drafts.warn("I004", DUMP_PATH.path)

    def check_step(self) -> None:
        text = self.good.get(DUMP_STEP.name)
        if text and parse_steps(text) is None:
            self.error("E221", DUMP_STEP.name, value=shown(text), high=DUMP_STEP.high)

    def check_stats(self) -> None:
        stats = self.good.get(DUMP_STATS.name)
        if stats is None:
            return

        if not stats:
            self.error("E240", DUMP_STATS.name)

        if not (self.has(DUMP_DATA, "stats") or DUMP_DATA.name in self.bad):
            self.error("E241", DUMP_STATS.name)
