"""Arguments of the wrong kind, sessions used in the wrong order: refused by name, nothing begun."""

from __future__ import annotations

import anyio
import pytest

import aclasync
from aclasync import (
    AclError,
    CallbackError,
    FinalizeError,
    NotInitializedError,
    Product,
    Runtime,
    acl,
    acl_session,
)
from aclasync.testing import FaultPlan, SpyBackend, fresh_runtime


@pytest.mark.parametrize("wrong", [7, 1.5, True, ["acl.json"], object()])
async def test_config_of_no_known_kind_is_a_type_error(runtime: Runtime, wrong) -> None:
    """It says what may be given."""
    with pytest.raises(TypeError, match=r"path|mapping"):
        await runtime.init(wrong)

    assert runtime.statistics().ref_count == 0


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), 10**400])
async def test_flush_timeout_that_is_no_time_is_refused(runtime: Runtime, timeout: float) -> None:
    """Before anything is opened."""
    with pytest.raises(ValueError, match="flush_timeout"):
        acl_session(flush_timeout=timeout)

    with pytest.raises(ValueError, match="flush_timeout"):
        await runtime.init(flush_timeout=timeout)


async def test_unknown_option_is_refused(runtime: Runtime) -> None:
    """No silent fallback to a default."""
    with pytest.raises(ValueError, match="explode"):
        acl_session(on_mismatch="explode")  # type: ignore[arg-type]  # what is tested

    with pytest.raises(ValueError, match="embedded"):
        await runtime.init(backend="npu")  # type: ignore[arg-type]  # what is tested

    assert runtime.statistics().ref_count == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"product": "A2"}, {"flush_timeout": "3"}, {"flush_timeout": True}, {"env": {"A": 5}},
        {"env": {5: "A"}}, {"env": "A=5"}, {"env": [("A", "5")]},
        {"on_mismatch": "warm"}, {"backend": "foo"}, {"flush_timeout": -1},
    ],
)  # fmt: skip
async def test_argument_of_another_kind_is_refused_by_name(runtime: Runtime, wrong) -> None:
    """By a session before it is entered, and by init before anything happens."""
    (name,) = wrong
    for call in (acl_session, runtime.init):
        with pytest.raises((TypeError, ValueError), match=name):
            await call(**wrong)

    assert runtime.statistics().phase is aclasync.Phase.DOWN


@pytest.mark.parametrize(
    "wrong",
    [
        {"product": "A2"}, {"callback_timeout": "3"}, {"callback_timeout": True},
        {"callback_timeout": -1}, {"callback_timeout": float("nan")},
        {"callback_timeout": 10**400},
    ],
)  # fmt: skip
def test_runtime_with_an_argument_of_another_kind_is_not_made(wrong) -> None:
    """Instead of failing in the middle of an init."""
    (name,) = wrong
    with pytest.raises((TypeError, ValueError), match=name):
        Runtime(**wrong)


async def test_session_that_was_not_entered_can_not_be_left(runtime: Runtime) -> None:
    """Instead of an AttributeError."""
    with pytest.raises(NotInitializedError, match="async with"):
        await acl_session().__aexit__(None, None, None)


async def test_session_entered_twice_at_once_takes_one_reference(runtime: Runtime) -> None:
    """The second one is refused before it has done anything."""
    plan = FaultPlan().park("init.MODEL")
    with fresh_runtime(backend=SpyBackend(plan)) as spied:
        session = acl_session({})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.__aenter__)
            await plan.wait_parked("init.MODEL")
            with pytest.raises(NotInitializedError, match="entered before"):
                await session.__aenter__()

            assert session.flush_report is None
            assert "not entered" in repr(session)
            plan.release("init.MODEL")

        assert spied.statistics().ref_count == 1
        await session.__aexit__(None, None, None)
        assert spied.statistics().ref_count == 0


async def test_session_whose_entry_failed_can_be_entered_again(runtime: Runtime) -> None:
    """Nothing has happened."""
    plan = FaultPlan().fail("init.MODEL", AclError(7, "x", "y"), times=1)
    with fresh_runtime(backend=SpyBackend(plan)):
        session = acl_session({})
        with pytest.raises(AclError, match="y"):
            await session.__aenter__()

        async with session:
            assert session.ref_count == 1


async def test_failed_init_for_another_product_leaves_its_rules_behind(runtime: Runtime) -> None:
    """The next init counts as the product that the runtime is for."""
    with pytest.raises(AclError):
        await runtime.init(b"{", product=Product.IPV350)

    await runtime.init({})
    assert (await runtime.init()).code == 100002
    assert await runtime.finalize_reference() == 1
    await runtime.finalize()


async def test_warnings_about_the_configuration_are_logged(runtime: Runtime, caplog) -> None:
    """A misspelt key does nothing, and whoever runs the program hears of it."""
    async with acl_session({"defaultDevise": {}}):
        (record,) = [r for r in caplog.records if r.name == "aclasync.config"]

    assert record.levelname == "WARNING"
    assert "$.defaultDevise" in record.getMessage()


def test_session_outside_its_block_says_so() -> None:
    """Instead of an AttributeError."""
    session = acl_session()
    assert session.flush_report is None
    for name in ("ref_count", "config", "product", "backend_name", "joined", "resolution"):
        with pytest.raises(NotInitializedError, match="async with"):
            getattr(session, name)


@pytest.mark.parametrize(
    ("given", "better"),
    [
        ("A2", "Product.ATLAS_A2"),
        ("ascend_950", "Product.ASCEND_950"),
        ("Ascend910B1", r"Product.from_soc_name\('Ascend910B1'\)"),
        ("toaster", "one such as Product.ATLAS_A2"),
        (7, "one such as Product.ATLAS_A2"),
    ],
)
async def test_product_as_text_is_refused_with_the_product_it_means(given, better: str) -> None:
    """Wherever a product is asked for."""
    with pytest.raises(TypeError, match=f"; write {better}$"):
        acl_session(product=given)

    with pytest.raises(TypeError, match=f"; write {better}$"):
        await aclasync.load_config(None, product=given)

    with pytest.raises(TypeError, match=f"; write {better}$"):
        aclasync.resolve_config({}, env={}, product=given)


def test_finalize_error_says_its_number_once() -> None:
    """Also when what failed first has one of its own."""
    error = FinalizeError("aclFinalize", [CallbackError(500001, "MODEL", "it broke")])
    assert str(error) == "aclFinalize: 1 of its steps failed: MODEL: it broke [FAILURE 500001]"
    other = FinalizeError("aclFinalize", [ValueError(), KeyError("x")])
    assert str(other) == "aclFinalize: 2 of its steps failed: ValueError() [FAILURE 500001]"


@pytest.mark.parametrize(
    ("name", "hint"), [("rt", "open_device"), ("mdl", "load_model"), ("set_device", "it has final")]
)
def test_name_of_pyacl_that_is_elsewhere_is_told(name: str, hint: str) -> None:
    """`acl.rt.set_device` and `acl.mdl.execute` are what people look for first."""
    with pytest.raises(AttributeError, match=hint):
        getattr(acl, name)

    assert not hasattr(acl, name)
    assert all(callable(getattr(acl, known)) for known in acl.__all__)
