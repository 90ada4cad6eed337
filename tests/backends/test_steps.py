"""What the lifecycle's steps do to the embedded backend, and how they are taken back."""

from __future__ import annotations

import logging
import threading

import pytest

from aclasync.backends.embedded.settings import FINALIZE_FIELDS, INIT_FIELDS, Settings
from aclasync.errors import AclCode, BackendError, DeviceError, InvalidDeviceError
from aclasync.lifecycle.sequence import FINALIZE_ORDER, INIT_ORDER
from aclasync.product import Product

EVERYTHING = {
    "err_msg_mode": "1",
    "dump": {"dump_scene": "lite_exception"},
    "defaultDevice": {"default_device": "0"},
    "StackSize": {"aicore_stack_size": 65536},
    "simd_printf_fifo_size_per_core": 65536,
    "acl_graph": {"event_mode": "1"},
    "profiler": {"switch": "on", "output": "profiles"},
    "max_opqueue_num": "100",
}


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """What a step makes lies in an empty folder."""
    monkeypatch.chdir(tmp_path)


def test_every_step_of_the_sequences_is_known():
    """The two orders and the backend agree on what there is to do."""
    shell = {"read", "pin"}
    assert (
        set(INIT_FIELDS)
        == {entry.step.value for entry in INIT_ORDER if entry.notifies is None} - shell
    )
    assert set(FINALIZE_FIELDS) == {
        entry.step.value for entry in FINALIZE_ORDER if entry.notifies is None
    } - {"log_flush"}


@pytest.mark.parametrize("call", ["start", "undo", "stop"])
def test_unknown_step_is_an_error(open_embedded, resolve, call):
    """A misspelt step is not silently done."""
    backend = open_embedded()
    arguments = (resolve({}),) if call == "start" else ()
    with pytest.raises(ValueError, match=r"no .* step 'MODEL'"):
        getattr(backend, call)("MODEL", *arguments)


def test_every_setting_is_recorded(open_embedded, resolve):
    """After all steps the device has what the configuration says."""
    backend = open_embedded()
    resolution = resolve(EVERYTHING)
    for step in INIT_FIELDS:
        backend.start(step, resolution)

    for name in [field for fields in INIT_FIELDS.values() for field in fields]:
        assert getattr(backend.settings, name) == getattr(resolution.effective, name).value

    assert backend.settings.default_device == 0
    assert backend.settings.limits.aicore_stack_bytes == 65536
    assert backend.settings.limits.simd_printf_fifo_bytes == 65536
    assert backend.settings.limits.op_queue_capacity == 100


def test_defaults_without_configuration_are_those_of_the_hardware(resolve):
    """Steps that only a configuration asks for change no limit when it is silent."""
    effective = resolve({}).effective
    for fields in INIT_FIELDS.values():
        for name in fields:
            if name.endswith(("_bytes", "_capacity")):
                assert getattr(Settings(), name) == getattr(effective, name).value, name


@pytest.mark.parametrize("step", INIT_FIELDS)
def test_undo_restores_exactly_what_the_step_replaced(open_embedded, resolve, step):
    """Each step is taken back alone, whatever was done after it."""
    backend = open_embedded()
    resolution = resolve(EVERYTHING)
    for other in INIT_FIELDS:
        backend.start(other, resolution)

    full = backend.settings
    backend.undo(step)
    for fields in INIT_FIELDS.values():
        for name in fields:
            expected = Settings() if name in INIT_FIELDS[step] else full
            assert getattr(backend.settings, name) == getattr(expected, name)


def test_undo_of_all_steps_in_reverse_leaves_nothing(open_embedded, resolve):
    """A failed init leaves the backend as it was opened, also if undone twice."""
    backend = open_embedded()
    for step in INIT_FIELDS:
        backend.start(step, resolve(EVERYTHING))

    for _ in range(2):
        for step in reversed(INIT_FIELDS):
            backend.undo(step)

        assert backend.settings == Settings()


def test_finalize_steps_work_without_init_and_again(open_embedded, resolve):
    """A finalize before any init, and a retry after a failure, do no harm."""
    backend = open_embedded()
    for _ in range(2):
        for step in FINALIZE_FIELDS:
            backend.stop(step)

    for step in INIT_FIELDS:
        backend.start(step, resolve(EVERYTHING))

    for step in FINALIZE_FIELDS:
        backend.stop(step)

    assert backend.settings.dump is None
    assert backend.settings.profiler is None
    assert backend.settings.default_device is None


def test_default_device_must_exist(open_embedded, resolve):
    """A default device beyond the count fails at its own step (107001), with no effect."""
    backend = open_embedded(devices=2)
    resolution = resolve({"defaultDevice": {"default_device": "2"}})
    with pytest.raises(InvalidDeviceError, match="no device 2; there are 0 to 1") as caught:
        backend.start("default_device", resolution)

    assert caught.value.code is AclCode.RT_INVALID_DEVICEID
    assert backend.settings == Settings()


def test_event_mode_is_set_once(open_embedded, resolve):
    """A second event mode is refused (107000), a configuration without one is not."""
    backend = open_embedded()
    backend.start("event_mode", resolve({}))
    backend.start("event_mode", resolve({"acl_graph": {"event_mode": "0"}}))
    with pytest.raises(BackendError, match="only once") as caught:
        backend.start("event_mode", resolve({"acl_graph": {"event_mode": "1"}}))

    assert caught.value.code is AclCode.RT_PARAM_INVALID
    assert backend.settings.event_mode == 0


@pytest.mark.parametrize(
    ("product", "most"),
    [
        (Product.ASCEND_950, 131072),
        (Product.ATLAS_A2, 196608),
        (Product.ATLAS_A3, 196608),
        (Product.ATLAS_200I_500_A2, 7864320),
    ],
)
def test_stack_beyond_the_product_s_maximum_fails_when_a_device_is_opened(
    open_embedded, resolve, product, most
):
    """The most that a product has is fine; more is refused at opening (107000), not before."""
    for size in (most, most + 16384):
        backend = open_embedded(product)
        backend.start("stack_size", resolve({"StackSize": {"aicore_stack_size": size}}, product))
        if size == most:
            assert backend.open_device(0).limits.aicore_stack_bytes == most
            continue

        if backend.settings.aicore_stack_bytes <= most:
            continue  # the configuration has taken care of it

        with pytest.raises(DeviceError, match=f"has {most} at the most") as caught:
            backend.open_device(0)

        assert caught.value.code is AclCode.RT_PARAM_INVALID
        assert backend.handles == ()


def test_cycle_without_device_starts_no_thread_and_makes_no_file(
    open_embedded, resolve, log_root, caplog
):
    """From init to finalize with no device opened, nothing is left and nothing was there."""
    caplog.set_level(logging.DEBUG)
    before = threading.active_count()
    backend = open_embedded()
    for step in INIT_FIELDS:
        backend.start(step, resolve(EVERYTHING))

    assert backend.begin_drain(pytest.fail) == 0
    backend.end_drain()
    for step in FINALIZE_FIELDS:
        backend.stop(step)

    backend.close()
    assert threading.active_count() == before
    assert not log_root.exists()
    assert caplog.records == []
