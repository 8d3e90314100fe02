"""What ``sottovoce solve`` answers to ``[statistic]``: a table for people, one JSON object for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..pdmm.penalties import shown
from ..statistics.at_one_party import Spec
from ..statistics.statistic_file import StatisticFile, hidden
from ..statistics.tables import pooled, table, text
from .solve_answer import COLOURS, ENDINGS, PADS, TOO_SMALL, check_words, message_words
from .terminal import facts, residual_words

if TYPE_CHECKING:
    from ..pdmm.result import Result
    from ..statistics.statistic import Statistic


def print_statistic(file: StatisticFile, found: Statistic) -> None:
    """The answer for people."""
    from rich.console import Console
    from rich.text import Text

    status, whole = found.status.value, whole_run(found)
    rows = facts()
    if (check := compared(file, found)) is not None:
        rows.add_row("check", check_words(check[1]))
    rows.add_row("status", Text(ENDINGS[status], style=f"bold {COLOURS[status]}"))
    rows.add_row("agreements", f"{len(found.runs)}, one after the other")
    rows.add_row("residual", residual_words(whole.residual, file.simulation.tol))
    rows.add_row("iterations", f"{whole.iterations:,}")
    rows.add_row("activations", f"{whole.activations:,}")
    rows.add_row("messages", Text(message_words(whole)))
    rows.add_row("wall time", f"{whole.wall_time:.3g} s")
    rows.add_row("c, theta", f"{shown(whole.c)}, {whole.theta:g}")
    rows.add_row("pads", PADS[whole.secret] + ("" if hidden(found) else TOO_SMALL))
    rows.add_row("disclosed", Text(disclosed(file)))
    console = Console(highlight=False)
    console.print(f"{file.spec.type} between {file.network.n} parties over {file.network.m} edges\n")
    console.print(Text(text(found, file.spec.columns)), soft_wrap=True)
    console.print("", rows, sep="\n")


def disclosed(file: StatisticFile) -> str:
    """What an agreement tells at any mask; what the run tells besides is what an audit measures."""
    return f"sums over each group of honest parties, of: {'; '.join(file.revealed)}"


def whole_run(found: Statistic) -> Result:
    """All agreements as one run: sums of what they took, the largest residual, and their records end to end."""
    runs = found.runs
    starts = np.cumsum([0, *(run.iterations for run in runs)])
    history = {}
    if all("residual" in run.history for run in runs):
        history["iteration"] = np.concatenate(
            [start + run.history["iteration"] for start, run in zip(starts, runs, strict=False)]
        )
        history["residual"] = np.concatenate([run.history["residual"] for run in runs])
    return replace(
        runs[-1],
        iterations=int(starts[-1]),
        activations=sum(run.activations for run in runs),
        messages=sum(run.messages for run in runs),
        residual=max(run.residual for run in runs),
        wall_time=sum(run.wall_time for run in runs),
        secret=all(run.secret for run in runs),
        history=history,
        z=np.empty(0),
    )


def compared(file: StatisticFile, found: Statistic) -> tuple[dict[str, Any], float] | None:
    """The answer of the pooled rows, and how far that of the parties is from it; None without one, or for very many."""
    rows = file.pooled() if found.status.value == "converged" else None
    if rows is None or not isinstance(file.spec, Spec):
        return None
    exact = pooled(file.spec, rows)
    error = max(float(np.abs(np.asarray(getattr(found, name)) - value).max()) for name, value in exact.items())
    return {name: np.asarray(value).tolist() for name, value in exact.items()}, error


def statistic_dict(file: StatisticFile, found: Statistic) -> dict[str, Any]:
    """The answer of ``sottovoce solve --json``, with the keys of a party's result file where it has them."""
    whole, check = whole_run(found), compared(file, found)
    return {
        "type": file.spec.type,
        "statistic": file.question,
        "columns": list(file.spec.columns),
        "parties": file.parties,
        "answer": found.to_dict(),
        "disclosure": found.disclosure.to_dict(),
        "status": found.status.value,
        "agreements": len(found.runs),
        "residual": whole.residual,
        "residuals": [run.residual for run in found.runs],
        "tol": file.simulation.tol,
        "iterations": whole.iterations,
        "activations": whole.activations,
        "messages": whole.messages,
        **{name: value for name, value in whole.to_dict().items() if name in ("c", "theta", "overlay")},
        "seed": file.simulation.seed,
        "secret": whole.secret,
        "hidden": hidden(found),
        "wall_time": whole.wall_time,
        "history": {name: values.tolist() for name, values in whole.history.items()},
        "edges": file.network.m,
        "check": None if check is None else {"pooled": check[0], "max_error": check[1], "simulation_only": True},
        "notes": [f"disclosed are {disclosed(file)}"],
        "leaks": None,
    }


def statistic_rows(file: StatisticFile, found: Statistic) -> tuple[list[str], list[list[Any]]]:
    """For CSV: a row per term, column or bin."""
    return table(found, file.spec.columns) if found.status.value == "converged" else ([], [])
