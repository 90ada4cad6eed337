"""What a word names: a key, a section, a feature, a finding, a variable, a number."""

from __future__ import annotations

import pytest

from aclasync import AclCode
from aclasync.config import lookup
from aclasync.config.catalog import ENGLISH
from aclasync.config.environment import PURPOSES
from aclasync.config.features import FEATURES
from aclasync.config.keys import Kind
from aclasync.config.language import Language


@pytest.mark.parametrize("key", lookup.KEYS)
def test_key_is_found_by_its_place(key):
    """Alone, unless other keys stand in it."""
    found = lookup.find_keys(lookup.place_of(key))
    assert found[0] is key
    assert all(other.path[: len(key.path)] == key.path for other in found)
    assert key in lookup.find_keys(key.name.upper())


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("$.dump.dump_list[0].layer", ["dump.dump_list[].layer"]),
        ("acl_graph", ["acl_graph.event_mode"]),
        ("begin", ["dump.dump_list[].opname_range[].begin"]),
        ("xyzzy", []),
        ("", []),
    ],
)
def test_section_index_and_name_are_understood(query, places):
    """As findings and people write them."""
    assert [lookup.place_of(key) for key in lookup.find_keys(query)] == places


def test_others_are_found_whatever_their_case():
    """And nothing else is."""
    assert lookup.find_finding("e302") == "E302"
    assert lookup.find_finding("E999") is None
    assert lookup.find_variable("ascend_work_path") == "ASCEND_WORK_PATH"
    assert lookup.find_variable("PATH") is None
    assert lookup.find_feature("Profiling") is FEATURES[5]
    assert lookup.find_feature("99") is None
    assert lookup.find_number("acl_error_rt_context_null") is AclCode.RT_CONTEXT_NULL
    assert lookup.find_number("107002") is AclCode.RT_CONTEXT_NULL
    assert lookup.find_number("context") is None


@pytest.mark.parametrize(
    ("query", "meant"),
    [("dmp_mode", "dump_mode"), ("stacksze", "StackSize"), ("xyzzy", None)],
)
def test_nearest_is_suggested(query, meant):
    """Of everything that there is."""
    assert lookup.suggestion(query) == meant


@pytest.mark.parametrize("language", Language)
def test_everything_has_words(language):
    """In every language."""
    assert all(lookup.effect_of(key, language) for key in lookup.KEYS)
    assert all(lookup.name_of(feature, language) for feature in FEATURES)
    assert all(lookup.purpose_of(variable, language) for variable in PURPOSES)
    assert all(lookup.words_of(code, language).message for code in ENGLISH)
    assert {lookup.kind_in_words(key, language) for key in lookup.KEYS} == {
        lookup.phrase(kind.value, language) for kind in Kind
    }


def test_default_is_words_or_a_value():
    """Or nothing."""
    defaults = {lookup.place_of(k): lookup.default_of(k, Language.CHINESE) for k in lookup.KEYS}
    assert defaults["dump.dump_mode"] == "output"
    assert defaults["max_opqueue_num"] == "20000"
    assert defaults["profiler.storage_limit"] == "剩余空间"
    assert defaults["dump.dump_path"] is None
