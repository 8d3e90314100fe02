"""The command line: parse, call, print. Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from .network_commands import register
from .terminal import Exit, one_line_each, print_json

if TYPE_CHECKING:
    from ..privacy import CalibratedMask

P = ParamSpec("P")

CONTEXT = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Fix every random choice. Pads from a seed are not secret.")]


class Channels(StrEnum):
    """Who reads what travels between honest parties: everybody, or nobody."""

    open = "open"
    encrypted = "encrypted"


class Example(StrEnum):
    """The problem files that come with the package."""

    averaging = "averaging"
    regression = "regression"
    lasso = "lasso"
    logistic = "logistic"


def tidy(command: Callable[P, int | None]) -> Callable[P, None]:
    """A command that returns its exit status; errors and warnings of the library become one line each."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with one_line_each():
                code = command(*args, **kwargs)
        except Exit as leave:
            code = leave.code
        raise typer.Exit(code or 0)

    return run


def main() -> None:
    """The entry point ``sottovoce``."""
    app(prog_name="sottovoce")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sottovoce {version('sottovoce')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Parties agree on the exact optimum of a joint problem, talking to their neighbours only.

    \b
    Start with:
      sottovoce demo
      sottovoce solve --example averaging > problem.toml
      sottovoce solve problem.toml
      sottovoce audit problem.toml
    """


@app.command(short_help="Solve the problem that a file states.")
@tidy
def solve(
    problem: Annotated[
        Path | None,
        typer.Argument(metavar="PROBLEM.TOML", help="The problem file; see docs/reference/problem-file.md."),
    ] = None,
    json: Json = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.PNG", help="Draw residual and network (.png, .pdf or .svg).")
    ] = None,
    seed: Seed = None,
    example: Annotated[Example | None, typer.Option(help="Print a problem file that runs as it is, and exit.")] = None,
) -> int | None:
    """Solve the problem that a file states: whose data, which cost, who talks to whom.

    \b
    Examples:
      sottovoce solve --example regression > problem.toml
      sottovoce solve problem.toml
      sottovoce solve problem.toml --json --seed 1
      sottovoce solve problem.toml --plot run.png

    Exit status: 0 converged, 1 ran but did not converge, 2 bad input.
    """
    from ..errors import InvalidInput

    if (problem is None) == (example is None):
        raise InvalidInput("give a problem file, or --example to print one. See: sottovoce solve --help")
    if example is not None:
        from ..data.problem_file import example as text_of

        typer.echo(text_of(example.value), nl=False)
        return 0
    assert problem is not None
    return _solve(problem, json, plot, seed)


def _solve(path: Path, json: bool, plot: Path | None, seed: int | None) -> int:
    from ..data.problem_file import read_problem_file
    from ..pdmm.recorders import Residual
    from ..pdmm.solve import Status
    from ..pdmm.solve import solve as run
    from .terminal import print_solved, solved_dict

    if plot is not None:
        from ..network.pictures import check_plot_path

        check_plot_path(plot)
    solved = read_problem_file(path, seed)
    options = solved.options
    if plot is not None:  # one point a round
        options |= {"record": [Residual()], "record_every": options["schedule"].round(solved.problem.network)}
    result = solved.in_units(run(solved.problem, **options))
    if json:
        print_json(solved_dict(solved, result))
    else:
        print_solved(solved, result)
    if plot is not None:
        from ..pdmm.pictures import plot_run

        plot_run(plot, result, solved.problem.network, options["tol"], f"{path.name}: {solved.cost.kind}")
    return 0 if result.status is Status.CONVERGED else 1


@app.command(short_help="Measure what a run gives away, and to whom.")
@tidy
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

    Network, cost, mask, schedule, theta and c are those of the file; without [mask] nothing is hidden.

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
    from ..data.problem_file import read_problem_file
    from ..errors import InvalidInput, Unsupported
    from ..privacy import Verdict, calibrate
    from ..privacy import audit as run
    from ..privacy.verdict import DELTA
    from .audit_answer import audit_notes, audited_dict, enough, print_report
    from .terminal import spinner

    if corrupt is not None and max_corrupt is not None:
        raise InvalidInput("give one of --corrupt and --max-corrupt: each says who is corrupt.")
    if iterations is not None and snapshot is not None:
        raise InvalidInput("give one of --iterations and --snapshot: each says what is seen.")
    if plot is not None:
        from ..network.pictures import check_plot_path

        check_plot_path(plot)
    if statement is not None:
        from ..privacy.statement import check_statement_path

        check_statement_path(statement)
    solved = read_problem_file(problem, seed)
    mask = solved.options.get("mask")
    setting: dict[str, Any] = {name: solved.options[name] for name in ("schedule", "theta", "c", "seed")}
    setting |= {"channels": channels.value, "prior": prior}
    setting["hessians"] = "public" if public_hessians else "private"
    seen: dict[str, Any] = {"iterations": iterations, "answer": "public" if published else "private"}
    if snapshot is not None:
        seen |= {"iterations": snapshot, "view": "snapshot"}
    members = () if corrupt is None else solved.party_numbers(corrupt)
    needed: CalibratedMask | str | None = None
    with spinner("auditing ...", quiet=json):
        report = run(solved.problem, mask=mask, corrupt=members, max_corrupt=max_corrupt, runs=runs, **seen, **setting)
        if delta is not None:
            try:
                most = 1 if max_corrupt is None else max_corrupt
                needed = calibrate(solved.problem, delta=delta, max_corrupt=most, **setting)
            except Unsupported as reason:
                needed = str(reason)
    fits, bound = needed is None or enough(mask, runs, needed), DELTA if delta is None else delta
    notes = audit_notes(report, needed, fits, prior_given=prior is not None)
    if json:
        print_json(audited_dict(solved, report, bound, needed, fits, notes))
    else:
        print_report(report, bound, notes)
    if plot is not None:
        report.plot(plot)
    if statement is not None:
        from ..pdmm.solve import settled_theta
        from ..privacy.statement import statement as state
        from ..privacy.statement import write_statement

        page = state(
            report,
            subject=f"{problem.name}: {solved.cost.kind} between {report.network.n} parties",
            revealed=solved.cost.revealed,
            parameters={
                "schedule": type(setting["schedule"]).__name__,
                **({} if max_corrupt is None else {"corrupt parties, at most": max_corrupt}),
                "theta": settled_theta(solved.problem, setting["theta"]),
                "c": "tuned by pilot runs" if setting["c"] == "auto" else setting["c"],
                "runs": runs,
            },
            notes=[note.removeprefix("--delta: ") for note in audit_notes(report, needed, fits, prior_given=True)],
            delta=bound,
        )
        write_statement(statement, page)
    return 0 if report.verdict(bound) is Verdict.SAFE and fits else 1


@app.command(short_help="Watch ten hospitals fit one regression.")
@tidy
def demo(
    json: Json = False,
    fast: Annotated[bool, typer.Option("--fast", help="Skip the animation.")] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Ten households and their mean instead, in one process, in seconds.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="With --simulate: fix every random choice.")] = None,
) -> int | None:
    """Ten hospitals, a process each, fit one regression over encrypted channels, and keep their patients' rows to
    themselves. One of them is killed on the way.

    \b
    Examples:
      sottovoce demo
      sottovoce demo --json
      sottovoce demo --simulate --fast --seed 1
    """
    from ..errors import InvalidInput, MissingExtra

    if not simulate:
        try:
            from .demo_network import run_network_demo
        except MissingExtra:
            typer.echo("A simulation; for ten real processes: pip install 'sottovoce[network]'", err=True)
        else:
            if seed is not None:
                raise InvalidInput("--seed is for --simulate: real parties take their pads from the operating system.")
            return run_network_demo(json, fast)
    from .demo_simulated import run_demo

    return run_demo(json, seed, fast)


@app.command(short_help="Reproduce the paper: figures, data, claims.")
@tidy
def paper(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the figures.")] = Path("paper"),
    seed: Annotated[int, typer.Option(min=0, help="Of the graph, the data, the sequence and the draws.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws.")] = False,
    json: Json = False,
) -> int | None:
    """Figures 1 to 3 of the paper as PNG, PDF and JSON, and each of its claims measured.

    \b
    Examples:
      sottovoce paper
      sottovoce paper --out figures --seed 7
      sottovoce paper --quick --json
    """
    from ..paper.reproduce import STAGES, reproduce
    from .terminal import print_claims, stages

    with stages(STAGES, quiet=json) as progress:
        _, found = reproduce(out, seed, quick=quick, progress=progress)
    if json:
        print_json({"out": str(out), "claims": [claim.to_dict() for claim in found]})
    else:
        print_claims(found, out)
    return 0


register(app, tidy)

if __name__ == "__main__":
    main()
