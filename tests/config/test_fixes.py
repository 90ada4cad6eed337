"""What is plainly meant is written so, and nothing else is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aclasync.config import ConfigText, Resolution, resolve_config
from aclasync.config.catalog import ENGLISH
from aclasync.config.examples import EXAMPLES
from aclasync.config.fixes import REPAIRS, fixed
from aclasync.product import Product

CASES = Path(__file__).parents[1] / "conformance" / "cases"


def resolved(text: str | bytes, product: Product = Product.ATLAS_A2) -> Resolution:
    raw = text.encode() if isinstance(text, str) else text
    return resolve_config(ConfigText("acl.json", raw, is_file=True), env={}, product=product)


def repaired(text: str) -> str:
    return fixed(resolved(text)).content


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n  // a\n  "err_msg_mode": "1" // b\n}\n', '{\n  "err_msg_mode": "1"\n}\n'),
        ('{/* a */"err_msg_mode": "1"}', '{"err_msg_mode": "1"}'),
        ('# a\n{"err_msg_mode": "1"}', '{"err_msg_mode": "1"}'),
        ('{"err_msg_mode": "1",}', '{"err_msg_mode": "1"}'),
        ('{,"err_msg_mode": "1",,}', '{"err_msg_mode": "1"}'),
        (
            '{"err_msg_mode": "1" // a\n "max_opqueue_num": "9"}',
            '{"err_msg_mode": "1",\n "max_opqueue_num": "9"}',
        ),
        ("{'err_msg_mode': '1'}", '{"err_msg_mode": "1"}'),
        ("""{'x"y\\'': 1}""", """{"x\\"y'": 1}"""),
        ("{'x\ty': 1}", '{"x\\ty": 1}'),
        ('{err_msg_mode: "1"}', '{"err_msg_mode": "1"}'),
        ('{"a": True, "b": None}', '{"a": true, "b": null}'),
        ('{"a": "x\ty"}', '{"a": "x\\ty"}'),
        ('{"err_msg_mode":\u00a0"1"}', '{"err_msg_mode": "1"}'),
        ('\ufeff{"err_msg_mode": 1}', '\ufeff{"err_msg_mode": "1"}'),
        ('{\r\n "err_msg_mode": 1,\r\n}\r\n', '{\r\n "err_msg_mode": "1"\r\n}\r\n'),
    ],
)
def test_syntax_is_repaired_and_the_layout_kept(before: str, after: str) -> None:
    """Comments go, commas and quotes come right, line ends and a byte order mark stay."""
    assert repaired(before) == after


@pytest.mark.parametrize(
    ("section", "before", "after"),
    [
        ("", '"Err_Msg_Mode": "1"', '"err_msg_mode": "1"'),
        ("", '"err_msg_mod": "1"', '"err_msg_mode": "1"'),
        ("", '"err_msg_mod": 1', '"err_msg_mode": "1"'),
        ("", '"max_opqueue_num": 100', '"max_opqueue_num": "100"'),
        ("", '"stacksize": {}', '"StackSize": {}'),
        ("StackSize", '"AICORE_STACK_SIZE": 65536', '"aicore_stack_size": 65536'),
        ("StackSize", '"aicore_stack_size": "65536"', '"aicore_stack_size": 65536'),
        ("profiler", '"Switch": "ON"', '"switch": "on"'),
        ("profiler", '"switch": true, "l2": " on "', '"switch": "on", "l2": "on"'),
        ("profiler", '"host_sys": "CPU, mem,"', '"host_sys": "cpu,mem"'),
        ("profiler", '"sys_cpu_freq": "50"', '"sys_cpu_freq": 50'),
        (
            "profiler",
            '"switch": "on", "storage_limit": "500 mb"',
            '"switch": "on", "storage_limit": "500MB"',
        ),
        ("defaultDevice", '"default_device": 3', '"default_device": "3"'),
        ("defaultDevice", '"default_device": "03"', '"default_device": "3"'),
        (
            "dump",
            '"dump_path": "/d", "dump_stats": ["max"], "dump_data": "Stats"',
            '"dump_path": "/d", "dump_stats": ["Max"], "dump_data": "stats"',
        ),
        (
            "dump",
            '"dump_path": "/d", "dump_list": [{"layer": "conv1"}]',
            '"dump_path": "/d", "dump_list": [{"layer": ["conv1"]}]',
        ),
        (
            "dump",
            '"dump_path": "/d", "dump_kernel_data": "Printf, all"',
            '"dump_path": "/d", "dump_kernel_data": "printf,all"',
        ),
    ],
)
def test_key_and_value_that_are_plainly_meant_are_written_so(
    section: str, before: str, after: str
) -> None:
    """Case, spelling, and numbers for strings."""
    outer = f'{{"{section}": {{%s}}}}' if section else "{%s}"
    assert repaired(outer % before) == outer % after
    assert fixed(resolved(outer % after)).is_valid


@pytest.mark.parametrize(
    "text",
    [
        '{"err_msg_mode": "2"}',
        '{"err_msg_mode": 7}',
        '{"xyzzy": 1}',
        '{"err_msg_mode": "1", "Err_msg_mode": "0"}',
        '{"dump": {"dump_path": 7}}',
        '{"defaultDevice": {"default_device": "-1"}}',
        '{"StackSize": {"aicore_stack_size": "64K"}}',
        '{"profiler": {"storage_limit": "500", "switch": "on"}}',
        '{"a": "not closed}',
        '{"a" 1}',
        "",
        "not json at all",
    ],
)
def test_what_could_mean_several_things_is_left(text: str) -> None:
    """A repair that guesses is worse than none."""
    assert repaired(text) == text


def test_key_that_would_make_an_error_keeps_its_name() -> None:
    """A key that did nothing does no harm; everything else is repaired."""
    assert repaired('{"dumpp": {"dump_debug": "on"},}') == '{"dumpp": {"dump_debug": "on"}}'


@pytest.mark.parametrize("raw", [b'{"a": "\xff",}', b'{"a": 1,}\0'])
def test_text_that_is_no_text_is_left(raw: bytes) -> None:
    """Bytes that can't be read can't be written back."""
    assert fixed(resolved(raw)).text.raw == raw


def test_only_codes_of_the_catalogue_are_repaired() -> None:
    """A table with a typo would repair nothing."""
    assert set(REPAIRS) <= set(ENGLISH)


def test_more_comments_than_are_listed_are_removed() -> None:
    """Findings have a limit; a file has none."""
    text = "{" + "// c\n" * 1300 + "}"
    assert repaired(text).split() == ["{", "}"]


def test_variable_is_no_part_of_the_text() -> None:
    """What is wrong with one is left, and in the way of nothing."""
    text = ConfigText("acl.json", b'{"err_msg_mode": 1}', is_file=True)
    env = {"ACLASYNC_DEVICES": "many"}
    after = fixed(resolve_config(text, env=env, product=Product.ATLAS_A2))
    assert after.content == '{"err_msg_mode": "1"}'
    assert [finding.code for finding in after.warnings] == ["W040"]


def test_text_without_a_file_is_left() -> None:
    """There is nothing to write a repair to."""
    resolution = resolve_config({"err_msg_mode": 1}, env={}, product=Product.ATLAS_A2)
    assert fixed(resolution) is resolution


def field_texts() -> list[Any]:
    lines = [
        line
        for name in ("config", "profiler", "people")
        for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    texts = [json.loads(line)["config"].encode("utf-8", "surrogateescape") for line in lines]
    return [*texts, *(example.text for example in EXAMPLES.values())]


def check_promises(before: Resolution) -> None:
    after = fixed(before)
    assert len(after.errors) <= len(before.errors)
    assert len(after.errors) + len(after.warnings) <= len(before.errors) + len(before.warnings)
    assert fixed(after).text.raw == after.text.raw
    if before.is_valid and not before.warnings:
        assert after.text.raw == before.text.raw


def test_repair_of_recorded_texts_never_makes_them_worse() -> None:
    """Fewer findings or as many, the same again when repaired again, and what is right is left."""
    for text in field_texts():
        check_promises(resolved(text))


@given(
    st.lists(
        st.sampled_from(
            ["{", "}", "[", "]", ",", ":", " ", "\n", "// c\n", "/*", "*/", "#", "'", '"', "a", "1",
             '"err_msg_mode"', '"Dump"', '"dump_path"', '"/d"', "True", "null", "on", "\t", "é"]
        )
    )
)  # fmt: skip
def test_repair_of_anything_never_makes_it_worse(pieces: list[str]) -> None:
    """Whatever somebody typed."""
    check_promises(resolved("".join(pieces)))
