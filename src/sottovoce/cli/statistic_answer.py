"""What ``sottovoce solve`` answers to ``[statistic]``: a table for people, one JSON object for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..statistics.analyses import table
from ..statistics.statistic_file import StatisticFile
from .terminal import facts

if TYPE_CHECKING:
    from ..statistics.statistic import Statistic


def print_statistic(file: StatisticFile, answer: Statistic, seconds: float) -> None:
    """The answer for people."""
    from rich.console import Console
    from rich.text import Text

    rows, traffic = facts(), answer.traffic
    rows.add_row("status", Text("exact: the answer of the pooled rows", style="bold green"))
    if traffic is not None:
        rows.add_row("agreements", f"{traffic.agreements}, one after the other")
        rows.add_row("messages", f"{traffic.messages:,}, of {traffic.bytes:,} bytes together")
    rows.add_row("wall time", f"{seconds:.3g} s")
    rows.add_row("pads", "uniform, from the operating system: the procedure adds nothing to the totals")
    rows.add_row("disclosed", Text(disclosed(file)))
    console = Console(highlight=False)
    console.print(f"{file.spec.type} between {file.network.n} parties over {file.network.m} edges\n")
    console.print(Text(answer.summary()), soft_wrap=True)
    console.print("", rows, sep="\n")


def disclosed(file: StatisticFile) -> str:
    """What totals tell, whatever the pads."""
    return f"sums over each group of honest parties, of: {'; '.join(file.revealed)}"


def statistic_dict(file: StatisticFile, answer: Statistic, seconds: float) -> dict[str, Any]:
    """The answer of ``sottovoce solve --json``, with the keys of a party's result file where it has them."""
    traffic = answer.traffic
    assert traffic is not None  # of a simulation
    return {
        "type": file.spec.type,
        "statistic": file.question,
        "columns": list(file.spec.columns),
        "parties": file.parties,
        "answer": answer.to_dict(),
        "disclosure": answer.disclosure.to_dict(),
        "status": answer.status.value,
        "agreements": traffic.agreements,
        "messages": traffic.messages,
        "bytes": traffic.bytes,
        "wall_time": seconds,
        "edges": file.network.m,
        "notes": [f"disclosed are {disclosed(file)}"],
        "leaks": None,
    }


def statistic_rows(file: StatisticFile, answer: Statistic) -> tuple[list[str], list[list[Any]]]:
    """For CSV: a row per term, column or bin."""
    return table(answer)
