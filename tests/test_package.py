"""The public face: every promised name is there, lazily, and for type checkers, too."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import aclasync

PROMISED = (
    "acl_session",
    "AclSession",
    "Runtime",
    "default_runtime",
    "acl",
    "CallbackType",
    "Product",
    "AclConfig",
    "Finding",
    "Resolution",
    "resolve_config",
    "AclCode",
    "AclError",
    "InitOutcome",
    "FlushReport",
    "FlushOutcome",
    "LogLevel",
    "Severity",
    "Location",
    "ConfigIgnoredWarning",
    "ConfigError",
    "ConfigMismatchError",
    "LifecycleError",
    "RepeatFinalizeError",
    "ReentrantLifecycleError",
    "ForkedRuntimeError",
    "NotInitializedError",
    "CallbackError",
    "CallbackSlotTakenError",
    "FinalizeError",
    "BackendError",
    "BackendUnavailableError",
    "DeviceError",
    "NoContextError",
    "InvalidDeviceError",
    "FeatureUnsupportedError",
    "get_recent_err_msg",
    "run",
    "load_config",
)


@pytest.mark.parametrize("name", PROMISED)
def test_promised_name_is_importable_from_the_root(name: str) -> None:
    """Whatever module it lives in."""
    assert getattr(aclasync, name) is not None
    assert name in dir(aclasync)


def test_names_for_type_checkers_are_those_at_run_time() -> None:
    """The two lists in the root file can't drift apart."""
    tree = ast.parse(Path(aclasync.__file__).read_text(encoding="utf-8"))
    imports = {
        (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    imports = {(module or name, name) for module, name in imports} - {("lazy", "loader")}
    homes = {(home, name) for home, names in aclasync._HOMES.items() for name in names}
    assert imports == homes


def test_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="acl_sesion"):
        aclasync.acl_sesion  # type: ignore[attr-defined]  # noqa: B018  # what is tested


def test_testing_names_are_there() -> None:
    """In their own package, without pytest."""
    testing = importlib.import_module("aclasync.testing")
    for name in testing.__all__:
        assert getattr(testing, name).__name__ == name


def test_package_is_typed() -> None:
    """The marker file is beside the code."""
    assert Path(aclasync.__file__).with_name("py.typed").exists()


def test_every_name_loads_without_the_extras() -> None:
    """The core needs anyio, attrs and cattrs and nothing else."""
    program = (
        "import sys\n"
        "for name in ('numpy', 'onnx', 'onnxruntime', 'typer', 'rich', 'pytest', 'ctypes'):\n"
        "    sys.modules[name] = None\n"
        "import aclasync\n"
        "for name in aclasync.__all__: getattr(aclasync, name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
