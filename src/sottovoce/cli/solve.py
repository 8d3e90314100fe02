"""``sottovoce solve``: solve the problem that a file states."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json, Seed
from .terminal import print_json

if TYPE_CHECKING:
    from ..data.problem_file import ProblemFile
    from ..statistics.statistic_file import StatisticFile


class Example(StrEnum):
    """The problem files that come with the package."""

    averaging = "averaging"
    regression = "regression"
    lasso = "lasso"
    logistic = "logistic"
    leaking_regression = "leaking-regression"


def solve(
    problem: Annotated[
        Path | None,
        typer.Argument(metavar="PROBLEM.TOML", help="The problem file; see docs/reference/problem-file.md."),
    ] = None,
    json: Json = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.PNG", help="Draw the answer, residual and network (.png, .pdf or .svg).")
    ] = None,
    seed: Seed = None,
    out: Annotated[
        Path | None, typer.Option(metavar="OUT.JSON", help="Write the answer to a file as well (.json or .csv).")
    ] = None,
    example: Annotated[
        Example | None,
        typer.Option(
            help="Print a problem file that runs as it is, and exit. The one called leaking shows why a regression is "
            "better asked for as a [statistic]."
        ),
    ] = None,
) -> int | None:
    """Solve the problem that a file states: whose data, which statistic or cost, who talks to whom.

    \b
    Examples:
      sottovoce solve --example regression > problem.toml
      sottovoce solve problem.toml
      sottovoce solve problem.toml --json --seed 1
      sottovoce solve problem.toml --out answer.csv
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
    if plot is not None:
        from ..network.pictures import check_plot_path

        check_plot_path(plot)
    if out is not None:
        from .out_file import check_out

        check_out(out)
    return _solve(problem, json, plot, seed, out)


def _solve(path: Path, json: bool, plot: Path | None, seed: int | None, out: Path | None) -> int:
    from ..data.problem_file import ProblemFile
    from ..statistics.statistic_file import read_file

    file = read_file(path, seed)
    record = plot is not None
    solved = _of_cost(file, record) if isinstance(file, ProblemFile) else _of_statistic(file)
    if out is not None:  # first: whoever reads what is printed may close the pipe
        from .out_file import write_out

        write_out(out, solved.answer, *solved.rows)
    if json:
        print_json(solved.answer)
    else:
        solved.show()
    if plot is not None:
        solved.draw(plot)
    return 0 if solved.answer["status"] == "converged" else 1


@dataclass(frozen=True)
class Solved:
    """What there is to say: as JSON, as a table for people, as rows under a header, and as a picture."""

    answer: dict[str, Any]
    show: Callable[[], None]
    rows: tuple[list[str], list[list[Any]]]
    draw: Callable[[Path], object]


def _of_cost(file: ProblemFile, record: bool) -> Solved:
    from ..pdmm.pictures import plot_run
    from ..pdmm.recorders import Residual
    from ..pdmm.solve import solve as run
    from .solve_answer import print_solved, solved_dict, solved_rows

    options, network = file.options, file.problem.network
    if record:  # one point a round
        options |= {"record": [Residual()], "record_every": options["schedule"].round(network)}
    result = file.in_units(run(file.problem, **options))
    title = f"{file.path.name}: {file.cost.kind}"
    return Solved(
        solved_dict(file, result),
        partial(print_solved, file, result),
        solved_rows(file, result),
        lambda path: plot_run(path, result, network, options["tol"], title),
    )


def _of_statistic(file: StatisticFile) -> Solved:
    from .statistic_answer import print_statistic, statistic_dict, statistic_rows

    started = time.perf_counter()
    answer = file.solve()
    seconds = time.perf_counter() - started
    return Solved(
        statistic_dict(file, answer, seconds),
        partial(print_statistic, file, answer, seconds),
        statistic_rows(file, answer),
        answer.plot,
    )
