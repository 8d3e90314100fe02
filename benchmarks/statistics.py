"""What statistics on exact sums cost: agreements, bytes and processor time, and memory with many columns."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import sottovoce as sv

from .measure import Group, Row, fresh, ratio_row

REGRESSION = """
import json
import numba, numpy as np, sottovoce as sv
numba.set_num_threads(1)
def peak():  # of this program alone: what getrusage says begins with the parent's
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
rng = np.random.default_rng(0)
def shards(n, rows, p):
    return [(rng.normal(size=(rows, p)), rng.normal(size=rows)) for _ in range(n)]
sv.private_linear(sv.Network.ring(4), shards(4, 5, 2))  # compiles
network, data = sv.Network.random_geometric({n}, seed=1), shards({n}, {rows}, {p})
before = peak()
fit = sv.private_linear(network, data)
print(json.dumps({{"before": before, "peak": peak(), "m": network.m, "bytes": fit.traffic.bytes}}))
"""


def statistics(quick: bool) -> Group:
    """Agreements of models, and the memory of one."""
    return Group([*_agreements(quick), *_against_pooled(quick), *_memory(quick)])


def _agreements(quick: bool) -> list[Row]:
    """Counts, which are the same on every machine. Pads of 8 bytes a number took 12 agreements for this model, and 54
    messages each; words of 32 bytes take fewer bytes in all."""
    rows, columns = (200, 3) if quick else (2_000, 10)
    x, outcome, _ = _drawn(rows, columns)
    formula = _formula("y", columns)
    fits = {n: _study(n, x, y=outcome).glm(formula, family="binomial") for n in (3, 10, 30)}
    fit, n = fits[10], 10
    how = f"logistic regression of {rows:,} rows and {columns} columns, {n} parties on a geometric graph"
    each = fit.traffic.bytes / fit.traffic.agreements / 1e3
    sends = 2 * (n - 1) * fit.traffic.agreements
    told = [_answer(fit) for fit in fits.values()]
    different = len({json.dumps(answer, sort_keys=True) for answer in told})
    return [
        Row("agreements of a GLM", fit.traffic.agreements, 8.0, "at most", how, ""),
        Row("messages of a GLM / two sweeps an agreement", fit.traffic.messages / sends, 1.0, "at most", how),
        Row("bytes an agreement", each, 60.0, "at most", f"{how}; all parties together", "kB"),
        Row("answers that differ, 3, 10 and 30 parties", different, 1.0, "at most", f"{how}; to the bit", ""),
    ]


def _answer(fit: Any) -> dict[str, Any]:
    """Public numbers of an answer that do not depend on how many parties there are."""
    return {"params": fit.params.tolist(), "bse": fit.bse.tolist(), "llf": fit.llf, "deviance": fit.deviance}


def _against_pooled(quick: bool) -> list[Row]:
    """Of all parties together: processor time, since threads work on blocks of tables."""
    import statsmodels.api as sm

    rounds, rows, columns = (1, 2_000, 5) if quick else (5, 100_000, 20)
    x, outcome, response = _drawn(rows, columns)
    study, design = _study(10, x, y=outcome, z=response), sm.add_constant(x)
    logit = sm.families.Binomial()
    times = _processor(
        rounds,
        {
            "GLM": lambda: study.glm(_formula("y", columns), family="binomial"),
            "pooled GLM": lambda: sm.GLM(outcome.astype(float), design, family=logit).fit(),
            "linear model": lambda: study.linear(_formula("z", columns)),
            "pooled linear model": lambda: sm.OLS(response, design).fit(),
        },
    )
    found = []
    for kind, bar in (("GLM", 5.0), ("linear model", 3.0)):
        own, pooled = times[kind], times[f"pooled {kind}"]
        how = (
            f"{rows:,} rows with three decimals, {columns} columns, ten parties in one process; "
            f"{median(own):.2g} s against {median(pooled):.2g} s"
        )
        name = f"processor time / pooled statsmodels: {kind}"
        found.append(ratio_row(name, own, pooled, bar, "at most", how))
    return found


def _memory(quick: bool) -> list[Row]:
    """Bar 600 MB at n = 100, p = 200."""
    rows = []
    for n, p, bar in [(10, 20, None)] if quick else [(10, 200, None), (100, 200, 600.0)]:
        told = json.loads(fresh(REGRESSION.format(n=n, p=p, rows=max(20, 3 * p // n))).stdout)
        what = f"private_linear, n = {n}, p = {p}"
        how = f"peak resident set of a fresh process, {told['before'] / 1e6:.0f} MB before; {told['m']} edges"
        rows.append(Row(f"peak memory of {what}", told["peak"] / 1e6, bar, "at most", how, "MB"))
        sums = told["bytes"] * n / (2 * (n - 1))
        how = f"what the peak grows by, against all parties' sums of products, {sums / 1e6:.0f} MB as words"
        rows.append(Row(f"memory of {what} / its sums", (told["peak"] - told["before"]) / sums, None, "at most", how))
    return rows


def _drawn(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns with three decimals, outcomes, and a response with two."""
    rng = np.random.default_rng(0)
    x = np.round(rng.uniform(-1, 1, (rows, columns)), 3)
    eta = x @ rng.normal(0, 1 / np.sqrt(columns), columns) - 0.9
    return x, rng.random(rows) < 1 / (1 + np.exp(-eta)), np.round(eta + rng.normal(size=rows), 2)


def _study(n: int, x: np.ndarray, **more: np.ndarray) -> sv.Study:
    """The rows, dealt out to ``n`` parties."""
    columns = {**{f"x{k}": column for k, column in enumerate(x.T)}, **more}
    schema: dict[str, Any] = {name: {"type": "number", "range": (-1, 1), "unit": 0.001} for name in columns}
    schema |= {name: "boolean" if name == "y" else {"type": "number", "range": (-9, 9), "unit": 0.01} for name in more}
    parts = np.array_split(np.arange(len(x)), n)
    tables = [{name: column[part] for name, column in columns.items()} for part in parts]
    return sv.Study(sv.Network.random_geometric(n, seed=1), tables, schema=schema)


def _formula(response: str, columns: int) -> str:
    return f"{response} ~ " + " + ".join(f"x{k}" for k in range(columns))


def _processor(rounds: int, tasks: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Processor seconds of every task, in turns; a first round, which compiles, is not counted."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(-1, rounds):
            for name, task in tasks.items():
                started = time.process_time()
                task()
                if number >= 0:
                    times[name].append(time.process_time() - started)
    return times
