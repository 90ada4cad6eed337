"""How values show themselves at a prompt and in a notebook: what is set, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from .findings import Finding
    from .settings import Effective


class Brief:
    """Shows the fields that are not at their defaults; `rich` and IPython's `rich` lay them out."""

    __slots__ = ()

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({said})"

    def __rich_repr__(self) -> Iterator[tuple[str, Any]]:
        for attribute in attrs.fields(type(self)):  # type: ignore[arg-type]  # every subclass is one
            value = getattr(self, attribute.name)
            default = attribute.default
            if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
                default = default.factory()

            if attribute.repr and value != default:
                yield attribute.name, value


def findings_html(title: str, findings: Iterable[Finding]) -> str:
    """Return a table of findings for a notebook."""
    from html import escape  # noqa: PLC0415  # only notebooks need it

    rows = [
        (f.severity.value, f.code, str(f.where), f.path, f.message, f.hint)
        for f in findings
        if f.code != "I001"
    ]
    return f"<b>{escape(title)}</b>{_table(rows)}" if rows else f"<b>{escape(title)}</b>"


def effective_html(effective: Effective) -> str:
    """Return a table of the values in force for a notebook."""
    return _table((n, str(s.value), s.origin.value, s.name) for n, s in effective)


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    from html import escape  # noqa: PLC0415

    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
