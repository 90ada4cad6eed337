"""How every command speaks: text for people, or one JSON object; errors as a short block."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, final

import attrs
import typer
from rich.console import Console
from rich.text import Text

from aclasync import (
    AclCode,
    AclError,
    BackendUnavailableError,
    ConfigError,
    Finding,
    Product,
    Resolution,
)
from aclasync import Severity as Severity
from aclasync.config.language import Language

from .words import Speaker

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGLISH_SPEAKER = Speaker(Language.ENGLISH)

_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}


class CommandError(Exception):
    """What a command can't do and ACL has no number for; the message says which and why."""


@final
class Format(StrEnum):
    """Who reads the output."""

    TEXT = "text"
    JSON = "json"


FormatOption: TypeAlias = Annotated[
    Format, typer.Option("--format", help="Text for people, or one JSON object on stdout.")
]
TracebackOption: TypeAlias = Annotated[
    bool, typer.Option("--traceback", help="Show where in the code an error was raised.")
]


def parse_product(text: str) -> Product:
    """Return the product with that tag, name or SoC name, whatever the case of its letters."""
    for product in Product:
        if text.casefold() in (product.value.casefold(), product.name.casefold()):
            return product

    try:
        return Product.from_soc_name(text)
    except ValueError:
        known = ", ".join(product.value for product in Product)
        raise typer.BadParameter(
            f"{text!r} is none of {known}, nor the name of a SoC such as Ascend910B1"
        ) from None


ProductOption: TypeAlias = Annotated[
    Product | None,
    typer.Option(
        parser=parse_product,
        metavar="PRODUCT",
        help="The product to judge for: its tag (A2), its name (ATLAS_A2) or its SoC's"
        " (Ascend910B1).",
    ),
]


def console(*, is_error: bool = False) -> Console:
    """Return where text goes: coloured on a terminal, plain elsewhere and with NO_COLOR."""
    return Console(stderr=is_error, highlight=False, soft_wrap=True)


def print_json(value: Mapping[str, Any]) -> None:
    """Write the one JSON object of a command."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def number_of(code: int) -> str:
    """Return an ACL number with its name, as people search for both."""
    known = AclCode(code)
    return f"{known.value} {known.name}"


def finding_text(finding: Finding, say: Speaker = ENGLISH_SPEAKER) -> Text:
    """Return the lines of a finding: where and what, then its numbers and what to do."""
    text = Text.assemble((str(finding.where), "bold"), f": {finding.path}: {finding.message}")
    label = f"{say('severity.' + finding.severity.value)} {finding.code}"
    if finding.severity is Severity.INFO:
        return text.append(f" [{label}]", "dim")

    text.append("\n    ").append(label, _COLOURS[finding.severity])
    if finding.acl_code is not AclCode.SUCCESS:
        text.append(say("finding.number", number=number_of(finding.acl_code)))

    return text.append(say("finding.hint", hint=finding.hint)) if finding.hint else text


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON; line and column are null where there is no text to point into."""
    return {
        "severity": finding.severity.value,
        "code": finding.code,
        "path": finding.path,
        "file": finding.where.file,
        "line": finding.where.line or None,
        "column": finding.where.column or None,
        "message": finding.message,
        "hint": finding.hint,
        "acl_code": int(finding.acl_code),
        "acl_name": finding.acl_code.name,
    }


def said_of(resolution: Resolution) -> list[dict[str, Any]]:
    """Return as JSON what was found, apart from the values in force."""
    return [finding_json(f) for f in resolution.findings if f.code != "I001"]


def effective_json(resolution: Resolution) -> dict[str, Any]:
    """Return every value in force with its origin, and the key that it is from, as JSON."""
    return {
        name: {
            "value": plain(sourced.value),
            "origin": sourced.origin.value,
            "from": sourced.name or None,
        }
        for name, sourced in resolution.effective
    }


def plain(value: Any) -> Any:
    """Return a value of the library as JSON has it."""
    if attrs.has(type(value)):
        return {a.name: plain(getattr(value, a.name)) for a in attrs.fields(type(value))}

    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}

    if isinstance(value, (frozenset, set)):
        return sorted(map(plain, value))

    return [plain(inner) for inner in value] if isinstance(value, (tuple, list)) else value


@contextmanager
def errors_reported(
    form: Format, say: Speaker = ENGLISH_SPEAKER, *, traceback: bool = False
) -> Iterator[None]:
    """Turn an error into a block on stderr, or the JSON object, and exit code 1."""
    try:
        yield
    except (AclError, CommandError) as error:
        if traceback:
            raise

        if form is Format.JSON:
            print_json({"error": error_json(error)})
        else:
            console(is_error=True).print(error_text(error, say))

        raise typer.Exit(1) from None


@contextmanager
def warnings_reported() -> Iterator[None]:
    """Show a warning, raised or logged, as one line on stderr, without the place that raised it."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        console(is_error=True).print(Text.assemble(("warning", "yellow"), f": {message}"))

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record.getMessage())

    library, handler = logging.getLogger("aclasync"), Shown(logging.WARNING)
    library.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
    finally:
        library.removeHandler(handler)


def error_text(error: AclError | CommandError, say: Speaker = ENGLISH_SPEAKER) -> Text:
    """Return what happened, which call failed, its number, and all that was found."""
    if isinstance(error, CommandError):
        return Text.assemble((say("severity.error"), "bold red"), f": {error}")

    text = Text.assemble((say("severity.error"), "bold red"), f": {error.detail}\n")
    text.append(f"  {say('error.call')}{error.function}\n")
    text.append(f"  {say('error.number')}{number_of(error.code)}")
    for note in getattr(error, "__notes__", ()):
        text.append(f"\n  {say('error.note')}{note}")

    if isinstance(error, BackendUnavailableError):
        for name, why in error.refusals:
            text.append(f"\n  {name}: {why}")

    if isinstance(error, ConfigError):
        for finding in error.findings:
            if finding.severity is not Severity.INFO:
                text.append("\n").append_text(finding_text(finding, say))

    if isinstance(error, BaseExceptionGroup):
        for failure in error.exceptions:
            text.append(f"\n  {say('error.failed')}{failure}")

    return text


def error_json(error: AclError | CommandError) -> dict[str, Any]:
    """Return an error as JSON; without an ACL number its code, name and function are null."""
    known = error if isinstance(error, AclError) else None
    return {
        "type": type(error).__name__,
        "code": int(known.code) if known else None,
        "name": known.code.name if known else None,
        "function": known.function if known else None,
        "detail": known.detail if known else str(error),
        "notes": list(getattr(error, "__notes__", ())),
        "findings": [finding_json(f) for f in getattr(error, "findings", ())],
        "refusals": [{"name": name, "reason": why} for name, why in getattr(error, "refusals", ())],
        "failures": [str(f) for f in error.exceptions]
        if isinstance(error, BaseExceptionGroup)
        else [],
    }
