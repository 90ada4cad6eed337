"""Whatever is said in English is said in Chinese, of the same places."""

from __future__ import annotations

import ast
import json
import re
import string
from pathlib import Path

import pytest

from aclasync import Product, config, resolve_config
from aclasync.config.catalog import ENGLISH, Phrase, Words
from aclasync.config.catalog_zh import CHINESE, PHRASES
from aclasync.config.check import kind_of
from aclasync.config.examples import EXAMPLES as SHOWN
from aclasync.config.language import Language

from .test_findings import EXAMPLES

# Words that hold a sentence together: no key, value or name in a configuration is one.
ENGLISH_WORDS = re.compile(
    r"\b(the|is|are|was|not|a|an|or|and|of|it|its|to|with|must|be|write|remove|used|has|have|"
    r"did|you|mean|string|number|object|array|default)\b"
)


def fields_of(words: Words) -> set[str]:
    texts = (words.message, words.hint)
    return {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}


def test_languages_have_the_same_codes() -> None:
    """A finding that one of them lacks could not be said to somebody."""
    assert set(ENGLISH) == set(CHINESE)


@pytest.mark.parametrize("code", ENGLISH)
def test_languages_say_the_same_values(code: str) -> None:
    """And a hint in the one is a hint in the other."""
    assert fields_of(CHINESE[code]) == fields_of(ENGLISH[code])
    assert bool(CHINESE[code].hint) == bool(ENGLISH[code].hint)


@pytest.mark.parametrize("code", EXAMPLES)
def test_finding_is_said_in_chinese_throughout(code: str) -> None:
    """With no English word left over between the values; place and number are the same."""
    english = EXAMPLES[code]
    chinese = english.in_language(Language.CHINESE)
    assert len(chinese.findings) == len(english.findings)
    for ours, theirs in zip(chinese.findings, english.findings, strict=True):
        assert (ours.code, ours.path, ours.where, ours.acl_code) == (
            theirs.code,
            theirs.path,
            theirs.where,
            theirs.acl_code,
        )
        if ours.code != "I001":  # whose value is one
            said = re.sub(r"'[^']*'|\"[^\"]*\"", "", f"{ours.message} {ours.hint}")
            assert not ENGLISH_WORDS.search(said), said


def test_every_recording_can_be_said_in_chinese() -> None:
    """Whatever the values in it are."""
    cases = Path(__file__).parents[1] / "conformance" / "cases"
    for name in ("config", "profiler", "people"):
        for line in (cases / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            raw = json.loads(line)["config"].encode("utf-8", "surrogateescape")
            resolution = resolve_config(raw, env={}, product=Product.ATLAS_A2)
            chinese = resolution.in_language(Language.CHINESE)
            assert [f.code for f in chinese.findings] == [f.code for f in resolution.findings]


def test_language_is_kept_and_changes_nothing_else() -> None:
    """A resolution in Chinese is the same resolution."""
    english = EXAMPLES["E302"]
    chinese = english.in_language(Language.CHINESE)
    assert chinese == english
    assert chinese.in_language(Language.ENGLISH).findings == english.findings
    assert "字符串" in str(chinese.errors[0])


@pytest.mark.parametrize("template", PHRASES)
def test_phrase_takes_the_same_values(template: str) -> None:
    """As its English."""
    names = {name for _, name, _, _ in string.Formatter().parse(template) if name}
    args = dict.fromkeys(names, "x")
    assert str(Phrase(template, args))
    assert PHRASES[template].format(**args)
    assert {n for _, n, _, _ in string.Formatter().parse(PHRASES[template]) if n} == names


def test_every_phrase_of_the_rules_is_there() -> None:
    """Read from the source: a rule that says something new must say it in Chinese, too."""
    said = {
        node.args[0].value
        for path in Path(config.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Phrase"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    assert len(said) > 10
    assert said <= set(PHRASES)
    for value in (None, True, False, "", 1, 1.5, [], {}):
        assert kind_of(value) in PHRASES


@pytest.mark.parametrize(
    ("env", "language"),
    [
        ({}, Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, Language.CHINESE),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN"}, Language.CHINESE),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "", "LC_MESSAGES": "de_DE"}, Language.ENGLISH),
    ],
)
def test_locale_chooses_the_language(env: dict[str, str], language: Language) -> None:
    """By the strongest of its variables that is set."""
    assert Language.of_locale(env) is language


@pytest.mark.parametrize("code", SHOWN)
def test_example_is_one_of_its_finding(code: str) -> None:
    """What an explanation shows is what happens."""
    assert code in {finding.code for finding in SHOWN[code].resolve().findings}


def test_only_what_no_text_shows_has_no_example() -> None:
    """Files, folders, mappings, and texts too long to be shown."""
    without = set(ENGLISH) - set(SHOWN)
    assert without == {
        "E101", "E102", "E103", "E104", "E105", "E111", "E113", "E115", "E138", "E140",
        "E150", "E151", "E152", "E153", "E154", "E155", "E213", "E214", "E215", "E216", "E234",
        "E408", "W006", "I001", "I003",
    }  # fmt: skip
