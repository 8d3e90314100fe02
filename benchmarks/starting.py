"""What a party costs before its first message: its start, and its pads."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from .measure import Row, fresh, interleaved, ratio_row

LIBRARIES = "import numpy, asyncio, ssl, websockets.server, websockets.client, cryptography"


def starting(party: Path, quick: bool) -> list[Row]:
    """CPU of ``sottovoce node`` until it listens, against the import of what it cannot do without."""
    rounds = 1 if quick else 7
    own, bare = [], []
    for _ in range(rounds + 1):  # the first may compile
        own.append(_until_ready(party))
        bare += importing(1)
    how = f"the process until its status socket is there; {1e3 * float(np.median(own[1:])):.0f} ms"
    return [ratio_row(f"CPU of a party, start to ready / {LIBRARIES}", own[1:], bare[1:], 2.0, "at most", how)]


def pads(quick: bool) -> list[Row]:
    """Quantiles in plain operations against SciPy's."""
    from scipy.special import ndtri

    from sottovoce.numerics.normal_quantile import lower_quantile

    tail = np.random.default_rng(0).uniform(2.0**-64, 0.5, 10_000 if quick else 1_000_000)
    tasks = {"plain": lambda: lower_quantile(tail), "scipy": lambda: ndtri(tail)}
    times = interleaved(1 if quick else 7, tasks)
    how = f"{len(tail):,} numbers; {1e9 * float(np.median(times['plain'])) / len(tail):.0f} ns each"
    title = "quantiles that are the same everywhere / scipy.special.ndtri"
    return [ratio_row(title, times["plain"], times["scipy"], 5.0, "at most", how)]


def importing(rounds: int) -> list[float]:
    """CPU of interpreters that load what a party cannot do without, and end."""
    times = []
    for _ in range(rounds):
        before = children()
        fresh(LIBRARIES)
        times.append(children() - before)
    return times


def children() -> float:
    """CPU of all processes that were started here and have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _until_ready(party: Path) -> float:
    """Of all its threads, in seconds."""
    ready = party / "journal.sqlite.sock"
    command = [sys.executable, "-m", "sottovoce", "node", str(party / "node.toml")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"the party has ended with {process.returncode}.")
                time.sleep(0.002)
            tasks = Path(f"/proc/{process.pid}/task").iterdir()
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
        finally:
            process.terminate()
