"""``sottovoce audit``: measure what a run gives away, and to whom."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Json, Seed
from .terminal import print_json, spinner


class Channels(StrEnum):
    """Who reads what travels between honest parties: everybody, or nobody."""

    open = "open"
    encrypted = "encrypted"


def audit(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.TOML", help="The problem file, with its mask.")],
    corrupt: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Parties that collude, by name or number. Default: nobody.")
    ] = None,
    channels: Annotated[
        Channels, typer.Option(help="Open: every channel is tapped. Encrypted: corrupt parties see their own.")
    ] = Channels.open,
    max_corrupt: Annotated[
        int | None, typer.Option(min=0, metavar="T", help="For each party the worst coalition of at most T instead.")
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(metavar="VARIANCE", help="Of a secret, in squared units of the data. Default: their mean square."),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The result is published: eavesdroppers are told it too.")
    ] = False,
    runs: Annotated[
        int, typer.Option(min=1, metavar="R", help="How often the same data are agreed on, with fresh pads.")
    ] = 1,
    iterations: Annotated[
        int | None, typer.Option(min=0, metavar="K", help="Only the first K iterations are seen. Default: all.")
    ] = None,
    snapshot: Annotated[
        int | None, typer.Option(min=0, metavar="K", help="The paper's metric instead, one iteration: K. Understates.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="NATS",
            help="That the procedure may add (default 0.01). If given, the smallest such mask is found too, for "
            "--max-corrupt or 1.",
        ),
    ] = None,
    public_hessians: Annotated[
        bool,
        typer.Option(
            "--public-hessians",
            help="Numbers of rows (or A'A) of the parties are no secret. No mask hides them: where they differ, "
            "there is no guarantee without this.",
        ),
    ] = False,
    seed: Seed = None,
    json: Json = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.PNG", help="Draw who gives away how much (.png, .pdf or .svg).")
    ] = None,
    statement: Annotated[
        Path | None, typer.Option(metavar="OUT.HTML", help="Write a page for the file (.html, or .md without picture).")
    ] = None,
) -> int | None:
    """Measure what a run of the problem gives away about each party, and to whom.

    Network, data, mask, noise, schedule, theta, c and overlay are those of the file; without [mask] a [cost] is not
    hidden. The sums of a [statistic] are exact, behind uniform pads, which add nothing to the totals.

    \b
    Examples:
      sottovoce audit problem.toml
      sottovoce audit problem.toml --corrupt 0,3 --channels encrypted
      sottovoce audit problem.toml --corrupt Ada,Bo --prior 100 --plot leak.png
      sottovoce audit problem.toml --max-corrupt 1 --delta 0.001 --json
      sottovoce audit problem.toml --corrupt Ada --published --statement ada.html

    \b
    Exit status: 0 safe: nobody is disclosed, and the procedure adds no more than --delta;
    1 weak (it adds more), disclosed (somebody is), or not assessed (there is no guarantee);
    2 bad input, or a question without an exact answer.
    """
    from ..data.problem_file import ProblemFile
    from ..errors import InvalidInput
    from ..privacy import Snapshot, Transcript, Verdict, Worst
    from ..privacy.answers.verdict import DELTA
    from ..statistics.statistic_file import read_file
    from .audit_answer import audit_notes, audited_dict, print_report
    from .audit_run import audit_cost, audit_statistic

    if corrupt is not None and max_corrupt is not None:
        raise InvalidInput("give one of --corrupt and --max-corrupt: each says who is corrupt.")
    if iterations is not None and snapshot is not None:
        raise InvalidInput("give one of --iterations and --snapshot: each says what is seen.")
    if published and snapshot is not None:
        raise InvalidInput("--published is of a whole run: leave --snapshot out.")
    if plot is not None:
        from ..network.pictures import check_plot_path

        check_plot_path(plot)
    if statement is not None:
        from ..privacy.answers.statement import check_statement_path

        check_statement_path(statement)
    file = read_file(problem, seed)
    given: dict[str, Any] = {
        "corrupt": () if corrupt is None else file.party_numbers(corrupt),
        "against": None if max_corrupt is None else Worst(max_corrupt),
        "channels": channels.value,
        "hessians": "public" if public_hessians else "private",
    }
    seen = Transcript(iterations, runs, answer="public" if published else "private")
    with spinner("auditing ...", quiet=json) as progress:
        given["progress"] = progress
        if isinstance(file, ProblemFile):
            audited = audit_cost(file, seen if snapshot is None else Snapshot(snapshot, runs), prior, delta, given)
        else:
            of_one = {"--prior": prior, "--iterations": iterations, "--snapshot": snapshot}
            audited = audit_statistic(file, seen, delta, of_one, given)
    report, bound = audited.report, DELTA if delta is None else delta
    if json:
        print_json(audited_dict(audited, bound))
    else:
        print_report(report, bound, audit_notes(audited))
    if plot is not None:
        report.plot(plot)
    if statement is not None:
        from ..privacy.answers.statement import statement as state
        from ..privacy.answers.statement import write_statement

        most = {} if max_corrupt is None else {"corrupt parties, at most": max_corrupt}
        page = state(
            report,
            subject=f"{problem.name}: {audited.kind} between {report.network.n} parties",
            revealed=audited.revealed,
            parameters={**audited.parameters, **most, "runs": runs},
            notes=[note.removeprefix("--delta: ") for note in audit_notes(replace(audited, prior_needed=False))],
            delta=bound,
        )
        write_statement(statement, page)
    return 0 if report.verdict(bound) is Verdict.SAFE and audited.fits else 1
