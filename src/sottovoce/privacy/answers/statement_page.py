"""A page for the file, as HTML or Markdown: text, tables and one picture, without anything from outside.

Names of parties and columns are the users': everything is escaped here, and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

import numpy as np

from ...costs.base import Array
from ...network import Network

NAMED = 40  # names at most; of a larger network the corrupt and the disclosed have them
WIDTH, HEIGHT, MARGIN = 400, 330, 40
STYLE = """
@page { size: A4; margin: 12mm }
body { font: 10pt/1.35 system-ui, sans-serif; color: #222; max-width: 48em; margin: 1.2em auto; padding: 0 1em }
h1 { font-size: 15pt; margin: 0 } h2 { font-size: 11pt; margin: 1em 0 .2em } p { margin: .25em 0 }
ul { margin: .25em 0; padding-left: 1.3em } table { border-collapse: collapse; margin: .4em 0; font-size: 9pt }
th, td { text-align: right; padding: .1em .9em .1em 0; border-bottom: 1px solid #ddd; vertical-align: top }
th { font-weight: 600; white-space: pre-line } td { white-space: nowrap }
th:first-child, td:first-child, table.facts td { text-align: left; white-space: normal; overflow-wrap: anywhere }
td:first-child { min-width: 7em }
.verdict { border-left: 6px solid; padding: .5em .8em; margin: .8em 0; font-weight: 600 }
.safe { border-color: #0072B2 } .weak { border-color: #E69F00 } .disclosed, .not-assessed { border-color: #E0102A }
.subject, .made { color: #555 } svg { max-width: 100%; height: auto }
section { break-inside: avoid } .pair { display: flex; gap: 1.5em } .pair > section { flex: 1 1 50% }
figure { flex: 1 1 50%; margin: 1em 0 0 }
@media print { body { font-size: 8pt; line-height: 1.25; margin: 0; max-width: none } h2 { margin-top: .6em }
  table { font-size: 7.5pt; margin: .2em 0 } }
"""
MARKS = {  # what a node can be: its fill, and its word
    "honest": ("#9ecae1", "honest"),
    "weak": ("#E69F00", "added: more than the bound"),
    "disclosed": ("#E0102A", "disclosed"),
    "corrupt": ("#222222", "corrupt"),
    "unknown": ("#ffffff", "not assessed"),
}


@dataclass(frozen=True)
class Table:
    """Rows under a header; without a header, facts in two columns."""

    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading, then sentences (a list where there are several), then a table."""

    heading: str
    sentences: tuple[str, ...] = ()
    table: Table | None = None


@dataclass(frozen=True)
class Page:
    """What there is to say, in order."""

    title: str
    subject: str
    verdict: str  # one word or two, also the class of its box
    headline: str
    sections: tuple[Section, ...]
    made: str  # by what, and when
    picture: str = ""  # SVG


# HTML


def to_html(page: Page) -> str:
    """One file that needs no other."""
    kind = page.verdict.replace(" ", "-")
    parts = [
        f"<h1>{escape(page.title)}</h1>",
        f'<p class="subject">{escape(page.subject)}</p>',
        f'<p class="verdict {escape(kind)}">{escape(page.headline)}</p>',
    ]
    for section in page.sections:
        inside = [f"<h2>{escape(section.heading)}</h2>", *_sentences(section.sentences)]
        if section.table is not None:
            inside.append(_table(section.table))
        parts.append("<section>\n" + "\n".join(inside) + "\n</section>")
    if page.picture:  # beside the last section
        parts[-1] = f'<div class="pair">\n{parts[-1]}\n<figure>\n{page.picture}\n</figure>\n</div>'
    parts.append(f'<p class="made">{escape(page.made)}</p>')
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}: {escape(page.subject)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _sentences(sentences: tuple[str, ...]) -> list[str]:
    if len(sentences) == 1:
        return [f"<p>{escape(sentences[0])}</p>"]
    return ["<ul>", *(f"<li>{escape(sentence)}</li>" for sentence in sentences), "</ul>"] if sentences else []


def _table(table: Table) -> str:
    lines = ["<table>" if table.header else '<table class="facts">']
    if table.header:
        lines.append("<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in table.header) + "</tr>")
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows]
    return "\n".join([*lines, "</table>"])


# Markdown


def to_markdown(page: Page) -> str:
    """The same without the picture."""
    lines = [f"# {_md(page.title)}", "", _md(page.subject), "", f"**{_md(page.headline)}**"]
    for section in page.sections:
        lines += ["", f"## {_md(section.heading)}", ""]
        bullet = "* " if len(section.sentences) > 1 else ""
        lines += [f"{bullet}{_md(sentence)}" for sentence in section.sentences]
        if section.table is not None:
            table, width = section.table, len(section.table.header or section.table.rows[0])
            lines += ["", _md_row(table.header or ("",) * width), "|" + "---|" * width, *map(_md_row, table.rows)]
    return "\n".join([*lines, "", _md(page.made), ""])


def _md_row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_md(cell) for cell in cells) + " |"


def _md(text: str) -> str:
    """As it is, whatever is in it: Markdown lets every punctuation mark be escaped, and HTML is not let in."""
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", escape(" ".join(text.split()), quote=False))


# The picture


def network_svg(network: Network, places: Array, marks: list[str], names: list[str]) -> str:
    """Who talks to whom: a circle a party, a square a corrupt one, coloured by ``MARKS``, with a legend."""
    low, span = places.min(axis=0), np.ptp(places, axis=0)
    scale = min((WIDTH - 2 * MARGIN) / max(span[0], 1e-9), (HEIGHT - 2 * MARGIN) / max(span[1], 1e-9))
    shift = (np.array([WIDTH, HEIGHT]) - scale * span) / 2
    xy = shift + scale * (places - low)
    xy[:, 1] = HEIGHT - xy[:, 1]
    r = 9.0 if network.n <= NAMED else max(1.5, 120 / np.sqrt(network.n) / 4)
    shapes = [
        f'<line x1="{xy[i, 0]:.1f}" y1="{xy[i, 1]:.1f}" x2="{xy[j, 0]:.1f}" y2="{xy[j, 1]:.1f}"/>'
        for i, j in network.edges.tolist()
    ]
    shapes = ['<g stroke="#9AA5AE" stroke-width="1.2">', *shapes, "</g>", '<g stroke="#222" stroke-width="0.8">']
    shapes += [_mark(x, y, r, mark) for (x, y), mark in zip(xy.tolist(), marks, strict=True)]
    shapes.append("</g>")
    first = [[i for i, mark in enumerate(marks) if mark == which] for which in ("corrupt", "disclosed")]
    named = range(network.n) if network.n <= NAMED else [*first[0], *first[1]][:NAMED]
    halo = 'paint-order="stroke" stroke="#fff" stroke-width="3"'  # names stay readable over lines
    shapes += [
        f'<text x="{xy[i, 0]:.1f}" y="{xy[i, 1] - r - 5:.1f}" text-anchor="middle" {halo}>{escape(names[i])}</text>'
        for i in named
    ]
    at = 10.0
    for mark in (mark for mark in MARKS if mark in marks):
        shapes.append(f'<g stroke="#222" stroke-width="0.8">{_mark(at + 6, HEIGHT + 14, 6, mark)}</g>')
        shapes.append(f'<text x="{at + 22:.0f}" y="{HEIGHT + 18}">{escape(MARKS[mark][1])}</text>')
        at += 44 + 7 * len(MARKS[mark][1])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 30}" role="img" '
        f'aria-label="The network of {network.n} parties" font-family="system-ui, sans-serif" font-size="12">\n'
        + "\n".join(shapes)
        + "\n</svg>"
    )


def _mark(x: float, y: float, r: float, mark: str) -> str:
    fill = MARKS[mark][0]
    if mark == "corrupt":
        return f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r:.1f}" height="{2 * r:.1f}" fill="{fill}"/>'
    ring = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r + 4:.1f}" fill="none" stroke="{fill}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="{fill}"/>' + (ring if mark == "disclosed" else "")
