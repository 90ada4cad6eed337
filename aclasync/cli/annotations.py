"""Findings as other tools take them: SARIF 2.1.0, and the commands of GitHub's workflows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aclasync import AclCode, Finding, Resolution, Severity, __version__
from aclasync.config.lookup import words_of

if TYPE_CHECKING:
    from aclasync.config.language import Language

Judged = Sequence[tuple[str, Resolution]]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_lines(judged: Judged) -> Iterator[str]:
    """Return a workflow command a finding: GitHub shows it at the line of the file."""
    for name, finding in _said(judged):
        where = finding.where
        properties = {"file": _in_checkout(name), "title": f"aclasync {finding.code}"}
        if where.line:
            properties |= {"line": str(where.line), "col": str(where.column)}

        listed = ",".join(f"{key}={_escaped(text, ':,')}" for key, text in properties.items())
        command = _GITHUB_COMMANDS[finding.severity]
        yield f"::{command} {listed}::{_escaped(_message(finding))}"


def sarif_log(judged: Judged, language: Language) -> dict[str, Any]:
    """Return the log of one run, with the rules that it has found something by."""
    said = list(_said(judged))
    codes = sorted({finding.code for _, finding in said})
    driver = {
        "name": "aclasync",
        "semanticVersion": __version__,
        "language": "zh-CN" if language == "zh" else "en-US",
        "rules": [_rule(code, language) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        # Lines and columns are counted in characters, as Python counts them.
        "columnKind": "unicodeCodePoints",
        "results": [_result(name, finding, codes.index(finding.code)) for name, finding in said],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _said(judged: Judged) -> Iterator[tuple[str, Finding]]:
    for name, resolution in judged:
        yield from ((name, f) for f in resolution.findings if f.code != "I001")


def _message(finding: Finding) -> str:
    hint = f"; {finding.hint}" if finding.hint else ""
    number = finding.acl_code
    code = "" if number is AclCode.SUCCESS else f" [{number.value} {number.name}]"
    return f"{finding.path}: {finding.message}{hint}{code}"


def _rule(code: str, language: Language) -> dict[str, Any]:
    words = words_of(code, language)
    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": words.message}}
    if words.hint:
        rule["help"] = {"text": words.hint}

    return rule


def _result(name: str, finding: Finding, rule: int) -> dict[str, Any]:
    where = finding.where
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(name)}}
    if where.line:
        place["region"] = {"startLine": where.line, "startColumn": where.column}

    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": place}],
        "properties": {"path": finding.path, "acl_code": int(finding.acl_code)},
    }


def _in_checkout(name: str) -> str:
    """Return a path as a checkout has it, if it is below the working directory."""
    path = Path(name)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd()).as_posix()

    return path.as_posix()


def _uri(name: str) -> str:
    path = Path(_in_checkout(name))
    if path.is_absolute():
        return path.as_uri()

    # Relative to the checkout; quoted as the absolute ones are.
    base = Path("/")
    return (base / path).as_uri().removeprefix(base.as_uri())


def _escaped(text: str, more: str = "") -> str:
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")

    return text
