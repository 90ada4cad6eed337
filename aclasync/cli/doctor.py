"""`aclasync doctor`: what this machine offers, and what in its environment matters."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import TYPE_CHECKING, Any, final

import anyio
import typer
from attrs import frozen
from rich.text import Text

from aclasync import load_config
from aclasync.backends.choose import Candidate, candidates, refusal_of_auto
from aclasync.config.environment import PURPOSES
from aclasync.config.lookup import purpose_of

from .output import (
    Format,
    FormatOption,
    Severity,
    console,
    error_json,
    error_text,
    finding_json,
    finding_text,
    print_json,
)
from .words import LanguageOption, Speaker, speaker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from aclasync import AclError, Finding
    from aclasync.config import Environment

_PACKAGES = ("aclasync", "anyio", "attrs", "cattrs", "numpy", "onnx", "onnxruntime")


@final
@frozen(kw_only=True)
class _Variable:
    """A variable that the library reads; no other variable is ever shown."""

    name: str
    value: str | None
    purpose: str


@final
@frozen(kw_only=True)
class _Report:
    """All that the command says."""

    candidates: tuple[Candidate, ...]
    versions: dict[str, str | None]
    variables: tuple[_Variable, ...]
    devices: str
    log_folder: str
    #: What is wrong with the variables.
    findings: tuple[Finding, ...]
    #: What opening a session would raise here.
    refusal: AclError | None


def doctor(chosen: LanguageOption = None, form: FormatOption = Format.TEXT) -> None:
    """Show which backends can be used here and why not, versions, devices and environment.

    Exit code 0: a session could be opened here; 1: it would be refused. Opens and loads nothing.
    """
    say = speaker(chosen)
    resolution = anyio.run(load_config, None).in_language(say.language)
    environment = resolution.effective.environment
    report = _Report(
        candidates=candidates(environment),
        versions={"python": platform.python_version(), **{p: _version(p) for p in _PACKAGES}},
        variables=tuple(_variables(say)),
        devices=_devices(environment, say),
        log_folder=_log_folder(environment, say),
        findings=tuple(f for f in resolution.findings if f.severity is not Severity.INFO),
        refusal=refusal_of_auto(environment),
    )
    if form is Format.JSON:
        print_json(_as_json(report))
    else:
        _print_report(console(), report, say)

    if report.refusal is not None:
        raise typer.Exit(1)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _variables(say: Speaker) -> Iterable[_Variable]:
    for name in PURPOSES:
        purpose = purpose_of(name, say.language)
        yield _Variable(name=name, value=os.environ.get(name), purpose=purpose)


def _devices(environment: Environment, say: Speaker) -> str:
    count = 1 if environment.devices is None else environment.devices
    visible = environment.visible_devices
    if visible is None:
        return say("doctor.device_count", count=count)

    shown = ", ".join(map(str, visible)) or say("doctor.no_device")
    return say("doctor.device_list", count=count, visible=shown)


def _log_folder(environment: Environment, say: Speaker) -> str:
    if environment.process_log_path:
        return str(environment.process_log_path)

    if environment.work_path:
        return os.path.join(environment.work_path, "log")  # noqa: PTH118 - shown, not used

    return say("doctor.home")


def _print_report(out: Console, report: _Report, say: Speaker) -> None:
    out.print(say("doctor.backends"), style="bold")
    for candidate in report.candidates:
        is_usable = candidate.is_usable
        mark = (say("doctor.usable"), "green") if is_usable else (say("doctor.refused"), "yellow")
        out.print(Text.assemble(f"  {candidate.name}: ", mark, f", {candidate.reason}"))
        for name, fact in candidate.facts:
            out.print(f"    {name} {fact}", markup=False)

    out.print(f"\n{say('doctor.versions')}", style="bold")
    for package, number in report.versions.items():
        out.print(f"  {package} {number or say('doctor.missing')}", markup=False)

    out.print(f"\n{say('doctor.devices')}", style="bold")
    out.print(f"  {say('doctor.device_line', devices=report.devices)}", markup=False)
    out.print(f"  {say('doctor.logs', folder=report.log_folder)}", markup=False)

    out.print(f"\n{say('doctor.environment')}", style="bold")
    width = max(len(variable.name) for variable in report.variables)
    for variable in report.variables:
        not_set = Text(say("doctor.not_set"), "dim")
        value = not_set if variable.value is None else Text(variable.value, "bold")
        purpose = say("doctor.purpose", purpose=variable.purpose)
        out.print(Text.assemble(f"  {variable.name:{width}}  ", value, f"  {purpose}"))

    for finding in report.findings:
        out.print(finding_text(finding, say))

    if report.refusal is not None:
        out.print(f"\n{say('doctor.refusal')}", style="bold")
        out.print(error_text(report.refusal, say))


def _as_json(report: _Report) -> dict[str, Any]:
    return {
        "backends": [
            {
                "name": candidate.name,
                "is_usable": candidate.is_usable,
                "reason": candidate.reason,
                "facts": dict(candidate.facts),
            }
            for candidate in report.candidates
        ],
        "versions": report.versions,
        "devices": report.devices,
        "log_folder": report.log_folder,
        "environment": {
            variable.name: {"value": variable.value, "purpose": variable.purpose}
            for variable in report.variables
        },
        "findings": [finding_json(finding) for finding in report.findings],
        "error": None if report.refusal is None else error_json(report.refusal),
    }
