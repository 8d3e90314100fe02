"""How a report shows itself: in a line, in a notebook, as a picture."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from ...files.html_table import html_table
from .verdict import headline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .report import Report

SHOWN = 25  # rows


class Shown:
    """The part of ``Report`` that is for the eye."""

    def __repr__(self) -> str:
        return f"<Report: {headline(cast('Report', self))}>"

    def _repr_html_(self) -> str:
        return report_html(cast("Report", self))

    def plot(self, path: str | Path | None = None) -> Figure:
        """The network coloured by excess leakage, corrupt and exposed nodes marked; written to a .png, .pdf or .svg
        where there is a path."""
        from .report_picture import plot_report

        return plot_report(path, cast("Report", self))


def report_html(report: Report) -> str:
    """The verdict, the sentences of the summary, and a row for each party: the worst first, corrupt parties last.

    Without a guarantee there are no numbers to show."""
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in report.sentences())
    parts = [f"<p><b>{escape(headline(report))}</b></p>", f"<ul>{said}</ul>"]
    if report.guarantee != "none":
        n, corrupt = report.network.n, report.adversary.corrupt
        last = np.isin(np.arange(n), list(corrupt))
        order = np.lexsort((np.arange(n), -report.leakage, -report.excess, last)).tolist()
        both = "both" if report.holds_answer else "seen so far"
        header = ["party", "role", "added by the procedure", "told by the result", both, "interval narrower by"]
        if report.coalitions is not None:
            header.append("worst coalition")
        more = f"Nats; the first {SHOWN} of {n} parties, the worst first" if n > SHOWN else "Nats, the worst first"
        parts.append(html_table([_row(report, i) for i in order[:SHOWN]], header, more))
    return f"<div>{''.join(parts)}</div>"


def _row(report: Report, i: int) -> list[str]:
    role = "corrupt" if i in report.adversary.corrupt else "honest"
    if math.isinf(report.leakage[i]):
        role = "DISCLOSED"
    elif math.isinf(report.floor[i]) or math.isinf(report.excess[i]):
        role = "DISCLOSED later"
    leaks = [_nats(values[i]) for values in (report.excess, report.floor, report.leakage)]
    narrower = float(report.narrower[i])
    row = [report.name(i), role, *leaks, "-" if math.isnan(narrower) else f"{100 * narrower:.3g} %"]
    if report.coalitions is not None:
        coalition = report.coalitions[i]
        row.append("" if coalition is None else report.names(coalition) or "none: taps alone")
    return row


def _nats(value: float) -> str:
    return "-" if math.isnan(value) else "all" if math.isinf(value) else f"{value:.3g}"
