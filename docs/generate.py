"""Pages that are data: made from the tables that the library itself works with."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

import diagram  # beside this file
from typer.testing import CliRunner

from aclasync import CallbackType
from aclasync.cli.app import app
from aclasync.codes import AclCode
from aclasync.config.catalog import ENGLISH
from aclasync.config.environment import PURPOSES
from aclasync.config.features import FEATURES
from aclasync.config.keys import KeySpec, Kind
from aclasync.lifecycle.events import (
    FinalizeRequested,
    HoldRequested,
    InitRequested,
    ReleaseRequested,
)
from aclasync.lifecycle.machine import TABLE
from aclasync.lifecycle.sequence import FINALIZE_ORDER, INIT_ORDER
from aclasync.lifecycle.state import Phase
from aclasync.meanings import meaning_of
from aclasync.product import Product
from benchmarks.report import amount, times

KEPT_RUN = Path(__file__).parents[1] / "benchmarks" / "results" / "kept.json"
SERVING_RUN = KEPT_RUN.with_name("serving.json")

_CALLS = {
    InitRequested: "init",
    ReleaseRequested: "finalize_reference",
    FinalizeRequested: "finalize",
    HoldRequested: "register or unregister a callback",
}
#: What the functions of the table mean to a reader.
_ANSWERS = {
    "_begin_opening": "opens: the whole init sequence",
    "_join": "counts one more, if the content is the same",
    "_wait": "waits for its turn",
    "_refuse_forked": "`ForkedRuntimeError`",
    "_refuse_release": "`RepeatFinalizeError`",
    "_release": "counts one less; the last one closes: the whole finalize sequence",
    "_finalize": "closes, whatever the count",
    "_finalize_while_down": "the finalize sequence once, before any init; then "
    "`RepeatFinalizeError`",
    "_hold": "at once; no init or finalize begins meanwhile",
}


def write_all(folder: Path) -> None:
    """Write every generated page into `folder`."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page(), encoding="utf-8")

    diagram.draw(folder / "lifecycle.svg")


def config_keys() -> str:
    """Return the page of every key of acl.json."""
    lines = ["# Keys of acl.json", "", _KEYS_INTRODUCTION, ""]
    for feature in FEATURES:
        lines += [f"## {feature.number}. {feature.name}", ""]
        lines += [f"Products: {_products(feature.products)}.", ""]
        for key in feature.keys:
            lines += [f"`{_dotted(key)}`", f": {_about(key)}", ""]

    return "\n".join(lines)


def error_numbers() -> str:
    """Return the page of every number that a call can return."""
    rows = [
        (str(int(code)), f"`{code.name}`", *meaning)
        for code in AclCode
        if (meaning := meaning_of(code)) is not None
    ]
    return "\n".join([
        "# Error numbers", "", _NUMBERS_INTRODUCTION, "",
        *_table(("number", "name", "cause", "cure"), rows), "",
    ])  # fmt: skip


def findings() -> str:
    """Return the page of every finding about a configuration."""
    rows = ((f"`{code}`", _plain(w.message), _plain(w.hint)) for code, w in ENGLISH.items())
    return "\n".join(
        ["# Findings", "", _FINDINGS_INTRODUCTION, "", *_table(("code", "what", "cure"), rows), ""]
    )


def environment() -> str:
    """Return the page of every environment variable that is read."""
    rows = ((f"`{name}`", purpose) for name, purpose in sorted(PURPOSES.items()))
    return "\n".join(
        ["# Environment variables", "", _ENVIRONMENT_INTRODUCTION, "",
         *_table(("variable", "what it does"), rows), ""]
    )  # fmt: skip


def lifecycle_tables() -> str:
    """Return the orders, the answers of every phase, and the callback types."""
    init = ((str(e.step), _yes(e.needs_config), _name(e.notifies)) for e in INIT_ORDER)
    finalize = ((str(entry.step), _name(entry.notifies)) for entry in FINALIZE_ORDER)
    answers = (
        (call, f"`{phase}`", _ANSWERS[TABLE[request, phase].__name__])
        for request, call in _CALLS.items()
        for phase in Phase
    )
    types = ((f"`{t.name}`", str(t.value)) for t in CallbackType)
    return "\n".join([
        "# Orders and answers", "",
        "Made from the tables that the library itself works with.", "",
        "## Init", "",
        *_table(("step", "only with a configuration", "callbacks notified"), init), "",
        "## Finalize", "",
        *_table(("step", "callbacks notified"), finalize), "",
        "## What a call does in each phase", "",
        *_table(("call", "phase", "answer"), answers), "",
        "## Callback types", "",
        *_table(("type", "number"), types), "",
    ])  # fmt: skip


def command_line() -> str:
    """Return the help of every command, as a terminal shows it."""
    lines = ["# Command line", "", _COMMANDS_INTRODUCTION, ""]
    for command in ((), *((name,) for name in _commands())):
        shown = " ".join(("aclasync", *command))
        lines += [f"## {shown}", "", "```text", _help_of(command), "```", ""]

    return "\n".join(lines)


def benchmarks() -> str:
    """Return the table of the run that is kept."""
    saved = json.loads(KEPT_RUN.read_text(encoding="utf-8"))
    host = ", ".join(f"{name} {value}" for name, value in saved["host"].items())
    rows = []
    for row in saved["rows"]:
        rows.append((f"**{row['work']}**", "", "", "", ""))
        for at, name in enumerate(row["names"]):
            is_ours = row["roles"][at] == "ours"
            limit = row["limits"][at]
            rows.append(
                (
                    f"{name} ({row['roles'][at]})",
                    amount(row["medians"][at], row["unit"]).replace(" ", "\u00a0"),
                    "" if is_ours else times(row["ratios"][at]),
                    "" if is_ours else times(row["spreads"][at]),
                    "" if limit is None else times(limit),
                )
            )

    heads = ("work and its sides", "median", "ours is", "+/-", "promised")
    return "\n".join([f"Measured on: {host}.", "", *_table(heads, rows), ""])


def _commands() -> list[str]:
    return [str(command.name or command.callback.__name__) for command in app.registered_commands]


def _help_of(command: tuple[str, ...]) -> str:
    # A terminal of that width, and no colours.
    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    return runner.invoke(app, [*command, "--help"], prog_name="aclasync").output.rstrip()


def serving() -> str:
    """Return the table of what serving costs, medians of the run that is kept."""
    kept: dict[str, list[dict[str, dict[str, float]]]] = json.loads(
        SERVING_RUN.read_text(encoding="utf-8")
    )

    def median(name: str, at_once: str, what: str) -> float:
        return statistics.median(one[at_once][what] for one in kept[name])

    lines = [
        "| server | 1 at once: p50 | 32 at once: a second | p50 | p99 | ours is |",
        "|---|---|---|---|---|---|",
    ]
    for name, rounds in kept.items():
        ours = kept["aclasync, JSON" if name in ("LitServe", "BentoML") else "aclasync"]
        ratios = [a["32"]["rate"] / b["32"]["rate"] for a, b in zip(ours, rounds, strict=True)]
        lines.append(
            f"| {name} | {median(name, '1', 'p50'):.2f} ms | {median(name, '32', 'rate'):,.0f} "
            f"| {median(name, '32', 'p50'):.1f} ms | {median(name, '32', 'p99'):.1f} ms "
            f"| {statistics.median(ratios):.2f} times as fast |"
        )

    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "config-keys": config_keys,
    "error-numbers": error_numbers,
    "findings": findings,
    "environment": environment,
    "lifecycle-tables": lifecycle_tables,
    "command-line": command_line,
    "benchmarks": benchmarks,
    "serving": serving,
}

_KEYS_INTRODUCTION = """Every key that is read, feature by feature, with its values, its bounds, the
products it acts on and the variables that matter for it. A key that is not here does nothing, and
`aclasync check` says so."""
_NUMBERS_INTRODUCTION = """Every `AclError` has a `code`; `AclCode` has them by name. 1xxxxx means
that the caller did something wrong, 2xxxxx that a resource is missing, 3xxxxx that the state does
not allow it, 5xxxxx that the inside failed."""
_FINDINGS_INTRODUCTION = """What `aclasync check` and `resolve_config` report: `E` the reference
would refuse the file, `W` it takes it but something does nothing, or not what it seems, `I` a value
in force. Braces stand for what was found."""
_COMMANDS_INTRODUCTION = """Exit codes: 0 fine, 1 failed, 2 wrong usage, 130 and 143 interrupted."""
_ENVIRONMENT_INTRODUCTION = """Read once, at the init that opens the runtime; `env=` replaces them
all. `aclasync doctor` shows which are set."""


def _about(key: KeySpec) -> str:
    parts = [f"{key.effect}; {key.kind.value}"]
    if key.allowed:
        values = ", ".join(f"`{value}`" for value in key.allowed)
        parts.append(f"{'a comma list of ' if key.is_list else 'one of '}{values}")

    if key.low is not None:
        parts.append(f"from {key.low} to {_high(key)}")
    elif key.high is not None:
        unit = (
            " bytes" if key.kind is Kind.TEXT else " entries" if "array" in key.kind.value else ""
        )
        parts.append(f"at most {_high(key)}{unit}")

    if key.multiple > 1:
        parts.append(f"rounded up to a multiple of {key.multiple}")

    if key.default is not None:
        parts.append(f"default {key.default}")

    parts.append(f"products: {_products(key.products)}")
    for value, products in key.products_of_value.items():
        parts.append(f"`{value}` only on {_products(products)}")

    if key.environment:
        parts.append("variables: " + ", ".join(f"`{name}`" for name in key.environment))

    return "; ".join(parts) + "."


def _high(key: KeySpec) -> str:
    if not key.high_on:
        return str(key.high if key.high is not None else "any")

    return ", ".join(f"{high} ({product.name})" for product, high in key.high_on.items())


def _dotted(key: KeySpec) -> str:
    return ".".join(key.path).replace(".[]", "[]")


def _products(products: Iterable[Product]) -> str:
    held = frozenset(products)
    if held == frozenset(Product):
        return "all"

    missing = frozenset(Product) - held
    if len(missing) < len(held):
        return "all but " + ", ".join(p.name for p in Product if p in missing)

    return ", ".join(p.name for p in Product if p in held)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows]


def _plain(template: str) -> str:
    return template.replace("{{", "{").replace("}}", "}").replace("<", "&lt;")


def _name(callback_type: CallbackType | None) -> str:
    return f"`{callback_type.name}`" if callback_type is not None else ""


def _yes(value: bool) -> str:  # noqa: FBT001  # a cell of a table
    return "yes" if value else ""
