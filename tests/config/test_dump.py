"""The rules of the dump section, in the order of the reference."""

from __future__ import annotations

import pytest

from aclasync.config import ConfigStep, FolderState, Severity
from aclasync.product import Product

from .checked import errors, found, resolved, warnings


def dump(**keys: object) -> dict[str, object]:
    return {"dump": {"dump_path": "./", **keys}}


def item(**keys: object) -> dict[str, object]:
    return dump(dump_list=[keys], dump_level=keys.pop("level", "op"))


TEXTS = [
    "dump_path",
    "dump_mode",
    "dump_op_switch",
    "dump_level",
    "dump_scene",
    "dump_data",
    "dump_debug",
    "dump_kernel_data",
    "dump_step",
]


@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize("value", [None, 1, True, ["on"], {"a": 1}])
def test_scalar_must_be_a_string(key: str, value: object) -> None:
    """Whatever else is right; null is a wrong type, too."""
    resolution = resolved(dump(**{key: value}))

    assert (f"$.dump.{key}") in [path for _, path in found(resolution)]
    assert dict(resolution.faults) == {ConfigStep.DUMP: 100009}


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ([], "$.dump"),
        (None, "$.dump"),
        ("on", "$.dump"),
        ({"dump_path": "./", "dump_stats": "Max"}, "$.dump.dump_stats"),
        ({"dump_path": "./", "dump_stats": [1], "dump_data": "stats"}, "$.dump.dump_stats"),
        ({"dump_path": "./", "dump_list": {}}, "$.dump.dump_list"),
        ({"dump_path": "./", "dump_list": [1]}, "$.dump.dump_list[0]"),
        ({"dump_path": "./", "dump_list": [{}, {"layer": "a"}]}, "$.dump.dump_list[1].layer"),
        ({"dump_path": "./", "dump_list": [{"layer": [1]}]}, "$.dump.dump_list[0].layer"),
        (
            {"dump_path": "./", "dump_list": [{"opname_range": [1]}]},
            "$.dump.dump_list[0].opname_range",
        ),
        (
            {
                "dump_path": "./",
                "dump_level": "op",
                "dump_list": [{"optype_blacklist": [{"pos": "x"}]}],
            },
            "$.dump.dump_list[0].optype_blacklist[0].pos",
        ),
    ],
)
def test_wrong_type_is_found_at_its_place(section: object, path: str) -> None:
    """Nested as deep as it may be."""
    resolution = resolved({"dump": section})
    assert resolution.code == 100009
    assert any(found_path.startswith(path) for _, found_path in found(resolution))


CHOICES = {
    "dump_mode": ("input", "output", "all"),
    "dump_op_switch": ("on", "off"),
    "dump_level": ("op", "kernel", "all"),
    "dump_data": ("tensor", "stats"),
    "dump_debug": ("on", "off"),
}


@pytest.mark.parametrize("key", CHOICES)
def test_choice_is_exact(key: str) -> None:
    """Case, blanks and the empty text are refused; each allowed value is not."""
    for value in CHOICES[key]:
        assert errors(dump(**{key: value})) == []

    for value in ("", "ON", CHOICES[key][0] + " ", "x"):
        assert [path for _, path in errors(dump(**{key: value}))] == [f"$.dump.{key}"]


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [
        ("all", True), ("printf,assert", True), ("timestamp,tensor,printf", True),
        ("", False), ("printf,", False), (",printf", False), ("printf,,assert", False),
        ("printf, assert", False), ("Printf", False),
    ],
)  # fmt: skip
def test_kernel_data_is_a_comma_list(value: str, is_valid: bool) -> None:
    """Without blanks and empty pieces."""
    assert (errors(dump(dump_kernel_data=value)) == []) is is_valid


SCENES = ("lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump")


@pytest.mark.parametrize("scene", SCENES)
def test_exception_scene_ends_the_checks(scene: str) -> None:
    """Path, step, list and statistics are not looked at."""
    section = {
        "dump_scene": scene, "dump_path": "no_such", "dump_step": "x", "dump_stats": [],
        "dump_list": [{"watcher_nodes": ["n"]}],
    }  # fmt: skip
    resolution = resolved({"dump": section})

    assert resolution.is_valid
    assert resolution.folder_checks == ()
    ignored = [path for _, path in found(resolution, Severity.WARNING)]
    assert "$.dump.dump_list" in ignored


@pytest.mark.parametrize("scene", [*SCENES, "watcher"])
@pytest.mark.parametrize("key", ["dump_debug", "dump_op_switch"])
def test_scene_excludes_the_other_kinds(scene: str, key: str) -> None:
    """Each conflict is said at its key."""
    assert f"$.dump.{key}" in [path for _, path in errors(dump(dump_scene=scene, **{key: "on"}))]


def test_watcher_dumps_outputs_only() -> None:
    """And needs nothing else."""
    assert errors(dump(dump_scene="watcher")) == []
    assert errors(dump(dump_scene="watcher", dump_mode="output")) == []
    assert errors(dump(dump_scene="watcher", dump_mode="all")) != []


def test_detail_scene_is_a_matter_of_the_product() -> None:
    """Elsewhere the reference's init fails with 500000; where it works, it ends the process."""
    section = {"dump": {"dump_scene": "aic_err_detail_dump"}}
    assert resolved(section, product=Product.ATLAS_TRAINING).code == 500000
    assert resolved(section).code == 0
    assert "process" in resolved(section).warnings[0].message


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"dump_op_switch": "off"}, "$.dump.dump_path"),
        ({"foo": 1}, "$.dump.dump_path"),
        ({"dump_path": ""}, "$.dump.dump_path"),
        ({"dump_path": "a" * 513}, "$.dump.dump_path"),
        ({"dump_path": "温" * 171}, "$.dump.dump_path"),
        ({"dump_path": "1.2.3.4:a b"}, "$.dump.dump_path"),
    ],
)
def test_dump_path_is_needed_and_bounded(section: dict[str, str], path: str) -> None:
    """512 bytes, not characters."""
    assert path in [found_path for _, found_path in errors({"dump": section})]


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("./", "./"), ("a:b", "a:b"), ("1.2.3:/x", "1.2.3:/x"), ("256.0.0.1:/x", "256.0.0.1:/x"),
        ("192.168.0.1", "192.168.0.1"), ("192.168.0.1:", "192.168.0.1:"), ("a" * 512, "a" * 512),
        ("1..3.4:/x", "1..3.4:/x"), ("x.2.3.4:/x", "x.2.3.4:/x"), ("-1.2.3.4:/x", "-1.2.3.4:/x"),
        ("192.168.0.1:/x", None), ("1abc.2.3.4:/x", None), ("1.2.3.4.:/x", None),
        (" 1.+2.3.4:/x", None), ("000000000001.2.3.4:/x", None), ("1.2.3.:/x", "1.2.3.:/x"),
    ],
)  # fmt: skip
def test_remote_form_needs_no_folder(path: str, local: str | None) -> None:
    """Anything else is a folder that somebody must look for."""
    resolution = resolved(dump(dump_path=path, dump_op_switch="on"))

    assert resolution.is_valid
    assert [check.path for check in resolution.folder_checks] == ([local] if local else [])


@pytest.mark.parametrize("state", [s for s in FolderState if s is not FolderState.USABLE])
def test_folder_that_can_not_be_used_is_an_error(state: FolderState) -> None:
    """Found by who looked, with the reference's number; a usable one is not."""
    resolution = resolved(dump(dump_op_switch="on"))

    assert resolution.with_folders({"./": FolderState.USABLE}).is_valid
    refused = resolution.with_folders({"./": state})
    assert refused.code == 100009
    assert [f.path for f in refused.errors] == ["$.dump.dump_path"]
    assert refused.folder_checks == ()


@pytest.mark.parametrize(
    ("step", "is_valid"),
    [
        ("", True), ("0", True), ("5-5", True), ("007", True), ("1|3-5|9", True),
        ("|".join("0" * 100), True), ("|".join("0" * 101), False), ("1-2-3", False),
        ("5-3", False), ("|1", False), ("1|", False), ("5-", False), ("-5", False), ("1 |2", False),
        ("a", False), ("9" * 5000, True), (f"{'9' * 30}-{'9' * 20}", True), ("²", False),
    ],
)  # fmt: skip
def test_step_is_a_list_of_ranges(step: str, is_valid: bool) -> None:
    """At most a hundred, each ascending."""
    resolution = resolved(dump(dump_op_switch="on", dump_step=step))
    assert resolution.is_valid is is_valid
    settings = resolution.effective.dump.value
    assert settings is not None
    assert (settings.steps is not None) is (is_valid and step != "")


@pytest.mark.parametrize(
    ("config", "codes"),
    [
        (dump(dump_list=[{}]), []),
        (dump(dump_list=[{"model_name": ""}]), ["E230"]),
        (dump(dump_list=[{"layer": []}]), ["E230"]),
        (dump(dump_list=[{"model_name": "", "layer": []}], dump_op_switch="on"), []),
        (dump(dump_list=[{"watcher_nodes": ["n"]}]), ["E233"]),
        (dump(dump_list=[{"watcher_nodes": []}]), []),
        (dump(dump_list=[{}], dump_scene="watcher"), ["E231"]),
        (dump(dump_list=[{"watcher_nodes": []}], dump_scene="watcher"), ["E231"]),
        (dump(dump_list=[{"watcher_nodes": ["n"]}], dump_scene="watcher"), []),
        (
            dump(dump_list=[{"watcher_nodes": ["n"], "model_name": "m"}], dump_scene="watcher"),
            ["E232"],
        ),
        (item(optype_blacklist=[{"name": "a"}]), []),
        (item(optype_blacklist=[{"name": "a"}], level="all"), ["E235"]),
        (item(opname_blacklist=[{"name": "a"}], level="kernel"), ["E235"]),
        (item(opname_blacklist=[{}] * 100), []),
        (item(opname_blacklist=[{}] * 101), ["E234"]),
        (item(opname_range=[{"begin": "a", "end": "b"}], model_name="m"), []),
        (item(opname_range=[], level="all"), []),
        (item(opname_range=[{"begin": "a", "end": "b"}]), ["E236"]),
        (item(opname_range=[{"begin": "a"}, {"end": "b"}], model_name="m"), ["E237", "E237"]),
        (
            item(opname_range=[{"begin": "", "end": "b"}], level="all"),
            ["E235", "E236", "E237"],
        ),
        (dump(dump_stats=[]), ["E240", "E241"]),
        (dump(dump_stats=["Max"]), ["E241"]),
        (dump(dump_stats=["Max"], dump_data="tensor"), ["E241"]),
        (dump(dump_stats=["Max", "L2norm"], dump_data="stats"), []),
        (dump(dump_stats=["max"], dump_data="stats"), ["E202"]),
        (dump(dump_stats=[""], dump_data="stats"), ["E201"]),
        (dump(dump_debug="on", dump_op_switch="on"), ["E220"]),
        (dump(dump_debug="on", dump_step="x", dump_stats=[], dump_list=[{"layer": []}]), []),
        ({"dump": {}}, []),
        ({"Dump": {"dump_path": 1}}, []),
    ],
)
def test_relations(config: dict[str, object], codes: list[str]) -> None:
    """Between keys, items, level and scene; every violation is listed."""
    assert [code for code, _ in errors(config)] == codes


def test_nothing_is_dumped_without_a_list_or_a_switch() -> None:
    """Accepted, and said."""
    for section in ({}, {"dump_list": []}, {"dump_mode": "all"}, {"dump_op_switch": "off"}):
        assert "$.dump" in [path for _, path in warnings(dump(**section))]

    assert resolved(dump()).effective.dump.value is None


def test_settings_are_what_was_said() -> None:
    """Typed, with the defaults of the documentation."""
    config = dump(
        dump_mode="all", dump_level="op", dump_data="stats", dump_stats=["Max"], dump_step="0|2-3",
        dump_kernel_data="printf", dump_op_switch="on",
        dump_list=[
            {
                "model_name": "m", "layer": ["a"],
                "optype_blacklist": [{"name": "Conv2D", "pos": ["input0"]}],
                "opname_range": [{"begin": "a", "end": "b"}],
            }
        ],
    )  # fmt: skip
    settings = resolved(config).effective.dump.value
    assert settings is not None
    assert (settings.mode, settings.level, settings.data) == ("all", "op", "stats")
    assert (settings.stats, settings.steps) == (("Max",), ((0, 0), (2, 3)))
    assert settings.kernel_data == {"printf"}
    assert settings.is_single_op
    assert not settings.is_exception
    (target,) = settings.targets
    assert (target.model_name, target.layers) == ("m", ("a",))
    assert target.optype_blacklist[0].pos == ("input0",)
    assert target.opname_ranges == (("a", "b"),)
    default = resolved(dump(dump_list=[{}])).effective.dump.value
    assert default is not None
    assert (default.mode, default.data, default.kernel_data) == ("output", "tensor", {"all"})


def test_exception_path_follows_the_documented_chain() -> None:
    """NPU_COLLECT_PATH, ASCEND_WORK_PATH, dump_path, the working directory."""
    config = {"dump": {"dump_scene": "lite_exception", "dump_path": "d"}}
    env = {"NPU_COLLECT_PATH": "/n", "ASCEND_WORK_PATH": "/w"}
    cases = ((config, env), (config, {"ASCEND_WORK_PATH": "/w"}), (config, {}), ({}, {}))
    paths = [resolved(c, env=e).effective.exception_dump_path.value for c, e in cases]
    assert paths == ["/n", "/w", "d", "./"]


def test_unsupported_products_are_told() -> None:
    """A switch that does nothing there."""
    paths = [p for _, p in warnings(dump(dump_op_switch="on"), product=Product.IPV350)]
    assert "$.dump.dump_op_switch" in paths
    paths = [p for _, p in warnings(dump(dump_kernel_data="all"), product=Product.ATLAS_TRAINING)]
    assert "$.dump.dump_kernel_data" in paths


def test_kernel_data_without_a_path_records_nothing() -> None:
    """With an exception scene the path may be missing, and then this is what happens."""
    config = {"dump": {"dump_scene": "lite_exception", "dump_kernel_data": "all"}}
    assert "$.dump.dump_kernel_data" in [path for _, path in warnings(config)]
