"""Callbacks on real loops: order, arguments, failures, change during a pass, re-entry."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest

from aclasync import (
    AclError,
    CallbackError,
    CallbackSlotTakenError,
    CallbackType,
    FinalizeError,
    ReentrantLifecycleError,
    Runtime,
    acl,
    acl_session,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime

OTHER, MODEL = CallbackType.OTHER, CallbackType.MODEL


async def register_all(runtime: Runtime, calls: list[str]) -> None:
    """A callback for every type, sync and async in turn, and a second one for OTHER."""
    for index, callback_type in enumerate([*CallbackType, OTHER]):
        name = f"{callback_type.name}{index if callback_type is OTHER else ''}"

        def on_init(text: str, length: int, user_data: object, name: str = name) -> None:
            calls.append(f"init {name}")

        async def on_init_async(text: str, length: int, user_data: object, name: str = name) -> int:
            await anyio.lowlevel.checkpoint()
            calls.append(f"init {name}")
            return 0

        async def on_finalize_async(user_data: object, name: str = name) -> None:
            await anyio.lowlevel.checkpoint()
            calls.append(f"finalize {name}")

        def on_finalize(user_data: object, name: str = name) -> int:
            calls.append(f"finalize {name}")
            return 0

        is_even = index % 2 == 0
        await runtime.register_init_callback(callback_type, on_init if is_even else on_init_async)
        await runtime.register_finalize_callback(
            callback_type, on_finalize_async if is_even else on_finalize
        )


@pytest.mark.parametrize("config", [None, {}])
async def test_callbacks_come_in_the_documented_order(runtime: Runtime, config) -> None:
    """Sync and async mixed; OP_EXECUTOR only with a config; OTHER as registered, both ways."""
    calls: list[str] = []
    await register_all(runtime, calls)

    async with acl_session(config):
        executor = ["init OP_EXECUTOR"] if config is not None else []
        assert calls == [
            "init MODEL", *executor, "init DVPP", "init OTHER8", "init OTHER9",
        ]  # fmt: skip
        calls.clear()

    assert calls == [
        "finalize OP_COMPILER", "finalize MODEL", "finalize DVPP", "finalize OTHER8",
        "finalize OTHER9",
    ]  # fmt: skip


async def test_registrations_survive_finalize(runtime: Runtime) -> None:
    """The next init calls them again."""
    calls: list[str] = []
    await register_all(runtime, calls)
    async with acl_session():
        pass

    first, calls[:] = calls[:], []
    async with acl_session():
        pass

    assert calls == first


async def test_init_callback_gets_the_text_and_its_length_in_bytes(runtime: Runtime) -> None:
    """Length counts UTF-8 bytes, user data comes as it is."""
    seen: list[tuple[object, ...]] = []
    token = object()
    await runtime.register_init_callback(MODEL, lambda *args: seen.append(args), token)
    async with acl_session({"温": "度"}):
        pass

    text = '{"温":"度"}'
    assert seen == [(text, len(text.encode()), token)]


async def test_without_config_the_text_is_empty(runtime: Runtime) -> None:
    """Empty, not missing."""
    seen: list[tuple[object, ...]] = []
    await runtime.register_init_callback(MODEL, lambda *args: seen.append(args))
    async with acl_session():
        pass

    assert seen == [("", 0, None)]


FAILURES = {
    "raises": (lambda: ValueError("no"), 500001),
    "raises an AclError": (lambda: AclError(507008, "rt", "no driver"), 507008),
    "returns 7": (lambda: 7, 7),
    "returns text": (lambda: "x", 500001),
    "returns a bool": (lambda: True, 500001),
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
async def test_failing_init_callback_is_the_result_of_init(
    runtime: Runtime, failure: str, is_async: bool
) -> None:
    """Later callbacks are not called, the count is 0, and a new init works."""
    make, code = FAILURES[failure]
    called: list[str] = []

    def fails(*_: object) -> object:
        result = make()
        if isinstance(result, Exception):
            raise result

        return result

    async def fails_async(*args: object) -> object:
        await anyio.lowlevel.checkpoint()
        return fails()

    chosen = fails_async if is_async else fails
    await runtime.register_init_callback(MODEL, chosen)
    await runtime.register_init_callback(OTHER, lambda *_: called.append("other"))

    with pytest.raises(AclError) as caught:
        await runtime.init()

    assert caught.value.code == code
    assert called == []
    assert runtime.statistics().ref_count == 0
    if failure == "raises":
        assert isinstance(caught.value, CallbackError)
        assert isinstance(caught.value.__cause__, ValueError)
        assert "fails" in str(caught.value)

    await runtime.unregister_init_callback(MODEL, chosen)
    async with acl_session():
        assert called == ["other"]


async def test_failing_finalize_callbacks_all_run(runtime: Runtime) -> None:
    """Every failure is in the group, the sequence reaches its end, and a new init works."""
    called: list[str] = []

    def fails(_: object) -> int:
        called.append("first")
        return 7

    async def raises(_: object) -> None:
        called.append("second")
        raise ValueError("second")

    await runtime.register_finalize_callback(OTHER, fails)
    await runtime.register_finalize_callback(OTHER, raises)
    await runtime.register_finalize_callback(OTHER, lambda _: called.append("third"))
    await runtime.init()
    with pytest.raises(FinalizeError) as caught:
        await runtime.finalize_reference()

    assert called == ["first", "second", "third"]
    assert caught.value.code == 7
    assert len(caught.value.exceptions) == 2
    assert isinstance(caught.value.exceptions[1].__cause__, ValueError)
    assert runtime.statistics().ref_count == 0
    await runtime.unregister_finalize_callback(OTHER, fails)
    await runtime.unregister_finalize_callback(OTHER, raises)
    async with acl_session():
        pass


async def test_late_init_callback_is_called_at_once(runtime: Runtime) -> None:
    """Whatever its type, with the stored text; it stays registered even if it fails."""
    seen: list[str] = []

    def fails(text: str, *_: object) -> int:
        seen.append(text)
        return 7

    async with acl_session(b"{}"):
        with pytest.raises(CallbackError) as caught:
            await runtime.register_init_callback(CallbackType.RETR, fails)

        assert caught.value.code == 7
        assert seen == ["{}"]
        assert await acl.init_callback_register(OTHER, fails) == 0
        assert seen == ["{}", "{}"]
        with pytest.raises(CallbackSlotTakenError):
            await runtime.register_init_callback(CallbackType.RETR, fails)

        await runtime.unregister_init_callback(CallbackType.RETR, fails)
        await runtime.unregister_init_callback(OTHER, fails)


async def test_callback_registered_during_an_init_is_called_once(runtime: Runtime) -> None:
    """From inside the OTHER pass it is still visited; after the pass of its type, late."""
    calls: list[str] = []

    async def adds(*_: object) -> None:
        calls.append("adds")
        await runtime.register_init_callback(OTHER, lambda *_: calls.append("added"))
        await runtime.register_finalize_callback(OTHER, lambda _: calls.append("ended"))

    await runtime.register_init_callback(OTHER, adds)
    async with acl_session():
        assert calls == ["adds", "added"]

    assert calls == ["adds", "added", "ended"]


async def test_callback_may_remove_itself_and_others(runtime: Runtime) -> None:
    """One that is removed before its turn is not called."""
    calls: list[str] = []

    def removed(*_: object) -> None:
        calls.append("removed")

    async def removes(*_: object) -> None:
        calls.append("removes")
        await runtime.unregister_init_callback(OTHER, removes)
        await runtime.unregister_init_callback(OTHER, removed)

    await runtime.register_init_callback(OTHER, removes)
    await runtime.register_init_callback(OTHER, removed)
    await runtime.register_init_callback(OTHER, lambda *_: calls.append("last"))
    async with acl_session():
        pass

    assert calls == ["removes", "last"]


async def test_registration_from_another_task_waits_for_the_init() -> None:
    """It is then called late, once, and nothing is lost between the passes."""
    plan = FaultPlan().park("init.DVPP")
    calls: list[str] = []
    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.init)
            await plan.wait_parked("init.DVPP")
            tasks.start_soon(
                runtime.register_init_callback, MODEL, lambda *_: calls.append("model")
            )
            await anyio.wait_all_tasks_blocked()
            assert calls == []
            plan.release("init.DVPP")

        assert calls == ["model"]
        await runtime.finalize()


async def test_lifecycle_calls_from_inside_a_callback_are_refused(runtime: Runtime) -> None:
    """At once, for every call, from the callback, a task of its own and a thread of its own."""
    refused: list[str] = []

    async def try_all() -> None:
        for call in (
            runtime.init,
            runtime.finalize,
            runtime.finalize_reference,
            acl_session().__aenter__,
        ):
            with pytest.raises(ReentrantLifecycleError, match="inside"):
                await call()

            refused.append(call.__name__)

    async def callback(*_: object) -> None:
        await try_all()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(try_all)

    def in_thread(*_: object) -> None:
        anyio.from_thread.run(try_all)

    await runtime.register_init_callback(MODEL, callback)
    await runtime.register_init_callback(OTHER, in_thread, in_thread=True)
    await runtime.register_finalize_callback(MODEL, callback)
    async with acl_session():
        assert len(refused) == 12

    assert len(refused) == 20
    assert runtime.statistics().ref_count == 0


async def test_task_that_outlives_its_callback_may_call(runtime: Runtime) -> None:
    """Only while the callback runs would it wait for itself."""
    async with anyio.create_task_group() as tasks:
        may_go = anyio.Event()

        async def later() -> None:
            await may_go.wait()
            async with acl_session() as session:
                assert session.joined

        def starts(*_: object) -> None:
            tasks.start_soon(later)

        await runtime.register_init_callback(MODEL, starts)
        async with acl_session():
            may_go.set()
            await anyio.wait_all_tasks_blocked()


async def test_in_thread_runs_elsewhere(runtime: Runtime) -> None:
    """And sees the context of the caller; others run in the loop's thread."""
    variable = contextvars.ContextVar("variable", default="unset")
    threads: list[int] = []

    def note(*_: object) -> None:
        threads.append(threading.get_ident())
        assert variable.get() == "set"

    variable.set("set")
    await runtime.register_init_callback(OTHER, note, in_thread=True)
    await runtime.register_init_callback(OTHER, note)
    async with acl_session():
        pass

    assert threads[0] != threading.get_ident()
    assert threads[1] == threading.get_ident()


@pytest.mark.parametrize("in_thread", [False, True])
async def test_callback_that_never_returns_is_bounded(in_thread: bool) -> None:
    """`callback_timeout` ends it, the error says which one hung, and everything is undone."""
    end = threading.Event()

    async def hangs(*_: object) -> None:
        await anyio.sleep_forever()

    def hangs_in_thread(*_: object) -> None:
        end.wait()

    with fresh_runtime(callback_timeout=0.05) as runtime:
        chosen = hangs_in_thread if in_thread else hangs
        await runtime.register_init_callback(MODEL, chosen, in_thread=in_thread)
        with pytest.raises(CallbackError, match=r"hangs.*0\.05 s") as caught:
            await runtime.init()

        end.set()
        assert caught.value.code == 500001
        assert runtime.statistics().ref_count == 0


async def test_timeout_raised_by_a_callback_itself_is_its_own(runtime: Runtime) -> None:
    """It is not taken for the bound."""

    async def times_out(*_: object) -> None:
        raise TimeoutError("my own")

    await runtime.register_init_callback(MODEL, times_out)
    with pytest.raises(CallbackError, match="my own"):
        await runtime.init()


# Contexts


@pytest.mark.parametrize("is_async", [False, True])
async def test_context_spans_init_to_finalize(runtime: Runtime, is_async: bool) -> None:
    """Entered with the text, exited at the step of its type."""
    events: list[object] = []

    @asynccontextmanager
    async def entered_async(text: str, length: int, user_data: object):
        events.append((text, length, user_data))
        yield
        await anyio.lowlevel.checkpoint()
        events.append("exit")

    @contextmanager
    def entered(text: str, length: int, user_data: object):
        events.append((text, length, user_data))
        yield
        events.append("exit")

    await runtime.register_context(MODEL, entered_async if is_async else entered, "mine")
    async with acl_session(b"{}"):
        assert events == [("{}", 2, "mine")]

    assert events == [("{}", 2, "mine"), "exit"]


@pytest.mark.parametrize("failing", ["init.DVPP", "init.OTHER"])
async def test_contexts_are_exited_in_reverse_if_a_later_step_fails(failing: str) -> None:
    """Those that were entered, and only those."""
    plan = FaultPlan().fail(failing, AclError(507899, "x", "y"))
    events: list[str] = []

    def named(name: str):
        @asynccontextmanager
        async def context(*_: object):
            events.append(f"+{name}")
            yield
            events.append(f"-{name}")

        return context

    with fresh_runtime(backend=SpyBackend(plan)) as runtime:
        await runtime.register_context(MODEL, named("model"))
        await runtime.register_context(OTHER, named("other"))
        await runtime.register_context(CallbackType.DVPP, named("dvpp"))
        with pytest.raises(AclError):
            await runtime.init()

    expected = {
        "init.DVPP": ["+model", "-model"],
        "init.OTHER": ["+model", "+dvpp", "-dvpp", "-model"],
    }
    assert events == expected[failing]


async def test_contexts_of_one_pass_are_exited_in_reverse(runtime: Runtime) -> None:
    """A failing OTHER callback undoes the contexts entered before it in the same pass."""
    events: list[str] = []

    def named(name: str):
        @contextmanager
        def context(*_: object):
            events.append(f"+{name}")
            yield
            events.append(f"-{name}")

        return context

    await runtime.register_context(OTHER, named("a"))
    await runtime.register_context(OTHER, named("b"))
    await runtime.register_init_callback(OTHER, lambda *_: 7)
    with pytest.raises(CallbackError):
        await runtime.init()

    assert events == ["+a", "+b", "-b", "-a"]


async def test_context_that_no_finalize_step_notifies_is_exited_all_the_same(
    runtime: Runtime,
) -> None:
    """OP_EXECUTOR is notified at init only, and an unregistered one has no entry any more."""
    events: list[str] = []

    def named(name: str):
        @contextmanager
        def context(*_: object):
            yield
            events.append(name)

        return context

    gone = named("gone")
    await runtime.register_context(CallbackType.OP_EXECUTOR, named("executor"))
    await runtime.register_context(MODEL, gone)
    async with acl_session({}):
        await runtime.unregister_init_callback(MODEL, gone)
        await runtime.unregister_finalize_callback(MODEL, gone)

    assert events == ["executor", "gone"]


async def test_context_registered_while_up_is_entered_at_once(runtime: Runtime) -> None:
    """And exited by the finalize that follows."""
    events: list[str] = []

    @contextmanager
    def context(*_: object):
        events.append("+")
        yield
        events.append("-")

    async with acl_session():
        await runtime.register_context(MODEL, context)
        assert events == ["+"]

    assert events == ["+", "-"]


async def test_what_is_no_context_manager_is_refused(runtime: Runtime) -> None:
    """A factory without the decorator is a likely mistake."""

    async def forgot_the_decorator(*_: object):
        yield

    await runtime.register_context(MODEL, forgot_the_decorator)
    with pytest.raises(CallbackError, match="no context manager"):
        await runtime.init()


async def test_context_needs_both_slots(runtime: Runtime) -> None:
    """A type with a finalize callback has no room, and then nothing is registered."""
    await runtime.register_finalize_callback(MODEL, print)
    with pytest.raises(CallbackSlotTakenError):
        await runtime.register_context(MODEL, contextmanager(lambda *_: iter([1])))

    assert len(runtime.statistics().callbacks) == 1


@pytest.mark.parametrize("wrong", [None, 7, "print"])
async def test_callback_that_is_not_callable_is_refused(runtime: Runtime, wrong) -> None:
    """With 100000, by both faces of the library."""
    for register in (runtime.register_init_callback, runtime.register_finalize_callback):
        with pytest.raises(CallbackError) as caught:
            await register(MODEL, wrong)

        assert caught.value.code == 100000

    assert await acl.init_callback_register(MODEL, wrong) == 100000
    assert runtime.statistics().callbacks == ()


async def test_callback_type_that_is_no_number_is_refused(runtime: Runtime) -> None:
    """Unknown numbers are accepted and never notified; text is a mistake."""
    await runtime.register_init_callback(4711, print)
    with pytest.raises(TypeError, match="CallbackType"):
        await runtime.register_init_callback("MODEL", print)  # type: ignore[arg-type]  # tested


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_interrupt_from_a_callback_goes_on_after_the_sequence(interrupt) -> None:
    """Everything is undone or finalized first, and the gate is free."""
    ended: list[str] = []

    def interrupts(*_: object) -> None:
        raise interrupt

    with fresh_runtime() as runtime:

        async def in_init() -> None:
            await runtime.register_init_callback(MODEL, interrupts)
            await runtime.init()

        async def in_finalize() -> None:
            await runtime.unregister_init_callback(MODEL, interrupts)
            await runtime.register_finalize_callback(MODEL, interrupts)
            await runtime.register_finalize_callback(OTHER, lambda _: ended.append("other"))
            async with acl_session():
                pass

        async def again() -> None:
            await runtime.unregister_finalize_callback(MODEL, interrupts)
            async with acl_session():
                pass

        for main in (in_init, in_finalize):
            with pytest.raises(interrupt):
                anyio.run(main)

            assert runtime.statistics().ref_count == 0

        assert ended == ["other"]
        anyio.run(again)


def test_finalize_callback_that_awaits_a_cancelled_task_fails_alone() -> None:
    """Its cancellation is its own; the rest of the sequence runs."""
    ended: list[str] = []

    async def cancelled(_: object) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    async def main(runtime: Runtime) -> None:
        await runtime.register_finalize_callback(MODEL, cancelled)
        await runtime.register_finalize_callback(OTHER, lambda _: ended.append("other"))
        await runtime.init()
        with pytest.raises(FinalizeError, match="was cancelled"):
            await runtime.finalize()

        assert ended == ["other"]
        assert runtime.statistics().ref_count == 0

    with fresh_runtime() as runtime:
        asyncio.run(main(runtime))


async def test_finalize_waits_for_a_late_callback(runtime: Runtime) -> None:
    """A context that is being entered is exited by it, not forgotten."""
    events: list[str] = []
    entering, may_enter = anyio.Event(), anyio.Event()

    @asynccontextmanager
    async def slow(*_: object):
        entering.set()
        await may_enter.wait()
        events.append("entered")
        yield
        events.append("exited")

    await runtime.init()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.register_context, MODEL, slow)
        await entering.wait()
        tasks.start_soon(runtime.finalize)
        await anyio.wait_all_tasks_blocked()
        assert runtime.statistics().ref_count == 1
        may_enter.set()

    assert events == ["entered", "exited"]
    assert runtime.statistics().ref_count == 0
