"""`aclasync init-config`: a valid acl.json from a few answers, and notes on each of its keys."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from aclasync import Product, Severity, load_config, resolve_config
from aclasync.config import KeySpec, Kind, Resolution
from aclasync.config.lookup import find_keys, place_of, suggestion
from aclasync.config.recipes import Recipe, made_of, put

from .explain import key_block
from .output import (
    CommandError,
    Format,
    ProductOption,
    console,
    errors_reported,
    finding_text,
    parse_product,
)
from .words import LanguageOption, Speaker, speaker


def init_config(
    *,
    path: Annotated[
        Path, typer.Argument(metavar="[FILE]", help="Where to write; NOTES go beside it as .md.")
    ] = Path("acl.json"),
    recipes: Annotated[
        list[Recipe] | None,
        typer.Option("--for", help="What it is for; may be given several times."),
    ] = None,
    product: ProductOption = None,
    dump_path: Annotated[
        str | None, typer.Option(help="The folder of the dumps; ./dump by default.")
    ] = None,
    device: Annotated[int | None, typer.Option(min=0, help="The default device.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any other key; may be given several times."
        ),
    ] = None,
    is_creating: Annotated[
        bool, typer.Option("--create-dirs", help="Make the folder of dump_path, too.")
    ] = False,
    is_forced: Annotated[bool, typer.Option("--force", help="Write over existing files.")] = False,
    has_notes: Annotated[
        bool, typer.Option("--notes/--no-notes", help="JSON has no comments: FILE.md has them.")
    ] = True,
    chosen: LanguageOption = None,
) -> None:
    """Write a valid acl.json: asks at a terminal, takes options everywhere.

    Exit code 0: it was written; 1: these settings do not go together, or a file is in the way.
    """
    say = speaker(chosen)
    with errors_reported(Format.TEXT, say):
        wanted = tuple(recipes or ())
        is_asking = not (wanted or settings or dump_path or device is not None)
        if is_asking and sys.stdin.isatty():
            product = product or _asked_product(say)
            wanted = _asked_recipes(say)
            if any(recipe is not Recipe.PROFILING for recipe in wanted):
                dump_path = typer.prompt(say("init.dump_path"), "./dump", err=True)

            device = _asked_device(say)

        tree = made_of(wanted, dump_path=dump_path, default_device=device)
        for setting in settings or ():
            put(tree, *_parsed(setting, say))

        judged_for = product or Product.ATLAS_A2
        text = json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
        _refuse_faults(resolve_config(text.encode(), env={}, product=judged_for), say)
        written = {path: text}
        if has_notes:
            written[path.with_name(f"{path.name}.md")] = _notes(path.name, tree, judged_for, say)

        _write(written, say, is_forced=is_forced)
        if is_creating and (folder := tree.get("dump", {}).get("dump_path")):
            Path(folder).mkdir(parents=True, exist_ok=True)

    out = console()
    for name in written:
        out.print(say("init.written", name=name), markup=False)

    resolution = anyio.run(_load, path, judged_for).in_language(say.language)
    for finding in resolution.findings:
        if finding.severity is not Severity.INFO:
            out.print(finding_text(finding, say))


async def _load(path: Path, product: Product) -> Resolution:
    return await load_config(path, product=product)


# Questions


def _asked_product(say: Speaker) -> Product:
    tags = ", ".join(product.value for product in Product)
    return parse_product(
        typer.prompt(say("init.product", tags=tags), Product.ATLAS_A2.value, err=True)
    )


def _asked_recipes(say: Speaker) -> tuple[Recipe, ...]:
    out = console(is_error=True)
    for number, recipe in enumerate(Recipe, 1):
        out.print(f"  {number}  {recipe.value}: {say('recipe.' + recipe.value)}", markup=False)

    while True:
        answer = typer.prompt(say("init.recipes"), "", show_default=False, err=True)
        pieces = answer.replace(",", " ").split()
        by_name = {str(number): recipe for number, recipe in enumerate(Recipe, 1)}
        by_name |= {recipe.value: recipe for recipe in Recipe}
        if all(piece in by_name for piece in pieces):
            return tuple(by_name[piece] for piece in pieces)


def _asked_device(say: Speaker) -> int | None:
    while True:
        answer = typer.prompt(say("init.device"), "", show_default=False, err=True).strip()
        if not answer or answer.isdecimal():
            return int(answer) if answer else None


def _parsed(setting: str, say: Speaker) -> tuple[KeySpec, Any]:
    """Return the key and the value of KEY=VALUE."""
    name, equals, text = setting.partition("=")
    found = [key for key in find_keys(name) if place_of(key) == name or key.name == name]
    if not equals or len(found) != 1 or "[]" in found[0].path:
        meant = suggestion(name)
        more = say("explain.meant", meant=meant) if meant else ""
        raise CommandError(say("init.bad_setting", setting=setting) + more)

    (key,) = found
    if key.kind is Kind.TEXT:
        return key, text

    if key.kind is Kind.TEXTS and not text.startswith("["):
        return key, text.split(",")

    try:
        return key, json.loads(text)
    except ValueError as fault:
        raise CommandError(say("init.bad_value", setting=setting, reason=fault)) from fault


# Files


def _refuse_faults(resolution: Resolution, say: Speaker) -> None:
    if resolution.is_valid:
        return

    out = console(is_error=True)
    for finding in resolution.in_language(say.language).errors:
        out.print(finding_text(finding, say))

    raise CommandError(say("init.refused"))


def _write(written: dict[Path, str], say: Speaker, *, is_forced: bool) -> None:
    there = [name for name in written if name.exists()]
    if there and not is_forced:
        raise CommandError(say("init.exists", name=there[0]))

    for name, text in written.items():
        try:
            name.write_text(text, encoding="utf-8")
        except OSError as fault:
            raise CommandError(say("init.failed", name=name, reason=fault.strerror)) from fault


def _notes(name: str, tree: dict[str, Any], product: Product, say: Speaker) -> str:
    """Return what stands in no JSON: what each key does, and what else it may be."""
    lines = [f"# {name}", "", say("init.notes", name=name, product=product.name), ""]
    for key, value in _settings_of(tree):
        title, rows, _ = key_block(key, say)
        shown = json.dumps(value, ensure_ascii=False)
        lines += [f"## {title.plain}", "", f"`{shown}`", ""]
        lines += [f"- {label}: {said}" if label else f"- {said}" for label, said in rows]
        lines.append("")

    return "\n".join(lines)


def _settings_of(tree: Any, place: str = "") -> Iterator[tuple[KeySpec, Any]]:
    for name, value in tree.items():
        here = f"{place}.{name}".strip(".")
        found = [key for key in find_keys(here) if place_of(key) == here]
        if found:
            yield found[0], value
        if isinstance(value, dict):
            yield from _settings_of(value, here)
