"""The rules of the `profiler` section.

The reference turns the section back into text and reads that with a parser of its own, which
knows no escapes. Values are checked even while the switch is off, but for the keys that say so.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, final

from aclasync.product import Product

from .catalog import Phrase
from .check import MISSING, Drafts, kind_of, listed, shown
from .environment import Environment
from .features import PROFILER
from .findings import Draft
from .keys import KeySpec, Kind
from .profiler_keys import (
    AIC_METRICS,
    HCCL,
    INSTR_PROFILING,
    INSTR_PROFILING_FREQ,
    OPTYPE,
    OUTPUT,
    PROFILER_KEYS,
    STORAGE_LIMIT,
    SWITCH,
    SYS_MEM_SERVICEFLOW,
)
from .text import parse

_SAMPLE_CONFIG = "PROFILER_SAMPLECONFIG"
_BY_NAME = {key.name: key for key in PROFILER_KEYS}
_NAMES = tuple(_BY_NAME)

# A backslash is how the text writes control characters.
_FORBIDDEN_IN_FOLDER = re.compile("[\x7f\"'\\\\%><|&$;`]")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_STORAGE = re.compile(STORAGE_LIMIT.pattern)
_EVENTS = re.compile(AIC_METRICS.pattern)


def is_on(section: Any) -> bool:
    """Whether a `profiler` section switches profiling on."""
    return isinstance(section, dict) and section.get(SWITCH.name) == "on"


def check_profiler(
    root: dict[str, Any], product: Product, environment: Environment, drafts: Drafts
) -> None:
    """Check the section, unless the environment takes its place."""
    found = root.get("profiler", MISSING)
    if found is MISSING:
        return

    if environment.profiler_variable:
        variable = environment.profiler_variable
        value = shown(environment.given.get(variable))
        drafts.warn("W026", PROFILER.path, variable=variable, value=value)
        return

    if not isinstance(found, dict):
        drafts.refuse(PROFILER, "E400", got=kind_of(found))
        return

    rules = _ProfilerRules(found, product, drafts)
    # The text that the reference reads again has its keys in order.
    for name in sorted(found):
        spec = _BY_NAME.get(name)
        if spec is None:
            path = (*PROFILER.path, name)
            args = {"key": name, "known": _NAMES}
            drafts.error("E401", path, PROFILER.step, PROFILER.code, **args)
        else:
            rules.check(spec, found[name])

    if HCCL.name in found:
        drafts.warn("W031", HCCL.path)


def check_sample_config(environment: Environment, product: Product, drafts: Drafts) -> None:
    """Say what of PROFILER_SAMPLECONFIG is not understood; the msprof tool writes more into it."""
    variable, text = _SAMPLE_CONFIG, environment.profiler_sample_config
    if text is None:
        return

    found = sample_config(environment)
    if found is None:
        better = Phrase("write the profiler section as JSON")
        args = {"used": Phrase("nothing is profiled"), "better": better}
        draft = Draft("W040", (), {"variable": variable, "value": shown(text), **args}, None)
        drafts.append(draft._replace(variable=variable))
        return

    used = usable(found, product)
    if unused := [key for key in found if key not in used]:
        said = {"variable": variable, "keys": listed(unused)}
        drafts.append(Draft("W043", (), said, variable=variable))


def sample_config(environment: Environment) -> dict[str, Any] | None:
    """Return the section that stands in PROFILER_SAMPLECONFIG; None if none does.

    Whoever sets the variable wants to profile, and need not say so again.
    """
    text = environment.profiler_sample_config or ""
    value = parse(text.encode("utf-8", "surrogateescape")).value
    return {SWITCH.name: "on"} | value if isinstance(value, dict) else None


def usable(found: dict[str, Any], product: Product) -> dict[str, Any]:
    """Return the part of a section that the rules accept."""
    used = {}
    for name, value in found.items():
        drafts = Drafts()
        spec = _BY_NAME.get(name)
        if spec is not None:
            _ProfilerRules(found, product, drafts).check(spec, value)
            if spec.fits(value) and not any(draft.step for draft in drafts):
                used[name] = value

    return used


@final
class _ProfilerRules(NamedTuple):
    found: dict[str, Any]
    product: Product
    drafts: Drafts

    def check(self, spec: KeySpec, value: Any) -> None:
        text = value if isinstance(value, str) else ""
        if _ESCAPED.search(text):
            text = json.dumps(text, ensure_ascii=False)[1:-1]

        if '"' in text:
            self.drafts.refuse(spec, "E405", text='"')
        elif spec.is_only_on and not is_on(self.found):
            return
        elif spec is OUTPUT:
            # Anything but text means no folder, which is what the reference makes of it.
            self.check_folder(text)
        elif not spec.fits(value):
            self.drafts.refuse(spec, "E402", expected=spec.kind.value, got=kind_of(value))
        elif spec.kind is Kind.INTEGER:
            self.check_number(spec, value)
        else:
            self.check_text(spec, text)

    def check_folder(self, text: str) -> None:
        if match := _FORBIDDEN_IN_FOLDER.search(text):
            self.drafts.refuse(OUTPUT, "E405", text=match[0])

    def check_number(self, spec: KeySpec, value: int) -> None:
        if spec is INSTR_PROFILING_FREQ:
            if self.found.get(INSTR_PROFILING.name) != "on":
                return

            if self.product not in spec.products:
                self.drafts.unsupported(spec, self.product)
                return

        high = spec.high_for(self.product)
        assert spec.low is not None
        assert high is not None
        if not spec.low <= value <= high:
            self.drafts.out_of_bounds(spec, self.product, value)

    def check_text(self, spec: KeySpec, text: str) -> None:
        drafts = self.drafts
        if spec is SYS_MEM_SERVICEFLOW:
            if not text:
                drafts.refuse(spec, "E402", expected="a string", got="an empty one")
        elif not text:
            return
        elif spec is STORAGE_LIMIT:
            self.check_storage(text)
        elif spec is OPTYPE and self.product not in spec.products:
            drafts.refuse_product(spec, "E407", self.product)
        elif (length := len(text.encode("utf-8", "surrogatepass"))) > (spec.high or length):
            drafts.refuse(spec, "E408", length=length, high=spec.high)
        elif spec.allowed and not self.is_allowed(spec, text):
            args = {"allowed": listed(spec.allowed_on(self.product))}
            template = "{allowed} with commas between them" if spec.is_list else "{allowed}"
            if spec is AIC_METRICS:
                template = "{allowed} or Custom: with event numbers"

            drafts.refuse(spec, "E403", value=shown(text), allowed=Phrase(template, args))

    def is_allowed(self, spec: KeySpec, text: str) -> bool:
        pieces = text.split(",") if spec.is_list else [text]
        if all(spec.allows(piece, self.product) for piece in pieces):
            return True

        return spec is AIC_METRICS and _EVENTS.fullmatch(text) is not None

    def check_storage(self, text: str) -> None:
        match = _STORAGE.fullmatch(text)
        low, high = STORAGE_LIMIT.low, STORAGE_LIMIT.high
        assert low is not None
        assert high is not None
        if match is None or not low <= int(text[:-2]) <= high:
            self.drafts.refuse(STORAGE_LIMIT, "E406", value=shown(text), low=low, high=high)
