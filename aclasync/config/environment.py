"""The environment variables that matter, parsed; a value that can't be used is a finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise, takewhile
from typing import final

from attrs import field, frozen

from .findings import Draft

FLUSH_TIMEOUT_MS = 2000
MAX_FLUSH_TIMEOUT_MS = 180_000

#: Every variable that a feature declares, with what it does; the runtime reads exactly these.
PURPOSES = {
    "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "how long finalize waits for device logs: 0 to 180000 ms",
    "ASCEND_GLOBAL_LOG_LEVEL": "device log level: 0 debug, 1 info, 2 warning, 3 error, 4 none",
    "ASCEND_GLOBAL_EVENT_ENABLE": "0 leaves event lines out of the device log",
    "ASCEND_PROCESS_LOG_PATH": "folder of the host's log files",
    "ASCEND_WORK_PATH": "root for logs, profiling data and exception dumps",
    "ASCEND_RT_VISIBLE_DEVICES": "ascending list of the visible devices, renumbered from 0",
    "ASCEND_DUMP_PATH": "kernel-info dumps go there, and are switched on by it",
    "ASCEND_DUMP_SCENE": "switches an exception dump on without a configuration",
    "NPU_COLLECT_PATH": "exception dumps go there, before everything else",
    "ASCEND_HOME_PATH": "where CANN is installed",
    "AUTO_USE_UC_MEMORY": "unset, empty or beginning with 1: kernels may use uncached memory",
    "PROFILER_SAMPLECONFIG": "replaces the profiler section; the msprof tool sets it",
    "PROFILING_MODE": "dynamic or delay_or_duration: the profiler section is ignored",
    "ACLASYNC_BACKEND": "forces a backend: embedded or cann",
    "ACLASYNC_DEVICES": "how many devices the embedded backend has; 1 by default",
    "ACLASYNC_CANN_LIBRARY": "the native library to load",
}
ENVIRONMENT_NAMES = frozenset(PURPOSES)

_BACKENDS = ("auto", "embedded", "cann")
# What C's strtol takes as a whole string: leading blanks and a sign, no trailing junk.
_INTEGER = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+")


@final
@frozen(kw_only=True)
class Environment:
    """What the environment says; a field is its default where the variable does not count."""

    flush_timeout_ms: int = FLUSH_TIMEOUT_MS
    #: 0 debug, 1 info, 2 warning, 3 error, 4 none.
    log_level: int = 3
    is_event_enabled: bool = True
    process_log_path: str | None = None
    work_path: str | None = None
    visible_devices: tuple[int, ...] | None = None
    dump_path: str | None = None
    dump_scene: str | None = None
    collect_path: str | None = None
    ascend_home_path: str | None = None
    uses_uncached_memory: bool = True
    profiler_sample_config: str | None = None
    profiling_mode: str | None = None
    backend: str | None = None
    devices: int | None = None
    cann_library: str | None = None
    #: The variables that were set, as they were.
    given: Mapping[str, str] = field(factory=dict, hash=False)

    @property
    def exception_folder(self) -> tuple[str, str] | None:
        """The variable that says where exception dumps go, and what it says."""
        if self.collect_path is not None:
            return "NPU_COLLECT_PATH", self.collect_path

        return None if self.work_path is None else ("ASCEND_WORK_PATH", self.work_path)

    @property
    def profiling(self) -> tuple[str, str] | None:
        """The variable that takes the place of the profiler section, and its value."""
        if self.profiler_sample_config is not None:
            return "PROFILER_SAMPLECONFIG", self.profiler_sample_config

        if self.profiling_mode in ("dynamic", "delay_or_duration"):
            return "PROFILING_MODE", self.profiling_mode

        return None


@final
class _Reader:
    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.drafts: list[Draft] = []

    def text(self, name: str) -> str | None:
        return self.env.get(name) or None

    def integer(self, name: str, low: int, high: int, default: int) -> int:
        """Return the variable's number, or the default, which a draft then says."""
        text = self.env.get(name)
        if text is None:
            return default

        number = int(text) if len(text) < 40 and _INTEGER.fullmatch(text) else None
        if number is not None and low <= number <= high:
            return number

        if text:
            self.refuse(name, text, default, f"write a whole number from {low} to {high}")

        return default

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        text = self.text(name)
        if text is None or text in allowed:
            return text

        self.refuse(name, text, "nothing", f"write one of {', '.join(allowed)}")
        return text

    def device_list(self, name: str) -> tuple[int, ...] | None:
        """Return the numbers as written up to the first that is none; order is checked later."""
        text = self.text(name)
        if text is None:
            return None

        pieces = text.split(",")
        digits = takewhile(re.compile(r"[0-9]{1,9}").fullmatch, pieces)
        numbers = tuple(map(int, digits))
        if len(numbers) < len(pieces) or any(a >= b for a, b in pairwise(numbers)):
            self.drafts.append(Draft("W041", (), {"variable": name, "value": text}))

        return numbers

    def refuse(self, name: str, text: str, used: object, better: str) -> None:
        args = {"variable": name, "value": text, "used": used, "better": better}
        self.drafts.append(Draft("W040", (), args))


_EMPTY = Environment()


def parse_environment(env: Mapping[str, str]) -> tuple[Environment, list[Draft]]:
    """Return what `env` says, and drafts for what can't be used. Empty means unset."""
    if not env:
        return _EMPTY, []

    read = _Reader(env)
    timeout = "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT"
    devices = read.integer("ACLASYNC_DEVICES", 1, 1024, 0)
    environment = Environment(
        flush_timeout_ms=read.integer(timeout, 0, MAX_FLUSH_TIMEOUT_MS, FLUSH_TIMEOUT_MS),
        log_level=read.integer("ASCEND_GLOBAL_LOG_LEVEL", 0, 4, 3),
        is_event_enabled=bool(read.integer("ASCEND_GLOBAL_EVENT_ENABLE", 0, 1, 1)),
        process_log_path=read.text("ASCEND_PROCESS_LOG_PATH"),
        work_path=read.text("ASCEND_WORK_PATH"),
        visible_devices=read.device_list("ASCEND_RT_VISIBLE_DEVICES"),
        dump_path=read.text("ASCEND_DUMP_PATH"),
        dump_scene=read.text("ASCEND_DUMP_SCENE"),
        collect_path=read.text("NPU_COLLECT_PATH"),
        ascend_home_path=read.text("ASCEND_HOME_PATH"),
        uses_uncached_memory=(env.get("AUTO_USE_UC_MEMORY") or "1").startswith("1"),
        profiler_sample_config=read.text("PROFILER_SAMPLECONFIG"),
        profiling_mode=read.text("PROFILING_MODE"),
        backend=read.choice("ACLASYNC_BACKEND", _BACKENDS),
        devices=devices or None,
        cann_library=read.text("ACLASYNC_CANN_LIBRARY"),
        given={name: env[name] for name in ENVIRONMENT_NAMES if name in env},
    )
    return environment, read.drafts
