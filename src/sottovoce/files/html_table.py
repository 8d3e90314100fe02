"""A table for notebooks, in plain HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(
    rows: Iterable[Sequence[object]], header: Sequence[object] | None = None, caption: str | None = None
) -> str:
    """A ``<table>``; numbers to the right, the rest to the left, and every cell escaped."""
    lines = ["<table>"]
    if caption is not None:
        lines.append(f'<caption style="text-align:left">{escape(caption)}</caption>')
    if header is not None:
        cells = "".join(f'<th style="text-align:left">{escape(str(name))}</th>' for name in header)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    lines += [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    return "\n".join([*lines, "</tbody>", "</table>"])


def _cell(value: object) -> str:
    side = "left" if isinstance(value, (str, bool)) or value is None else "right"
    return f'<td style="text-align:{side}">{escape("" if value is None else str(value))}</td>'
