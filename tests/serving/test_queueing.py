"""What runs next, and with whom: decided on values alone."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aclasync.serving import QueueFullError
from aclasync.serving.queueing import FairQueue, Item, Lane, Limits


def item(name: str, *, key: object = "k", rows: int = 1, at: float = 0, until: float | None = None):
    return Item({"name": name}, key, rows, at, until)


def names(items: list[Item]) -> list[object]:
    return [one.inputs["name"] for one in items]


def lane_of(*items: Item, **limits: object) -> Lane[str]:
    lane = Lane("model", Limits(**limits))
    for one in items:
        lane.put(one)

    return lane


def test_a_batch_has_at_most_max_batch_rows() -> None:
    """The one that would go over waits for the next batch."""
    lane = lane_of(item("a", rows=2), item("b", rows=2), item("c"), max_batch=3)
    assert names(lane.take(0)[0]) == ["a"]
    assert names(lane.take(0)[0]) == ["b", "c"]
    assert lane.length == 0


def test_a_request_larger_than_a_batch_runs_alone() -> None:
    """It is one request: nobody may split it."""
    lane = lane_of(item("big", rows=9), item("b"), max_batch=4)
    assert names(lane.take(0)[0]) == ["big"]


def test_requests_of_other_shapes_go_into_their_own_batch_and_the_oldest_goes_first() -> None:
    """Being like many others is no reason to be served earlier."""
    lane = lane_of(
        item("a1", at=1), item("b1", key="b", at=2), item("a2", at=3), item("b2", key="b", at=4)
    )
    assert names(lane.take(9)[0]) == ["a1", "a2"]
    assert names(lane.take(9)[0]) == ["b1", "b2"]


def test_requests_without_a_key_run_alone() -> None:
    """What has no common first dimension can't be joined."""
    lane = lane_of(item("a", key=None), item("b", key=None))
    assert names(lane.take(0)[0]) == ["a"]
    assert names(lane.take(0)[0]) == ["b"]


def test_one_too_many_is_refused_and_room_is_made_by_giving_up() -> None:
    """A request that left does not count."""
    first = item("a")
    lane = lane_of(first, item("b"), max_queue=2)
    with pytest.raises(QueueFullError, match="2 requests wait"):
        lane.put(item("c"))

    assert lane.remove(first)
    assert not lane.remove(first)
    lane.put(item("c"))
    assert names(lane.take(0)[0]) == ["b", "c"]


def test_requests_whose_time_is_over_are_told_apart() -> None:
    """They take no place in the batch."""
    lane = lane_of(item("old", until=1), item("b"), item("late", until=5), max_batch=1)
    batch, expired = lane.take(1)
    assert (names(batch), names(expired)) == (["b"], ["old"])
    assert names(lane.take(1)[0]) == ["late"]


def test_without_a_delay_whatever_waits_is_ready() -> None:
    """Greedy is the default."""
    assert lane_of(item("a", at=7)).ready_at() == 7
    assert lane_of().ready_at() == float("inf")


def test_with_a_delay_a_lane_is_ready_when_it_is_full_or_its_oldest_has_waited() -> None:
    """A full batch has nothing to wait for."""
    lane = lane_of(item("a", at=7), max_delay=0.5, max_batch=2)
    assert lane.ready_at() == 7.5
    lane.put(item("b", at=7.2))
    assert lane.ready_at() == 7


def test_with_a_delay_a_full_group_goes_before_an_older_one_that_still_waits() -> None:
    """The device is not kept waiting for somebody's company."""
    lane = lane_of(item("a", at=1.0), item("b1", key="b", at=1.1), item("b2", key="b", at=1.2),
                   max_delay=1.0, max_batch=2)  # fmt: skip
    assert names(lane.take(1.3)[0]) == ["b1", "b2"]
    assert names(lane.take(2.0)[0]) == ["a"]


def test_models_take_turns() -> None:
    """A flood for one lets the other through at its next turn."""
    queue: FairQueue[str] = FairQueue()
    flood, other = Lane("flood", Limits(max_batch=1)), Lane("other", Limits(max_batch=1))
    queue.add(flood)
    queue.add(other)
    for number in range(4):
        flood.put(item(f"f{number}"))

    other.put(item("o"))
    taken = [names(queue.take(0)[1])[0] for _ in range(5)]
    assert taken == ["f0", "o", "f1", "f2", "f3"]
    assert queue.take(0) is None
    assert queue.ready_at() is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_batch", 0), ("max_queue", 0), ("max_batch", True), ("max_delay", -1.0),
     ("deadline", float("nan")), ("max_delay", "1"), ("max_queue", 2.5)],
)  # fmt: skip
def test_limits_that_are_none_are_refused(name: str, value: object) -> None:
    """By name, before anything waits."""
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "take", "remove"]),
            st.sampled_from(["a", "b", None]),
            st.integers(1, 5),
        ),
        max_size=60,
    ),
    st.integers(1, 6),
)
def test_every_request_is_taken_once_in_order_within_its_key(steps, max_batch) -> None:
    """Whatever comes and goes: none is lost, none comes twice, none overtakes its like."""
    lane = Lane("m", Limits(max_batch=max_batch))
    waiting: deque[Item] = deque()
    for number, (step, key, rows) in enumerate(steps):
        if step == "put":
            one = item(str(number), key=key, rows=rows, at=number)
            lane.put(one)
            waiting.append(one)
        elif step == "remove" and waiting:
            one = waiting[len(waiting) // 2]
            assert lane.remove(one)
            waiting.remove(one)
        elif step == "take" and waiting:
            batch, expired = lane.take(number)
            assert not expired
            assert batch[0] is waiting[0]
            like = [one for one in waiting if one.key == batch[0].key]
            assert batch == like[: len(batch)]
            assert len(batch) == 1 or sum(one.rows for one in batch) <= max_batch
            assert batch[0].key is not None or len(batch) == 1
            for one in batch:
                waiting.remove(one)

        assert lane.length == len(waiting)
