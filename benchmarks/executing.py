"""A model's run through a session's device, beside the bare engine; the digits model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import onnxruntime

from aclasync import acl_session
from aclasync.testing import fresh_runtime

from .measuring import Role, Row, Scale, Side, compare, timed

DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "digits.onnx"


async def rows(scale: Scale) -> AsyncIterator[Row]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    bare = onnxruntime.InferenceSession(DIGITS, options, providers=["CPUExecutionProvider"])
    with fresh_runtime():
        async with (
            acl_session() as session,
            session.open_device() as device,
            device.load_model(DIGITS) as model,
        ):
            for batch in (1, 32):
                images = {"image": np.random.default_rng(7).random((batch, 1, 8, 8), np.float32)}

                async def blocking(times: int, images: dict[str, np.ndarray] = images) -> None:
                    await device.run(lambda: [model.execute_blocking(images) for _ in range(times)])

                async def awaited(times: int, images: dict[str, np.ndarray] = images) -> None:
                    for _ in range(times):
                        await model.execute(images)

                async def engine(times: int, images: dict[str, np.ndarray] = images) -> None:
                    for _ in range(times):
                        bare.run(None, images)

                yield await compare(
                    f"model.execute_blocking, batch {batch}",
                    Side("on the device's thread", Role.OURS, timed(blocking, scale.times(500))),
                    Side("bare ONNX Runtime", Role.FLOOR, timed(engine, scale.times(500))),
                    scale=scale,
                )
                yield await compare(
                    f"await model.execute, batch {batch}",
                    Side("model.execute", Role.OURS, timed(awaited, scale.times(500))),
                    Side("bare ONNX Runtime", Role.FLOOR, timed(engine, scale.times(500))),
                    scale=scale,
                )
