"""OpenTelemetry: spans of requests where a program has set it up, nothing where it has not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .models import DIGITS

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from aclasync.serving import lifespan, make_app

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
app = make_app(lifespan({}, models={"digits": sys.argv[1]}))
tensor = {"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": [0.0] * 64}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

async def ask(model, state):
    body = json.dumps({"inputs": [tensor]}).encode()
    async def receive():
        return {"type": "http.request", "body": body}
    async def send(message):
        pass
    scope = {"type": "http", "method": "POST", "path": f"/v2/models/{model}/infer"}
    scope |= {"headers": [(b"traceparent", PARENT.encode())], "query_string": b""}
    await app(scope | {"state": dict(state)}, receive, send)

async def main():
    async with app.router.lifespan_context(app) as state:
        await ask("digits", state)
        await ask("none", state)

anyio.run(main)
print(json.dumps([
    [format(s.context.trace_id, "032x"), s.status.status_code.name, dict(s.attributes)]
    for s in spans.get_finished_spans()
]))
"""


def test_requests_are_spans_of_their_callers_traces(tmp_path: Path) -> None:
    """With the model's name and version; a refusal is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(DIGITS)],
        env={"ASCEND_PROCESS_LOG_PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    trace = "0af7651916cd43dd8448eb211c80319c"
    common = {"aclasync.model.name": "digits", "url.path": "/v2/models/digits/infer"}
    answered, refused = json.loads(done.stdout)
    assert answered == [trace, "UNSET", common | {"aclasync.model.version": "1"}]
    assert (refused[:2], refused[2]["aclasync.model.name"]) == ([trace, "ERROR"], "none")
