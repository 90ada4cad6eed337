"""What `aclasync check --fix` does to a file: show the difference, ask, and replace it whole."""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, final

import typer
from attrs import frozen
from rich.text import Text

from aclasync.config import FolderState, Resolution
from aclasync.config.findings import printable
from aclasync.config.fixes import fixed

from .output import CommandError

if TYPE_CHECKING:
    from rich.console import Console

    from .words import Speaker

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@final
@frozen
class Repair:
    """What would be done to one file."""

    name: str
    before: Resolution
    after: Resolution
    #: Folders that would be made.
    folders: tuple[str, ...] = ()

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.folders) or self.before.text.raw != self.after.text.raw


def planned(name: str, before: Resolution, *, is_fixing: bool, is_creating: bool) -> Repair:
    """Return what is to be done to a file that was judged."""
    after = fixed(before) if is_fixing else before
    folders: tuple[str, ...] = ()
    if is_creating:
        # Of the repaired text, whose dump_path may be another; nobody has looked for it yet.
        missing = (check.path for check in after.folder_checks)
        is_known = after is before
        folders = tuple(_missing_folders(before) if is_known else filter(_is_missing, missing))

    return Repair(name, before, after, folders)


def _missing_folders(resolution: Resolution) -> list[str]:
    """Return the folders that were looked for in vain."""
    return [
        str(draft.args["folder"])
        for draft, _ in resolution.located_drafts()
        if draft.code == FolderState.MISSING.value
    ]


def _is_missing(path: str) -> bool:
    return not os.path.lexists(path)


def show(out: Console, repair: Repair, say: Speaker) -> None:
    """Print the difference, and the folders that would be made."""
    before, after = (r.content for r in (repair.before, repair.after))
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), repair.name, repair.name, lineterm=""
    )
    for line in lines:
        is_heading = line.startswith(("---", "+++"))
        colour = "bold" if is_heading else _COLOURS.get(line[:1], "")
        out.print(Text(printable(line.expandtabs()), colour))

    for folder in repair.folders:
        out.print(Text(say("fix.folder", folder=os.path.abspath(folder)), "green"))  # noqa: PTH100


def is_wanted(out: Console, say: Speaker, *, is_yes: bool) -> bool:
    """Ask whether to go on; without a terminal to ask at, only --yes says so."""
    if is_yes:
        return True

    if sys.stdin.isatty():
        return typer.confirm(say("fix.ask"), err=True)

    out.print(say("fix.unasked"), style="yellow")
    return False


def apply(repair: Repair, say: Speaker) -> None:
    """Make the folders, and replace the file in one step, so that nobody reads half of it.

    Raises:
      CommandError: it has changed since it was read, or can't be written.
    """
    try:
        for folder in repair.folders:
            Path(folder).mkdir(parents=True, exist_ok=True)

        if repair.before.text.raw != repair.after.text.raw:
            _replace(Path(repair.name), repair.before.text.raw, repair.after.text.raw, say)
    except OSError as fault:
        raise CommandError(say("fix.failed", name=repair.name, reason=fault)) from fault


def _replace(path: Path, before: bytes, after: bytes, say: Speaker) -> None:
    target = path.resolve()  # a link stays one
    if target.read_bytes() != before:
        raise CommandError(say("fix.changed", name=path))

    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())

        Path(temporary).chmod(target.stat().st_mode & 0o7777)
        Path(temporary).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()

        raise
