"""The arrows between the rooms: who may import whom, read from the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import aclasync

ROOT = Path(aclasync.__file__).parent

#: What the pure rooms may use of the standard library.
PURE = {
    "ast", "bisect", "codecs", "collections", "copy", "dataclasses", "decimal", "difflib", "enum",
    "functools", "html", "itertools", "json", "math", "operator", "pathlib", "re", "reprlib",
    "string", "struct", "textwrap", "types", "typing", "unicodedata", "__future__",
}  # fmt: skip

#: Room -> (rooms of ours, packages of others; None for anything but those in FORBIDDEN).
ALLOWED = {
    "codes": (set(), PURE),
    "product": (set(), PURE),
    "errors": ({"codes"}, PURE),
    "config": ({"codes", "errors", "product"}, PURE | {"attr", "attrs", "cattrs"}),
    "meanings": ({"codes", "config"}, PURE),
    "lifecycle": ({"codes", "errors", "product"}, PURE | {"attr", "attrs", "cattrs"}),
    "files": (set(), PURE | {"os"}),
    "dump": ({"codes", "errors", "config", "files", "lazy"}, None),
    "profiling": ({"codes", "errors", "config", "files"}, None),
    "backends": ({"codes", "errors", "product", "config", "files", "dump", "profiling"}, None),
    "runtime": ({"codes", "errors", "product", "config", "lifecycle", "backends"}, None),
    "acl": ({"codes", "errors", "lifecycle", "runtime"}, PURE | {"os"}),
}
FORBIDDEN = {
    "dump": {"anyio", "asyncio", "trio"},
    "profiling": {"anyio", "asyncio", "trio", "numpy", "onnx"},
    "backends": {"anyio", "asyncio", "trio"},
    "runtime": {"numpy", "onnx", "ctypes"},
}


def rooms_of(room: str) -> list[Path]:
    folder = ROOT / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [ROOT / f"{room}.py"]


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports_of(path: Path) -> set[str]:
    """Return absolute names of everything a file imports when it runs."""
    package = ("aclasync", *path.relative_to(ROOT).parent.parts)
    names: set[str] = set()

    def visit(node: ast.AST) -> None:
        if is_for_type_checkers(node):
            return

        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *((node.module or "").split("."))]).strip(".")
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)

        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return names


@pytest.mark.parametrize("room", ALLOWED)
def test_room_imports_only_what_it_may(room: str) -> None:
    """Decisions stay pure, the shell stays thin, and no arrow points back."""
    ours, others = ALLOWED[room]
    for path in rooms_of(room):
        for name in imports_of(path):
            top, _, rest = name.partition(".")
            if top == "aclasync":
                neighbour = rest.partition(".")[0]
                assert not rest or neighbour in ours | {room}, f"{path.name} imports {name}"
            else:
                assert others is None or top in others, f"{path.name} imports {name}"
                assert top not in FORBIDDEN.get(room, ()), f"{path.name} imports {name}"


def test_runtime_knows_no_concrete_backend() -> None:
    """It opens one through `choose` and speaks to the protocol."""
    for path in rooms_of("runtime"):
        for name in imports_of(path):
            assert not name.startswith(("aclasync.backends.embedded", "aclasync.backends.cann"))


def test_cli_uses_public_names() -> None:
    """It is a user of the library like any other."""
    allowed = (
        "aclasync.dump",
        "aclasync.profiling",
        "aclasync.config",
        "aclasync.backends.choose",
        "aclasync.cli",
        "aclasync.errors",
        "aclasync.meanings",
        "aclasync.serving",
    )
    for path in rooms_of("cli"):
        for name in imports_of(path):
            if name.startswith("aclasync."):
                is_root_name = name.removeprefix("aclasync.") in dir(aclasync)
                assert is_root_name or name.startswith(allowed), f"{path.name} imports {name}"


def test_serving_uses_public_names() -> None:
    """It is a user of the library too: nothing that it does is out of others' reach."""
    for path in rooms_of("serving"):
        for name in imports_of(path):
            if name.startswith("aclasync."):
                is_root_name = name.removeprefix("aclasync.") in dir(aclasync)
                assert is_root_name or name.startswith("aclasync.serving"), f"{path.name}: {name}"


def test_no_file_is_too_long_for_one_idea() -> None:
    """450 lines are the end of it."""
    for path in ROOT.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 450, path


def test_only_the_machine_decides_by_phase() -> None:
    """A comparison with a phase anywhere else is a decision in the wrong room."""
    for path in ROOT.rglob("*.py"):
        if path.parent.name == "lifecycle":
            continue

        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                assert "Phase" not in ast.dump(node), f"{path.name}:{node.lineno}"
