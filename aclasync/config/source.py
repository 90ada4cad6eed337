"""What a configuration is before anything is known about it: a text with a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, final

from attrs import frozen

from aclasync.codes import AclCode
from aclasync.errors import ConfigError

from .catalog import ENGLISH
from .findings import Finding, Location, Path, Severity, json_path
from .schema import AclConfig
from .text import MAX_DEPTH


@final
class ReadFault(Enum):
    """Why a file gave no text."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    #: A folder, FIFO, socket or device.
    NOT_REGULAR = "not regular"
    #: More than 10 MiB.
    TOO_LARGE = "too large"


@final
@frozen
class ConfigText:
    """The bytes of a configuration and what messages call it."""

    name: str
    raw: bytes = b""
    #: False for None and for an empty path: the steps that need a configuration are left out.
    is_given: bool = True
    #: Findings point to lines only in a text that somebody wrote.
    is_file: bool = False
    fault: ReadFault | None = None
    fault_detail: str = ""


NO_TEXT = ConfigText("<none>", is_given=False)


def canonical_text(source: bytes | Mapping[str, Any] | AclConfig | ConfigText | None) -> ConfigText:
    """Return the text of a source that needs no reading.

    A mapping becomes JSON with sorted keys, so that equal mappings have equal texts.

    Raises:
      ConfigError: a mapping holds what JSON can't express (100000); every place is listed.
      TypeError: it is a path, which only the runtime can read, or nothing of the kind.
    """
    if source is None:
        return NO_TEXT

    if isinstance(source, ConfigText):
        return source

    if isinstance(source, AclConfig):
        return ConfigText("<config>", source.to_bytes())

    if isinstance(source, (bytes, bytearray, memoryview)):
        raw = bytes(source)
        return ConfigText("<bytes>", raw, is_given=bool(raw), is_file=True)

    if isinstance(source, Mapping):
        return ConfigText("<mapping>", _to_json(source))

    raise _refusal(source)


def _refusal(source: object) -> TypeError:
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        return TypeError(
            f"{source!r} is a path, and nothing is read here; use load_config() or acl_session()"
        )

    return TypeError(
        "a configuration is a path, a mapping, JSON text as bytes, an AclConfig or None, "
        f"not {source!r}"
    )


def _to_json(mapping: Mapping[str, Any]) -> bytes:
    findings: list[Finding] = []
    plain = _plain(mapping, (), findings)
    if findings:
        raise ConfigError(
            AclCode.INVALID_PARAM,
            "aclInit",
            f"the mapping holds {len(findings)} values that JSON can't express",
            findings,
        )

    return encode(plain)


def encode(plain: Any) -> bytes:
    """Return plain JSON values as canonical JSON."""
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _plain(value: Any, path: Path, findings: list[Finding]) -> Any:
    def refuse(code: str, **args: Any) -> None:
        words = ENGLISH[code]
        message = words.message.format(**args)
        findings.append(
            Finding(
                Severity.ERROR,
                code,
                json_path(path),
                Location("<mapping>"),
                message,
                words.hint.format(**args),
                AclCode.INVALID_PARAM,
            )
        )

    if value is None or isinstance(value, (bool, int)):
        return value

    if isinstance(value, str):
        if not _is_encodable(value):
            refuse("E154")

        return value

    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124  # NaN
            refuse("E151", text=repr(value))

        return value

    if len(path) > MAX_DEPTH:
        refuse("E153")
        return None

    if isinstance(value, Mapping):
        made = {}
        for key, inner in value.items():
            if not isinstance(key, str):
                refuse("E152", text=repr(key))
            elif not _is_encodable(key):
                refuse("E154")
            else:
                made[key] = _plain(inner, (*path, key), findings)

        return made

    if isinstance(value, (list, tuple)):
        return [_plain(inner, (*path, i), findings) for i, inner in enumerate(value)]

    refuse("E150", kind=type(value).__name__)
    return None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False

    return True
