"""`python -m benchmarks.serving`: rates and latencies of every side, as ratios of one run.

The sides take turns, a process each, on loopback; `wrk` asks from another process. Every side is
asked once first, and the answer compared with the model's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import onnxruntime
import typer
from attrs import asdict, frozen
from rich.console import Console
from rich.table import Table

from .perceptron import WIDTH, row, write_model

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
PORT = 8470
CONCURRENCIES = (1, 32)


@frozen(kw_only=True)
class Request:
    """What is posted, and where the answer's numbers are in what comes back."""

    path: str
    body: bytes
    headers: dict[str, str]
    read: Callable[[bytes, dict[str, str]], np.ndarray]


@frozen(kw_only=True)
class Side:
    """One server."""

    name: str
    command: Sequence[str]
    request: Request
    #: Whether it answers with the model.
    is_right: bool = True


@frozen(kw_only=True)
class Sample:
    """What one run of wrk saw: requests a second, and milliseconds."""

    rate: float
    p50: float
    p99: float


def _binary() -> Request:
    raw = row().tobytes()
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, WIDTH]}
    head = json.dumps(
        {
            "inputs": [tensor | {"parameters": {"binary_data_size": len(raw)}}],
            "parameters": {"binary_data_output": True},
        }
    ).encode()
    return Request(
        path="/v2/models/perceptron/infer",
        body=head + raw,
        headers={"Inference-Header-Content-Length": str(len(head))},
        read=lambda body, headers: np.frombuffer(
            body[int(headers["inference-header-content-length"]) :], np.float32
        ),
    )


def _json() -> Request:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, WIDTH], "data": row()[0].tolist()}
    return Request(
        path="/v2/models/perceptron/infer",
        body=json.dumps({"inputs": [tensor]}).encode(),
        headers={"Content-Type": "application/json"},
        read=lambda body, _: np.array(json.loads(body)["outputs"][0]["data"], np.float32),
    )


def _peer_json(values: object, read: Callable[[object], object]) -> Request:
    return Request(
        path="/predict",
        body=json.dumps({"x": values}).encode(),
        headers={"Content-Type": "application/json"},
        read=lambda body, _: np.array(read(json.loads(body)), np.float32),
    )


def _sides(models: Path, peers: Path | None) -> list[Side]:
    ours = [sys.executable, "-m", "benchmarks.serving.sides"]

    def side(name: str, kind: str, request: Request, *, is_right: bool = True) -> Side:
        command = [*ours, kind, str(models), str(PORT)]
        return Side(name=name, command=command, request=request, is_right=is_right)

    sides = [
        side("aclasync", "ours", _binary()),
        side("direct", "direct", _binary()),
        side("no model", "empty", _binary(), is_right=False),
        side("aclasync, JSON", "ours", _json()),
    ]
    if peers is None:
        return sides

    model = str(models / "perceptron" / "1" / "model.onnx")
    os.environ |= {"MODEL": model, "BENTOML_DO_NOT_TRACK": "1"}
    return [
        *sides,
        Side(
            name="LitServe",
            command=[str(peers / "bin" / "python"), str(HERE / "peer_litserve.py"), model,
                     str(PORT)],
            request=_peer_json(row()[0].tolist(), lambda answer: answer["y"]),
        ),
        Side(
            name="BentoML",
            command=[str(peers / "bin" / "bentoml"), "serve", "peer_bentoml:Perceptron",
                     "--port", str(PORT), "--host", "127.0.0.1"],
            request=_peer_json(row().tolist(), lambda answer: answer[0]),
        ),
    ]  # fmt: skip


def _ask(request: Request) -> np.ndarray:
    posted = urllib.request.Request(
        f"http://127.0.0.1:{PORT}{request.path}", request.body, request.headers
    )
    with urllib.request.urlopen(posted, timeout=5) as answer:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return request.read(answer.read(), headers)


def _wait_until_right(side: Side, expected: np.ndarray, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        try:
            answer = _ask(side.request)
        except OSError:
            assert process.poll() is None, f"{side.name} could not start"
            time.sleep(0.1)
        else:
            if side.is_right:
                np.testing.assert_allclose(answer, expected, rtol=1e-3, atol=1e-3)

            return

    raise RuntimeError(f"{side.name} does not answer")


def _wrk(side: Side, concurrency: int, seconds: int, folder: Path) -> Sample:
    body = folder / "body"
    body.write_bytes(side.request.body)
    headers = [f"{name}={value}" for name, value in side.request.headers.items()]
    said = subprocess.run(
        ["wrk", "-t1", f"-c{concurrency}", f"-d{seconds}s", "-s", HERE / "post.lua",
         f"http://127.0.0.1:{PORT}{side.request.path}", "--", body, *headers],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    rate, p50, p99, bad = said.split("RESULT ")[1].split()
    assert bad == "0", f"{side.name}: {bad} requests failed"
    return Sample(rate=float(rate), p50=float(p50), p99=float(p99))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server with all that it started: some leave their workers behind."""
    process.terminate()
    try:
        process.wait(20)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _measure(side: Side, expected: np.ndarray, seconds: int, folder: Path) -> dict[int, Sample]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            side.command,
            stdout=log,
            stderr=log,
            cwd=HERE,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": str(HERE.parents[1])},
        )
        try:
            _wait_until_right(side, expected, process)
            _wrk(side, 8, 1, folder)
            samples = {c: _wrk(side, c, seconds, folder) for c in CONCURRENCIES}
            _wait_until_right(side, expected, process)
        finally:
            _end(process)

    return samples


def main(
    *,
    peers: Annotated[Path | None, typer.Option(help="An environment made from peers.txt.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of every side.")] = 5,
    seconds: Annotated[int, typer.Option(min=1, max=30, help="Seconds of each run.")] = 4,
    save: Annotated[bool, typer.Option(help="Keep this run, and draw it.")] = False,
) -> None:
    """Measure what serving costs."""
    if shutil.which("wrk") is None:
        raise typer.BadParameter("the load comes from wrk: apt-get install wrk")

    with tempfile.TemporaryDirectory(prefix="aclasync-bench-") as name:
        folder = Path(name)
        os.environ["ASCEND_PROCESS_LOG_PATH"] = str(folder)
        path = folder / "models" / "perceptron" / "1" / "model.onnx"
        write_model(path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        expected = session.run(None, {"x": row()})[0][0]
        sides = _sides(folder / "models", peers)
        measured: dict[str, list[dict[int, Sample]]] = {side.name: [] for side in sides}
        for number in range(rounds):
            # Every other round backwards, so that no side always comes after the same one.
            for side in sides if number % 2 == 0 else sides[::-1]:
                measured[side.name].append(_measure(side, expected, seconds, folder))
                print(f"round {number + 1}: {side.name}", file=sys.stderr)

    _show(measured)
    if save:
        kept = {
            name: [{str(c): asdict(sample) for c, sample in one.items()} for one in samples]
            for name, samples in measured.items()
        }
        RESULTS.joinpath("serving.json").write_text(json.dumps(kept, indent=1) + "\n")
        _draw(measured)


def _median(samples: list[dict[int, Sample]], concurrency: int, what: str) -> float:
    return statistics.median(getattr(one[concurrency], what) for one in samples)


def _show(measured: dict[str, list[dict[int, Sample]]]) -> None:
    table = Table(title="medians of the rounds; ratio: aclasync's rate over that side's")
    for column in ("side", "1: rate", "p50 ms", "p99", "32: rate", "p50 ms", "p99", "ratio at 32"):
        table.add_column(column, justify="left" if column == "side" else "right")

    for name, samples in measured.items():
        ours = measured["aclasync, JSON" if name in ("LitServe", "BentoML") else "aclasync"]
        ratios = [a[32].rate / b[32].rate for a, b in zip(ours, samples, strict=True)]
        numbers = [
            f"{_median(samples, c, what):,.{0 if what == 'rate' else 2}f}"
            for c in CONCURRENCIES for what in ("rate", "p50", "p99")
        ]  # fmt: skip
        table.add_row(name, *numbers, f"{statistics.median(ratios):.2f}")

    Console(width=100).print(table)
    p50 = _median(measured["aclasync"], 1, "p50") / _median(measured["direct"], 1, "p50")
    print(f"p50 at concurrency 1: {p50:.2f} of the direct call's (promised: 1.3 at most)")


def _draw(measured: dict[str, list[dict[int, Sample]]]) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only here

    mpl.use("agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - after the choice of its backend

    names = list(measured)[::-1]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    left.barh(names, [_median(measured[name], 32, "rate") for name in names], color="#2a7de1")
    left.set_title("requests a second, 32 at once")
    for what, colour in (("p99", "#c62f2f"), ("p50", "#2a7de1")):
        right.barh(names, [_median(measured[n], 32, what) for n in names], color=colour, label=what)

    right.set_xscale("log")
    right.set_title("milliseconds to an answer")
    right.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(RESULTS / "serving.png", dpi=110)


if __name__ == "__main__":
    typer.run(main)
