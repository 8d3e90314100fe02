"""How things are timed: interleaved rounds, the median of per-round ratios, and a row for each bar."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent


@dataclass
class Row:
    """One measured figure. ``sense`` says on which side of ``bar`` it has to be; without a bar it is information."""

    name: str
    measured: float | None  # None: could not be measured here, ``how`` says why
    bar: float | None
    sense: str  # "at most" or "at least"
    how: str
    unit: str = "x"
    quartiles: tuple[float, float] | None = None  # of the rounds
    group: str = ""
    holds: bool | None = field(init=False)

    def __post_init__(self) -> None:
        if self.bar is None or self.measured is None:
            self.holds = None
        else:
            self.holds = bool(self.measured <= self.bar if self.sense == "at most" else self.measured >= self.bar)


@dataclass
class Group:
    """What one benchmark gives back: rows with bars, and perhaps a table of its own."""

    rows: list[Row]
    table: list[dict[str, Any]] = field(default_factory=list)
    title: str = "c='auto'; rounds: iterations, or activations per node"  # of the table


def seconds(task: Callable[[], object]) -> float:
    started = time.perf_counter()
    task()
    return time.perf_counter() - started


Times = dict[str, list[float]]


def interleaved(rounds: int, tasks: Mapping[str, Callable[[], object]]) -> Times:
    """Each round runs every task once, starting with another one each time; neighbours then disturb all alike.

    A first round, which compiles and touches memory, is not counted.
    """
    names = list(tasks)
    times: Times = {name: [] for name in names}
    for number in range(-1, rounds):
        for at in range(len(names)):
            name = names[(at + number) % len(names)]
            taken = seconds(tasks[name])
            if number >= 0:
                times[name].append(taken)
    return times


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Inside, kernels have so many threads, if there are as many."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def fastest(times: Times, prefix: str) -> list[float]:
    """Per round, the fastest of the tasks whose names begin so."""
    return [min(taken) for taken in zip(*(t for name, t in times.items() if name.startswith(prefix)), strict=True)]


def ratio_row(
    name: str, above: list[float], below: list[float], bar: float | None, sense: str, how: str, unit: str = "x"
) -> Row:
    """The median of the per-round ratios ``above / below``."""
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    low, high = np.quantile(ratios, [0.25, 0.75])
    return Row(name, median(ratios), bar, sense, how, unit, (float(low), float(high)))


def nanoseconds(times: list[float], work: float) -> str:
    return f"{median(times) / work * 1e9:.3g} ns"


VECTORS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "asimd", "sve")  # told apart by compilers


def cpu(information: str) -> dict[str, str]:
    """What is known of the CPU (``/proc/cpuinfo``). The name alone may be that of many, as "AMD EPYC"."""
    fields = [line.partition(":") for line in information.partition("\n\n")[0].splitlines()]
    known = {name.strip(): value.strip() for name, _, value in fields}
    kind = [f"{name.split()[-1]} {known[name]}" for name in ("cpu family", "model", "stepping") if name in known]
    name = known.get("model name") or platform.processor() or platform.machine()
    features = known.get("flags", known.get("Features", "")).split()
    return {
        "cpu": f"{name} ({', '.join(kind)})" if kind else name,
        "vectors": " ".join(feature for feature in VECTORS if feature in features),
        "code for": os.environ.get("NUMBA_CPU_NAME", "this CPU"),
    }


def machine() -> dict[str, Any]:
    import numba

    return {
        **cpu("\n".join(_lines("/proc/cpuinfo"))),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "system": platform.platform(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S"),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def fresh(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """``code`` in a new interpreter."""
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True)


def write_json(path: Path, groups: Mapping[str, Group], quick: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "machine": machine(),
        "quick": quick,
        "rows": [plain(asdict(row)) for group in groups.values() for row in group.rows],
        "tables": {name: plain(group.table) for name, group in groups.items() if group.table},
    }
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """For JSON, which has no infinity."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
