"""Any bytes and any mapping give a resolution or a ConfigError, and nothing else."""

from __future__ import annotations

import json
import pickle

from hypothesis import example, given
from hypothesis import strategies as st

from aclasync.config import Resolution, resolve_config
from aclasync.config.located import locate
from aclasync.config.text import parse
from aclasync.errors import ConfigError
from aclasync.product import Product

from .checked import resolved
from .test_sources import MAPPING

VALID = json.dumps(MAPPING).encode()
PIECES = [
    *(piece.encode() for piece in ["{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "\\ud800"]),
    *(piece.encode() for piece in ["//", "/*", "#", "'", "\0", "1e999", "-", "01", "NaN", "true"]),
    *(
        piece.encode()
        for piece in ["\n", " ", '"dump"', '"dump_path"', '"./"', '"StackSize"', "温"]
    ),
    b"\xff",
    b"\xef\xbb\xbf",
]
PIECED = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
WORDS = st.sampled_from(["on", "off", "all", "", "1", "op", "./", "stats", "watcher", "Max"])
KEYS = st.sampled_from(
    [
        "dump",
        "profiler",
        "StackSize",
        "defaultDevice",
        "acl_graph",
        "err_msg_mode",
        "dump_path",
        "dump_list",
        "layer",
        "switch",
        "model_name",
        "watcher_nodes",
        "dump_scene",
        "dump_debug",
        "opname_range",
        "optype_blacklist",
        "event_mode",
        "aicore_stack_size",
        "default_device",
        "simt_printf_fifo_size",
        "dump_step",
        "dump_stats",
        "x",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=30,
)  # fmt: skip


def said(resolution: Resolution) -> str:
    """Put everything into words, which must not fail either."""
    text = "\n".join(map(str, resolution.findings))
    assert pickle.loads(pickle.dumps(resolution.findings)) == resolution.findings
    assert resolution.is_valid == (resolution.code == 0) == (not resolution.errors)
    assert resolution.effective.err_msg_mode.value in (0, 1)
    if resolution.is_valid:
        assert resolution.config is not None

    return text


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    raw = bytearray(VALID)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(raw)))
        cut = draw(st.integers(0, 5))
        raw[at : at + cut] = draw(st.sampled_from([b"", *PIECES]))

    return bytes(raw)


@given(st.binary(max_size=60) | PIECED | mutated())
@example(b'{"a":"\\udcff"}')
@example(b'{"a":"\\ud83d"}')
@example(b"\xff\xfe{")
@example(b"[" * 100)
def test_any_bytes_give_a_resolution(raw: bytes) -> None:
    """The same each time, and both readers agree about it."""
    resolution = resolved(raw)
    assert said(resolution) == said(resolved(raw))
    parsed = parse(raw)
    if parsed.content and not parsed.too_deep:
        located = locate(parsed.content)
        assert parsed.is_valid == (not located.faults)
        if parsed.is_valid:
            assert located.value == parsed.value


@given(st.dictionaries(KEYS, VALUES, max_size=8), st.sampled_from(Product))
def test_any_json_gives_a_resolution(config: dict[str, object], product: Product) -> None:
    """Whatever stands where."""
    said(resolved(config, product=product))


@given(st.dictionaries(st.text(max_size=3) | st.integers(), st.recursive(
    st.none() | st.floats() | st.binary() | st.text(max_size=3) | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=10,
), max_size=4))  # fmt: skip
def test_any_mapping_gives_a_resolution_or_a_config_error(mapping: dict[object, object]) -> None:
    """With the places of what JSON can't say."""
    try:
        resolution = resolve_config(mapping, env={}, product=Product.ATLAS_A2)
    except ConfigError as error:
        found = error.findings
    else:
        found = resolution.findings
        said(resolution)

    assert found


@given(st.dictionaries(
    st.sampled_from(["ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "ASCEND_RT_VISIBLE_DEVICES",
                     "ACLASYNC_DEVICES", "ASCEND_GLOBAL_LOG_LEVEL", "PROFILING_MODE"]),
    st.text(max_size=8),
))  # fmt: skip
def test_any_environment_gives_a_resolution(env: dict[str, str]) -> None:
    """A value that can't be used is a warning."""
    said(resolved({}, env=env))
