"""What one line of a device log looks like. Knows nothing of buffers, threads or files."""

from __future__ import annotations

import os
import sys
import time
from functools import lru_cache

#: The longest line in bytes, its newline included; a longer one is cut.
MAX_LINE_BYTES = 1024

_MODULE = "APP"
_PACKAGE = __name__.partition(".")[0]

# A line is a line: whatever would end it early, or hide in a terminal, is written as an escape.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_ESCAPES |= {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_ESCAPES |= {code: f"\\u{code:04x}" for code in (0x2028, 0x2029)}


def format_line(level: str, text: str, time_s: float, where: str) -> bytes:
    """Return the line, newline included, with every control character in `text` escaped."""
    text = f"[{where}]{text[:MAX_LINE_BYTES]}"  # a character is a byte or more
    if not text.isprintable():
        text = text.translate(_ESCAPES)

    second = int(time_s)
    millis, micros = divmod(int((time_s - second) * 1_000_000), 1000)
    line = (
        f"[{level}] {_MODULE}({os.getpid()},{_PROGRAM}):{_second_text(second)}"
        f".{millis:03}.{micros:03} {text}"
    )
    raw = line.encode("utf-8", "backslashreplace")
    if len(raw) >= MAX_LINE_BYTES:
        raw = raw[: MAX_LINE_BYTES - 1].decode("utf-8", "ignore").encode()

    return raw + b"\n"


@lru_cache(maxsize=1)
def _second_text(second: int) -> str:
    """Return local time, as the reference writes it; most lines share their second."""
    return time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime(second))


def caller() -> str:
    """Return `file:line` of the nearest frame outside this package."""
    frame = sys._getframe(1)  # noqa: SLF001 (logging does the same; inspect is 100 times slower)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back

    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"  # noqa: PTH119 (cheap)


def _program() -> str:
    """Return the name of the running program, fit for a line."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""  # noqa: PTH119
    return name.translate(_ESCAPES)[:64] or "python"


_PROGRAM = _program()
