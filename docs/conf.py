"""How the documentation is built: `make docs`; first `generate` makes the pages that are data."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import generate  # beside this file

from aclasync import __version__

project = "aclasync"
copyright = "the aclasync authors; Apache-2.0"  # noqa: A001  # the name Sphinx asks for
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "generated/benchmarks.md", "generated/serving.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"aclasync {release}"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_custom_sections = [("Cancellation", "Notes")]

nitpicky = True

# What other libraries document, type variables, and types that stay inside of the library.
nitpick_ignore_regex = [
    (r"py:class", r"(collections\.abc|contextlib|pathlib|os|np)\..*"),
    (r"py:class", r"aclasync\.serving\.[a-z]+\..*"),
    (r"py:class", r"(aclasync\..*\.)?(T|C|Args)"),
    (r"py:class", r"ConfigSource|BackendName|MismatchName|InitRequest"),
    (r"py:class", r"aclasync\.backends\.base\.(Backend|DeviceHandle|ModelHandle|LogTally)"),
    (r"py:class", r"aclasync\.backends\.base\.OpCacheCounts"),
    (r"py:class", r"aclasync\.config\.(dump_path|source|steps|text|located|environment)\..*"),
    (r"py:class", r"aclasync\.config\.(findings\.Draft|schema\..*Section|settings\..*Settings)"),
    (r"py:class", r"aclasync\.product\.LifecycleRules"),
    (r"py:class", r"aclasync\.runtime\.((core|hop|errtext)\..*|device\.KernelFunction)"),
    (r"py:class", r"aclasync\.lifecycle\.callbacks\.Callback"),
]

generate.write_all(HERE / "generated")
