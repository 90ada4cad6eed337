"""Repairs of a configuration's text that change nothing but what was plainly meant.

Each repair is an edit of the text, so that all else, its layout first, stays as it was written.
What is repaired is in one table, by the code of its finding; what has no entry is not safe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, final

from attrs import evolve, frozen

from .findings import Draft, Path, Severity
from .keys import KeySpec, Kind
from .located import COMMENT, MAX_FAULTS, WORD
from .lookup import KEYS
from .profiler_keys import AIC_METRICS
from .resolve import Resolution, resolve_config
from .spelling import closest

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'((?:[^'\\\n]|\\.)*)'")
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|[^\s,:{}\[\]"]+')
_BY_PATH = {key.path: key for key in KEYS}
_JSON_WORDS = ("true", "false", "null")


@final
class Edit(NamedTuple):
    """A piece of text in the place of another."""

    start: int
    end: int
    text: str


@final
@frozen
class _Fault:
    """A finding, and the text and the tree that it is of."""

    draft: Draft
    at: int
    text: str
    root: Any
    resolution: Resolution


_Repair: TypeAlias = "Callable[[_Fault], Edit | None]"


def fixed(resolution: Resolution) -> Resolution:
    """Return the resolution of the repaired text; the same one if nothing can be repaired.

    A key that did nothing does no harm: if it made an error under the name that was meant, all
    keys keep theirs.
    """
    text = resolution.text
    if not text.is_file or text.fault is not None or b"\0" in text.raw or not text.raw:
        return resolution

    try:
        text.raw.decode()
    except UnicodeDecodeError:
        return resolution

    safest = _repaired(resolution, is_renaming=False)
    renamed = _repaired(resolution, is_renaming=True)
    return renamed if len(renamed.errors) <= len(safest.errors) else safest


def _repaired(resolution: Resolution, *, is_renaming: bool) -> Resolution:
    for repairs in _STAGES:
        chosen = {c: r for c, r in repairs.items() if is_renaming or r is not _rename}
        seen = {resolution.text.raw}
        while edits := list(_edits(resolution, chosen)):
            text = evolve(resolution.text, raw=_edited(resolution, edits))
            env, product = resolution.environment.given, resolution.product
            tried = resolve_config(text, env=env, product=product)
            is_better = _is_better(tried, resolution, is_of_words=repairs is _WORDS)
            if text.raw in seen or not is_better:
                break

            seen.add(text.raw)
            resolution = tried

    return resolution


def _is_better(tried: Resolution, before: Resolution, *, is_of_words: bool) -> bool:
    """Whether a repair did away with something; with a key renamed, its value may be next."""
    gained = said_count(before) - said_count(tried)
    # More faults than are listed may be left.
    is_capped = len(before.tree.faults) >= MAX_FAULTS
    return gained > 0 or (gained == 0 and (is_of_words or is_capped))


def _edits(resolution: Resolution, repairs: Mapping[str, _Repair]) -> Iterator[Edit]:
    tree, drafts = resolution.tree, list(resolution.located_drafts())
    # A comment that could not be removed: nothing else can be placed.
    if repairs is not _COMMENTS and any(draft.code == "E120" for draft, _ in drafts):
        drafts = [(d, at) for d, at in drafts if d.code in _COMMENTS]

    for draft, at in drafts:
        repair = repairs.get(draft.code)
        if repair is not None:
            edit = repair(_Fault(draft, at, tree.text, tree.value, resolution))
            if edit is not None and tree.text[edit.start : edit.end] != edit.text:
                yield edit


def _edited(resolution: Resolution, edits: list[Edit]) -> bytes:
    text, made, at = resolution.tree.text, [], 0
    for edit in sorted(set(edits)):
        if edit.start >= at:
            made += [text[at : edit.start], edit.text]
            at = edit.end

    mark = "\ufeff" if resolution.content.startswith("\ufeff") else ""
    return (mark + "".join(made) + text[at:]).encode()


# Of the syntax


def _without_comment(fault: _Fault) -> Edit:
    match = COMMENT.match(fault.text, fault.at)
    assert match is not None
    start, end = match.span()
    before = fault.text[:start].rstrip(" \t")
    is_whole_line = before.endswith("\n") or not before
    if is_whole_line and fault.text[end : end + 1] == "\n":
        return Edit(len(before), end + 1, "")

    is_at_end = fault.text[end : end + 1] in ("", "\n", "\r")
    return Edit(len(before) if is_at_end else start, end, "")


def _without_comma(fault: _Fault) -> Edit | None:
    return Edit(fault.at, fault.at + 1, "") if fault.text[fault.at] == "," else None


def _with_comma(fault: _Fault) -> Edit | None:
    end = len(fault.text[: fault.at].rstrip())
    return Edit(end, end, ",")


def _double_quoted(fault: _Fault) -> Edit | None:
    match = _SINGLE_QUOTED.match(fault.text, fault.at)
    if match is None:
        return None

    inner = match[1].replace("\\'", "'")
    return Edit(*match.span(), '"' + re.sub(r'(?<!\\)"', lambda _: '\\"', inner) + '"')


def _quoted(fault: _Fault) -> Edit | None:
    match = WORD.match(fault.text, fault.at)
    return Edit(*match.span(), f'"{match[0]}"') if match else None


def _json_word(fault: _Fault) -> Edit | None:
    match, better = WORD.match(fault.text, fault.at), fault.draft.args["better"]
    return Edit(*match.span(), better) if match and better in _JSON_WORDS else None


def _escaped(fault: _Fault) -> Edit:
    return Edit(fault.at, fault.at + 1, json.dumps(fault.text[fault.at])[1:-1])


def _blank(fault: _Fault) -> Edit:
    return Edit(fault.at, fault.at + 1, " ")


# Of keys and values


def _rename(fault: _Fault) -> Edit | None:
    args, path = fault.draft.args, fault.draft.path
    meant = closest(args["key"], args["known"])
    beside = _value_at(fault.root, path[:-1])
    match = _STRING.match(fault.text, fault.at)
    if meant is None or match is None or not isinstance(beside, dict) or meant in beside:
        return None

    return Edit(*match.span(), json.dumps(meant))


def _revalue(fault: _Fault) -> Edit | None:
    spec, value = _spec_of(fault.draft.path), _value_at(fault.root, fault.draft.path)
    match = _SCALAR.match(fault.text, fault.at)
    if spec is None or match is None or isinstance(value, (dict, list)):
        return None

    meant = meant_by(spec, value, fault)
    return None if meant is None else Edit(*match.span(), json.dumps(meant, ensure_ascii=False))


def meant_by(spec: KeySpec, value: Any, fault: _Fault) -> Any:
    """Return the value that a key allows and that was plainly meant; None if there is none."""
    if spec.kind in (Kind.NUMBER, Kind.INTEGER):
        return int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value) else None

    if spec.kind is Kind.TEXTS and not isinstance(fault.draft.path[-1], int):
        return [value] if isinstance(value, str) and value else None

    if isinstance(value, bool):
        text = "on" if value else "off"
    elif isinstance(value, int):
        text = str(value)
    elif isinstance(value, str):
        text = value.strip()
    else:
        return None

    if spec.is_list:
        pieces = [
            _allowed(spec, piece.strip(), fault) for piece in text.split(",") if piece.strip()
        ]
        return ",".join(filter(None, pieces)) if pieces and all(pieces) else None

    return _allowed(spec, text, fault)


def _allowed(spec: KeySpec, text: str, fault: _Fault) -> str | None:
    by_case = {known.casefold(): known for known in spec.allowed_on(fault.resolution.product)}
    if text.casefold() in by_case:
        return by_case[text.casefold()]

    if not spec.pattern or spec is AIC_METRICS:
        return None

    spellings = (text, re.sub(r"\s", "", text).upper(), text.lstrip("+0") or "0")
    return next((s for s in spellings if re.fullmatch(spec.pattern, s)), None)


def _spec_of(path: Path) -> KeySpec | None:
    places = tuple("[]" if isinstance(part, int) else part for part in path)
    return _BY_PATH.get(places) or _BY_PATH.get(places[:-1])


def _value_at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]

    return value


_COMMENTS: Mapping[str, _Repair] = {"E120": _without_comment}
_SYNTAX: Mapping[str, _Repair] = {
    "E121": _without_comma,
    "E122": _with_comma,
    "E124": _double_quoted,
    "E125": _quoted,
    "E126": _json_word,
    "E130": _escaped,
    "E136": _blank,
}
_WORDS: Mapping[str, _Repair] = {
    "E401": _rename,
    "W001": _rename,
    **dict.fromkeys(
        ("E200", "E202", "E203", "E301", "E302", "E310", "E311", "E320", "E330", "E341", "E402",
         "E403", "E406", "W021"),
        _revalue,
    ),
}  # fmt: skip
_STAGES = (_COMMENTS, _SYNTAX, _WORDS)
REPAIRS: Mapping[str, _Repair] = {**_COMMENTS, **_SYNTAX, **_WORDS}


def said_count(resolution: Resolution) -> int:
    """Return how many errors and warnings there are."""
    return sum(finding.severity is not Severity.INFO for finding in resolution.findings)
