"""Which backend is opened, and what is said of the others."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from aclasync.backends.choose import candidates, open_backend
from aclasync.errors import BackendUnavailableError
from aclasync.product import Product

ROOT = Path(__file__).parents[2]


@pytest.fixture
def choose(make_environment):
    opened = []

    def one(name, product=None, **variables):
        environment = make_environment(**variables)
        opened.append(open_backend(name, product=product, environment=environment))
        return opened[-1]

    yield one
    for backend in opened:
        backend.close()


@pytest.fixture
def cann_home(tmp_path):
    library = tmp_path / "cann" / "lib64" / "libascendcl.so"
    library.parent.mkdir(parents=True)
    library.touch()
    return library.parents[1]


def test_auto_falls_back_to_embedded_and_says_why(choose, caplog):
    """One line names the backend and what kept the native one away."""
    caplog.set_level(logging.INFO)
    assert choose("auto").name == "embedded"
    [record] = caplog.records
    assert (record.name, record.levelname) == ("aclasync.backends", "INFO")
    assert "ASCEND_HOME_PATH" in record.getMessage()


def test_embedded_is_an_a2_unless_told_otherwise(choose):
    """The default product is the one most people have."""
    assert choose("embedded").product is Product.ATLAS_A2
    assert choose("embedded", Product.ASCEND_950).product is Product.ASCEND_950


def test_explicit_name_never_falls_back(choose):
    """Who asks for cann gets cann or the reason why not."""
    with pytest.raises(BackendUnavailableError, match="'cann' \\(asked for\\)") as caught:
        choose("cann")

    [(name, why)] = caught.value.refusals
    assert name == "cann"
    assert "libascendcl.so" in why


def test_environment_decides_what_auto_is(choose, caplog):
    """ACLASYNC_BACKEND forces one, as strictly as a name in the program, which wins over it."""
    caplog.set_level(logging.INFO)
    assert choose("auto", ACLASYNC_BACKEND="embedded").name == "embedded"
    assert "named by ACLASYNC_BACKEND" in caplog.text
    with pytest.raises(BackendUnavailableError, match="named by ACLASYNC_BACKEND"):
        choose("auto", ACLASYNC_BACKEND="cann")

    assert choose("embedded", ACLASYNC_BACKEND="cann").name == "embedded"


def test_unknown_name_lists_the_known_ones(choose):
    """A misspelt backend is not taken for auto."""
    with pytest.raises(BackendUnavailableError, match=r"'gpu'.*auto, cann, embedded"):
        choose("gpu")


def test_installed_library_is_found_but_not_loaded(choose, cann_home):
    """Where CANN is installed, the refusal names the library and what this version lacks."""
    with pytest.raises(BackendUnavailableError) as caught:
        choose("cann", ASCEND_HOME_PATH=str(cann_home))

    [(_, why)] = caught.value.refusals
    assert str(cann_home / "lib64" / "libascendcl.so") in why
    assert "no native binding yet" in why


def test_link_stubs_are_no_library(make_environment, tmp_path):
    """What lies in `devlib` and `stub` folders is for linkers and fails every call."""
    for folder in ("devlib", "lib64/stub"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libacl_rt.so").touch()

    cann = candidates(make_environment(ASCEND_HOME_PATH=str(tmp_path)))[0]
    assert "found in" in cann.reason
    assert str(tmp_path / "lib64") in cann.reason
    assert cann.facts == ()


def test_candidates_name_the_packages_that_models_need(make_environment):
    """`doctor` can say what is installed, in which version."""
    cann, embedded = candidates(make_environment())
    assert (cann.name, cann.is_usable) == ("cann", False)
    assert (embedded.name, embedded.is_usable) == ("embedded", True)
    assert [name for name, _ in embedded.facts] == ["numpy", "onnx", "onnxruntime"]


def test_choosing_imports_nothing_heavy():
    """Opening the embedded device and looking at all candidates costs no numpy and no ctypes."""
    code = """
import sys
from aclasync.config import Environment
from aclasync.backends.choose import candidates, open_backend
environment = Environment()
candidates(environment)
open_backend("embedded", product=None, environment=environment).open_device(0).close()
heavy = {"ctypes", "numpy", "onnx", "onnxruntime", "anyio", "asyncio"}
print(sorted(heavy.intersection(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"
