"""Which devices there are, and what opening and closing them does."""

from __future__ import annotations

import pytest

from aclasync.errors import AclCode, DeviceError, InvalidDeviceError


@pytest.mark.parametrize(
    ("devices", "variables", "count"),
    [
        (None, {}, 1),
        (None, {"ACLASYNC_DEVICES": "4"}, 4),
        (2, {"ACLASYNC_DEVICES": "4"}, 2),
        (0, {}, 0),
        (4, {"ASCEND_RT_VISIBLE_DEVICES": "1,3"}, 2),
        (None, {"ACLASYNC_DEVICES": "8", "ASCEND_RT_VISIBLE_DEVICES": "7"}, 1),
    ],
)
def test_count_comes_from_argument_environment_and_visibility(
    open_embedded, devices, variables, count
):
    """The argument wins over the environment, and what is hidden does not count."""
    backend = open_embedded(devices=devices, variables=variables)
    assert backend.device_count == count
    for device_id in (-1, count, count + 1):
        with pytest.raises(InvalidDeviceError) as caught:
            backend.open_device(device_id)

        assert caught.value.code is AclCode.RT_INVALID_DEVICEID

    for device_id in range(count):
        assert backend.open_device(device_id).device_id == device_id


def test_visible_devices_are_renumbered(open_embedded):
    """Device 1 is the second one of the list."""
    backend = open_embedded(devices=4, variables={"ASCEND_RT_VISIBLE_DEVICES": "1,3"})
    assert backend.visible == (1, 3)


@pytest.mark.parametrize(
    ("visible", "words"),
    [
        ("0,9", r"no device 9, the count of devices is 2.*used 0 without a word"),
        ("9", r"no device 9.*used none at all"),
        ("1,0", r"0 comes after 1.*must ascend.*used 1 without a word"),
        ("0,x", r"'x' is no number.*the count of devices is 2.*used 0 without a word"),
        ("0, 1", r"' 1' is no number"),
        ("-1", r"'-1' is no number.*used none at all"),
        ("0,0", r"0 comes after 0.*must ascend"),
    ],
)
def test_wrong_visible_devices_are_an_error_not_a_smaller_machine(open_embedded, visible, words):
    """The variable, the entry, the count and what a driver would have done are named."""
    with pytest.raises(InvalidDeviceError, match=f"ASCEND_RT_VISIBLE_DEVICES={visible}: .*{words}"):
        open_embedded(devices=2, variables={"ASCEND_RT_VISIBLE_DEVICES": visible})


@pytest.mark.parametrize("options", [{"devices": -1}, {"log_latency": -0.1}])
def test_impossible_options_are_refused(open_embedded, options):
    """A negative count or time is nobody's wish."""
    with pytest.raises(ValueError, match="is -"):
        open_embedded(**options)


@pytest.mark.parametrize("latency", [float("nan"), float("inf")])
def test_latency_is_a_time(open_embedded, latency):
    """A latency that can't be waited for is refused before a thread could die of it."""
    with pytest.raises(ValueError, match="log_latency"):
        open_embedded(log_latency=latency)


def test_opening_binds_the_calling_thread(open_embedded, in_thread):
    """The thread that opens a device owns its context; others don't get it."""
    device = open_embedded().open_device(0)
    device.require("aclrtSynchronizeDevice")
    with pytest.raises(DeviceError):
        in_thread(lambda: device.require("aclrtSynchronizeDevice"))


def test_closing_gives_the_thread_back_what_it_had(open_embedded):
    """Device 1 opened and closed on device 0's thread leaves device 0 current."""
    backend = open_embedded(devices=2)
    first = backend.open_device(0)
    backend.open_device(1).close()
    first.require("aclrtSynchronizeDevice")


def test_handles_of_one_device_are_counted(open_embedded):
    """A device stays open until its last handle is closed; each handle is closed for itself."""
    backend = open_embedded()
    first, second = backend.open_device(0), backend.open_device(0)
    first.close()
    first.close()
    assert backend.handles == (second,)
    assert (first.is_open, second.is_open) == (False, True)
    second.require("aclrtSynchronizeDevice")
    with pytest.raises(DeviceError, match="device 0 was closed"):
        first.bind_thread()

    second.close()
    assert backend.handles == ()


def test_device_can_be_closed_on_a_thread_it_was_not_opened_on(open_embedded, in_thread):
    """A late cleanup does not fail, and no thread keeps a context that is gone."""
    device = open_embedded().open_device(0)
    in_thread(device.close)
    with pytest.raises(DeviceError, match="device 0 was closed"):
        device.require("aclrtSynchronizeDevice")


def test_device_opens_again_after_it_was_closed(open_embedded):
    """A reset device is a fresh one; old handles stay closed."""
    backend = open_embedded()
    old = backend.open_device(0)
    old.close()
    new = backend.open_device(0)
    new.require("aclrtSynchronizeDevice")
    with pytest.raises(DeviceError, match="closed"):
        old.require("aclrtSynchronizeDevice")


def test_closing_the_backend_names_what_was_left_open(open_embedded, caplog):
    """Nothing is left open, and who forgot is told what."""
    backend = open_embedded(devices=2)
    left = backend.open_device(1)
    backend.open_device(0).close()
    backend.close()
    assert not left.is_open
    assert ["device 1 was left open" in record.getMessage() for record in caplog.records] == [True]
    backend.close()
    assert len(caplog.records) == 1
