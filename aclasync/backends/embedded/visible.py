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

        raise _refusal(",".join(map(str, chosen)), why, chosen[:index])

    # The environment's numbers stop where the text has none.
    pieces = environment.given.get(_VARIABLE, "").split(",")
    if len(pieces) > len(chosen):
        why = f"{pieces[len(chosen)]!r} is no number of a device, the count of devices is {count}"
        raise _refusal(",".join(pieces), why, chosen)

    return chosen


def _refusal(text: str, why: str, kept: tuple[int, ...]) -> InvalidDeviceError:
    used = ",".join(map(str, kept)) or "none at all"
    detail = f"{_VARIABLE}={text}: {why} (a driver would have used {used} without a word)"
    return InvalidDeviceError(AclCode.RT_INVALID_DEVICEID, "open_backend", detail)
