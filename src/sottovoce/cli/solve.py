"""``sottovoce solve``: solve the problem that a file states."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Seed
from .terminal import print_json


class Example(StrEnum):
    """The problem files that come with the package."""

    averaging = "averaging"
    regression = "regression"
    lasso = "lasso"
    logistic = "logistic"


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
    from ..pdmm.result import Status
    from ..pdmm.solve import solve as run
    from .solve_answer import print_solved, solved_dict

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
