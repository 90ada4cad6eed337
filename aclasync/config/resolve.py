"""The pipeline: a text, an environment and a product in; a `Resolution` out.

Nothing is read and nothing is started here. What only the machine can tell, whether a folder
exists, is asked for with `folder_checks` and answered with `with_folders`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Any, final

from attrs import evolve, field, frozen

from aclasync.codes import AclCode
from aclasync.errors import ConfigError
from aclasync.product import Product

from .catalog import words_of
from .check import Drafts, kind_of
from .dump_rules import check_dump
from .effective import Effective, Origin, effective_values, statements
from .environment import Environment, parse_environment
from .features import DUMP_ONLY, ERR_MSG_MODE, FEATURES, PROFILER
from .findings import Draft, Finding, Location, Severity, counted, json_path, severity_of
from .located import Located, locate
from .profiler_rules import check_profiler
from .schema import AclConfig
from .source import ConfigText, ReadFault, canonical_text
from .steps import ConfigStep
from .text import Parsed, parse
from .value_rules import check_err_msg_mode, check_values, section

_ENVIRONMENT = "<environment>"
_OF_ENVIRONMENT = ("W040", "W041")
# What is wrong is the key itself.
_OF_KEYS = ("W001", "E401")
_STEPS = tuple(ConfigStep)
_ROOT_KEYS = dict.fromkeys(key.path[0] for f in FEATURES for key in f.keys)
_READ_FAULTS = {
    ReadFault.MISSING: ("E101", ConfigStep.READ),
    ReadFault.UNREADABLE: ("E102", ConfigStep.READ),
    ReadFault.NOT_REGULAR: ("E103", ConfigStep.ERR_MSG_MODE),
    ReadFault.TOO_LARGE: ("E104", ConfigStep.ERR_MSG_MODE),
}


@final
class FolderState(Enum):
    """What somebody who looked found where a folder should be."""

    USABLE = ""
    MISSING = "E214"
    NOT_A_FOLDER = "E215"
    NO_PERMISSION = "E216"


@final
@frozen
class FolderCheck:
    """A folder that the configuration needs."""

    #: As written: relative ones start at the working directory.
    path: str
    json_path: str


@final
@frozen
class Resolution:
    """All that a configuration says, and all that is to be said about it."""

    text: ConfigText
    product: Product
    environment: Environment
    #: Folders that must exist; look for them and tell `with_folders`.
    folder_checks: tuple[FolderCheck, ...] = ()
    _parsed: Parsed = field(default=Parsed(b""), repr=False)
    _drafts: tuple[Draft, ...] = field(default=(), repr=False)
    #: What the recovering reader made of the text, where it was needed for the rules.
    _found: Located | None = field(default=None, repr=False, eq=False)

    @property
    def content(self) -> str:
        """The text as callbacks get it; bytes that are no UTF-8 are kept as surrogates."""
        return self.text.raw.decode("utf-8", "surrogateescape")

    @property
    def is_valid(self) -> bool:
        """Whether the reference would accept it."""
        return all(draft.step is None for draft in self._drafts)

    @cached_property
    def faults(self) -> Mapping[ConfigStep, AclCode]:
        """The number of the first failure at each step that has one, in the order of the steps."""
        first: dict[ConfigStep, AclCode] = {}
        for draft in self._drafts:
            if draft.step is not None:
                first.setdefault(draft.step, draft.acl_code)

        return {step: first[step] for step in _STEPS if step in first}

    @property
    def code(self) -> AclCode:
        """What the reference's init would return: its first failure, or SUCCESS."""
        return next(iter(self.faults.values()), AclCode.SUCCESS)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was found: errors in the order of the checks, warnings, then values."""
        return (*self.errors, *self.warnings, *self._worded(Severity.INFO), *self._values())

    @cached_property
    def errors(self) -> tuple[Finding, ...]:
        """What the reference would refuse."""
        return self._worded(Severity.ERROR)

    @cached_property
    def warnings(self) -> tuple[Finding, ...]:
        """What it would accept, but which does nothing, or not what it seems."""
        return self._worded(Severity.WARNING)

    @cached_property
    def effective(self) -> Effective:
        """What is in force, and where it came from; faulty values are at their defaults."""
        return effective_values(self._root, self.environment)

    @cached_property
    def config(self) -> AclConfig | None:
        """The configuration as typed values; None if it can't be had."""
        if not (self.is_valid and self._parsed.is_valid):
            return None

        root = self._root
        if self.product in DUMP_ONLY:
            root = {key: value for key, value in root.items() if key == "dump"}

        return AclConfig.from_mapping(root)

    def with_folders(self, states: Mapping[str, FolderState]) -> Resolution:
        """Return the resolution after somebody has looked for its folders."""
        drafts = list(self._drafts)
        for check in self.folder_checks:
            state = states.get(check.path, FolderState.USABLE)
            if state is not FolderState.USABLE:
                args = {"value": check.path}
                code = self._flattened(AclCode.INVALID_DUMP_CONFIG)
                path = ("dump", "dump_path")
                drafts.append(Draft(state.value, path, args, ConfigStep.DUMP, code))

        return evolve(self, folder_checks=(), drafts=tuple(drafts))

    def raise_for_findings(self, function: str, *, strict: bool = False) -> None:
        """Do nothing if the configuration may be used.

        Raises:
          ConfigError: it has an error, or with `strict` a warning; `findings` lists them all.
        """
        if self.is_valid and not (strict and self.warnings):
            return

        said = counted(len(self.errors), "error"), counted(len(self.warnings), "warning")
        counts = ", ".join(said)
        code = self._flattened(self.code if not self.is_valid else AclCode.INVALID_PARAM)
        raise ConfigError(
            code, function, f"{self.text.name} can't be used: {counts}", self._said_findings
        )

    def fault_error(self, step: ConfigStep | str, function: str) -> ConfigError | None:
        """Return the error that the reference meets at a step; None if it meets none."""
        code = self.faults.get(ConfigStep(step))
        if code is None:
            return None

        detail = f"{self.text.name} is refused at {ConfigStep(step)}"
        return ConfigError(code, function, detail, self._said_findings)

    # The tree

    @property
    def _said_findings(self) -> tuple[Finding, ...]:
        return (*self.errors, *self.warnings)

    @property
    def _root(self) -> dict[str, Any]:
        value = self._found.value if self._found is not None else self._parsed.value
        return value if isinstance(value, dict) else {}

    @cached_property
    def _located(self) -> Located:
        return self._found or locate(self._parsed.content)

    def _flattened(self, code: AclCode) -> AclCode:
        return AclCode.INTERNAL_ERROR if self.product.rules.flattens_init_failure else code

    # Words

    def _worded(self, severity: Severity) -> tuple[Finding, ...]:
        made = [self._finding(d) for d in self._drafts if severity_of(d.code) is severity]
        if severity is Severity.WARNING and self._parsed.has_duplicates:
            made += map(self._finding, self._duplicates())

        return tuple(made)

    def _duplicates(self) -> list[Draft]:
        located = self._located
        name = self.text.name
        return [
            Draft(
                "W002",
                path,
                {
                    "earlier": located.location(name, earlier).line,
                    "later": located.location(name, later).line,
                },
                offset=later,
            )
            for path, later, earlier in located.duplicates
        ]

    def _values(self) -> tuple[Finding, ...]:
        made = []
        for said in statements(self.effective, self._root):
            origin = said.origin.value + (f", {said.variable}" if said.variable else "")
            value = "not set" if said.value is None else said.value
            finding = self._finding(Draft("I001", said.path, {"value": value, "origin": origin}))
            if said.origin is not Origin.FILE:
                finding = evolve(finding, where=_elsewhere(said.origin, self.text.name))

            made.append(finding)

        return tuple(made)

    def _finding(self, draft: Draft) -> Finding:
        message, hint = words_of(draft.code, draft.args)
        return Finding(
            severity_of(draft.code),
            draft.code,
            json_path(draft.path),
            self._where(draft),
            message,
            hint,
            draft.acl_code,
        )

    def _where(self, draft: Draft) -> Location:
        if draft.code in _OF_ENVIRONMENT:
            return Location(_ENVIRONMENT)

        if not self.text.is_file or not self._parsed.content:
            return Location(self.text.name)

        located = self._located
        offset = draft.offset
        if offset is None and draft.code in _OF_KEYS:
            offset = located.keys.get(draft.path)

        if offset is None:
            offset = located.place(draft.path)

        return located.location(self.text.name, offset)


def _elsewhere(origin: Origin, name: str) -> Location:
    return Location(_ENVIRONMENT if origin is Origin.ENVIRONMENT else name)


def resolve_config(
    source: bytes | Mapping[str, Any] | AclConfig | ConfigText | Resolution | None,
    *,
    env: Mapping[str, str],
    product: Product,
) -> Resolution:
    """Judge a configuration as the reference would, and more: every finding in one pass.

    Args:
      source: JSON text, a mapping, an `AclConfig`, or None for no configuration.
      env: the environment variables.
      product: whose rules apply.

    Raises:
      ConfigError: a mapping holds what JSON can't express.
      TypeError: `source` is a path, which `load_config` reads, or nothing of the kind.
    """
    environment, environment_drafts = parse_environment(env)
    if isinstance(source, Resolution):
        if source.product is product and source.environment == environment:
            return source

        source = source.text

    text = canonical_text(source)
    drafts = Drafts()
    parsed, found = Parsed(b""), None
    folder: str | None = None
    if text.fault is not None:
        _check_fault(text, product, drafts)
    else:
        parsed = parse(text.raw)
        found = _check_text(text, parsed, drafts)
        value = parsed.value if found is None else found.value
        folder = _check_tree(value, parsed, product, environment, drafts)

    drafts += environment_drafts
    if product.rules.flattens_init_failure:
        drafts[:] = map(_flattened, drafts)

    checks = () if folder is None else (FolderCheck(folder, "$.dump.dump_path"),)
    return Resolution(text, product, environment, checks, parsed, tuple(drafts), found)


def _check_fault(text: ConfigText, product: Product, drafts: Drafts) -> None:
    assert text.fault is not None
    code, step = _READ_FAULTS[text.fault]
    if product.rules.flattens_init_failure and step is ConfigStep.READ:
        drafts.warn("I003", (), product=product.name, detail=text.fault_detail)
        return

    drafts.error(code, (), step, AclCode.INVALID_FILE, detail=text.fault_detail)


def _check_text(text: ConfigText, parsed: Parsed, drafts: Drafts) -> Located | None:
    """Note what is wrong with the text; return what can be made of it all the same."""
    step = ERR_MSG_MODE.step

    def error(code: str, offset: int, **args: Any) -> None:
        drafts.append(Draft(code, (), args, step, AclCode.PARSE_FILE, offset))

    if parsed.begins_with_nul:
        # One of the reference's two parsers sees an empty text, the other a NUL byte.
        drafts.error("E115", ("dump",), ConfigStep.DUMP, AclCode.INVALID_DUMP_CONFIG)
        return None

    if not text.raw:
        if text.is_given:
            drafts.warn("W004", ())

        return None

    if (nesting := parsed.nesting) is not None:
        before = parsed.content[: nesting.at].decode("utf-8", "surrogateescape")
        error("E110", len(before), depth=nesting.depth, kind=nesting.kind)

    if parsed.is_valid:
        if parsed.is_cut:
            drafts.warn("W005", ())

        return None

    found = locate(parsed.content)
    for fault in found.faults:
        error(fault.code, fault.offset, **fault.args)

    if parsed.is_cut and found.faults:
        error("E111", len(found.text))

    if not (found.faults or nesting):
        error("E138", 0)

    return found


def _check_tree(
    value: Any, parsed: Parsed, product: Product, environment: Environment, drafts: Drafts
) -> str | None:
    if not parsed.content:
        return None

    if not isinstance(value, dict):
        if parsed.is_valid:
            drafts.warn("W003", (), got=kind_of(value))

        return None

    drafts.unknown_keys(value, _ROOT_KEYS, ())
    if product in DUMP_ONLY:
        for name in _ROOT_KEYS:
            if name != "dump" and name in value:
                drafts.warn("W011", (name,), product=product.name)

        return check_dump(value, product, environment, drafts)

    check_err_msg_mode(value, drafts)
    folder = check_dump(value, product, environment, drafts)
    check_values(value, product, environment, drafts)
    check_profiler(value, product, environment, drafts)
    if section(value, "profiler").get("switch") == "on":
        effective = effective_values(value, environment)
        if effective.dump.value is not None and effective.profiler.value is not None:
            drafts.warn("W020", PROFILER.path)

    return folder


def _flattened(draft: Draft) -> Draft:
    return draft if draft.step is None else draft._replace(acl_code=AclCode.INTERNAL_ERROR)
