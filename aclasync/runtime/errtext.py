"""The recent error text: per thread and task, or per process, as `err_msg_mode` says."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import NamedTuple, final

import anyio

from aclasync.errors import AclError

# One list keeps that many texts, as in the reference.
_MOST = 1000


class _Texts(NamedTuple):
    """The texts of one task; a task that inherits the context does not inherit them."""

    runtime: object
    task: object
    texts: list[str]


_mine: ContextVar[_Texts | None] = ContextVar("aclasync_recent_error_text", default=None)


@final
class ErrorText:
    """Remembers what failed until somebody asks; asking clears it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: list[str] = []
        self.is_per_process = False

    def record(self, text: str) -> None:
        """Add a text for the running task and thread; an identical one is dropped."""
        texts = self._texts()
        if self.is_per_process:
            text = f"{text} [thread {threading.get_native_id()}]"

        with self._lock:
            if text not in texts and len(texts) < _MOST:
                texts.append(text)

    def recording(self) -> _Recording:
        """Record what a `with` block raises, if it is an `AclError`, and let it go on."""
        return _Recording(self)

    def reset_after_fork(self) -> None:
        """Forget a lock that the parent may have held."""
        self._lock = threading.Lock()

    def take(self) -> str | None:
        """Return the newest text and those before it, and forget them; None if there is none."""
        texts = self._texts()
        with self._lock:
            taken = "\n".join(reversed(texts))
            texts.clear()

        return taken or None

    def _texts(self) -> list[str]:
        if self.is_per_process:
            return self._shared

        task = _running_task()
        mine = _mine.get()
        if mine is None or mine.runtime is not self or mine.task != task:
            mine = _Texts(self, task, [])
            _mine.set(mine)

        return mine.texts


@final
class _Recording:
    """A class, since it surrounds every call of a device: a generator would cost three times."""

    __slots__ = ("_text",)

    def __init__(self, text: ErrorText) -> None:
        self._text = text

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, exc: BaseException | None, _traceback: object) -> None:
        if isinstance(exc, AclError):
            self._text.record(str(exc))


def _running_task() -> object:
    thread_id = threading.get_ident()
    try:
        return thread_id, anyio.get_current_task().id
    except anyio.NoEventLoopError:
        return thread_id, None
