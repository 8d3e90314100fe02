"""What models on exact sums cost: against pooled statsmodels in the same run, and between processes."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv

from .measure import Group, Row, interleaved, ratio_row, seconds
from .over_a_tree import DELAY, Lines

MPC_MINUTES = 316  # a logistic regression of 7,000 rows and 54 columns in a general MPC system, as a user reported


def models(quick: bool) -> Group:
    """``study.glm`` against statsmodels, and three and ten parties as processes."""
    return Group([*_simulated(quick), *([] if quick else [*_three_parties(), *_long_lines()])])


def _drawn(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns, and outcomes of which 30 % are 1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(rows, columns))
    eta = x @ rng.normal(0, 1 / np.sqrt(columns), columns) - 0.9
    return x, (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(float)


def _names(columns: int) -> list[str]:
    return [f"x{k}" for k in range(columns)]


def _table(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    return {**dict(zip(_names(x.shape[1]), x.T, strict=True)), "y": y}


def _schema(columns: int) -> dict[str, Any]:
    return {**{name: {"type": "number", "range": (-1, 1)} for name in _names(columns)}, "y": "boolean"}


def _pooled(x: np.ndarray, y: np.ndarray) -> Any:
    import statsmodels.api as sm

    return sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit()


def _simulated(quick: bool) -> list[Row]:
    """Ten parties of one process, a million rows of 50 columns."""
    rounds, rows, columns, n = (1, 2_000, 5, 3) if quick else (2, 1_000_000, 50, 10)
    x, y = _drawn(rows, columns, 0)
    parts = np.array_split(np.arange(rows), n)
    tables = [_table(x[part], y[part].astype(bool)) for part in parts]
    study = sv.Study(sv.Network.complete(n), tables, schema=_schema(columns))
    formula = f"y ~ {' + '.join(_names(columns))}"
    found: dict[str, Any] = {}

    def private() -> None:
        found["private"] = study.glm(formula, family="binomial")

    def pooled() -> None:
        found["pooled"] = _pooled(x, y)

    times = interleaved(rounds, {"statsmodels": pooled, "study.glm": private})
    apart = np.abs(found["private"].params - found["pooled"].params) / found["pooled"].bse
    assert apart.max() < 1e-8  # statsmodels ends where its deviance stays as it is to 1e-8
    how = f"logistic regression of {rows:,} rows and {columns} columns, {n} parties in one process"
    return [ratio_row("study.glm / pooled statsmodels", times["study.glm"], times["statsmodels"], 3.0, "at most", how)]


def _three_parties() -> list[Row]:
    """Three processes of this machine, 7,000 rows of 54 columns."""
    rows, columns = 7_000, 54
    taken, pooled = _processes(3, rows, columns, delay=False)
    how = (
        f"logistic regression of {rows:,} rows and {columns} columns, three parties as processes; pooled statsmodels "
        f"took {pooled:.2g} s in the same run, and a user of a general MPC system reports {MPC_MINUTES} minutes"
    )
    return [
        Row("logistic regression of three parties", taken, 60.0, "at most", how, "s"),
        Row("the same / pooled statsmodels", taken / pooled, None, "at most", how),
    ]


def _long_lines() -> list[Row]:
    """Ten processes on lines with a delay, ten columns."""
    n, columns = 10, 10
    taken, _ = _processes(n, 200 * n, columns, delay=True)
    how = f"{1e3 * DELAY:.0f} ms each way, {columns} columns, with the handshakes"
    return [Row(f"logistic regression of {n} parties over long lines", taken, 30.0, "at most", how, "s")]


def _processes(n: int, rows: int, columns: int, *, delay: bool) -> tuple[float, float]:
    """Seconds of a run between processes, and of statsmodels on the pooled rows."""
    from sottovoce.runtime.cluster import Cluster, free_ports
    from sottovoce.runtime.plan.plan import read_plan, write_plan

    x, y = _drawn(rows, columns, 1)
    names, ports = [f"p{i}" for i in range(n)], free_ports(n)
    network = sv.Network.random_geometric(n, seed=1) if n > 3 else sv.Network.complete(n)
    with tempfile.TemporaryDirectory() as folder, Lines() as lines:
        base = Path(folder)
        edges = [[int(i), int(j)] for i, j in network.edges]
        schema = sv.Schema(_schema(columns)).to_toml("schema")
        asked = f'type = "glm"\nfamily = "binomial"\nformula = "y ~ {" + ".join(_names(columns))}"'
        text = f'[run]\nname = "models"\n[network]\nedges = {edges}\n{schema}\n[statistic]\n{asked}\n'
        for name, port, part in zip(names, ports, np.array_split(np.arange(rows), n), strict=True):
            text += f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ndata = "{name}.csv"\n'
            cells = np.column_stack([x[part], y[part]]).tolist()
            lines_of = [",".join([*_names(columns), "y"])]
            lines_of += [",".join([*map(repr, row[:-1]), str(int(row[-1]))]) for row in cells]
            (base / f"{name}.csv").write_text("\n".join(lines_of) + "\n")
        (base / "plan.toml").write_text(text)
        write_plan(read_plan(base / "plan.toml"), base / "run", generate_keys=True)
        for i, j in edges if delay else []:  # p_i dials, as its name is the smaller one
            path = base / "run" / names[i] / "node.toml"
            path.write_text(path.read_text().replace(f'"127.0.0.1:{ports[j]}"', f'"{lines.to(ports[j])}"'))
        with Cluster(base / "run") as cluster:
            cluster.start()
            cluster.wait(180)
            results = list(cluster.results().values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _pooled(x[:200], y[:200])  # its imports are not what is measured
    found: dict[str, Any] = {}
    pooled = seconds(lambda: found.update(fit=_pooled(x, y)))
    for result in results:
        assert np.allclose(result["answer"]["params"], found["fit"].params, rtol=1e-6, atol=1e-8)
    return max(result["seconds"] for result in results), pooled
