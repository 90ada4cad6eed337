"""The words of every finding: a message and a hint by code. Templates take the draft's arguments.

A code never changes its meaning; a new meaning gets a new code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Formatter
from typing import Any, NamedTuple, final

#: Longer values are cut in messages.
MAX_SHOWN = 80


@final
class Words(NamedTuple):
    """Templates of one finding in one language."""

    message: str
    hint: str = ""


def words_of(code: str, args: Mapping[str, Any]) -> tuple[str, str]:
    """Return message and hint of a finding; there is nothing in them that UTF-8 can't say."""
    message, hint = (_FORMATTER.vformat(words, (), args) for words in ENGLISH[code])
    return _encodable(message), _encodable(hint)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


@final
class _Formatter(Formatter):
    """Templates with two more conversions: `!j` is a value as JSON, `!l` a list of strings."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "j":
            return _as_json(value)

        if conversion == "l":
            return ", ".join(map(_as_json, value))

        return super().convert_field(value, conversion)


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


_FORMATTER = _Formatter()

ENGLISH: dict[str, Words] = {
    # The file
    "E101": Words(
        "there is no such file: {detail}",
        "check the path; relative ones start at the working directory",
    ),
    "E102": Words("the file can't be opened: {detail}", "check its permissions"),
    "E103": Words("this is no regular file: {detail}", "give the path of a JSON file"),
    "E104": Words("the file is too large: {detail}", "the limit is 10 MiB"),
    # The text
    "E110": Words(
        "nested too deep: {depth} {kind} within each other",
        "keep to 10; braces and brackets inside strings count, too",
    ),
    "E111": Words(
        "a NUL byte stands inside the JSON text", "remove it; the reference stops reading there"
    ),
    "E112": Words("not valid UTF-8", "save the file as UTF-8"),
    "E113": Words("the text is UTF-16", "save the file as UTF-8"),
    "E114": Words(
        "there is only white space",
        "write {{}} for an empty configuration, or leave the file empty",
    ),
    "E115": Words("the text begins with a NUL byte", "the dump module can't parse that; remove it"),
    "E120": Words("comments are no JSON", "remove {text!j}"),
    "E121": Words("a comma too many", "remove the comma before {text}"),
    "E122": Words("a comma is missing", "put one after the value before {text}"),
    "E123": Words("a colon is missing after the key", 'write "key": value'),
    "E124": Words("single quotes are no JSON", "write {text!j}"),
    "E125": Words("the key has no quotes", "write {text!j}"),
    "E126": Words("{text} is no JSON value", "write {better}"),
    "E127": Words(
        "{text} is no JSON number",
        "write digits without a leading zero or plus, and digits on both sides of the point",
    ),
    "E128": Words("the number {text} is out of range", "it must fit a double"),
    "E129": Words("the string is not closed", 'put a " at its end'),
    "E130": Words("a control character stands in a string", "write it as {better}"),
    "E131": Words("{text} is no escape sequence", "write \\\\ for a backslash"),
    "E132": Words(
        "{text} is half of a surrogate pair", "write both halves, or the character itself"
    ),
    "E133": Words("{text} is not closed", "put {better} at its end"),
    "E134": Words("{text} closes nothing", "remove it, or close what was opened with {better}"),
    "E135": Words("there is more text after the end", "a file holds one value; remove {text!j}"),
    "E136": Words("this is no white space of JSON: {text!a}", "use spaces, tabs and newlines"),
    "E137": Words("{text!j} was not expected here", "expected {better}"),
    "E138": Words("the text is no JSON", "compare it with RFC 8259"),
    "E139": Words("a value is missing", "write one, or remove the key"),
    # A mapping
    "E150": Words(
        "{kind} can't be said in JSON",
        "use text, numbers, booleans, None, lists and mappings with text keys",
    ),
    "E151": Words("{text} is no number of JSON", "leave the key out"),
    "E152": Words("the key {text} is no text", "JSON keys are strings"),
    "E153": Words("nested too deep, or within itself", "keep to 10 levels"),
    "E154": Words("the text holds half of a surrogate pair", "it can't be written as UTF-8"),
    "E155": Words("an integer of {bits} bits is no JSON number here", "it must fit a double"),
    # dump
    "E200": Words("must be {expected}, not {got}", "{better}"),
    "E201": Words("is empty", "choose one of {allowed!l}, or leave the key out"),
    "E202": Words("{value!j} is none of {allowed!l}", "{better}"),
    "E203": Words(
        "has an empty piece", "write names with single commas and no spaces between them"
    ),
    "E210": Words("{value!j} is not allowed with dump_scene {scene!j}", "{better}"),
    "E211": Words("is missing", "say where dumps are to be written"),
    "E212": Words("is empty", "say where dumps are to be written"),
    "E213": Words("is {length} bytes long", "keep to 512"),
    "E214": Words("the folder {value!j} does not exist", "create it; it is never made for you"),
    "E215": Words("{value!j} is no folder", "name a folder"),
    "E216": Words("the folder {value!j} can't be read and written", "check its permissions"),
    "E218": Words(
        "the folder behind the address has characters that are not allowed",
        "use ASCII letters, digits and -=[];\\,./!@#$%^&*()_+{{}}:?",
    ),
    "E220": Words("dump_op_switch can't be on together with dump_debug", "switch one of them off"),
    "E221": Words(
        "{value!j} is no step",
        "write steps and ranges like 0|3-5, at most 100, each first-last ascending",
    ),
    "E230": Words(
        "is empty",
        "name something, or leave the key out; only with dump_op_switch on it may be empty",
    ),
    "E231": Words("is missing", "the watcher needs watcher_nodes in every entry of dump_list"),
    "E232": Words("the watcher has no model_name", "remove it"),
    "E233": Words("is only for dump_scene watcher", "remove it, or set dump_scene"),
    "E234": Words("has {count} entries", "keep to 100"),
    "E235": Words("needs dump_level op", 'write "dump_level": "op"; the default is all'),
    "E236": Words("needs a model_name", "say which model the range is of"),
    "E237": Words("needs both begin and end", "name the first and the last operator"),
    "E240": Words("is empty", "name statistics, or leave the key out"),
    "E241": Words("is only for dump_data stats", 'write "dump_data": "stats", or remove it'),
    "E250": Words("{product} has no aic_err_detail_dump", "use aic_err_norm_dump"),
    # The others
    "E300": Words("must be {expected}, not {got}", "{better}"),
    "E301": Words("{value!j} is none of {allowed!l}", "write it as a string, exactly"),
    "E310": Words(
        "{value!j} is no device number",
        'write a string of digits without sign, space or leading zero, like "0"',
    ),
    "E320": Words("must be a number, not {got}", "write bytes as a JSON number"),
    "E330": Words("must be a positive integer, not {got}", "write bytes as a JSON integer"),
    "E331": Words("{value} is out of range", "write {low} to {high} bytes"),
    "E340": Words("{product} has no event mode", "remove the key"),
    "E341": Words(
        'must be "0" or "1", not {got}', "write a string; the reference crashes on anything else"
    ),
    # profiler
    "E400": Words(
        "must be an object, not {got}", 'write {{"switch": "on"}}, or remove the section'
    ),
    "E401": Words("is not a profiling key", "{better}"),
    "E402": Words("must be {expected}, not {got}", "{better}"),
    "E403": Words("{value!j} is none of {allowed!l}", "{better}"),
    "E404": Words("{value} is out of range", "write {low} to {high}"),
    "E405": Words("has a character that is not allowed: {text!j}", "use a plain path"),
    "E406": Words(
        "{value!j} is no storage limit", "write megabytes like 500MB, from 200 to 4294967295"
    ),
    "E407": Words("is not available on {product}", "remove it"),
    "E408": Words("is {length} characters long", "keep to {high}"),
    "E409": Words("is empty", "write something, or remove the key"),
    # Accepted, but
    "W001": Words("unknown key, ignored", "{better}"),
    "W002": Words(
        "the key stands twice, in lines {earlier} and {later}; the last one counts",
        "remove the one in line {earlier}",
    ),
    "W003": Words(
        "the root is {got}, not an object; nothing is configured", "put everything into {{}}"
    ),
    "W004": Words("the file is empty; nothing is configured", "write {{}}, or give no file"),
    "W005": Words("text after a NUL byte is ignored", "remove it"),
    "W010": Words("must be an object, not {got}; ignored", "write {{...}}, or remove the section"),
    "W011": Words("is not supported on {product}; it has no effect", "remove it"),
    "W012": Words("{value} is not a multiple of {step}; {used} will be used", "write {used}"),
    "W013": Words("{value} is below the minimum; {used} stays in force", "write {used} or more"),
    "W014": Words(
        "{value} is above the maximum of {product}, {high}",
        "opening a device will fail with 107000",
    ),
    "W015": Words("{value} wraps to {used}", "write a positive number of bytes"),
    "W016": Words("{value} is cut to {used}", "write a whole number below 2 ** 32"),
    "W020": Words(
        "dump and profiling together slow everything down and disturb the timings",
        "use one at a time",
    ),
    "W021": Words(
        "{value!j} is no number of operators; {used} is used",
        'write a string of digits above 0, like "10000"',
    ),
    "W022": Words(
        "nothing is dumped with these settings",
        "add a dump_list, or switch dump_op_switch or dump_debug on",
    ),
    "W023": Words("can match nothing", "{better}"),
    "W024": Words("has no effect with {reason}", "remove it"),
    "W025": Words(
        "the remote form is written to a local folder; nothing is sent", "name the folder alone"
    ),
    "W026": Words("{variable}={value!j} overrides it", "unset the variable, or remove the key"),
    "W027": Words(
        "on a real device this ends the process and pauses the core",
        "use aic_err_norm_dump in production",
    ),
    "W029": Words("can't be recorded without dump_path", "add one"),
    "W030": Words("cut to 32 bits this is {used}", "write a device number"),
    "W031": Words("deprecated in the profiler", "remove it"),
    "W032": Words(
        "there is no device {value} among the {count} that ASCEND_RT_VISIBLE_DEVICES shows",
        "they are renumbered from 0; init will fail with 107001",
    ),
    "W040": Words("{variable}={value!j} is not usable; {used} is used", "{better}"),
    "W041": Words(
        "{variable}={value!j} is no ascending list of devices; "
        "reading stops at the first bad entry",
        "write ascending numbers with single commas",
    ),
    "W042": Words(
        "nothing follows the address, so the whole is taken for a local folder", "write ip:folder"
    ),
    # Effective values
    "I001": Words("{value} ({origin})"),
    "I002": Words("acts only on operators built with O0 on {product}"),
    "I003": Words("no configuration file on {product}, which is no error there: {detail}"),
}
