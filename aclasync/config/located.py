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
from .text import to_double, to_integer

#: More faults than that say nothing more.
MAX_FAULTS = 50

# Objects and arrays together; the scan for the nesting limit can be led astray by brackets inside
# strings, and Python's stack has an end.
_MAX_NESTING = 40

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
WORD = re.compile(r"[^\s,:{}\[\]\"'/#]+|/")
_SPACE = re.compile(r"[ \t\n\r]+")
COMMENT = re.compile(r"//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
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
class Place:
    """Where a value stands, and where what is in it does."""

    offset: int
    #: Where the key before it does.
    key_at: int = 0
    members: dict[str | int, Place] = field(factory=dict)


@final
@define
class Located:
    """What the reader made of a text."""

    text: str
    value: Any = None
    faults: list[SyntaxFault] = field(factory=list)
    root: Place = field(factory=lambda: Place(0))
    #: Path of a key that stands twice, offset of the later and of the earlier one.
    duplicates: list[tuple[Path, int, int]] = field(factory=list)
    #: The reader gave up: the rest of the text is not in the value.
    is_cut_short: bool = False
    _line_starts: list[int] = field(factory=list)

    def location(self, file: str, offset: int) -> Location:
        """Return line and column of an offset, in characters from 1."""
        if not self._line_starts:
            self._line_starts = [0, *(m.end() for m in re.finditer("\n", self.text))]

        line = bisect_right(self._line_starts, offset)
        return Location(file, line, offset - self._line_starts[line - 1] + 1)

    def place(self, path: Path, *, is_key: bool = False) -> int:
        """Return the offset of a path, or of the nearest one above it that exists.

        With `is_key`, that of the key before it, if there is one.
        """
        found = self.root
        for part in path:
            if part not in found.members:
                return found.offset

            found = found.members[part]

        return found.key_at if is_key and path and isinstance(path[-1], str) else found.offset


def locate(content: bytes) -> Located:
    """Read a text with every fault reported; never raises."""
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
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

        self.skip()
        if self.at >= len(text):
            self.fault("E114", 0)
            return

        self.found.root.offset = self.at
        self.found.value = self.value((), self.found.root)
        self.skip()
        if self.at < len(text):
            rest = text[self.at : self.at + 20]
            if rest[0] in "}]":
                self.fault("E134", self.at, text=rest[0], better="{" if rest[0] == "}" else "[")
            else:
                self.fault("E135", self.at, text=rest.strip())

    def fault(self, code: str, offset: int, **args: Any) -> None:
        if len(self.found.faults) < MAX_FAULTS and not self.found.is_cut_short:
            self.found.faults.append(SyntaxFault(code, offset, args))

    def skip(self) -> None:
        """Pass white space, and what people take for it."""
        while self.at < len(self.text):
            if match := _SPACE.match(self.text, self.at):
                self.at = match.end()
            elif match := COMMENT.match(self.text, self.at):
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

    def value(self, path: Path, place: Place) -> Any:
        char = self.peek()
        if not char or char in ",}]":
            self.fault("E139", self.at)
            return None

        place.offset = self.at
        if char in _CLOSERS and len(path) >= _MAX_NESTING:
            self.fault("E140", self.at)
            self.found.is_cut_short = True
            self.at = len(self.text)
            return None

        if char == "{":
            return self.object(path, place)

        if char == "[":
            return self.array(path, place)

        if char in "\"'":
            return self.string()

        return self.word()

    def object(self, path: Path, place: Place) -> dict[str, Any]:
        start = self.at
        self.at += 1
        made: dict[str, Any] = {}
        is_first = True
        while self.goes_on("{", start, is_first=is_first):
            is_first = False
            key_at = self.at
            key = self.key()
            if key is None:
                continue

            inner = (*path, key)
            member = Place(key_at, key_at)
            if key in made:
                self.found.duplicates.append((inner, key_at, place.members[key].key_at))

            place.members[key] = member
            if self.peek() == ":":
                self.at += 1
            else:
                self.fault("E123", self.at)

            made[key] = self.value(inner, member)

        return made

    def array(self, path: Path, place: Place) -> list[Any]:
        start = self.at
        self.at += 1
        made: list[Any] = []
        while self.goes_on("[", start, is_first=not made):
            index = len(made)
            member = place.members[index] = Place(self.at)
            made.append(self.value((*path, index), member))

        return made

    def goes_on(self, opener: str, start: int, *, is_first: bool) -> bool:
        """Pass the comma before the next member; return False once the container is closed."""
        closer = _CLOSERS[opener]
        char = self.peek()
        commas: list[int] = []
        while char == ",":
            commas.append(self.at)
            self.at += 1
            char = self.peek()

        is_at_end = not char or char in "}]"
        # An unclosed container may go on after its comma.
        is_needed = not is_first and char not in ("}", "]")
        for at in commas[is_needed:]:
            self.fault("E121", at)

        if is_at_end:
            if char == closer:
                self.at += 1
            else:
                self.fault("E133", start, text=opener, better=closer)

            return False

        if not commas and not is_first:
            self.fault("E122", self.at, text=self.text[self.at : self.at + 20].split("\n")[0])

        return True

    # Words

    def key(self) -> str | None:
        char = self.text[self.at]
        if char in "\"'":
            return self.string()

        match = WORD.match(self.text, self.at)
        if match is None:
            self.fault("E137", self.at, text=char, better="a key in quotes")
            self.at += 1
            return None

        self.fault("E125", self.at, text=match[0])
        self.at = match.end()
        return match[0]

    def word(self) -> Any:
        start = self.at
        match = WORD.match(self.text, start)
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
        if re.search("[\ud800-\udfff]", value) and "\\u" in token:
            # Bytes that are no UTF-8 are said already; what an escape makes is not.
            escapes = re.sub("[\udc80-\udcff]", "", value)
            if re.search("[\ud800-\udfff]", escapes) or "\\udc" in token.lower():
                self.fault("E132", start)

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
