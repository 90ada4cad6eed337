"""A recovering reader: every value with its place, every fault of the syntax in one pass.

Slow, and only asked when there is something to say. It accepts what people write instead of JSON
(comments, single quotes, trailing and missing commas...), says so, and goes on, so that the rules
can be checked on what was meant.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any, NamedTuple, final

from attrs import define, field

from .findings import Location, Path
from .text import lone_surrogates, to_double, to_integer

#: More faults than that say nothing more.
MAX_FAULTS = 50

# The text may nest deeper than allowed; that is said elsewhere, and here it only has to end.
_MAX_NESTING = 40

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[^\s,:{}\[\]\"'/#]+|/")
_SPACE = re.compile(r"[ \t\n\r]+")
_COMMENT = re.compile(r"//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_LITERALS = {"true": True, "false": False, "null": None}
_MEANT = {
    "True": ("true", True),
    "TRUE": ("true", True),
    "False": ("false", False),
    "FALSE": ("false", False),
    "None": ("null", None),
    "NULL": ("null", None),
    "nil": ("null", None),
    "undefined": ("null", None),
    "NaN": ("a number", None),
    "Infinity": ("a number", None),
    "-Infinity": ("a number", None),
}
_CLOSERS = {"{": "}", "[": "]"}


@final
class SyntaxFault(NamedTuple):
    """One place where the text is no JSON."""

    code: str
    offset: int
    args: dict[str, Any]


@final
@define
class Located:
    """What the reader made of a text."""

    text: str
    value: Any = None
    faults: list[SyntaxFault] = field(factory=list)
    #: Offsets of values.
    places: dict[Path, int] = field(factory=dict)
    #: Offsets of the keys of the members.
    keys: dict[Path, int] = field(factory=dict)
    #: Path of a key that stands twice, offset of the later and of the earlier one.
    duplicates: list[tuple[Path, int, int]] = field(factory=list)
    _line_starts: list[int] = field(factory=list)

    def location(self, file: str, offset: int) -> Location:
        """Return line and column of an offset, in characters from 1."""
        if not self._line_starts:
            # A byte order mark is no column.
            start = 1 if self.text.startswith("\ufeff") else 0
            self._line_starts = [start, *(m.end() for m in re.finditer("\n", self.text))]

        offset = max(offset, self._line_starts[0])
        line = bisect_right(self._line_starts, offset)
        return Location(file, line, offset - self._line_starts[line - 1] + 1)

    def place(self, path: Path) -> int:
        """Return the offset of a path, or of the nearest one above it that exists."""
        while path not in self.places and path:
            path = path[:-1]

        return self.places.get(path, 0)


def locate(content: bytes) -> Located:
    """Read a text with every fault reported; never raises."""
    text = content.decode("utf-8", "surrogateescape")
    reader = _Reader(text)
    reader.read_all()
    reader.found.faults.sort(key=lambda fault: fault.offset)
    return reader.found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found = Located(text)

    def read_all(self) -> None:
        text = self.text
        if text.startswith(("\udcff\udcfe", "\udcfe\udcff")):
            self.fault("E113", 0)
            return

        for match in re.finditer("[\udc80-\udcff]+", text):
            self.fault("E112", match.start())

        self.at = 1 if text.startswith("\ufeff") else 0
        self.skip()
        if self.at >= len(text):
            self.fault("E114", 0)
            return

        self.found.value = self.value(())
        self.skip()
        if self.at < len(text):
            rest = text[self.at : self.at + 20]
            if rest[0] in "}]":
                self.fault("E134", self.at, text=rest[0], better="{" if rest[0] == "}" else "[")
            else:
                self.fault("E135", self.at, text=rest.strip())

    def fault(self, code: str, offset: int, **args: Any) -> None:
        if len(self.found.faults) < MAX_FAULTS:
            self.found.faults.append(SyntaxFault(code, offset, args))

    def skip(self) -> None:
        """Pass white space, and what people take for it."""
        while self.at < len(self.text):
            if match := _SPACE.match(self.text, self.at):
                self.at = match.end()
            elif match := _COMMENT.match(self.text, self.at):
                self.fault("E120", self.at, text=match[0][:30])
                self.at = match.end()
            elif self.text[self.at].isspace() or self.text[self.at] == "\ufeff":
                self.fault("E136", self.at, text=self.text[self.at])
                self.at += 1
            else:
                return

    def peek(self) -> str:
        self.skip()
        return self.text[self.at : self.at + 1]

    # Values

    def value(self, path: Path) -> Any:
        char = self.peek()
        start = self.at
        self.found.places.setdefault(path, start)
        if not char or char in ",}]":
            self.fault("E139", start)
            return None

        if char in _CLOSERS and len(path) >= _MAX_NESTING:
            self.at = len(self.text)
            return None

        if char == "{":
            return self.object(path)

        if char == "[":
            return self.array(path)

        if char in "\"'":
            return self.string()

        return self.word()

    def object(self, path: Path) -> dict[str, Any]:
        start = self.at
        self.at += 1
        made: dict[str, Any] = {}
        keys: dict[str, int] = {}
        while self.goes_on("{", start, is_first=not made and not keys):
            key_at = self.at
            key = self.key()
            if key is None:
                continue

            inner = (*path, key)
            if key in keys:
                self.found.duplicates.append((inner, key_at, keys[key]))
                self.forget(inner)

            keys[key] = self.found.keys[inner] = key_at
            if self.peek() == ":":
                self.at += 1
            else:
                self.fault("E123", self.at)

            made[key] = self.value(inner)

        return made

    def array(self, path: Path) -> list[Any]:
        start = self.at
        self.at += 1
        made: list[Any] = []
        while self.goes_on("[", start, is_first=not made):
            made.append(self.value((*path, len(made))))

        return made

    def goes_on(self, opener: str, start: int, *, is_first: bool) -> bool:
        """Pass the comma before the next member; return False once the container is closed."""
        closer = _CLOSERS[opener]
        char = self.peek()
        commas = 0
        while char == ",":
            commas += 1
            if is_first or commas > 1:
                self.fault("E121", self.at, text=",")

            self.at += 1
            char = self.peek()

        if not char:
            self.fault("E133", start, text=opener, better=closer)
            return False

        if char in "}]":
            if commas and not is_first:
                self.fault("E121", self.at, text=char)

            if char == closer:
                self.at += 1
            else:
                self.fault("E133", start, text=opener, better=closer)

            return False

        if not commas and not is_first:
            self.fault("E122", self.at, text=self.text[self.at : self.at + 20].split("\n")[0])

        return True

    def forget(self, path: Path) -> None:
        """Drop the places of an earlier value, which does not count."""
        size = len(path)
        for known in [p for p in self.found.places if p[:size] == path]:
            del self.found.places[known]

    # Words

    def key(self) -> str | None:
        char = self.text[self.at]
        if char in "\"'":
            return self.string()

        match = _WORD.match(self.text, self.at)
        if match is None:
            self.fault("E137", self.at, text=char, better="a key in quotes")
            self.at += 1
            return None

        self.fault("E125", self.at, text=match[0])
        self.at = match.end()
        return match[0]

    def word(self) -> Any:
        start = self.at
        match = _WORD.match(self.text, start)
        if match is None:
            self.fault("E137", start, text=self.text[start], better="a value")
            self.at += 1
            return None

        word = match[0]
        self.at = match.end()
        if word in _LITERALS:
            return _LITERALS[word]

        if number := _NUMBER.fullmatch(word):
            is_integer = number[1] is None and number[2] is None
            try:
                return (to_integer if is_integer else to_double)(word)
            except ValueError:
                self.fault("E128", start, text=word[:30])
                return None

        if word in _MEANT:
            better, value = _MEANT[word]
            self.fault("E126", start, text=word, better=better)
            return value

        if word[0] in "+-.0123456789":
            self.fault("E127", start, text=word[:30])
            return None

        self.fault("E126", start, text=word[:30], better=f'"{word[:30]}"')
        return word

    def string(self) -> str:
        start = self.at
        if self.text[start] == '"' and (match := _STRING.match(self.text, start)):
            self.at = match.end()
            return self.decoded(match[0], start)

        return self.broken_string(self.text[start])

    def decoded(self, token: str, start: int) -> str:
        value: str = json.loads(token)
        for match in lone_surrogates(token):
            self.fault("E132", start + match.start(), text=match[0])

        return value

    def broken_string(self, quote: str) -> str:
        start = self.at
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == quote:
                self.at += 1
                break

            if char == "\n":
                self.fault("E129", start)
                return "".join(parts)

            if char == "\\":
                parts.append(self.escape())
                continue

            if char < " ":
                self.fault("E130", self.at, better=json.dumps(char).strip('"'))

            parts.append(char)
            self.at += 1
        else:
            self.fault("E129", start)

        value = "".join(parts)
        if quote == "'":
            self.fault("E124", start, text=value[:30])

        return value

    def escape(self) -> str:
        match = _ESCAPE.match(self.text, self.at)
        if match:
            self.at = match.end()
            decoded: str = json.loads(f'"{match[0]}"')
            return decoded

        escape = self.text[self.at : self.at + 2]
        self.fault("E131", self.at, text=escape)
        self.at += len(escape)
        return escape[1:]
