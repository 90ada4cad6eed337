"""Which kind of dump a configuration asks for."""

from __future__ import annotations

import pytest

from aclasync import Product
from aclasync.config import resolve_config

MODEL = [{"model_name": "digits"}]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"dump_list": MODEL}, (True, False)),
        ({"dump_op_switch": "on"}, (True, False)),
        ({"dump_debug": "on"}, (True, False)),
        ({"dump_scene": "aic_err_norm_dump"}, (False, True)),
        ({"dump_scene": "lite_exception", "dump_list": MODEL}, (False, True)),
    ],
)
def test_data_or_exception(keys: dict[str, object], expected: tuple[bool, bool]) -> None:
    """An exception dump waits for a failure, whatever is listed beside it."""
    section = {"dump_path": "/d", **keys}
    resolution = resolve_config({"dump": section}, env={}, product=Product.ATLAS_A2)
    settings = resolution.effective.dump.value
    assert settings is not None
    assert (settings.is_data_dump, settings.is_exception) == expected
