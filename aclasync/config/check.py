"""What the rules share: leaving drafts, and saying what was found instead."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, final

from aclasync.codes import AclCode
from aclasync.product import Product

from .features import KeySpec, Kind
from .findings import Draft, Path
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

    def unknown_keys(self, found: dict[str, Any], known: Iterable[str], path: Path) -> None:
        """Note every key that the reference ignores, with the nearest known one."""
        names = tuple(known)
        for key in found:
            if key not in names:
                self.warn("W001", (*path, key), better=nearest(key, names))

    def unsupported(self, spec: KeySpec, product: Product) -> None:
        """Note a key that does nothing on this product."""
        if product not in spec.products:
            self.warn("W011", spec.path, product=product.name)


def nearest(key: str, known: Iterable[str]) -> str:
    """Return what to do about a key that is unknown."""
    folded = {name.lower(): name for name in known}
    if key.lower() in folded:
        return f"write {folded[key.lower()]}"

    close = get_close_matches(key.lower(), folded, 1, 0.75)
    return f"did you mean {folded[close[0]]}?" if close else "remove it"


def kind_of(value: Any) -> str:
    """Name the JSON type of a value for messages."""
    if value is None:
        return "null"

    if isinstance(value, bool):
        return "true" if value else "false"

    names = {str: "a string", int: "a number", float: "a number", list: "an array"}
    return names.get(type(value), "an object")


def is_of(kind: Kind, value: Any) -> bool:
    """Whether a value is a string, or an array of strings or objects, as a `dump` key must be."""
    if kind is Kind.TEXT:
        return isinstance(value, str)

    element = str if kind is Kind.TEXTS else dict
    return isinstance(value, list) and all(isinstance(inner, element) for inner in value)


def listed(allowed: Iterable[str]) -> str:
    """Join the allowed values for a message."""
    return ", ".join(allowed)
