"""What is written for a purpose is what the rules accept."""

from __future__ import annotations

import pytest

from aclasync.config import resolve_config
from aclasync.config.recipes import KEYS_OF, Recipe, made_of
from aclasync.product import Product


@pytest.mark.parametrize("recipe", Recipe)
@pytest.mark.parametrize("product", [p for p in Product if p is not Product.IPV350])
def test_recipe_is_accepted_on_every_product(recipe, product):
    """IPV350 apart, which knows few of them."""
    resolution = resolve_config(made_of((recipe,), dump_path="/d"), env={}, product=product)
    assert resolution.is_valid


def test_folder_comes_first_and_device_and_errors_are_added():
    """A reader looks for the folder."""
    made = made_of(
        (Recipe.OVERFLOW_DUMP, Recipe.PROFILING), default_device=3, is_error_per_process=True
    )
    assert list(made["dump"]) == ["dump_path", "dump_mode", "dump_debug"]
    assert made["dump"]["dump_path"] == "./dump"
    assert made["defaultDevice"] == {"default_device": "3"}
    assert made["err_msg_mode"] == "1"
    assert made["profiler"]["switch"] == "on"


def test_recipes_are_not_changed_by_what_is_made_of_them():
    """Each configuration is its own."""
    made_of((Recipe.MODEL_DUMP,))["dump"]["dump_mode"] = "changed"
    assert KEYS_OF[Recipe.MODEL_DUMP]["dump"]["dump_mode"] == "all"
    assert made_of(()) == {}
