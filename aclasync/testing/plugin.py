"""pytest fixtures, loaded through an entry point; imports the library only when one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from aclasync.runtime.runtime import Runtime
    from aclasync.runtime.session import AclSession


@pytest.fixture
def acl_runtime() -> Iterator[Runtime]:
    """A fresh default runtime on the embedded device, gone after the test."""
    from aclasync.testing.fresh import fresh_runtime  # noqa: PLC0415  # see the docstring

    with fresh_runtime() as runtime:
        yield runtime


@pytest.fixture
def acl_session_factory(
    acl_runtime: Runtime,  # noqa: ARG001  # it is the default runtime now
) -> Callable[..., AclSession]:
    """Make sessions on a fresh runtime, as `acl_session` does on the default one."""
    from aclasync.runtime.session import acl_session  # noqa: PLC0415  # see the docstring

    def make(config: Any = None, **options: Any) -> AclSession:
        return acl_session(config, **options)

    return make
