"""What the commands say themselves, in English; `words_zh` has the same in Chinese."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, TypeAlias, final

import typer
from attrs import frozen

from aclasync.config.language import Language

LanguageOption: TypeAlias = Annotated[
    Language | None,
    typer.Option(
        "--lang", help="The language of findings and explanations; the locale's by default."
    ),
]

ENGLISH: Mapping[str, str] = {
    # check
    "errors.0": "no errors",
    "errors.1": "1 error",
    "errors.n": "{count} errors",
    "warnings.0": "no warnings",
    "warnings.1": "1 warning",
    "warnings.n": "{count} warnings",
    "check.summary": "{counts} for {product}",
    "check.counts": "{errors}, {warnings}",
    "finding.number": ", ACL returns {number}",
    "finding.hint": ": {hint}",
    "severity.error": "error",
    "severity.warning": "warning",
    "severity.info": "info",
    "error.call": "call    ",
    "error.number": "number  ",
    "error.note": "note    ",
    "error.failed": "failed  ",
    # check --fix
    "fix.folder": "+ folder {folder}",
    "fix.ask": "Write this?",
    "fix.unasked": "nothing was written: there is no terminal to ask at; --yes writes it",
    "fix.nothing": "nothing to repair",
    "fix.changed": "{name} has changed since it was read; nothing was written",
    "fix.failed": "{name} can't be repaired: {reason}",
    # init-config
    "init.product": "Which product ({tags}, or a SoC such as Ascend910B1)",
    "init.recipes": "What is it for? Numbers or names, or nothing",
    "init.dump_path": "Folder of the dumps",
    "init.device": "Default device, or nothing",
    "init.bad_setting": "{setting!r} is no KEY=VALUE of a key outside arrays",
    "init.bad_value": "{setting!r}: the value is no JSON: {reason}",
    "init.refused": "these settings do not go together; nothing was written",
    "init.exists": "{name} is there already; --force writes over it",
    "init.failed": "{name} can't be written: {reason}",
    "init.written": "wrote {name}",
    "init.notes": "Notes on {name}, made for {product}. JSON has no comments; these are they.",
    "recipe.model-dump": "inputs and outputs of every layer of every model",
    "recipe.single-op-dump": "inputs and outputs of single operators",
    "recipe.overflow-dump": "operators that overflow",
    "recipe.exception-dump": "an operator that fails",
    "recipe.kernel-output": "printf and assert of kernels",
    "recipe.profiling": "where the time goes",
    # doctor
    "doctor.backends": "Backends, in the order that auto tries them",
    "doctor.usable": "usable",
    "doctor.refused": "refused",
    "doctor.versions": "Versions",
    "doctor.missing": "not installed",
    "doctor.devices": "Devices and logs",
    "doctor.device_line": "devices: {devices}",
    "doctor.device_count": "{count} embedded, all visible",
    "doctor.device_list": "{count} embedded, visible: {visible}",
    "doctor.no_device": "none",
    "doctor.logs": "device logs: {folder}",
    "doctor.home": "ascend/log in the home folder",
    "doctor.environment": "Environment",
    "doctor.not_set": "not set",
    "doctor.purpose": "({purpose})",
    "doctor.refusal": "A session would be refused here",
    # explain
    "explain.features": "The features of acl.json",
    "explain.feature": "feature {number}: {name}",
    "explain.more": "explain a key (dump_mode), a section (dump), a finding (E302), a number of"
    " ACL (107002), or a variable (ASCEND_WORK_PATH)",
    "explain.type": "type",
    "explain.values": "values",
    "explain.list": "{values}; one or more, with commas and no spaces between them",
    "explain.value_on": "{value} only on {products}",
    "explain.bounds": "bounds",
    "explain.number": "{low} to {high}",
    "explain.from": "from {low}",
    "explain.and": "; ",
    "explain.high_on": "up to {high} on {product}",
    "explain.multiple": "rounded up to a multiple of {multiple}",
    "explain.length": "at most {high} bytes",
    "explain.entries": "at most {high} entries",
    "explain.default": "default",
    "explain.products": "products",
    "explain.all": "all",
    "explain.all_but": "all but {products}",
    "explain.undocumented": "{products}; undocumented on {others}",
    "explain.features_of": "features",
    "explain.refused": "if wrong",
    "explain.returns": "init returns {number}",
    "explain.ignored": "it is ignored, and init succeeds",
    "explain.only_on": "looked at only while profiler.switch is on",
    "explain.variables": "variables",
    "explain.error": "error: ACL refuses the configuration",
    "explain.warning": "warning: ACL accepts it, but it does nothing, or not what it seems",
    "explain.info": "for information",
    "explain.says": "says",
    "explain.do": "do",
    "explain.example": "example",
    "explain.gives": "gives",
    "explain.cause": "cause",
    "explain.cure": "cure",
    "explain.success": "nothing to do",
    "explain.unknown_number": "{number} is in no header of ACL; a callback may have returned it",
    "explain.variable": "environment variable",
    "explain.keys": "keys",
    "explain.nothing": "there is nothing called {query!r} to explain",
    "explain.meant": "; did you mean {meant}?",
}


@final
@frozen
class Speaker:
    """One language's words."""

    language: Language

    def __call__(self, name: str, /, **args: object) -> str:
        """Return what is said under a name."""
        return self._table[name].format(**args)

    def counted(self, noun: str, count: int) -> str:
        """Return a number of things, such as `2 errors`."""
        return self(f"{noun}.{count if count < 2 else 'n'}", count=count)

    @property
    def _table(self) -> Mapping[str, str]:
        if self.language is Language.ENGLISH:
            return ENGLISH

        from .words_zh import CHINESE  # noqa: PLC0415  # one language at a time

        return CHINESE


def speaker(chosen: Language | None) -> Speaker:
    """Return the words of a language, or of the one that the locale asks for."""
    return Speaker(chosen or Language.of_locale(os.environ))
