"""Tables in plans and node files: what is public and what is not, what is refused, and every statistic of them in
virtual time."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from runtime.tables import (
    FAULTS,
    FIT,
    GOOD,
    LAST,
    RAISE,
    ROW,
    SCHEMA,
    plan,
    put,
)
from runtime.trial import edit
from runtime.two_worlds import Program, StillLoop

from sottovoce.errors import InvalidFile
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.plan.plan import read_plan
from sottovoce.runtime.process import serve
from sottovoce.runtime.transport.in_memory import Hub


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A party with good data, to be copied."""
    return plan(tmp_path_factory.mktemp("single"), ["p0", "p1"], RAISE, more="[audit]\nmax_corrupt = 0\n") / "p0"


def own(single: Path, folder: Path, *arguments: Any, **options: Any) -> NodeConfig:
    shutil.copytree(single, folder / "p0")
    put(folder / "p0", *arguments, **options)
    return read_node_file(folder / "p0" / "node.toml")


@pytest.mark.parametrize("name", FAULTS)
def test_a_sentence_for_each(single: Path, tmp_path: Path, name: str) -> None:
    table, sentence = FAULTS[name]
    with pytest.raises(InvalidFile) as caught:
        own(single, tmp_path, table).own_data()
    assert sentence in str(caught.value)
    assert str(tmp_path / "p0" / "data.csv") in str(caught.value)


DUCKDB = '[party.data]\nsource = "duckdb"\nquery = "SELECT * FROM \'data.csv\'"'


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ('data = "nowhere.parquet"', "there is no such file"),
        ("data = 3", "must be a file in quotes, or a table [party.data]; got"),
        ('[party.data]\nquery = "SELECT 1"', "[party.data] needs a source"),
        ('[party.data]\nsource = "oracle"', "is not known"),
        ('[party.data]\nsource = "csv"\nfile = "data.csv"\ndelimiter = ";;"', "[party.data] delimiter must be one"),
        ('[party.data]\nsource = "postgresql"\nquery = "SELECT 1"\npassword = "SECRET77"', "has no place in a file"),
        ('[party.data]\nsource = "duckdb"\nquery = "SELECT 1"\nPassword = "SECRET77"', "has no place in a file"),
        ('[party.data]\nsource = "parquet"\nfile = "rows.parquet"', "there is no such file"),
        ('data = "data.csv"\ndelimiter = "\\n"', "delimiter must be one character"),
    ],
)
def test_places_that_are_refused(single: Path, tmp_path: Path, data: str, sentence: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        own(single, tmp_path, GOOD, data=data)
    assert sentence in str(caught.value)
    assert "SECRET77" not in f"{caught.value} {caught.value.__context__} {caught.value.__cause__}"


def test_the_place_of_the_rows_is_under_no_hash(single: Path, tmp_path: Path) -> None:
    """Nor is their order, nor that of the columns, nor what else is in the table: it is what is used that counts."""
    here = own(single, tmp_path / "a", GOOD)
    there = own(single, tmp_path / "b", GOOD, data=DUCKDB)
    assert here.run_text == there.run_text
    assert "duckdb" not in there.run_text
    assert json.loads(here.run_text)["schema"]["columns"][1]["levels"] == ["f", "m"]
    other = "days,more,age,sex,drug,seen,crp\n25,1,58,m,none,2023-01-31,10\n21,2,61,f,b,2022-05-04,3.5\n"
    turned = own(single, tmp_path / "c", other)
    assert here.data_bytes() == there.data_bytes() == turned.data_bytes()
    for k, changed in enumerate(
        [GOOD + ROW, GOOD.replace("61,", "62,"), GOOD.replace("f,b", "m,b"), GOOD[: -len(LAST)]]
    ):
        assert own(single, tmp_path / f"d{k}", changed).data_bytes() != here.data_bytes()


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"b", "c"]', '"c", "b"]', "schema"),
        ("range = [0, 60]", "range = [0, 61]", "schema"),
        ("drug + seen", "seen + drug", "statistic"),
        ('missing = "raise"', 'missing = "drop"', "statistic"),
    ],
)
def test_what_is_under_the_hash(single: Path, tmp_path: Path, old: str, new: str, key: str) -> None:
    here = own(single, tmp_path, GOOD)
    edit(tmp_path / "p0" / "node.toml", old, new)
    there = read_node_file(tmp_path / "p0" / "node.toml")
    mine, theirs = json.loads(here.run_text), json.loads(there.run_text)
    assert here.run_hash != there.run_hash
    assert [name for name in mine if mine[name] != theirs[name]][-1:] == [key]


# Every statistic, in one process and in virtual time


def played(parties: Path) -> list[dict[str, Any]]:
    hub, configs = Hub(), [read_node_file(path) for path in sorted(parties.glob("*/node.toml"))]
    names = [config.name for config in configs]

    async def play() -> None:
        around = [[other for other in names if other != name] for name in names]
        tasks = [serve(c, hub.transport(c.name, others)) for c, others in zip(configs, around, strict=True)]
        assert await asyncio.gather(*tasks) == [0] * len(names)

    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=StillLoop) as runner:
        patch.setattr(NetworkAgreements, "_wait", lambda _, coroutine: Program.current().ask(coroutine))
        runner.run(play())
    return [json.loads(config.result.read_text()) for config in configs]


VISITS = """
[schema.age]
type = "number"
range = [0, 120]
[schema.smoker]
type = "boolean"
[schema.seen]
type = "date"
range = [2022-01-01, 2023-12-31]
[schema.sex]
type = "category"
levels = ["f", "x", "m"]
missing = ["NA"]
[schema.free]
type = "number"
"""
SHARDS = [  # of which one has no rows, and one nothing but blanks
    "age,smoker,seen,sex,free\n61,true,2022-05-04,f,1\n58,0,2023-01-31,NA,\n40,yes,2022-02-01,m,5\n".replace(
        "yes", "1"
    ),
    "age,smoker,seen,sex,free\n",
    "free,sex,seen,smoker,age\n,,,,\n,NA,,,\n",
    "age,smoker,seen,sex,free\n30,false,2022-01-01,m,2\n,true,2023-12-31,f,7\n",
]


def visits(folder: Path, about: str, more: str = "", shards: list[str] = SHARDS) -> list[dict[str, Any]]:
    names = [f"p{i}" for i in range(len(shards))]
    parties = plan(folder, names, f"{about}\n", VISITS, more)
    for name, shard in zip(names, shards, strict=True):
        put(parties / name, shard)
    return played(parties)


def test_means_of_numbers_booleans_and_dates(tmp_path: Path) -> None:
    about = 'type = "variance"\ncolumns = ["age", "smoker", "seen"]\nmissing = "drop"\nddof = 0\ndigits = "full"'
    for result in visits(tmp_path, about):
        rows = np.array([[61, 1, 19116], [58, 0, 19388], [40, 1, 19024], [30, 0, 18993]], float)
        answer = result["answer"]
        assert answer["dropped"] == {"rows": 3, "age": 3, "smoker": 2, "seen": 2}
        assert answer["observations"] == 4
        assert answer["mean"] == rows.mean(axis=0).tolist()
        np.testing.assert_allclose(answer["variance"], rows.var(axis=0), rtol=1e-15)


@pytest.mark.parametrize(
    ("about", "counts", "more"),
    [
        ('columns = ["sex"]', [2, 0, 2], {"levels": ["f", "x", "m"], "dropped": {"rows": 3, "sex": 3}}),
        ('columns = ["smoker"]', [2, 3], {"levels": ["false", "true"], "dropped": {"rows": 2, "smoker": 2}}),
        ('columns = ["age"]\nbins = 3', [1, 3, 0], {"edges": [0, 40, 80, 120]}),  # 40 begins a bin
        ('columns = ["seen"]\nbins = [2022-01-01, 2022-02-01, 2024-01-01]', [1, 4], {"edges": [18993, 19024, 19723]}),
    ],
)
def test_histograms(tmp_path: Path, about: str, counts: list[int], more: dict[str, Any]) -> None:
    for result in visits(tmp_path, f'type = "histogram"\nmissing = "drop"\n{about}'):
        assert result["answer"]["counts"] == counts
        assert {key: result["answer"][key] for key in more} == more
        assert result["agreements"] == 2


def test_rows_that_everybody_must_have(tmp_path: Path) -> None:
    """``least_rows`` is about rows that are used: it counts when parties agree on rows, and not on those left out."""
    about, more = 'type = "mean"\ncolumns = ["free"]\nmissing = "drop"', "[audit]\nleast_rows = 1\n"
    found = visits(tmp_path / "a", about, more, [SHARDS[0], SHARDS[3]])
    assert found[0]["answer"]["mean"] == [3.75]
    assert found[0]["answer"]["dropped"] == {"rows": 1, "free": 1}
    parties = plan(tmp_path / "b", ["p0", "p1"], f"{about}\n", VISITS, more + "max_corrupt = 0\n")
    put(parties / "p0", SHARDS[2])
    with pytest.raises(InvalidFile, match="fewer rows than each party must have in this run, least_rows = 1"):
        read_node_file(parties / "p0" / "node.toml").own_data()


def test_a_table_of_numbers_needs_no_schema(tmp_path: Path) -> None:
    parties = plan(tmp_path, ["p0", "p1"], 'type = "mean"\ncolumns = ["b", "a"]\n', "", "[audit]\nmax_corrupt = 0\n")
    put(parties / "p0", "a,b,c\n1,2,x\n3,5,y\n")
    pd.DataFrame({"a": [2, 8], "b": [1.5, 0.5], "c": ["x", None]}).to_parquet(parties / "p1" / "rows.parquet")
    edit(parties / "p1" / "node.toml", '"data.csv"', '"rows.parquet"')
    found = played(parties)
    assert found[1]["answer"]["mean"] == [2.25, 3.5]
    assert found[1]["statistic"] == found[0]["statistic"]
    assert "schema" not in json.loads(read_node_file(parties / "p1" / "node.toml").run_text)


# Plans


@pytest.mark.parametrize(
    ("about", "schema", "more", "sentence"),
    [
        (FIT + 'features = ["age"]\n', SCHEMA, "", r"\[statistic\] features and formula are both given"),
        (FIT, SCHEMA, "[mask]\nvariance = 1e8\n", r"\[mask\] is gone beside \[statistic\]"),
        (FIT, SCHEMA, "[noise]\nvariance = 1.0\n", r"\[noise\] is for \[cost\]"),
        ('type = "mean"\ncolumns = ["nothing"]\n', SCHEMA, "", "the schema has no column 'nothing'"),
        ('type = "mean"\ncolumns = ["sex"]\n', SCHEMA, "", "'sex' is a category"),
        ('type = "least_squares"\nfeatures = ["age"]\ntarget = "days"\n', SCHEMA, "", 'write type = "linear"'),
        (FIT.replace("log(crp)", "open(crp)"), SCHEMA, "", r"\[statistic\] formula"),
        (FIT, SCHEMA.replace('"f", "m"', '"f", "f"'), "", r"line \d+: \[schema.sex\] levels"),
        (FIT, SCHEMA, "[audit]\nleast_rows = -1\n", "least_rows must be a whole number >= 0; got -1"),
    ],
)
def test_plans_that_are_refused(tmp_path: Path, about: str, schema: str, more: str, sentence: str) -> None:
    with pytest.raises(InvalidFile, match=sentence):
        plan(tmp_path, ["p0", "p1"], about, schema, more)


@pytest.mark.parametrize(
    "data", ['{source = "postgresql", password = "SECRET77"}', '"postgresql://ada:SECRET77@db/ward"']
)
def test_a_plan_has_no_passwords(tmp_path: Path, data: str) -> None:
    with pytest.raises(InvalidFile, match=r"\[\[party\]\] number 1 data must be the path of a file") as caught:
        plan(tmp_path, ["p0", "p1"], FIT, SCHEMA + f'[[party]]\nname = "p2"\naddress = "127.0.0.1:1"\ndata = {data}\n')
    assert "SECRET77" not in str(caught.value)


def test_rows_left_out_are_counted_first(tmp_path: Path) -> None:
    about = 'type = "mean"\ncolumns = ["age", "smoker"]\nmissing = "drop"\ndigits = "full"\n'
    plan(tmp_path, ["p0", "p1", "p2"], about, VISITS)
    question = read_plan(tmp_path / "plan.toml").prospect.question
    assert (question.stages, question.counts, question.numbers) == (2, 3 + 3, 0)
    assert question.revealed[-1].startswith("the rows left out for missing values")
