"""What a dump is: its files, which tensors go into it, and what can be done with one.

    read_dump(path).outputs[0].array()
    compare_dumps("npu/20260101120000", "cpu/20260101120000").first_divergence

Names are loaded when they are first used: they need numpy and protobuf, of the extra `embedded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aclasync.lazy import loader

if TYPE_CHECKING:
    from .compare import Compared as Compared
    from .compare import Comparison as Comparison
    from .compare import compare_dumps as compare_dumps
    from .datatypes import DataType as DataType
    from .datatypes import Format as Format
    from .datatypes import InputType as InputType
    from .difference import Difference as Difference
    from .difference import Tolerance as Tolerance
    from .difference import difference as difference
    from .npy import Written as Written
    from .npy import to_plain as to_plain
    from .npy import write_npy as write_npy
    from .plot import plot_comparison as plot_comparison
    from .reader import DumpedTensor as DumpedTensor
    from .reader import DumpFile as DumpFile
    from .reader import Entry as Entry
    from .reader import find_dumps as find_dumps
    from .reader import read_dump as read_dump
    from .stats import Statistics as Statistics
    from .stats import statistics_of as statistics_of

_HOMES = {
    "compare": ("Compared", "Comparison", "compare_dumps"),
    "datatypes": ("DataType", "Format", "InputType"),
    "difference": ("Difference", "Tolerance", "difference"),
    "npy": ("Written", "to_plain", "write_npy"),
    "plot": ("plot_comparison",),
    "reader": ("DumpFile", "DumpedTensor", "Entry", "find_dumps", "read_dump"),
    "stats": ("Statistics", "statistics_of"),
}
__all__ = tuple(sorted(name for names in _HOMES.values() for name in names))  # names, all of them
_load = loader(__name__, _HOMES)


def __getattr__(name: str) -> object:
    return _load(name)


def __dir__() -> list[str]:
    return list(__all__)
