"""`aclasync explain`: every key, finding, number and variable, in both languages."""

from __future__ import annotations

import json

import pytest

from aclasync import AclCode
from aclasync.config.catalog import ENGLISH
from aclasync.config.environment import PURPOSES
from aclasync.config.features import FEATURES
from aclasync.config.lookup import KEYS, place_of


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "topics",
    [
        [place_of(key) for key in KEYS],
        [key.name for key in KEYS],
        list(ENGLISH),
        list(PURPOSES),
        [str(feature.number) for feature in FEATURES],
    ],
    ids=["places", "names", "findings", "variables", "features"],
)
def test_everything_can_be_explained(cli_here, topics, language):
    """Without a word missing."""
    for topic in topics:
        done = cli_here("explain", topic, "--lang", language)
        assert (done.returncode, done.stderr) == (0, ""), topic
        assert topic.casefold() in done.stdout.replace("\n", "").casefold()


def test_everything_is_explained_as_json(cli_here):
    """A key, a finding, a number, a variable and a feature."""
    for topic in ("dump_mode", "E302", "W006", "107002", "ASCEND_WORK_PATH", "9"):
        said = json.loads(cli_here("explain", topic, "--format", "json").stdout)
        assert said["explained"][0]["kind"] in ("key", "finding", "number", "variable", "feature")


@pytest.mark.parametrize("topic", ["107002", "RT_CONTEXT_NULL", "ACL_ERROR_RT_CONTEXT_NULL"])
def test_number_is_found_by_itself_and_by_its_names(cli_here, topic):
    """In ACL's spelling and in ours."""
    done = cli_here("explain", topic, "--format", "json")
    (said,) = json.loads(done.stdout)["explained"]

    assert (said["acl_code"], said["acl_name"]) == (107002, "RT_CONTEXT_NULL")
    assert said["cause"]
    assert "open_device" in said["cure"]


def test_number_of_no_header_is_told_to_be_one(cli_here):
    """A callback may return any."""
    done = cli_here("explain", "4711")
    assert done.returncode == 0
    assert "no header" in done.stdout


@pytest.mark.parametrize(
    "topic", ["dump_mode", "DUMP_MODE", "$.dump.dump_mode", "dump.dump_mode", " dump.dump_mode "]
)
def test_key_is_found_however_it_is_written(cli_here, topic):
    """By name, by place, as findings write it."""
    (said,) = json.loads(cli_here("explain", topic, "--format", "json").stdout)["explained"]
    assert said["key"] == "dump.dump_mode"
    assert said["values"] == ["input", "output", "all"]
    assert said["acl_code"] == AclCode.INVALID_DUMP_CONFIG


def test_section_is_all_of_its_keys(cli_here):
    """And a name that several entries have is all of them; an index may be in the place."""

    def keys(topic):
        said = json.loads(cli_here("explain", topic, "--format", "json").stdout)["explained"]
        return [block["key"] for block in said]

    assert keys("StackSize") == [
        "StackSize.aicore_stack_size",
        "StackSize.simt_stack_size",
        "StackSize.simt_divergence_stack_size",
    ]
    assert len(keys("profiler")) > 20
    assert len(keys("pos")) == 2
    assert keys("$.dump.dump_list[3].layer") == ["dump.dump_list[].layer"]


def test_bounds_say_what_differs_by_product(cli_here):
    """The maximum of one product is no other's."""
    said = cli_here("explain", "aicore_stack_size").stdout
    assert "32768 to 196608" in said
    assert "up to 131072 on ASCEND_950" in said
    assert "undocumented on ATLAS_INFERENCE, ATLAS_TRAINING" in said


@pytest.mark.parametrize(
    ("topic", "meant"),
    [("dmp_mode", "dump_mode"), ("rt_context_nul", "RT_CONTEXT_NULL")],
)
def test_unknown_topic_is_refused_with_the_nearest(cli_here, topic, meant):
    """One line, and exit code 1."""
    done = cli_here("explain", topic)
    assert done.returncode == 1
    assert f"did you mean {meant}" in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_like_it_is_refused_with_what_there_is(cli_here):
    """Instead of a wild guess."""
    done = cli_here("explain", "xyzzy")
    assert done.returncode == 1
    assert "explain a key" in done.stderr


def test_without_a_topic_the_features_are_listed(cli_here):
    """All of them."""
    done = cli_here("explain")
    assert done.returncode == 0
    for feature in FEATURES:
        assert feature.name in done.stdout


def test_finding_comes_with_an_example_and_what_is_said_of_it(cli_here):
    """In the language that was asked for."""
    (said,) = json.loads(cli_here("explain", "e302", "--lang", "zh", "--format", "json").stdout)[
        "explained"
    ]
    assert json.loads(said["example"]) == {"err_msg_mode": 1}
    assert said["gives"]["message"] == '必须是字符串 "1"，而不是数字'
