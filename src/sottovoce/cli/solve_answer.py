"""What ``sottovoce solve`` answers: a table for people, one JSON object for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .terminal import SHOWN, facts, residual_words

if TYPE_CHECKING:
    from rich.table import Table

    from ..data.problem_file import ProblemFile
    from ..pdmm.result import Result

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


NOISE_ALONE = "no mask: the noise alone hides the data"
TOO_SMALL = "; TOO SMALL to hide the data"


def check_words(error: float, noisy: bool = False) -> str:
    """How far from the pooled answer."""
    by = " of exact data" if noisy else ""
    return f"{error:.1e} from the pooled answer{by}, which only a simulation can compute"


def noise_words(variance: float, secret: bool) -> str:
    """What it does to the answer, and whether anybody could subtract it."""
    seeded = "" if secret else "; from a seed: reproducible, not secret"
    return f"of variance {variance:g} on every number of every party: the answer is off by it{seeded}"


def message_words(result: Result) -> str:
    """How many, and over which edges where these are not all."""
    return f"{result.messages:,}" + ("" if result.overlay is None else f", over {result.overlay}")


def add_run(table: Table, result: Result, tol: float) -> None:
    """What every run has: how it ended, and what it took."""
    from rich.text import Text

    from ..pdmm.penalties import shown

    status = result.status.value
    table.add_row("status", Text(ENDINGS[status], style=f"bold {COLOURS[status]}"))
    table.add_row("residual", residual_words(result.residual, tol))
    table.add_row("iterations", f"{result.iterations:,}")
    table.add_row("activations", f"{result.activations:,}")
    table.add_row("messages", Text(message_words(result)))
    table.add_row("wall time", f"{result.wall_time:.3g} s")
    table.add_row("c, theta", f"{shown(result.c)}, {result.theta:g}")
    bare = result.secret is None and result.noise is not None
    pads = NOISE_ALONE if bare else PADS[result.secret]
    table.add_row("pads", pads + (TOO_SMALL if result.hidden is False else ""))
    if result.noise is not None:
        table.add_row("noise", noise_words(result.noise.variance, result.seed is None))


def print_solved(solved: ProblemFile, result: Result) -> None:
    """The answer of ``sottovoce solve``, for people."""
    import numpy as np
    from rich.console import Console
    from rich.text import Text

    from ..data.scale_hint import scale_hint

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
        table.add_row("check", check_words(error, result.noise is not None))
    add_run(table, result, solved.options["tol"])
    for note in cost.notes:
        table.add_row("note", Text(note))
    if leak := leaks(solved, result):
        table.add_row(Text("leaks", style="bold red"), Text(leak))
    console = Console(highlight=False)
    console.print(f"{cost.kind} between {network.n} parties over {network.m} edges\n")
    console.print(values, "", table, sep="\n")
    if cost.scale is not None and (hint := scale_hint(answer * cost.scale, result.activations / network.n)):
        console.print(f"\nhint: {hint}")


def sure_decimals(size: float, error: float) -> int:
    """As many as the known error leaves, and no more than make ten digits."""
    if not (math.isfinite(size) and math.isfinite(error)):
        return 3
    digits = 9 - (math.floor(math.log10(size)) if size > 0 else 0)
    sure = -math.floor(math.log10(error)) if error > 0 else digits
    return max(0, min(digits, sure))


def leaks(solved: ProblemFile, result: Result) -> str | None:
    """What a mask does not hide of these costs; of a run without a mask it goes without saying."""
    if not solved.cost.unhidden or result.secret is None:
        return None
    cure = ". A [statistic] of this type does not" if solved.cost.kind == "least_squares" else ""
    return solved.cost.unhidden + cure


def solved_rows(solved: ProblemFile, result: Result) -> tuple[list[str], list[list[Any]]]:
    """For CSV: a row per party, with the answer as it holds it."""
    import numpy as np

    x = np.asarray(result.x).reshape(solved.problem.network.n, -1).tolist()
    return ["party", *solved.cost.columns], [[name, *own] for name, own in zip(solved.cost.parties, x, strict=True)]


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
        "tol": solved.options["tol"],
        "edges": network.m,
        "check": check,
        "notes": [*cost.notes, *([leak] if (leak := leaks(solved, result)) else [])],
        "leaks": leak,
    }
