"""What the rules share: leaving drafts, and saying what was found instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, final

from aclasync.codes import AclCode
from aclasync.product import Product

from .features import FEATURES, KeySpec, Kind
from .findings import Draft, Path, json_path
from .steps import ConfigStep

MISSING = object()


@final
class Drafts(list[Draft]):
    """The drafts of one configuration, in the order of the checks."""

    def error(
        self, code: str, path: Path, step: ConfigStep, acl_code: AclCode, **args: Any
    ) -> None:
        """Note what the reference refuses."""
        self.append(Draft(code, path, args, step, acl_code))

    def warn(self, code: str, path: Path, **args: Any) -> None:
        """Note what it accepts but does not heed, or an effective value."""
        self.append(Draft(code, path, args))

    def unknown_keys(self, found: dict[str, Any], known: Mapping[str, Any], path: Path) -> None:
        """Note every key that the reference ignores, with the nearest known one."""
        if found.keys() <= known.keys():
            return

        for key in found:
            if key not in known:
                better = nearest(key, known) or _home_of(key) or "remove it"
                self.warn("W001", (*path, key), better=better)

    def unsupported(self, spec: KeySpec, product: Product) -> None:
        """Note a key that does nothing on this product."""
        if product not in spec.products:
            self.warn("W011", spec.path, product=product.name)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return which known word an unknown one may be, as advice; "" if it is like none."""
    folded = {name.lower(): name for name in known}
    meant = folded.get(word.strip().lower())
    if meant is not None:
        return f'write "{meant}"'

    close = get_close_matches(word.lower(), folded, 1, 0.75)
    return f'did you mean "{folded[close[0]]}"?' if close else ""


def _home_of(key: str) -> str:
    """Return where a key belongs that stands somewhere else, as advice."""
    homes = (spec.path[:-1] for feature in FEATURES for spec in feature.keys if spec.name == key)
    advice = (f"it belongs in {json_path(home)}" for home in homes)
    return next(advice, "").replace("['[]']", "[]")


def kind_of(value: Any) -> str:
    """Name the JSON type of a value for messages."""
    if value is None:
        return "null"

    if isinstance(value, bool):
        return "true" if value else "false"

    names = {str: "a string", int: "a number", float: "a number", list: "an array"}
    return names.get(type(value), "an object")


def is_of(kind: Kind, value: Any) -> bool:
    """Whether a value is of one of the kinds of `dump` and what is in it."""
    if kind is Kind.TEXT:
        return isinstance(value, str)

    if kind is Kind.OBJECT:
        return isinstance(value, dict)

    element = str if kind is Kind.TEXTS else dict
    return isinstance(value, list) and all(isinstance(inner, element) for inner in value)


def shape_of(kind: Kind) -> str:
    """Say how a value of a kind is written."""
    return _SHAPES[kind]


_SHAPES = {
    Kind.TEXT: 'write "..."',
    Kind.TEXTS: 'write ["...", "..."]',
    Kind.OBJECTS: "write [{...}, {...}]",
    Kind.OBJECT: "write {...}",
    Kind.NUMBER: "write bytes as a JSON number",
    Kind.INTEGER: "write bytes as a JSON integer",
}
