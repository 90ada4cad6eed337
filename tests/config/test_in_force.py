"""What is in force: faulty values are at their defaults, and so is what has no effect."""

from __future__ import annotations

from typing import Any

import pytest

from aclasync.config import (
    FEATURES,
    AclConfig,
    DumpSettings,
    Origin,
    StackSizeSection,
    canonical_text,
    resolve_config,
)
from aclasync.config.environment import FIELD_OF, PURPOSES, Environment
from aclasync.errors import AclCode, ConfigError
from aclasync.product import Product

from .checked import A2, resolved


def settings(product: Product = A2, **keys: Any) -> DumpSettings | None:
    effective = resolved({"dump": {"dump_path": "/d", **keys}}, product=product).effective
    return effective.dump.value


def test_faulty_choices_are_at_their_defaults() -> None:
    """Nobody downstream meets a value that the table does not have."""
    found = settings(
        dump_mode="x", dump_level="", dump_data=1, dump_stats=["max", "Max"], dump_list=[{}, 7],
        dump_scene="x", dump_kernel_data="printf,x",
    )  # fmt: skip
    assert found is not None
    assert (found.mode, found.level, found.data, found.scene) == ("output", "all", "tensor", None)
    assert (found.stats, found.kernel_data, len(found.targets)) == (("Max",), {"printf"}, 1)


def test_kernel_data_is_a_dump_of_its_own() -> None:
    """With a path, whatever else is on; without one nothing can be recorded."""
    found = settings(dump_kernel_data="printf,assert")
    assert found is not None
    assert found.kernel_data == {"printf", "assert"}
    assert settings(dump_kernel_data="all", dump_path="") is None
    assert settings(Product.ATLAS_TRAINING, dump_kernel_data="all") is None


@pytest.mark.parametrize("kind", [{"dump_debug": "on"}, {"dump_scene": "lite_exception"}])
def test_list_and_step_count_for_data_dumps_only(kind: dict[str, str]) -> None:
    """Overflow and exception dumps choose for themselves."""
    found = settings(dump_list=[{"layer": ["a"]}], dump_step="1", **kind)
    assert found is not None
    assert (found.targets, found.steps, found.kernel_data) == ((), None, frozenset())
    assert found.mode == ("all" if found.is_overflow else "output")


@pytest.mark.parametrize(
    ("config", "product", "name"),
    [
        ({"StackSize": {"simt_stack_size": 256}}, Product.ATLAS_A2, "simt_stack_bytes"),
        ({"simt_printf_fifo_size": 2**22}, Product.ATLAS_A2, "simt_printf_fifo_bytes"),
        ({"err_msg_mode": "1"}, Product.IPV350, "err_msg_mode"),
        ({"max_opqueue_num": "5"}, Product.IPV350, "op_queue_capacity"),
        ({"profiler": {"switch": "on"}}, Product.IPV350, "profiler"),
        (
            {"dump": {"dump_path": "/d", "dump_op_switch": "on"}},
            Product.IPV350,
            "dump",
        ),
    ],
)
def test_key_that_a_product_has_not_is_not_in_force(
    config: dict[str, Any], product: Product, name: str
) -> None:
    """It is a warning, and its value the default."""
    resolution = resolved(config, product=product)
    assert getattr(resolution.effective, name).origin is Origin.DEFAULT
    assert "W011" in [w.code for w in resolution.warnings]


def test_aicore_stack_is_in_force_where_it_is_not_documented() -> None:
    """The reference sets it on every chip."""
    effective = resolved(
        {"StackSize": {"aicore_stack_size": 65536}}, product=Product.ATLAS_TRAINING
    ).effective
    assert effective.aicore_stack_bytes.value == 65536


def test_profiler_gives_way_to_the_environment() -> None:
    """As the rules do."""
    for env in ({"PROFILER_SAMPLECONFIG": "x"}, {"PROFILING_MODE": "dynamic"}):
        effective = resolved({"profiler": {"switch": "on"}}, env=env).effective
        assert effective.profiler.value is None


def test_environment_is_told_with_its_origin() -> None:
    """Every variable that counts; a faulty one is at its default."""
    env = {"ASCEND_GLOBAL_LOG_LEVEL": "1", "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "x"}
    said = {f.path: f.message for f in resolved({}, env=env).findings if f.code == "I001"}
    assert said["ASCEND_GLOBAL_LOG_LEVEL"] == "1 (environment)"
    assert said["ASCEND_LOG_DEVICE_FLUSH_TIMEOUT"] == "2000 (default)"
    assert set(FIELD_OF) == set(PURPOSES)
    assert all(hasattr(Environment(), attribute) for attribute in FIELD_OF.values())


def test_scene_variable_counts_only_if_it_is_one() -> None:
    """The reference ignores any other, and so is it said."""
    good, bad = ({"ASCEND_DUMP_SCENE": s} for s in ("aic_err_brief_dump", "watcher"))
    assert resolved({}, env=good).effective.environment.dump_scene == "aic_err_brief_dump"
    assert resolved({}, env=bad).effective.environment.dump_scene is None
    assert [w.code for w in resolved({}, env=bad).warnings] == ["W040"]


@pytest.mark.parametrize(
    ("text", "used"), [("1,0", "1"), ("0,x,2", "0"), ("x", "no device"), ("0,1,1", "0,1")]
)
def test_list_of_devices_says_what_a_driver_would_use(text: str, used: str) -> None:
    """Everything before the first bad entry."""
    (warning,) = resolved({}, env={"ASCEND_RT_VISIBLE_DEVICES": text}).warnings
    assert warning.message.endswith(f"would use {used}")


def test_mapping_that_is_no_json_is_a_resolution_all_the_same() -> None:
    """With its places as errors, and the rules checked on the rest."""
    resolution = resolve_config({"err_msg_mode": 1, "x": {1}}, env={}, product=A2)
    assert [(f.code, f.path) for f in resolution.errors] == [
        ("E150", "$.x"),
        ("E302", "$.err_msg_mode"),
    ]
    assert resolution.code is AclCode.INVALID_PARAM
    again = resolve_config(resolution, env={}, product=Product.ASCEND_950)
    assert again.errors == resolution.errors
    with pytest.raises(ConfigError, match="in 1 place"):
        canonical_text(resolution.text)


def test_typed_config_with_what_json_can_not_say_is_refused() -> None:
    """When it is put into bytes, and when it is resolved."""
    config = AclConfig(stack_size=StackSizeSection(aicore_stack_size=float("nan")))
    assert resolve_config(config, env={}, product=A2).code == 100000
    with pytest.raises(ConfigError) as caught:
        config.to_bytes()

    assert [f.path for f in caught.value.findings] == ["$.StackSize.aicore_stack_size"]


def test_cycles_end_however_many_ways_they_go_round() -> None:
    """Each is said once where it closes."""
    fan: list[Any] = []
    fan.extend([fan] * 30)
    resolution = resolve_config({"a": fan}, env={}, product=A2)
    assert {f.code for f in resolution.errors} == {"E155"}


def test_objects_and_arrays_are_counted_apart() -> None:
    """Ten of each, as in a file."""
    nested: Any = 1
    for _ in range(9):
        nested = [{"a": nested}]

    assert resolve_config({"a": nested}, env={}, product=A2).is_valid
    assert not resolve_config({"a": [[{"a": nested}]]}, env={}, product=A2).is_valid


def test_numbers_that_no_double_holds_are_refused() -> None:
    """However many digits they have."""
    for number in (10**400, -(10**5000)):
        assert resolve_config({"a": number}, env={}, product=A2).code == 100000


class Word(str):
    """A string that says its name when it is asked for a string, as many enums do."""

    __slots__ = ()

    def __str__(self) -> str:
        return "Word.ONE"


def test_string_with_another_name_is_its_value() -> None:
    """Not its name."""
    assert canonical_text({Word("1"): Word("1")}).raw == b'{"1":"1"}'


def test_control_character_in_a_profiler_string_is_a_backslash_for_the_reference() -> None:
    """It looks at the text that it wrote itself."""
    assert resolved({"profiler": {"switch": "on", "output": "a\x01b"}}).code == 100000
    assert resolved({"profiler": {"switch": "on", "output": "温"}}).code == 0


def test_table_has_every_key_of_the_profiler() -> None:
    """With bounds for numbers and the values of the product."""
    (keys,) = [f.keys for f in FEATURES if f.number == 6]
    named = {key.name: key for key in keys}
    assert named["sys_hardware_mem_freq"].high_for(Product.ASCEND_950) == 10000
    assert named["sys_hardware_mem_freq"].high_for(A2) == 100
    assert "ScalarRatio" not in named["aic_metrics"].allowed_on(A2)
    assert "ScalarRatio" in named["aic_metrics"].allowed_on(Product.ASCEND_950)
    assert len(keys) == 29


def test_half_a_surrogate_pair_behind_a_later_key_is_refused() -> None:
    """The reference reads the earlier value, too; a doubled backslash is no escape."""
    assert resolved(b'{"a":"\\ud800","a":"x"}').code == 100006
    assert resolved(b'{"a":"\\ud83d\\ude00","b":"\\\\ud800"}').code == 0
