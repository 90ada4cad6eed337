"""The rules between keys of `dump`, as conditions of a JSON Schema.

Each says no more than `dump_rules` and `item_rules` refuse: where one of its keys is faulty
itself, the schema has refused the file already.
"""

from __future__ import annotations

from typing import Any

from .features import (
    DUMP_DATA,
    DUMP_DEBUG,
    DUMP_LEVEL,
    DUMP_LIST,
    DUMP_MODE,
    DUMP_OP_SWITCH,
    DUMP_PATH,
    DUMP_SCENE,
    DUMP_STATS,
    DUMP_STEP,
    EXCEPTION_SCENES,
    ITEM_KEYS,
)
from .keys import KeySpec

Schema = dict[str, Any]


def when(condition: Schema, then: Schema) -> Schema:
    """Return a schema that asks for something on a condition."""
    return {"if": condition, "then": then}


def exactly(spec: KeySpec, *values: str) -> Schema:
    """Return a condition: the key is there and has one of the values."""
    return {"required": [spec.name], "properties": {spec.name: {"enum": list(values)}}}


def _never(*specs: KeySpec, value: str) -> Schema:
    return {"properties": {spec.name: {"not": {"const": value}} for spec in specs}}


def _unless(*conditions: Schema) -> Schema:
    return {"not": {"anyOf": list(conditions)}}


def _every_item(schema: Schema) -> Schema:
    return {"properties": {DUMP_LIST.name: {"items": schema}}}


def _empty(*names: str) -> Schema:
    return {"properties": {name: {"maxItems": 0} for name in names}}


_HAS_SCENE: Schema = {"required": [DUMP_SCENE.name]}
_IS_EXCEPTION = exactly(DUMP_SCENE, *EXCEPTION_SCENES)
_IS_WATCHER = exactly(DUMP_SCENE, "watcher")
_IS_DEBUG = exactly(DUMP_DEBUG, "on")
_IS_SINGLE_OP = exactly(DUMP_OP_SWITCH, "on")
# With one of these the lists, the steps and the statistics are not looked at.
_LISTS_COUNT = _unless(_IS_EXCEPTION, _IS_DEBUG)

_BLACKLISTS = {spec.name: {"maxItems": spec.high} for spec in ITEM_KEYS if spec.high is not None}
_RANGE_ENDS: Schema = {
    "required": ["begin", "end"],
    "properties": {"begin": {"minLength": 1}, "end": {"minLength": 1}},
}

DUMP_RELATIONS: tuple[Schema, ...] = (
    when(
        {"allOf": [{"minProperties": 1}, _unless(_IS_EXCEPTION)]},
        {
            "required": [DUMP_PATH.name],
            "properties": {DUMP_PATH.name: {"minLength": 1, "maxLength": DUMP_PATH.high}},
        },
    ),
    when(_HAS_SCENE, _never(DUMP_DEBUG, DUMP_OP_SWITCH, value="on")),
    when(_IS_WATCHER, {"properties": {DUMP_MODE.name: {"const": "output"}}}),
    when(_IS_DEBUG, _never(DUMP_OP_SWITCH, value="on")),
    when(
        _LISTS_COUNT,
        {
            "properties": {
                DUMP_STEP.name: {"pattern": f"^(?:{DUMP_STEP.pattern})?$"},
                DUMP_STATS.name: {"minItems": 1},
            }
        },
    ),
    when(
        {"allOf": [_LISTS_COUNT, {"required": [DUMP_STATS.name]}]},
        exactly(DUMP_DATA, "stats"),
    ),
    when(
        {"allOf": [_LISTS_COUNT, _unless(_IS_SINGLE_OP)]},
        _every_item({"properties": {"model_name": {"minLength": 1}, "layer": {"minItems": 1}}}),
    ),
    when(
        {"allOf": [_LISTS_COUNT, _IS_WATCHER]},
        _every_item(
            {
                "required": ["watcher_nodes"],
                "properties": {"watcher_nodes": {"minItems": 1}, "model_name": {"not": {}}},
            }
        ),
    ),
    when({"allOf": [_LISTS_COUNT, _unless(_HAS_SCENE)]}, _every_item(_empty("watcher_nodes"))),
    when(
        {"allOf": [_LISTS_COUNT, _unless(exactly(DUMP_LEVEL, "op"))]},
        _every_item(_empty(*_BLACKLISTS, "opname_range")),
    ),
    when(
        _LISTS_COUNT,
        _every_item(
            {
                "properties": {**_BLACKLISTS, "opname_range": {"items": _RANGE_ENDS}},
                "if": {
                    "required": ["opname_range"],
                    "properties": {"opname_range": {"minItems": 1}},
                },
                "then": {
                    "required": ["model_name"],
                    "properties": {"model_name": {"minLength": 1}},
                },
            }
        ),
    ),
)
