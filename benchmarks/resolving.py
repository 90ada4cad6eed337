"""A configuration of 1 KB resolved: every finding and every value's origin, from its bytes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pydantic

from aclasync import Product, resolve_config

from .measuring import Role, Row, Scale, Side, compare, timed

TEXT = Path(__file__).with_name("one_kilobyte.json").read_bytes()


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class DefaultDevice(Strict):
    default_device: str = pydantic.Field(pattern=r"^\d+$")


class BlacklistEntry(Strict):
    name: str
    pos: list[str] = []


class OpRange(Strict):
    begin: str
    end: str


class DumpItem(Strict):
    model_name: str | None = None
    layer: list[str] = []
    optype_blacklist: list[BlacklistEntry] = []
    opname_range: list[OpRange] = []


class Dump(Strict):
    dump_path: str
    dump_mode: Literal["input", "output", "all"] = "output"
    dump_level: Literal["op", "kernel", "all"] = "all"
    dump_data: Literal["tensor", "stats"] = "tensor"
    dump_stats: list[Literal["Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"]]
    dump_step: str = ""
    dump_list: list[DumpItem] = []


class Profiler(Strict):
    switch: Literal["on", "off"]
    output: str
    aic_metrics: str
    aicpu: Literal["on", "off"]
    ascendcl: Literal["on", "off"]
    task_time: Literal["on", "off", "l0", "l1", "l2"]
    runtime_api: Literal["on", "off"]
    ge_api: Literal["off", "l0", "l1"]
    storage_limit: str = pydantic.Field(pattern=r"^\d+MB$")
    sys_hardware_mem_freq: int = pydantic.Field(ge=1, le=100)
    host_sys: str


class StackSize(Strict):
    aicore_stack_size: int


class Config(Strict):
    """The part of acl.json that the measured text uses; types and bounds, no findings."""

    err_msg_mode: Literal["0", "1"]
    defaultDevice: DefaultDevice  # noqa: N815  # a key of the file
    dump: Dump
    profiler: Profiler
    StackSize: StackSize
    simd_printf_fifo_size_per_core: int = pydantic.Field(ge=1024, le=64 << 20)
    max_opqueue_num: str = pydantic.Field(pattern=r"^\d+$")


async def rows(scale: Scale) -> AsyncIterator[Row]:
    schema: dict[str, Any] = Config.model_json_schema()
    validator = jsonschema.Draft202012Validator(schema)

    async def resolves(times: int) -> None:
        for _ in range(times):
            assert resolve_config(TEXT, env={}, product=Product.ATLAS_A2).content

    async def loads(times: int) -> None:
        for _ in range(times):
            json.loads(TEXT)

    async def validates(times: int) -> None:
        for _ in range(times):
            Config.model_validate_json(TEXT)

    async def judges(times: int) -> None:
        for _ in range(times):
            assert validator.is_valid(json.loads(TEXT))

    yield await compare(
        f"resolve_config of {len(TEXT)} bytes",
        Side("resolve_config", Role.OURS, timed(resolves, scale.times(300))),
        Side("json.loads", Role.FLOOR, timed(loads, scale.times(300)), 8.0),
        Side("pydantic, types and bounds only", Role.PEER, timed(validates, scale.times(300))),
        Side("jsonschema, verdict only", Role.PEER, timed(judges, scale.times(300))),
        scale=scale,
    )
