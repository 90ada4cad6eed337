"""What a device may be asked to set aside, by product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aclasync.errors import AclCode, DeviceError
from aclasync.product import Product

if TYPE_CHECKING:
    from aclasync.backends.base import DeviceLimits

DEFAULT_AICORE_STACK_BYTES = 32 * 1024
DEFAULT_SIMT_STACK_BYTES = 1152
DEFAULT_SIMT_DIVERGENCE_STACK_BYTES = 1024
DEFAULT_SIMD_PRINTF_FIFO_BYTES = 32 * 1024
DEFAULT_SIMT_PRINTF_FIFO_BYTES = 2 * 1024 * 1024
DEFAULT_OP_QUEUE_CAPACITY = 20000

_USUAL_AICORE_STACK_BYTES = 192 * 1024
_MAX_AICORE_STACK_BYTES = {
    Product.ASCEND_950: 128 * 1024,
    Product.ATLAS_200I_500_A2: 7680 * 1024,
}


def check_limits(limits: DeviceLimits, product: Product, device_id: int) -> None:
    """Refuse, as the reference does when a device is set, an AI Core stack that can't be had.

    Raises:
      DeviceError: the product has less (107000).
    """
    most = _MAX_AICORE_STACK_BYTES.get(product, _USUAL_AICORE_STACK_BYTES)
    if limits.aicore_stack_bytes > most:
        detail = (
            f"device {device_id}: aicore_stack_size is {limits.aicore_stack_bytes}, "
            f"{product.name} has {most} at the most; lower it in the configuration"
        )
        raise DeviceError(AclCode.RT_PARAM_INVALID, "aclrtSetDevice", detail)
