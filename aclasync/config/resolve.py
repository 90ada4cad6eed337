"""The pipeline: a text, an environment and a product in; a `Resolution` out.

Nothing is read and nothing is started here. What only the machine can tell, whether a folder
exists, is asked for with `folder_checks` and answered with `with_folders`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, final

from attrs import evolve, field, frozen

from aclasync.codes import AclCode
from aclasync.errors import ConfigError
from aclasync.product import Product, check_product

from .catalog import Phrase
from .check import Drafts, kind_of, shown
from .display import findings_html
from .dump_path import FolderCheck, FolderState
from .dump_rules import check_dump
from .effective import effective_values
from .environment import FIELD_OF, Environment, parse_environment
from .features import DUMP_PATH, ERR_MSG_MODE, FEATURES
from .findings import Draft, Finding, Location, Severity, severity_of, worded
from .keys import DUMP_ONLY
from .language import Language
from .located import Located, locate
from .profiler_rules import check_profiler, check_sample_config, is_on
from .schema import AclConfig
from .settings import Effective, Origin
from .source import ConfigText, ReadFault, text_of
from .steps import ConfigStep
from .text import Parsed, parse
from .value_rules import check_err_msg_mode, check_values

_STEPS = tuple(ConfigStep)
_ROOT_KEYS = tuple(dict.fromkeys(key.path[0] for f in FEATURES for key in f.keys))
_READ_FAULTS = {
    ReadFault.MISSING: ("E101", ConfigStep.READ),
    ReadFault.UNREADABLE: ("E102", ConfigStep.READ),
    ReadFault.NOT_REGULAR: ("E103", ConfigStep.ERR_MSG_MODE),
    ReadFault.TOO_LARGE: ("E104", ConfigStep.ERR_MSG_MODE),
}
# What somebody's JSON looks like behind the working directory that a path begins with.
_LIKE_JSON = re.compile(r"(\{[^/]*:.*\}|\{\s*\}|\[.*\])\s*$", re.DOTALL)

# Findings that point to the key: it should not be there, whatever its value.
_ABOUT_KEYS = frozenset(
    ("E232", "E233", "E241", "E340", "E401", "E407", "W001", "W011", "W018", "W024", "W026",
     "W029", "W031")
)  # fmt: skip


@final
@frozen(repr=False)
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
    _language: Language = field(default=Language.ENGLISH, repr=False, eq=False)

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
        """What the reference's init would return, which is its first failure or SUCCESS."""
        return next(iter(self.faults.values()), AclCode.SUCCESS)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was found: errors and warnings as in the text, then values."""
        return (*self._said_findings, *self._worded(Severity.INFO), *self._values())

    @cached_property
    def errors(self) -> tuple[Finding, ...]:
        """What the reference would refuse, in the order of its checks."""
        return self._worded(Severity.ERROR)

    @cached_property
    def warnings(self) -> tuple[Finding, ...]:
        """What it would accept, but which does nothing, or not what it seems; as in the text."""
        return _as_in_text((*self._worded(Severity.WARNING), *self._duplicates()))

    @cached_property
    def effective(self) -> Effective:
        """What is in force, and where it came from; faulty values are at their defaults."""
        return effective_values(self._root, self.environment, self.product)

    @cached_property
    def config(self) -> AclConfig | None:
        """The configuration as typed values; None if it can't be had."""
        if not self.is_valid:
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
                code = self._flattened(DUMP_PATH.code)
                args = {"value": shown(check.path), "folder": check.path}
                draft = Draft(state.value, DUMP_PATH.path, args, DUMP_PATH.step, code)
                drafts.insert(check.position, draft)

        return evolve(self, folder_checks=(), drafts=tuple(drafts))

    def __repr__(self) -> str:
        return f"<Resolution of {self.text.name} for {self.product.name}: {self._counts}>"

    def _repr_html_(self) -> str:
        title = f"{self.text.name} ({self.product.name}): {self._counts}"
        return findings_html(title, self.findings)

    @property
    def _counts(self) -> str:
        return f"{_counted(self.errors, 'error')}, {_counted(self.warnings, 'warning')}"

    def in_language(self, language: Language) -> Resolution:
        """Return the resolution with its findings in another language."""
        return self if language is self._language else evolve(self, language=language)

    def raise_for_findings(self, function: str, *, strict: bool = False) -> None:
        """Do nothing if the configuration may be used.

        Raises:
          ConfigError: it has an error, or with `strict` a warning; `findings` lists them all.
        """
        if self.is_valid and not (strict and self.warnings):
            return

        code = self._flattened(self.code if not self.is_valid else AclCode.INVALID_PARAM)
        raise ConfigError(
            code, function, f"{self.text.name} can't be used: {self._counts}", self._said_findings
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
    def tree(self) -> Located:
        """What a recovering reader makes of the text, with places, and faults of the syntax."""
        return self._located

    def located_drafts(self) -> Iterator[tuple[Draft, int]]:
        """Iterate over what was found in the text, each with its offset in `tree.text`."""
        for draft in self._drafts:
            if not draft.variable:
                yield draft, self._offset_of(draft)

    @property
    def _said_findings(self) -> tuple[Finding, ...]:
        return _as_in_text((*self.errors, *self.warnings))

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
        return tuple(self._finding(d) for d in self._drafts if severity_of(d.code) is severity)

    def _duplicates(self) -> Iterator[Finding]:
        if not self._parsed.has_duplicates and self._found is None:
            return

        located = self._located
        for path, later, earlier in located.duplicates:
            line = located.location("", earlier).line
            yield self._finding(Draft("W002", path, {"line": line}, offset=later))

    def _values(self) -> Iterator[Finding]:
        for name, sourced in self.effective:
            origin = Phrase(sourced.origin.value)
            if sourced.origin is not Origin.DEFAULT:
                origin = Phrase("{origin}, {name}", {"origin": origin, "name": sourced.name})

            is_there = sourced.origin is Origin.FILE
            finding = self._finding(Draft("I001", (), {"value": sourced.value, "origin": origin}))
            path = sourced.name if is_there else f"({name})"
            yield evolve(finding, path=path, where=Location(self.text.name))

        unusable = {draft.variable for draft in self._drafts if draft.code == "W040"}
        for variable, attribute in FIELD_OF.items():
            value = getattr(self.environment, attribute)
            if value is not None:
                is_said = bool(self.environment.given.get(variable)) and variable not in unusable
                where_from = Origin.ENVIRONMENT if is_said else Origin.DEFAULT
                args = {"value": value, "origin": Phrase(where_from.value)}
                yield self._finding(Draft("I001", (), args, variable=variable))

    def _finding(self, draft: Draft) -> Finding:
        return worded(draft, self._where(draft), self._language)

    def _where(self, draft: Draft) -> Location:
        if draft.variable:
            return Location("environment")

        if not self.text.is_file or not self._parsed.content:
            return Location(self.text.name)

        return self._located.location(self.text.name, self._offset_of(draft))

    def _offset_of(self, draft: Draft) -> int:
        if draft.offset is not None:
            return draft.offset

        return self._located.place(draft.path, is_key=draft.code in _ABOUT_KEYS)


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
      TypeError: `source` is a path, which `load_config` reads, or nothing of the kind; or
        `product` is no `Product`.
    """
    check_product(product)
    environment, environment_drafts = parse_environment(env)
    if isinstance(source, Resolution):
        if source.product is product and source.environment == environment:
            return source

        source = source.text

    text = text_of(source)
    drafts = Drafts(text.left_out)
    parsed, found = Parsed(b""), None
    check: FolderCheck | None = None
    if product.rules.flattens_init_failure and _means_none(text):
        detail = text.fault_detail or "the file is empty"
        drafts.warn("I003", (), product=product.name, detail=detail)
        text = evolve(text, is_given=False, fault=None)
    elif text.fault is not None:
        code, step = _READ_FAULTS[text.fault]
        if text.fault is ReadFault.MISSING and _LIKE_JSON.search(text.name):
            code = "E105"

        drafts.error(code, (), step, AclCode.INVALID_FILE, detail=text.fault_detail)
    else:
        parsed = parse(text.raw)
        found = _check_text(text, parsed, drafts)
        value = parsed.value if found is None else found.value
        check = _check_tree(value, parsed, product, environment, drafts)

    drafts += environment_drafts
    check_sample_config(environment, product, drafts)
    if product.rules.flattens_init_failure:
        drafts[:] = map(_flattened, drafts)

    checks = () if check is None else (check,)
    return Resolution(text, product, environment, checks, parsed, tuple(drafts), found)


def _means_none(text: ConfigText) -> bool:
    """Whether IPV350 goes on without a configuration where others find fault."""
    if text.fault is None:
        return text.is_given and not text.raw

    return _READ_FAULTS[text.fault][1] is ConfigStep.READ


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

    if parsed.too_deep:
        error("E110", 0, depth=parsed.depth, kind=parsed.too_deep)

    if parsed.is_valid:
        if parsed.is_cut:
            drafts.warn("W005", ())

        return None

    found = locate(parsed.content)
    if _is_utf_16(text.raw):
        error("E113", 0)
        return found

    for fault in found.faults:
        error(fault.code, fault.offset, **fault.args)

    if parsed.is_cut and found.faults:
        error("E111", len(found.text))

    if not (found.faults or parsed.too_deep):
        error("E138", 0, text=Phrase("the parser refused it"))

    return found


def _check_tree(
    value: Any, parsed: Parsed, product: Product, environment: Environment, drafts: Drafts
) -> FolderCheck | None:
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
    check = check_dump(value, product, environment, drafts)
    check_values(value, product, drafts)
    check_profiler(value, product, environment, drafts)
    is_dump_off = any(draft.code == "W022" for draft in drafts)
    if value.get("dump") and not is_dump_off and is_on(value.get("profiler")):
        drafts.warn("W020", ("profiler",))

    return check


def _is_utf_16(raw: bytes) -> bool:
    """Whether a text that is no JSON has the order mark of UTF-16, or a letter of two bytes."""
    return raw.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(raw) > 3 and raw[1] == raw[3] == 0)


def _as_in_text(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    # Without a line come those on the environment.
    return tuple(sorted(findings, key=lambda f: (not f.where.line, f.where.line, f.where.column)))


def _flattened(draft: Draft) -> Draft:
    return draft if draft.step is None else draft._replace(acl_code=AclCode.INTERNAL_ERROR)


def _counted(findings: tuple[Finding, ...], name: str) -> str:
    return f"{len(findings)} {name}{'' if len(findings) == 1 else 's'}"
