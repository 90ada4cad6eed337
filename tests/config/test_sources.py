"""Where a configuration comes from, what it is as a value, and what the environment adds."""

from __future__ import annotations

import pickle
from collections import UserDict
from pathlib import Path

import pytest

from aclasync.config import (
    FEATURES,
    AclConfig,
    AclGraphSection,
    ConfigStep,
    ConfigText,
    DefaultDeviceSection,
    DumpItem,
    DumpSection,
    Origin,
    ReadFault,
    Severity,
    StackSizeSection,
    canonical_text,
    resolve_config,
)
from aclasync.errors import ConfigError
from aclasync.product import Product

from .checked import A2, resolved

CONFIG = AclConfig(
    dump=DumpSection(dump_path="./", dump_op_switch="on", dump_list=(DumpItem(layer=("温",)),)),
    profiler={"switch": "off"},
    max_opqueue_num="100",
    err_msg_mode="1",
    default_device=DefaultDeviceSection(default_device="0"),
    stack_size=StackSizeSection(aicore_stack_size=65536),
    simd_printf_fifo_size_per_core=1024,
    acl_graph=AclGraphSection(event_mode="1"),
)
MAPPING = {
    "acl_graph": {"event_mode": "1"},
    "StackSize": {"aicore_stack_size": 65536},
    "defaultDevice": {"default_device": "0"},
    "dump": {"dump_list": [{"layer": ["温"]}], "dump_op_switch": "on", "dump_path": "./"},
    "err_msg_mode": "1",
    "max_opqueue_num": "100",
    "profiler": {"switch": "off"},
    "simd_printf_fifo_size_per_core": 1024,
}


def test_typed_config_and_mapping_are_one_content() -> None:
    """In whatever order the keys were written."""
    reverse = dict(reversed(MAPPING.items()))
    assert CONFIG.to_mapping() == MAPPING
    assert canonical_text(CONFIG).raw == canonical_text(reverse).raw == CONFIG.to_bytes()
    assert CONFIG.to_bytes() is CONFIG.to_bytes()
    assert "温".encode() in CONFIG.to_bytes()


def test_typed_config_round_trips() -> None:
    """Through bytes, pickle and equality."""
    resolution = resolve_config(CONFIG, env={}, product=A2)
    assert resolution.config == CONFIG
    assert pickle.loads(pickle.dumps(CONFIG)) == CONFIG
    assert resolve_config(CONFIG.to_bytes(), env={}, product=A2).config == CONFIG


def test_config_keeps_what_the_reference_heeds() -> None:
    """Unknown keys, ignored sections and values without effect are left out."""
    odd = {"x": 1, "StackSize": [], "max_opqueue_num": 5, "profiler": {"switch": "off"}}
    assert resolved(odd).config == AclConfig(profiler={"switch": "off"})
    assert resolved({"err_msg_mode": 1}).config is None
    assert resolved(b"[]").config == AclConfig()


@pytest.mark.parametrize("mapping", [{"err_msg_mode": 1}, {"dump": {"dump_stats": "Max"}}])
def test_typed_config_takes_exact_types_only(mapping: dict[str, object]) -> None:
    """No coercion: 1 is not "1", and a string is not a list of letters."""
    with pytest.raises(ExceptionGroup):
        AclConfig.from_mapping(mapping)


@pytest.mark.parametrize(
    ("mapping", "path"),
    [
        ({"a": {1, 2}}, "$.a"),
        ({"a": [1, object()]}, "$.a[1]"),
        ({"a": float("nan")}, "$.a"),
        ({"a": float("-inf")}, "$.a"),
        ({"a": {1: 2}}, "$.a"),
        ({"a": "\ud800"}, "$.a"),
        ({"\ud800": 1}, "$"),
        ({"a": b"x"}, "$.a"),
    ],
)
def test_what_json_can_not_say_is_a_config_error(mapping: dict[object, object], path: str) -> None:
    """With its place, and 100000."""
    with pytest.raises(ConfigError) as caught:
        canonical_text(mapping)

    assert caught.value.code == 100000
    assert [f.path for f in caught.value.findings] == [path]


def test_every_bad_value_is_listed() -> None:
    """Not only the first."""
    with pytest.raises(ConfigError) as caught:
        canonical_text({"a": {1}, "b": {2}, "c": {3: 4}})

    assert len(caught.value.findings) == 3


def test_mapping_within_itself_ends() -> None:
    """As too deep."""
    circle: dict[str, object] = {}
    circle["a"] = circle
    with pytest.raises(ConfigError):
        canonical_text(circle)


def test_any_mapping_and_tuples_will_do() -> None:
    """A list is what JSON makes of a tuple."""
    assert canonical_text(UserDict({"a": (1, 2.5, None, True)})).raw == b'{"a":[1,2.5,null,true]}'


@pytest.mark.parametrize("path", ["acl.json", Path("acl.json")])
def test_path_is_not_read_here(path: object) -> None:
    """And the error says who reads it."""
    with pytest.raises(TypeError, match="load_config"):
        canonical_text(path)  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("wrong", [7, 1.5, object(), [1]])
def test_other_sources_are_type_errors(wrong: object) -> None:
    """They name what may be given."""
    with pytest.raises(TypeError, match="mapping"):
        resolve_config(wrong, env={}, product=A2)  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("source", [None, b""])
def test_nothing_is_no_configuration(source: bytes | None) -> None:
    """The steps that need one are left out."""
    text = canonical_text(source)
    assert (text.raw, text.is_given) == (b"", False)
    assert resolve_config(source, env={}, product=A2).config == AclConfig()


def test_bytes_have_lines_and_mappings_have_none() -> None:
    """A position points into a text that somebody wrote."""
    (error,) = resolve_config(b'{\n"err_msg_mode": 1}', env={}, product=A2).errors
    assert str(error).startswith("<bytes>:2:17: ")
    (error,) = resolve_config({"err_msg_mode": 1}, env={}, product=A2).errors
    assert str(error).startswith("$.err_msg_mode: ")


def test_resolution_is_taken_as_it_is() -> None:
    """Unless the product or the environment is another."""
    first = resolve_config(CONFIG, env={}, product=A2)
    assert resolve_config(first, env={}, product=A2) is first
    other = resolve_config(first, env={}, product=Product.ATLAS_TRAINING)
    assert other.code == 207000
    assert resolve_config(first, env={"ACLASYNC_DEVICES": "2"}, product=A2) is not first


@pytest.mark.parametrize(
    ("fault", "step"),
    [
        (ReadFault.MISSING, "read"),
        (ReadFault.UNREADABLE, "read"),
        (ReadFault.NOT_REGULAR, "err_msg_mode"),
        (ReadFault.TOO_LARGE, "err_msg_mode"),
    ],
)
def test_fault_of_the_file_surfaces_at_its_step(fault: ReadFault, step: str) -> None:
    """Always with 100003 and what was seen."""
    text = ConfigText("/x/acl.json", is_file=True, fault=fault, fault_detail="because")
    resolution = resolve_config(text, env={}, product=A2)
    assert {s.value: int(c) for s, c in resolution.faults.items()} == {step: 100003}
    assert "because" in str(resolution.errors[0])


def test_missing_file_is_no_error_on_ipv350() -> None:
    """It means no configuration there; a folder is an error all the same."""
    missing = ConfigText("/x", is_file=True, fault=ReadFault.MISSING, fault_detail="gone")
    assert resolve_config(missing, env={}, product=Product.IPV350).is_valid
    folder = ConfigText("/x", is_file=True, fault=ReadFault.NOT_REGULAR, fault_detail="folder")
    assert resolve_config(folder, env={}, product=Product.IPV350).code == 500000


def test_errors_carry_all_findings() -> None:
    """The whole one by its first code, each step's by its own."""
    resolution = resolved({"err_msg_mode": 1, "dump": 7, "x": 1})
    with pytest.raises(ConfigError) as caught:
        resolution.raise_for_findings("aclInit")

    assert caught.value.code == 100000
    assert "2 errors, 1 warning" in str(caught.value)
    assert {f.severity for f in caught.value.findings} == {Severity.ERROR, Severity.WARNING}
    at_dump = resolution.fault_error(ConfigStep.DUMP, "aclInit")
    assert at_dump is not None
    assert at_dump.code == 100009
    assert at_dump.findings == caught.value.findings
    assert resolution.fault_error(ConfigStep.READ, "aclInit") is None
    assert pickle.loads(pickle.dumps(caught.value)).findings == caught.value.findings


def test_strict_refuses_warnings() -> None:
    """With INVALID_PARAM, since the reference has no number for them."""
    resolution = resolved({"x": 1})
    resolution.raise_for_findings("aclInit")
    with pytest.raises(ConfigError) as caught:
        resolution.raise_for_findings("aclInit", strict=True)

    assert caught.value.code == 100000
    resolved({}).raise_for_findings("aclInit", strict=True)


def test_values_come_with_their_origin() -> None:
    """As findings, after everything else."""
    resolution = resolved({"err_msg_mode": "1"}, env={"NPU_COLLECT_PATH": "/n"})
    said = {f.path: f.message for f in resolution.findings if f.severity is Severity.INFO}
    assert "configuration" in said["$.err_msg_mode"]
    assert any("environment" in message and "/n" in message for message in said.values())
    assert any("default" in message for message in said.values())
    assert resolution.effective.default_device.origin is Origin.DEFAULT


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "0", "flush_timeout_ms", 0),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "180000", "flush_timeout_ms", 180000),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", " +50", "flush_timeout_ms", 50),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "50 ", "flush_timeout_ms", 2000),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "180001", "flush_timeout_ms", 2000),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "-1", "flush_timeout_ms", 2000),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "9" * 5000, "flush_timeout_ms", 2000),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "", "flush_timeout_ms", 2000),
        ("ASCEND_GLOBAL_LOG_LEVEL", "1", "log_level", 1),
        ("ASCEND_GLOBAL_LOG_LEVEL", "5", "log_level", 3),
        ("ASCEND_GLOBAL_EVENT_ENABLE", "0", "is_event_enabled", False),
        ("ASCEND_RT_VISIBLE_DEVICES", "0,2", "visible_devices", (0, 2)),
        ("ASCEND_RT_VISIBLE_DEVICES", "0,x,2", "visible_devices", (0,)),
        ("ASCEND_RT_VISIBLE_DEVICES", "", "visible_devices", None),
        ("ASCEND_PROCESS_LOG_PATH", "/l", "process_log_path", "/l"),
        ("ACLASYNC_DEVICES", "4", "devices", 4),
        ("ACLASYNC_DEVICES", "0", "devices", None),
        ("ACLASYNC_BACKEND", "embedded", "backend", "embedded"),
    ],
)
def test_environment_is_parsed(name: str, text: str, field: str, value: object) -> None:
    """What can't be used is at its default."""
    environment = resolved({}, env={name: text}).effective.environment
    assert getattr(environment, field) == value
    assert environment.given == {name: text}


@pytest.mark.parametrize(
    "env",
    [
        {"ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "x"},
        {"ASCEND_RT_VISIBLE_DEVICES": "1,0"},
        {"ASCEND_RT_VISIBLE_DEVICES": "0,,1"},
        {"ACLASYNC_BACKEND": "npu"},
    ],
)
def test_variable_that_can_not_be_used_is_told(env: dict[str, str]) -> None:
    """By name and value."""
    (warning,) = resolved({}, env=env).warnings
    assert next(iter(env)) in warning.message


def test_features_are_a_table() -> None:
    """Thirteen of them and one undocumented; every key says what it does, and where it fails."""
    assert [feature.number for feature in FEATURES] == list(range(1, 15))
    for feature in FEATURES:
        assert feature.keys
        for key in feature.keys:
            assert key.effect
            assert isinstance(key.step, ConfigStep)
            assert key.name == key.path[-1]
