"""The rules of `dump_list`: what every entry may say, alone and beside the rest of `dump`."""

from __future__ import annotations

from typing import Any, NamedTuple, final

from .check import MISSING, Drafts, kind_of
from .features import DUMP_LIST, ENTRY_KEYS, ITEM_KEYS
from .keys import KeySpec, Kind

_NAMES = tuple(spec.name for spec in ITEM_KEYS)
_BLACKLISTS = tuple(spec for spec in ITEM_KEYS if spec.high is not None)


@final
class _Item(NamedTuple):
    """One entry: the keys that have the right type, and the names of those that have not."""

    good: dict[str, Any]
    bad: set[str]


@final
class ItemRules:
    """The entries of one list."""

    def __init__(self, drafts: Drafts) -> None:
        self.drafts = drafts
        self.items: dict[int, _Item] = {}

    def _error(self, code: str, *path: str | int, **args: Any) -> None:
        self.drafts.error(code, tuple(path), DUMP_LIST.step, DUMP_LIST.code, **args)

    def refuse_type(self, spec: KeySpec, value: Any, *path: str | int) -> None:
        """Note a value of another type than a key's, or an element of another type."""
        if isinstance(value, list) and spec.kind in (Kind.TEXTS, Kind.OBJECTS):
            wanted = str if spec.kind is Kind.TEXTS else dict
            for index, element in enumerate(value):
                if not isinstance(element, wanted):
                    kind = Kind.TEXT if wanted is str else Kind.OBJECT
                    self._error("E200", *path, index, expected=kind.value, got=kind_of(element))
        else:
            self._error("E200", *path, expected=spec.kind.value, got=kind_of(value))

    # Types

    def check_types(self, items: list[Any]) -> None:
        """Check the type of every entry, and of everything in it."""
        for index, item in enumerate(items):
            above = ("dump", DUMP_LIST.name, index)
            if isinstance(item, dict):
                self.items[index] = self._checked(item, *above)
            else:
                self._error("E200", *above, expected=Kind.OBJECT.value, got=kind_of(item))

    def _checked(self, item: dict[str, Any], *above: str | int) -> _Item:
        self.drafts.unknown_keys(item, _NAMES, above)
        checked = _Item({}, set())
        for spec in ITEM_KEYS:
            value = item.get(spec.name, MISSING)
            if value is MISSING:
                continue

            if not spec.fits(value):
                checked.bad.add(spec.name)
                self.refuse_type(spec, value, *above, spec.name)
                continue

            checked.good[spec.name] = value
            if spec.kind is Kind.OBJECTS:
                self._check_entries(spec, value, *above, spec.name)

        return checked

    def _check_entries(self, spec: KeySpec, entries: list[dict[str, Any]], *above: Any) -> None:
        members = ENTRY_KEYS[spec.name]
        names = tuple(member.name for member in members)
        for index, entry in enumerate(entries):
            self.drafts.unknown_keys(entry, names, (*above, index))
            for member in members:
                value = entry.get(member.name, MISSING)
                if value is not MISSING and not member.fits(value):
                    self.refuse_type(member, value, *above, index, member.name)

    # Relations

    def check_relations(self, *, scene: str | None, is_single_op: bool, is_op_level: bool) -> None:
        """Check every entry beside the keys of `dump` that it depends on.

        The scene is None without one, and empty if what is written is none.
        """
        for index, item in self.items.items():
            above = ("dump", DUMP_LIST.name, index)
            self._check_emptiness(item.good, *above, is_single_op=is_single_op)
            if scene == "watcher":
                self._check_watched(item, *above)
            elif scene is None and item.good.get("watcher_nodes"):
                self._error("E233", *above, "watcher_nodes")

            self._check_blacklists(item.good, *above, is_op_level=is_op_level)
            self._check_ranges(item, *above, is_op_level=is_op_level)

    def _check_emptiness(self, good: dict[str, Any], *above: str | int, is_single_op: bool) -> None:
        for name in ("model_name", "layer"):
            if name not in good or good[name]:
                continue

            if is_single_op:
                self.drafts.warn("W023", (*above, name))
            else:
                self._error("E230", *above, name)

    def _check_watched(self, item: _Item, *above: str | int) -> None:
        if not item.good.get("watcher_nodes") and "watcher_nodes" not in item.bad:
            self._error("E231", *above, "watcher_nodes")

        if "model_name" in item.good:
            self._error("E232", *above, "model_name")

    def _check_blacklists(self, good: dict[str, Any], *above: str | int, is_op_level: bool) -> None:
        found = [(spec, good.get(spec.name, ())) for spec in _BLACKLISTS]
        for spec, entries in found:
            if len(entries) > (spec.high or 0):
                self._error("E234", *above, spec.name, count=len(entries), high=spec.high)

        for spec, entries in found:
            if entries and not is_op_level:
                self._error("E235", *above, spec.name)

            for index, entry in enumerate(entries):
                if not entry.get("name", MISSING):
                    self.drafts.warn("W023", (*above, spec.name, index, "name"))
                elif "name" not in entry:
                    self.drafts.warn("W023", (*above, spec.name, index))

    def _check_ranges(self, item: _Item, *above: str | int, is_op_level: bool) -> None:
        name = "opname_range"
        ranges = item.good.get(name, ())
        if not ranges:
            return

        if not is_op_level:
            self._error("E235", *above, name)

        if not item.good.get("model_name") and "model_name" not in item.bad:
            self._error("E236", *above, name)

        for index, entry in enumerate(ranges):
            if not (entry.get("begin") and entry.get("end")):
                self._error("E237", *above, name, index)
