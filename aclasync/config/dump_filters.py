"""Filters of a dump that can match nothing: accepted by the reference, and no use to anybody."""

from __future__ import annotations

import re
from typing import Any

from .check import Drafts
from .findings import Path

_TENSOR = re.compile(r"(?:input|output)[0-9]+")


def warn_of_filters(item: dict[str, Any], path: Path, drafts: Drafts) -> None:
    """Note the names and tensors in an entry of dump_list that no operator has."""

    def warn(better: str, *below: str | int) -> None:
        drafts.warn("W023", (*path, *below), better=better)

    for name in ("layer", "watcher_nodes"):
        if "" in item.get(name, ()):
            warn("name an operator, or remove it", name, item[name].index(""))

    for name in ("optype_blacklist", "opname_blacklist"):
        for position, entry in enumerate(item.get(name, ())):
            if entry.get("name", "") == "":
                warn("say a name, or remove the entry", name, position)

            tensors = entry.get("pos", ())
            for which, tensor in enumerate(tensors if isinstance(tensors, list) else ()):
                if isinstance(tensor, str) and not _TENSOR.fullmatch(tensor):
                    warn("write tensors like input0 and output1", name, position, "pos", which)

    if layers := item.get("layer"):
        entries = item.get("opname_blacklist", ())
        left_out = [entry.get("name") for entry in entries if not entry.get("pos")]
        if all(layer in left_out for layer in layers):
            warn("opname_blacklist leaves out every operator named here", "layer")
