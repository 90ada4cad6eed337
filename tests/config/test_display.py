"""What a prompt and a notebook show: what is set, escaped, and no page of defaults."""

from __future__ import annotations

import anyio
from rich.pretty import pretty_repr

from aclasync import AclConfig, Product, acl_session, default_runtime, resolve_config
from aclasync.config import DumpItem, DumpSection, Environment, StackSizeSection
from aclasync.testing import fresh_runtime


def test_configuration_shows_what_is_set_and_can_be_typed_again() -> None:
    """Its repr makes an equal one."""
    config = AclConfig(
        err_msg_mode="1",
        dump=DumpSection(dump_path="/d", dump_list=(DumpItem(layer=("a",)),)),
        stack_size=StackSizeSection(aicore_stack_size=65536),
    )
    assert repr(AclConfig()) == "AclConfig()"
    assert repr(config).startswith("AclConfig(dump=DumpSection(dump_path='/d', dump_list=(Dump")
    names = {c.__name__: c for c in (AclConfig, DumpItem, DumpSection, StackSizeSection)}
    assert eval(repr(config), names) == config
    assert "None" not in pretty_repr(config)


def test_resolution_shows_its_verdict() -> None:
    """Not the whole of its text and environment."""
    resolution = resolve_config({"err_msg_mode": 1, "x": 1}, env={}, product=Product.ATLAS_A2)
    assert repr(resolution) == "<Resolution of <mapping> for ATLAS_A2: 1 error, 1 warning>"
    assert repr(Environment()) == "Environment()"


def test_notebook_shows_tables_without_markup_of_the_file() -> None:
    """A key is no script."""
    resolution = resolve_config(
        {"<script>": 1, "StackSize": {"aicore_stack_size": 65536}}, env={}, product=Product.ATLAS_A2
    )
    page = resolution._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert page.count("<tr>") == len([f for f in resolution.findings if f.code != "I001"])
    values = resolution.effective._repr_html_()
    assert "<td>aicore_stack_bytes</td><td>65536</td><td>configuration</td>" in values


def test_effective_values_are_laid_out_without_the_defaults() -> None:
    """By rich, and by IPython with its rich extension."""
    resolution = resolve_config({"err_msg_mode": "1"}, env={}, product=Product.ATLAS_A2)
    shown = pretty_repr(resolution.effective)
    assert "err_msg_mode" in shown
    assert "simt" not in shown


def test_session_and_statistics_are_laid_out_in_every_state() -> None:
    """Before, inside and after the block."""

    async def main() -> None:
        session = acl_session({"err_msg_mode": "1"})
        assert "AclSession()" in pretty_repr(session)
        async with session as acl:
            shown = pretty_repr(acl, max_width=40)
            assert "ref_count=1" in shown
            assert "backend_name='embedded'" in shown
            statistics = repr(default_runtime().statistics())
            assert "config=AclConfig(err_msg_mode='1')" in statistics

        assert "DRAINED" in pretty_repr(acl)

    with fresh_runtime():
        anyio.run(main)
