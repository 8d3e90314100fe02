"""Run the benchmarks: ``python -m benchmarks [--quick] [--only NAME ...] [--json PATH]``."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sottovoce.errors import NotConvergedWarning

from .measure import ROOT, Group, Row, machine, write_json

# Loaded when it is run: a machine has to have what its own benchmarks need, and no more.
BENCHMARKS = {
    "native": "speed.against_native",
    "roof": "speed.against_memory",
    "node-space": "speed.against_edge_major",
    "numpy": "speed.against_numpy",
    "by-edge": "penalties.by_edge",
    "solve": "overhead.solve_overhead",
    "states": "overhead.states",
    "million": "overhead.million",
    "import": "overhead.importing",
    "auto": "tuning.automatic",
    "pairs": "pairs.both",
    "kinked": "pairs.kinked",
    "messages": "messages.fewer",
    "others": "others.others",
    "batch": "speed.batches",
    "logistic": "logistic.logistic",
    "activations": "activations.activations",
    "audit": "auditing.audits",
    "encrypted": "auditing.encrypted",
    "projections": "projections.projections",
    "statistics": "statistics.statistics",
    "tables": "tables.tables",
    "models": "models.models",
    "network": "network.networking",
    "reading": "reading.sources",
    "studio": "studio.pages",
    "cuda": "cuda.on_gpu",
    "sweeps": "sweeps.sweeps",
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed, as ratios within one run.")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: checks that everything runs")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="one benchmark; may be repeated")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "latest.json", metavar="PATH")
    options = parser.parse_args(arguments)
    numba.set_num_threads(1)
    warnings.simplefilter("ignore", NotConvergedWarning)  # of runs that are to look and never to end
    console = Console(width=None if sys.stdout.isatty() else 160)
    groups: dict[str, Group] = {}
    for name in options.only or BENCHMARKS:
        started = time.perf_counter()
        with console.status(f"{name} ...") if sys.stdout.isatty() else _nothing():
            groups[name] = benchmark(name)(options.quick)
        for row in groups[name].rows:
            row.group = name
            row.holds = None if options.quick else row.holds
        console.print(f"{name}: {time.perf_counter() - started:.0f} s", style="dim")
        write_json(options.json, groups, options.quick)
    for group in groups.values():
        if group.table:
            console.print(details(group.table, group.title))
    console.print(summary([row for group in groups.values() for row in group.rows], options.quick))
    console.print(f"written to {options.json}")
    return 0


def benchmark(name: str) -> Callable[[bool], Group]:
    module, function = BENCHMARKS[name].split(".")
    found: Callable[[bool], Group] = getattr(import_module(f".{module}", __package__), function)
    return found


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def summary(rows: list[Row], quick: bool) -> Table:
    here = machine()
    title = (
        f"{here['cpu']}, {here['cores']} cores, load {here['load']:.1f}\n{here['vectors']}; code for {here['code for']}"
    )
    table = Table(title=title + (": QUICK, too small to be judged" if quick else ""))
    table.add_column("what", ratio=4)
    for column in ("measured", "quartiles", "bar", ""):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("how", ratio=7)
    for row in rows:
        unit = f" {row.unit}" if row.unit and row.unit != "x" else ""
        measured = "not measured" if row.measured is None else f"{row.measured:.3g}{unit}"
        spread = "" if row.quartiles is None else f"{row.quartiles[0]:.3g} .. {row.quartiles[1]:.3g}"
        bar = "" if row.bar is None else f"{'<=' if row.sense == 'at most' else '>='} {row.bar:g}{unit}"
        verdict = {True: "[green]holds", False: "[bold red]MISSED", None: ""}[row.holds]
        table.add_row(escape(row.name), measured, spread, bar, verdict, escape(row.how))
    return table


def details(rows: list[dict[str, Any]], title: str) -> Table:
    table = Table(title=title)
    for column in rows[0]:
        table.add_column(column, justify="left" if isinstance(rows[0][column], str) else "right", no_wrap=True)
    for row in rows:
        cells = [value if isinstance(value, str) else f"{value:.3g}" for value in row.values()]
        table.add_row(*cells, style="bold red" if not row.get("ratio", 1.0) <= 1.5 else None)
    return table


if __name__ == "__main__":
    sys.exit(main())
