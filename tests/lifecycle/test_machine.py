"""The table of contract: what each call does in each phase, with no event loop."""

from __future__ import annotations

import pytest

from aclasync.codes import AclCode
from aclasync.errors import (
    AclError,
    CallbackError,
    ConfigError,
    ConfigMismatchError,
    FeatureUnsupportedError,
    ForkedRuntimeError,
    RepeatFinalizeError,
)
from aclasync.lifecycle.events import (
    Abandoned,
    Closed,
    CloseStopped,
    ConfigRead,
    Counted,
    FinalizeRequested,
    Forked,
    Held,
    HoldEnded,
    HoldRequested,
    InitRequested,
    Joined,
    NothingToDo,
    Opened,
    OpenFailed,
    Read,
    ReadFirst,
    Refused,
    ReleaseRequested,
    Start,
    StepFailed,
    StepSucceeded,
    Stop,
    Undo,
    Wait,
    Withdrawn,
)
from aclasync.lifecycle.machine import TABLE, refusal_of_forked_child, step
from aclasync.lifecycle.nested import epoch_to_count_in, is_up
from aclasync.lifecycle.sequence import FINALIZE_ORDER, INIT_ORDER, InitStep
from aclasync.lifecycle.state import (
    FAITHFUL,
    NO_CONTENT,
    SAFE,
    Content,
    OnError,
    OnMismatch,
    Phase,
    Policy,
)

from .walk import FILE_A, FILE_B, PAIRED, RULES, Walk

CONTINUE, STOP = OnError.CONTINUE, OnError.STOP
RELEASE = ReleaseRequested(CONTINUE)
HOLD = HoldRequested("aclInitCallbackRegister")
FINALIZE = FinalizeRequested(CONTINUE)

INIT_WITH_CONFIG = [e.step.value for e in INIT_ORDER[2:]]
INIT_WITHOUT_CONFIG = [e.step.value for e in INIT_ORDER[2:] if not e.needs_config]
JOINED = Joined(True, config_applied=True, epoch=1, ref_count=2)
IGNORED = Joined(True, config_applied=False, epoch=1, ref_count=2)
FINALIZE_STEPS = [e.step.value for e in FINALIZE_ORDER]
TO_THE_END = [*FINALIZE_STEPS, "release"]
NOTHING_DONE = ["release"]


def test_first_init_with_a_config_runs_the_whole_sequence() -> None:
    """Every step of the documented order is ordered once, and the count becomes 1."""
    walk = Walk()

    assert walk.init(FILE_A) == Opened(epoch=1)
    assert walk.orders == INIT_WITH_CONFIG
    assert walk.count == 1


def test_first_init_without_a_config_skips_what_needs_one() -> None:
    """The steps marked D in the order are left out when nothing was given."""
    walk = Walk()

    assert walk.init() == Opened(epoch=1)
    assert walk.orders == INIT_WITHOUT_CONFIG


def test_the_orders_are_the_documented_ones() -> None:
    """Both sequences are what the documentation lists, word for word."""
    assert INIT_WITH_CONFIG == [
        "err_msg_mode", "error_manager", "device_log", "MODEL", "dump", "OP_EXECUTOR",
        "stack_size", "default_device", "printf_fifo", "event_mode", "profiling", "DVPP", "OTHER",
    ]  # fmt: skip
    assert FINALIZE_STEPS == [
        "log_flush", "statistics", "profiling_stop", "OP_COMPILER", "MODEL", "dump_stop", "DVPP",
        "default_device_off", "OTHER",
    ]  # fmt: skip


def test_repeated_init_counts_and_reads_nothing() -> None:
    """An init while the runtime is up takes a reference and orders nothing."""
    walk = Walk()
    walk.init()
    walk.taken()

    assert walk.init() == JOINED
    assert (walk.count, walk.orders) == (2, [])


def test_release_of_one_of_many_only_counts() -> None:
    """The sequence is for the last one."""
    walk = Walk()
    walk.init()
    walk.init()
    walk.taken()

    assert walk.ask(RELEASE) == Counted(1, epoch=1)
    assert walk.orders == []


@pytest.mark.parametrize("request_", [RELEASE, FINALIZE])
def test_last_release_and_finalize_run_the_whole_sequence(request_) -> None:
    """The count is 0 after them and every step was ordered once."""
    walk = Walk()
    walk.init()
    walk.taken()

    assert walk.ask(request_) == Closed(())
    assert walk.orders == TO_THE_END
    assert walk.count == 0


def test_finalize_ends_the_runtime_whatever_the_count() -> None:
    """One finalize is enough for any number of references."""
    walk = Walk()
    walk.init()
    walk.init()

    assert walk.ask(FINALIZE) == Closed(())
    assert walk.count == 0


def test_release_with_nothing_to_release_is_refused() -> None:
    """The count stays 0, before the first init and after a finalize."""
    walk = Walk()
    for _ in range(2):
        effect = walk.ask(RELEASE)
        assert isinstance(effect, Refused)
        assert isinstance(effect.error, RepeatFinalizeError)
        assert effect.error.code == 100037
        assert walk.count == 0
        walk.init()
        walk.ask(FINALIZE)


def test_finalize_before_any_init_runs_once() -> None:
    """The reference's quirk: it succeeds, and the next one is refused until an init succeeds."""
    walk = Walk()

    assert walk.ask(FINALIZE) == Closed(())
    assert walk.orders == TO_THE_END
    refused = walk.ask(FINALIZE)
    assert isinstance(refused, Refused)
    assert refused.error.code == AclCode.REPEAT_FINALIZE
    walk.init()
    assert walk.ask(FINALIZE) == Closed(())


def test_failed_init_after_a_finalize_leaves_the_flag() -> None:
    """Finalize is still refused then: the half-made state has been undone already."""
    walk = Walk()
    walk.ask(FINALIZE)
    assert isinstance(walk.init(fails=["MODEL"]), OpenFailed)

    assert isinstance(walk.ask(FINALIZE), Refused)


@pytest.mark.parametrize("failing", INIT_WITH_CONFIG)
def test_failing_init_step_undoes_what_was_done_in_reverse(failing: str) -> None:
    """The failing one included: a pass of callbacks, or a step that died half-way, had effects."""
    walk = Walk()

    effect = walk.init(FILE_A, fails=[failing])

    assert isinstance(effect, OpenFailed)
    assert str(effect.error) == failing
    reached = INIT_WITH_CONFIG.index(failing)
    undone = INIT_WITH_CONFIG[: reached + 1]
    assert walk.orders == [
        *INIT_WITH_CONFIG[: reached + 1],
        *(f"undo {name}" for name in reversed(undone)),
        "release",
    ]
    assert (walk.count, walk.state.standing.phase) == (0, Phase.DOWN)
    assert walk.state.standing.pinned is None


def test_failing_undo_does_not_keep_the_others_from_running() -> None:
    """Everything is undone all the same, and the failure that began it stays the result."""
    walk = Walk()

    effect = walk.init(fails=["DVPP", "undo MODEL", "undo device_log"])

    assert isinstance(effect, OpenFailed)
    assert str(effect.error) == "DVPP"
    assert [str(e) for e in effect.undo_failures] == ["undo MODEL", "undo device_log"]
    assert walk.orders[-2:] == ["undo err_msg_mode", "release"]


@pytest.mark.parametrize("failing", FINALIZE_STEPS)
def test_failing_finalize_step_does_not_wedge_the_safe_policy(failing: str) -> None:
    """The rest of the sequence runs, the runtime is down, and the failure is reported."""
    walk = Walk()
    walk.init()
    walk.taken()

    effect = walk.ask(RELEASE, fails=[failing])

    assert isinstance(effect, Closed)
    assert [str(e) for e in effect.failures] == [failing]
    assert walk.orders == TO_THE_END
    assert (walk.count, walk.state.standing.is_finalized) == (0, True)


@pytest.mark.parametrize("failing", FINALIZE_STEPS)
def test_failing_finalize_step_stops_the_faithful_policy(failing: str) -> None:
    """Count and flag are as before, and a retry runs the whole sequence again."""
    walk = Walk()
    walk.init()
    walk.init()
    walk.taken()

    effect = walk.ask(FinalizeRequested(STOP), fails=[failing])

    assert isinstance(effect, CloseStopped)
    assert str(effect.error) == failing
    assert walk.taken() == FINALIZE_STEPS[: FINALIZE_STEPS.index(failing) + 1]
    assert (walk.count, walk.state.standing.phase) == (2, Phase.UP)
    assert walk.ask(FinalizeRequested(STOP)) == Closed(())
    assert walk.orders == TO_THE_END


def test_finalize_that_stops_before_any_init_leaves_the_runtime_down() -> None:
    """It goes back to where it was, not up."""
    walk = Walk()

    assert isinstance(walk.ask(FinalizeRequested(STOP), fails=["MODEL"]), CloseStopped)
    assert walk.state.standing.phase is Phase.DOWN
    assert not walk.state.standing.is_finalized


def test_interruption_of_a_finalize_step_becomes_one_of_its_failures() -> None:
    """An exception group of ordinary errors can't hold a KeyboardInterrupt itself."""
    walk = Walk()
    walk.init()

    effect = walk.ask(
        RELEASE,
        outcome=lambda name: (
            StepFailed((KeyboardInterrupt(),)) if name == "MODEL" else StepSucceeded()
        ),
    )

    assert isinstance(effect, Closed)
    (failure,) = effect.failures
    assert isinstance(failure, AclError)
    assert isinstance(failure.__cause__, KeyboardInterrupt)


def test_step_with_several_failing_callbacks_reports_them_all() -> None:
    """One pass may fail more than once, and every failure is kept, in order."""
    walk = Walk()
    walk.init()
    first, second = CallbackError(7, "callback", "a"), ValueError("b")

    effect = walk.ask(
        RELEASE,
        outcome=lambda name: StepFailed((first, second)) if name == "OTHER" else StepSucceeded(),
    )

    assert effect == Closed((first, second))


# The configuration


def test_content_of_the_first_success_is_pinned_for_life() -> None:
    """After a full finalize another content is refused with both sources named."""
    walk = Walk()
    walk.init(FILE_A)
    walk.ask(FINALIZE)
    walk.taken()

    effect = walk.init(FILE_B)

    assert isinstance(effect, OpenFailed)
    assert isinstance(effect.error, ConfigMismatchError)
    assert effect.error.code == 100000
    assert FILE_A.name in str(effect.error)
    assert FILE_B.name in str(effect.error)
    assert walk.orders == NOTHING_DONE


def test_same_content_under_another_path_is_the_same() -> None:
    """Only the bytes count."""
    walk = Walk()
    walk.init(FILE_A)
    walk.ask(FINALIZE)

    assert walk.init(Content("/elsewhere.json", FILE_A.raw)) == Opened(epoch=2)


def test_failed_init_pins_nothing() -> None:
    """A later try may use another content."""
    walk = Walk()
    walk.init(FILE_A, fails=["OTHER"])

    assert walk.init(FILE_B) == Opened(epoch=1)


def test_other_content_while_up_is_refused_and_takes_no_reference() -> None:
    """The safe policy compares."""
    walk = Walk()
    walk.init(FILE_A)

    effect = walk.init(FILE_B)

    assert isinstance(effect, Refused)
    assert isinstance(effect.error, ConfigMismatchError)
    assert walk.count == 1


@pytest.mark.parametrize(
    ("policy", "joined"),
    [
        (
            Policy(on_mismatch=OnMismatch.WARN),
            IGNORED._replace(warns=True),
        ),
        (
            Policy(on_mismatch=OnMismatch.IGNORE),
            IGNORED,
        ),
        (FAITHFUL, IGNORED),
    ],
)
def test_other_content_while_up_may_join(policy: Policy, joined: Joined) -> None:
    """With a warning, or without a word."""
    walk = Walk()
    walk.init(FILE_A)

    assert walk.init(FILE_B, policy) == joined
    assert walk.count == 2


def test_none_joins_whatever_runs() -> None:
    """It says nothing about a config, so nothing can differ."""
    walk = Walk()
    walk.init(FILE_A)

    assert walk.init(None) == JOINED


@pytest.mark.parametrize(
    ("asked", "effect"),
    [
        (
            Content("/etc/a.json", None, stamp=1),
            JOINED,
        ),
        (
            Content("/link.json", None, stamp=1),
            JOINED,
        ),
        (Content("/etc/a.json", None, stamp=2), ReadFirst()),
        (Content("/other.json", None, stamp=2), ReadFirst()),
        (Content("/etc/a.json", None), JOINED),
        (Content("/other.json", None), ReadFirst()),
    ],
)
def test_file_is_read_only_if_its_stamp_can_not_tell(asked: Content, effect) -> None:
    """The same unchanged file joins at once; the same path without a file joins, too."""
    walk = Walk()
    walk.init(Content("/etc/a.json", b"{}", stamp=1))

    answer = walk.send(InitRequested(asked, SAFE, RULES))
    assert (type(answer), answer) == (type(effect), effect)


def test_unread_file_joins_under_the_faithful_policy() -> None:
    """The reference counts up without a look at the path."""
    walk = Walk()
    walk.init(FILE_A)

    assert walk.send(InitRequested(Content("/missing", None), FAITHFUL, RULES)) == IGNORED


def test_safe_policy_validates_the_whole_config_first() -> None:
    """Nothing starts and nobody is notified."""
    walk = Walk()
    invalid = ConfigError(100009, "aclInit", "bad dump")
    faults = {InitStep.DUMP: invalid}

    effect = walk.init(FILE_A, config=ConfigRead(FILE_A, True, invalid, faults))

    assert effect == OpenFailed(invalid)
    assert walk.orders == NOTHING_DONE


def test_faithful_policy_meets_a_fault_at_its_step() -> None:
    """MODEL callbacks have run when a dump section is refused, and are undone."""
    walk = Walk()
    invalid = ConfigError(100009, "aclInit", "bad dump")
    faults = {InitStep.DUMP: invalid}

    effect = walk.init(FILE_A, FAITHFUL, config=ConfigRead(FILE_A, True, invalid, faults))

    assert effect == OpenFailed(invalid)
    assert walk.orders[:4] == INIT_WITH_CONFIG[:4]
    assert walk.orders[4] == "undo MODEL"


@pytest.mark.parametrize("policy", [SAFE, FAITHFUL])
def test_unreadable_file_comes_before_the_pin(policy: Policy) -> None:
    """As in the reference: the file is opened before its content can be compared."""
    walk = Walk()
    walk.init(FILE_A)
    walk.ask(FINALIZE)
    missing = ConfigError(100003, "aclInit", "no file")
    read = ConfigRead(Content("/missing", b""), True, missing, {InitStep.READ: missing})

    assert walk.init(FILE_B, policy, config=read) == OpenFailed(missing)


def test_failure_while_reading_leaves_the_runtime_down() -> None:
    """Nothing was begun, so nothing is undone."""
    walk = Walk()
    failure = StepFailed((OSError("gone"),))

    effect = walk.init(FILE_A, config=failure)

    assert effect == OpenFailed(failure.errors[0])
    assert (walk.orders, walk.state.standing.phase) == (NOTHING_DONE, Phase.DOWN)


# Waiting, withdrawing, forking


@pytest.mark.parametrize("request_", [InitRequested(None, SAFE, RULES), RELEASE, FINALIZE, HOLD])
@pytest.mark.parametrize("phase", [Phase.OPENING, Phase.CLOSING])
def test_everybody_waits_for_a_transition(request_, phase: Phase) -> None:
    """A request during a transition changes nothing and is asked again later."""
    walk = Walk()
    if phase is Phase.CLOSING:
        walk.init()
        walk.send(RELEASE)
    else:
        walk.send(InitRequested(None, SAFE, RULES))

    before = walk.state
    assert isinstance(walk.send(request_), Wait)
    assert walk.state == before


def test_hold_says_whether_the_runtime_is_up() -> None:
    """For those who change the callbacks between two transitions."""
    walk = Walk()
    assert walk.send(HOLD) == Held(epoch=0, is_up=False)
    assert not is_up(walk.state)
    walk.send(HoldEnded())
    walk.init()
    assert walk.send(HOLD) == Held(epoch=1, is_up=True)
    assert is_up(walk.state)


def test_withdrawn_join_gives_its_reference_back() -> None:
    """The count is as before it."""
    walk = Walk()
    walk.init()
    joined = walk.init()

    assert walk.send(Withdrawn(joined)) == Counted(1, epoch=1)


def test_withdrawn_join_that_is_the_last_one_begins_a_finalize() -> None:
    """Everybody else has left meanwhile, so it is this one's turn to close."""
    walk = Walk()
    walk.init()
    joined = walk.init()
    walk.ask(RELEASE)

    assert walk.send(Withdrawn(joined)) == Stop(FINALIZE_ORDER[0], CONTINUE, serial=2)


def test_withdrawn_join_is_kept_when_nobody_could_close() -> None:
    """Better one reference too many than a transition without an owner."""
    walk = Walk()
    walk.init()
    joined = walk.init()
    walk.ask(RELEASE)

    assert isinstance(walk.send(Withdrawn(joined, may_close=False)), NothingToDo)
    assert walk.count == 1


def test_withdrawn_count_takes_the_reference_again() -> None:
    """A cancelled finalize_reference has given nothing back."""
    walk = Walk()
    walk.init()
    walk.init()
    counted = walk.ask(RELEASE)

    assert isinstance(walk.send(Withdrawn(counted)), NothingToDo)
    assert walk.count == 2


def test_withdrawn_count_stays_given_back_once_the_runtime_is_down() -> None:
    """There is nothing left to hold a reference to."""
    walk = Walk()
    walk.init()
    walk.init()
    counted = walk.ask(RELEASE)
    walk.ask(FINALIZE)

    assert isinstance(walk.send(Withdrawn(counted)), NothingToDo)
    assert walk.count == 0


def test_withdrawn_opening_and_closing_go_back() -> None:
    """Nothing of the transition has been done yet."""
    walk = Walk()
    opening = walk.send(InitRequested(None, SAFE, RULES))
    assert isinstance(opening, Read)
    walk.send(Withdrawn(opening))
    assert (walk.count, walk.state.standing.phase) == (0, Phase.DOWN)

    walk.init()
    closing = walk.send(RELEASE)
    walk.send(Withdrawn(closing))
    assert (walk.count, walk.state.standing.phase) == (1, Phase.UP)


def test_abandoned_opening_is_down_again() -> None:
    """Nobody is left who could undo it step by step."""
    walk = Walk()
    walk.send(InitRequested(FILE_A, SAFE, RULES))
    walk.send(ConfigRead(FILE_A, is_given=True))
    error = GeneratorExit()

    assert walk.send(Abandoned(error)) == OpenFailed(error)
    assert (walk.count, walk.state.standing.phase) == (0, Phase.DOWN)
    assert walk.init(FILE_B) == Opened(epoch=1)


def test_abandoned_closing_is_down() -> None:
    """With what had failed before, and a failure that says so."""
    walk = Walk()
    walk.init()
    walk.send(RELEASE)
    walk.send(StepFailed((ValueError("flush"),)))

    effect = walk.send(Abandoned(GeneratorExit()))

    assert isinstance(effect, Closed)
    assert ["flush" in str(e) for e in effect.failures] == [True, False]
    assert "closed" in str(effect.failures[1])
    assert (walk.count, walk.state.standing.phase) == (0, Phase.DOWN)


def test_fork_before_any_init_changes_nothing() -> None:
    """The child may initialise for itself."""
    walk = Walk()
    walk.send(Forked(4711))

    assert walk.init() == Opened(epoch=1)


@pytest.mark.parametrize("is_up_then", [True, False])
def test_fork_after_an_init_refuses_everything(is_up_then: bool) -> None:
    """Every call names the parent and says what to do instead."""
    walk = Walk()
    walk.init()
    if not is_up_then:
        walk.ask(FINALIZE)

    walk.send(Forked(4711))
    walk.send(Forked(4712))

    assert walk.count == 0
    for request_ in (InitRequested(None, SAFE, RULES), RELEASE, FINALIZE, HOLD):
        effect = walk.send(request_)
        assert isinstance(effect, Refused)
        assert isinstance(effect.error, ForkedRuntimeError)
        assert "4711" in str(effect.error)
        assert "spawn" in str(effect.error)


def test_session_of_an_earlier_opening_can_not_release_a_newer_one() -> None:
    """A finalize swept its reference away; somebody else's is not its to give back."""
    walk = Walk()
    walk.init()
    walk.ask(FINALIZE)
    for _ in range(2):
        effect = walk.ask(ReleaseRequested(CONTINUE, epoch=1))
        assert isinstance(effect, Refused)
        assert "finalize()" in str(effect.error)
        walk.init()

    assert walk.count == 2


# The hot path


def test_epoch_to_count_in_is_that_of_a_runtime_that_is_up() -> None:
    """Down, under way and in a forked child the machine must decide."""
    walk = Walk()
    assert epoch_to_count_in(walk.state.standing) == 0
    walk.send(InitRequested(FILE_A, SAFE, RULES))
    assert epoch_to_count_in(walk.state.standing) == 0
    walk = Walk()
    for epoch in (1, 2):
        walk.init(FILE_A)
        assert epoch_to_count_in(walk.state.standing) == epoch
        walk.ask(FINALIZE)
        assert epoch_to_count_in(walk.state.standing) == 0

    walk.send(Forked(4711))
    assert epoch_to_count_in(walk.state.standing) == 0


def test_ipv350_counts_with_success() -> None:
    """A repeated init is no repeat there, and its config is not looked at."""
    walk = Walk(PAIRED)
    walk.init(FILE_A)

    assert walk.init(FILE_B) == Joined(False, config_applied=False, epoch=1, ref_count=2)
    assert walk.init(FILE_A) == Joined(False, config_applied=True, epoch=1, ref_count=3)
    assert walk.count == 3


def test_ipv350_finalize_counts_down() -> None:
    """Only the last one tears down."""
    walk = Walk(PAIRED)
    walk.init()
    walk.init()
    walk.taken()

    assert walk.ask(FINALIZE) == Counted(1, epoch=1)
    assert walk.taken() == []
    assert walk.ask(FINALIZE) == Closed(())
    callbacks = {entry.step for entry in FINALIZE_ORDER if entry.notifies is not None}
    assert walk.orders == [order for order in TO_THE_END if order not in callbacks]


def test_ipv350_surplus_finalize_does_nothing() -> None:
    """Before an init and after the last finalize."""
    walk = Walk(PAIRED)
    assert isinstance(walk.ask(FINALIZE), NothingToDo)
    walk.init()
    walk.ask(FINALIZE)
    assert isinstance(walk.ask(FINALIZE), NothingToDo)
    assert walk.count == 0


def test_ipv350_pins_nothing() -> None:
    """Each init and finalize pair may bring its own config."""
    walk = Walk(PAIRED)
    walk.init(FILE_A)
    walk.ask(FINALIZE)

    assert walk.init(FILE_B) == Opened(epoch=2)
    assert walk.state.standing.pinned is None


# The table itself


def test_every_request_has_an_answer_in_every_phase() -> None:
    """Nobody's call can find the table empty."""
    for request_type in (
        InitRequested,
        ReleaseRequested,
        FinalizeRequested,
        HoldRequested,
    ):
        for phase in Phase:
            assert (request_type, phase) in TABLE


def test_event_that_can_not_happen_is_a_bug_and_changes_nothing() -> None:
    """An outcome without a transition raises instead of guessing."""
    walk = Walk()
    before = walk.state
    with pytest.raises(KeyError):
        step(walk.state, StepSucceeded())

    assert walk.state == before


def test_no_content_is_the_empty_text() -> None:
    """None, an empty path and an empty file are one content, and an empty object is another."""
    empty_file = Content("/empty.json", b"")
    assert empty_file.is_same_as(NO_CONTENT)
    assert not FILE_B.is_same_as(NO_CONTENT)


def test_failing_release_is_one_of_the_failures() -> None:
    """The device could not be let go of; the runtime is down all the same."""
    walk = Walk()
    walk.init()
    for request_ in (RELEASE, FinalizeRequested(STOP)):
        effect = walk.ask(request_, fails=["release"])
        assert isinstance(effect, Closed)
        assert [str(e) for e in effect.failures] == ["release"]
        assert walk.state.standing.phase is Phase.DOWN
        walk.init()

    failed = Walk().init(fails=["DVPP", "release"])
    assert isinstance(failed, OpenFailed)
    assert [str(e) for e in failed.undo_failures] == ["release"]


def test_decision_of_an_earlier_opening_is_withdrawn_without_effect() -> None:
    """Somebody's finalize swept it away; what is up now belongs to others."""
    for take in (lambda w: w.init(), lambda w: w.ask(RELEASE), lambda w: w.send(HOLD)):
        walk = Walk()
        walk.init()
        walk.init()
        decision = take(walk)
        walk.send(HoldEnded()) if isinstance(decision, Held) else None
        walk.ask(FINALIZE)
        walk.init()
        walk.init()
        before = walk.state

        assert isinstance(walk.send(Withdrawn(decision)), NothingToDo)
        assert walk.state == before


def test_late_callback_holds_the_runtime_up() -> None:
    """Whoever wants to end it waits; entering and leaving among others goes on."""
    walk = Walk()
    walk.init()
    assert walk.send(HOLD) == Held(epoch=1, is_up=True)
    walk.init()
    assert walk.ask(RELEASE) == Counted(1, epoch=1)
    assert isinstance(walk.send(RELEASE), Wait)
    assert isinstance(walk.send(FINALIZE), Wait)
    walk.send(HoldEnded())
    assert walk.ask(FINALIZE) == Closed(())


def test_decisions_withdrawn_during_a_finalize_that_stops_change_the_count() -> None:
    """It may leave everybody's references as they are, so they can't be taken for swept away."""
    walk = Walk()
    walk.init()
    joined, _ = walk.init(), walk.init()
    counted = walk.ask(RELEASE)
    stop = walk.send(FinalizeRequested(STOP))
    assert isinstance(stop, Stop)
    assert isinstance(walk.send(Withdrawn(joined)), Wait)
    assert walk.state.ref_count == 2
    assert isinstance(walk.send(Withdrawn(counted)), NothingToDo)
    assert walk.state.ref_count == 3
    assert isinstance(walk.send(StepFailed((RuntimeError("no"),))), CloseStopped)
    assert walk.state.ref_count == 3


def test_product_without_callbacks_notifies_none() -> None:
    """Also those that were registered while the runtime was for another product."""
    walk = Walk()
    walk.init(rules=PAIRED)
    walk.ask(FINALIZE)
    callbacks = {
        entry.step for entry in (*INIT_ORDER, *FINALIZE_ORDER) if entry.notifies is not None
    }
    assert not callbacks & set(walk.orders)


def test_no_init_begins_while_a_callback_is_registered() -> None:
    """It would go past a callback that is half in the table."""
    walk = Walk()
    held = walk.send(HOLD)
    assert held == Held(epoch=0, is_up=False)
    assert isinstance(walk.send(InitRequested(None, SAFE, RULES)), Wait)
    assert isinstance(walk.send(FINALIZE), Wait)
    walk.send(Withdrawn(held))
    assert isinstance(walk.init(), Opened)


def test_hold_of_the_parent_is_none_of_the_child() -> None:
    """A child of a process that had not initialised can do so itself."""
    walk = Walk()
    walk.send(HOLD)
    walk.send(Forked(4711))
    assert isinstance(walk.init(), Opened)


def test_product_without_callbacks_and_references_refuses_their_calls() -> None:
    """IPV350 pairs every init with one finalize, and has nothing to notify."""
    walk = Walk(PAIRED)
    for bring_up in (lambda: None, walk.init):
        bring_up()
        for request_ in (HOLD, RELEASE):
            refused = walk.send(request_)
            assert isinstance(refused, Refused)
            assert isinstance(refused.error, FeatureUnsupportedError)
            assert refused.error.code is AclCode.FEATURE_UNSUPPORTED

    walk.init()
    assert walk.ask(ReleaseRequested(CONTINUE, epoch=1)) == Counted(1, epoch=1)


def test_rules_of_a_product_hold_once_its_init_has_succeeded() -> None:
    """An init that fails leaves the runtime counting as before."""
    walk = Walk()
    assert isinstance(walk.init(rules=PAIRED, fails=["err_msg_mode"]), OpenFailed)
    assert walk.state.standing.rules is RULES
    assert isinstance(walk.init(rules=PAIRED), Opened)
    assert walk.state.standing.rules is PAIRED


def test_forked_child_has_one_refusal_for_everything() -> None:
    """Also for what is no lifecycle call."""
    walk = Walk()
    assert refusal_of_forked_child(walk.state) is None
    walk.init()
    walk.send(Forked(4711))
    assert isinstance(refusal_of_forked_child(walk.state), ForkedRuntimeError)


def test_effects_compare_by_value() -> None:
    """A test can say what it expects."""
    entry = INIT_ORDER[2]
    assert Start(entry) == Start(entry)
    assert Undo(InitStep.DUMP) != Undo(InitStep.MODEL)


def refusal_of(walk: Walk, content: Content | None) -> str:
    """Return what an init with that content is refused with, up or down."""
    effect = walk.init(content)
    error = effect.error if isinstance(effect, (Refused, OpenFailed)) else None
    assert isinstance(error, ConfigMismatchError)
    return str(error)


def test_mismatch_while_up_names_both_the_rule_and_the_ways_to_join() -> None:
    """Whoever meets it knows what to write."""
    walk = Walk()
    walk.init(FILE_A)

    said = refusal_of(walk, FILE_B)
    assert "/etc/b.json" in said
    assert "/etc/a.json" in said
    assert "contents are the same if their bytes are" in said
    assert 'on_mismatch="warn"' in said


def test_mismatch_after_everything_closed_says_what_no_longer_helps() -> None:
    """Neither `on_mismatch` nor giving no configuration joins what is down."""
    walk = Walk()
    walk.init(FILE_A)
    walk.ask(FINALIZE)

    said = refusal_of(walk, NO_CONTENT)
    assert "whatever on_mismatch says" in said
    assert "no configuration joins what is up, and nothing is; give /etc/a.json again" in said
    assert "nothing is;" not in refusal_of(walk, FILE_B)


def test_mismatch_of_one_path_says_that_the_file_was_changed() -> None:
    """Both names are the same, so they alone would say nothing."""
    walk = Walk()
    walk.init(FILE_A)

    changed = Content(FILE_A.name, b"{} ")
    assert "/etc/a.json differs from what stood there earlier" in refusal_of(walk, changed)
    assert "the file was changed" in refusal_of(walk, changed)


def test_mismatch_tells_an_empty_object_from_no_configuration() -> None:
    """They look alike, and are not the same content."""
    walk = Walk()
    walk.init(NO_CONTENT)

    said = refusal_of(walk, FILE_B)
    assert "/etc/b.json ({}, which is not the same as no configuration)" in said
    assert "differs from no configuration, with which" in said
    walk = Walk()
    walk.init(Content("/etc/empty.json", b""))
    assert "/etc/empty.json (empty, which is the same as no" in refusal_of(walk, FILE_A)
    walk = Walk()
    walk.init(Content("<none>", b""))
    assert "differs from no configuration, with which" in refusal_of(walk, FILE_A)
