"""What the commands print: tables for people, one JSON object for programs, one line for a warning or an error."""

from __future__ import annotations

import json
import math
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import SottovoceError, SottovoceWarning

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from ..data.problem_file import ProblemFile
    from ..paper.claims import Claim
    from ..pdmm.solve import Result

SHOWN = 25  # entries of an answer, or of an audit, in a table
SPINNER_AFTER = 2.0  # seconds
COLOURS = {"converged": "green", "max_iter": "yellow", "diverged": "red"}
ENDINGS = {
    "converged": "converged",
    "max_iter": "not converged: max_iter reached before tol",
    "diverged": "not converged: the run diverged",
}
PADS = {
    None: "no mask: the run is not private",
    True: "secret, from the operating system's generator",
    False: "from a seed: reproducible, not secret",
}


class Exit(Exception):
    """Leave the command with this status."""

    def __init__(self, code: int) -> None:
        self.code = code


@contextmanager
def one_line_each() -> Iterator[None]:
    """Inside, a warning is one line on stderr, and an error of the library one line and exit status 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", SottovoceWarning)

        def show(message: Warning | str, *_: object, **__: object) -> None:
            print(f"warning: {message}", file=sys.stderr)

        warnings.showwarning = show
        try:
            yield
        except SottovoceError as error:
            print(f"error: {error}", file=sys.stderr)
            raise Exit(2) from None
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise Exit(130) from None


def print_json(value: dict[str, Any]) -> None:
    """One object on stdout; what is not a finite number becomes null."""
    print(json.dumps(_finite(value), allow_nan=False, ensure_ascii=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def facts() -> Table:
    """A table of two columns, without a frame."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def add_run(table: Table, result: Result) -> None:
    """What every run has: how it ended, and what it took."""
    from rich.text import Text

    status = result.status.value
    table.add_row("status", Text(ENDINGS[status], style=f"bold {COLOURS[status]}"))
    table.add_row("residual", f"{result.residual:.2e}")
    table.add_row("iterations", f"{result.iterations:,}")
    table.add_row("activations", f"{result.activations:,}")
    table.add_row("messages", f"{result.messages:,}")
    table.add_row("wall time", f"{result.wall_time:.3g} s")
    table.add_row("c, theta", f"{result.c:.4g}, {result.theta:g}")
    small = "; TOO SMALL to hide the data" if result.hidden is False else ""
    table.add_row("pads", PADS[result.secret] + small)


def print_solved(solved: ProblemFile, result: Result) -> None:
    """The answer of ``sottovoce solve``, for people."""
    import numpy as np
    from rich.console import Console
    from rich.text import Text

    cost, network = solved.cost, solved.problem.network
    x = np.asarray(result.x).reshape(network.n, -1)
    answer = x.mean(axis=0)
    agreement = float(np.abs(x - answer).max())
    values, table = facts(), facts()
    values.columns[1].justify = "right"
    off = np.abs(x - (answer if solved.pooled is None else solved.pooled)).max(axis=0)
    error = float(off.max())
    for name, value, own in zip(cost.columns[:SHOWN], answer, off, strict=False):
        decimals = sure_decimals(float(np.abs(value)), float(own))
        values.add_row(Text(name), Text(f"{round(value, decimals) + 0.0:.{decimals}f}", style="bold cyan"))
    if len(answer) > SHOWN:
        values.add_row(f"... and {len(answer) - SHOWN} more; --json prints all", "")
    table.add_row("agreement", f"no party is further than {agreement:.1e} from this")
    if solved.pooled is not None:
        table.add_row("check", f"{error:.1e} from the pooled answer, which only a simulation can compute")
    add_run(table, result)
    for note in notes(solved, result):
        table.add_row("note", Text(note))
    console = Console(highlight=False)
    console.print(f"{cost.kind} between {network.n} parties over {network.m} edges\n")
    console.print(values, "", table, sep="\n")


def sure_decimals(size: float, error: float) -> int:
    """As many as the known error leaves, and no more than make ten digits."""
    if not (math.isfinite(size) and math.isfinite(error)):
        return 3
    digits = 9 - (math.floor(math.log10(size)) if size > 0 else 0)
    sure = -math.floor(math.log10(error)) if error > 0 else digits
    return max(0, min(digits, sure))


def notes(solved: ProblemFile, result: Result) -> list[str]:
    """What the reader must know to read the answer right."""
    unhidden = solved.cost.unhidden
    return [*solved.cost.notes, *([unhidden] if unhidden and result.secret is not None else [])]


def solved_dict(solved: ProblemFile, result: Result) -> dict[str, Any]:
    """The answer of ``sottovoce solve --json``: ``Result.to_dict`` and names."""
    import numpy as np

    cost, network = solved.cost, solved.problem.network
    x = np.asarray(result.x).reshape(network.n, -1)
    check = None
    if solved.pooled is not None:
        error = float(np.abs(x - solved.pooled).max())
        check = {"pooled": solved.pooled.tolist(), "max_error": error, "simulation_only": True}
    return {
        "type": cost.kind,
        "columns": cost.columns,
        "parties": cost.parties,
        "answer": dict(zip(cost.columns, x.mean(axis=0).tolist(), strict=True)),
        **result.to_dict(),
        "edges": network.m,
        "check": check,
        "notes": notes(solved, result),
    }


@contextmanager
def stages(count: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A progress bar over named stages, on a terminal only; yields what to call when one begins."""
    if quiet or not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=count)

        def begin(stage: str) -> None:
            bar.update(task, description=stage, advance=1)

        yield begin


@contextmanager
def spinner(what: str, quiet: bool) -> Iterator[None]:
    """Says what is under way, after two seconds, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(what)
    timer = threading.Timer(SPINNER_AFTER, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def print_claims(found: list[Claim], out: Path) -> None:
    """The table of ``sottovoce paper``."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"holds": "green", "holds with a condition": "yellow", "does not hold": "red", "undecided": "magenta"}
    table = Table(title="The paper's claims, measured", title_justify="left", show_lines=True)
    for column in ("claim", "metric", "verdict", "because"):
        table.add_column(column, overflow="fold")
    for claim in found:
        verdict = Text(claim.verdict, style=colours[claim.verdict])
        table.add_row(Text(claim.claim), claim.metric, verdict, Text(claim.because))
    console = Console()
    console.print(table)
    console.print(f"Figures, data and claims.json are in {out}", soft_wrap=True, markup=False, emoji=False)
