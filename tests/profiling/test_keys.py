"""Every key of the profiler section that a CPU can heed."""

from __future__ import annotations

import csv
import logging

import numpy as np
import pytest

from aclasync import Product, acl_session
from aclasync.config import ProfilerSettings
from aclasync.profiling.options import WITHOUT_EFFECT, options_of
from aclasync.testing import fresh_runtime

from .conftest import only_session, summary, trace_events


def options(**values):
    return options_of(ProfilerSettings(values={"switch": "on", **values}))


async def one_op(device):
    await device.execute_op("Neg", [np.float32([1])])


async def names_of_calls(folder):
    return {(e["cat"], e["name"]) for e in trace_events(folder)[0]}


@pytest.mark.parametrize("value", ["off", "on", ""])
async def test_task_time_switches_the_times_of_operators(profiled, value):
    """On without the key."""
    folder = await profiled(work=one_op, task_time=value)
    rows = summary(folder)
    assert bool(rows) is (value != "off")
    assert any(e["args"].get("type") for e in trace_events(folder)[0]) is (value != "off")


@pytest.mark.parametrize("value", ["l0", "l1"])
async def test_l0_leaves_types_and_shapes_out(profiled, value):
    """The times are the same."""
    rows = summary(await profiled(work=one_op, task_time=value))
    assert all(bool(row["Inputs"]) is (value == "l1") for row in rows)


@pytest.mark.parametrize(
    ("key", "default", "call"),
    [
        ("ascendcl", True, "aclmdlExecute"),
        ("ascendcl", True, "aclopExecuteV2"),
        ("runtime_api", True, "rtSetDevice"),
        ("runtime_api", True, "rtDeviceReset"),
        ("ge_api", False, "aclopCompile"),
    ],
)
async def test_layers_of_calls_are_switched_each(runtime, profiled, output, key, default, call):
    """By keys of their own."""
    on, off = ("l0", "off") if key == "ge_api" else ("on", "off")
    for value, expected in ((on, True), (off, False), (None, default)):
        said = {} if value is None else {key: value}
        with fresh_runtime():
            folder = await profiled(work=one_op, **said)

        assert ((key, call) in await names_of_calls(folder)) is expected
        folder.rename(output / f"done_{value}")


@pytest.mark.parametrize("value", ["on", "off"])
async def test_task_memory_writes_what_operators_take(profiled, value):
    """Bytes of outputs, activations and weights."""
    folder = await profiled(task_memory=value)
    path = folder / "op_memory.csv"
    assert path.exists() is (value == "on")
    if value == "on":
        with path.open(newline="") as file:
            rows = {row["Op Name"]: row for row in csv.DictReader(file)}

        assert rows["Flatten"]["Output(bytes)"] == str(32 * 64 * 4)
        assert rows["Scale"]["Parameter(bytes)"] == "4"


@pytest.mark.parametrize("value", ["on", "off"])
async def test_msproftx_puts_a_kernel_s_timestamps_into_the_trace(profiled, value):
    """As instants, by operator and number."""

    async def work(device):
        @device.kernel("Step")
        def step(ctx, x):
            ctx.timestamp(7)
            return x

        await device.execute_op("Step", [np.float32([1])])

    events, _ = trace_events(await profiled(work=work, msproftx=value))
    assert [e["name"] for e in events if e["ph"] == "i"] == ["Step 7"] * (value == "on")


async def test_optype_records_these_types_only(output, images):
    """On products that have the key."""
    config = {"profiler": {"switch": "on", "output": str(output), "optype": "Neg,Mul"}}
    with fresh_runtime(product=Product.ATLAS_INFERENCE):
        async with acl_session(config) as session, session.open_device() as device:
            for op_type in ("Neg", "Abs"):
                await device.execute_op(op_type, [np.float32([1])])

    assert [row["Op Name"] for row in summary(only_session(output))] == ["Neg"]


async def test_key_without_such_hardware_is_named_once(profiled, caplog):
    """Never silently ignored; keys that say off, or that have an effect, are not named."""
    with caplog.at_level(logging.WARNING, "aclasync.profiling"):
        await profiled(l2="on", aic_metrics="Memory", aicpu="off", task_time="on")

    (record,) = caplog.records
    assert record.getMessage().endswith("embedded device for aic_metrics, l2")


def test_options_read_every_key():
    """Defaults are the reference's; empty means default."""
    plain = options()
    assert plain.layers == {"ascendcl", "runtime_api"}
    assert (plain.has_operators, plain.has_shapes, plain.has_memory) == (True, True, False)
    assert (plain.output, plain.limit_mb, plain.op_types) == (None, None, frozenset())
    assert options(storage_limit="500MB").limit_mb == 500
    assert options(storage_limit="", output="", task_time="").limit_mb is None
    assert options(optype="Conv,Add").op_types == {"Conv", "Add"}
    assert options(**dict.fromkeys(WITHOUT_EFFECT, "on")).ignored == WITHOUT_EFFECT
