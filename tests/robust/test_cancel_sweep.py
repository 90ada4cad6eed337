"""A cancellation before every single step that the event loop takes for a scenario."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import anyio
import pytest
import trio

from aclasync import acl_session

from .scenarios import CONFIG, PLAIN, THREADED, Scenario, Stage, neighbour, staged
from .steps import LIBRARIES, Steps, run_counted

# Far above what any scenario needs: one that never ends is stuck.
MOST_STEPS = 3000


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, and nothing else."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def tasks_alive(library: str) -> int:
    if library == "trio":
        return trio.lowlevel.current_statistics().tasks_living

    return len(asyncio.all_tasks())


async def cancel_scope_at(
    steps: Steps, stage: Stage, scenario: Scenario, at: tuple[int, ...]
) -> None:
    """Cancel for good, as a scope does: every later wait of the scenario is cancelled, too."""
    with anyio.CancelScope() as scope:
        steps.begin(at, scope.cancel)
        await scenario(stage)

    steps.end()


async def cancel_task_at(
    steps: Steps, stage: Stage, scenario: Scenario, at: tuple[int, ...]
) -> None:
    """Cancel once at each of these steps, as asyncio does; it must not be swallowed."""
    task = asyncio.ensure_future(scenario(stage))
    took: list[bool] = []
    steps.begin(at, lambda: took.append(task.cancel()))
    await asyncio.wait([task])
    steps.end()
    assert task.cancelled() == any(took), (task, took)
    if not task.cancelled():
        task.result()


WAYS = {"scope": cancel_scope_at, "task": cancel_task_at}


async def one_run(
    steps: Steps, library: str, way: str, scenario: Scenario, at: tuple[int, ...], *, crowded: bool
) -> bool:
    """Return whether the scenario lasted until the cancellation; all must be well afterwards."""
    with staged() as stage, anyio.fail_after(20):
        stage.config = dict(CONFIG)
        before = tasks_alive(library)
        async with anyio.create_task_group() as tasks:
            if crowded:
                tasks.start_soon(neighbour, stage)
                tasks.start_soon(neighbour, stage)

            await WAYS[way](steps, stage, scenario, at)

        has_struck = steps.has_struck
        assert tasks_alive(library) == before
        stage.check_at_rest(stage.held)
        for _ in range(stage.held):
            await stage.runtime.finalize_reference()

        async with acl_session(stage.config) as session:
            assert session.ref_count == 1

        stage.check_at_rest()
        return has_struck


async def sweep(
    steps: Steps, library: str, way: str, scenario: Scenario, *, crowded: bool, gap: int = 0
) -> int:
    """Try every step until the scenario ends before it; return how many there were.

    With a gap, the cancellation comes a second time that many steps later.
    """
    # The first run imports and warms up what later runs find.
    await one_run(steps, library, way, scenario, (), crowded=crowded)
    for first in range(1, MOST_STEPS):
        at = (first, first + gap) if gap else (first,)
        try:
            if not await one_run(steps, library, way, scenario, at, crowded=crowded):
                return first - 1
        except BaseException as exc:
            exc.add_note(f"cancelled before steps {at} by {way}")
            raise

    pytest.fail(f"no end after {MOST_STEPS} steps")


CASES = [
    pytest.param(library, way, scenario, id=f"{library}-{way}-{scenario.__name__}")
    for library in LIBRARIES
    for way in WAYS
    if (library, way) != ("trio", "task")
    for scenario in (*PLAIN, *THREADED)
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("library", "way", "scenario"), CASES)
@pytest.mark.parametrize("crowded", [False, True], ids=["alone", "crowded"])
def test_cancelled_before_any_step_leaves_nothing(
    library: str, way: str, scenario: Scenario, crowded: bool, temporary: Path, record_property
) -> None:
    """Count, gate, steps undone, contexts, tasks, files; and the next session works."""

    async def main(steps: Steps) -> int:
        return await sweep(steps, library, way, scenario, crowded=crowded)

    points = run_counted(library, main)
    record_property("points", points)
    print(f"{points} points")
    assert points > 3
    assert not list(temporary.iterdir())


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("library", ["asyncio", "uvloop"])
@pytest.mark.parametrize("scenario", [*PLAIN, *THREADED], ids=lambda s: s.__name__)
def test_cancelled_twice_before_any_two_steps_leaves_nothing(
    library: str, scenario: Scenario, temporary: Path, record_property
) -> None:
    """The second time while the first is being dealt with, at every distance up to thirty."""

    async def main(steps: Steps) -> int:
        return sum([
            await sweep(steps, library, "task", scenario, crowded=True, gap=gap)
            for gap in range(1, 31)
        ])  # fmt: skip

    pairs = run_counted(library, main)
    record_property("points", pairs)
    print(f"{pairs} points")
    assert not list(temporary.iterdir())
