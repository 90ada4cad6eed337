"""The keys outside dump and profiler: types, bounds, rounding, products."""

from __future__ import annotations

import pytest

from aclasync.config import ConfigStep, Origin
from aclasync.product import Product

from .checked import errors, resolved, warnings

WRONG = [None, True, "abc", [], {}, "32768"]


@pytest.mark.parametrize("value", ["1", "0"])
def test_err_msg_mode_is_a_string(value: str) -> None:
    """0 per thread, 1 per process."""
    resolution = resolved({"err_msg_mode": value})
    assert resolution.is_valid
    sourced = resolution.effective.err_msg_mode
    assert (sourced.value, sourced.origin, sourced.name) == (
        int(value),
        Origin.FILE,
        "$.err_msg_mode",
    )


@pytest.mark.parametrize("value", [1, "2", "", True, None, {}, [], " 1", "01"])
def test_other_err_msg_mode_is_refused_first(value: object) -> None:
    """With 100000, before everything else, and it stays at its default."""
    resolution = resolved({"err_msg_mode": value, "dump": {"dump_op_switch": "on"}})
    assert resolution.code == 100000
    assert list(resolution.faults) == [ConfigStep.ERR_MSG_MODE, ConfigStep.DUMP]
    assert resolution.effective.err_msg_mode.value == 0


@pytest.mark.parametrize(
    ("value", "used"),
    [
        (32768, 32768), (65536, 65536), (40000, 49152), (16384, 32768), (32769, 49152), (0, 32768),
        (196608, 196608), (-1, 0), (1.5, 32768), (65536.9, 65536), (4294967296, 32768),
        (2**64, 32768), (100000.0, 114688),
    ],
)  # fmt: skip
def test_aicore_stack_is_rounded_and_cut(value: float, used: int) -> None:
    """To 16 KiB and 32 bits; what is not above 32 KiB leaves it as it is."""
    resolution = resolved({"StackSize": {"aicore_stack_size": value}})
    assert resolution.is_valid
    assert resolution.effective.aicore_stack_bytes.value == used
    is_changed = used != value
    assert any(f.path == "$.StackSize.aicore_stack_size" for f in resolution.warnings) == is_changed


@pytest.mark.parametrize(
    ("product", "maximum"),
    [
        (Product.ASCEND_950, 131072),
        (Product.ATLAS_A2, 196608),
        (Product.ATLAS_A3, 196608),
        (Product.ATLAS_200I_500_A2, 7864320),
    ],
)
def test_aicore_stack_above_the_maximum_is_told(product: Product, maximum: int) -> None:
    """The reference accepts it here and refuses the device later."""
    for size, is_told in ((maximum, False), (maximum + 1, True)):
        told = resolved({"StackSize": {"aicore_stack_size": size}}, product=product).warnings
        assert any("maximum" in f.message for f in told) is is_told


@pytest.mark.parametrize("key", ["simt_stack_size", "simt_divergence_stack_size"])
def test_simt_stacks_are_rounded_up(key: str) -> None:
    """To 128; they are for the 950 only."""
    config = {"StackSize": {key: 200}}
    effective = resolved(config, product=Product.ASCEND_950).effective
    assert 256 in (effective.simt_stack_bytes.value, effective.simt_divergence_stack_bytes.value)
    assert f"$.StackSize.{key}" in [p for _, p in warnings(config, product=Product.ATLAS_A2)]


@pytest.mark.parametrize(
    "key", ["aicore_stack_size", "simt_stack_size", "simt_divergence_stack_size"]
)
@pytest.mark.parametrize("value", WRONG)
def test_stack_of_another_type_is_refused(key: str, value: object) -> None:
    """With 500001, at its step."""
    resolution = resolved({"StackSize": {key: value}})
    assert dict(resolution.faults) == {ConfigStep.STACK_SIZE: 500001}
    assert resolution.effective.aicore_stack_bytes.value == 32768


@pytest.mark.parametrize(
    ("value", "device"),
    [
        ("0", 0), ("7", 7), ("63", 63), ("4294967296", 0), ("4294967295", None),
        ("4294967294", -2), ("9" * 30, None),
    ],
)  # fmt: skip
def test_default_device_is_cut_to_32_bits(value: str, device: int | None) -> None:
    """A long, then an int; -1 means not set."""
    resolution = resolved({"defaultDevice": {"default_device": value}})
    assert resolution.is_valid
    assert resolution.effective.default_device.value == device
    assert bool(resolution.warnings) == (str(device) != value)


@pytest.mark.parametrize(
    "value", ["1a", "0x3", "-1", "", " 1", "1 ", "01", "+1", 1, None, True, []]
)
def test_other_default_device_is_refused(value: object) -> None:
    """With 500001, whatever is wrong with it."""
    resolution = resolved({"defaultDevice": {"default_device": value}})
    assert dict(resolution.faults) == {ConfigStep.DEFAULT_DEVICE: 500001}
    assert resolution.effective.default_device.value is None


SIMD, SIMT = "simd_printf_fifo_size_per_core", "simt_printf_fifo_size"


@pytest.mark.parametrize("key", [SIMD, SIMT])
@pytest.mark.parametrize("value", ["1048576", 0, -5, 1048576.0, 1e5, True, None, [], {}, 2**64])
def test_fifo_must_be_a_positive_integer(key: str, value: object) -> None:
    """With 500001; doubles are none, and integers beyond 64 bits are doubles."""
    assert dict(resolved({key: value}).faults) == {ConfigStep.PRINTF_FIFO: 500001}


@pytest.mark.parametrize(
    ("key", "product", "value", "code"),
    [
        (SIMD, Product.ATLAS_A2, 1023, 107000),
        (SIMD, Product.ATLAS_A2, 1024, 0),
        (SIMD, Product.ATLAS_A2, 67108864, 0),
        (SIMD, Product.ATLAS_A2, 67108865, 107000),
        (SIMD, Product.ATLAS_A2, 4294968320, 0),
        (SIMD, Product.ATLAS_A2, 4294967296, 107000),
        (SIMT, Product.ATLAS_A2, 1, 0),
        (SIMT, Product.ASCEND_950, 1048575, 107000),
        (SIMT, Product.ASCEND_950, 1048576, 0),
        (SIMT, Product.ASCEND_950, 67108865, 107000),
    ],
)
def test_fifo_has_its_range(key: str, product: Product, value: int, code: int) -> None:
    """With 107000; the SIMT one is looked at on the 950 only."""
    assert resolved({key: value}, product=product).code == code


@pytest.mark.parametrize("value", [1023, 67108865, 0, "x"])
def test_fifo_that_is_refused_is_at_its_default(value: object) -> None:
    """Not at what rounding would make of it."""
    assert resolved({SIMD: value}).effective.simd_printf_fifo_bytes.value == 32768


def test_fifo_is_rounded_up_to_8() -> None:
    """And said so; a size beyond 32 bits is cut."""
    resolution = resolved({SIMD: 1025})
    assert resolution.effective.simd_printf_fifo_bytes.value == 1032
    assert "1032" in resolution.warnings[0].message
    assert resolved({SIMD: 4294968320}).effective.simd_printf_fifo_bytes.value == 1024


@pytest.mark.parametrize(
    ("value", "product", "code"),
    [
        ("0", Product.ATLAS_A2, 0), ("1", Product.ATLAS_A3, 0), ("1", Product.ASCEND_950, 0),
        ("1", Product.ATLAS_TRAINING, 207000), ("2", Product.ATLAS_TRAINING, 100000),
        ("", Product.ATLAS_A2, 100000), (" 0", Product.ATLAS_A2, 100000),
        (1, Product.ATLAS_A2, 100000), (None, Product.ATLAS_A2, 100000),
        (True, Product.ATLAS_A2, 100000), ([], Product.ATLAS_A2, 100000),
    ],
)  # fmt: skip
def test_event_mode(value: object, product: Product, code: int) -> None:
    """A string 0 or 1, on the products that have it; the reference crashes on other types."""
    resolution = resolved({"acl_graph": {"event_mode": value}}, product=product)
    assert resolution.code == code
    if code == 0:
        assert resolution.effective.event_mode.value == int(str(value))


@pytest.mark.parametrize(
    ("value", "capacity"),
    [("10000", 10000), ("1", 1), ("0", 20000), ("abc", 20000), (10000, 20000), (None, 20000),
     ("-5", 20000), ("", 20000)],
)  # fmt: skip
def test_op_queue_never_fails(value: object, capacity: int) -> None:
    """What is no number of a string has no effect, and a warning."""
    resolution = resolved({"max_opqueue_num": value})
    assert resolution.is_valid
    assert resolution.effective.op_queue_capacity.value == capacity
    assert bool(resolution.warnings) == (value not in ("10000", "1"))


@pytest.mark.parametrize("name", ["StackSize", "defaultDevice", "acl_graph"])
@pytest.mark.parametrize("value", [None, 0, [], "x"])
def test_section_of_another_type_is_passed_over(name: str, value: object) -> None:
    """In silence by the reference; here with a warning."""
    assert errors({name: value}) == []
    assert [path for _, path in warnings({name: value})] == [f"$.{name}"]


@pytest.mark.parametrize(
    ("config", "path", "better"),
    [
        ({"Dump": {}}, "$.Dump", "dump"),
        ({"err_msg_mod": "1"}, "$.err_msg_mod", "err_msg_mode"),
        ({"defaultDevice": {"Default_device": "0"}}, "$.defaultDevice.Default_device", "default"),
        ({"StackSize": {"aicore_stack": 1}}, "$.StackSize.aicore_stack", ""),
        ({"dump": {"dump_path": "./", "dump_modes": "all", "dump_op_switch": "on"}},
         "$.dump.dump_modes", "dump_mode"),
        ({"dump": {"dump_path": "./", "dump_list": [{"layers": []}]}},
         "$.dump.dump_list[0].layers", "layer"),
        ({"a b": 1}, "$['a b']", "remove"),
    ],
)  # fmt: skip
def test_unknown_key_is_told_with_the_nearest(config: object, path: str, better: str) -> None:
    """At every level; wrong case counts as unknown."""
    (warning,) = [f for f in resolved(config).warnings if f.path == path]
    assert better in warning.hint


def test_dump_and_profiling_together_are_told() -> None:
    """They disturb each other; nothing refuses them."""
    both = {"dump": {"dump_path": "./", "dump_op_switch": "on"}, "profiler": {"switch": "on"}}
    assert any("together" in f.message for f in resolved(both).warnings)
    idle = {"dump": {"dump_path": "./"}, "profiler": {"switch": "on"}}
    assert not any("together" in f.message for f in resolved(idle).warnings)
    both["profiler"]["switch"] = "off"
    assert not any("together" in f.message for f in resolved(both).warnings)


@pytest.mark.parametrize(
    ("config", "faults"),
    [
        ({"dump": {"dump_op_switch": "on"}, "StackSize": {"aicore_stack_size": "x"}},
         [("dump", 100009), ("stack_size", 500001)]),
        ({SIMD: 0, "acl_graph": {"event_mode": "7"}, "profiler": []},
         [("printf_fifo", 500001), ("event_mode", 100000), ("profiling", 100000)]),
        ({SIMT: -5, "defaultDevice": {"default_device": "x"}},
         [("default_device", 500001), ("printf_fifo", 500001)]),
    ],
)  # fmt: skip
def test_faults_come_in_the_order_of_the_steps(config: object, faults: list[object]) -> None:
    """The first is the code; all are known by step."""
    resolution = resolved(config)
    assert [(step.value, int(code)) for step, code in resolution.faults.items()] == faults
    assert resolution.code == faults[0][1]


@pytest.mark.parametrize(
    "config",
    [{"err_msg_mode": 1}, {"StackSize": {"aicore_stack_size": "x"}}, {"profiler": []}, {SIMD: 0}],
)
def test_ipv350_knows_dump_only(config: dict[str, object]) -> None:
    """Everything else is unsupported there, and not looked at."""
    resolution = resolved(config, product=Product.IPV350)
    assert resolution.is_valid
    assert [f.path for f in resolution.warnings] == [f"$.{next(iter(config))}"]
    assert resolved({"dump": 1}, product=Product.IPV350).code == 500000
