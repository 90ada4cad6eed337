"""Resolve a configuration and say in few words what was found."""

from __future__ import annotations

import json
from typing import Any

from aclasync.config import ConfigText, Resolution, Severity, resolve_config
from aclasync.product import Product

A2 = Product.ATLAS_A2


def resolved(config: Any, product: Product = A2, env: dict[str, str] | None = None) -> Resolution:
    """Resolve bytes as a file, anything else as its JSON in a file."""
    raw = config if isinstance(config, bytes) else json.dumps(config).encode()
    text = ConfigText("acl.json", raw, is_given=True, is_file=True)
    return resolve_config(text, env=env or {}, product=product)


def found(resolution: Resolution, severity: Severity = Severity.ERROR) -> list[tuple[str, str]]:
    """Return code and path of every finding of a severity."""
    is_error = severity is Severity.ERROR
    findings = resolution.errors if is_error else resolution.findings  # in the order of the checks
    return [(f.code, f.path) for f in findings if f.severity is severity]


def errors(config: Any, **options: Any) -> list[tuple[str, str]]:
    return found(resolved(config, **options))


def warnings(config: Any, **options: Any) -> list[tuple[str, str]]:
    return found(resolved(config, **options), Severity.WARNING)
