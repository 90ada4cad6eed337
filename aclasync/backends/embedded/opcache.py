"""Which compiled operators are kept: the least recently used of each queue go.

Those of fixed and of dynamic shapes are in queues of their own. Operators that were loaded from
files stay for good, and take room from their queue. Knows nothing of what is kept.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, final

from aclasync.backends.base import OpCacheCounts

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_logger = logging.getLogger("aclasync.device")


@final
class OpCache(Generic[K, T]):
    """Compiled operators of one device, by what they were compiled for."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._fixed: OrderedDict[K, T] = OrderedDict()
        self._dynamic: OrderedDict[K, T] = OrderedDict()
        self._static_fixed: dict[K, T] = {}
        self._static_dynamic: dict[K, T] = {}
        self._hits = 0
        self._misses = 0
        self._aged = 0
        self._has_warned = False

    @property
    def counts(self) -> OpCacheCounts:
        """What is kept now, and what has happened so far."""
        with self._lock:
            return OpCacheCounts(
                capacity=self._capacity,
                fixed=len(self._fixed),
                dynamic=len(self._dynamic),
                static_fixed=len(self._static_fixed),
                static_dynamic=len(self._static_dynamic),
                hits=self._hits,
                misses=self._misses,
                aged=self._aged,
            )

    def get(self, key: K, *, is_dynamic: bool, covers: Callable[[K], bool]) -> T | None:
        """Return what was compiled for `key`, which is then the most recently used; or None.

        What was loaded from a file for dynamic shapes is taken, too, if it `covers` that.
        """
        queue, static = self._of(is_dynamic=is_dynamic)
        with self._lock:
            found = static.get(key) or queue.get(key)
            if found is not None and key in queue:
                queue.move_to_end(key)

            if found is None and self._static_dynamic:
                fitting = (op for other, op in self._static_dynamic.items() if covers(other))
                found = next(fitting, None)

            if found is None:
                self._misses += 1
            else:
                self._hits += 1

            return found

    def put(self, key: K, compiled: T, *, is_dynamic: bool) -> None:
        """Keep what was compiled for `key`; the least recently used goes if there is no room."""
        queue, static = self._of(is_dynamic=is_dynamic)
        with self._lock:
            queue[key] = compiled
            queue.move_to_end(key)
            self._age(queue, static)

    def put_static(self, key: K, compiled: T, *, is_dynamic: bool) -> None:
        """Keep what was loaded from a file until the device is closed."""
        queue, static = self._of(is_dynamic=is_dynamic)
        with self._lock:
            static[key] = compiled
            self._age(queue, static)
            is_full = len(static) >= self._capacity and not self._has_warned
            self._has_warned |= is_full

        if is_full:
            kind = "dynamic" if is_dynamic else "fixed"
            _logger.warning(
                "%d operators of %s shape were loaded and max_opqueue_num is %d: no other can be "
                "kept, each is compiled whenever it runs; raise max_opqueue_num",
                *(len(static), kind, self._capacity),
            )

    def clear(self) -> None:
        """Let everything go."""
        with self._lock:
            for kept in (self._fixed, self._dynamic, self._static_fixed, self._static_dynamic):
                kept.clear()

    def _of(self, *, is_dynamic: bool) -> tuple[OrderedDict[K, T], dict[K, T]]:
        if is_dynamic:
            return self._dynamic, self._static_dynamic

        return self._fixed, self._static_fixed

    def _age(self, queue: OrderedDict[K, T], static: dict[K, T]) -> None:
        while queue and len(queue) + len(static) > self._capacity:
            queue.popitem(last=False)
            self._aged += 1
