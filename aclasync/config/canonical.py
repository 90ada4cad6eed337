"""One text for equal values: mappings become JSON with sorted keys and nothing between them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, final

from aclasync.codes import AclCode

from .catalog import Phrase
from .findings import Draft, Path
from .steps import ConfigStep

#: Objects, and independently arrays, within each other.
MAX_DEPTH = 10


@final
class Canonical(NamedTuple):
    """A mapping as JSON, and drafts for what of it JSON can't express and was left out."""

    raw: bytes
    drafts: tuple[Draft, ...] = ()


def to_canonical(mapping: Mapping[Any, Any]) -> Canonical:
    """Return a mapping as JSON; never raises for what it holds."""
    reader = _Reader()
    plain = reader.plain(mapping, ())
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return Canonical(text.encode(), tuple(reader.drafts))


class _Reader:
    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        #: Containers around the present one, by identity and by kind.
        self.around: set[int] = set()
        self.depth = {"objects": 0, "arrays": 0}

    def refuse(self, code: str, path: Path, **args: Any) -> None:
        draft = Draft(code, path, args, ConfigStep.READ, AclCode.INVALID_PARAM)
        self.drafts.append(draft)

    def plain(self, value: Any, path: Path) -> Any:
        """Return a value in JSON's own types; None for what has none."""
        if value is None or isinstance(value, bool):
            return value

        if isinstance(value, str):
            return self.text(value, path)

        if isinstance(value, (int, float)):
            return self.number(value, path)

        if isinstance(value, Mapping):
            return self.container("objects", value, path)

        if isinstance(value, (list, tuple)):
            return self.container("arrays", value, path)

        self.refuse("E150", path, kind=type(value).__name__)
        return None

    def text(self, value: str, path: Path) -> str | None:
        if is_encodable(value):
            return str.__str__(value)  # an enum that is a str says its name elsewhere

        self.refuse("E154", path)
        return None

    def number(self, value: Any, path: Path) -> int | float | None:
        try:
            made = float(value)
        except OverflowError:
            self.refuse("E151", path, text=Phrase("an integer beyond what a double holds"))
            return None

        if not math.isfinite(made):
            self.refuse("E151", path, text=str(made))
            return None

        return int(value) if isinstance(value, int) else made

    def container(self, kind: str, value: Any, path: Path) -> Any:
        if id(value) in self.around:
            self.refuse("E155", path)
            return None

        if self.depth[kind] == MAX_DEPTH:
            self.refuse("E153", path)
            return None

        self.around.add(id(value))
        self.depth[kind] += 1
        made = self.members(value, path) if kind == "objects" else self.elements(value, path)
        self.depth[kind] -= 1
        self.around.remove(id(value))
        return made

    def members(self, mapping: Mapping[Any, Any], path: Path) -> dict[str, Any]:
        made = {}
        for key, inner in mapping.items():
            if not isinstance(key, str):
                self.refuse("E152", path, kind=type(key).__name__)
            elif not is_encodable(key):
                self.refuse("E154", path)
            else:
                name = str.__str__(key)
                made[name] = self.plain(inner, (*path, name))

        return made

    def elements(self, values: list[Any] | tuple[Any, ...], path: Path) -> list[Any]:
        return [self.plain(inner, (*path, index)) for index, inner in enumerate(values)]


def is_encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8: it holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False

    return True
