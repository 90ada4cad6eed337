"""A random sample of interleavings, failures and cancellations on the running library.

One episode is a seed: three or four callers, up to two planned failures, up to three cancellations,
and an order of steps. ACLASYNC_SEED=1234 plays one again.
"""

from __future__ import annotations

import asyncio
import os
import random

import pytest

from aclasync import AclError, CallbackType, Phase, acl_session
from aclasync.testing import FaultPlan
from aclasync.testing.faults import POINTS

from .scenarios import CONFIG, Stage, staged
from .shuffle import ShuffledLoop


class PlannedError(Exception):
    """A step that was to fail."""


async def session(stage: Stage, chance: random.Random) -> None:
    async with acl_session(CONFIG) as opened:
        assert opened.ref_count >= 1
        await idle(chance)


async def nested(stage: Stage, chance: random.Random) -> None:
    async with acl_session(CONFIG):
        await session(stage, chance)


async def finalizes(stage: Stage, chance: random.Random) -> None:
    await idle(chance)
    await stage.runtime.finalize()


async def reference(stage: Stage, chance: random.Random) -> None:
    epoch = (await stage.runtime.init(CONFIG)).epoch
    try:
        await idle(chance)
    finally:
        await until_done(stage, epoch)


async def until_done(stage: Stage, epoch: int) -> None:
    """Give a bare reference back, whatever cancellation comes."""
    is_cancelled = False
    while stage.runtime.core.gate.state.standing.epoch == epoch:
        phase = stage.runtime.statistics().phase
        if phase is Phase.DOWN:
            break

        try:
            if phase is Phase.CLOSING:  # somebody's finalize, which may yet be withdrawn
                await asyncio.sleep(0)
                continue

            await stage.runtime.finalize_reference()
            break
        except asyncio.CancelledError:
            is_cancelled = True

    if is_cancelled:
        raise asyncio.CancelledError


async def registers(stage: Stage, chance: random.Random) -> None:
    async def callback(*_: object) -> None:
        await idle(chance)

    await stage.runtime.register_init_callback(CallbackType.OTHER, callback)
    await idle(chance)
    await stage.runtime.unregister_init_callback(CallbackType.OTHER, callback)


async def idle(chance: random.Random) -> None:
    for _ in range(chance.randrange(4)):
        await asyncio.sleep(0)


KINDS = (session, session, nested, reference, registers, finalizes)


async def episode(loop: ShuffledLoop, seed: int) -> None:
    chance = random.Random(seed)
    plan = FaultPlan()
    for _ in range(chance.randrange(3)):
        plan.fail(chance.choice(POINTS), PlannedError, times=1)

    with staged(plan) as stage:
        kinds = [chance.choice(KINDS) for _ in range(chance.choice([2, 3, 4]))]
        loop.chance = chance
        tasks = [loop.create_task(kind(stage, chance)) for kind in kinds]
        cancels = [chance.choice(tasks) for _ in range(chance.randrange(4))]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            if cancels and chance.random() < 0.1:
                cancels.pop().cancel()

        loop.chance = None
        for kind, task in zip(kinds, tasks, strict=True):
            if not task.cancelled():
                check_result(kind.__name__, task.exception())

        assert asyncio.all_tasks() == {asyncio.current_task()}
        stage.check_at_rest()
        for point in POINTS:
            plan.set(point, None)

        async with acl_session(CONFIG) as again:
            assert again.ref_count == 1

        stage.check_at_rest()


def check_result(kind: str, error: BaseException | None) -> None:
    """Only what was planned or what the contract says comes out."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            check_result(kind, part)
    elif error is not None:
        assert isinstance(error, (PlannedError, AclError)), (kind, error)


def play(seeds: range) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        for seed in seeds:
            try:
                async with asyncio.timeout(30):
                    await episode(loop, seed)
            except BaseException as exc:
                loop.chance = None
                exc.add_note(f"play it again with ACLASYNC_SEED={seed}")
                raise

    with asyncio.Runner(loop_factory=ShuffledLoop) as runner:
        runner.run(main())


def seeds(count: int) -> range:
    chosen = os.environ.get("ACLASYNC_SEED")
    return range(count) if chosen is None else range(int(chosen), int(chosen) + 1)


@pytest.mark.timeout(120)
def test_random_interleavings_of_the_library_break_no_promise() -> None:
    """Whoever is cancelled or fails where: nothing is lost, nothing is stuck."""
    play(seeds(1500))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(12))
def test_many_random_interleavings_of_the_library_break_no_promise(part: int) -> None:
    """Thirty thousand, the first of them after those of the short form."""
    play(range(10_000 + 2500 * part, 10_000 + 2500 * (part + 1)))
