"""`aclasync check`: judge configurations without opening anything."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, final

import anyio
import typer
from rich.text import Text

from aclasync import Product, Resolution, load_config, resolve_config
from aclasync.config import ConfigText

from .annotations import github_lines, sarif_log
from .fix import Repair, apply, is_wanted, planned, show
from .output import (
    Format,
    ProductOption,
    Severity,
    console,
    effective_json,
    errors_reported,
    finding_text,
    print_json,
    said_of,
)
from .words import LanguageOption, Speaker, speaker

if TYPE_CHECKING:
    from rich.console import Console


@final
class CheckFormat(StrEnum):
    """Who reads the verdicts."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


_STDIN = "-"


def check(
    *,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="acl.json files; - reads standard input."),
    ],
    product: ProductOption = None,
    is_strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
    is_verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Also show each effective value and its origin."),
    ] = False,
    is_fixing: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Repair what is plainly meant: comments, commas, quotes, case, spelling, numbers"
            " for strings. Shows the difference and asks first.",
        ),
    ] = False,
    is_creating: Annotated[
        bool, typer.Option("--create-dirs", help="Make the folder of dump_path if it is missing.")
    ] = False,
    is_yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Write repairs without asking.")
    ] = False,
    chosen: LanguageOption = None,
    form: Annotated[
        CheckFormat,
        typer.Option(
            "--format",
            help="Text for people, one JSON object, SARIF for code scanning, or the annotations of"
            " GitHub's workflows.",
        ),
    ] = CheckFormat.TEXT,
) -> None:
    """Say everything that is wrong with an acl.json.

    Exit code 0: no error; 1: an error, or with --strict a warning; 2: wrong usage.
    """
    if files.count(_STDIN) > 1:
        raise typer.BadParameter("standard input can be read only once")

    if is_fixing and _STDIN in files:
        raise typer.BadParameter("standard input can't be repaired; give the file's path")

    say = speaker(chosen)
    judged_for = product or Product.ATLAS_A2
    is_text = form is CheckFormat.TEXT
    with errors_reported(Format.JSON if form is CheckFormat.JSON else Format.TEXT, say):
        verdicts = [(n, _resolve(n, judged_for).in_language(say.language)) for n in files]
        if is_fixing or is_creating:
            out = console(is_error=not is_text)
            repairs = [
                planned(name, resolution, is_fixing=is_fixing, is_creating=is_creating)
                for name, resolution in verdicts
            ]
            if _carry_out(repairs, out, say, is_yes=is_yes):
                verdicts = [(n, _resolve(n, judged_for).in_language(say.language)) for n in files]

    shown = [(_shown_name(name), resolution) for name, resolution in verdicts]
    match form:
        case CheckFormat.JSON:
            print_json(_as_json(verdicts, judged_for, is_strict=is_strict))
        case CheckFormat.SARIF:
            print_json(sarif_log(shown, say.language))
        case CheckFormat.GITHUB:
            for line in github_lines(shown):
                typer.echo(line)
        case CheckFormat.TEXT:
            for name, resolution in verdicts:
                _print_verdict(name, resolution, say, is_verbose=is_verbose)

    if not all(_is_accepted(resolution, is_strict=is_strict) for _, resolution in verdicts):
        raise typer.Exit(1)


def _carry_out(repairs: list[Repair], out: Console, say: Speaker, *, is_yes: bool) -> bool:
    """Show all that would be done, and do it if somebody wants it; return whether it was done."""
    needed = [repair for repair in repairs if repair.is_needed]
    for repair in needed:
        show(out, repair, say)

    if not needed:
        out.print(say("fix.nothing"))
        return False

    if not is_wanted(out, say, is_yes=is_yes):
        return False

    for repair in needed:
        apply(repair, say)

    return True


def _resolve(name: str, product: Product) -> Resolution:
    source: str | Resolution = name
    if name == _STDIN:
        # Before the event loop starts: inside it, Ctrl-C could not end the wait.
        text = ConfigText("<stdin>", sys.stdin.buffer.read(), is_given=True, is_file=True)
        source = resolve_config(text, env={}, product=product)

    async def load() -> Resolution:
        return await load_config(source, product=product)

    return anyio.run(load)


def _shown_name(name: str) -> str:
    return "<stdin>" if name == _STDIN else name


def _count(resolution: Resolution, severity: Severity) -> int:
    return sum(finding.severity is severity for finding in resolution.findings)


def _is_accepted(resolution: Resolution, *, is_strict: bool) -> bool:
    return resolution.is_valid and not (is_strict and _count(resolution, Severity.WARNING))


def _print_verdict(name: str, resolution: Resolution, say: Speaker, *, is_verbose: bool) -> None:
    out = console()
    for finding in resolution.findings:
        if is_verbose or finding.severity is not Severity.INFO:
            out.print(finding_text(finding, say))

    errors, warnings = (
        _count(resolution, severity) for severity in (Severity.ERROR, Severity.WARNING)
    )
    said = {"errors": errors, "warnings": warnings}
    counts = say("check.counts", **{noun: say.counted(noun, n) for noun, n in said.items()})
    colour = "red" if errors else "yellow" if warnings else "green"
    summary = Text(say("check.summary", counts=counts, product=resolution.product.name))
    summary.highlight_words([counts], colour)
    out.print(Text.assemble(f"{_shown_name(name)}: ", summary))


def _as_json(
    verdicts: list[tuple[str, Resolution]], product: Product, *, is_strict: bool
) -> dict[str, Any]:
    return {
        "product": product.name,
        "strict": is_strict,
        "accepted": all(_is_accepted(r, is_strict=is_strict) for _, r in verdicts),
        "files": [
            {
                "file": _shown_name(name),
                "accepted": _is_accepted(resolution, is_strict=is_strict),
                "acl_code": int(resolution.code),
                "acl_name": resolution.code.name,
                "errors": _count(resolution, Severity.ERROR),
                "warnings": _count(resolution, Severity.WARNING),
                "findings": said_of(resolution),
                "effective": effective_json(resolution),
            }
            for name, resolution in verdicts
        ],
    }
