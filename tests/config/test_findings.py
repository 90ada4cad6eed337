"""Every code of the catalogue is said of something, and every finding can be shown and kept."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from aclasync.config import ConfigText, FolderState, ReadFault, Resolution, resolve_config
from aclasync.config.catalog import ENGLISH
from aclasync.product import Product

from .checked import A2, resolved

IPV350, TRAINING, ONLY_950 = Product.IPV350, Product.ATLAS_TRAINING, Product.ASCEND_950


def faulty(fault: ReadFault, product: Product = A2, name: str = "/x/acl.json") -> Resolution:
    text = ConfigText(name, is_file=True, fault=fault, fault_detail="because")
    return resolve_config(text, env={}, product=product)


def mapping(value: Any) -> Resolution:
    return resolve_config({"a": value}, env={}, product=A2)


def dump(product: Product = A2, env: dict[str, str] | None = None, **keys: Any) -> Resolution:
    return resolved({"dump": {"dump_path": "/d", **keys}}, product=product, env=env)


def item(*, level: str = "op", scene: str | None = None, **keys: Any) -> Resolution:
    more = {"dump_scene": scene} if scene else {}
    return dump(dump_list=[keys], dump_level=level, **more)


def profiler(product: Product = A2, **keys: Any) -> Resolution:
    return resolved({"profiler": {"switch": "on", **keys}}, product=product)


def stack(product: Product = A2, **keys: Any) -> Resolution:
    return resolved({"StackSize": keys}, product=product)


def folder(state: FolderState) -> Resolution:
    return dump(dump_op_switch="on").with_folders({"/d": state})


def within_itself() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["b"] = circle
    return circle


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else 1


EXAMPLES: dict[str, Resolution] = {
    "E101": faulty(ReadFault.MISSING),
    "E102": faulty(ReadFault.UNREADABLE),
    "E103": faulty(ReadFault.NOT_REGULAR),
    "E104": faulty(ReadFault.TOO_LARGE),
    "E105": faulty(ReadFault.MISSING, name='/x/{"err_msg_mode": "1"}'),
    "E110": resolved(b"{" * 11),
    "E111": resolved(b'{"a"\0:1}'),
    "E112": resolved(b'{"a":"\xff"}'),
    "E113": resolved('{"a":1}'.encode("utf-16")),
    "E114": resolved(b" "),
    "E115": resolved(b"\0"),
    "E120": resolved(b"{} // x"),
    "E121": resolved(b'{"a":1,}'),
    "E122": resolved(b'{"a":1 "b":2}'),
    "E123": resolved(b'{"a" 1}'),
    "E124": resolved(b"{'a':1}"),
    "E125": resolved(b"{a:1}"),
    "E126": resolved(b'{"a":True}'),
    "E127": resolved(b'{"a":01}'),
    "E128": resolved(b'{"a":1e400}'),
    "E129": resolved(b'{"a":"b'),
    "E130": resolved(b'{"a":"\t"}'),
    "E131": resolved(b'{"a":"\\x"}'),
    "E132": resolved(b'{"a":"\\ud800"}'),
    "E133": resolved(b'{"a":1'),
    "E134": resolved(b"{}}"),
    "E135": resolved(b"{} x"),
    "E136": resolved(b"{\x0c}"),
    "E137": resolved(b'{"a"::1}'),
    "E139": resolved(b'{"a":}'),
    "E140": resolved(b'["]",' * 2000),
    "E150": mapping({1, 2}),
    "E151": mapping(float("nan")),
    "E152": mapping({1: 2}),
    "E153": mapping(deep(11)),
    "E154": mapping("\ud800"),
    "E155": mapping(within_itself()),
    "E200": resolved({"dump": []}),
    "E201": dump(dump_mode=""),
    "E202": dump(dump_mode="x"),
    "E203": dump(dump_kernel_data="printf,"),
    "E210": dump(dump_scene="watcher", dump_debug="on"),
    "E211": resolved({"dump": {"dump_debug": "on"}}),
    "E212": dump(dump_path=""),
    "E213": dump(dump_path="a" * 513),
    "E214": folder(FolderState.MISSING),
    "E215": folder(FolderState.NOT_A_FOLDER),
    "E216": folder(FolderState.NO_PERMISSION),
    "E218": dump(dump_path="1.2.3.4:a b"),
    "E220": dump(dump_debug="on", dump_op_switch="on"),
    "E221": dump(dump_op_switch="on", dump_step="x"),
    "E230": item(layer=[]),
    "E231": item(scene="watcher"),
    "E232": item(scene="watcher", watcher_nodes=["n"], model_name="m"),
    "E233": item(watcher_nodes=["n"]),
    "E234": item(optype_blacklist=[{"name": "a"}] * 101),
    "E235": item(optype_blacklist=[{"name": "a"}], level="all"),
    "E236": item(opname_range=[{"begin": "a", "end": "b"}]),
    "E237": item(opname_range=[{"begin": "a"}], model_name="m"),
    "E240": dump(dump_data="stats", dump_stats=[]),
    "E241": dump(dump_stats=["Max"]),
    "E250": dump(TRAINING, dump_scene="aic_err_detail_dump"),
    "E301": resolved({"err_msg_mode": "2"}),
    "E302": resolved({"err_msg_mode": 1}),
    "E310": resolved({"defaultDevice": {"default_device": "x"}}),
    "E311": resolved({"defaultDevice": {"default_device": 0}}),
    "E320": stack(aicore_stack_size="x"),
    "E330": resolved({"simt_printf_fifo_size": 0}),
    "E331": resolved({"simd_printf_fifo_size_per_core": 1}),
    "E340": resolved({"acl_graph": {"event_mode": "1"}}, product=TRAINING),
    "E341": resolved({"acl_graph": {"event_mode": 1}}),
    "E400": resolved({"profiler": []}),
    "E401": profiler(wrong="on"),
    "E402": profiler(l2=1),
    "E403": profiler(l2="x"),
    "E405": profiler(output="a;b"),
    "E406": profiler(storage_limit="1MB"),
    "E407": profiler(optype="Conv2D"),
    "E408": profiler(aic_metrics="a" * 71),
    "W001": resolved({"x": 1}),
    "W002": resolved(b'{"err_msg_mode":"0","err_msg_mode":"1"}'),
    "W003": resolved([]),
    "W004": resolved(b""),
    "W005": resolved(b"{}\0x"),
    "W006": resolved({f"key{i}": 1 for i in range(60)}),
    "W010": resolved({"StackSize": []}),
    "W011": resolved({"StackSize": {"simt_stack_size": 128}}),
    "W012": stack(aicore_stack_size=40000),
    "W013": stack(aicore_stack_size=1),
    "W014": stack(aicore_stack_size=10**6),
    "W015": stack(aicore_stack_size=-1),
    "W016": stack(aicore_stack_size=65536.5),
    "W018": stack(TRAINING, aicore_stack_size=65536),
    "W020": resolved({"profiler": {"switch": "on"}, "dump": {"dump_scene": "lite_exception"}}),
    "W021": resolved({"max_opqueue_num": "abc"}),
    "W022": dump(),
    "W023": dump(dump_op_switch="on", dump_list=[{"layer": []}]),
    "W024": dump(dump_debug="on", dump_step="1"),
    "W025": dump(dump_path="1.2.3.4:/x"),
    "W026": dump(dump_scene="lite_exception", env={"NPU_COLLECT_PATH": "/n"}),
    "W027": dump(dump_scene="aic_err_detail_dump"),
    "W029": dump(dump_path="", dump_scene="lite_exception", dump_kernel_data="all"),
    "W030": resolved({"defaultDevice": {"default_device": "4294967296"}}),
    "W031": profiler(hccl="on"),
    "W034": dump(dump_scene="watcher"),
    "W040": resolved({}, env={"ACLASYNC_DEVICES": "x"}),
    "W041": resolved({}, env={"ASCEND_RT_VISIBLE_DEVICES": "1,0"}),
    "W043": resolved({}, env={"PROFILER_SAMPLECONFIG": '{"l2": 1}'}),
    "W042": dump(dump_path="1.2.3.4:"),
    "I001": resolved({}),
    "I002": stack(aicore_stack_size=65536),
    "I003": faulty(ReadFault.MISSING, IPV350),
    "I004": dump(dump_path="d"),
}


@pytest.mark.parametrize("code", EXAMPLES)
def test_code_is_found(code: str) -> None:
    """In what it was made for, with words that leave nothing open."""
    findings = [f for f in EXAMPLES[code].findings if f.code == code]
    assert findings
    for finding in findings:
        assert finding.message
        assert "{" not in finding.message.replace("{'", "") or code in ("E133", "E134", "E110")
        assert pickle.loads(pickle.dumps(finding)) == finding


def test_catalogue_has_no_code_without_an_example() -> None:
    """E138 apart, which stands for a fault that nobody knows of."""
    assert set(ENGLISH) - set(EXAMPLES) == {"E138"}


def test_finding_reads_as_one_line() -> None:
    """Place, path, what, what to do, code; without a place where there is none."""
    (warning,) = stack(aicore_stack_size=40000).warnings
    assert str(warning) == (
        "acl.json:1:37: $.StackSize.aicore_stack_size: "
        "40000 is not a multiple of 16384; 49152 will be used [W012]"
    )
    text = {"StackSize": {"aicore_stack_size": 40000}}
    (warning,) = resolve_config(text, env={}, product=A2).warnings
    assert str(warning).startswith("$.StackSize.aicore_stack_size: 40000 is")


def test_bytes_that_are_no_utf_8_can_be_shown() -> None:
    """On any terminal and in any log."""
    for finding in resolved(b'{"\xff": 1, "err_msg_mode": "\xfe"}').findings:
        str(finding).encode()


@pytest.mark.parametrize(
    "raw", [b"{'\x1b[2J':1}", b"{\x1b[2J:1}", b'{"a":\x1b[2J}', b"{} //\x1b[2J"]
)
def test_no_control_character_reaches_a_terminal(raw: bytes) -> None:
    """Which would obey it."""
    for finding in resolved(raw).findings:
        assert str(finding).isprintable()


def test_long_and_nested_values_are_shown_short() -> None:
    """A megabyte in a key does not become a megabyte in a message."""
    for value in ("x" * 10**6, ["x" * 10**6], {"a": ["x"] * 10**5}):
        (error,) = resolved({"err_msg_mode": value}).errors
        assert len(str(error)) < 300

    (error,) = resolved({"err_msg_mode": []}).errors
    assert error.message == 'must be the string "0" or "1", not an array'


def test_finding_of_a_variable_points_to_the_environment() -> None:
    """Not into the file."""
    (warning,) = resolved({}, env={"ACLASYNC_DEVICES": "many"}).warnings
    assert (warning.where.file, warning.where.line) == ("environment", 0)
    assert warning.path == "ACLASYNC_DEVICES"


def test_warnings_come_in_the_order_of_the_text() -> None:
    """Those on the environment last."""
    text = b'{"max_opqueue_num": 1,\n "x": 1,\n "StackSize": {"aicore_stack_size": 1}}'
    warnings = resolved(text, env={"ACLASYNC_DEVICES": "x"}).warnings
    assert [w.where.line for w in warnings] == [1, 2, 3, 0]


def test_folder_is_refused_where_the_reference_looks_for_it() -> None:
    """Before steps and lists are looked at."""
    resolution = dump(dump_step="x", dump_list=[{"layer": []}], dump_mode="y")
    refused = resolution.with_folders({"/d": FolderState.MISSING})
    assert [f.code for f in refused.errors] == ["E202", "E214", "E221", "E230"]


@pytest.mark.parametrize(
    ("keys", "codes"),
    [
        ({"dump_scene": "Watcher", "dump_list": [{"watcher_nodes": ["n"]}]}, ["E202"]),
        ({"dump_scene": "watcher", "dump_list": [{"watcher_nodes": 1}]}, ["E200"]),
        ({"dump_scene": "watcher", "dump_mode": "x"}, ["E202"]),
        ({"dump_data": "stat", "dump_stats": ["Max"]}, ["E202"]),
        ({"dump_level": "OP", "dump_list": [{"optype_blacklist": [{"name": "a"}]}]}, ["E202"]),
        ({"dump_op_switch": "ON", "dump_list": [{"layer": []}]}, ["E202"]),
        ({"dump_path": 1, "dump_op_switch": "on"}, ["E200"]),
        ({"dump_list": [1, {"layer": ["a", 2, "b", None]}]}, ["E200", "E200", "E200"]),
    ],
)
def test_one_fault_is_said_once(keys: dict[str, Any], codes: list[str]) -> None:
    """A rule between two keys waits until both are right."""
    assert [f.code for f in dump(**keys).errors] == codes


def test_text_too_deep_to_be_read_is_one_error_or_two() -> None:
    """Not one more for every bracket that was not closed."""
    assert [f.code for f in resolved(b"[" * 100).errors] == ["E110", "E140"]


def test_empty_file_is_no_configuration_on_ipv350() -> None:
    """Elsewhere it is one that is odd."""
    assert [f.code for f in resolved(b"").warnings] == ["W004"]
    empty = resolved(b"", product=IPV350)
    assert empty.warnings == ()
    assert not empty.text.is_given
    assert resolve_config(None, env={}, product=IPV350).findings[0].code == "I001"


@pytest.mark.parametrize(
    ("keys", "env", "path"),
    [
        ({"dump_scene": "lite_exception"}, {"NPU_COLLECT_PATH": "/n"}, "$.dump.dump_path"),
        ({"dump_scene": "lite_exception"}, {"ASCEND_WORK_PATH": "/w"}, "$.dump.dump_path"),
        (
            {"dump_scene": "lite_exception"},
            {"ASCEND_DUMP_SCENE": "aic_err_norm_dump"},
            "$.dump.dump_scene",
        ),
        ({"dump_kernel_data": "all"}, {"ASCEND_DUMP_PATH": "/k"}, "$.dump.dump_kernel_data"),
    ],
)
def test_variable_that_overrides_a_key_is_told(
    keys: dict[str, Any], env: dict[str, str], path: str
) -> None:
    """At the key, with the variable's name."""
    (warning,) = [w for w in dump(env=env, **keys).warnings if w.code == "W026"]
    assert warning.path == path
    assert next(iter(env)) in warning.message


def test_names_that_are_empty_match_nothing() -> None:
    """In a blacklist they are accepted, and said."""
    resolution = item(optype_blacklist=[{"name": ""}, {"pos": ["input0"]}])
    paths = [w.path for w in resolution.warnings if w.code == "W023"]
    above = "$.dump.dump_list[0].optype_blacklist"
    assert paths == [f"{above}[0].name", f"{above}[1]"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1, 'must be the string "1", not a number'),
        (2, 'must be the string "0" or "1", not a number'),
        (True, 'must be the string "0" or "1", not true'),
        ("2", '"2" is none of 0, 1'),
    ],
)
def test_number_for_a_string_is_told_apart_from_a_wrong_string(value: Any, message: str) -> None:
    """The two look alike in a file, and need different cures."""
    (error,) = resolved({"err_msg_mode": value}).errors
    assert error.message == message


def test_findings_come_in_the_order_of_the_text() -> None:
    """Errors and warnings together, whatever the reference would meet first."""
    text = b'{"x": 1,\n "max_opqueue_num": 1,\n "err_msg_mode": 1}'
    said = [f for f in resolved(text).findings if f.code[0] != "I"]
    assert [(f.code, f.where.line) for f in said] == [("W001", 1), ("W021", 2), ("E302", 3)]


def test_finding_about_a_key_points_to_the_key() -> None:
    """One about a value to the value."""
    unknown, wrong = resolved(b'{"x": 1, "max_opqueue_num": 1}').warnings
    assert (unknown.where.column, wrong.where.column) == (2, 29)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (b'{"a":1 , }', [8]),
        (b"[1,,2]", [4]),
        (b"[,1]", [2]),
        (b"[1,2,,]", [5, 6]),
        (b"[,,]", [2, 3]),
    ],
)
def test_comma_too_many_is_where_the_comma_is(text: bytes, columns: list[int]) -> None:
    """Not where it was noticed; and each is said once."""
    assert sorted({f.where.column for f in resolved(text).errors}) == columns


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_file_of_two_byte_letters_is_one_finding(encoding: str) -> None:
    """With or without its order mark, and without a word on the NUL bytes that it must have."""
    (error,) = resolved('{"err_msg_mode": "1"}'.encode(encoding)).errors
    assert error.code == ("E115" if encoding == "utf-16-be" else "E113")


@pytest.mark.parametrize("text", ['{"a": 1}', "{}", " { } ", "[]", '[{"a": 1}]', '{"p": "./d"}'])
def test_json_given_as_a_path_is_told_how_to_give_it(text: str) -> None:
    """Text is a path; bytes are JSON."""
    (error,) = faulty(ReadFault.MISSING, name=f"/home/me/{text}").errors
    assert (error.code, error.acl_code) == ("E105", 100003)
    assert "as bytes" in error.hint
    assert faulty(ReadFault.MISSING, name="/x/a{1}.json").errors[0].code == "E101"
