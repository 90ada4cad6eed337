"""The dialect, the nesting limit, NUL bytes and everything else about the text itself."""

from __future__ import annotations

import pytest

from aclasync.config import ConfigStep, ConfigText, Severity
from aclasync.config.check import Drafts
from aclasync.config.resolve import _check_text
from aclasync.config.text import Parsed
from aclasync.product import Product

from .checked import A2, errors, found, resolved

REFUSED = {
    "line comment": b'{"a":1} // c',
    "block comment": b'{/* c */"a":1}',
    "hash comment": b'{"a":1 # c\n}',
    "comma behind a member": b'{"a":1,}',
    "comma behind an element": b'{"a":[1,]}',
    "single quotes": b"{'a':1}",
    "bare key": b"{a:1}",
    "Python's True": b'{"a":True}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":-Infinity}',
    "hex": b'{"a":0x10}',
    "no digit before the point": b'{"a":.5}',
    "no digit behind the point": b'{"a":5.}',
    "plus": b'{"a":+1}',
    "leading zero": b'{"a":01}',
    "lone minus": b'{"a":-}',
    "byte order mark alone": b"\xef\xbb\xbf",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "invalid UTF-8": b'{"a":"\xff"}',
    "raw tab in a string": b'{"a":"\t"}',
    "raw newline in a string": b'{"a":"\n"}',
    "lone surrogate escape": b'{"a":"\\ud800"}',
    "lone low surrogate escape": b'{"a":"\\udc00"}',
    "unknown escape": b'{"a":"\\x"}',
    "form feed": b'{\x0c"a":1}',
    "no-break space": '{\u00a0"a":1}'.encode(),
    "text behind the end": b'{"a":1} x',
    "second value": b"{}{}",
    "1e400": b'{"a":1e400}',
    "number of 500 digits": b'{"a":' + b"9" * 500 + b"}",
    "white space only": b" \n\t ",
    "open object": b'{"a":1',
    "open array": b'{"a":[1',
    "open string": b'{"a":"b',
    "closer of the other kind": b'{"a":[1}',
    "surplus closer": b'{"a":1}}',
    "missing value": b'{"a":}',
    "missing colon": b'{"a" 1}',
    "missing comma": b'{"a":1 "b":2}',
    "two commas": b'{"a":1,,"b":2}',
    "leading comma": b'{,"a":1}',
    "NUL inside": b'{"a"\0:1}',
    "key that is no string": b"{1:2}",
    "colon for a key": b"{:2}",
    "bare word": b'{"a":b}',
    "only a closer": b"]",
    "only a colon": b":",
    "escape beside a byte that is no UTF-8": b'{"a":"\\u0041\xff"}',
    "single quotes with an escape": b"{'a':'x\\n'}",
    "escape in a string with a tab": b'{"a":"\\n\t"}',
    "deep in the recovering reader": b"[" * 60,
}
ACCEPTED = {
    "byte order mark in front": b'\xef\xbb\xbf{"a":1}',
    "NUL escape": b'{"a":"\\u0000"}',
    "DEL": b'{"a":"\x7f"}',
    "surrogate pair": b'{"a":"\\ud83d\\ude00"}',
    "large integer": b'{"a":18446744073709551616}',
    "very small integer": b'{"a":-9223372036854775809}',
    "exponent": b'{"a":1e5}',
    "minus zero": b'{"a":-0}',
    "array": b"[]",
    "array with the word": b'["dump"]',
    "number": b"1",
    "string": b'"dump"',
    "null": b"null",
    "true": b"true",
    "NUL behind the end": b'{"a":1}\0garbage',
    "empty": b"",
    "empty object": b"{}",
    "unknown key": b'{"x":{"y":[1]}}',
}


@pytest.mark.parametrize("kind", REFUSED)
def test_text_that_is_no_json_is_refused_with_100006(kind: str) -> None:
    """At the step that first parses, with a finding that points into the text."""
    resolution = resolved(REFUSED[kind])

    assert resolution.code == 100006
    assert next(iter(resolution.faults)) is ConfigStep.ERR_MSG_MODE
    assert resolution.config is None
    for finding in resolution.errors:
        assert finding.where.line >= 1
        assert finding.message


@pytest.mark.parametrize("kind", ACCEPTED)
def test_text_of_the_dialect_is_accepted(kind: str) -> None:
    """Whatever else there is to say of it."""
    resolution = resolved(ACCEPTED[kind])

    assert resolution.code == 0
    assert resolution.errors == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b'{"a":' * 10 + b"1" + b"}" * 10, 0),
        (b'{"a":' * 11 + b"1" + b"}" * 11, 100006),
        (b'{"a":' + b"[" * 10 + b"]" * 10 + b"}", 0),
        (b'{"a":' + b"[" * 11 + b"]" * 11 + b"}", 100006),
        (b'{"a":' * 9 + b"[" * 10 + b"]" * 10 + b"}" * 9, 0),
        (b'{"a":"' + b"{" * 12 + b'"}', 100006),
        (b'{"a":"' + b"[" * 12 + b'"}', 100006),
        (b'{"a":"' + b"}" * 12 + b"{" * 9 + b'"}', 0),
        (b'{"a":"' + b"{}" * 20 + b'"}', 0),
        (b'{"a":1}\0' + b"{" * 20, 0),
    ],
)
def test_nesting_is_counted_on_raw_bytes(text: bytes, code: int) -> None:
    """Ten of each kind; inside strings, too; closers never below zero; up to the first NUL."""
    assert resolved(text).code == code


def test_text_that_begins_with_nul_fails_in_the_dump_module_only() -> None:
    """One of the reference's two parsers sees nothing there."""
    resolution = resolved(b"\0{}")

    assert dict(resolution.faults) == {ConfigStep.DUMP: 100009}


def test_all_faults_of_the_syntax_are_found_in_one_pass() -> None:
    """With line and column, and the rules are checked on what was meant."""
    text = (
        b'{\n  "dump": {\n    "dump_list": [{"layer": ["a"] "model_name": "m"},],\n    // c\n  }\n}'
    )
    resolution = resolved(text)

    places = [(f.code, f.where.line, f.where.column) for f in resolution.errors]
    assert ("E122", 3, 35) in places
    assert ("E120", 4, 5) in places
    assert sum(code == "E121" for code, _, _ in places) == 2
    assert any(path == "$.dump.dump_path" for _, path in found(resolution))


def test_numbers_of_faults_are_bounded() -> None:
    """A megabyte of nonsense does not become a megabyte of findings."""
    assert len(resolved(b"{" + b",'" * 5000).errors) < 200


def test_duplicate_key_names_both_lines() -> None:
    """The last one counts."""
    resolution = resolved(b'{"err_msg_mode":"2",\n "err_msg_mode":"1"}')

    (warning,) = resolution.warnings
    assert (warning.path, warning.where.line) == ("$.err_msg_mode", 2)
    assert "line 1" in warning.hint
    assert resolution.effective.err_msg_mode.value == 1


def test_nested_duplicate_key_forgets_the_earlier_value() -> None:
    """A finding about the later value points to the later value."""
    resolution = resolved(b'{"dump":{"dump_mode":1},\n"dump":{"dump_mode":2,"dump_path":"./"}}')

    (error,) = resolution.errors
    assert (error.path, error.where.line) == ("$.dump.dump_mode", 2)


@pytest.mark.parametrize("text", [b"[]", b"1", b"null", b'"dump"', b"true", b"1.5"])
def test_root_that_is_no_object_configures_nothing(text: bytes) -> None:
    """It is accepted, and said."""
    assert [f.severity for f in resolved(text).findings[:1]] == [Severity.WARNING]


def test_location_counts_characters() -> None:
    """Not bytes, and from 1."""
    (error,) = resolved('{"温度": 1,\n "err_msg_mode": 1}'.encode()).errors
    assert (error.where.line, error.where.column) == (2, 18)
    assert str(error).startswith("acl.json:2:18: $.err_msg_mode: ")


def test_text_of_another_product_is_refused_with_its_number() -> None:
    """IPV350 has one number for everything."""
    assert resolved(b"{", product=Product.IPV350).code == 500000
    assert errors(b"{", product=A2)


def test_refusal_without_a_known_fault_is_an_error_all_the_same() -> None:
    """Should the two readers ever disagree, the strict one's verdict stands."""
    drafts = Drafts()
    _check_text(ConfigText("a", b"{}"), Parsed(b"{}", is_valid=False), drafts)
    assert [draft.code for draft in drafts] == ["E138"]


def test_content_keeps_every_byte() -> None:
    """Callbacks get it, also what is no UTF-8."""
    assert resolved(b'{"a":"\xff"}').content.encode("utf-8", "surrogateescape") == b'{"a":"\xff"}'
