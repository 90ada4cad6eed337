"""Walk the pure machine with no event loop: perform every order as told."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from aclasync.lifecycle.events import (
    ConfigRead,
    Effect,
    InitRequested,
    Outcome,
    Read,
    Release,
    Request,
    Start,
    StepFailed,
    StepSucceeded,
    Stop,
    Undo,
)
from aclasync.lifecycle.machine import initial_state, step
from aclasync.lifecycle.state import NO_CONTENT, SAFE, Content, LifecycleState, Policy
from aclasync.product import Product

RULES = Product.ATLAS_A2.rules
PAIRED = Product.IPV350.rules
FILE_A = Content("/etc/a.json", b'{"err_msg_mode":"1"}')
FILE_B = Content("/etc/b.json", b"{}")


class Walk:
    """A state, what was ordered on the way, and what the last event gave."""

    def __init__(self, rules=RULES) -> None:
        self.rules = rules
        self.state: LifecycleState = initial_state(rules)
        self.orders: list[str] = []

    @property
    def count(self) -> int:
        return self.state.ref_count

    def send(self, event) -> Effect:
        self.state, effect = step(self.state, event)
        return effect

    def ask(
        self,
        request: Request,
        config: ConfigRead | StepFailed | None = None,
        fails: Iterable[str] = (),
        outcome: Callable[[str], Outcome] | None = None,
    ) -> Effect:
        """Make a request and run the transition it begins to its end."""
        return self.ask_on(self.send(request), config, fails, outcome)

    def ask_on(
        self,
        effect: Effect,
        config: ConfigRead | StepFailed | None = None,
        fails: Iterable[str] = (),
        outcome: Callable[[str], Outcome] | None = None,
    ) -> Effect:
        """Run the transition that an effect begins to its end."""
        failing = set(fails)
        while True:
            match effect:
                case Read():
                    effect = self.send(config or ConfigRead(NO_CONTENT, is_given=False))
                    continue
                case Start(entry):
                    name = f"{entry.step}"
                case Stop(entry):
                    name = f"{entry.step}"
                case Undo(undone):
                    name = f"undo {undone}"
                case Release():
                    name = "release"
                case _:
                    return effect

            self.orders.append(name)
            if outcome is not None:
                effect = self.send(outcome(name))
            elif name in failing:
                effect = self.send(StepFailed((ValueError(name),)))
            else:
                effect = self.send(StepSucceeded())

    def init(
        self, content: Content | None = NO_CONTENT, policy: Policy = SAFE, rules=None, **kw
    ) -> Effect:
        given = content not in (None, NO_CONTENT)
        kw.setdefault("config", ConfigRead(content or NO_CONTENT, is_given=given))
        return self.ask(InitRequested(content, policy, rules or self.rules), **kw)

    def taken(self) -> list[str]:
        orders, self.orders = self.orders, []
        return orders
