"""A minute at four fifths of what the server can do: no error, no wrong answer, no growth."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path

import pytest

from .models import write_repository
from .process import Server
from .wire import infer

CONNECTIONS = 16
SOAK_S = 70
WARM_S = 15


def resident_kib(server: Server) -> int:
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1])


async def ask(address: str, number: int, until: float, gap: float) -> int:
    """Ask again and again, `gap` seconds from one request to the next; return how often."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    count = 0
    due = time.monotonic()
    while (now := time.monotonic()) < until:
        if due > now:
            await asyncio.sleep(due - now)

        due = max(due + gap, now - 1)
        value = float(number * 1000 + count % 997)
        writer.write(infer("scale", "x", "FP32", [value, 1]))
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        body = json.loads(await reader.readexactly(length))
        assert body["outputs"][0]["data"] == [20 * value, 20]
        count += 1

    writer.close()
    await writer.wait_closed()
    return count


async def load(address: str, seconds: float, rate: float) -> float:
    """Return requests a second; every answer is compared."""
    until = time.monotonic() + seconds
    gap = CONNECTIONS / rate
    counts = await asyncio.gather(*(ask(address, n, until, gap) for n in range(CONNECTIONS)))
    return sum(counts) / seconds


@pytest.mark.soak
@pytest.mark.timeout(200)
def test_a_minute_at_four_fifths_of_capacity(tmp_path: Path) -> None:
    """Memory is flat once it is warm."""
    models = write_repository(tmp_path / "models")
    with Server(models, tmp_path, "--no-access-log") as server:
        capacity = asyncio.run(load(server.address, 5, 1e9))
        asyncio.run(load(server.address, WARM_S, 0.8 * capacity))
        before = resident_kib(server)
        reached = asyncio.run(load(server.address, SOAK_S, 0.8 * capacity))
        after = resident_kib(server)
        said = f"capacity {capacity:.0f}/s, soaked at {reached:.0f}/s, {before} to {after} KiB"
        print(said)  # noqa: T201  # for -s
        assert server.end() == 143

    assert after < before * 1.05
    assert "Traceback" not in "".join(server.lines)
