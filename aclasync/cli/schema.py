"""`aclasync schema`: a JSON Schema of acl.json, for editors and other tools."""

from __future__ import annotations

from typing import Annotated

import typer

from aclasync import Product
from aclasync.config.json_schema import json_schema

from .output import ProductOption, print_json
from .words import LanguageOption, speaker


def schema(
    *,
    product: ProductOption = None,
    is_strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse what is only warned of, too: unknown keys first."),
    ] = False,
    chosen: LanguageOption = None,
) -> None:
    """Print a JSON Schema (2020-12) of acl.json for one product.

    What it refuses, ACL refuses. With --strict it also refuses what ACL ignores.
    """
    language = speaker(chosen).language
    print_json(json_schema(product or Product.ATLAS_A2, language, is_strict=is_strict))
