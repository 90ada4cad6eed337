"""Several serving processes behind one socket, each with a session of its own.

They are spawned, never forked: a fork of a process that has opened ACL can't use it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Semaphore
from types import FrameType
from typing import TYPE_CHECKING, final

import anyio

from aclasync import AclError

from .repository import RepositoryError
from .server import ServeOptions, serve

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("aclasync.serving")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL_S = 0.2


def run_workers(
    options: ServeOptions,
    listener: socket.socket,
    *,
    prepare: Callable[[], object],
    started: Callable[[], object],
) -> int:
    """Serve with `options.workers` processes until a signal, and return the exit code.

    A worker that dies after its start is replaced; one that can't start ends all.

    Args:
      options: how each of them serves.
      listener: what they all accept from.
      prepare: called first in each worker, for its logging; a function of a module.
      started: called when the first worker takes requests.
    """
    crew = _Crew(options, listener, prepare)
    before = {number: signal.signal(number, crew.receive) for number in _SIGNALS}
    try:
        return crew.run(started)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@final
class _Crew:
    """The processes, and what signals have asked for."""

    def __init__(
        self, options: ServeOptions, listener: socket.socket, prepare: Callable[[], object]
    ) -> None:
        self._options = options
        self._listener = listener
        self._prepare = prepare
        self._context = multiprocessing.get_context("spawn")
        self._ready = self._context.Semaphore(0)
        self._workers: list[BaseProcess] = []
        self._received: list[int] = []
        self._forwarded = 0
        self._is_failed = False

    def receive(self, number: int, _frame: FrameType | None) -> None:
        """Remember a signal; the third ends everything at once."""
        self._received.append(number)
        if len(self._received) > 2:
            for worker in self._workers:
                worker.kill()

            os._exit(128 + number)

    def run(self, started: Callable[[], object]) -> int:
        """Keep the workers running until they are to end; return the exit code."""
        self._workers = [self._start() for _ in range(self._options.workers)]
        is_started = False
        while self._workers:
            connection.wait([worker.sentinel for worker in self._workers], _POLL_S)
            is_ready = self._ready.acquire(block=False)
            if is_ready and not is_started:
                is_started = True
                started()

            self._forward()
            self._reap(is_started=is_started)

        if self._is_failed:
            return 1

        return 128 + self._received[0] if self._received else 0

    def _start(self) -> BaseProcess:
        worker = self._context.Process(
            target=_work, args=(self._options, self._listener, self._ready, self._prepare)
        )
        worker.start()
        return worker

    def _forward(self) -> None:
        wanted = 1 if self._is_failed and not self._received else len(self._received)
        while self._forwarded < wanted:
            self._forwarded += 1
            for worker in self._workers:
                worker.terminate()

    def _reap(self, *, is_started: bool) -> None:
        for worker in [one for one in self._workers if not one.is_alive()]:
            self._workers.remove(worker)
            worker.join()
            if self._received or self._is_failed:
                self._is_failed |= worker.exitcode not in (0, 128 + signal.SIGTERM)
            elif is_started:
                _log.error("worker %s ended with %s and is replaced", worker.pid, worker.exitcode)
                time.sleep(_POLL_S)  # one that dies at once must not take the machine
                self._workers.append(self._start())
            else:
                _log.error("worker %s could not start; all end", worker.pid)
                self._is_failed = True


def _work(
    options: ServeOptions,
    listener: socket.socket,
    ready: Semaphore,
    prepare: Callable[[], object],
) -> None:
    """Serve in a process of its own; it ends with whoever started it."""
    # Ctrl-C reaches every process of a terminal; the first one tells the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare()
    parent = multiprocessing.parent_process()
    assert parent is not None

    async def abandoned() -> None:
        await anyio.wait_readable(parent.sentinel)

    try:
        code = anyio.run(
            lambda: serve(
                options, listener, started=lambda _: ready.release(), abandoned=abandoned
            ),
            backend_options={"use_uvloop": True},
        )
    except (AclError, RepositoryError) as exc:
        _log.critical("%s", exc)
        code = 1

    sys.exit(code)
