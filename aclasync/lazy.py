"""Names of a package that are loaded when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def loader(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package`; `homes` maps its modules to the names they hold."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")

        module = import_module(f".{home}", package)
        # A module may be one of the names itself.
        value: object = module if home == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
