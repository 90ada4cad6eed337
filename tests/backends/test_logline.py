"""The form of one line, whatever the text."""

from __future__ import annotations

import os
import re

import pytest

from aclasync.backends.embedded.logline import MAX_LINE_BYTES, caller, format_line

FORM = re.compile(
    r"\[ERROR\] APP\((\d+),([^)]*)\):\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} \[a\.py:7\](.*)\n"
)


def format_text(text):
    raw = format_line("ERROR", text, 1_700_000_000.25, "a.py:7")
    match = FORM.fullmatch(raw.decode())
    assert match, raw
    assert len(raw) <= MAX_LINE_BYTES
    return match


def test_line_has_the_form_of_the_reference():
    """Level, module, process, program, local time to the microsecond, place, text."""
    match = format_text("hello")
    assert match[1] == str(os.getpid())
    assert match[3] == "hello"


def test_microseconds_are_two_groups_of_three():
    """A quarter of a second is 250 milliseconds and 000 microseconds."""
    assert ".250.000 [" in format_line("ERROR", "x", 1_700_000_000.25, "a.py:7").decode()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("two\nlines", r"two\nlines"),
        ("two\r\nlines", r"two\r\nlines"),
        ("a\tb", r"a\tb"),
        ("nul\0byte", r"nul\x00byte"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("c1\x85control", r"c1\x85control"),
        ("separator\u2028here", r"separator\u2028here"),
        ("lone \ud800 surrogate", r"lone \ud800 surrogate"),
        ("温度过高", "温度过高"),
        ("", ""),
    ],
)
def test_hostile_text_stays_one_readable_line(text, written):
    """Nothing in a text can end the line, hide, or fail to be encoded."""
    assert format_text(text)[3] == written


@pytest.mark.parametrize("text", ["x" * 10_000, "温" * 10_000, "\n" * 10_000, "\U0001f600" * 500])
def test_long_text_is_cut_between_characters(text):
    """A cut line is as long as it may be, and still UTF-8."""
    raw = format_line("ERROR", text, 1_700_000_000.25, "a.py:7")
    assert raw.endswith(b"\n")
    assert raw.count(b"\n") == 1
    assert MAX_LINE_BYTES - 4 < len(raw) <= MAX_LINE_BYTES
    raw.decode()


def test_place_is_the_first_frame_outside_the_package():
    """A user's line names the user's file."""
    assert re.fullmatch(r"test_logline\.py:\d+", caller())
