"""Bytes to a tree: the dialect, the nesting limit, and whether there is anything to complain of.

The verdict comes from the standard library's accelerated parser, kept to the reference's dialect.
Lines, columns, duplicate keys and words for what is wrong are the business of `located`, which
reads the text again, slowly, when somebody wants to know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import JSONDecodeError
from typing import Any, NoReturn, final

from attrs import frozen

MAX_DEPTH = 10

_BRACKETS = re.compile(rb"[{}\[\]]")
# Group 1 is half of a pair without its other half.
_SURROGATES = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F])|\\.", re.DOTALL)


@final
@frozen
class Nesting:
    """More nesting than is allowed."""

    #: What is nested: objects or arrays.
    kind: str
    #: How deep it gets.
    depth: int
    #: Offset of the first bracket too many, in bytes.
    at: int


@final
@frozen
class Parsed:
    """What the verdict found. `value` is None for a text that is no JSON."""

    #: The text that counts: up to the first NUL byte, without a byte order mark.
    content: bytes
    value: Any = None
    is_valid: bool = True
    #: Whether some object has a key twice, so that `located` must be asked.
    has_duplicates: bool = False
    #: Where it nests too deep, if it does.
    nesting: Nesting | None = None
    #: There are bytes behind a NUL byte.
    is_cut: bool = False
    #: The NUL byte comes first, so that only one of the reference's parsers sees the text.
    begins_with_nul: bool = False


class _RefusedTokenError(ValueError):
    """A token that the standard library takes and the reference does not."""


def parse(raw: bytes) -> Parsed:
    """Judge a text as the reference would; never raises."""
    content, nul, _ = raw.partition(b"\0")
    is_cut = bool(nul)
    if is_cut and not content:
        return Parsed(b"", is_cut=True, begins_with_nul=True)

    if not content:
        return Parsed(b"")

    nesting = _nesting(content)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return Parsed(content, is_valid=False, is_cut=is_cut, nesting=nesting)

    value, is_valid, has_duplicates = None, nesting is None, False
    if is_valid:
        value, is_valid, has_duplicates = _decode(text.removeprefix("\ufeff"))

    return Parsed(content, value, is_valid, has_duplicates, nesting, is_cut)


def _decode(text: str) -> tuple[Any, bool, bool]:
    has_duplicates = False

    def to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_duplicates
        made = dict(pairs)
        if len(made) != len(pairs):
            has_duplicates = True

        return made

    decoder = json.JSONDecoder(
        object_pairs_hook=to_dict,
        parse_int=to_integer,
        parse_float=to_double,
        parse_constant=_refuse_constant,
    )
    try:
        value = decoder.decode(text)
    except (JSONDecodeError, _RefusedTokenError):
        return None, False, False

    # Asked of the text, not of the value: a key that stands twice hides the earlier one.
    if "\\u" in text and any(lone_surrogates(text)):
        return None, False, False

    return value, True, has_duplicates


def lone_surrogates(text: str) -> Iterator[re.Match[str]]:
    """Find the escapes that are half of a surrogate pair without its other half."""
    return (match for match in _SURROGATES.finditer(text) if match[1])


def to_integer(digits: str) -> int | float:
    """Return the integer, or the double that the reference makes of one beyond 64 bits."""
    if len(digits) < 19:
        return int(digits)

    # A number of more digits than any double has is out of range whatever they are.
    if len(digits) > 400:
        return to_double(digits)

    number = int(digits)
    return number if -(2**63) <= number < 2**64 else to_double(digits)


def to_double(digits: str) -> float:
    """Return the double.

    Raises:
      ValueError: it would be infinite.
    """
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise _RefusedTokenError(digits)

    return number


def _refuse_constant(name: str) -> NoReturn:
    raise _RefusedTokenError(name)


def _nesting(content: bytes) -> Nesting | None:
    """Return where brackets nest deeper than allowed, if they do.

    A scan over raw bytes, as the reference's: brackets inside strings count, a closer never takes
    its own counter below 0, and braces and brackets are counted apart.
    """
    if content.count(b"{") <= MAX_DEPTH and content.count(b"[") <= MAX_DEPTH:
        return None

    open_now = {b"{": 0, b"[": 0}
    deepest = {b"{": 0, b"[": 0}
    first: dict[bytes, int] = {}
    for match in _BRACKETS.finditer(content):
        bracket = match[0]
        if bracket in open_now:
            open_now[bracket] += 1
            deepest[bracket] = max(deepest[bracket], open_now[bracket])
            if open_now[bracket] > MAX_DEPTH:
                first.setdefault(bracket, match.start())
        else:
            opener = b"{" if bracket == b"}" else b"["
            open_now[opener] = max(0, open_now[opener] - 1)

    if not first:
        return None

    opener = min(first, key=first.__getitem__)
    kind = "objects" if opener == b"{" else "arrays"
    return Nesting(kind, deepest[opener], first[opener])
