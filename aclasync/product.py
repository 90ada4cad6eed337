"""Products and what the lifecycle and the configuration may expect of each.

Knows nothing of a running device: everything here follows from the product's name alone.
"""

from __future__ import annotations

import reprlib
from enum import Enum
from typing import NamedTuple, final


@final
class Product(Enum):
    """An Ascend product family, as the documentation names them; the value is its short tag."""

    ASCEND_950 = "950"
    ATLAS_A3 = "A3"
    ATLAS_A2 = "A2"
    ATLAS_200I_500_A2 = "200I_500_A2"
    ATLAS_INFERENCE = "inference"
    ATLAS_TRAINING = "training"
    IPV350 = "IPV350"

    @classmethod
    def from_soc_name(cls, soc_name: str) -> Product:
        """Return the product that carries the SoC `soc_name`, as `aclrtGetSocName` spells it.

        Raises:
          ValueError: no known product carries such a SoC.
        """
        for prefix, product in _SOC_PREFIXES:
            if soc_name.startswith(prefix):
                return product

        known = ", ".join(prefix + "…" for prefix, _ in _SOC_PREFIXES)
        raise ValueError(f"unknown SoC name {soc_name!r}; known are {known}")

    @property
    def rules(self) -> LifecycleRules:
        """How this product counts init and finalize."""
        return _PAIRED if self is Product.IPV350 else _STANDARD


# Longer prefixes first: a name belongs to the first row that fits.
_SOC_PREFIXES = (
    ("Ascend950", Product.ASCEND_950),
    ("Ascend910_93", Product.ATLAS_A3),
    ("Ascend910B", Product.ATLAS_A2),
    ("Ascend910", Product.ATLAS_TRAINING),
    ("Ascend310B", Product.ATLAS_200I_500_A2),
    ("Ascend310P", Product.ATLAS_INFERENCE),
    ("IPV350", Product.IPV350),
)


@final
class LifecycleRules(NamedTuple):
    """The product's rules for counting, pinning and reporting."""

    #: A repeated init answers REPEAT_INITIALIZE (it counts all the same) instead of SUCCESS.
    reports_repeat: bool
    #: The content of the first successful init binds the process for life.
    pins_config: bool
    #: `finalize` gives back one reference, and never fails for want of one.
    finalize_counts_down: bool
    #: `finalize_reference` and the callback calls exist.
    has_callbacks: bool
    #: Every failure of init carries INTERNAL_ERROR, and a config that can't be opened means none.
    flattens_init_failure: bool


_STANDARD = LifecycleRules(
    reports_repeat=True,
    pins_config=True,
    finalize_counts_down=False,
    has_callbacks=True,
    flattens_init_failure=False,
)
_PAIRED = LifecycleRules(
    reports_repeat=False,
    pins_config=False,
    finalize_counts_down=True,
    has_callbacks=False,
    flattens_init_failure=True,
)


def check_product(product: object) -> None:
    """Refuse what is no product.

    Raises:
      TypeError: it is neither a `Product` nor None; it names the product that a text means.
    """
    if product is None or isinstance(product, Product):
        return

    if isinstance(product, str):
        text = product.casefold()
        meant = (p for p in Product if text in (p.value.casefold(), p.name.casefold()))
        better = next((f"Product.{p.name}" for p in meant), "")
        if not better and product.startswith(tuple(prefix for prefix, _ in _SOC_PREFIXES)):
            better = f"Product.from_soc_name({product!r})"
    else:
        better = ""

    better = better or "one such as Product.ATLAS_A2"
    raise TypeError(f"product must be a Product, not {reprlib.repr(product)}; write {better}")
