"""Which compiled operators are kept, against a model of the rules."""

from __future__ import annotations

import logging
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aclasync.backends.embedded.opcache import OpCache


def never(_key):
    return False


def test_least_recently_used_goes_first():
    """A use makes an operator the last to go."""
    cache = OpCache(2)
    for key in "ab":
        cache.put(key, key.upper(), is_dynamic=False)

    assert cache.get("a", is_dynamic=False, covers=never) == "A"
    cache.put("c", "C", is_dynamic=False)
    assert cache.get("b", is_dynamic=False, covers=never) is None
    assert cache.get("a", is_dynamic=False, covers=never) == "A"
    assert cache.counts.aged == 1


def test_fixed_and_dynamic_shapes_have_a_queue_each():
    """One being full takes nothing from the other."""
    cache = OpCache(1)
    cache.put("a", 1, is_dynamic=False)
    cache.put("a", 2, is_dynamic=True)
    assert cache.get("a", is_dynamic=False, covers=never) == 1
    assert cache.get("a", is_dynamic=True, covers=never) == 2
    assert (cache.counts.fixed, cache.counts.dynamic, cache.counts.aged) == (1, 1, 0)


def test_static_ones_take_room_and_never_go(caplog):
    """When they fill a queue nothing else is kept, and that is told once."""
    cache = OpCache(2)
    cache.put("x", "X", is_dynamic=False)
    cache.put("y", "Y", is_dynamic=False)
    cache.put_static("s", "S", is_dynamic=False)
    assert cache.get("x", is_dynamic=False, covers=never) is None
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        for key in "tu":
            cache.put_static(key, key, is_dynamic=False)

    (record,) = caplog.records
    assert "max_opqueue_num is 2" in record.getMessage()
    cache.put("z", "Z", is_dynamic=False)
    assert cache.get("z", is_dynamic=False, covers=never) is None
    assert [cache.get(key, is_dynamic=False, covers=never) for key in "stu"] == ["S", "t", "u"]
    assert (cache.counts.static_fixed, cache.counts.fixed) == (3, 0)


def test_static_one_for_every_shape_is_taken_where_it_fits():
    """If nothing was compiled for the very shape."""
    cache = OpCache(5)
    cache.put_static("any", 1, is_dynamic=True)
    assert cache.get("exact", is_dynamic=False, covers=lambda key: key == "any") == 1
    assert cache.get("other", is_dynamic=False, covers=never) is None
    assert (cache.counts.hits, cache.counts.misses) == (1, 1)


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from("pgs"), st.integers(0, 6), st.booleans()), max_size=60),
)
def test_cache_behaves_as_the_rules_say(capacity, calls):
    """Against two ordered dictionaries, for any sequence of calls."""
    logging.getLogger("aclasync.device").setLevel(logging.ERROR)
    cache: OpCache[int, int] = OpCache(capacity)
    queues = {False: OrderedDict(), True: OrderedDict()}
    static = {False: {}, True: {}}
    aged = 0
    for call, key, is_dynamic in calls:
        queue, fixed = queues[is_dynamic], static[is_dynamic]
        if call == "g":
            expected = key in fixed or key in queue
            assert (cache.get(key, is_dynamic=is_dynamic, covers=never) == key + 1) is expected
            if key in queue:
                queue.move_to_end(key)
        elif call == "p":
            cache.put(key, key + 1, is_dynamic=is_dynamic)
            queue[key] = key + 1
            queue.move_to_end(key)
        else:
            cache.put_static(key, key + 1, is_dynamic=is_dynamic)
            fixed[key] = key + 1

        while queue and len(queue) + len(fixed) > capacity:
            queue.popitem(last=False)
            aged += 1

    counts = cache.counts
    assert (counts.fixed, counts.dynamic) == (len(queues[False]), len(queues[True]))
    assert (counts.static_fixed, counts.static_dynamic) == (len(static[False]), len(static[True]))
    assert counts.aged == aged
    assert counts.fixed + counts.static_fixed <= max(capacity, counts.static_fixed)


@pytest.fixture(autouse=True)
def level_as_before():
    logger = logging.getLogger("aclasync.device")
    before = logger.level
    yield
    logger.setLevel(before)
