"""What the `profiler` section asks for, as far as a CPU can do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from attrs import frozen

if TYPE_CHECKING:
    from aclasync.config import ProfilerSettings

#: Keys that are about hardware which a CPU device does not have.
WITHOUT_EFFECT = (
    "aic_metrics", "aicpu", "l2", "hccl", "task_tsfw", "instr_profiling", "instr_profiling_freq",
    "sys_hardware_mem_freq", "sys_mem_serviceflow", "llc_profiling", "sys_io_sampling_freq",
    "sys_interconnection_freq", "dvpp_freq", "sys_lp_freq",
)  # fmt: skip


@final
@frozen(kw_only=True)
class Options:
    """What is collected."""

    output: str | None = None
    #: Of `storage_limit`; None for what is free.
    limit_mb: int | None = None
    #: Layers whose calls are recorded: ascendcl, runtime_api, ge_api.
    layers: frozenset[str] = frozenset()
    has_operators: bool = True
    #: Whether types and shapes are noted.
    has_shapes: bool = True
    has_memory: bool = False
    has_marks: bool = False
    #: Only these operator types; empty for all.
    op_types: frozenset[str] = frozenset()
    #: Keys that were set and can't have an effect here.
    ignored: tuple[str, ...] = ()


def options_of(settings: ProfilerSettings) -> Options:
    """Return what the section asks for; every value in it has been checked."""
    said = settings.values
    limit = str(said.get("storage_limit") or "").removesuffix("MB")
    task_time = said.get("task_time") or "on"
    layers = {
        "ascendcl": said.get("ascendcl") or "on",
        "runtime_api": said.get("runtime_api") or "on",
        "ge_api": said.get("ge_api") or "off",
    }
    return Options(
        output=said.get("output") or None,
        limit_mb=int(limit) if limit else None,
        layers=frozenset(layer for layer, value in layers.items() if value != "off"),
        has_operators=task_time != "off",
        has_shapes=task_time != "l0",
        has_memory=said.get("task_memory") == "on",
        has_marks=said.get("msproftx") == "on",
        op_types=frozenset(filter(None, str(said.get("optype") or "").split(","))),
        ignored=tuple(key for key in WITHOUT_EFFECT if said.get(key) not in (None, "", "off")),
    )
