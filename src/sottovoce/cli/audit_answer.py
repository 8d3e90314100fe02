"""What ``sottovoce audit`` answers: one line, sentences and a table for people, one JSON object for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from ..privacy import CalibratedMask, Report
from ..privacy.answers.verdict import Verdict, headline
from .terminal import SHOWN

if TYPE_CHECKING:
    from .audit_run import Audited

LEGEND = (
    "In nats: what the procedure adds, what the result itself tells at any mask, and both. Interval: how much narrower "
    "an attacker's 95 % interval becomes by both, for one number. 0.01 nats about it make it 1 % narrower, 1 nat 63 %."
)
SO_FAR = (
    "In nats: what the procedure adds to the result, what the result itself tells once it is there, and what the part "
    "of the run that is seen tells without it. Interval: how much narrower an attacker's 95 % interval becomes by that "
    "part, for one number. 0.01 nats about it make it 1 % narrower, 1 nat 63 %."
)


def enough(mask: object, runs: int, needed: CalibratedMask | str) -> bool:
    """Whether the mask, used for so many runs, keeps the bound of the calibrated one; a text says why none does."""
    if isinstance(needed, str):
        return False
    if isinstance(mask, GaussianMask):
        return mask.variance / runs >= needed.variance
    return isinstance(mask, ModularMask)


def audit_notes(audited: Audited) -> list[str]:
    """What the reader of an audit must know besides the report."""
    notes, needed = list(audited.notes), audited.needed
    if audited.prior_needed and audited.report.guarantee != "none":
        notes.append(
            "Leakage grows with the variance of the secrets: where more, or less, is publicly known about them than "
            "their size, give --prior, in the squared units of the data."
        )
    if isinstance(needed, str):
        notes.append(f"--delta: {needed}")
    elif needed is not None:
        told = "is enough" if audited.fits else f"is NOT enough; write variance = {needed.rounded_up:g} or more"
        which = "the smallest Gaussian mask" if needed.smallest else "a Gaussian mask that is large enough"
        notes.append(f"--delta: {which} has {needed}. That of the file {told}.")
    return notes


def audited_dict(audited: Audited, delta: float) -> dict[str, Any]:
    """The answer of ``sottovoce audit --json``: ``Report.to_dict``, names, and the calibrated mask."""
    report, needed, fits = audited.report, audited.needed, audited.fits
    return {
        "type": audited.kind,
        "parties": audited.parties,
        "verdict": report.verdict(delta).value,
        "headline": headline(report, delta),
        "safe": fits and report.verdict(delta) is Verdict.SAFE,
        "delta": delta,
        **report.to_dict(),
        "calibrated": None if needed is None else {"enough": fits, **_calibrated(needed)},
        "notes": audit_notes(audited),
    }


def _calibrated(needed: CalibratedMask | str) -> dict[str, Any]:
    if isinstance(needed, str):
        return {"refused": needed}
    names = ("variance", "delta", "excess", "against", "prior", "accuracy", "smallest", "holds_for")
    assert needed.network is not None
    by = sorted(map(needed.network.index, needed.coalition))
    told = {"coalition": by, "coalition_names": [needed.network.name(i) for i in by]}
    return {name: getattr(needed, name) for name in names} | told


def print_report(report: Report, delta: float, notes: Sequence[str] = ()) -> None:
    """An audit for people: the verdict, the report's sentences (and more ``notes``), and a row for each party."""
    console = Console(highlight=False)
    colour = {Verdict.SAFE: "green", Verdict.WEAK: "yellow"}.get(report.verdict(delta), "red")
    console.print(Text(headline(report, delta), style=f"bold {colour}"), "", sep="\n", soft_wrap=True)
    said = Table.grid(padding=(0, 1))
    for sentence in [*report.sentences(), *notes]:
        said.add_row("*", Text(sentence))
    console.print(said)
    if report.guarantee != "none":  # else the sentences have named whom an attack disclosed
        console.print("", _leak_table(report, delta), sep="\n")
        if (more := report.network.n - SHOWN) > 0:
            console.print(f"... and {more} more; --json prints all")
        console.print("", Text(_legend(report), style="dim"), sep="\n")


def _legend(report: Report) -> str:
    together = f" Nats are over all {report.dim} numbers of a party." if report.dim > 1 else ""
    return (LEGEND if report.holds_answer else SO_FAR) + together


def _leak_table(report: Report, delta: float) -> Table:
    """Worst first; corrupt parties last."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("party", "role"):
        table.add_column(title, overflow="fold")
    both = "both" if report.holds_answer else "seen\nso far"
    for title in ("added by\nthe procedure", "told by\nthe result", both, "interval\nnarrower by"):
        table.add_column(title, justify="right", no_wrap=True)
    if report.coalitions is not None:
        table.add_column("worst coalition", overflow="fold", min_width=len("worst coalition"))
    n, corrupt = report.network.n, report.adversary.corrupt
    order = np.lexsort((np.arange(n), -report.leakage, -report.excess, np.isin(np.arange(n), list(corrupt)))).tolist()
    for i in order[:SHOWN]:
        role, style = ("corrupt", "dim") if i in corrupt else ("honest", "")
        if report.network.label(i) in report.exposed:
            role, style = "DISCLOSED", "bold red"
        elif report.network.label(i) in report.doomed:
            role, style = "DISCLOSED later", "red"
        elif report.excess[i] > delta:
            style = "yellow"
        row = [report.name(i), role]
        row += [_nats(values[i]) for values in (report.excess, report.floor, report.leakage)]
        row.append(_percent(report.narrower[i]))
        if report.coalitions is not None:
            coalition = report.coalitions[i]
            row.append("" if coalition is None else report.names(coalition) or "none: taps alone")
        table.add_row(*(Text(cell) for cell in row), style=style)
    return table


def _nats(value: float) -> str:
    return "-" if math.isnan(value) else "all" if math.isinf(value) else f"{value:.3g}"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.3g} %"
