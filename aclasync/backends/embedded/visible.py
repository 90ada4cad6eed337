"""How many devices there are, and which of them this process may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aclasync.errors import AclCode, InvalidDeviceError

if TYPE_CHECKING:
    from aclasync.config import Environment

_VARIABLE = "ASCEND_RT_VISIBLE_DEVICES"


def visible_devices(devices: int | None, environment: Environment) -> tuple[int, ...]:
    """Return the physical number of every device that can be opened, in the order of its own.

    Raises:
      InvalidDeviceError: the environment names a device that doesn't exist, or not in ascending
        order. The driver would go on with the entries before it and say nothing.
    """
    count = devices if devices is not None else environment.devices
    count = 1 if count is None else count
    chosen = environment.visible_devices
    if chosen is None:
        return tuple(range(count))

    for index, entry in enumerate(chosen):
        if entry not in range(count):
            why = f"there is no device {entry}, the count of devices is {count}"
        elif index and entry <= chosen[index - 1]:
            why = f"{entry} comes after {chosen[index - 1]} but the list must ascend"
        else:
            continue

        kept = ",".join(map(str, chosen[:index])) or "none at all"
        text = ",".join(map(str, chosen))
        detail = f"{_VARIABLE}={text}: {why} (a driver would have used {kept} without a word)"
        raise InvalidDeviceError(AclCode.RT_INVALID_DEVICEID, "open_backend", detail)

    return chosen
