"""The environment variables that matter, parsed; a value that can't be used is a finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise, takewhile
from typing import final

from attrs import field, frozen

from .catalog import Phrase
from .check import shown
from .display import Brief
from .features import EXCEPTION_SCENES
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
    "ASCEND_RT_VISIBLE_DEVICES": "ascending list of the visible devices, numbered again from 0",
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

#: Which attribute of `Environment` says what a variable says.
FIELD_OF = {
    "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "flush_timeout_ms",
    "ASCEND_GLOBAL_LOG_LEVEL": "log_level",
    "ASCEND_GLOBAL_EVENT_ENABLE": "is_event_enabled",
    "ASCEND_PROCESS_LOG_PATH": "process_log_path",
    "ASCEND_WORK_PATH": "work_path",
    "ASCEND_RT_VISIBLE_DEVICES": "visible_devices",
    "ASCEND_DUMP_PATH": "dump_path",
    "ASCEND_DUMP_SCENE": "dump_scene",
    "NPU_COLLECT_PATH": "collect_path",
    "ASCEND_HOME_PATH": "ascend_home_path",
    "AUTO_USE_UC_MEMORY": "uses_uncached_memory",
    "PROFILER_SAMPLECONFIG": "profiler_sample_config",
    "PROFILING_MODE": "profiling_mode",
    "ACLASYNC_BACKEND": "backend",
    "ACLASYNC_DEVICES": "devices",
    "ACLASYNC_CANN_LIBRARY": "cann_library",
}

#: Values of PROFILING_MODE with which the `profiler` section does not count.
REPLACING_MODES = ("dynamic", "delay_or_duration")

_DUMP_SCENES = EXCEPTION_SCENES[1:]
_BACKENDS = ("auto", "embedded", "cann")
# What C's strtol takes as a whole string: leading blanks and a sign, no trailing junk.
_LONGEST_NUMBER = 1000
_DEVICE = re.compile(r"[0-9]{1,9}")
_INTEGER = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+")


@final
@frozen(kw_only=True, repr=False)
class Environment(Brief):
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
    def exception_path_variable(self) -> str:
        """The variable that says where exception dumps go; empty if none does."""
        if self.collect_path:
            return "NPU_COLLECT_PATH"

        return "ASCEND_WORK_PATH" if self.work_path else ""

    @property
    def asks_for_exception_dump(self) -> bool:
        """Whether a variable switches an exception dump on, whatever the configuration says."""
        return bool(self.dump_scene or self.collect_path)

    @property
    def profiler_variable(self) -> str:
        """The variable that takes the place of the `profiler` section; empty if none does."""
        if self.profiler_sample_config:
            return "PROFILER_SAMPLECONFIG"

        return "PROFILING_MODE" if self.profiling_mode in REPLACING_MODES else ""


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

        number = int(text) if len(text) < _LONGEST_NUMBER and _INTEGER.fullmatch(text) else None
        if number is not None and low <= number <= high:
            return number

        if text:
            used = Phrase("{used} is used", {"used": default or Phrase("the default")})
            bounds = {"low": low, "high": high}
            better = Phrase("write a whole number from {low} to {high}", bounds)
            self.refuse("W040", name, used, better)

        return default

    def choice(self, name: str, allowed: tuple[str, ...], otherwise: str) -> str | None:
        """Return the variable's value; a draft says what is none of `allowed`."""
        text = self.text(name)
        if text is not None and text not in allowed:
            better = Phrase("write one of {allowed}", {"allowed": ", ".join(allowed)})
            self.refuse("W040", name, Phrase(otherwise), better)

        return text

    def device_list(self, name: str) -> tuple[int, ...] | None:
        """Return the numbers up to the first entry that is none; their order is the backend's."""
        text = self.text(name)
        if text is None:
            return None

        pieces = text.split(",")
        numbers = [int(p) for p in takewhile(_DEVICE.fullmatch, pieces)]
        ascending = 1 + sum(1 for _ in takewhile(lambda pair: pair[0] < pair[1], pairwise(numbers)))
        kept = numbers[:ascending]
        if len(kept) < len(pieces):
            used = ",".join(map(str, kept)) or Phrase("no device")
            self.refuse("W041", name, Phrase("a driver would use {used}", {"used": used}))

        return tuple(numbers)

    def refuse(self, code: str, name: str, used: Phrase, better: Phrase | None = None) -> None:
        args = {"variable": name, "value": shown(self.env[name]), "used": used, "better": better}
        self.drafts.append(Draft(code, (), args, variable=name))


_EMPTY = Environment()


def parse_environment(env: Mapping[str, str]) -> tuple[Environment, list[Draft]]:
    """Return what `env` says, and drafts for what can't be used. Empty means unset."""
    if not env:
        return _EMPTY, []

    read = _Reader(env)
    timeout = "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT"
    scene = read.choice("ASCEND_DUMP_SCENE", _DUMP_SCENES, "it is ignored")
    devices = read.integer("ACLASYNC_DEVICES", 1, 1024, 0)
    environment = Environment(
        flush_timeout_ms=read.integer(timeout, 0, MAX_FLUSH_TIMEOUT_MS, FLUSH_TIMEOUT_MS),
        log_level=read.integer("ASCEND_GLOBAL_LOG_LEVEL", 0, 4, 3),
        is_event_enabled=bool(read.integer("ASCEND_GLOBAL_EVENT_ENABLE", 0, 1, 1)),
        process_log_path=read.text("ASCEND_PROCESS_LOG_PATH"),
        work_path=read.text("ASCEND_WORK_PATH"),
        visible_devices=read.device_list("ASCEND_RT_VISIBLE_DEVICES"),
        dump_path=read.text("ASCEND_DUMP_PATH"),
        dump_scene=scene if scene in _DUMP_SCENES else None,
        collect_path=read.text("NPU_COLLECT_PATH"),
        ascend_home_path=read.text("ASCEND_HOME_PATH"),
        uses_uncached_memory=(env.get("AUTO_USE_UC_MEMORY") or "1").startswith("1"),
        profiler_sample_config=read.text("PROFILER_SAMPLECONFIG"),
        profiling_mode=read.text("PROFILING_MODE"),
        backend=read.choice("ACLASYNC_BACKEND", _BACKENDS, "no backend has that name"),
        devices=devices or None,
        cann_library=read.text("ACLASYNC_CANN_LIBRARY"),
        given={name: env[name] for name in ENVIRONMENT_NAMES if name in env},
    )
    return environment, read.drafts
