"""`aclasync explain`: what a key, a finding, a number or a variable means, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from aclasync import AclCode, Finding, Product
from aclasync.config import FEATURES, FeatureSpec, KeySpec, Kind
from aclasync.config import lookup as look
from aclasync.config.examples import EXAMPLES
from aclasync.config.features import DUMP_STEP
from aclasync.config.findings import severity_of
from aclasync.meanings import meaning_of

from .output import (
    CommandError,
    Format,
    FormatOption,
    console,
    errors_reported,
    finding_json,
    finding_text,
    number_of,
    print_json,
)
from .words import LanguageOption, Speaker, speaker

Rows = list[tuple[str, str | Text]]


def explain(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="[KEY|CODE]",
            show_default=False,
            help="A key (dump_mode), a section (dump), a finding (E302), a number (107002) or its"
            " name, or an environment variable.",
        ),
    ] = None,
    chosen: LanguageOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Say what a key, a finding, an error number or a variable means, and what to do about it.

    Exit code 0: it was explained; 1: there is nothing of that name.
    """
    say = speaker(chosen)
    with errors_reported(form, say):
        if topic is None:
            blocks = [_feature_block(feature, say) for feature in FEATURES]
        else:
            blocks = list(_blocks_of(topic, say))
            if not blocks:
                raise CommandError(_nothing(topic, say))

    if form is Format.JSON:
        print_json({"explained": [said for _, _, said in blocks]})
        return

    out = console()
    if topic is None:
        out.print(say("explain.features"), style="bold")

    for index, (title, rows, _) in enumerate(blocks):
        if index and topic is not None:
            out.print()

        out.print(title)
        if rows:
            out.print(_table(rows))

    if topic is None:
        out.print(say("explain.more"), style="dim")


Block = tuple[Text, Rows, dict[str, Any]]


def _blocks_of(topic: str, say: Speaker) -> Iterable[Block]:
    topic = topic.strip()
    if (code := look.find_finding(topic)) is not None:
        yield _finding_block(code, say)
    elif keys := look.find_keys(topic):
        yield from (key_block(key, say) for key in keys)
    elif (variable := look.find_variable(topic)) is not None:
        yield _variable_block(variable, say)
    elif (feature := look.find_feature(topic)) is not None:
        yield _feature_block(feature, say)
        yield from (key_block(key, say) for key in feature.keys)
    elif (number := look.find_number(topic)) is not None:
        yield _number_block(number, say)


def _nothing(topic: str, say: Speaker) -> str:
    meant = look.suggestion(topic)
    more = say("explain.meant", meant=meant) if meant else f"; {say('explain.more')}"
    return say("explain.nothing", query=topic) + more


def _table(rows: Rows) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in rows:
        table.add_row(f"  {label}", said)

    return table


# Keys


def key_block(key: KeySpec, say: Speaker) -> Block:
    """Return what is said of a key: its title, labelled rows, and the same as JSON."""
    place, effect = look.place_of(key), look.effect_of(key, say.language)
    features = [f for f in FEATURES if key in f.keys]
    rows: Rows = [(say("explain.type"), look.kind_in_words(key, say.language))]
    if key.allowed:
        rows.append((say("explain.values"), _values(key, say)))

    if bounds := _bounds(key, say):
        rows.append((say("explain.bounds"), bounds))

    default = look.default_of(key, say.language)
    if default is not None:
        rows.append((say("explain.default"), default))

    rows.append((say("explain.products"), _products(key, say)))
    rows += [
        (
            say("explain.features_of"),
            ", ".join(f"{f.number} {look.name_of(f, say.language)}" for f in features),
        )
    ]
    if key.code is AclCode.SUCCESS:
        rows.append((say("explain.refused"), say("explain.ignored")))
    else:
        returned = say("explain.returns", number=number_of(key.code))
        only_on = f" ({say('explain.only_on')})" if key.is_only_on else ""
        rows.append((say("explain.refused"), returned + only_on))

    for label, variable in zip(
        [say("explain.variables"), *[""] * len(key.environment)], key.environment, strict=False
    ):
        rows.append((label, f"{variable}: {look.purpose_of(variable, say.language)}"))

    return Text.assemble((place, "bold"), f"  {effect}"), rows, _key_json(key, say)


def _values(key: KeySpec, say: Speaker) -> str:
    values = ", ".join(key.allowed)
    if key.is_list or key.kind is Kind.TEXTS:
        values = say("explain.list", values=values) if key.is_list else values

    for value, products in key.products_of_value.items():
        values += say("explain.and") + say(
            "explain.value_on", value=value, products=_names(products)
        )

    return values


def _bounds(key: KeySpec, say: Speaker) -> str:
    if key.high is not None and key.kind is Kind.OBJECTS:
        return say("explain.entries", high=key.high)

    if key.kind is Kind.TEXT and (key.low is None or key.high is None):
        is_bytes = key.high is not None and key is not DUMP_STEP
        return say("explain.length", high=key.high) if is_bytes else ""

    parts = []
    if key.low is not None and key.high is not None:
        parts.append(say("explain.number", low=key.low, high=key.high))
    elif key.low is not None:
        parts.append(say("explain.from", low=key.low))

    for product, high in key.high_on.items():
        parts.append(say("explain.high_on", high=high, product=product.name))

    if key.multiple > 1:
        parts.append(say("explain.multiple", multiple=key.multiple))

    return say("explain.and").join(parts)


def _on(products: frozenset[Product], say: Speaker) -> str:
    missing = frozenset(Product) - products
    if len(missing) > 2:
        return _names(products)

    return say("explain.all_but", products=_names(missing)) if missing else say("explain.all")


def _products(key: KeySpec, say: Speaker) -> str:
    names = _on(key.products, say)
    if key.undocumented_on:
        names = say("explain.undocumented", products=names, others=_names(key.undocumented_on))

    return names


def _names(products: Iterable[Product]) -> str:
    found = frozenset(products)
    return ", ".join(product.name for product in Product if product in found)


def _key_json(key: KeySpec, say: Speaker) -> dict[str, Any]:
    return {
        "kind": "key",
        "key": look.place_of(key),
        "effect": look.effect_of(key, say.language),
        "type": key.kind.name.lower(),
        "values": list(key.allowed),
        "is_list": key.is_list,
        "default": key.default,
        "low": key.low,
        "high": key.high,
        "high_on": {product.name: high for product, high in key.high_on.items()},
        "multiple": key.multiple,
        "products": _names(key.products).split(", "),
        "undocumented_on": [p.name for p in Product if p in key.undocumented_on],
        "products_of_value": {
            value: _names(products).split(", ") for value, products in key.products_of_value.items()
        },
        "features": [f.number for f in FEATURES if key in f.keys],
        "acl_code": int(key.code),
        "acl_name": key.code.name,
        "variables": list(key.environment),
    }


# The others


def _feature_block(feature: FeatureSpec, say: Speaker) -> Block:
    name = look.name_of(feature, say.language)
    places = [look.place_of(key) for key in feature.keys]
    shown = places if len(places) <= 4 else [*places[:3], "…"]
    on = _on(feature.products, say)
    rows: Rows = [(say("explain.keys"), ", ".join(shown)), (say("explain.products"), on)]
    title = Text(say("explain.feature", number=feature.number, name=name), "bold")
    said = {
        "kind": "feature",
        "number": feature.number,
        "name": name,
        "keys": places,
        "products": _names(feature.products).split(", "),
    }
    return title, rows, said


def _variable_block(variable: str, say: Speaker) -> Block:
    purpose = look.purpose_of(variable, say.language)
    keys = [look.place_of(key) for key in look.KEYS if variable in key.environment]
    rows: Rows = [(say("explain.keys"), ", ".join(keys))] if keys else []
    title = Text.assemble((variable, "bold"), f"  {purpose}")
    return title, rows, {"kind": "variable", "name": variable, "purpose": purpose, "keys": keys}


def _finding_block(code: str, say: Speaker) -> Block:
    severity, words = severity_of(code), look.words_of(code, say.language)
    rows: Rows = [(say("explain.says"), _template(words.message))]
    if words.hint:
        rows.append((say("explain.do"), _template(words.hint)))

    given: Finding | None = None
    example = EXAMPLES.get(code)
    if example is not None:
        resolution = example.resolve().in_language(say.language)
        given = next(f for f in resolution.findings if f.code == code)
        shown = example.text.decode("utf-8", "backslashreplace").replace("\0", "\\0")
        variables = [f"{name}={value}" for name, value in example.env.items()]
        rows.append((say("explain.example"), "\n".join([*variables, shown])))
        rows.append((say("explain.gives"), finding_text(given, say)))

    title = Text.assemble((code, "bold"), f"  {say('explain.' + severity.value)}")
    said = {
        "kind": "finding",
        "code": code,
        "severity": severity.value,
        "message": _template(words.message),
        "hint": _template(words.hint),
        "example": None if example is None else example.text.decode("utf-8", "backslashreplace"),
        "gives": None if given is None else finding_json(given),
    }
    return title, rows, said


def _template(text: str) -> str:
    """Return a template as people read it."""
    return text.replace("{{", "\0").replace("}}", "\1").translate(_TEMPLATE)


_TEMPLATE = str.maketrans({"{": "<", "}": ">", "\0": "{", "\1": "}"})


def _number_block(number: AclCode, say: Speaker) -> Block:
    meaning = meaning_of(number, say.language)
    if meaning is None:
        cause, cure = say("explain.unknown_number", number=int(number)), ""
    else:
        cause, cure = meaning.cause, meaning.cure or say("explain.success")

    rows: Rows = [(say("explain.cause"), cause)]
    if cure:
        rows.append((say("explain.cure"), cure))

    said = {"kind": "number", "acl_code": int(number), "acl_name": number.name}
    return Text(number_of(number), "bold"), rows, said | {"cause": cause, "cure": cure or None}
