"""The recent error text: whose it is, and that reading clears it."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import pytest

from aclasync import AclError, CallbackType, Runtime, acl, acl_session, get_recent_err_msg


async def fail() -> None:
    assert await acl.finalize_reference() == (100037, 0)


async def test_text_names_the_call_and_the_number_and_is_cleared(runtime: Runtime) -> None:
    """None when there is nothing."""
    assert await get_recent_err_msg() is None
    await fail()
    text = await acl.get_recent_err_msg()
    assert text is not None
    assert "aclFinalizeReference" in text
    assert "100037" in text
    assert await get_recent_err_msg() is None


async def test_newest_text_comes_first_and_an_identical_one_is_dropped(runtime: Runtime) -> None:
    """As in the reference."""
    await fail()
    await fail()
    assert await acl.init_callback_register(CallbackType.MODEL, None) == 100000
    text = await get_recent_err_msg()
    assert text is not None
    newest, oldest = text.splitlines()
    assert "aclInitCallbackRegister" in newest
    assert "aclFinalizeReference" in oldest


async def test_per_thread_text_belongs_to_its_task(runtime: Runtime) -> None:
    """Neither a child task nor a neighbour sees it, and theirs is not lost."""
    seen: list[str | None] = []

    async def look() -> None:
        seen.append(await get_recent_err_msg())

    await fail()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)

    assert seen == [None]
    assert await get_recent_err_msg() is not None


async def test_per_process_text_is_everybody_s(runtime: Runtime) -> None:
    """With err_msg_mode "1"; each text says from which thread it is."""
    async with acl_session({"err_msg_mode": "1"}):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(acl.init_callback_unregister, CallbackType.MODEL, print)

        text = await get_recent_err_msg()
        assert text is not None
        assert f"[thread {threading.get_native_id()}]" in text


async def test_runtime_errors_are_recorded_too(runtime: Runtime, tmp_path: Path) -> None:
    """Not only what the façade answers with a number."""
    with pytest.raises(AclError):
        await runtime.init(tmp_path / "missing.json")

    text = await get_recent_err_msg()
    assert text is not None
    assert "missing.json" in text


def test_texts_of_two_threads_stay_apart(runtime: Runtime) -> None:
    """Each has its own loop here."""
    seen: list[str | None] = []

    def other() -> None:
        seen.append(anyio.run(get_recent_err_msg))

    async def main() -> None:
        await fail()
        await anyio.to_thread.run_sync(other)
        assert await get_recent_err_msg() is not None

    anyio.run(main)
    assert seen == [None]


async def test_every_edge_records(runtime: Runtime, tmp_path: Path) -> None:
    """Devices, models, registration and leaving; once each."""
    calls = {
        "no such device": lambda: session.open_device(7)._open_it(),
        "can't read the model": lambda: device.load_model(tmp_path / "x.onnx")._open_it(),
        "must be a function": lambda: runtime.register_init_callback(0, None),
        "is not registered": lambda: runtime.unregister_finalize_callback(0, print),
        "returned 7": lambda: runtime.register_init_callback(CallbackType.RETR, lambda *_: 7),
    }
    async with acl_session() as session, session.open_device() as device:
        for call in calls.values():
            with pytest.raises(AclError) as caught:
                await call()

            assert await get_recent_err_msg() == str(caught.value)

    await runtime.register_finalize_callback(0, lambda _: 8)
    with pytest.raises(AclError):
        async with acl_session():
            pass

    assert "returned 8" in str(await get_recent_err_msg())
