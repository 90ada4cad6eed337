"""A new default runtime for the time of a `with`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from attrs import evolve

from aclasync.backends.choose import open_backend
from aclasync.product import Product
from aclasync.runtime.runtime import Runtime, replace_default_runtime
from aclasync.runtime.values import BackendName

from .spy import SpyBackend, opener

if TYPE_CHECKING:
    from aclasync.backends.base import Backend
    from aclasync.config import Environment


@contextmanager
def fresh_runtime(
    *,
    backend: BackendName | SpyBackend = "embedded",
    product: Product = Product.ATLAS_A2,
    devices: int = 1,
    log_latency: float = 0.0,
    callback_timeout: float | None = None,
) -> Iterator[Runtime]:
    """Put a new default runtime in place and the old one back at the end.

    Args:
      backend: a backend's name, or a `SpyBackend`.
      product: the product of sessions that name none.
      devices: how many devices the embedded backend has.
      log_latency: seconds that each batch of device log lines takes to the host.
      callback_timeout: seconds that one lifecycle callback may take; None for no bound.

    Device logs and spools lie in a temporary folder, which is removed at the end, unless
    ASCEND_PROCESS_LOG_PATH or ASCEND_WORK_PATH says where. A runtime that is still open at the end
    is abandoned: its device is closed, nothing finalized.
    """
    with TemporaryDirectory(prefix="aclasync-log-") as log_folder:

        def open_inner(name: str, *, product: Product | None, environment: Environment) -> Backend:
            if not (environment.process_log_path or environment.work_path):
                environment = evolve(environment, process_log_path=log_folder)

            return open_backend(
                name,
                product=product,
                environment=environment,
                devices=devices,
                log_latency=log_latency,
            )

        name: BackendName = "embedded" if isinstance(backend, SpyBackend) else backend
        runtime = Runtime(
            backend=name,
            product=product,
            callback_timeout=callback_timeout,
            backend_opener=opener(backend, open_inner),
        )
        old = replace_default_runtime(runtime)
        try:
            yield runtime
        finally:
            replace_default_runtime(old)
            runtime.core.abandon()
