"""What a configuration is before anything is known about it: a text with a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import Any, final

from attrs import frozen

from aclasync.codes import AclCode
from aclasync.errors import ConfigError

from .catalog import words_of
from .findings import Finding, Location, Path, Severity, counted, json_path
from .schema import AclConfig
from .text import MAX_DEPTH

#: A larger integer fits no double, so that its text would be refused.
MAX_INTEGER_BITS = 1024


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
    #: Somebody wrote it, so that findings point to its lines; not so the text of a mapping.
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
    plain = _plain(mapping, (), (), findings)
    if findings:
        raise ConfigError(
            AclCode.INVALID_PARAM,
            "aclInit",
            f"the mapping can't be written as JSON at {counted(len(findings), 'place')}",
            findings,
        )

    return encode(plain)


def encode(plain: Any) -> bytes:
    """Return plain JSON values as canonical JSON."""
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _plain(value: Any, path: Path, above: tuple[int, ...], findings: list[Finding]) -> Any:
    def refuse(code: str, **args: Any) -> None:
        message, hint = words_of(code, args)
        where = Location("<mapping>")
        acl_code = AclCode.INVALID_PARAM
        findings.append(
            Finding(Severity.ERROR, code, json_path(path), where, message, hint, acl_code)
        )

    if not isinstance(value, (Mapping, list, tuple)):
        if (fault := _scalar_fault(value)) is not None:
            code, args = fault
            refuse(code, **args)

        return value

    # What nests deeper than JSON may, but not that deep, is left to whoever reads the text.
    if id(value) in above or len(path) > 2 * MAX_DEPTH:
        refuse("E153")
        return None

    above = (*above, id(value))
    if not isinstance(value, Mapping):
        return [_plain(inner, (*path, i), above, findings) for i, inner in enumerate(value)]

    made = {}
    for key, inner in value.items():
        if not isinstance(key, str):
            refuse("E152", text=repr(key))
        elif not _is_encodable(key):
            refuse("E154")
        else:
            made[key] = _plain(inner, (*path, key), above, findings)

    return made


def _scalar_fault(value: Any) -> tuple[str, dict[str, Any]] | None:
    """Return code and arguments of why a value is no scalar of JSON; None if it is one."""
    if isinstance(value, str):
        return None if _is_encodable(value) else ("E154", {})

    if isinstance(value, int):
        bits = value.bit_length()
        return ("E155", {"bits": bits}) if bits > MAX_INTEGER_BITS else None

    if isinstance(value, float):
        return None if isfinite(value) else ("E151", {"text": repr(value)})

    return None if value is None else ("E150", {"kind": type(value).__name__})


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False

    return True
