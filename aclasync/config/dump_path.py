"""Where dumps go: the remote form, or a local folder that somebody must look for."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple, final

from attrs import field, frozen

_REMOTE_FOLDER = re.compile(r"[A-Za-z0-9\-=\[\];\\,./!@#$%^&*()_+{}:?]+")
# What C's stoi takes of a text: blanks, a sign, and as many digits as there are.
_LEADING_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")


@final
class FolderState(Enum):
    """What somebody who looked found where a folder should be."""

    USABLE = ""
    MISSING = "E214"
    NOT_A_FOLDER = "E215"
    NO_PERMISSION = "E216"


@final
@frozen
class FolderCheck:
    """A folder that the configuration needs."""

    #: As written: relative ones start at the working directory.
    path: str
    json_path: str
    #: Where its error belongs among the others.
    position: int = field(default=0, repr=False)


@final
class DumpPath(NamedTuple):
    """What a dump_path says."""

    #: A folder on this machine that must exist; None for the remote form.
    local_folder: str | None
    #: The code of what is wrong with the text itself.
    fault: str = ""
    #: The code of what is odd about it.
    oddity: str = ""


def judge_dump_path(text: str) -> DumpPath:
    """Tell the remote form `ip:folder` from a local folder, as the reference does."""
    address, colon, folder = text.partition(":")
    if not colon or not _is_address(address):
        return DumpPath(text)

    # The reference complains of this one and then takes the whole for a local folder.
    if not folder:
        return DumpPath(text, oddity="W042")

    if not _REMOTE_FOLDER.fullmatch(folder):
        return DumpPath(None, fault="E218")

    return DumpPath(None, oddity="W025")


def _is_address(text: str) -> bool:
    pieces = text.split(".")
    if pieces and not pieces[-1]:
        pieces.pop()

    return len(pieces) == 4 and all(map(_is_byte, pieces))


def _is_byte(piece: str) -> bool:
    match = _LEADING_INTEGER.match(piece)
    if match is None:
        return False

    digits = match[1].lstrip("+-").lstrip("0")
    return len(digits) < 10 and 0 <= int(match[1]) <= 255
