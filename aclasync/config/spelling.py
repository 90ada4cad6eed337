"""What somebody may have meant by a word that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .catalog import Phrase

#: No key is longer; comparing a text of megabytes would take its time.
_LONGEST = 64


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is this one but for its case, or is nearly it; None without."""
    folded = {name.lower(): name for name in known}
    lower = word[:_LONGEST].lower()
    if lower in folded:
        return folded[lower]

    close = get_close_matches(lower, folded, 1, 0.75)
    return folded[close[0]] if close else None


def nearest(key: str, known: Iterable[str]) -> Phrase:
    """Return what to do about a key that is unknown."""
    found = closest(key, known)
    if found is None:
        return Phrase("remove it")

    is_case = found.lower() == key.lower()
    return Phrase("write {key}" if is_case else "did you mean {key}?", {"key": found})
