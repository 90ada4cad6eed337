"""A new default runtime for the time of a `with`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from aclasync.backends.choose import open_backend
from aclasync.product import Product
from aclasync.runtime.runtime import Runtime, replace_default_runtime
from aclasync.runtime.values import BackendName

from .spy import SpyBackend, opener


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

    A runtime that is still open at the end is abandoned: its device is closed, nothing finalized.
    """
    name: BackendName = "embedded" if isinstance(backend, SpyBackend) else backend
    runtime = Runtime(
        backend=name,
        product=product,
        callback_timeout=callback_timeout,
        backend_opener=opener(
            backend, partial(open_backend, devices=devices, log_latency=log_latency)
        ),
    )
    old = replace_default_runtime(runtime)
    try:
        yield runtime
    finally:
        replace_default_runtime(old)
        runtime.core.abandon()
