"""Event loops every async test runs on, and what holds for all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from aclasync import Runtime
from aclasync.testing import fresh_runtime

settings.register_profile("ci", deadline=None, max_examples=200)
settings.load_profile("ci")


@pytest.fixture(
    params=[
        pytest.param(("asyncio", {}), id="asyncio"),
        pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
        pytest.param(("trio", {}), id="trio"),
    ]
)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return request.param


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Runtime]:
    """A fresh default runtime with two devices; its environment says where logs go, no more."""
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path / "log"))
    for name in ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "ACLASYNC_BACKEND", "ACLASYNC_DEVICES"):
        monkeypatch.delenv(name, raising=False)

    with fresh_runtime(devices=2) as fresh:
        yield fresh


@pytest.fixture(autouse=True)
def no_thread_left_behind() -> Iterator[None]:
    """Threads of ours end with what they served."""
    yield
    left = [t for t in threading.enumerate() if t.name.startswith("aclasync")]
    for thread in left:
        thread.join(5)

    assert not [t.name for t in left if t.is_alive()]
