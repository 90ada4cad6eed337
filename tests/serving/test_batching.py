"""Batches on a real device's thread, on every event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import numpy as np
import pytest
from anyio import to_thread, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from aclasync import Device, DeviceError, Runtime, TensorSpec, acl_session
from aclasync.serving import (
    Batcher,
    BatchReport,
    DeadlineError,
    DeviceLostError,
    DrainingError,
    Limits,
    ModelFailedError,
    QueueFullError,
)

from .conftest import Doubler, row


class Crowd:
    """Requests in tasks of their own, and what became of each."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self._tasks = tasks
        self.answers: dict[float, float] = {}
        self.errors: dict[float, Exception] = {}
        self.scopes: dict[float, anyio.CancelScope] = {}

    def ask(self, model, value: float, **how) -> None:
        request = how.pop("request", None) or row(value)

        async def run() -> None:
            with anyio.CancelScope() as self.scopes[value]:
                try:
                    outputs = await model.infer(request, **how)
                    self.answers[value] = float(outputs["y"].flat[0])
                except Exception as error:
                    self.errors[value] = error

        self._tasks.start_soon(run)


async def held(model, doubler: Doubler, crowd: Crowd) -> None:
    """Keep the device busy with request 0 until `doubler.go` is set."""
    doubler.go.clear()
    doubler.entered.clear()
    crowd.ask(model, 0)
    await to_thread.run_sync(doubler.entered.wait, 20)


async def test_what_arrives_while_the_device_is_busy_runs_as_one_batch(device: Device) -> None:
    """And everybody gets the answer to the own question."""
    doubler = Doubler()
    reports: list[BatchReport] = []
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, on_batch=reports.append)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in range(1, 9):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        assert model.queued == 8
        assert model.running == 1
        doubler.go.set()

    assert doubler.runs == [1, 8]
    assert crowd.answers == {value: 2.0 * value for value in range(9)}
    assert sorted((r.requests, r.rows, r.runs) for r in reports) == [(1, 1, 1), (8, 8, 1)]
    assert batcher.busy_seconds > 0
    assert len(batcher) == 0


async def test_a_request_alone_runs_at_once(device: Device) -> None:
    """No timer holds it back."""
    doubler = Doubler()
    async with Batcher(device) as batcher:
        model = batcher.add(doubler)
        outputs = await model.infer(row(3))

    np.testing.assert_array_equal(outputs["y"], [[6, 6]])


async def test_max_batch_bounds_a_batch(device: Device) -> None:
    """The rest follows at once."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, Limits(max_batch=3))
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in range(1, 8):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        doubler.go.set()

    assert doubler.runs == [1, 3, 3, 1]
    assert len(crowd.answers) == 8


async def test_the_loop_is_woken_once_for_a_batch(device: Device) -> None:
    """All answers of a batch are there in the same pass of the loop."""
    doubler = Doubler()
    seen: list[int] = []
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, on_batch=lambda report: seen.append(report.requests))
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in range(1, 17):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        doubler.go.set()
        while len(seen) < 2:
            await checkpoint()

        await checkpoint()
        await checkpoint()
        assert len(crowd.answers) == 17

    assert sorted(seen) == [1, 16]


async def test_a_cancelled_request_that_waits_is_taken_out(device: Device) -> None:
    """Its neighbours stay, and its place is free."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in (1, 2, 3):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        crowd.scopes[2].cancel()
        await wait_all_tasks_blocked()
        assert model.queued == 2
        doubler.go.set()

    assert 2 not in doubler.seen
    assert crowd.answers == {0: 0, 1: 2, 3: 6}


async def test_a_cancelled_request_that_runs_leaves_its_neighbours_their_answers(
    device: Device,
) -> None:
    """What runs can't be stopped; only its answer is not wanted."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        crowd.ask(model, 1)
        await wait_all_tasks_blocked()
        crowd.scopes[0].cancel()
        await wait_all_tasks_blocked()
        doubler.go.set()

    assert crowd.answers == {1: 2}
    assert not crowd.errors
    assert model.running == 0


@pytest.mark.parametrize("error", [ValueError("poisoned"), SystemExit(3), MemoryError()])
async def test_a_poisoned_request_fails_alone(device: Device, error: BaseException) -> None:
    """Whatever it raises: the others of its batch are answered, and so are those after it."""
    doubler = Doubler()
    doubler.poison, doubler.error = 5, error
    reports: list[BatchReport] = []
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, on_batch=reports.append)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in range(1, 17):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        doubler.go.set()

    assert list(crowd.errors) == [5]
    assert isinstance(crowd.errors[5], ModelFailedError)
    assert crowd.errors[5].__cause__ is error
    assert crowd.answers == {v: 2.0 * v for v in range(17) if v != 5}
    assert max(report.runs for report in reports) <= 1 + 2 * 4  # halves, not one by one


async def test_requests_of_other_shapes_and_types_run_apart(device: Device) -> None:
    """Each of them is right where it is; together they would not be arrays."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in (1, 2):
            crowd.ask(model, value)
            crowd.ask(model, value + 10, request=row(value + 10, width=3))
            crowd.ask(model, value + 20, request={"x": np.full((1, 2), value + 20, np.float64)})

        await wait_all_tasks_blocked()
        doubler.go.set()

    assert doubler.runs == [1, 2, 2, 2]
    assert crowd.answers == {v: 2.0 * v for v in (0, 1, 2, 11, 12, 21, 22)}


async def test_requests_with_several_rows_get_all_of_theirs(device: Device) -> None:
    """Rows are counted, not requests."""
    doubler = Doubler()
    doubler.go.clear()
    results: dict[int, np.ndarray] = {}

    async def ask(rows: int) -> None:
        results[rows] = (await model.infer(row(rows, rows=rows)))["y"]

    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, Limits(max_batch=6))
        for rows in (1, 2, 3, 9):
            tasks.start_soon(ask, rows)

        await wait_all_tasks_blocked()
        doubler.go.set()

    assert {rows: y.shape for rows, y in results.items()} == {r: (r, 2) for r in (1, 2, 3, 9)}
    assert all((y == 2 * rows).all() for rows, y in results.items())
    assert max(doubler.runs) == 9


async def test_a_model_with_a_fixed_first_dimension_runs_requests_one_by_one(
    device: Device,
) -> None:
    """It has no batch dimension."""
    doubler = Doubler()
    doubler.inputs = (TensorSpec("x", "float32", (1, 2)),)  # type: ignore[misc]  # for this one
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler)
        assert not model.is_batching
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in (1, 2, 3):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        doubler.go.set()

    assert doubler.runs == [1, 1, 1, 1]


async def test_a_model_that_mixes_rows_gives_each_request_its_own_answer(device: Device) -> None:
    """An output without a row for each row can't be shared out."""

    class Summing(Doubler):
        def execute_blocking(self, inputs):
            y = super().execute_blocking(inputs)["y"]
            return {"y": y.sum(axis=0, keepdims=True)}

    doubler = Summing()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in (1, 2, 3):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        doubler.go.set()

    assert crowd.answers == {0: 0, 1: 2, 2: 4, 3: 6}


async def test_one_too_many_is_refused_at_once(device: Device) -> None:
    """Backpressure is told, not felt; the other model's queue is its own."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model, other = batcher.add(doubler, Limits(max_queue=2)), batcher.add(doubler)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in (1, 2, 3):
            crowd.ask(model, value)
            await wait_all_tasks_blocked()

        crowd.ask(other, 4)
        await wait_all_tasks_blocked()
        assert isinstance(crowd.errors.get(3), QueueFullError)
        doubler.go.set()

    assert sorted(crowd.answers) == [0, 1, 2, 4]


async def test_a_request_whose_time_is_over_stops_waiting_while_the_device_hangs(
    device: Device,
) -> None:
    """In the queue or on the device: nobody waits longer than asked."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, Limits(deadline=0.05))
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        crowd.ask(model, 1)
        crowd.ask(model, 2, timeout=30)
        while len(crowd.errors) < 2:
            await anyio.sleep(0.005)

        assert all(isinstance(crowd.errors[v], DeadlineError) for v in (0, 1))
        assert model.queued == 1
        assert batcher.running_for > 0
        doubler.go.set()

    assert crowd.answers == {2: 4}
    assert 1 not in doubler.seen


async def test_models_take_turns_on_the_device(device: Device) -> None:
    """Forty requests for one do not keep the other's single one waiting."""
    flooded, other = Doubler(), Doubler()
    order: list[str] = []
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        many = batcher.add(flooded, Limits(max_batch=2), on_batch=lambda _: order.append("many"))
        one = batcher.add(other, on_batch=lambda _: order.append("one"))
        crowd = Crowd(tasks)
        await held(many, flooded, crowd)
        for value in range(1, 41):
            crowd.ask(many, value)

        crowd.ask(one, 100)
        await wait_all_tasks_blocked()
        flooded.go.set()

    assert order.index("one") <= 2
    assert order.count("many") == 21


async def test_with_max_delay_a_free_device_waits_for_company(device: Device) -> None:
    """Until the batch is full, which ends the wait."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, Limits(max_delay=20, max_batch=3))
        crowd = Crowd(tasks)
        crowd.ask(model, 1)
        crowd.ask(model, 2)
        await wait_all_tasks_blocked()
        assert doubler.runs == []
        crowd.ask(model, 3)

    assert doubler.runs == [3]


async def test_max_delay_over_a_batch_that_is_not_full_runs(device: Device) -> None:
    """Company is wished for, not required."""
    doubler = Doubler()
    async with Batcher(device) as batcher:
        model = batcher.add(doubler, Limits(max_delay=0.01, max_batch=3))
        await model.infer(row(1))

    assert doubler.runs == [1]


async def test_leaving_answers_everything_that_waits(device: Device) -> None:
    """And refuses what comes later."""
    doubler = Doubler()
    async with anyio.create_task_group() as tasks:
        crowd = Crowd(tasks)
        async with Batcher(device) as batcher:
            model = batcher.add(doubler, Limits(max_batch=1))
            await held(model, doubler, crowd)
            for value in (1, 2, 3):
                crowd.ask(model, value)

            await wait_all_tasks_blocked()
            doubler.go.set()

        with pytest.raises(DrainingError):
            await model.infer(row(9))

    assert crowd.answers == {0: 0, 1: 2, 2: 4, 3: 6}


async def test_a_cancelled_batcher_refuses_what_waits_and_gives_what_ran(device: Device) -> None:
    """Nobody is left waiting for ever."""
    doubler = Doubler()
    async with anyio.create_task_group() as tasks:
        crowd = Crowd(tasks)
        with anyio.CancelScope() as scope:
            async with Batcher(device) as batcher:
                model = batcher.add(doubler)
                await held(model, doubler, crowd)
                for value in (1, 2, 3):
                    crowd.ask(model, value)

                await wait_all_tasks_blocked()
                threading.Timer(0.05, doubler.go.set).start()
                scope.cancel()
                await anyio.sleep_forever()

    assert crowd.answers == {0: 0}
    assert {type(error) for error in crowd.errors.values()} == {DrainingError}
    assert len(crowd.errors) == 3


async def test_a_retired_model_finishes_its_requests_and_takes_no_more(device: Device) -> None:
    """Unloading drops nobody; the other model goes on."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model, other = batcher.add(doubler), batcher.add(Doubler())
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        crowd.ask(model, 1)
        await wait_all_tasks_blocked()
        tasks.start_soon(model.retire)
        await wait_all_tasks_blocked()
        with pytest.raises(DrainingError):
            await model.infer(row(7))

        doubler.go.set()
        await model.retire()
        assert (await other.infer(row(3)))["y"][0, 0] == 6

    assert crowd.answers == {0: 0, 1: 2}


async def test_a_closed_device_fails_everybody_with_the_reason(device: Device) -> None:
    """Those who wait and those who come; nothing hangs."""
    await lose(device, lambda tasks: tasks.start_soon(device.aclose))


async def test_a_dead_device_thread_fails_everybody_with_the_reason(runtime: Runtime) -> None:
    """Nor does the session's end hang: it says that the device could not be closed."""
    session = await acl_session()
    device = await session.open_device()
    await lose(device, lambda _: device._thread.close())
    with pytest.raises(DeviceError, match="has ended"):
        await session.aclose()

    assert runtime.statistics().ref_count == 0


async def lose(device: Device, end: Callable[[anyio.abc.TaskGroup], object]) -> None:
    """Lose the device while one request is on it and others wait."""
    doubler = Doubler()
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler)
        crowd = Crowd(tasks)
        await held(model, doubler, crowd)
        for value in (1, 2):
            crowd.ask(model, value)

        await wait_all_tasks_blocked()
        end(tasks)
        await wait_all_tasks_blocked()
        doubler.go.set()
        while model.running or model.queued:
            await anyio.sleep(0.005)

        for _ in range(3):
            crowd.ask(model, 5)
            await wait_all_tasks_blocked()

        while 5 not in crowd.errors:
            await anyio.sleep(0.005)

    assert isinstance(crowd.errors[5], DeviceLostError)
    assert batcher.lost is not None
    assert set(crowd.answers) | set(crowd.errors) == {0, 1, 2, 5}
    assert all(isinstance(error, DeviceLostError) for error in crowd.errors.values())


async def test_many_requests_at_random_all_get_their_own_answer(device: Device) -> None:
    """Five hundred requests, some given up, some poisoned: every answer is the right one."""
    doubler = Doubler()
    doubler.poison = 13
    async with Batcher(device) as batcher, anyio.create_task_group() as tasks:
        model = batcher.add(doubler, Limits(max_batch=8))
        crowd = Crowd(tasks)
        for value in range(500):
            crowd.ask(model, value)
            if value % 7 == 0:
                await checkpoint()

            if value % 11 == 3 and value in crowd.scopes:
                crowd.scopes[value].cancel()

    assert all(answer == 2 * value for value, answer in crowd.answers.items())
    assert list(crowd.errors) == [13]
    assert len(crowd.answers) > 400
