"""All interleavings of two and three callers with up to two faults, on the pure machine."""

from __future__ import annotations

import pytest

from .explore import explore

MIXES = [
    (("session", "session"), 2),
    (("session", "init"), 2),
    (("session", "finalize"), 2),
    (("session", "stop"), 2),
    (("session", "hold"), 2),
    (("session", "session", "session"), 2),
    (("session", "session", "finalize"), 2),
    (("session", "session", "stop"), 2),
    (("session", "session", "hold"), 2),
    (("session", "init", "hold"), 2),
    (("session", "hold", "finalize"), 2),
]
LONG = [
    (("session", "session", "session", "session"), 2),
    (("session", "session", "session", "finalize"), 2),
    (("session", "session", "hold", "finalize"), 2),
    (("session", "init", "stop", "hold"), 2),
    (("session", "session", "session"), 3),
]


def check_all(kinds: tuple[str, ...], faults: int) -> None:
    worlds, ways = explore(kinds, faults)
    print(f"{'+'.join(kinds)}, {faults} faults: {worlds} worlds, {ways:.3g} interleavings")
    assert ways > worlds


@pytest.mark.parametrize(("kinds", "faults"), MIXES, ids=str)
def test_no_interleaving_breaks_a_promise(kinds: tuple[str, ...], faults: int) -> None:
    """Count, gate, holds and steps are right at every moment, and all callers come to an end."""
    check_all(kinds, faults)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("kinds", "faults"), LONG, ids=str)
def test_no_interleaving_of_four_callers_breaks_a_promise(
    kinds: tuple[str, ...], faults: int
) -> None:
    """The same with one more of everything."""
    check_all(kinds, faults)
