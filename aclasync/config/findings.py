"""What is said about a configuration: one line a finding, with its place and what to do.

Findings are made in two steps. The rules leave drafts, which cost little; the words, and the line
and column, are put to a draft when somebody reads it.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, TypeAlias, final

from attrs import frozen

from aclasync.codes import AclCode

from .catalog import ENGLISH, Phrase, Words
from .language import Language
from .spelling import nearest
from .steps import ConfigStep

#: Keys and indices from the root to a value.
Path: TypeAlias = "tuple[str | int, ...]"


@final
class Severity(Enum):
    """What a finding means for the program."""

    #: The reference would refuse the configuration.
    ERROR = "error"
    #: It is accepted but does nothing, or not what it seems.
    WARNING = "warning"
    #: An effective value and where it came from.
    INFO = "info"


@final
@frozen
class Location:
    """A place in a text, counted from 1; line 0 means that there is no text to point into."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@final
@frozen
class Finding:
    """One thing that was found."""

    severity: Severity
    #: Stable and for programs; `E` error, `W` warning, `I` info, and a number.
    code: str
    #: JSON path, such as `$.dump.dump_list[0].layer`, or the name of an environment variable.
    path: str
    where: Location
    message: str
    #: What to do about it; empty if there is nothing to do.
    hint: str
    #: What the reference's init would return for this alone.
    acl_code: AclCode

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where.line else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}{self.path}: {self.message}{hint} [{self.code}]"


@final
class Draft(NamedTuple):
    """A finding before its words."""

    code: str
    path: Path
    args: dict[str, Any]
    #: Where the reference would stop; None for what is no error.
    step: ConfigStep | None = None
    acl_code: AclCode = AclCode.SUCCESS
    #: Offset in the text, for what has no path of its own.
    offset: int | None = None
    #: The environment variable that it is about, instead of a path.
    variable: str = ""


def json_path(path: Path) -> str:
    """Return `$.dump.dump_list[0]` for `("dump", "dump_list", 0)`."""
    parts = ["$"]
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif part.isidentifier():
            parts.append(f".{part}")
        else:
            parts.append(f"[{part!r}]")

    return "".join(parts)


# Arguments that are English words where they are no value of the user's, which are in quotes.
_SLOTS_OF_WORDS = frozenset({"expected", "got", "kind", "detail", "better"})

_SEVERITIES = {"E": Severity.ERROR, "W": Severity.WARNING, "I": Severity.INFO}


def severity_of(code: str) -> Severity:
    """Return the severity that a code's letter stands for."""
    return _SEVERITIES[code[0]]


def worded(draft: Draft, where: Location, language: Language = Language.ENGLISH) -> Finding:
    """Put the words to a draft."""
    args = draft.args
    if "known" in args:
        args = {**args, "better": nearest(args["key"], args["known"])}

    words = ENGLISH[draft.code]
    if language is not Language.ENGLISH:
        words, args = _translated(draft.code, args)

    return Finding(
        severity_of(draft.code),
        draft.code,
        printable(draft.variable or json_path(draft.path)),
        where,
        printable(words.message.format(**args)),
        printable(words.hint.format(**args)),
        draft.acl_code,
    )


def _translated(code: str, args: dict[str, Any]) -> tuple[Words, dict[str, Any]]:
    from .catalog_zh import CHINESE, PHRASES  # noqa: PLC0415  # most processes never speak it

    def said(value: Any) -> Any:
        if not isinstance(value, Phrase):
            return value

        return PHRASES[value.template].format(**{k: said(v) for k, v in value.args.items()})

    def said_in(slot: str, value: Any) -> Any:
        is_words = slot in _SLOTS_OF_WORDS and isinstance(value, str)
        return PHRASES.get(value, value) if is_words else said(value)

    return CHINESE[code], {slot: said_in(slot, value) for slot, value in args.items()}


# A terminal would obey them.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}


def printable(text: str) -> str:
    """Escape control characters, and what stands for bytes that are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode().translate(_CONTROLS)
