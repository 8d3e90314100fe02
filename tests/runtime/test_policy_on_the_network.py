"""Policies and ledgers of parties that are processes: a mean with and without one row is refused where that row is."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pandas as pd
from runtime.tables import patients, plan, put
from runtime.trial import edit, results_of, status, wait_for
from typer.testing import CliRunner

from sottovoce.cli.app import app
from sottovoce.runtime.cluster import Cluster
from sottovoce.statistics.policy.ledger import Ledger

MEAN = 'type = "mean"\ncolumns = ["age"]\nmissing = "drop"\n'
NAMES = ["p0", "p1", "p2"]


def hospitals(folder: Path, tables: list[pd.DataFrame], ledger: Path) -> Path:
    """A run of three, of which p1 keeps a ledger beside its data."""
    parties = plan(folder, NAMES, MEAN)
    for name, table in zip(NAMES, tables, strict=True):
        put(parties / name, table, date_format="%Y-%m-%d", na_rep="")
    edit(parties / "p1" / "node.toml", "\n[run]\n", f'\n[policy]\nmin_rows = 5\nledger = "{ledger}"\n\n[run]\n')
    return parties


def checked(path: Path) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(app, ["check", str(path), "--json"])
    return done.exit_code, json.loads(done.stdout)


def test_a_mean_with_and_without_a_row(tmp_path: Path) -> None:
    """Two runs among the same parties. In the second p1 has one row less: both answers together tell that row."""
    tables, ledger = [patients(i, 20 + i) for i in range(3)], tmp_path / "ledger.sqlite"
    first = hospitals(tmp_path / "1", tables, ledger)
    code, said = checked(first / "p1" / "node.toml")
    assert code == 0
    assert "it allows this run. It is release 1 of the ledger" in str(said["policy"])
    assert not ledger.exists()
    with Cluster(first) as cluster:
        cluster.start()
        results = results_of(cluster)
        assert set(cluster.wait(60).values()) == {0}
        assert "It is release 1 of the ledger" in results["p1"]["disclosure"]["ledger"]
        assert results["p0"]["disclosure"]["ledger"] is None
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    second = hospitals(tmp_path / "2", [tables[0], tables[1].drop(index=7), tables[2]], ledger)
    code, said = checked(second / "p1" / "node.toml")
    assert code == 2
    with Cluster(second) as cluster:
        cluster.start()
        assert cluster.wait(60) == {"p0": 2, "p1": 3, "p2": 2}
        own = cluster.log("p1")
        sentence = "ledger: its rows and those of release 1 in"
        assert f"error: {sentence}" in own
        assert "(mean, run 'trial') differ in fewer than 5 rows, of which both together tell." in own
        assert sentence in str(said["refusals"])
        for name in ("p0", "p2"):
            assert "p1 refuses to take part in this run" in cluster.log(name)
            assert "ledger" not in cluster.log(name)
        assert not cluster.results()
    assert len(Ledger(ledger).entries()) == 1
    blank = tables[1].astype(object)  # a missing value leaves a row out just as well
    blank.loc[7, "age"] = None
    put(second / "p1", blank, date_format="%Y-%m-%d", na_rep="")
    code, said = checked(second / "p1" / "node.toml")
    assert (code, sentence in str(said["refusals"])) == (2, True)
    put(second / "p1", tables[1], date_format="%Y-%m-%d")  # and the same rows again tell nothing new
    assert checked(second / "p1" / "node.toml")[0] == 0


def test_killed_after_it_was_recorded_the_same_run_goes_on(tmp_path: Path) -> None:
    tables, ledger = [patients(i, 20) for i in range(3)], tmp_path / "ledger.sqlite"
    parties = hospitals(tmp_path / "1", tables, ledger)
    with Cluster(parties) as cluster:
        cluster.start(["p1", "p2"])  # without p0 there is no end
        wait_for(lambda: status(cluster, "p1").get("neighbours"), what="p1")
        assert len(Ledger(ledger).entries()) == 1
        cluster.kill("p1")
        assert len(Ledger(ledger).entries()) == 1
        cluster.start(["p0", "p1"])
        results = results_of(cluster)
        assert set(cluster.wait(60).values()) == {0}
    assert "which has it already" in results["p1"]["disclosure"]["ledger"]
    assert len(Ledger(ledger).entries()) == 1
    mean = sum(table.age.sum() for table in tables) / 60
    assert abs(results["p1"]["answer"]["mean"][0] - mean) < 1e-7  # 1e-10 in units of 110 years
