"""The configuration as typed values: the sections of the JSON file, one class each.

Unset is None everywhere. Values are kept as they were written; what is in force is `Effective`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Self, final

import attrs
from attrs import field, frozen

from aclasync.codes import AclCode
from aclasync.errors import ConfigError

from .canonical import Canonical, to_canonical
from .display import Brief
from .findings import Location, worded


@final
@frozen(kw_only=True, repr=False)
class BlacklistEntry(Brief):
    """Operators left out of a dump, by type or by name, and which of their tensors."""

    name: str | None = None
    #: Tensors such as `input0` or `output1`; all of them if unset.
    pos: tuple[str, ...] | None = None


@final
@frozen(kw_only=True, repr=False)
class OpRange(Brief):
    """The operators from one to another, both included."""

    begin: str | None = None
    end: str | None = None


@final
@frozen(kw_only=True, repr=False)
class DumpItem(Brief):
    """What is dumped of one model, or of all if it has no name."""

    model_name: str | None = None
    layer: tuple[str, ...] | None = None
    watcher_nodes: tuple[str, ...] | None = None
    optype_blacklist: tuple[BlacklistEntry, ...] | None = None
    opname_blacklist: tuple[BlacklistEntry, ...] | None = None
    opname_range: tuple[OpRange, ...] | None = None


@final
@frozen(kw_only=True, repr=False)
class DumpSection(Brief):
    """The `dump` section; every scalar is a string there."""

    dump_path: str | None = None
    dump_mode: str | None = None
    dump_op_switch: str | None = None
    dump_level: str | None = None
    dump_scene: str | None = None
    dump_data: str | None = None
    dump_debug: str | None = None
    dump_kernel_data: str | None = None
    dump_step: str | None = None
    dump_stats: tuple[str, ...] | None = None
    dump_list: tuple[DumpItem, ...] | None = None


@final
@frozen(kw_only=True, repr=False)
class StackSizeSection(Brief):
    """The `StackSize` section, in bytes."""

    aicore_stack_size: int | float | None = None
    simt_stack_size: int | float | None = None
    simt_divergence_stack_size: int | float | None = None


@final
@frozen(kw_only=True, repr=False)
class DefaultDeviceSection(Brief):
    """The `defaultDevice` section."""

    default_device: str | None = None


@final
@frozen(kw_only=True, repr=False)
class AclGraphSection(Brief):
    """The undocumented `acl_graph` section."""

    event_mode: str | None = None


@final
@frozen(kw_only=True, repr=False)
class AclConfig(Brief):
    """An acl.json as a value; give it to `acl_session` instead of a file.

    `AclConfig(err_msg_mode="1", stack_size=StackSizeSection(aicore_stack_size=65536))`
    """

    dump: DumpSection | None = None
    #: Keys of the `profiler` section; there are many, and they differ by product.
    profiler: Mapping[str, Any] | None = field(default=None, hash=False)
    #: A string of digits; what else the file says has no effect.
    max_opqueue_num: str | None = None
    err_msg_mode: str | None = None
    default_device: DefaultDeviceSection | None = None
    stack_size: StackSizeSection | None = None
    simt_printf_fifo_size: int | None = None
    simd_printf_fifo_size_per_core: int | None = None
    acl_graph: AclGraphSection | None = None

    def to_mapping(self) -> dict[str, Any]:
        """Return the JSON object, with the keys of the file and without what is unset."""
        return {_SPELLING.get(key, key): value for key, value in _set_values(self).items()}

    def to_bytes(self) -> bytes:
        """Return canonical JSON: equal configurations have equal bytes.

        Raises:
          ConfigError: a value is none that JSON can express (100000); every place is listed.
        """
        raw, drafts = self.canonical
        if not drafts:
            return raw

        findings = [worded(draft, Location("<config>")) for draft in drafts]
        detail = f"{len(findings)} of its values can't be said in JSON"
        raise ConfigError(AclCode.INVALID_PARAM, "AclConfig.to_bytes", detail, findings)

    @cached_property
    def canonical(self) -> Canonical:
        """The canonical JSON, made once, and what of the values it can't express."""
        return to_canonical(self.to_mapping())

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Return the typed form of a JSON object that the rules have accepted.

        Keys that are unknown, and sections that the reference ignores, are left out.
        """
        accepted = {}
        for key, name in _FIELD_OF.items():
            value = mapping.get(key)
            kind = _KIND_OF.get(name, object)
            if value is not None and isinstance(value, kind):
                accepted[name] = value

        made: Self = _converter().structure(accepted, cls)
        return made


_SPELLING = {"default_device": "defaultDevice", "stack_size": "StackSize"}
_FIELD_OF = {_SPELLING.get(a.name, a.name): a.name for a in attrs.fields(AclConfig)}
# What the reference passes over in silence if it is of another type.
_KIND_OF: dict[str, type] = {
    **dict.fromkeys(("dump", "profiler", "default_device", "stack_size", "acl_graph"), Mapping),
    "max_opqueue_num": str,
}


def _set_values(value: Any) -> Any:
    if attrs.has(type(value)):
        pairs = ((a.name, getattr(value, a.name)) for a in attrs.fields(type(value)))
        return {name: _set_values(inner) for name, inner in pairs if inner is not None}

    if isinstance(value, tuple):
        return [_set_values(inner) for inner in value]

    return dict(value) if isinstance(value, Mapping) else value


@cache
def _converter() -> Any:
    """The one converter; exact types, no coercion."""
    from cattrs import Converter  # noqa: PLC0415  # a fifth of the import, and rarely needed

    converter = Converter(detailed_validation=True)
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _exactly(kind))

    number = int | float
    converter.register_structure_hook(number, _exactly(int, float))
    converter.register_structure_hook(number | None, _exactly(int, float, type(None)))
    converter.register_structure_hook_func(lambda kind: kind is Any, lambda value, _: value)
    converter.register_structure_hook_factory(
        lambda kind: getattr(kind, "__origin__", None) is tuple,
        lambda kind: _list_of(kind, converter),
    )
    return converter


def _exactly(*kinds: type) -> Any:
    def check(value: Any, _: Any) -> Any:
        if type(value) not in kinds:
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"expected {expected}, not {value!r}")

        return value

    return check


def _list_of(kind: Any, converter: Any) -> Any:
    (element, _) = kind.__args__

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"expected a list, not {value!r}")

        return tuple(converter.structure(inner, element) for inner in value)

    return structure
