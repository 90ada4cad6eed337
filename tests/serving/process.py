"""`aclasync serve` in a process of its own, as users start it."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]


class Server:
    """One serving process; ended at the latest when the block is left."""

    def __init__(self, models: Path, folder: Path, *arguments: object) -> None:
        environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("ASCEND_", "ACLASYNC_"))
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "aclasync", "serve", "--models", str(models), "--port", "0",
             *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            env=environment | {
                "ASCEND_PROCESS_LOG_PATH": str(folder / "log"), "PYTHONPATH": str(ROOT),
            },
        )  # fmt: skip
        self.lines: list[str] = []
        self._said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self.process.stdout, self.process.stderr)
        ]
        for reader in self._readers:
            reader.start()

        self.url = ""

    def _read(self, stream) -> None:
        for line in stream:
            self.lines.append(line)
            self._said.put(line)

        self._said.put(None)

    def __enter__(self) -> Self:
        line = self.wait_for("serving on ")
        self.url = line.split("serving on ")[1].strip()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()

        self.process.wait(20)
        for reader in self._readers:
            reader.join(10)

        self.process.stdout.close()
        self.process.stderr.close()

    @property
    def address(self) -> str:
        """Host and port."""
        return self.url.removeprefix("http://")

    def wait_for(self, text: str) -> str:
        """Return the next line that holds a text."""
        ends = 0
        while ends < 2:
            line = self._said.get(timeout=40)
            ends += line is None
            if line is not None and text in line:
                return line

        raise AssertionError(f"it ended without {text!r}: {''.join(self.lines)}")

    def end(self, number: int = signal.SIGTERM, *, timeout: float = 30) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout)
