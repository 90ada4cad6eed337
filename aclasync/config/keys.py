"""What is known of one key of the file: the shape of the tables in `features`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, final

from attrs import Factory, field, frozen

from aclasync.codes import AclCode
from aclasync.product import Product

from .steps import ConfigStep

ALL = frozenset(Product)
ALL_BUT_IPV350 = ALL - {Product.IPV350}
A2_A3 = frozenset({Product.ATLAS_A2, Product.ATLAS_A3})
ONLY_950 = frozenset({Product.ASCEND_950})
#: Products whose init hands the file to a reader that knows the dump section alone.
DUMP_ONLY = frozenset({Product.IPV350})
BUILT_WITH_O0 = A2_A3 | {Product.ATLAS_200I_500_A2}

KIB = 1024
MIB = 1024 * KIB


# Of a value, and of the elements of an array.
_TYPES: dict[str, tuple[tuple[type, ...], type | None]] = {
    "TEXT": ((str,), None),
    "TEXTS": ((list,), str),
    "OBJECTS": ((list,), dict),
    "OBJECT": ((dict,), None),
    "NUMBER": ((int, float), None),
    "INTEGER": ((int,), None),
}


@final
class Kind(Enum):
    """The JSON type of a key, as the reference checks it."""

    TEXT = "a string"
    TEXTS = "an array of strings"
    OBJECTS = "an array of objects"
    OBJECT = "an object"
    NUMBER = "a number"
    INTEGER = "an integer"

    def __init__(self, _: str) -> None:
        types, element = _TYPES[self.name]
        self.types: tuple[type, ...] = types
        self.element: type | None = element


@final
@frozen(kw_only=True)
class KeySpec:
    """One key of the file."""

    #: From the root; `[]` stands for every element of an array.
    path: tuple[str, ...]
    kind: Kind
    #: What it does, in one line.
    effect: str
    #: The values allowed, exactly; any other of the kind if empty.
    allowed: tuple[str, ...] = ()
    #: Its text is a list of allowed values with commas and no spaces.
    is_list: bool = False
    #: What is in force without the key, in words where it is no single value.
    default: str | int | None = None
    products: frozenset[Product] = ALL
    #: Products on which it acts although the documentation does not say so.
    undocumented_on: frozenset[Product] = frozenset()
    #: Values that only some products have.
    products_of_value: Mapping[str, frozenset[Product]] = field(factory=dict, hash=False)
    #: Where the reference meets a fault of it.
    step: ConfigStep
    #: What init returns for a wrong type or value; SUCCESS if it does not care.
    code: AclCode
    #: What it returns for a number out of bounds; as `code` if None.
    bounds_code: AclCode | None = None
    #: What it returns on a product without the key, or without the value; None if nothing.
    product_code: AclCode | None = None
    #: Bounds of a number, tested before the rounding; of a text in bytes; of an array in entries.
    low: int | None = None
    high: int | None = None
    #: Where the maximum depends on the product.
    high_on: Mapping[Product, int] = field(factory=dict, hash=False)
    #: Rounded up to a multiple of it.
    multiple: int = 1
    #: Regular expression of the texts allowed beside those in `allowed`.
    pattern: str = ""
    #: Looked at only while the `switch` beside it is on.
    is_only_on: bool = False
    #: Variables that matter for it, the strongest first.
    environment: tuple[str, ...] = ()
    #: The key itself.
    name: str = field(init=False, default=Factory(lambda self: self.path[-1], takes_self=True))

    def fits(self, value: Any) -> bool:
        """Whether a JSON value has the key's type, to the elements of an array."""
        # Exactly: True is no number.
        if type(value) not in self.kind.types:
            return False

        element = self.kind.element
        return element is None or all(type(inner) is element for inner in value)

    def allows(self, value: str, product: Product) -> bool:
        """Whether a value is one of those allowed on a product."""
        products = self.products_of_value.get(value)
        return value in self.allowed and (products is None or product in products)

    def acts_on(self, product: Product) -> bool:
        """Whether it does anything on a product."""
        return product in self.products or product in self.undocumented_on

    def allowed_on(self, product: Product) -> tuple[str, ...]:
        """Return those of the allowed values that a product has."""
        return tuple(value for value in self.allowed if self.allows(value, product))

    def high_for(self, product: Product) -> int | None:
        """Return the maximum on a product; None if there is none."""
        return self.high_on.get(product, self.high)


@final
@frozen(kw_only=True)
class FeatureSpec:
    """One of the features; 14 is the undocumented one."""

    number: int
    name: str
    keys: tuple[KeySpec, ...]
    products: frozenset[Product] = ALL
