"""Tables on the network: categories, blanks, dates, a decimal comma, Parquet and a database, between processes. What
cannot be used is refused before anything is sent; what can be gives the answer that all rows in one place give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from runtime.tables import (
    COLUMNS,
    FAULTS,
    FORMULA,
    GOOD,
    NAMES,
    RAISE,
    check_fit,
    dropped,
    patients,
    plan,
    pooled,
    put,
    with_gaps,
)
from runtime.trial import edit, results_of, status, wait_for

from sottovoce.runtime.cluster import Cluster

COMMA = '[party.data]\nsource = "csv"\nfile = "rows.csv"\ndelimiter = ";"\ndecimal = ","'


def test_five_hospitals(tmp_path: Path) -> None:
    """Every kind of file; a level that one lacks, a table without rows, and one of blanks only."""
    tables = [with_gaps(patients(i, 40 + 10 * i), i) for i in range(3)]
    tables += [pd.DataFrame(columns=COLUMNS), pd.DataFrame({name: [None] * 3 for name in COLUMNS})]
    names = [f"p{i}" for i in range(5)]
    parties = plan(tmp_path, names)
    put(parties / "p0", tables[0], date_format="%Y-%m-%d", na_rep="")
    comma = tables[1].assign(crp=[None if pd.isna(x) else str(x).replace(".", ",") for x in tables[1].crp])
    comma = comma.assign(days=[None if pd.isna(x) else str(x).replace(".", ",") for x in tables[1].days])
    put(parties / "p1", comma[COLUMNS[::-1]], "rows.csv", COMMA, sep=";", date_format="%Y-%m-%d")
    put(parties / "p2", tables[2], "rows.parquet", 'data = "rows.parquet"')
    put(parties / "p3", ",".join(COLUMNS) + "\n")
    put(parties / "p4", ",".join(COLUMNS) + "\n" + "-9,,,,,\n" * 3)
    with Cluster(parties) as cluster:
        cluster.start()
        results = results_of(cluster)
        assert set(cluster.wait(60).values()) == {0}
        check_fit(results["p4"], tables)
        assert results["p0"]["agreements"] == 2
        assert results["p0"]["statistic"]["formula"] == FORMULA
        said = cluster.log("p3")
        assert f"{FORMULA}\n" in said
        assert f"{dropped(tables)['rows']} rows dropped for missing values: age " in said


def test_refused_before_anything_is_sent(tmp_path: Path) -> None:
    """Processes: each of these ends by itself, with a sentence, and nobody has ever heard of it. One whose schema has
    another order of levels is refused when it meets others."""
    faults = {name: fault for name, fault in FAULTS.items() if name not in ("level", "blank")}
    names = ["good", *faults, "order"]
    parties = plan(tmp_path, names, RAISE)
    for name in names:
        put(parties / name, FAULTS.get(name, (GOOD,))[0])
    edit(parties / "order" / "node.toml", '"b", "c"]', '"c", "b"]')
    with Cluster(parties) as cluster:
        cluster.start()
        for name, (_, sentence) in faults.items():
            assert cluster.processes[name].wait(60) == 2
            assert sentence in cluster.log(name), cluster.log(name)
            assert not cluster.configs[name].journal.exists()
        wait_for(lambda: status(cluster, "good").get("disagreements"), what="the dispute")
        told = status(cluster, "good")
        there = "schema.columns.drug.levels is ['none', 'b', 'c'] here and ['none', 'c', 'b'] there"
        assert there in told["disagreements"]["order"]
        assert told["stage"] == -1
        assert told["messages_sent"] == 0
        assert told["question"]["formula"] == FORMULA
        assert not cluster.results()


# Another time, other data


def test_what_changes_in_the_middle(tmp_path: Path) -> None:
    """A file that changes between two passes, and a database that goes away: the party stops and says so. It goes on
    once everything is as it was, and not before."""
    import duckdb

    tables = [patients(i, 30) for i in range(1, 4)]
    parties = plan(tmp_path, ["p0", "p1", "p2"])  # rows are read again once it is agreed on how many are left out
    put(parties / "p0", tables[0], date_format="%Y-%m-%d")
    whole = (parties / "p0" / "data.csv").read_text()
    frame = tables[1]
    with duckdb.connect(str(parties / "p1" / "rows.duckdb")) as database:
        database.execute("CREATE TABLE visits AS SELECT * FROM frame")
    assert len(frame) == 30
    query = 'query = "SELECT *, 1 AS more FROM visits"'
    put(parties / "p1", "", "unused", f'[party.data]\nsource = "duckdb"\nfile = "rows.duckdb"\n{query}')
    put(parties / "p2", tables[2], date_format="%Y-%m-%d")
    with Cluster(parties) as cluster:
        cluster.start(["p0", "p1"])
        for name in ("p0", "p1"):  # they have read their tables, and wait for p2
            wait_for(lambda name=name: status(cluster, name).get("neighbours"), what=name)
        (parties / "p1" / "rows.duckdb").rename(parties / "p1" / "away")
        (parties / "p0" / "data.csv").write_text(whole.replace(",f,", ",m,", 1))
        cluster.start(["p2"])
        assert [cluster.processes[name].wait(60) for name in ("p0", "p1")] == [2, 2]
        assert "data.csv changed since it was read first" in cluster.log("p0")
        assert "rows.duckdb does not exist" in cluster.log("p1")
        assert cluster.running("p2")
        cluster.start(["p0"])
        assert cluster.processes["p0"].wait(60) == 2
        assert "the data changed since this run began. Pads must not be used twice" in cluster.log("p0")
        assert not cluster.results()
        (parties / "p1" / "away").rename(parties / "p1" / "rows.duckdb")
        (parties / "p0" / "data.csv").write_text(whole)
        cluster.start(["p0", "p1"])
        results = results_of(cluster)
    assert results["p0"]["answer"]["dropped"] == dropped(tables)
    fit = pooled(tables)
    for result in results.values():
        ours = dict(zip(result["answer"]["terms"], result["answer"]["params"], strict=True))
        assert all(ours[name] == pytest.approx(fit.params[theirs], rel=1e-9) for name, theirs in NAMES.items())
