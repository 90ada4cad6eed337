"""What a device may be asked to set aside, by product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aclasync.config.features import AICORE_STACK
from aclasync.errors import AclCode, DeviceError

if TYPE_CHECKING:
    from aclasync.backends.base import DeviceLimits
    from aclasync.config import KeySpec
    from aclasync.product import Product

# Of the products that the documentation says nothing of.
_USUAL_AICORE_STACK_BYTES = 192 * 1024


def default_of(spec: KeySpec) -> int:
    """Return what is in force without the key."""
    if not isinstance(spec.default, int):
        raise TypeError(f"{spec.name} has no number for a default")

    return spec.default


def check_limits(limits: DeviceLimits, product: Product, device_id: int) -> None:
    """Refuse, as the reference does when a device is set, an AI Core stack that can't be had.

    Raises:
      DeviceError: the product has less (107000).
    """
    most = AICORE_STACK.high_on.get(product, _USUAL_AICORE_STACK_BYTES)
    if limits.aicore_stack_bytes > most:
        detail = (
            f"device {device_id}: aicore_stack_size is {limits.aicore_stack_bytes}, "
            f"{product.name} has {most} at the most; lower it in the configuration"
        )
        raise DeviceError(AclCode.RT_PARAM_INVALID, "aclrtSetDevice", detail)
