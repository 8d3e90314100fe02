"""What ``sottovoce plan`` answers: a table and sentences for people, one JSON object for programs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..runtime.plan.plan import STATEMENT, Plan
from ..runtime.plan.plan_audit import hidden_by
from .terminal import facts

TRIAL = (
    "Put the data of each party in its folder, unless the plan names a file that is there already, and start them all: "
    "sottovoce node {out}/<party>/node.toml. Whoever made the keys could be anybody: this is for trials only."
)
REAL = (
    "Send each party its node.toml. It puts the file beside its identity and its data, compares what sottovoce "
    "fingerprints node.toml shows with its neighbours over the telephone, and runs: sottovoce node node.toml"
)


def planned_dict(plan: Plan, out: Path | None) -> dict[str, Any]:
    """The answer of ``sottovoce plan --json``; without ``out`` nothing was written."""
    parties = [
        {"name": party.name, "address": party.address, "degree": degree}
        for party, degree in zip(plan.parties, plan.network.degrees.tolist(), strict=True)
    ]
    told = plan.prospect.to_dict()
    return {
        "out": None if out is None else str(out),
        "run": {
            **plan.settings,
            **plan.routes.to_dict([party.name for party in plan.parties]),
            "parties": len(plan.parties),
            **plan.prospect.question.to_dict(),
        },
        "parties": parties,
        **told,
        "notes": [*plan.notes, *told["notes"]],
    }


def print_planned(plan: Plan, out: Path | None, *, trial: bool) -> None:
    """The same for people, and what to do next."""
    prospect, settings = plan.prospect, plan.settings
    t, kind = prospect.exposure.t, prospect.question.kind
    console = Console(highlight=False)
    console.print(f"{kind} between {len(plan.parties)} parties over {plan.network.m} edges\n")
    console.print(_party_table(plan))
    corrupt = "nobody corrupt" if t == 0 else f"at most {t} corrupt, the worst for each party"
    legend = (
        f"Group: the fewest honest parties among which it hides. Added: nats, to what the result tells. With {corrupt}."
    )
    console.print(Text(legend, style="dim"), "", sep="\n")
    table, accuracy = facts(), prospect.accuracy
    table.add_row("verdict", Text(f"{prospect.verdict.value}, for {prospect.delta:g} nats that may be added"))
    for name, value in prospect.question.told().items():
        table.add_row(name, Text(value))
    table.add_row("mask", hidden_by(prospect.question))
    if (noise := prospect.question.noise) is not None:
        table.add_row("noise", f"of variance {noise.variance:g} on each number of each party, in units of scale")
        table.add_row("error", f"about {prospect.noise_std:.3g}, one standard deviation, in units of scale: the noise")
    table.add_row("accuracy", "exact" if accuracy is None else f"about {accuracy:.1e}, of numbers of size 1")
    if accuracy is not None:
        size = f"at most {prospect.question.size:g} in units of scale, or a party refuses to start"
        table.add_row("size of data", size)
    table.add_row("channels", settings["channels"])
    route = plan.routes.shown()
    table.add_row("messages over", route["messages over"])
    table.add_row("c, theta, tol", f"{route['c']}, {route['theta']:g}, {settings['tol']:g}")
    for note in (*plan.notes, *prospect.notes):
        table.add_row("note", Text(note))
    for problem in prospect.problems():
        table.add_row(Text("problem", style="bold red"), Text(problem))
    written = (
        "nothing: --force would write it all the same"
        if out is None
        else f"{out}, a folder for each party, and {STATEMENT} for the file"
    )
    table.add_row("written", Text(written))
    if out is not None:
        table.add_row("next", Text(TRIAL.format(out=out) if trial else REAL))
    console.print(table)


def _party_table(plan: Plan) -> Table:
    prospect, found = plan.prospect, plan.prospect.exposure
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("party", "address"):
        table.add_column(title, overflow="fold")
    for title in ("degree", "group", "added at most"):
        table.add_column(title, justify="right", no_wrap=True)
    for i, party in enumerate(plan.parties):
        group = f"> {found.largest}" if found.group[i] is None else str(found.group[i])
        excess = math.nan if prospect.excess is None else float(prospect.excess[i])
        nats = "?" if math.isnan(excess) else "all" if math.isinf(excess) else f"{excess:.2g}"
        row = (party.name, party.address or "calls only", str(plan.network.degrees[i]), group, nats)
        table.add_row(*(Text(cell) for cell in row), style="bold red" if found.group[i] == 1 else "")
    return table
