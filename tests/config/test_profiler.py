"""The profiler section: a white list, checked even while the switch is off."""

from __future__ import annotations

import pytest

from aclasync.config import ConfigStep
from aclasync.product import Product

from .checked import errors, resolved, warnings

SWITCHES = [
    "ascendcl",
    "runtime_api",
    "task_memory",
    "aicpu",
    "l2",
    "hccl",
    "msproftx",
    "task_tsfw",
    "instr_profiling",
    "switch",
]
FREQUENCIES = {
    "sys_hardware_mem_freq": 100, "sys_io_sampling_freq": 100, "sys_interconnection_freq": 50,
    "sys_cpu_freq": 50, "dvpp_freq": 100, "host_sys_usage_freq": 50, "sys_lp_freq": 100,
}  # fmt: skip


def code_of(switch: str, product: Product = Product.ATLAS_A2, **keys: object) -> int:
    resolution = resolved({"profiler": {"switch": switch, **keys}}, product=product)
    assert set(resolution.faults) <= {ConfigStep.PROFILING}
    return int(resolution.code)


@pytest.mark.parametrize("switch", ["on", "off"])
@pytest.mark.parametrize("key", SWITCHES)
def test_switches_are_on_off_or_empty(key: str, switch: str) -> None:
    """Strings, exactly."""
    for value in ("on", "off", ""):
        assert code_of(**{"switch": switch, key: value}) == 0

    for value in ("ON", "true", 1, True, None, []):
        assert code_of(**{"switch": switch, key: value}) == 100000


@pytest.mark.parametrize("switch", ["on", "off"])
@pytest.mark.parametrize("key", FREQUENCIES)
def test_frequencies_are_integers_in_a_range(key: str, switch: str) -> None:
    """Strings of digits are none."""
    high = FREQUENCIES[key]
    assert code_of(switch, **{key: 1}) == code_of(switch, **{key: high}) == 0
    for value in (0, -1, high + 1, 1.5, "1", "", None, True):
        assert code_of(switch, **{key: value}) == 100000


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("task_time", ("on", "off", "l0", "l1", "l2", "l3", ""), ("x", "L1", 1, None)),
        ("ge_api", ("off", "l0", "l1", ""), ("on", "l2", "l3", 1)),
        ("llc_profiling", ("read", "write"), ("x", 1)),
        ("host_sys", ("", "cpu", "mem,numa", "disk,network,osrt"), ("cpu,", "x", 1, ",")),
        ("host_sys_usage", ("", "cpu", "cpu,mem"), ("x", "disk", 1)),
        ("sys_mem_serviceflow", ("x",), ("", 1, None)),
        (
            "aic_metrics",
            ("", "PipeUtilization", "MemoryAccess", "Custom:0x1,0x2", "Custom:12"),
            ("memory", "ScalarRatio", "Custom:", "Custom:x", "a" * 71, None, 1),
        ),
    ],
)
def test_choices(key: str, good: tuple[object, ...], bad: tuple[object, ...]) -> None:
    """While the switch is off, too."""
    for switch in ("on", "off"):
        for value in good:
            assert code_of(switch, **{key: value}) == 0

        for value in bad:
            assert code_of(switch, **{key: value}) == 100000


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("output", ("./prof", "", 1, None), ("a$b", "a;b", "a`b", "a%b", "a|b", "a\nb")),
        (
            "storage_limit",
            ("200MB", "1000MB", "4294967295MB", ""),
            ("199MB", "4294967296MB", "200mb", "MB", " 200MB", "-1MB", "1.5MB", 1),
        ),
        ("optype", ("",), ("Conv2D", "a" * 300, 1)),
        ("instr_profiling_freq", (300, 30001, 1), (1.5, "", True, None)),
    ],
)
def test_some_keys_are_looked_at_only_while_on(
    key: str, good: tuple[object, ...], bad: tuple[object, ...]
) -> None:
    """Then strictly."""
    for value in good:
        assert code_of("on", **{key: value}) == code_of("off", **{key: value}) == 0

    for value in bad:
        assert code_of("on", **{key: value}) == 100000
        assert code_of("off", **{key: value}) == 0


def test_quote_in_a_string_is_refused_even_while_off() -> None:
    """The reference's own parser takes it for the end of the string."""
    assert code_of("off", output='a"b') == 100000


@pytest.mark.parametrize("key", ["interval", "job_id", "device_id", "acl_api", "task_block"])
@pytest.mark.parametrize("switch", ["on", "off"])
def test_unknown_key_is_an_error_here(key: str, switch: str) -> None:
    """Unlike everywhere else in the file."""
    assert code_of(switch, **{key: "on"}) == 100000


def test_misspelt_key_gets_the_nearest() -> None:
    """A slip of the finger."""
    (error,) = resolved({"profiler": {"aacpu": "on"}}).errors
    assert "aicpu" in error.hint


@pytest.mark.parametrize("value", [[], True, None, "on", 1])
def test_section_must_be_an_object(value: object) -> None:
    """An empty one is fine."""
    assert resolved({"profiler": value}).code == 100000
    assert resolved({"profiler": {}}).code == 0


@pytest.mark.parametrize(
    ("product", "keys", "code"),
    [
        (Product.ATLAS_TRAINING, {"instr_profiling": "on", "instr_profiling_freq": 299}, 100000),
        (Product.ATLAS_TRAINING, {"instr_profiling": "on", "instr_profiling_freq": 300}, 0),
        (Product.ATLAS_A2, {"instr_profiling": "on", "instr_profiling_freq": 299}, 0),
        (Product.ASCEND_950, {"sys_hardware_mem_freq": 10000}, 0),
        (Product.ASCEND_950, {"sys_hardware_mem_freq": 10001}, 100000),
        (Product.ATLAS_INFERENCE, {"optype": "Conv2D"}, 0),
        (Product.ATLAS_INFERENCE, {"optype": "a" * 257}, 100000),
        (Product.ATLAS_INFERENCE, {"aic_metrics": "ScalarRatio"}, 0),
    ],
)
def test_products_differ(product: Product, keys: dict[str, object], code: int) -> None:
    """By their chips."""
    assert code_of("on", product, **keys) == code


def test_environment_takes_the_place_of_the_section() -> None:
    """The msprof tool sets one variable, dynamic profiling the other; then nothing is checked."""
    for env in ({"PROFILER_SAMPLECONFIG": "{}"}, {"PROFILING_MODE": "dynamic"}):
        assert errors({"profiler": {"wrong": 1}}, env=env) == []
        assert [path for _, path in warnings({"profiler": {"wrong": 1}}, env=env)] == ["$.profiler"]

    assert errors({"profiler": {"wrong": 1}}, env={"PROFILING_MODE": "other"})


def test_settings_are_there_only_while_on() -> None:
    """As they were written."""
    assert resolved({"profiler": {"switch": "off"}}).effective.profiler.value is None
    settings = resolved({"profiler": {"switch": "on", "l2": "on"}}).effective.profiler.value
    assert settings is not None
    assert settings.values == {"switch": "on", "l2": "on"}


def sample(text: str, product: Product = Product.ATLAS_A2) -> dict[str, object] | None:
    env = {"PROFILER_SAMPLECONFIG": text}
    settings = resolved(b"", env=env, product=product).effective.profiler.value
    return None if settings is None else dict(settings.values)


def test_sample_config_switches_profiling_on() -> None:
    """Without a configuration, too; unless it says off, or the product can't."""
    assert sample("{}") == {"switch": "on"}
    assert sample('{"l2": "on"}') == {"switch": "on", "l2": "on"}
    assert sample('{"switch": "off"}') is None
    assert sample("{}", Product.IPV350) is None


def test_sample_config_is_used_as_far_as_it_is_understood() -> None:
    """What can't be used is named, and refuses nothing: the msprof tool writes keys of its own."""
    text = '{"result_dir": "/x", "l2": "maybe", "task_time": "l0", "storage_limit": "1MB"}'
    assert sample(text) == {"switch": "on", "task_time": "l0"}
    env = {"PROFILER_SAMPLECONFIG": text}
    (said,) = [f for f in resolved({}, env=env).findings if f.code == "W043"]
    assert "result_dir, l2, storage_limit" in said.message
    assert errors({}, env=env) == []


@pytest.mark.parametrize("text", ["x", "[]", "[" * 100_000, '"{}"'])
def test_sample_config_that_is_no_section_is_told(text: str) -> None:
    """And nothing is profiled."""
    assert sample(text) is None
    found = warnings({}, env={"PROFILER_SAMPLECONFIG": text})
    assert found == [("W040", "PROFILER_SAMPLECONFIG")]


def test_value_that_the_rules_refuse_is_not_in_force() -> None:
    """It is at its default, as every faulty one."""
    settings = resolved({"profiler": {"switch": "on", "l2": "x"}}).effective.profiler.value
    assert settings is not None
    assert settings.values == {"switch": "on"}
