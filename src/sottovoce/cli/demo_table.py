"""How the demonstration looks: a live table on a terminal, lines in a pipe, and at the end the answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..privacy.answers.verdict import headline
from .terminal import facts

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ..runtime.plan.plan import Plan
    from .demo_network import Outcome

STARTING, UP, KILLED, RESTARTING, FINISHED = "starting", "up", "killed", "restarting", "finished"
COLOURS = {STARTING: "dim", UP: "green", KILLED: "bold red", RESTARTING: "yellow", FINISHED: "cyan"}
AGREEMENTS = ("patients and products",)  # of a linear model
EVERY = 1.0  # seconds between two lines in a pipe
TITLE = "The progression of diabetes, regressed on ten measurements: {parties} hospitals, {edges} encrypted channels"


@dataclass(frozen=True)
class Seen:
    """A party at one moment."""

    name: str
    state: str
    stage: int = -1
    residual: float | None = None
    wakes: int = 0
    sent: int = 0
    rate: float = 0.0  # messages a second
    tol: float | None = None  # below which a residual must be


Show = Callable[[Mapping[str, Seen], Sequence[str]], None]


@contextmanager
def display(plan: Plan, quiet: bool) -> Iterator[Show]:
    """What to call with the parties as they are and all that has happened to them."""
    if quiet:
        yield lambda seen, events: None
        return
    title = TITLE.format(parties=len(plan.parties), edges=plan.network.m)
    if not sys.stdout.isatty():
        print(f"{title}\n{'seconds':>9}")
        yield Lines()
        return
    from rich.live import Live

    began = time.monotonic()
    with Live(auto_refresh=False) as live:

        def show(seen: Mapping[str, Seen], events: Sequence[str]) -> None:
            live.update(live_table(title, seen, events, time.monotonic() - began), refresh=True)

        yield show


class Lines:
    """One line a second, and one for every event."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.told, self.next = 0, 0.0

    def __call__(self, seen: Mapping[str, Seen], events: Sequence[str]) -> None:
        now = time.monotonic() - self.began
        for event in events[self.told :]:
            print(f"{now:>9.1f}  {event}", flush=True)
        self.told = len(events)
        if now >= self.next:
            self.next = now + EVERY
            print(f"{now:>9.1f}  {overview(seen)}", flush=True)


def overview(seen: Mapping[str, Seen]) -> str:
    """All parties in one line."""
    states = [party.state for party in seen.values()]
    there = [party for party in seen.values() if party.state in (UP, FINISHED)]
    counted = ", ".join(f"{states.count(state)} {state}" for state in COLOURS if state in states)
    least = min((party.stage for party in there), default=-1)
    if least < 0 or states.count(FINISHED) == len(states):
        return counted
    residuals = [party.residual for party in there if party.stage == least and party.residual is not None]
    tolerance = _tolerance(there)
    residual = f", residual {max(residuals):.0e}{tolerance}" if residuals else ""
    rate = sum(party.rate for party in seen.values())
    return f"{counted}; agreement {least + 1} of {len(AGREEMENTS)}{residual}; {rate:,.0f} messages/s"


def live_table(title: str, seen: Mapping[str, Seen], events: Sequence[str], seconds: float) -> RenderableType:
    """A row for each party, and below it what has happened."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("party", no_wrap=True)
    table.add_column("", min_width=10, no_wrap=True)
    table.add_column("agrees on", min_width=22, no_wrap=True)
    for heading in ("residual", "wakes", "messages/s"):
        table.add_column(heading, justify="right", min_width=8, no_wrap=True)
    for party in seen.values():
        stage = f"{party.stage + 1}. {AGREEMENTS[party.stage]}" if party.stage >= 0 else ""
        residual = "" if party.residual is None else f"{party.residual:.0e}"
        state = Text(party.state, style=COLOURS[party.state])
        pace = f"{party.rate:,.0f}" if party.state == UP else ""
        wakes = f"{party.wakes:,}" if party.stage >= 0 else ""
        table.add_row(party.name, state, "" if party.state == FINISHED else stage, residual, wakes, pace)
    sent = sum(party.sent for party in seen.values())
    rate = sum(party.rate for party in seen.values())
    below = f"{seconds:5.1f} s   {sent:,} messages, {rate:,.0f} a second  {_tolerance(seen.values())}"
    happened = [Text(f"* {event}", style="yellow") for event in events[-3:]]
    return Group(Text(title, style="bold"), "", table, "", Text(below, style="dim"), *happened)


def _tolerance(parties: Iterable[Seen]) -> str:
    """What residuals must come below, as soon as a party has told it."""
    told = [party.tol for party in parties if party.tol is not None]
    return f" (tolerance {max(told):g})" if told else ""


# The end


def print_summary(outcome: Outcome) -> None:
    """The answer for people: coefficients, how they were come by, and what they gave away."""
    from rich.console import Console
    from rich.text import Text

    table = facts()
    for name, words in (*_run_facts(outcome).items(), *_privacy_facts(outcome).items()):
        table.add_row(name, Text(words))
    console = Console(highlight=False)
    console.print(_coefficients(outcome), "", table, sep="\n")
    console.print(
        Text(
            "\nMore: docs/guides/deploy.md, for real machines; docs/reference/protocol.md, for what travels.",
            style="dim",
        )
    )


def _run_facts(outcome: Outcome) -> dict[str, str]:
    wakes, sent, size = (_total(outcome, what) for what in ("wakes", "messages_sent", "bytes_sent"))
    told = {
        "check": f"no hospital is further than {outcome.error:.0e} (relative) from the pooled answer, which only a "
        "demonstration can compute",
        "run": f"{outcome.seconds:.1f} s in all; {wakes:,} wakes, {sent:,} messages, {size / 1e6:.1f} MB",
    }
    if (crash := outcome.crash) is not None:
        told["crash"] = (
            f"{crash.party} was killed (kill -9) in agreement {crash.agreement}, and went on from its journal "
            f"{crash.seconds:.1f} s later"
        )
    return told


def _privacy_facts(outcome: Outcome) -> dict[str, str]:
    report, found = outcome.report, outcome.plan.prospect.exposure
    exposed = report.names(found.exposed) if found.exposed else "nobody"
    worst = report.names(report.overall) if report.overall else "an eavesdropper"
    return {
        "exposed": f"{exposed}, with one hospital corrupt; it takes {found.connectivity} to cut others off",
        "worst one": f"{worst}, corrupt and tapping every channel (another would learn much the same): it learns the "
        f"sums over the other {report.network.n - 1}",
        "added": f"{np.nanmax(report.excess):.2g} nats that it learns of a hospital beyond those sums, all "
        f"{report.dim} numbers together, as pads are uniform",
        "verdict": headline(report, outcome.plan.prospect.delta),
    }


def _coefficients(outcome: Outcome) -> Table:
    from rich.table import Table

    name, result = next(iter(outcome.results.items()))
    answer, pooled = result["answer"], outcome.pooled
    title = f"As {name} holds it: {answer['nobs']} patients, R-squared {answer['rsquared']:.4f}"
    table = Table(box=None, title=title, title_justify="left", title_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("coefficient", "std. error", "pooled", "difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    own = answer["params"]
    rows = zip(answer["terms"], own, answer["bse"], pooled.parameters.tolist(), strict=True)
    for term, coefficient, error, exact in rows:
        table.add_row(term, f"{coefficient:.9g}", f"{error:.6g}", f"{exact:.9g}", f"{coefficient - exact:.0e}")
    return table


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """The answer of ``sottovoce demo --json``."""
    answer = next(iter(outcome.results.values()))["answer"]
    crash, report, found = outcome.crash, outcome.report, outcome.plan.prospect.exposure
    return {
        "simulated": False,
        "status": answer["status"],
        "parties": list(outcome.results),
        "edges": outcome.plan.network.m,
        "observations": answer["nobs"],
        "terms": answer["terms"],
        "parameters": answer["params"],
        "standard_errors": answer["bse"],
        "r_squared": answer["rsquared"],
        "check": {
            "pooled": outcome.pooled.parameters.tolist(),
            "pooled_standard_errors": outcome.pooled.standard_errors.tolist(),
            "max_error": outcome.error,
            "demonstration_only": True,
        },
        "crash": None if crash is None else vars(crash),
        "wakes": _total(outcome, "wakes"),
        "messages": _total(outcome, "messages_sent"),
        "bytes": _total(outcome, "bytes_sent"),
        "seconds": outcome.seconds,
        "privacy": {"connectivity": found.connectivity, **report.to_dict()},
        "pids": list(outcome.pids),
    }


def _total(outcome: Outcome, what: str) -> int:
    return sum(result[what] for result in outcome.results.values())
