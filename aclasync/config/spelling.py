"""What somebody may have meant by a key that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: No key is longer; comparing a text of megabytes would take its time.
_LONGEST = 64


def nearest(key: str, known: Iterable[str]) -> str:
    """Return what to do about a key that is unknown."""
    folded = {name.lower(): name for name in known}
    lower = key[:_LONGEST].lower()
    if lower in folded:
        return f"write {folded[lower]}"

    close = get_close_matches(lower, folded, 1, 0.75)
    return f"did you mean {folded[close[0]]}?" if close else "remove it"
