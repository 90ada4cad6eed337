"""What a configuration is before anything is known about it: a text with a name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, final

from attrs import field, frozen

from aclasync.codes import AclCode
from aclasync.errors import ConfigError

from .canonical import to_canonical
from .findings import Draft, Location, worded
from .schema import AclConfig


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
    #: What of a mapping JSON can't express, so that it is not in `raw`.
    left_out: tuple[Draft, ...] = field(default=(), repr=False)


NO_TEXT = ConfigText("<none>", is_given=False)


def canonical_text(source: bytes | Mapping[str, Any] | AclConfig | ConfigText | None) -> ConfigText:
    """Return the text of a source that needs no reading.

    A mapping becomes JSON with sorted keys, so that equal mappings have equal texts.

    Raises:
      ConfigError: a mapping holds what JSON can't express (100000); every place is listed.
      TypeError: it is a path, which only the runtime can read, or nothing of the kind.
    """
    text = text_of(source)
    if not text.left_out:
        return text

    places = f"{len(text.left_out)} {'place' if len(text.left_out) == 1 else 'places'}"
    detail = f"{text.name} holds what JSON can't express, in {places}"
    findings = [worded(draft, Location(text.name)) for draft in text.left_out]
    raise ConfigError(AclCode.INVALID_PARAM, "aclInit", detail, findings)


def text_of(source: object) -> ConfigText:
    """Return the text of a source; what of a mapping is no JSON is left out, and noted.

    Raises:
      TypeError: it is a path, which only the runtime can read, or nothing of the kind.
    """
    if source is None:
        return NO_TEXT

    if isinstance(source, ConfigText):
        return source

    if isinstance(source, (bytes, bytearray, memoryview)):
        raw = bytes(source)
        return ConfigText("<bytes>", raw, is_given=bool(raw), is_file=True)

    if isinstance(source, AclConfig):
        made = source.canonical
        return ConfigText("<config>", made.raw, left_out=made.drafts)

    if isinstance(source, Mapping):
        made = to_canonical(source)
        return ConfigText("<mapping>", made.raw, left_out=made.drafts)

    if isinstance(source, str) or hasattr(source, "__fspath__"):
        raise TypeError(
            f"{source!r} is a path, and nothing is read here; use load_config() or acl_session()"
        )

    raise TypeError(
        "a configuration is a path, a mapping, JSON text as bytes, an AclConfig or None, "
        f"not {source!r}"
    )
