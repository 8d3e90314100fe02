"""A small network of real parties on this machine: folders, data, what the answer must be, and waiting for it."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from runtime.proxy import Proxies, Proxy

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.runtime.cluster import Cluster, free_ports
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys.identity import load
from sottovoce.runtime.plan.node_file import NodeConfig
from sottovoce.runtime.plan.plan import read_plan, write_plan

COLUMNS = ["a", "b", "y"]
STATISTICS = {
    # Two agreements: on rows with missing values, of which CSV files of numbers have none, and on the sums.
    "mean": {"type": "mean", "columns": COLUMNS, "missing": "drop"},
    "linear": {"type": "linear", "features": ["a", "b"], "target": "y", "missing": "drop"},
    # And another one, on what robust standard errors are made of.
    "robust": {"type": "linear", "features": ["a", "b"], "target": "y", "missing": "drop", "robust": "HC1"},
    "histogram": {"type": "histogram", "columns": ["a"], "bins": [0.0, 2.0, 4.0]},
}
COSTS = {
    "averaging": {"type": "averaging", "columns": COLUMNS},
    "huber": {"type": "huber", "columns": ["a"]},
    "lasso": {"type": "lasso", "features": ["a"], "target": "y", "l1": 30.0},
}
# Of a cost the variance is 1e8: the floor of floats (theory: Collapsed arithmetic) is about eps sigma = 2e-12, and the
# stopping rule accepts 16 roundings of messages of some sigma, 2e-10. Of a statistic each number is rounded to a
# multiple of 1e-9, and sums are exact: a mean is off by half of that at most, usually by much less.
ACCURACY = 1e-9


@dataclass
class Trial:
    """``through`` has the proxy of every edge ``(i, j)``, ``i < j``, where there are proxies."""

    folder: Path
    kind: str
    shards: list[np.ndarray]
    through: dict[tuple[int, int], Proxy] = field(default_factory=dict)

    @property
    def answer(self) -> np.ndarray:
        """Computed from all data, in one place."""
        rows = np.concatenate(self.shards)
        if self.kind in ("mean", "averaging"):
            return rows.mean(axis=0)
        A = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
        return np.linalg.lstsq(A, rows[:, -1], rcond=None)[0]

    def cluster(self) -> Cluster:
        return Cluster(self.folder)

    def check(self, cluster: Cluster) -> None:
        """Every party has written the right answer down."""
        key = {"mean": "mean", "linear": "params", "robust": "params"}[self.kind]
        results = cluster.results()
        assert sorted(results) == sorted(cluster.names)
        for name, result in results.items():
            assert result["status"] == "converged"
            np.testing.assert_allclose(result["answer"][key], self.answer, rtol=0, atol=ACCURACY, err_msg=name)


def prepare(
    folder: Path,
    network: sv.Network,
    kind: str = "mean",
    *,
    channels: str = "encrypted",
    theta: float = 0.8,
    overlay: str = "all",
    wake: str | float = '"eager"',
    party: str = "",
    proxies: Proxies | None = None,
    ports: list[int] | None = None,
    rows: int | None = None,
    noise: float | None = None,
) -> Trial:
    """Folders for every party, as ``sottovoce plan --generate-keys`` makes them. ``party``: more lines of [party]."""
    rng = np.random.default_rng(5)
    ports = free_ports(network.n) if ports is None else ports
    lines = [f'[run]\nname = "trial"\nchannels = "{channels}"\nwake = {wake}\noverlay = "{overlay}"']
    if overlay == "all":
        lines += [f"theta = {theta}\nc = 0.4"]
    lines += [f"[network]\nedges = {[list(map(int, edge)) for edge in network.edges]}"]
    lines += [
        "[cost]" if kind in COSTS else "[statistic]",
        *(f"{key} = {value!r}" for key, value in (STATISTICS | COSTS)[kind].items()),
        "[mask]\nvariance = 1e8" if kind in COSTS else "",
        "" if noise is None else f"[noise]\nvariance = {noise}",
    ]
    lines += [f'[[party]]\nname = "p{i}"\naddress = "127.0.0.1:{port}"' for i, port in enumerate(ports)]
    folder.mkdir(exist_ok=True)
    (folder / "plan.toml").write_text("\n".join(lines) + "\n")
    write_plan(read_plan(folder / "plan.toml"), folder / "parties", generate_keys=True)
    trial = Trial(folder / "parties", kind, [rng.normal(size=(rows or 4 + i % 3, 3)) + 2 for i in range(network.n)])
    for i, shard in enumerate(trial.shards):
        with open(trial.folder / f"p{i}" / "data.csv", "w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *shard.tolist()])
        edit(trial.folder / f"p{i}" / "node.toml", "[party]\n", f"[party]\n{party}\n")
    for i, j in network.edges.tolist() if proxies is not None else []:
        proxy = trial.through[i, j] = proxies.to(ports[j])  # p_i dials, as its name is the smaller one
        edit(trial.folder / f"p{i}" / "node.toml", f'"127.0.0.1:{ports[j]}"', f'"{proxy.address}"')
    return trial


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path} has {text.count(old)} times {old}"
    path.write_text(text.replace(old, new))


def journal_of(config: NodeConfig) -> Journal:
    """Opened as the party would."""
    return Journal(config.journal, load(config.identity).derive("journal"))


def wait_for(condition: Callable[[], Any], seconds: float = 60.0, what: str = "") -> Any:
    """Wait for something that must happen; what it gave."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what or condition}"
        time.sleep(0.05)
    return found


def status(cluster: Cluster, name: str) -> dict[str, Any]:
    """What a party says of itself; nothing where it does not run, or has not begun."""
    try:
        return cluster.status(name)
    except InvalidInput:
        return {}


def results_of(cluster: Cluster, seconds: float = 120.0) -> dict[str, dict[str, Any]]:
    """Once everybody has written its result down."""

    def all_there() -> bool:
        for name, process in cluster.processes.items():
            assert process.poll() in (None, 0), f"{name} ended with {process.returncode}: {cluster.log(name)[-2000:]}"
        return len(cluster.results()) == len(cluster.names)

    wait_for(all_there, seconds, "all results")
    return cluster.results()
