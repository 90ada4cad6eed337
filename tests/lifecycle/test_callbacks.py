"""The callback table: slots, order, and change during a pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aclasync.errors import CallbackError, CallbackSlotTakenError
from aclasync.lifecycle.callbacks import CallbackKind, CallbackTable
from aclasync.lifecycle.sequence import CallbackType

INIT, FINALIZE = CallbackKind.INIT, CallbackKind.FINALIZE
SINGLE = [kind for kind in CallbackType if kind is not CallbackType.OTHER]


def first() -> None: ...
def second() -> None: ...


def visited(table: CallbackTable, kind=INIT, callback_type=CallbackType.OTHER) -> list:
    functions, serial = [], 0
    while entry := table.next_in_pass(kind, callback_type, serial):
        functions.append(entry.function)
        serial = entry.serial

    return functions


@pytest.mark.parametrize("callback_type", SINGLE)
def test_type_other_than_other_takes_one_of_each_kind(callback_type: CallbackType) -> None:
    """A second one is refused with 500000 and the table is as before."""
    table = CallbackTable().registered(INIT, callback_type, first)
    table = table.registered(FINALIZE, callback_type, first)

    with pytest.raises(CallbackSlotTakenError, match="first") as failure:
        table.registered(INIT, callback_type, second)

    assert failure.value.code == 500000


def test_other_takes_the_same_function_twice() -> None:
    """And is visited in the order of registration."""
    table = CallbackTable()
    for function in (first, second, first):
        table = table.registered(INIT, CallbackType.OTHER, function)

    assert visited(table) == [first, second, first]


@pytest.mark.parametrize("wrong", [None, 7, "text"])
def test_what_can_not_be_called_is_refused(wrong) -> None:
    """Null and every other non-function is an invalid parameter."""
    with pytest.raises(CallbackError, match="must be a function") as failure:
        CallbackTable().registered(INIT, CallbackType.OTHER, wrong)

    assert failure.value.code == 100000


def test_type_that_is_no_number_is_a_mistake() -> None:
    """Unknown numbers are accepted, text is not."""
    with pytest.raises(TypeError, match="CallbackType"):
        CallbackTable().registered(INIT, "MODEL", first)  # type: ignore[arg-type]  # tested


def test_unregister_removes_the_oldest_of_that_function() -> None:
    """User data is not compared."""
    table = CallbackTable()
    for data in (1, 2):
        table = table.registered(FINALIZE, CallbackType.OTHER, first, data)

    table = table.unregistered(FINALIZE, CallbackType.OTHER, first)

    assert [entry.user_data for entry in table.entries] == [2]


@pytest.mark.parametrize(("function", "code"), [(None, 100000), (second, 500000)])
def test_unregister_of_what_is_not_there_is_refused(function, code: int) -> None:
    """Null is an invalid parameter, an unknown function an internal error."""
    table = CallbackTable().registered(INIT, CallbackType.MODEL, first)
    table = table.registered(FINALIZE, CallbackType.OTHER, second)

    with pytest.raises(CallbackError) as failure:
        table.unregistered(INIT, CallbackType.MODEL, function)

    assert failure.value.code == code


def test_bound_methods_of_one_object_are_one_function() -> None:
    """Every access makes a new method object; they are equal all the same."""
    actions: list[int] = []
    table = CallbackTable().registered(INIT, CallbackType.OTHER, actions.append)

    assert table.unregistered(INIT, CallbackType.OTHER, actions.append).entries == ()


def test_unknown_type_is_accepted_and_never_visited() -> None:
    """Its number is kept for messages."""
    table = CallbackTable().registered(INIT, 4711, first)

    assert visited(table) == []
    assert "4711" in str(table.entries[0])


def test_entry_added_during_the_pass_is_still_visited() -> None:
    """It is younger than the one just visited."""
    table = CallbackTable().registered(INIT, CallbackType.OTHER, first)
    entry = table.next_in_pass(INIT, CallbackType.OTHER, 0)
    assert entry is not None
    table = table.registered(INIT, CallbackType.OTHER, second)

    added = table.next_in_pass(INIT, CallbackType.OTHER, entry.serial)

    assert added is not None
    assert added.function is second


def test_entry_removed_before_its_turn_is_not_visited() -> None:
    """Nor is one that removed itself visited again."""
    table = CallbackTable()
    for function in (first, second):
        table = table.registered(INIT, CallbackType.OTHER, function)

    entry = table.next_in_pass(INIT, CallbackType.OTHER, 0)
    assert entry is not None
    table = table.unregistered(INIT, CallbackType.OTHER, first)
    table = table.unregistered(INIT, CallbackType.OTHER, second)

    assert table.next_in_pass(INIT, CallbackType.OTHER, entry.serial) is None


def test_callback_says_who_it_is() -> None:
    """In error messages: kind, function and type."""
    table = CallbackTable().registered(FINALIZE, CallbackType.DVPP, first)

    assert str(table.entries[0]) == "finalize callback first (DVPP)"


FUNCTIONS = [lambda: None for _ in range(3)]
CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "next"]), st.integers(0, 2)), max_size=30
)


@given(CHANGES)
def test_pass_over_a_changing_table_visits_each_entry_at_most_once(changes) -> None:
    """Whatever is added and removed on the way: the order is that of registration."""
    table, serial, seen = CallbackTable(), 0, []
    for change, index in changes:
        function = FUNCTIONS[index]
        if change == "add":
            table = table.registered(INIT, CallbackType.OTHER, function)
        elif change == "remove" and any(e.function is function for e in table.entries):
            table = table.unregistered(INIT, CallbackType.OTHER, function)
        elif entry := table.next_in_pass(INIT, CallbackType.OTHER, serial):
            serial = entry.serial
            seen.append(serial)

    assert seen == sorted(set(seen))
    rest = visited(table)
    expected = [e.function for e in table.entries]
    assert rest == expected
