"""What a number of ACL means and what to do about it, in words, for people and documentation."""

from __future__ import annotations

from typing import NamedTuple, final

from aclasync.codes import AclCode
from aclasync.config.language import Language


@final
class Meaning(NamedTuple):
    """Of one number."""

    cause: str
    #: Empty for what needs no cure.
    cure: str


def meaning_of(code: AclCode, language: Language = Language.ENGLISH) -> Meaning | None:
    """Return what a number means; None for one that no header names."""
    if language is Language.CHINESE:
        from .cures_zh import BY_CLASS, CURES  # noqa: PLC0415  # one language at a time
        from .numbers_zh import MEANINGS  # noqa: PLC0415
    else:
        from .cures import BY_CLASS, CURES  # noqa: PLC0415
        from .numbers import MEANINGS  # noqa: PLC0415

    cause = MEANINGS.get(code)
    if cause is None:
        return None

    by_class = BY_CLASS[code // 100_000] if code else ""
    return Meaning(cause, CURES.get(code, by_class))
