"""The words of every finding: a message and a hint by code. Templates take the draft's arguments.

A code never changes its meaning; a new meaning gets a new code. Another language is another table
with the same codes: `catalog_zh`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, final

from attrs import field, frozen


@final
class Words(NamedTuple):
    """Templates of one finding in one language."""

    message: str
    hint: str = ""


@final
@frozen
class Phrase:
    """A piece of a message that is a few words itself, to be said in the message's language."""

    #: In English, by which other languages find theirs.
    template: str
    args: Mapping[str, Any] = field(factory=dict, hash=False)

    def __str__(self) -> str:
        return self.template.format(**self.args)


ENGLISH: Mapping[str, Words] = {
    # The file
    "E101": Words(
        "the file can't be found: {detail}",
        "check the path; relative ones start at the working directory",
    ),
    "E102": Words("the file can't be opened: {detail}", "check its permissions"),
    "E103": Words("this is no regular file: {detail}", "give the path of a JSON file"),
    "E104": Words("the file is too large: {detail}", "the limit is 10 MiB"),
    "E105": Words(
        "a text is taken for a path, and no file has this one: {detail}",
        "give JSON text as bytes, such as b'{{}}', or give a mapping",
    ),
    # The text
    "E110": Words(
        "nested too deep: {depth} {kind} within each other",
        "10 are allowed; braces and brackets inside strings count, too",
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
    "E120": Words("comments are no JSON", "remove {text!r}"),
    "E121": Words("a comma too many", "remove it"),
    "E122": Words("a comma is missing", "put one after the value before {text!r}"),
    "E123": Words("a colon is missing after the key", 'write "key": value'),
    "E124": Words("single quotes are no JSON", 'write "{text}"'),
    "E125": Words("the key has no quotes", 'write "{text}"'),
    "E126": Words("{text!r} is no JSON value", "write {better}"),
    "E127": Words(
        "{text!r} is no JSON number",
        "write digits without a leading zero or plus, and digits on both sides of the point",
    ),
    "E128": Words("the number {text} is out of range", "it must fit a double"),
    "E129": Words("the string is not closed", 'put a " at its end'),
    "E130": Words("a control character stands in a string", "write it as {better}"),
    "E131": Words("{text!r} is no escape sequence", "write \\\\ for a backslash"),
    "E132": Words("half of a surrogate pair", "write both halves, or the character itself"),
    "E133": Words("{text!r} is not closed", "put {better!r} at its end"),
    "E134": Words("{text!r} closes nothing", "remove it, or close what was opened with {better!r}"),
    "E135": Words("there is more text after the end", "a file holds one value; remove {text!r}"),
    "E136": Words("this is no white space of JSON: {text!r}", "use spaces, tabs and newlines"),
    "E137": Words("{text!r} was not expected here", "expected {better}"),
    "E139": Words("a value is missing", "write one, or remove the key"),
    "E138": Words("not JSON: {text}"),
    "E140": Words("nested too deep to be read", "10 levels are allowed"),
    # A mapping
    "E150": Words(
        "{kind} can't be said in JSON",
        "use text, numbers, booleans, None, lists and mappings with text keys",
    ),
    "E151": Words("{text} is no number of JSON", "leave the key out"),
    "E152": Words("has a key of type {kind}", "JSON keys are strings"),
    "E153": Words("nested too deep", "10 mappings and 10 lists within each other are allowed"),
    "E154": Words("the text holds half of a surrogate pair", "it can't be written as UTF-8"),
    "E155": Words("holds itself", "put a value there"),
    # dump
    "E200": Words("must be {expected}, not {got}"),
    "E201": Words("is empty", "choose one of {allowed}, or leave the key out"),
    "E202": Words("{value} is none of {allowed}", "the spelling must be exact"),
    "E203": Words(
        "has an empty piece", "write names with single commas and no spaces between them"
    ),
    "E210": Words("{value} is not allowed with dump_scene {scene}", "{better}"),
    "E211": Words("is missing", "say where dumps are to be written"),
    "E212": Words("is empty", "say where dumps are to be written"),
    "E213": Words("is {length} bytes long", "{high} are allowed"),
    "E214": Words("the folder {value} does not exist", "create it; it is never made for you"),
    "E215": Words("{value} is no folder", "name a folder"),
    "E216": Words("the folder {value} can't be read and written", "check its permissions"),
    "E218": Words(
        "the folder behind the address has characters that are not allowed",
        "use ASCII letters, digits and -=[];\\,./!@#$%^&*()_+{{}}:?",
    ),
    "E220": Words("dump_op_switch can't be on together with dump_debug", "switch one of them off"),
    "E221": Words(
        "{value} is no step",
        "write steps and ranges like 0|3-5, at most {high}, each first-last ascending",
    ),
    "E230": Words(
        "is empty",
        "name something, or leave the key out; only with dump_op_switch on it may be empty",
    ),
    "E231": Words("is missing", "the watcher needs watcher_nodes in every entry of dump_list"),
    "E232": Words("the watcher has no model_name", "remove it"),
    "E233": Words("is only for dump_scene watcher", "remove it, or set dump_scene"),
    "E234": Words("has {count} entries", "{high} are allowed"),
    "E235": Words("needs dump_level op", 'write "dump_level": "op"; the default is all'),
    "E236": Words("needs a model_name", "say which model the range is of"),
    "E237": Words("needs both begin and end", "name the first and the last operator"),
    "E240": Words("is empty", "name statistics, or leave the key out"),
    "E241": Words("is only for dump_data stats", 'write "dump_data": "stats", or remove it'),
    "E250": Words("{product} has no aic_err_detail_dump", "use aic_err_norm_dump"),
    # The others
    "E301": Words("{value} is none of {allowed}", "write it as a string, exactly"),
    "E302": Words("must be {expected}, not {got}", "write it in quotes"),
    "E310": Words(
        "{value} is no device number",
        'write a string of digits without sign, space or leading zero, like "0"',
    ),
    "E311": Words("must be a string, not {got}", 'write digits in quotes, like "0"'),
    "E320": Words("must be a number, not {got}", "write bytes as a JSON number"),
    "E330": Words("must be a positive integer, not {got}", "write bytes as a JSON integer"),
    "E331": Words("{value} is out of range", "write {low} to {high}"),
    "E340": Words("{product} has no event mode", "remove the key"),
    "E341": Words(
        'must be "0" or "1", not {got}', "write a string; the reference crashes on anything else"
    ),
    # profiler
    "E400": Words("must be an object, not {got}"),
    "E401": Words(
        "is not a profiling key", "{better}; the reference refuses keys that it does not know"
    ),
    "E402": Words("must be {expected}, not {got}"),
    "E403": Words("{value} is none of {allowed}"),
    "E405": Words("has a character that is not allowed: {text}", "use a plain path"),
    "E406": Words(
        "{value} is no storage limit", "write megabytes like 500MB, from {low} to {high}"
    ),
    "E407": Words("is not available on {product}", "remove it"),
    "E408": Words("is {length} bytes long", "{high} are allowed"),
    # Accepted, but
    "W001": Words("unknown key, ignored", "{better}"),
    "W002": Words("the key stands twice; the last one counts", "remove the one in line {line}"),
    "W003": Words("the root is {got}, not an object; nothing is configured", "write {{...}}"),
    "W004": Words("the file is empty; nothing is configured", "write {{...}}, or give no file"),
    "W005": Words("text after a NUL byte is ignored", "remove it"),
    "W006": Words("{count} more unknown keys, ignored", "remove them"),
    "W010": Words("must be an object, not {got}; ignored", "write {{...}}, or remove the key"),
    "W011": Words(
        "is not supported on {product}; it has no effect",
        "remove it, or have the file judged for the product that it is for",
    ),
    "W012": Words("{value} is not a multiple of {step}; {used} will be used"),
    "W013": Words("{value} is below the minimum; {used} stays in force"),
    "W014": Words(
        "{value} is above the maximum of {product}, {high}",
        "opening a device will fail with 107000",
    ),
    "W015": Words("{value} wraps to {used}", "write a positive number of bytes"),
    "W016": Words("{value} is cut to {used}"),
    "W018": Words("is not documented for {product}", "try what it does there, or remove it"),
    "W020": Words(
        "dump and profiling together slow everything down and disturb the timings",
        "use one at a time",
    ),
    "W021": Words("{value} is no number; {used} is used", 'write a string of digits, like "10000"'),
    "W022": Words(
        "nothing is dumped with these settings",
        "add a dump_list, or switch dump_op_switch or dump_debug on",
    ),
    "W023": Words("can match nothing", "name at least one"),
    "W024": Words("has no effect with {reason}", "remove it"),
    "W025": Words("the remote form is written to a local folder; nothing is sent"),
    "W026": Words("{variable}={value} overrides it", "unset the variable, or remove the key"),
    "W027": Words(
        "on a real device this ends the process and pauses the core",
        "use aic_err_norm_dump in production",
    ),
    "W029": Words("can't be recorded without dump_path", "add one"),
    "W030": Words("cut to 32 bits this is {used}", "write a device number"),
    "W031": Words("deprecated in the profiler", "remove it"),
    "W034": Words("nothing is watched", "add a dump_list with watcher_nodes"),
    "W040": Words("{variable}={value} is not usable; {used}", "{better}"),
    "W041": Words(
        "{variable}={value}: reading stops at the first bad entry; {used}",
        "write ascending numbers with single commas",
    ),
    "W043": Words("{keys} in {variable} can't be used", "write keys of the profiler section"),
    "W042": Words(
        "nothing follows the address, so the whole is taken for a local folder", "write ip:folder"
    ),
    # Effective values
    "I001": Words("{value} ({origin})"),
    "I002": Words("acts only on operators built with O0 on {product}"),
    "I003": Words("no configuration on {product}, which is no error there: {detail}"),
    "I004": Words(
        "relative to the working directory of the process",
        "write an absolute path if programs are started elsewhere",
    ),
}
