"""All curves, the table and the picture: ``python -m benchmarks.growth [--quick] [--draw-only]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..measure import ROOT, fresh, machine
from . import peers
from .picture import draw
from .point import NUMPY, SCHEDULES

RESULTS = ROOT / "results" / "growth.json"
CUDA = ROOT / "growth_cuda.json"  # curves of the same form, measured on another machine
PICTURE = ROOT.parent / "docs" / "images" / "growth.png"
GRAPHS = ("geometric", "random")  # sorted by place; regular, without locality
OWN = [(series, graph) for graph in GRAPHS for series in (*SCHEDULES, NUMPY)]
QUICK = [("asynchronous", "geometric"), (NUMPY, "geometric")]
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)
MEMORY = 10e9  # bytes that one point may take
SECONDS = 300  # that one may take in all
PEER_SECONDS = 60
BARE = "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"

COLUMNS = ("n", "directed edges", "ns per edge, iteration", "bytes per edge", "peak MB", "generation s", "load")

Curve = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description="Time and memory per edge.")
    parser.add_argument("--quick", action="store_true", help="two small sizes, no peers: checks that everything runs")
    parser.add_argument("--draw-only", action="store_true", help="the picture of what was measured before")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH")
    parser.add_argument("--picture", type=Path, default=PICTURE, metavar="PATH")
    options = parser.parse_args(arguments)
    if not options.draw_only:
        measure(options.json, options.quick)
    found = json.loads(options.json.read_text())
    console = Console(width=150)
    for curve in found["curves"]:
        console.print(table(curve))
    other = json.loads(CUDA.read_text())["curves"] if CUDA.exists() else []
    draw(found, other).savefig(options.picture, dpi=200)
    console.print(f"written to {options.json} and {options.picture}")
    return 0


def measure(path: Path, quick: bool) -> None:
    """All curves, size by size: whoever stops it has the smaller sizes of all of them."""
    found: dict[str, Any] = {"machine": machine(), "bare": 1024 * int(fresh(BARE).stdout)}
    found["curves"] = curves = [own_curve(*which) for which in (QUICK if quick else OWN)]
    if not quick:
        curves += [curve for peer in peers.PEERS for curve in peer_curves(peer)]
    path.parent.mkdir(parents=True, exist_ok=True)
    for n in SIZES[:2] if quick else SIZES:
        for curve in curves:
            if curve["stopped"]:
                continue
            load = os.getloadavg()[0]
            try:
                point = own_point(curve, n, quick) if "peer" not in curve else peer_point(curve, n)
            except peers.Missing as why:
                curve["stopped"] = str(why)
            else:
                point["bytes"] = (point["peak"] - found["bare"]) / point["edges"]
                curve["points"].append({**point, "load": load})
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def own_curve(series: str, graph: str) -> Curve:
    return {"series": series, "graph": graph, "points": [], "stopped": ""}


def own_point(curve: Curve, n: int, quick: bool) -> dict[str, Any]:
    if n > 1_000_000:  # below, what is loaded is most of it
        last = curve["points"][-1]
        if (memory := last["peak"] * n / last["n"]) > MEMORY:
            raise peers.Missing(f"n = {n:,} would take some {memory / 1e9:.0f} GB")
    command = [sys.executable, "-m", "benchmarks.growth.point", curve["series"], curve["graph"], str(n)]
    return peers.answer([*command, *["--quick"] * quick], n, SECONDS)


def peer_curves(peer: peers.Peer) -> Iterator[Curve]:
    for graph in GRAPHS:
        curve = own_curve(f"{peer.name} ({peer.method})", graph)
        try:
            python = peers.environment(peer)
        except peers.Missing as why:
            yield {**curve, "stopped": str(why)}
        else:
            yield {**curve, "peer": peer.name, **peers.about(peer, python)}


def peer_point(curve: Curve, n: int) -> dict[str, Any]:
    (peer,) = (peer for peer in peers.PEERS if peer.name == curve["peer"])
    return peers.measured(peer, curve["graph"], n, 0.5, PEER_SECONDS, int(MEMORY))


def table(curve: Curve) -> Table:
    title = f"{curve['series']}, {curve['graph']} graph" + (f": {curve['stopped']}" if curve["stopped"] else "")
    shown = Table(title=title, title_justify="left")
    for column in COLUMNS:
        shown.add_column(column, justify="right")
    for p in curve["points"]:
        cells = [f"{p['n']:,}", f"{p['edges']:,}", f"{p['ns']:.3g}", f"{p['bytes']:.3g}", f"{p['peak'] / 1e6:,.0f}"]
        shown.add_row(*cells, *(f"{p[key]:.2g}" if key in p else "" for key in ("generation", "load")))
    return shown


if __name__ == "__main__":
    sys.exit(main())
