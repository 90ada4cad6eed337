"""What the rules share: leaving drafts, and saying what was found instead."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, final

from aclasync.codes import AclCode
from aclasync.product import Product

from .findings import Draft, Path
from .keys import KeySpec
from .steps import ConfigStep

MISSING = object()

#: Of one object; more of them say nothing more.
MAX_UNKNOWN = 50

_MAX_SHOWN = 60


@final
class Drafts(list[Draft]):
    """The drafts of one configuration, in the order of the checks."""

    def error(
        self, code: str, path: Path, step: ConfigStep, acl_code: AclCode, **args: Any
    ) -> None:
        """Note what the reference refuses."""
        self.append(Draft(code, path, args, step, acl_code))

    def refuse(self, spec: KeySpec, code: str, **args: Any) -> None:
        """Note a wrong type or value of a key."""
        self.append(Draft(code, spec.path, args, spec.step, spec.code))

    def out_of_bounds(self, spec: KeySpec, product: Product, value: Any) -> None:
        """Note a number beyond a key's bounds."""
        args = {"value": shown(value), "low": spec.low, "high": spec.high_for(product)}
        acl_code = spec.code if spec.bounds_code is None else spec.bounds_code
        self.append(Draft("E331", spec.path, args, spec.step, acl_code))

    def refuse_product(self, spec: KeySpec, code: str, product: Product, **args: Any) -> None:
        """Note a key, or a value of it, without which a product refuses to start."""
        assert spec.product_code is not None
        args["product"] = product.name
        self.append(Draft(code, spec.path, args, spec.step, spec.product_code))

    def warn(self, code: str, path: Path, **args: Any) -> None:
        """Note what it accepts but does not heed, or an effective value."""
        self.append(Draft(code, path, args))

    def unknown_keys(self, found: dict[str, Any], known: tuple[str, ...], path: Path) -> None:
        """Note the keys that the reference ignores; the nearest known ones are looked up later."""
        unknown = [key for key in found if key not in known]
        for key in unknown[:MAX_UNKNOWN]:
            self.warn("W001", (*path, key), key=key, known=known)

        if (more := len(unknown) - MAX_UNKNOWN) > 0:
            self.warn("W006", path, count=more)

    def unsupported(self, spec: KeySpec, product: Product) -> None:
        """Note a key that does nothing on this product."""
        if product not in spec.products:
            code = "W018" if spec.acts_on(product) else "W011"
            self.warn(code, spec.path, product=product.name)


def kind_of(value: Any) -> str:
    """Name the JSON type of a value for messages."""
    if value is None:
        return "null"

    if isinstance(value, bool):
        return "true" if value else "false"

    names = {str: "a string", int: "a number", float: "a number", list: "an array"}
    return names.get(type(value), "an object")


def shown(value: Any) -> str:
    """Return a value as JSON for a message; of a long text the beginning, of others the type."""
    if isinstance(value, (dict, list)):
        return kind_of(value) if value else json.dumps(value)

    if isinstance(value, str) and len(value) > _MAX_SHOWN:
        return json.dumps(value[:_MAX_SHOWN], ensure_ascii=False) + "…"

    return json.dumps(value, ensure_ascii=False)


def listed(allowed: Iterable[str]) -> str:
    """Join the allowed values for a message."""
    return ", ".join(allowed)
