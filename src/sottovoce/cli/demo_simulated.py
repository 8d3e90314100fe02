"""The demonstration, simulated: ten parties agree on the exact mean of values that none of them shows."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.masks import GaussianMask
from ..pdmm.recorders import Recorder
from ..pdmm.reference import Run
from ..pdmm.result import Result, Status
from ..pdmm.schedules import Asynchronous
from ..pdmm.solve import solve
from .solve_answer import add_run
from .terminal import facts, print_json

if TYPE_CHECKING:
    from rich.table import Table

NAMES = ("Ada", "Bo", "Cem", "Dina", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jun")
VALUES = np.array([312.0, 275.0, 198.0, 441.0, 367.0, 229.0, 305.0, 284.0, 390.0, 256.0])  # kWh a month
GRAPH_SEED = 1
VARIANCE = 1e10  # a hundred times the largest value, and more, is its sigma
TOL = 1e-10  # the mask's rounding is about 1e-11
EVERY = 2  # iterations between two frames
FRAME = 0.1  # seconds a frame
WATCHED = (0, 3, 6, 9)  # parties in the plain lines
PLAIN = 5  # a plain line for every fifth frame
BAR = 26  # cells for a distance of 1e5; it falls to none at 1e-8

REVEALED = (
    "in theory, once all have spoken: curious parties that pool what they know, and tap "
    "all channels, learn exactly the sum over each connected group of the others, and nothing else exactly"
)


def run_demo(json: bool, seed: int | None, fast: bool) -> int:
    """Run it, and print it for people or for programs; the exit status."""
    network = Network.random_geometric(len(VALUES), seed=GRAPH_SEED).with_labels(NAMES)
    mean = float(VALUES.mean())
    with _display(json, fast, mean) as watch:
        result = solve(
            averaging(network, VALUES), schedule=Asynchronous(), overlay="tree", mask=GaussianMask(VARIANCE), seed=seed,
            tol=TOL, record=[watch], record_every=EVERY, progress=False,
        )  # fmt: skip
    error = float(np.abs(result.x - mean).max())
    if json:
        print_json(_as_dict(result, network, mean, error))
    else:
        _summary(result, network, error)
    return 0 if result.status is Status.CONVERGED else 1


def floor(n: int) -> float:
    """What the mean itself gives away of one of ``n`` independent Gaussian values, in nats (theory: The floor)."""
    return -0.5 * math.log(1 - 1 / n)


@dataclass(frozen=True)
class Frame:
    """What is shown of a run under way."""

    iteration: int
    x: Any
    residual: float
    error: float


class Watch(Recorder):
    """A recorder that shows what it sees."""

    name = "error"

    def __init__(self, mean: float, show: Any) -> None:
        self.mean, self.show = mean, show

    def __call__(self, run: Run) -> float:
        error = float(np.abs(run.x - self.mean).max())
        self.show(Frame(run.iteration, run.x, run.residual(), error))
        return error


@contextmanager
def _display(json: bool, fast: bool, mean: float) -> Iterator[Watch]:
    """A live table on a terminal, a few lines in a pipe, nothing with ``--json``."""
    if json or fast:
        yield Watch(mean, lambda frame: None)
    elif sys.stdout.isatty():
        from rich.live import Live

        with Live(auto_refresh=False) as live:

            def show(frame: Frame) -> None:
                live.update(_live_table(frame, mean), refresh=True)
                time.sleep(FRAME)

            yield Watch(mean, show)
    else:
        print(f"{'iteration':>9}  {'residual':>9}  {'error':>9}  x of {', '.join(NAMES[i] for i in WATCHED)}")
        yield Watch(mean, _plain_line)


def _plain_line(frame: Frame) -> None:
    if frame.iteration % (PLAIN * EVERY) == 0:
        x = "  ".join(f"{frame.x[i]:.6g}" for i in WATCHED)
        print(f"{frame.iteration:>9}  {frame.residual:>9.1e}  {frame.error:>9.1e}  {x}")


def _live_table(frame: Frame, mean: float) -> Table:
    """Every party's own value and current ``x``, with its distance from the mean on a logarithmic bar."""
    from rich.table import Table

    title = f"iteration {frame.iteration:>4}   residual {frame.residual:.0e}   error {frame.error:.0e}"
    table = Table(box=None, title=title, title_justify="left", title_style="bold", padding=(0, 2, 0, 0))
    table.add_column("party")
    table.add_column("own value", justify="right", style="dim")
    table.add_column("now believes", justify="right", min_width=14)
    table.add_column("distance from the mean, log scale", min_width=BAR, no_wrap=True)
    for name, own, x in zip(NAMES, VALUES, frame.x, strict=True):
        asleep = x == 0.0  # until a party first wakes
        away = 0 if asleep else round(BAR * (math.log10(max(abs(x - mean), 1e-12)) + 8) / 13)
        bar = "asleep" if asleep else "[blue]" + "█" * min(max(away, 0), BAR) + "[/]"
        table.add_row(name, f"{own:g}", "" if asleep else f"{x:.6f}", bar)
    return table


def _summary(result: Result, network: Network, error: float) -> None:
    from rich.console import Console
    from rich.text import Text

    table = facts()
    table.add_row("answer", Text(f"{result.x.mean():.10g} kWh", style="bold cyan"))
    table.add_row("check", f"{error:.1e} from the pooled mean, which only a simulation can compute")
    add_run(table, result, TOL)
    table.add_row("mask", f"variance {VARIANCE:g} on every channel; no audit was run")
    table.add_row("revealed", REVEALED)
    tells = f"what the mean itself tells of one of {network.n} independent Gaussian values; no mask can hide it"
    table.add_row("floor", f"{floor(network.n):.4f} nats: {tells}")
    console = Console(highlight=False)
    console.print()
    console.print(f"{network.n} households, {network.m} channels: their mean use, found without showing any one's own")
    console.print(table)


def _as_dict(result: Result, network: Network, mean: float, error: float) -> dict[str, Any]:
    return {
        "parties": list(NAMES),
        "private_values": VALUES.tolist(),
        "answer": float(result.x.mean()),
        **result.to_dict(),
        "edges": network.m,
        "variance": VARIANCE,
        "check": {"pooled": mean, "max_error": error, "simulation_only": True},
        "revealed": REVEALED,
        "floor_nats": floor(network.n),
        "audited": False,
    }
