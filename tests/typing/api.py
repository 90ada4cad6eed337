"""What type checkers infer of the public interface; checked, not run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np

from aclasync import (
    AclCode,
    AclConfig,
    AclError,
    AclSession,
    ConfigError,
    Device,
    Finding,
    FlushReport,
    InitOutcome,
    Model,
    Resolution,
    Runtime,
    RuntimeStatistics,
    acl,
    acl_session,
    default_runtime,
    load_config,
    run,
)


def repeated(text: str, times: int) -> str:
    return text * times


async def sessions(array: np.ndarray[Any, np.dtype[Any]]) -> int:
    async with acl_session(Path("acl.json")) as session:
        assert_type(session, AclSession)
        assert_type(session.flush_report, FlushReport | None)
        async with session.open_device() as device:
            assert_type(device, Device)
            assert_type(await device.run(repeated, "a", 2), str)
            async with device.load_model("model.onnx") as model:
                assert_type(model, Model)
                outputs = await model.execute({"image": array})
                assert_type(outputs, dict[str, np.ndarray[Any, np.dtype[Any]]])

        opened = await session.open_device(1)
        assert_type(opened, Device)
        await opened.run(repeated, 2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a wrong call is seen

    return 0


async def runtimes(mapping: Mapping[str, object]) -> None:
    runtime = default_runtime()
    assert_type(runtime, Runtime)
    assert_type(await runtime.init(mapping), InitOutcome)
    assert_type(await runtime.init(AclConfig(err_msg_mode="1")), InitOutcome)
    assert_type(await runtime.finalize_reference(), int)
    assert_type(await runtime.finalize(), FlushReport)
    assert_type(runtime.statistics(), RuntimeStatistics)
    assert_type(await acl.finalize_reference(), tuple[int, int])
    assert_type(await load_config("acl.json"), Resolution)


def errors() -> None:
    try:
        run(sessions, np.zeros(1))
    except ConfigError as error:
        assert_type(error.findings, tuple[Finding, ...])
    except AclError as error:
        assert_type(error.code, AclCode)


assert_type(run(sessions, np.zeros(1)), int)
