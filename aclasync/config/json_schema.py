"""A JSON Schema (2020-12) of acl.json for one product, made from the tables of keys.

What it refuses, the reference refuses; a strict one also refuses what is only warned of. It
refuses less than the rules do: what depends on folders, on the environment, or on how the text is
written, no schema can say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from aclasync.codes import AclCode
from aclasync.product import Product

from .features import (
    DEFAULT_DEVICE,
    DUMP_LIST,
    DUMP_STATS,
    DUMP_TEXTS,
    ENTRY_KEYS,
    ERR_MSG_MODE,
    EVENT_MODE,
    FIFOS,
    ITEM_KEYS,
    MAX_OPQUEUE_NUM,
    PROFILER,
    STACKS,
)
from .keys import DUMP_ONLY, KeySpec, Kind
from .language import Language
from .lookup import default_of, effect_of, phrase
from .profiler_keys import INSTR_PROFILING, INSTR_PROFILING_FREQ, OUTPUT, PROFILER_KEYS, SWITCH
from .schema_relations import DUMP_RELATIONS, exactly, when
from .value_rules import has_bounds

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TYPES: dict[Kind, Schema] = {
    Kind.TEXT: {"type": "string"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.OBJECTS: {"type": "array", "items": {"type": "object"}},
    Kind.OBJECT: {"type": "object"},
    Kind.NUMBER: {"type": "number"},
    Kind.INTEGER: {"type": "integer"},
}
_UINT32 = 2**32
_NEVER: Schema = {"not": {}}


def json_schema(
    product: Product, language: Language = Language.ENGLISH, *, is_strict: bool = False
) -> Schema:
    """Return the schema, with descriptions in a language."""
    return _Writer(product, language, is_strict=is_strict).root()


class _Writer:
    def __init__(self, product: Product, language: Language, *, is_strict: bool) -> None:
        self.product = product
        self.language = language
        self.is_strict = is_strict

    def root(self) -> Schema:
        properties = {"dump": self.dump()}
        if self.product not in DUMP_ONLY:
            properties |= {
                ERR_MSG_MODE.name: self.key(ERR_MSG_MODE),
                MAX_OPQUEUE_NUM.name: self.key(MAX_OPQUEUE_NUM),
                **{spec.path[0]: self.section(spec) for spec in (DEFAULT_DEVICE, EVENT_MODE)},
                STACKS[0].path[0]: self.section(*STACKS),
                **{spec.name: self.key(spec) for spec in FIFOS},
                PROFILER.name: self.profiler(),
            }

        made: Schema = {"$schema": DIALECT, "title": f"acl.json ({self.product.name})"}
        # The reference takes a root that is no object for an empty one.
        return made | (self.object(properties) if self.is_strict else {"properties": properties})

    def object(self, properties: Schema, *, is_closed: bool = False) -> Schema:
        made: Schema = {"type": "object", "properties": properties}
        if is_closed or self.is_strict:
            made["additionalProperties"] = False

        return made

    def section(self, *specs: KeySpec) -> Schema:
        """Return a section that counts as missing where it is no object."""
        properties = {spec.name: self.key(spec) for spec in specs}
        return self.object(properties) if self.is_strict else {"properties": properties}

    # Keys

    def key(self, spec: KeySpec) -> Schema:
        return self.described(spec) | self.verdict(spec)

    def described(self, spec: KeySpec) -> Schema:
        text = effect_of(spec, self.language)
        default = default_of(spec, self.language)
        if default is not None:
            text += f" ({phrase('default', self.language)}: {default})"

        made: Schema = {"description": text}
        if spec.kind is Kind.TEXT and (
            str(spec.default) in spec.allowed or spec is MAX_OPQUEUE_NUM
        ):
            made["default"] = str(spec.default)
        elif spec.kind in (Kind.NUMBER, Kind.INTEGER) and spec.default is not None:
            made["default"] = spec.default

        return made

    def verdict(self, spec: KeySpec) -> Schema:
        """Return what a value must be, wherever the key stands."""
        is_here = self.product in spec.products
        if not is_here and (self.is_strict or spec.product_code is not None):
            return {"const": "off"} if "off" in spec.allowed else _NEVER

        if spec.code is AclCode.SUCCESS and not self.is_strict:
            return {}

        return _TYPES[spec.kind] | self.content(spec)

    def content(self, spec: KeySpec) -> Schema:
        if spec.kind is Kind.TEXTS and spec.allowed:
            return {"items": {"enum": list(spec.allowed)}}

        if spec.kind is Kind.TEXT:
            return _forms(spec, self.product)

        if spec in FIFOS:
            return self.fifo_bounds(spec)

        if spec in STACKS and self.is_strict:
            bounds = {"minimum": spec.low or 0, "maximum": spec.high_for(self.product)}
            return _without_none(bounds) | {"multipleOf": spec.multiple}

        return {}

    def fifo_bounds(self, spec: KeySpec) -> Schema:
        if not has_bounds(spec, self.product):
            return {"minimum": 1}

        if self.is_strict:
            return {"minimum": spec.low, "maximum": spec.high, "multipleOf": spec.multiple}

        # A number of more than 32 bits is cut to them, and may be in bounds again.
        return {"minimum": spec.low, "anyOf": [{"maximum": spec.high}, {"minimum": _UINT32}]}

    # Sections

    def dump(self) -> Schema:
        items = {spec.name: self.key(spec) for spec in ITEM_KEYS}
        for name, members in ENTRY_KEYS.items():
            items[name]["items"] = self.object({m.name: self.key(m) for m in members})

        properties = {spec.name: self.key(spec) for spec in (*DUMP_TEXTS, DUMP_STATS, DUMP_LIST)}
        # What only one kind of dump looks at is in the relations.
        for name in ("dump_path", "dump_step"):
            properties[name] = self.described(_BY_NAME[name]) | _TYPES[Kind.TEXT]

        properties[DUMP_LIST.name]["items"] = self.object(items)
        return self.object(properties) | {"allOf": list(DUMP_RELATIONS)}

    def profiler(self) -> Schema:
        always = {s.name: self.profiler_key(s) for s in PROFILER_KEYS if not s.is_only_on}
        on = {s.name: self.profiler_verdict(s) for s in PROFILER_KEYS if s.is_only_on}
        described = {s.name: self.described(s) for s in PROFILER_KEYS if s.is_only_on}
        made = self.object(always | described, is_closed=True)
        relations = [when(exactly(SWITCH, "on"), {"properties": on})]
        if self.product in INSTR_PROFILING_FREQ.products:
            spec = INSTR_PROFILING_FREQ
            bounds = {"minimum": spec.low, "maximum": spec.high}
            both = {"allOf": [exactly(SWITCH, "on"), exactly(INSTR_PROFILING, "on")]}
            relations.append(when(both, {"properties": {spec.name: bounds}}))

        return self.described(PROFILER) | made | {"allOf": relations}

    def profiler_key(self, spec: KeySpec) -> Schema:
        return self.described(spec) | self.profiler_verdict(spec)

    def profiler_verdict(self, spec: KeySpec) -> Schema:
        """Return what a value must be; an empty text counts as none."""
        if spec is OUTPUT:  # anything but text counts as none, too
            return {"pattern": _whole(spec.pattern)}

        if spec.product_code is not None and self.product not in spec.products:
            return {"const": ""}

        made = dict(_TYPES[spec.kind])
        if spec.kind is Kind.INTEGER:
            bounds = {"minimum": spec.low, "maximum": spec.high_for(self.product)}
            return made | ({} if spec is INSTR_PROFILING_FREQ else _without_none(bounds))

        if spec.low == 1:
            return made | {"minLength": 1}

        forms = _forms(spec, self.product)
        if forms:
            made["anyOf"] = [forms, {"const": ""}]

        return made if spec.high is None or spec.pattern else made | {"maxLength": spec.high}


_BY_NAME = {spec.name: spec for spec in DUMP_TEXTS}


def _forms(spec: KeySpec, product: Product) -> Schema:
    """Return the texts that a key allows."""
    allowed = list(spec.allowed_on(product))
    if spec.is_list:
        one = f"(?:{'|'.join(map(re.escape, allowed))})"
        return {"pattern": _whole(f"{one}(?:,{one})*")}

    if spec.pattern and allowed:
        return {"anyOf": [{"enum": allowed}, {"pattern": _whole(spec.pattern)}]}

    if spec.pattern:
        return {"pattern": _whole(spec.pattern)}

    return {"enum": allowed} if allowed else {}


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _without_none(bounds: dict[str, int | None]) -> Schema:
    return {name: bound for name, bound in bounds.items() if bound is not None}


def schema_keys(schema: Schema) -> Iterable[str]:
    """Return every key that a schema describes, for completeness."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from schema_keys(inner)
        yield from schema_keys(inner.get("items", {}))
