"""Any sequence of calls, withdrawals and full finalizes counts as a simple model of it does."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from aclasync.lifecycle.events import (
    Counted,
    FinalizeRequested,
    Joined,
    Opened,
    Refused,
    ReleaseRequested,
    Stop,
    Withdrawn,
)
from aclasync.lifecycle.state import OnError, Phase

from .walk import Walk


class Holders(RuleBasedStateMachine):
    """Holders are epochs; those of an earlier epoch hold nothing any more."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.walk = Walk()
        self.epoch = 0
        self.held = 0

    @rule(target=sessions)
    def enter(self) -> Joined | Opened:
        effect = self.walk.init()
        if isinstance(effect, Opened):
            self.epoch += 1

        self.held += 1
        assert effect.epoch == self.epoch
        return effect

    @rule(session=consumes(sessions))
    def leave(self, session: Joined | Opened) -> None:
        effect = self.walk.ask(ReleaseRequested(OnError.CONTINUE, session.epoch))
        if session.epoch == self.epoch and self.held:
            self.held -= 1
            assert not isinstance(effect, Refused)
        else:
            assert isinstance(effect, Refused)

    @rule(session=consumes(sessions))
    def withdraw(self, session: Joined | Opened) -> None:
        if not isinstance(session, Joined):
            return self.leave(session)

        effect = self.walk.send(Withdrawn(session))
        if isinstance(effect, Stop):
            self.walk.ask_on(effect)

        if session.epoch == self.epoch and self.held:
            self.held -= 1

        return None

    @rule(withdraws=st.booleans())
    def release(self, withdraws: bool) -> None:
        if self.held < 2:
            return

        counted = self.walk.ask(ReleaseRequested(OnError.CONTINUE))
        assert counted == Counted(self.held - 1, self.epoch)
        # Nobody's session, so it comes back: by withdrawal, or by an init without a session.
        if withdraws:
            self.walk.send(Withdrawn(counted))
        else:
            self.walk.init()

    @rule()
    def finalize(self) -> None:
        self.walk.ask(FinalizeRequested(OnError.CONTINUE))
        self.held = 0

    @invariant()
    def counts_agree(self) -> None:
        assert self.walk.count == self.held
        assert (self.walk.state.standing.phase is Phase.UP) == (self.held > 0)


TestHolders = Holders.TestCase
TestHolders.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
