"""A model's run while profiling is on, beside the same one while it is off; the digits model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from tempfile import TemporaryDirectory

import numpy as np

from aclasync import acl_session
from aclasync.testing import fresh_runtime

from .executing import DIGITS
from .measuring import Role, Row, Scale, Side, compare, timed

#: The most that a run may cost while profiling is on.
LIMIT = 1.10


async def rows(scale: Scale) -> AsyncIterator[Row]:
    with TemporaryDirectory() as folder, fresh_runtime():
        config = {"profiler": {"switch": "on", "output": folder}}
        async with acl_session() as plain, plain.open_device() as off_device:
            with fresh_runtime():
                async with (
                    acl_session(config) as profiled,
                    profiled.open_device() as on_device,
                    off_device.load_model(DIGITS) as off,
                    on_device.load_model(DIGITS) as on,
                ):
                    for batch in (32, 1):
                        shape = (batch, 1, 8, 8)
                        images = {"image": np.random.default_rng(7).random(shape, np.float32)}

                        async def with_profiling(
                            times: int, images: dict[str, np.ndarray] = images
                        ) -> None:
                            for _ in range(times):
                                await on.execute(images)

                        async def without(
                            times: int, images: dict[str, np.ndarray] = images
                        ) -> None:
                            for _ in range(times):
                                await off.execute(images)

                        yield await compare(
                            f"await model.execute while profiling, batch {batch}",
                            Side(
                                "profiling on", Role.OURS, timed(with_profiling, scale.times(500))
                            ),
                            Side("off", Role.FLOOR, timed(without, scale.times(500)), limit=LIMIT),
                            scale=scale,
                        )
