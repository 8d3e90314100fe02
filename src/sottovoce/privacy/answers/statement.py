"""A statement on a run, for the file: who may collude, what is learned exactly, what is added, what is not covered."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from ...files.atomic import check_writable, write_whole
from ...network.pictures import places_of
from .report import Report
from .statement_page import Page, Section, Table, network_svg, to_html, to_markdown
from .verdict import DELTA, disclosed, headline

SUFFIXES = (".html", ".md")
SHOWN = 30  # parties in the table
TITLE = "Statement on privacy"
WRITERS = {".html": to_html, ".md": to_markdown}

TRAFFIC = (
    "Who talks to whom, when, how often and how much, and when the run stops: traffic and its timing are seen by "
    "whoever carries it."
)
EXACT = (
    "What the result itself tells, beyond what is counted here: it is exact, and one person may be visible in it. "
    "Differential privacy would change the result."
)
NOISY = (
    "What the result itself tells, beyond what is counted here: the noise in it hides the numbers of a party as far as "
    "is said above, and no further."
)
NOT_COVERED = (
    "Further runs, or other statistics, on the same data: what they add must be added up.",
    "Parties that break the protocol, more corrupt parties than stated, and what a party's own machine gives away.",
    "Knowledge about the data that the prior does not hold.",
)
UNPUBLISHED = "A published result: this counts it as known to the parties only."
NATS = (
    "A nat is a unit of information: 0.01 nats about a number make an attacker's 95 % interval for it 1 % narrower, "
    "0.1 nats 10 %, and 1 nat 63 %."
)
MASK = "What travels is hidden by random numbers, the mask (its pads), that cancel out of the result."
NOISE = "Every party adds random noise to its own numbers first, which does not cancel: the result is that much off."
ROLES = "Everybody follows the protocol; the corrupt are curious, and pool what they see."
SEEN = {
    "open": "Channels count as open: taps read all that travels between any two parties.",
    "encrypted": "Channels are encrypted: the corrupt read what they send and receive themselves, and nothing else.",
}


def check_statement_path(path: Path) -> None:
    """Refuse, before the work, what could not be written after it."""
    check_writable("--statement", path, SUFFIXES)


def write_statement(path: str | Path, page: Page) -> None:
    """Write a statement as HTML or Markdown, by the ending of the name; whole or not at all.

    Parameters
    ----------
    path
        Ends in ``.html``, or in ``.md`` for one without a picture.
    page
        From ``statement``.

    Raises
    ------
    InvalidInput
        For another ending, or a folder that cannot be written to.

    Examples
    --------
    >>> import tempfile, sottovoce as sv
    >>> report = sv.privacy.audit(sv.averaging(sv.Network.ring(5), [3, 1, 4, 1, 5]), sv.GaussianMask(1e6), corrupt={3})
    >>> page = sv.privacy.statement(report, subject="Mean salary of five firms")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sv.privacy.write_statement(f"{folder}/salaries.md", page)
    """
    path = Path(path)
    check_statement_path(path)
    text = WRITERS[path.suffix.lower()](page)
    write_whole(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))


def statement(
    report: Report,
    *,
    subject: str,
    revealed: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
    delta: float = DELTA,
    today: datetime.date | None = None,
) -> Page:
    """The statement on a report, for the file.

    Parameters
    ----------
    report
        What an audit found.
    subject
        What the run is about.
    revealed
        What the sums are of, by the names of columns.
    parameters
        What else was agreed on, such as ``c`` and ``theta``.
    notes
        More sentences.
    delta
        Nats that the procedure may add.
    today
        The date on the page.

    Returns
    -------
    Page
        For ``write_statement``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(5), [3.0, 1.0, 4.0, 1.0, 5.0])
    >>> report = sv.privacy.audit(problem, sv.GaussianMask(variance=1e6), corrupt={3})
    >>> sv.privacy.statement(report, subject="Mean salary of five firms").verdict
    'safe'
    """
    told = report.sentences()
    wrong = [sentence for flag, sentence in report.flags.items() if flag not in ("isolated", "cut")]
    exactly = (*report.disclosures(), *_sums(report, revealed))
    added = tuple(s for s in told[1:] if s not in wrong and s not in report.disclosures())
    table = _parties(report)
    if table is not None:
        together = f" The table adds up the {report.dim} numbers of a party." if report.dim > 1 else ""
        added = (*added, NATS + together)
    elif not added:
        added = ("Not known: there is no guarantee.",)
    sections = [
        Section("Who may collude, and what they see", (_who(report),)),
        *([Section("What is wrong with the setting", tuple(wrong))] if wrong else []),
        Section("What is learned exactly", exactly or ("Nothing that this method can certify.",)),
        Section("What the procedure adds", (*added, *_more(report)), table),
        Section("What this does not cover", _not_covered(report)),
        Section("Parameters", tuple(_sentence(note) for note in notes), _parameters(report, delta, parameters or {})),
    ]
    day = datetime.date.today() if today is None else today
    return Page(
        title=TITLE,
        subject=subject,
        verdict=report.verdict(delta).value,
        headline=headline(report, delta),
        sections=tuple(sections),
        made=f"Made by sottovoce {version('sottovoce')} on {day.isoformat()}.",
        picture=network_svg(
            report.network,
            places_of(report.network),
            _marks(report, delta),
            [report.name(i) for i in range(report.network.n)],
        ),
    )


def _who(report: Report) -> str:
    hidden = [MASK] if report.noise is None else [NOISE] if "no mask" in report.flags else [MASK, NOISE]
    return " ".join([report.against() + ".", SEEN[report.channels], ROLES, *hidden])


def _not_covered(report: Report) -> tuple[str, ...]:
    result = EXACT if report.noise is None else NOISY
    return (*(() if report.published else (UNPUBLISHED,)), TRAFFIC, result, *NOT_COVERED)


def _sums(report: Report, revealed: Sequence[str]) -> list[str]:
    """Who learns which sums, and of what."""
    if report.guarantee == "none":
        return []
    said = []
    if report.coalitions is not None:
        total = "the sum" if report.noise is None else "the sum, noise included,"
        said.append(f"Whoever is corrupt learns, whatever the mask, {total} over each connected group of the others.")
    if revealed and (report.coalitions is not None or report.groups):
        said.append(f"The sums are those of: {'; '.join(revealed)}.")
    return said


def _parties(report: Report) -> Table | None:
    n, corrupt = report.network.n, report.adversary.corrupt
    if report.guarantee == "none":  # what an attack disclosed is no number
        return None
    order = np.lexsort((np.arange(n), -report.leakage, -report.excess, np.isin(np.arange(n), list(corrupt)))).tolist()
    rows = []
    for i in order[:SHOWN]:
        told = [_nats(values[i]) for values in (report.floor, report.excess, report.leakage)]
        narrower = "-" if math.isnan(report.narrower[i]) else f"{100 * report.narrower[i]:.3g} %"
        rows.append((report.name(i) + (" (corrupt)" if i in corrupt else ""), *told, narrower))
    both = "both\n(nats)" if report.holds_answer else "seen so far\n(nats)"
    header = ("party", "told by the result\n(nats)", "added\n(nats)", both, "95 % interval\nnarrower by")
    return Table(tuple(rows), header)


def _more(report: Report) -> tuple[str, ...]:
    more = report.network.n - SHOWN
    return (
        (f"The table shows the {SHOWN} parties of which most is learned; there are {more} more.",) if more > 0 else ()
    )


def _sentence(note: str) -> str:
    return note[0].upper() + note[1:] + ("" if note.endswith(".") else ".")


def _parameters(report: Report, delta: float, more: Mapping[str, object]) -> Table:
    facts = {
        "mask": report.mask,
        "channels": report.channels,
        "prior": report.prior,
        "bound on what is added": f"{delta:g} nats",
        "method": report.method,
        "numbers are": {"exact": "exact", "none": "not assessed"}.get(report.guarantee, report.guarantee),
        **{name: str(value) for name, value in more.items()},
    }
    return Table(tuple(facts.items()))


def _marks(report: Report, delta: float) -> list[str]:
    lost = disclosed(report)

    def mark(i: int) -> str:
        if i in report.adversary.corrupt:
            return "corrupt"
        if lost[i]:
            return "disclosed"
        if math.isnan(report.excess[i]):
            return "unknown"
        return "weak" if report.excess[i] > delta else "honest"

    return [mark(i) for i in range(report.network.n)]


def _nats(value: float) -> str:
    return "-" if math.isnan(value) else "all" if math.isinf(value) else f"{value:.3g}"
