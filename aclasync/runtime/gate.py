"""The gate: process state behind a lock, and a FIFO of those who must wait for a transition.

Decisions are the machine's. The gate only makes each of them atomic across loops and threads: the
lock is held for one step, never across an await and never while calling foreign code.

`asyncio.Lock` raises when two loops share it and `anyio.Lock` lets two holders in; both were
measured. Nobody here holds a lock over an await anyway: a transition is a state, and its owner is
whoever the machine handed it to.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import final

import anyio

from aclasync.lifecycle.events import (
    Abandoned,
    Decision,
    Effect,
    Forked,
    Held,
    HoldEnded,
    HoldRequested,
    Joined,
    NothingToDo,
    Outcome,
    Refused,
    Request,
    Stop,
    Wait,
    Withdrawn,
)
from aclasync.lifecycle.machine import refusal_of_forked_child, step
from aclasync.lifecycle.nested import epoch_to_count_in
from aclasync.lifecycle.state import LifecycleState, Standing

from .loops import HomeLoop, Wakeup

_log = logging.getLogger("aclasync.lifecycle")

# How often a waiter looks whether the loop of whoever runs the transition still exists.
_PATIENCE_S = 1.0


@final
class Gate:
    """Owns one `LifecycleState`; every change of it passes here."""

    __slots__ = (
        "_close_last",
        "_give_back",
        "_holders",
        "_let_go",
        "_lock",
        "_owner",
        "_queue",
        "_state",
        "_up_epoch",
        "waiting",
    )

    def __init__(
        self,
        state: LifecycleState,
        *,
        close_last: Callable[[Stop], Awaitable[object]],
        give_back: Callable[[Joined], Awaitable[object]],
        let_go: Callable[[], Callable[[], None]],
    ) -> None:
        """Begin in a state.

        Args:
          state: where to begin.
          close_last: runs a finalize for a caller who was cancelled as the last holder.
          give_back: releases what a cancelled caller joined, when it can't be done at once.
          let_go: takes away, under the lock, what an abandoned transition held, and returns what
            drops it, to be called outside.
        """
        # A plain pair while only the count changes, which costs a third of a `LifecycleState`.
        self._state: tuple[int, Standing] = state
        self._up_epoch = epoch_to_count_in(state.standing)
        self._close_last = close_last
        self._give_back = give_back
        self._let_go = let_go
        #: The loop of whoever runs the transition under way.
        self._owner: HomeLoop | None = None
        # The loops of those who hold the lifecycle still, one entry for each.
        self._holders: list[HomeLoop] = []
        self._lock = threading.Lock()
        self._queue: deque[_Waiter] = deque()
        self.waiting: int = 0

    @property
    def state(self) -> LifecycleState:
        """The state at this moment."""
        return LifecycleState(*self._state)

    def enter_nested(self) -> int:
        """Take a reference if the runtime is up and nobody waits; return its epoch, else 0."""
        with self._lock:
            epoch = self._up_epoch
            if not epoch or self._queue:
                return 0

            ref_count, standing = self._state
            self._state = ref_count + 1, standing
            return epoch

    def leave_nested(self, epoch: int) -> bool:
        """Give a reference of that epoch back if others are left; return whether it was."""
        with self._lock:
            ref_count, standing = self._state
            if epoch != self._up_epoch or ref_count < 2:
                return False

            self._state = ref_count - 1, standing
            return True

    async def request(self, request: Request) -> Decision:
        """Wait for one's turn and return the machine's decision.

        Cancellation: safe; a waiter that is cancelled has changed nothing.
        """
        # Before anything that asks for the event loop: asyncio knows of none in a forked child.
        if (refusal := refusal_of_forked_child(self.state)) is not None:
            return Refused(refusal)

        decision = self._decide_now(request)
        if decision is not None:
            return decision

        self._free_from_lost_loops()
        waiter = _Waiter(request, Wakeup())
        decision = self._decide_now(request, waiter)
        if decision is not None:
            return decision

        try:
            while waiter.decision is None:
                with anyio.move_on_after(_PATIENCE_S):
                    await waiter.wakeup.wait()

                self._free_from_lost_loops()
        except BaseException as exc:
            effect = self._withdraw(waiter, may_close=not isinstance(exc, GeneratorExit))
            if isinstance(effect, Stop):
                await self._close_last(effect)
            elif isinstance(effect, Wait) and isinstance(waiter.decision, Joined):
                # A late callback holds the runtime up; the reference goes back after it.
                await self._give_back(waiter.decision)

            raise

        return waiter.decision

    def feed(self, serial: int, outcome: Outcome, publish: Callable[[Effect], None]) -> Effect:
        """Report what became of an order of that transition; return the next order.

        `publish` is called under the lock with the effect that ends the transition, before
        anybody else can see the new state.

        Raises:
          RuntimeError: the transition was abandoned meanwhile, with its event loop.
          ForkedRuntimeError: the process was forked in the middle of it; this is the child.
        """
        if (refusal := refusal_of_forked_child(self.state)) is not None:
            raise refusal

        with self._lock:
            if self.state.standing.serial != serial or self.state.standing.transition is None:
                raise RuntimeError("this init or finalize was abandoned with its event loop")

            state, effect = step(self.state, outcome)
            self._commit(state)
            if state.standing.transition is None:
                publish(effect)

        self._serve()
        return effect

    def hold_more(self, request: HoldRequested, home: HomeLoop) -> Decision | None:
        """Take a hold beside one that there is already, before everybody who waits for its end."""
        with self._lock:
            if not self._holders:
                return None

            state, decision = step(self.state, request)
            return self._decided(state, decision, home)

    def end_hold(self, home: HomeLoop) -> None:
        """Report that a hold of somebody in that loop is over."""
        with self._lock:
            if self._is_dismissed(home):
                self._commit(step(self.state, HoldEnded())[0])

        self._serve()

    def withdraw(self, decision: Decision) -> Effect:
        """Take back a decision that its caller, who is in this loop, can't act upon."""
        home = HomeLoop()
        with self._lock:
            effect = self._take_back(decision, home, may_close=True)

        self._serve()
        return effect

    def abandon(self, serial: int, error: BaseException) -> None:
        """End a transition without its owner: nothing can be awaited there any more."""
        with self._lock:
            standing = self.state.standing
            if standing.serial != serial or standing.transition is None:
                return

            state, _ = step(self.state, Abandoned(error))
            self._commit(state)
            drop = self._let_go()

        _log.error("the event loop was closed in the middle of an init or finalize")
        drop()
        self._serve()

    def reset_after_fork(self, parent_pid: int) -> None:
        """Forget the parent's waiters and lock; this child starts over or refuses everything."""
        self._lock = threading.Lock()
        self._queue = deque()
        self._owner = None
        self._holders = []
        self.waiting = 0
        state, _ = step(self.state, Forked(parent_pid))
        self._commit(state)

    def _commit(self, state: LifecycleState, home: HomeLoop | None = None) -> None:
        """Make `state` the state; `home` is where the transition runs that it may begin."""
        is_under_way = state.standing.transition is not None
        begins = is_under_way and state.standing.serial != self.state.standing.serial
        if begins or not is_under_way:
            self._owner = home if begins else None

        self._state = state
        self._up_epoch = epoch_to_count_in(state.standing)

    def _decide_now(self, request: Request, waiter: _Waiter | None = None) -> Decision | None:
        home = waiter.wakeup.home if waiter is not None else HomeLoop()
        with self._lock:
            if not self._queue:
                state, decision = step(self.state, request)
                if not isinstance(decision, Wait):
                    return self._decided(state, decision, home)

            if waiter is not None:
                self._queue.append(waiter)
                self.waiting += 1

            return None

    def _serve(self) -> None:
        """Decide for waiters in their order, until one of them begins the next transition."""
        while self._queue:
            with self._lock:
                if not self._queue:
                    return

                waiter = self._queue[0]
                if waiter.has_gone or waiter.wakeup.home.is_closed():
                    self._drop_first()
                    continue

                state, decision = step(self.state, waiter.request)
                if isinstance(decision, Wait):
                    return

                waiter.decision = self._decided(state, decision, waiter.wakeup.home)
                self._drop_first()

            if not waiter.wakeup.wake():
                self._withdraw(waiter, may_close=False)

    def _decided(self, state: LifecycleState, decision: Effect, home: HomeLoop) -> Decision:
        """Make `state` the state, as the answer to somebody in that loop."""
        self._commit(state, home)
        if isinstance(decision, Held):
            self._holders.append(home)

        return decision  # type: ignore[return-value]  # requests get decisions only

    def _free_from_lost_loops(self) -> None:
        # Their tasks may never be collected: anyio keeps tasks with open scopes alive.
        with self._lock:
            is_lost = self._owner is not None and self._owner.is_closed()
            serial = self.state.standing.serial
            lost_holders = [home for home in self._holders if home.is_closed()]

        for home in lost_holders:
            _log.error("the event loop was closed in the middle of a late callback")
            self.end_hold(home)

        if is_lost:
            self.abandon(serial, RuntimeError("event loop is closed"))

    def _is_dismissed(self, home: HomeLoop) -> bool:
        """Strike one hold of that loop off; return False if there is none (any more)."""
        for at, holder in enumerate(self._holders):
            if holder.key is home.key:
                del self._holders[at]
                return True

        return False

    def _take_back(self, decision: Decision, home: HomeLoop, *, may_close: bool) -> Effect:
        if isinstance(decision, Held) and not self._is_dismissed(home):
            return NothingToDo()

        state, effect = step(self.state, Withdrawn(decision, may_close))
        self._commit(state, home)
        return effect

    def _drop_first(self) -> None:
        if not self._queue.popleft().has_gone:
            self.waiting -= 1

    def _withdraw(self, waiter: _Waiter, *, may_close: bool) -> Effect:
        with self._lock:
            if waiter.decision is None:
                waiter.has_gone = True
                self.waiting -= 1
                return NothingToDo()

            count = self.state.ref_count
            effect = self._take_back(waiter.decision, waiter.wakeup.home, may_close=may_close)
            is_kept = not may_close and isinstance(waiter.decision, Joined)
            is_kept = is_kept and self.state.ref_count == count

        if is_kept:
            _log.warning("a session was lost with its event loop and still holds a reference")

        self._serve()
        return effect


class _Waiter:
    __slots__ = ("decision", "has_gone", "request", "wakeup")

    def __init__(self, request: Request, wakeup: Wakeup) -> None:
        self.request = request
        self.wakeup = wakeup
        self.decision: Decision | None = None
        self.has_gone = False
