"""The same folds on a cluster of two workers, to the bit; and what is told of a partition that fails."""

from __future__ import annotations

import logging
import os
import sys
from itertools import pairwise

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data.on_dask import _lost
from sottovoce.data.table_rows import TableRows
from sottovoce.errors import InvalidFile, InvalidInput, MissingExtra, SottovoceError
from sottovoce.sums import on_grid

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(6)
TABLE = np.column_stack([RNG.normal(size=5_003), RNG.lognormal(0, 3, 5_003), RNG.normal(1e9, 1, 5_003)])


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def made(rows):
    centre = TABLE[0]

    def same(block):
        centred = block - centre
        return centred, centred

    found = [
        rows.totals(lambda block: on_grid(np.exp(-rows.linear(block, 1e-9 * centre / centre)[:, None]))),
        rows.grams(lambda block: tuple(on_grid(part, 20) for part in same(block))),
        rows.grams(lambda block: (on_grid(block[:, :1], 20), on_grid(block, 20))),
        rows.largest(),
        [len(rows)],
    ]
    return [repr(np.asarray(part).tolist()) for part in found]


def squared(block):
    integers = on_grid(block, 20)
    return integers, integers


@pytest.fixture(scope="module")
def local():
    return made(TableRows(lambda: iter([TABLE]), 3, threads=1))


def cut(count):
    return np.array_split(TABLE, count)


@pytest.mark.parametrize("count", [1, 2, 5, 13])
def test_partitions_do_not_show(client, local, count):
    assert made(sv.data.on(client).rows(cut(count), 3)) == local


def test_every_kind_of_partition_has_the_same_bits(client):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa

    frames = [pd.DataFrame(part, columns=list("abc")) for part in cut(3)]
    kinds = [
        [lambda part=part: iter([part[:7], part[7:]]) for part in cut(3)],
        [dask.delayed(np.flipud)(part) for part in cut(4)],
        client.scatter(cut(2)),
        [frames[0], pa.Table.from_pandas(frames[1]), pa.RecordBatch.from_pandas(frames[2])],
        dd.from_pandas(pd.concat(frames), npartitions=4, sort=False),
        da.from_array(TABLE, chunks=(999, 3)),
    ]
    expected = TableRows(lambda: iter([TABLE]), 3).grams(squared).tolist()
    for partitions in kinds:
        assert sv.data.on(client).rows(partitions, 3).grams(squared).tolist() == expected


def test_own_blocks_of_a_partition_and_no_partition_at_all(client, local):
    on = sv.data.on(client)
    assert made(on.rows([(0, 3000), (3000, 5003)], 3, blocks=lambda ends, table=TABLE: [table[slice(*ends)]])) == local
    empty = on.rows([], 3)
    assert (len(empty), empty.totals(lambda block: on_grid(block, 20)).tolist()) == (0, [0, 0, 0])


def refuses():
    raise InvalidFile("rows.parquet, row 7: column 'age' is out of range.")


def quotes():
    raise ValueError("could not convert string to float: 'Smith, John'")


@pytest.mark.parametrize(
    ("fails", "kind", "sentence"),
    [
        (refuses, InvalidFile, "partition 2 of 3: rows.parquet, row 7: column 'age' is out of range."),
        (quotes, InvalidInput, "partition 2 of 3: it cannot be read or summed (ValueError)."),
        (dask.delayed(quotes)(), InvalidInput, "partition 2 of 3: it cannot be made (ValueError)."),
        (
            np.zeros((2, 5)),
            InvalidInput,
            "partition 2 of 3: a block of a table must be an array (rows, 3); got ndarray",
        ),
        (np.full((2, 3), np.nan), InvalidInput, "partition 2 of 3: the table has cells that are missing"),
    ],
)
def test_a_partition_that_fails_says_so_and_nothing_of_its_data(client, fails, kind, sentence):
    rows = sv.data.on(client).rows([TABLE, fails, TABLE], 3)
    with pytest.raises(kind) as caught:
        rows.totals(lambda block: on_grid(block, 20))
    assert str(caught.value).startswith(sentence)
    assert caught.value.__cause__ is None
    assert "Smith" not in repr(caught.value.__context__)


def test_a_table_that_changes_is_refused(client, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, TABLE)
    rows = sv.data.on(client).rows([lambda: np.load(path)], 3)
    assert len(rows) == len(TABLE)
    np.save(path, TABLE + 1)
    with pytest.raises(InvalidInput, match="the table changed between two passes over its rows: their numbers"):
        rows.totals(lambda block: on_grid(block, 20))


def test_a_worker_that_dies_is_replaced(client, tmp_path):
    def dies_once(mark=tmp_path / "died"):
        if not mark.exists():
            mark.touch()
            os._exit(1)
        return TABLE

    found = sv.data.on(client).rows([dies_once], 3).totals(lambda block: on_grid(block, 20))
    assert found.tolist() == TableRows(lambda: iter([TABLE]), 3).totals(lambda block: on_grid(block, 20)).tolist()
    assert (tmp_path / "died").exists()


def test_workers_that_die_again_and_again_are_told(client):
    with pytest.raises(SottovoceError, match=r"^partition 1 of 1: its worker died, and so did those that tried again"):
        len(sv.data.on(client).rows([lambda: os._exit(1)], 3))


def test_a_future_that_is_gone():
    class Gone:
        status = "cancelled"

    assert str(_lost("partition 1 of 2", Gone())).startswith("partition 1 of 2: the cluster dropped it (cancelled).")


def test_what_is_no_client_or_no_partitions_is_refused(client):
    with pytest.raises(InvalidInput, match=r"^on\(\) takes a distributed\.Client, connected to a cluster; got text"):
        sv.data.on("tcp://127.0.0.1:8786")
    for wrong in ("rows.parquet", TABLE, 3):
        with pytest.raises(InvalidInput, match="partitions must be a Dask DataFrame or a list"):
            sv.data.on(client).rows(wrong, 3)


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        MissingExtra, match=r"sv\.data\.on needs Dask\. Install it with: pip install 'sottovoce\[dask\]'"
    ):
        sv.data.on(None)


SCHEMA = sv.Schema(
    {
        "age": {"type": "number", "range": (0, 120)},
        "sex": {"type": "category", "levels": ["f", "m"]},
        "recovery": {"type": "number", "range": (-1000, 1000)},
    }
)


def cohort(rows):
    rng = np.random.default_rng(rows)
    age, sex = rng.uniform(20, 90, rows), rng.choice(["f", "m"], rows)
    age[::11] = np.nan
    return {"age": age, "sex": sex, "recovery": 3 + 0.5 * np.nan_to_num(age) + (sex == "m") + rng.normal(size=rows)}


def in_parts(table, sizes):
    at = np.cumsum([0, *sizes])
    return [{name: column[a:b] for name, column in table.items()} for a, b in pairwise(at)]


def test_a_study_sums_a_table_where_it_lies(client, tmp_path):
    """To the bit as on one machine, whatever the partitions; also those that workers open, and Dask frames."""
    pd, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    whole, others = cohort(400), [cohort(60), cohort(35)]
    on, network = sv.data.on(client), sv.Network.ring(3)
    paths = []
    for k, part in enumerate(in_parts(whole, [1, 250, 149])):
        paths.append(str(tmp_path / f"{k}.parquet"))
        pd.DataFrame(part).to_parquet(paths[-1])
    given = {
        "here": whole,
        "parts": on.table(in_parts(whole, [399, 1])),
        "paths": on.table(paths),
        "frame": on.table(frames.from_pandas(pd.DataFrame(whole), npartitions=3)),
    }
    fits = {
        name: sv.Study(network, [table, *others], schema=SCHEMA, missing="drop").linear("recovery ~ age + sex")
        for name, table in given.items()
    }
    assert fits["here"].dropped == {"rows": 37 + 6 + 4, "age": 37 + 6 + 4, "sex": 0, "recovery": 0}
    for fit in fits.values():
        assert fit.params.tobytes() == fits["here"].params.tobytes()
        assert fit.dropped == fits["here"].dropped


def test_what_is_wrong_with_a_partition_is_told_by_partition_and_row(client):
    bad = in_parts(cohort(50), [20, 30])
    bad[1]["sex"] = np.where(np.arange(30) == 6, "SECRET77", bad[1]["sex"])
    study = sv.Study(sv.Network.ring(3), [sv.data.on(client).table(bad), cohort(9), cohort(9)], schema=SCHEMA)
    with pytest.raises(InvalidInput, match=r"partition 2 of 2.*'sex'.*row 7") as error:
        study.histogram("sex")
    assert "SECRET77" not in str(error.value)
    with pytest.raises(InvalidInput, match="at least one partition"):
        sv.data.on(client).table([])
