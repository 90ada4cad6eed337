"""What the schema refuses, the rules refuse: on recordings, and on what nobody has written yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from aclasync.config import resolve_config
from aclasync.config.features import (
    DEFAULT_DEVICE,
    DUMP_STATS,
    DUMP_TEXTS,
    ENTRY_KEYS,
    ERR_MSG_MODE,
    EVENT_MODE,
    FIFOS,
    ITEM_KEYS,
    MAX_OPQUEUE_NUM,
    STACKS,
)
from aclasync.config.json_schema import json_schema, schema_keys
from aclasync.config.keys import KeySpec, Kind
from aclasync.config.language import Language
from aclasync.config.lookup import KEYS
from aclasync.config.profiler_keys import PROFILER_KEYS
from aclasync.config.text import parse
from aclasync.product import Product

CASES = Path(__file__).parents[1] / "conformance" / "cases"
A2 = Product.ATLAS_A2
STRICT = [False, True]
VALIDATORS = {
    (product, is_strict): Draft202012Validator(json_schema(product, is_strict=is_strict))
    for product in Product
    for is_strict in STRICT
}


def is_refused(value: Any, product: Product, *, is_strict: bool) -> bool:
    resolution = resolve_config(json.dumps(value).encode(), env={}, product=product)
    return not resolution.is_valid or (is_strict and bool(resolution.warnings))


def recorded() -> list[dict[str, Any]]:
    """Return every recording whose text is JSON at all."""
    cases = []
    for name in ("config", "profiler", "people"):
        for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            parsed = parse(case["config"].encode("utf-8", "surrogateescape"))
            if parsed.is_valid and parsed.content:
                cases.append({**case, "value": parsed.value})

    return cases


@pytest.mark.parametrize("product", Product)
@pytest.mark.parametrize("is_strict", STRICT)
def test_schema_is_one(product: Product, is_strict: bool) -> None:
    """By the schema of schemas."""
    Draft202012Validator.check_schema(json_schema(product, is_strict=is_strict))


def test_recording_that_the_schema_refuses_was_refused() -> None:
    """By the reference itself, whose number is in the recording."""
    refused = [case for case in recorded() if not VALIDATORS[A2, False].is_valid(case["value"])]
    assert [case for case in refused if case["init"] == 0] == []


def test_schema_sees_most_of_what_the_reference_refuses() -> None:
    """What is left is up to folders, to bytes instead of characters, and to duplicate keys."""
    refused = [case for case in recorded() if case["init"] != 0]
    unseen = [case for case in refused if VALIDATORS[A2, False].is_valid(case["value"])]
    assert len(refused) > 200
    assert len(unseen) < len(refused) * 0.2, [c["config"] for c in unseen]


@pytest.mark.parametrize("product", Product)
@pytest.mark.parametrize("is_strict", STRICT)
def test_recording_is_refused_by_the_rules_of_every_product(
    product: Product, is_strict: bool
) -> None:
    """If its schema refuses it."""
    for case in recorded():
        value = case["value"]
        if not VALIDATORS[product, is_strict].is_valid(value):
            assert is_refused(value, product, is_strict=is_strict), case["config"]


ODD = st.sampled_from(
    ["", "on", "off", "0", "x", 1, 0, -1, 1.5, True, None, [], {}, ["a"], [{}], [""], 1023, 2**20,
     2**26 + 1, 2**32, 2**32 + 2**20, 40000]
)  # fmt: skip
OF_KIND = {
    Kind.TEXT: ["x"],
    Kind.TEXTS: [["a"], []],
    Kind.OBJECTS: [[], [{"name": "a", "pos": ["input0"]}], [{}]],
    Kind.NUMBER: [0, 128, 2**15, 2**16, 40000, 2**20],
    Kind.INTEGER: [1, 50, 100, 1000, 2**10, 2**20, 2**26, 2**32 + 2**20],
}


def values_of(spec: KeySpec) -> st.SearchStrategy[Any]:
    """Return values that a key allows, or nearly, and now and then another."""
    near: list[Any] = [*spec.allowed, *_ALSO.get(spec.name, ())]
    if spec.kind is Kind.TEXTS and near:
        near = [[text] for text in near]

    common = st.sampled_from(near or OF_KIND[spec.kind])
    return st.integers(0, 15).flatmap(lambda n: common if n else ODD)


def members(*specs: KeySpec, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    known = {spec.name: values_of(spec) for spec in specs}
    return st.dictionaries(st.sampled_from([*known, *more]), st.none(), max_size=4).flatmap(
        lambda chosen: st.fixed_dictionaries({name: (known | more)[name] for name in chosen})
    )


_ALSO = {
    "dump_path": ("/d", "/d", "d" * 600),
    "dump_step": ("1|2-3", "3-1", "1-"),
    "dump_kernel_data": ("printf,tensor", "printf,"),
    "storage_limit": ("500MB", "1MB"),
    "output": ("/p", "/a;b", "/a\tb"),
    "aic_metrics": ("Custom:1,0x2", "Custom:", "a" * 80),
    "host_sys": ("cpu,mem", "cpu,"),
    "default_device": ("1", "01", "4294967296"),
    "max_opqueue_num": ("100", "0"),
}
RANGES = st.lists(members(*ENTRY_KEYS["opname_range"]), max_size=2)
ITEMS = st.lists(members(*ITEM_KEYS, opname_range=RANGES), max_size=2)
DUMP = members(*DUMP_TEXTS, DUMP_STATS, dump_list=ITEMS)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "dump": DUMP | DUMP.map(lambda dump: {"dump_path": "/d", **dump}),
        "profiler": members(*PROFILER_KEYS),
        "StackSize": members(*STACKS) | st.just([]),
        "defaultDevice": members(DEFAULT_DEVICE),
        "acl_graph": members(EVENT_MODE),
        "unknown": st.just(1),
        **{spec.name: values_of(spec) for spec in (*FIFOS, ERR_MSG_MODE, MAX_OPQUEUE_NUM)},
    },
)


@given(value=CONFIGS, product=st.sampled_from(Product), is_strict=st.booleans())
def test_whatever_the_schema_refuses_the_rules_refuse(
    value: Any, product: Product, is_strict: bool
) -> None:
    """Whoever trusts an editor's underlining is never misled."""
    if not VALIDATORS[product, is_strict].is_valid(value):
        assert is_refused(value, product, is_strict=is_strict)


def test_every_key_is_in_the_schema() -> None:
    """A new key in the tables is a new key for editors."""
    assert {key.name for key in KEYS} <= set(schema_keys(json_schema(Product.ASCEND_950)))


def test_descriptions_are_in_the_language() -> None:
    """They are what an editor shows."""
    english, chinese = (json_schema(A2, language) for language in Language)
    assert english["properties"]["err_msg_mode"]["description"].startswith("recent error text")
    assert chinese["properties"]["err_msg_mode"]["description"].startswith("最近的错误信息")


@pytest.mark.parametrize(
    ("value", "is_accepted"),
    [
        ({}, (True, True)),
        ({"err_msg_mod": "1"}, (True, False)),
        ({"err_msg_mode": 1}, (False, False)),
        ({"StackSize": {"aicore_stack_size": 40000}}, (True, False)),
        ({"simt_printf_fifo_size": 2**20}, (True, False)),
        ({"dump": {"dump_scene": "lite_exception"}}, (True, True)),
        ({"dump": {"dump_debug": "on"}}, (False, False)),
        ({"profiler": {"switch": "on", "aic_metrics": "Custom:1,0x2"}}, (True, True)),
        ({"profiler": {"device_id": "0"}}, (False, False)),
        ({"profiler": {"storage_limit": "1"}}, (True, True)),
        ({"profiler": {"switch": "on", "storage_limit": "1"}}, (False, False)),
    ],
)
def test_schema_and_strict_schema_differ_by_what_is_warned_of(
    value: Any, is_accepted: tuple[bool, bool]
) -> None:
    """The one for what ACL refuses, the other for what it would silently ignore, too."""
    assert tuple(VALIDATORS[A2, strict].is_valid(value) for strict in STRICT) == is_accepted
