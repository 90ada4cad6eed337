"""`aclasync schema`: what editors read."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator


def test_schema_is_printed_for_a_product_and_in_a_language(cli_here):
    """One JSON object, valid by its own dialect."""
    said = json.loads(cli_here("schema", "--product", "950", "--lang", "zh").stdout)
    Draft202012Validator.check_schema(said)
    assert said["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert said["title"] == "acl.json (ASCEND_950)"
    assert "printf" in said["properties"]["simt_printf_fifo_size"]["description"]


def test_strict_schema_refuses_an_unknown_key(cli_here):
    """Which an editor then underlines; without --strict it is let pass, as ACL does."""
    for arguments, is_valid in ((["--strict"], False), ([], True)):
        schema = json.loads(cli_here("schema", *arguments).stdout)
        assert Draft202012Validator(schema).is_valid({"err_msg_mod": "1"}) is is_valid


def test_unknown_product_is_wrong_usage(cli_here):
    """With the products that there are."""
    done = cli_here("schema", "--product", "A9")
    assert done.returncode == 2
    assert "Ascend910B1" in done.stderr.replace("\n", " ")
