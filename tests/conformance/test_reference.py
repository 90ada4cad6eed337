"""The façade answers what the reference was recorded to answer, number for number.

`cases/*.jsonl` hold one recording a line. A config case was recorded by registering a callback of
every type, twice for OTHER, writing the text to `acl.json` in an empty working folder, and calling
init and finalize. A sequence case is a list of calls with what each returned, the count after it,
and the callbacks it made. A field case is a file that somebody published, with init's answer.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import aclasync
from aclasync import CallbackType, Product, acl
from aclasync.testing import fresh_runtime

Case = dict[str, Any]

CASES = Path(__file__).parent / "cases"
ALL_TYPES = [*((kind.name, kind) for kind in CallbackType), ("OTHER2", CallbackType.OTHER)]


def recorded(name: str) -> list[Any]:
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(json.loads(line), id=f"{name}:{i}") for i, line in enumerate(lines, 1)]


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "0")
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))  # profiling data goes there
    return None


def replay(player: Callable[[Case], Awaitable[Any]], case: Case, backend: str) -> Any:
    with fresh_runtime(product=Product.ATLAS_A2, devices=8):
        return anyio.run(player, case, backend=backend)


def write(text: str) -> str:
    Path("acl.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    return "acl.json"


def ref_count() -> int:
    return aclasync.default_runtime().statistics().ref_count


class Witness:
    """Functions that note their call and return what the recording's did."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._returns: dict[tuple[str, str], int] = {}
        self._functions: dict[tuple[str, str], Callable[..., Any]] = {}

    def function(
        self, kind: str, name: str | None, returns: int | None = None
    ) -> Callable[..., Any] | None:
        if name is None:
            return None

        key = (kind, name)
        if returns is not None:
            self._returns[key] = returns

        def on_init(config_text: str, length: int, user_data: object) -> int:
            self.calls.append(key)
            return self._returns.get(key, 0)

        async def on_finalize(user_data: object) -> int:
            await anyio.lowlevel.checkpoint()
            self.calls.append(key)
            return self._returns.get(key, 0)

        made = on_init if kind == "init" else on_finalize
        return self._functions.setdefault(key, made)

    def taken(self) -> list[tuple[str, str]]:
        calls, self.calls = self.calls, []
        return calls


async def play_config(case: Case) -> Case:
    witness = Witness()
    for name, callback_type in ALL_TYPES:
        await acl.init_callback_register(callback_type, witness.function("init", name))
        await acl.finalize_callback_register(callback_type, witness.function("finalize", name))

    code = await acl.init(write(case["config"]))
    answer = {
        "init": code,
        "callbacks": [f"{kind}:{name}" for kind, name in witness.taken()],
        "ref_count": ref_count(),
        "finalize": await acl.finalize(),
        "finalize_callbacks": [f"{kind}:{name}" for kind, name in witness.taken()],
    }
    return {key: value for key, value in answer.items() if key in case}


async def play_step(witness: Witness, op: list[Any]) -> Case:
    match op:
        case ["init", {"text": text}]:
            answer: Case = {"ret": await acl.init(write(text))}
        case ["init", path]:
            answer = {"ret": await acl.init(path)}
        case ["finalize"]:
            answer = {"ret": await acl.finalize()}
        case ["finalize_reference"]:
            code, count = await acl.finalize_reference()
            answer = {"ret": code, "out": count}
        case ["register", kind, type_name, name, *spec]:
            function = witness.function(kind, name, spec[0]["ret"] if spec else None)
            register = getattr(acl, f"{kind}_callback_register")
            answer = {"ret": await register(CallbackType[type_name], function, None)}
        case ["unregister", kind, type_name, name, *_]:
            unregister = getattr(acl, f"{kind}_callback_unregister")
            answer = {
                "ret": await unregister(CallbackType[type_name], witness.function(kind, name))
            }
        case ["refcount"]:
            answer = {}
        case _:
            raise AssertionError(op)

    calls = [list(call) for call in witness.taken()]
    return {"op": op, "ref_count": ref_count(), **answer, **({"callbacks": calls} if calls else {})}


async def play_sequence(case: Case) -> list[Case]:
    witness = Witness()
    return [await play_step(witness, step["op"]) for step in case["steps"]]


async def play_field(case: Case) -> int:
    return await acl.init(write(case["config"]))


@pytest.mark.parametrize("case", [*recorded("config"), *recorded("profiler")])
def test_config_is_answered_as_recorded(empty_folder: None, case: Case) -> None:
    """Init code, callbacks seen, count and finalize are those of the reference."""
    expected = {key: value for key, value in case.items() if key not in ("note", "config")}
    assert replay(play_config, case, "asyncio") == expected


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("case", recorded("sequence"))
def test_sequence_is_answered_as_recorded(empty_folder: None, case: Case, backend: str) -> None:
    """Every call of a sequence returns, counts and calls back as in the reference."""
    assert replay(play_sequence, case, backend) == case["steps"]


@pytest.mark.parametrize("case", recorded("people"))
def test_field_config_is_answered_as_recorded(empty_folder: None, case: Case) -> None:
    """A config file that somebody published gets the reference's number."""
    assert replay(play_field, case, "asyncio") == case["init"]
