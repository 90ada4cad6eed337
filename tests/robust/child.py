"""A process that ends: `python -m tests.robust.child ENDING ARGUMENTS`, run by test_ends.py.

What it says about itself is the last line of its output, as JSON.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import json
import operator
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable

import anyio

import aclasync
from aclasync import LogLevel, acl_session, default_runtime
from aclasync.runtime import main as runtime_main
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

FOREVER = 3600
#: Where a process stands when it is signalled, and the point at which it is kept there.
PARKED = {"init": "init.OTHER", "finalize": "finalize.DVPP"}


def report(spy: SpyBackend) -> None:
    statistics = default_runtime().statistics()
    flushed = statistics.flush_report
    threads = [t for t in threading.enumerate() if t.name.startswith("aclasync")]
    for thread in threads:
        thread.join(5)

    said = {
        "count": statistics.ref_count,
        "phase": statistics.phase.value,
        "last": spy.points[-1] if spy.points else None,
        "flush": flushed.outcome.name if flushed is not None else None,
        "left": flushed.left if flushed is not None else None,
        "threads": [thread.name for thread in threads if thread.is_alive()],
    }
    print(json.dumps(said), flush=True)


def wait_for(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.001)


def signalled(phase: str, name: str, count: str, library: str) -> None:
    """Be signalled that often in a phase, one signal after the other was seen."""
    number = signal.Signals[name]
    received: list[int] = []
    receive = runtime_main._SignalGuard._receive

    def note(guard: object, signum: int, frame: object) -> None:
        received.append(signum)
        receive(guard, signum, frame)

    runtime_main._SignalGuard._receive = note
    plan = FaultPlan()
    if phase in PARKED:
        plan.park(PARKED[phase])

    spy = SpyBackend(plan)
    is_in_body = threading.Event()

    async def main() -> None:
        if phase == "before":
            is_in_body.set()
            await anyio.sleep(FOREVER)

        async with acl_session({}, flush_timeout=FOREVER) as session:
            device = await session.open_device()
            if phase == "flush":
                device.write_log(LogLevel.ERROR, "a line that stays")

            is_in_body.set()
            if phase == "body":
                await anyio.sleep(FOREVER)
            elif phase == "shielded":
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(FOREVER)

    def arrived() -> bool:
        if phase in PARKED:
            return bool(plan._parked.get(PARKED[phase]))

        span = default_runtime().core.span
        if phase == "flush":
            return span is not None and span._flush is not None

        return is_in_body.is_set()

    def send() -> None:
        wait_for(arrived)
        for sent in range(int(count)):
            os.kill(os.getpid(), number)
            wait_for(lambda sent=sent: len(received) > sent)

        if phase in PARKED and phase != "init":
            plan.release(PARKED[phase])

    with fresh_runtime(backend=spy, log_latency=FOREVER if phase == "flush" else 0):
        threading.Thread(target=send, daemon=True).start()
        try:
            aclasync.run(main, backend=library)
        finally:
            report(spy)


class Untimely:
    """An epoll that is signalled once between the last step of Python code and its sleep."""

    def __init__(self, poll: Callable[..., object], number: int) -> None:
        self._poll = poll
        self.kill = functools.partial(ctypes.CDLL(None).kill, os.getpid(), number)
        self.is_armed = False

    def poll(self, *arguments: object) -> object:
        sleep = functools.partial(self._poll, *arguments)
        if not self.is_armed:
            return sleep()

        self.is_armed = False
        # One call that runs in C from end to end, so that no handler can run in it.
        return list(map(operator.call, (self.kill, sleep)))[-1]


def signalled_before_sleep(name: str) -> None:
    """Be signalled when it is too late for the handler and too early to end the loop's sleep."""
    selector = selectors.EpollSelector()
    untimely = Untimely(selector._selector.poll, signal.Signals[name])
    for method in ("register", "unregister", "modify", "close"):
        setattr(untimely, method, getattr(selector._selector, method))

    selector._selector = untimely

    async def main() -> None:
        async with acl_session({}):
            asyncio.get_running_loop().call_soon(setattr, untimely, "is_armed", True)
            await anyio.sleep_forever()

    spy = SpyBackend()
    with fresh_runtime(backend=spy):
        try:
            aclasync.run(
                main,
                backend_options={"loop_factory": lambda: asyncio.SelectorEventLoop(selector)},
            )
        finally:
            report(spy)


def leaves_by(ending: str) -> None:
    """Let something end the body of a session."""
    spy = SpyBackend()

    async def main() -> None:
        async with acl_session({}) as session, session.open_device():
            if ending == "sys.exit":
                sys.exit(7)

            if ending == "os._exit":
                os._exit(5)

            if ending == "exception":
                raise LookupError("nobody catches this")

            os.kill(os.getpid(), signal.Signals[ending])
            await asyncio.sleep(FOREVER)

    with fresh_runtime(backend=spy):
        try:
            asyncio.run(main())
        finally:
            report(spy)


def exits_while(what: str) -> None:
    """Come to the end of the program while a daemon thread still uses the runtime."""
    is_under_way = threading.Event()

    async def main() -> None:
        async with acl_session({}, flush_timeout=FOREVER) as session:
            device = await session.open_device()
            device.write_log(LogLevel.ERROR, "a line")
            if what == "device":
                await device.run(lambda: (is_under_way.set(), time.sleep(FOREVER)))

    with fresh_runtime(log_latency=FOREVER if what == "flush" else 0) as runtime:
        threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
        if what == "flush":
            wait_for(lambda: runtime.core.span is not None and runtime.core.span._flush)
        else:
            is_under_way.wait()

        print("ends", flush=True)
        sys.exit(4)


def holds() -> None:
    """Open a session, say so, and hold it until somebody kills the process."""

    async def main() -> None:
        async with acl_session({}) as session:
            device = await session.open_device()
            device.write_log(LogLevel.ERROR, "written before the end")
            await anyio.sleep(0.05)
            print("holds", flush=True)
            await anyio.sleep(FOREVER)

    asyncio.run(main())


ENDINGS: dict[str, Callable[..., None]] = {
    "signalled": signalled,
    "signalled_before_sleep": signalled_before_sleep,
    "leaves_by": leaves_by,
    "exits_while": exits_while,
    "holds": holds,
}

if __name__ == "__main__":
    ENDINGS[sys.argv[1]](*sys.argv[2:])
