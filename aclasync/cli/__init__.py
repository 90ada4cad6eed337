"""The `aclasync` command; its parts are imported only when it runs."""

from __future__ import annotations

import io
import sys

_EXTRA = frozenset({"typer", "rich", "PIL"})


def main() -> None:
    """Run the command line; without its extra installed, say how to install it."""
    try:
        from .app import app  # noqa: PLC0415 - `import aclasync.cli` must work without the extra
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise

        sys.stderr.write(
            f'aclasync: the command line needs {package}: pip install "aclasync[cli]"\n'
        )
        sys.exit(2)

    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a block character or an umlaut is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

    app()
