"""A failure at every named point, at every two of them, and with a cancellation beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import anyio
import pytest

from aclasync import AclError, FinalizeError, acl_session
from aclasync.testing import FaultPlan
from aclasync.testing.faults import POINTS

from .scenarios import CONFIG, PLAIN, THREADED, Scenario, callbacks, first_entry, neighbour, staged

SINGLES: tuple[tuple[str, ...], ...] = tuple((point,) for point in POINTS)
PAIRS = tuple(combinations(POINTS, 2))
FULL = {"dump": {"dump_scene": "lite_exception"}, **CONFIG}


class PlannedError(Exception):
    """Says at which point it was raised."""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, and nothing else."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def told(error: BaseException) -> Iterator[str]:
    """Everything that an exception says, its parts, causes and notes included."""
    yield str(error)
    yield from getattr(error, "__notes__", ())
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from told(part)

    if error.__cause__ is not None:
        yield from told(error.__cause__)


async def one_run(scenario: Scenario, points: tuple[str, ...], *, crowded: bool = False) -> bool:
    """Return whether a fault was met; nothing may be lost or left after it."""
    plan = FaultPlan()
    for point in points:
        plan.fail(point, PlannedError(f"at <{point}>"), times=1)

    # The fault that lets an undo happen, and does not count.
    if all(point.startswith("undo") for point in points):
        plan.fail("init.OTHER", PlannedError("at <init.OTHER>"), times=1)

    with staged(plan) as stage, anyio.fail_after(20):
        stage.config = FULL
        caught: BaseException | None = None
        async with anyio.create_task_group() as tasks:
            if crowded:
                tasks.start_soon(tolerant, stage)

            try:
                await scenario(stage)
            except Exception as exc:
                caught = exc

        met = [point for point in points if point not in plan.unused()]
        if met and not crowded:
            assert caught is not None, f"{met} were lost"
            check_told(caught, met)

        stage.check_at_rest(stage.held)
        for _ in range(stage.held):
            await stage.runtime.finalize_reference()

        for point in points:
            plan.set(point, None)

        plan.set("init.OTHER", None)
        async with acl_session(FULL) as session:
            assert session.ref_count == 1

        stage.check_at_rest()
        return bool(met)


async def tolerant(stage: object) -> None:
    try:
        await neighbour(stage)
    except* (PlannedError, AclError):
        pass


def check_told(caught: BaseException, met: list[str]) -> None:
    """The first failure is the result, and every other one is told with it."""
    text = "\n".join(told(caught))
    for point in met:
        assert f"<{point}>" in text, (met, text)

    if any(point.startswith("init") for point in met):
        first = next(point for point in POINTS if point in met)
        assert not isinstance(caught, FinalizeError), caught
        if not isinstance(caught, ExceptionGroup):
            assert f"<{first}>" in str(caught), caught


async def sweep(scenario: Scenario, faults: tuple[tuple[str, ...], ...], **options: bool) -> int:
    met = 0
    for points in faults:
        try:
            met += await one_run(scenario, points, **options)
        except BaseException as exc:
            exc.add_note(f"with faults at {points}")
            raise

    return met


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", [*PLAIN, *THREADED], ids=lambda s: s.__name__)
async def test_failure_at_any_point_is_told_and_leaves_nothing(
    scenario: Scenario, temporary: Path
) -> None:
    """The result is that failure; count, gate, steps and the next session are as they should be."""
    met = await sweep(scenario, SINGLES)
    met += await sweep(scenario, SINGLES, crowded=True)
    print(f"{met} points")
    assert met >= len(POINTS)
    assert not list(temporary.iterdir())


@pytest.mark.timeout(300)
async def test_failures_at_any_two_points_are_both_told(temporary: Path) -> None:
    """The first is the result, the second is a part of it or a note to it."""
    met = await sweep(first_entry, PAIRS)
    print(f"{met} pairs")
    assert met > len(PAIRS) / 2
    assert not list(temporary.iterdir())


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", [*PLAIN, callbacks], ids=lambda s: s.__name__)
async def test_failures_at_any_two_points_of_any_scenario_are_told(
    scenario: Scenario, temporary: Path
) -> None:
    """Also with somebody else in the way."""
    met = await sweep(scenario, PAIRS)
    met += await sweep(scenario, PAIRS, crowded=True)
    print(f"{met} pairs")
    assert not list(temporary.iterdir())
