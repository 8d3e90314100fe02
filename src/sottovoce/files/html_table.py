"""A table for notebooks, in plain HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(
    rows: Iterable[Sequence[object]], header: Sequence[object] | None = None, caption: str | None = None
) -> str:
    """A ``<table>``: numbers to the right, in six digits, and the rest to the left; every cell is escaped.

    >>> print(html_table([("Ada", 1 / 3)], header=("node", "x")))
    <table>
    <thead><tr><th style="text-align:left">node</th><th style="text-align:right">x</th></tr></thead>
    <tbody>
    <tr><td style="text-align:left">Ada</td><td style="text-align:right">0.333333</td></tr>
    </tbody>
    </table>
    """
    body, lines = [list(row) for row in rows], ["<table>"]
    if caption is not None:
        lines.append(f'<caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>')
    if header is not None:
        below = body[0] if body else [""] * len(header)
        cells = "".join(_cell("th", name, _side(value)) for name, value in zip(header, below, strict=True))
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    lines += [f"<tr>{''.join(_cell('td', value, _side(value)) for value in row)}</tr>" for row in body]
    return "\n".join([*lines, "</tbody>", "</table>"])


def _side(value: object) -> str:
    return "left" if isinstance(value, (str, bool)) or value is None else "right"


def _cell(tag: str, value: object, side: str) -> str:
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'
