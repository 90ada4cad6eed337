"""Init and finalize with callbacks: 1, 10 and 1000 of them, functions and coroutine functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pluggy

from aclasync import CallbackType, acl_session, load_config
from aclasync.testing import fresh_runtime

from .measuring import Role, Row, Scale, Side, compare, timed

hookspec = pluggy.HookspecMarker("benchmark")
hookimpl = pluggy.HookimplMarker("benchmark")


class Spec:
    @hookspec
    def opened(self, text: str, length: int, user_data: object) -> None: ...


class Plugin:
    @hookimpl
    def opened(self, text: str, length: int, user_data: object) -> None: ...


def plain(*_: object) -> None: ...


async def asynchronous(*_: object) -> None: ...


async def rows(scale: Scale) -> AsyncIterator[Row]:
    resolution = await load_config(b"{}")
    for count in (1, 10, 1000):
        for kind, function in (("sync", plain), ("async", asynchronous)):
            yield await _row(resolution, count, kind, function, scale)


async def _row(
    resolution: Any, count: int, kind: str, function: Callable[..., Any], scale: Scale
) -> Row:
    with fresh_runtime() as runtime:
        for _ in range(count):
            await runtime.register_init_callback(CallbackType.OTHER, function)
            await runtime.register_finalize_callback(CallbackType.OTHER, function)

        async def cycles(times: int) -> None:
            for _ in range(times):
                async with acl_session(resolution):
                    pass

        async def loops(times: int) -> None:
            for _ in range(times):
                for _callback in range(2 * count):
                    result = function("{}", 2, None)
                    if result is not None:
                        await result

        async def stacks(times: int) -> None:
            for _ in range(times):
                async with AsyncExitStack() as stack:
                    for _callback in range(count):
                        if kind == "async":
                            stack.push_async_callback(function)
                        else:
                            stack.callback(function)

        hooks = pluggy.PluginManager("benchmark")
        hooks.add_hookspecs(Spec)
        for _ in range(count):
            hooks.register(Plugin())

        async def pluggies(times: int) -> None:
            for _ in range(times):
                hooks.hook.opened(text="{}", length=2, user_data=None)
                hooks.hook.opened(text="{}", length=2, user_data=None)

        usual = max(1, 200 // count)
        sides = [
            Side("acl_session", Role.OURS, timed(cycles, scale.times(usual))),
            Side("a bare loop of awaits", Role.FLOOR, timed(loops, scale.times(usual))),
            Side("AsyncExitStack", Role.PEER, timed(stacks, scale.times(usual))),
        ]
        if kind == "sync":  # it has no other hooks
            sides.append(Side("pluggy", Role.PEER, timed(pluggies, scale.times(usual))))

        return await compare(
            f"init and finalize with {count} {kind} callbacks each", *sides, scale=scale
        )
