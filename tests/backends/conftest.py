"""What every test of a backend needs: an environment of its own, and nothing left behind."""

from __future__ import annotations

import threading

import pytest

from aclasync.backends.embedded import EmbeddedBackend
from aclasync.config import resolve_config
from aclasync.product import Product


@pytest.fixture(autouse=True)
def no_log_thread_left():
    yield
    left = [thread for thread in threading.enumerate() if thread.name.startswith("aclasync-log-")]
    assert not left


@pytest.fixture
def log_root(tmp_path):
    return tmp_path / "ascend"


@pytest.fixture
def make_environment(log_root):
    """Build an environment as `os.environ` would, its device logs under `log_root`."""

    def make(**variables):
        env = {"ASCEND_PROCESS_LOG_PATH": str(log_root), **variables}
        return resolve_config(None, env=env, product=Product.ATLAS_A2).effective.environment

    return make


@pytest.fixture
def open_embedded(make_environment):
    """Open embedded backends and close them at the end."""
    opened = []

    def open_one(product=Product.ATLAS_A2, *, variables=None, **options):
        backend = EmbeddedBackend(product, make_environment(**variables or {}), **options)
        opened.append(backend)
        return backend

    yield open_one
    for backend in opened:
        for handle in backend.handles:
            handle.close()

        backend.close()


@pytest.fixture
def in_thread():
    """Run a function on a fresh, named thread and return what it returned or raise what it did."""

    def run(function, name="another"):
        outcome = []

        def body():
            try:
                outcome.append((function(), None))
            except BaseException as exc:
                outcome.append((None, exc))

        thread = threading.Thread(target=body, name=name)
        thread.start()
        thread.join()
        result, failure = outcome[0]
        if failure is not None:
            raise failure

        return result

    return run


@pytest.fixture
def resolve():
    """Resolve a mapping as a session would."""

    def run(source, product=Product.ATLAS_A2):
        return resolve_config(source, env={}, product=product)

    return run
