"""`aclasync doctor`: what this machine offers, and what in its environment matters."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import TYPE_CHECKING, Any, final

import anyio
import typer
from attrs import frozen
from rich.table import Table
from rich.text import Text

from aclasync import load_config
from aclasync.backends.choose import Candidate, candidates
from aclasync.config import ENVIRONMENT_NAMES

from .output import Format, FormatOption, console, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from aclasync.config import Environment

_PACKAGES = ("aclasync", "anyio", "attrs", "cattrs", "numpy", "onnx", "onnxruntime")

# What each variable does, in the order they are shown.
_PURPOSES = {
    "ACLASYNC_BACKEND": "what `auto` means: embedded or cann",
    "ACLASYNC_DEVICES": "how many devices the embedded backend has",
}


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


def doctor(form: FormatOption = Format.TEXT) -> None:
    """Show which backends can be used here and why not, versions, devices and environment.

    Exit code 0: some backend can be used; 1: none can. Opens and loads nothing.
    """
    environment = anyio.run(_environment)
    report = _Report(
        candidates=candidates(environment),
        versions={"python": platform.python_version(), **{p: _version(p) for p in _PACKAGES}},
        variables=tuple(_variables()),
        devices=_devices(environment),
        log_folder=_log_folder(environment),
    )
    if form is Format.JSON:
        print_json(_as_json(report))
    else:
        _print_report(console(), report)

    if not any(candidate.is_usable for candidate in report.candidates):
        raise typer.Exit(1)


async def _environment() -> Environment:
    return (await load_config(None)).effective.environment


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _variables() -> Iterable[_Variable]:
    for name in sorted(ENVIRONMENT_NAMES, key=lambda name: (name not in _PURPOSES, name)):
        yield _Variable(name=name, value=os.environ.get(name), purpose=_PURPOSES.get(name, ""))


def _devices(environment: Environment) -> str:
    count = 1 if environment.devices is None else environment.devices
    visible = environment.visible_devices
    if visible is None:
        return f"{count} embedded, all visible"

    return f"{count} embedded, visible: {', '.join(map(str, visible)) or 'none'}"


def _log_folder(environment: Environment) -> str:
    if environment.process_log_path:
        return str(environment.process_log_path)

    if environment.work_path:
        return os.path.join(environment.work_path, "log")  # noqa: PTH118 - shown, not used

    return "ascend/log in the home folder"


def _print_report(out: Console, report: _Report) -> None:
    out.print("Backends, in the order that auto tries them", style="bold")
    for candidate in report.candidates:
        mark = ("usable", "green") if candidate.is_usable else ("refused", "yellow")
        out.print(Text.assemble(f"  {candidate.name}: ", mark, f", {candidate.reason}"))
        for name, fact in candidate.facts:
            out.print(f"    {name} {fact}", markup=False)

    out.print("\nVersions", style="bold")
    for package, number in report.versions.items():
        out.print(f"  {package} {number or 'not installed'}", markup=False)

    out.print("\nDevices and logs", style="bold")
    out.print(f"  devices: {report.devices}", markup=False)
    out.print(f"  device logs: {report.log_folder}", markup=False)

    out.print("\nEnvironment", style="bold")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for variable in report.variables:
        value = Text("not set", "dim") if variable.value is None else Text(repr(variable.value))
        table.add_row(Text("  " + variable.name), value, Text(variable.purpose))

    out.print(table)


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
    }
