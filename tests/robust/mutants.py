"""Faults that a change could bring into the lifecycle, each as one replaced line.

`python -m tests.robust.mutants` plants them one at a time in a copy of the package, runs the tests
that should notice, and fails if any of them survives. A fault is written down with the harm it does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TESTS = ("tests/lifecycle", "tests/runtime", "tests/conformance")


class Mutant(NamedTuple):
    """One fault: what stands in `file`, what stands there instead, and what that breaks."""

    harm: str
    file: str
    original: str
    planted: str


# fmt: off
MUTANTS = (
    Mutant("the work of a shutdown is not shielded", "runtime/uninterrupted.py",
           "with anyio.CancelScope(shield=True):", "with anyio.CancelScope():"),
    Mutant("work whose task never began is lost", "runtime/uninterrupted.py",
           "while not has_begun.is_set():", "while False:"),
    Mutant("a release that is cancelled while it waits is lost", "runtime/core.py",
           "await insist(lambda: self._ask(ReleaseRequested(OnError.CONTINUE, epoch)))",
           "await self._ask(ReleaseRequested(OnError.CONTINUE, epoch))"),
    Mutant("waiters are not woken when a transition ends", "runtime/gate.py",
           "                publish(effect)\n\n        self._serve()",
           "                publish(effect)\n\n        pass"),
    Mutant("a waiter jumps the queue", "runtime/gate.py",
           "            if not self._queue:\n                state, decision",
           "            if True:\n                state, decision"),
    Mutant("a nested entry jumps the queue", "runtime/gate.py",
           "if not epoch or self._queue:", "if not epoch:"),
    Mutant("a nested exit takes the last reference", "runtime/gate.py",
           "if epoch != self._up_epoch or ref_count < 2:", "if epoch != self._up_epoch:"),
    Mutant("a stale session takes a newer one's reference", "runtime/gate.py",
           "if epoch != self._up_epoch or ref_count < 2:", "if ref_count < 2:"),
    Mutant("a cancelled waiter is decided for", "runtime/gate.py",
           "if waiter.has_gone or waiter.wakeup.home.is_closed():",
           "if waiter.wakeup.home.is_closed():"),
    Mutant("a transition of a closed loop holds the gate", "runtime/gate.py",
           "is_lost = self._owner is not None and self._owner.is_closed()", "is_lost = False"),
    Mutant("a late callback of a closed loop holds the runtime up", "runtime/gate.py",
           "[home for home in self._holders if home.is_closed()]", "[]"),
    Mutant("a forked child keeps the parent's lock", "runtime/gate.py",
           "        self._lock = threading.Lock()\n        self._queue = deque()\n"
           "        self._owner = None\n        self._holders",
           "        self._queue = deque()\n        self._owner = None\n        self._holders"),
    Mutant("a withdrawn join keeps its reference", "runtime/core.py",
           "elif isinstance(effect, Wait):  # they have", "elif False:  # they have"),
    Mutant("a session can be entered twice at once", "runtime/session.py",
           "        self._epoch = _ENTERING\n", "        pass\n"),
    Mutant("a session left twice releases twice", "runtime/session.py",
           "if exit_.epoch == _LEFT:", "if False:"),
    Mutant("devices are left open", "runtime/session.py",
           "while devices:", "while False:"),
    Mutant("leaving is not finished when cancelled", "runtime/session.py",
           "expects_cancel=isinstance(exc, anyio.get_cancelled_exc_class()),",
           "expects_cancel=False,"),
    Mutant("the body's exception is replaced", "runtime/session.py",
           "            if exc is None:\n                raise\n", "            raise\n"),
    Mutant("re-entry from a callback waits for itself", "runtime/invoke.py",
           "if run.owner is owner and not run.is_over:", "if False:"),
    Mutant("re-entry is refused for ever after", "runtime/invoke.py",
           "        run.is_over = True\n", "        pass\n"),
    Mutant("a callback is not bounded", "runtime/invoke.py",
           "with anyio.move_on_after(timeout_s) as scope:",
           "with anyio.move_on_after(None) as scope:"),
    Mutant("a non-zero status is success", "runtime/invoke.py",
           "    if status != 0:\n", "    if False:\n"),
    Mutant("the flush waits although it was cut", "runtime/span.py",
           "        if self._is_flush_cut:\n", "        if False:\n"),
    Mutant("the backend stays open when its log can't be ended", "runtime/span.py",
           "        finally:\n            try:\n                await self._call_backend(backend.close)",
           "        else:\n            try:\n                await self._call_backend(backend.close)"),
    Mutant("contexts are exited in the order of entry", "runtime/span.py",
           "in reversed(tuple(self._entered.items())):", "in tuple(self._entered.items()):"),
    Mutant("a late callback does not hold the runtime up", "runtime/registry.py",
           "decision = await self._gate.request(request)", "decision = None"),
    Mutant("a cancelled call still runs on the device", "runtime/hop.py",
           "return self._is_taken.acquire(blocking=False)", "return True"),
    Mutant("a call is put behind the end of its thread", "runtime/hop.py",
           "if self._is_closed or not self._thread.is_alive():", "if False:"),
    Mutant("the count changes before the init is done", "lifecycle/machine.py",
           "    began = _moved(state, phase=Phase.OPENING, transition=opening, serial=serial)\n",
           "    began = _moved(state, phase=Phase.OPENING, transition=opening, serial=serial)\n"
           "    began = LifecycleState(1, began.standing)\n"),
    Mutant("steps are undone in the order they were done", "lifecycle/machine.py",
           "tuple(entry.step for entry in reversed(opening.plan[:reached]))",
           "tuple(entry.step for entry in opening.plan[:reached])"),
    Mutant("the failing step is not undone", "lifecycle/machine.py",
           "return _begin_undo(state, event.errors[0], opening.at + 1)",
           "return _begin_undo(state, event.errors[0], opening.at)"),
    Mutant("the first failure is hidden by a later one", "lifecycle/machine.py",
           "undo_failures=(*opening.undo_failures, *event.errors),",
           "undo_failures=(), failure=event.errors[0],"),
    Mutant("finalize stops at a failure although it must go on", "lifecycle/machine.py",
           "if closing.on_error is OnError.STOP and closing.at < len(closing.plan):",
           "if closing.at < len(closing.plan):"),
    Mutant("finalize goes on although it must stop", "lifecycle/machine.py",
           "if closing.on_error is OnError.STOP and closing.at < len(closing.plan):", "if False:"),
    Mutant("another content is not refused after a finalize", "lifecycle/machine.py",
           "if pinned is not None and opening.rules.pins_config and event.content.raw != pinned.raw:",
           "if False:"),
    Mutant("an init begins while callbacks change", "lifecycle/machine.py",
           "    if state.standing.holds:\n        return state, Wait()\n\n    serial", "    serial"),
    Mutant("a finalize begins during a late callback", "lifecycle/machine.py",
           "    if standing.holds:\n        return state, Wait()\n\n    serial", "    serial"),
    Mutant("a withdrawn release has counted down", "lifecycle/machine.py",
           "            return LifecycleState(state.ref_count + 1, standing), NothingToDo()",
           "            return state, NothingToDo()"),
    Mutant("a second finalize succeeds", "lifecycle/machine.py",
           "    if state.standing.is_finalized:\n", "    if False:\n"),
    Mutant("the log is flushed last", "lifecycle/sequence.py",
           "    FinalizeEntry(FinalizeStep.LOG_FLUSH),\n", ""),
    Mutant("OTHER callbacks are notified before DVPP", "lifecycle/sequence.py",
           "    InitEntry(InitStep.DVPP, notifies=CallbackType.DVPP),\n"
           "    InitEntry(InitStep.OTHER, notifies=CallbackType.OTHER),\n",
           "    InitEntry(InitStep.OTHER, notifies=CallbackType.OTHER),\n"
           "    InitEntry(InitStep.DVPP, notifies=CallbackType.DVPP),\n"),
    Mutant("an entry that was removed is still visited", "lifecycle/callbacks.py",
           "rest = self.entries[:index] + self.entries[index + 1 :]", "rest = self.entries"),
    Mutant("two callbacks share a slot", "lifecycle/callbacks.py",
           "if callback_type != CallbackType.OTHER:", "if False:"),
)
# fmt: on


def survivors(mutants: tuple[Mutant, ...]) -> Iterator[Mutant]:
    """Yield the faults that no test notices."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for mutant, is_noticed in zip(mutants, pool.map(is_noticed_by_tests, mutants), strict=True):
            print(
                f"{'killed  ' if is_noticed else 'SURVIVED'} {mutant.file}: {mutant.harm}",
                flush=True,
            )
            if not is_noticed:
                yield mutant


def is_noticed_by_tests(mutant: Mutant) -> bool:
    """Plant a fault in a copy of the project and run the tests until one fails."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("aclasync", "tests", "examples"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))

        shutil.copy(ROOT / "pyproject.toml", copy)
        path = copy / "aclasync" / mutant.file
        source = path.read_text(encoding="utf-8")
        assert source.count(mutant.original) == 1, (
            f"{mutant.file}: {mutant.original!r} is not there"
        )
        path.write_text(source.replace(mutant.original, mutant.planted), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": folder},
            capture_output=True,
            check=False,
            timeout=600,
        )
        return done.returncode != 0


if __name__ == "__main__":
    wanted = sys.argv[1:]
    chosen = tuple(m for m in MUTANTS if not wanted or any(w in m.harm for w in wanted))
    left = list(survivors(chosen))
    print(f"{len(chosen) - len(left)} of {len(chosen)} faults were noticed")
    sys.exit(bool(left))
