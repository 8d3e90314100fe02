"""Frames by the names of their columns: another order is put right, what differs is refused, and no cell is shown."""

from __future__ import annotations

import subprocess
import sys
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.files.frames import read_columns, to_frame

PEOPLE = ["Ada", "Bo", "Cy", "Dee", "Eve"]
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "pyarrow": pa.table}


@pytest.fixture
def network():
    return sv.Network.ring(5).with_labels(PEOPLE)


@pytest.fixture
def tables():
    """Columns by name, of every party."""
    rng = np.random.default_rng(0)
    made = []
    for _ in PEOPLE:
        age, kwh, pets = rng.normal(50, 10, 40), rng.normal(300, 80, 40), rng.integers(0, 4, 40)
        made.append({"age": age, "kwh": kwh, "pets": pets, "bill": 2 * age + 0.1 * kwh + rng.normal(0, 13, 40)})
    return made


def features(table):
    return np.column_stack([table[name] for name in ("age", "kwh", "pets")])


def reordered(table, order):
    return {name: table[name] for name in order}


# Another order is put right


def test_swapped_columns_of_one_party_change_nothing(network, tables):
    """By position, R2 fell from 0.74 to 0.23 and the mean age rose from 50 to 101, without a word."""
    frames = [pd.DataFrame(table) for table in tables]
    swapped = [*frames[:2], frames[2][["bill", "kwh", "age", "pets"]], *frames[3:]]
    ours, theirs = (sv.private_linear(network, given, target="bill") for given in (frames, swapped))
    assert ours.terms == theirs.terms == ("Intercept", "age", "kwh", "pets")
    assert ours.response == "bill"
    assert repr(ours.to_dict()) == repr(theirs.to_dict())
    pooled = np.concatenate([features(table) for table in tables])
    X = np.column_stack([np.ones(200), pooled])
    expected = np.linalg.lstsq(X, np.concatenate([table["bill"] for table in tables]), rcond=None)[0]
    np.testing.assert_allclose(theirs.params, expected, rtol=1e-12)
    mean = sv.private_mean(network, swapped)
    assert mean.names == ("age", "kwh", "pets", "bill")
    np.testing.assert_allclose(mean.mean[:3], pooled.mean(axis=0), rtol=1e-14)


ORDERS = st.lists(st.permutations(["age", "kwh", "pets", "bill"]), min_size=4, max_size=4)


@settings(max_examples=10, deadline=None)
@given(orders=ORDERS, kinds=st.lists(st.sampled_from(sorted(MAKERS)), min_size=5, max_size=5))
def test_any_order_of_columns_gives_the_same_bits(orders, kinds):
    """Of any library at any party; the order of the first party's columns is that of the answer."""
    rng = np.random.default_rng(1)
    network = sv.Network.ring(5)
    tables = [{name: rng.normal(size=6) for name in ("age", "kwh", "pets", "bill")} for _ in range(5)]
    plain = [np.column_stack(list(table.values())) for table in tables]
    mixed = [
        MAKERS[kind](reordered(table, order))
        for kind, table, order in zip(kinds, tables, [list(tables[0]), *orders], strict=True)
    ]
    ours, theirs = (sv.private_covariance(network, given) for given in (plain, mixed))
    np.testing.assert_array_equal(ours.covariance, theirs.covariance)
    np.testing.assert_array_equal(ours.mean, theirs.mean)
    pairs = [(rows[:, :3], rows[:, 3]) for rows in plain]
    ours = sv.private_linear(network, pairs)
    theirs = sv.private_linear(network, mixed, target="bill")
    np.testing.assert_array_equal(ours.params, theirs.params)
    problems = sv.least_squares(network, pairs), sv.least_squares(network, mixed, target="bill")
    np.testing.assert_array_equal(problems[0].quadratic.Q, problems[1].quadratic.Q)
    np.testing.assert_array_equal(problems[0].q, problems[1].q)
    assert problems[1].variables == ("age", "kwh", "pets")


def test_pairs_of_frames_and_series(network, tables):
    frames = [pd.DataFrame(table) for table in tables]
    whole = sv.private_linear(network, frames, target="bill")
    for pairs in (
        [(frame[["age", "kwh", "pets"]], frame["bill"]) for frame in frames],
        [(frame[["age", "kwh", "pets"]], frame[["bill"]]) for frame in frames],
        [(pl.DataFrame(table).drop("bill"), pl.Series("bill", table["bill"])) for table in tables],
    ):
        fit = sv.private_linear(network, pairs)
        assert repr(fit.to_dict()) == repr(whole.to_dict())
    nameless = sv.private_linear(
        network, [(frame[["age", "kwh", "pets"]], frame["bill"].to_numpy()) for frame in frames]
    )
    assert (nameless.terms, nameless.response) == (whole.terms, "y")
    one = sv.private_linear(network, [(frame["age"], frame["bill"]) for frame in frames])
    assert one.terms == ("Intercept", "age")


def test_logistic_and_averaging(network, tables):
    frames = [pd.DataFrame({"age": t["age"] / 50, "pets": t["pets"], "high": t["bill"] > 130}) for t in tables]
    swapped = [frames[0], frames[1][["high", "pets", "age"]], *frames[2:]]
    ours, theirs = (sv.solve(sv.logistic(network, given, target="high"), c=1.0) for given in (frames, swapped))
    np.testing.assert_array_equal(ours.x, theirs.x)
    assert list(theirs.to_frame().columns) == ["node", "age", "pets"]
    rows = [pd.DataFrame({"a": [i], "b": [i * i]}) for i in range(5)]
    problem = sv.averaging(network, [*rows[:4], rows[4][["b", "a"]]])
    assert problem.variables == ("a", "b")
    np.testing.assert_array_equal(problem.q, sv.averaging(network, [[i, i * i] for i in range(5)]).q)
    whole = sv.averaging(network, pd.concat(rows))  # a row a node
    np.testing.assert_array_equal(problem.q, whole.q)
    for wrong in (pd.Series([1, 2], index=["a", "b"], name="u"), pd.DataFrame({"a": [1, 2], "b": [3, 4]})):
        with pytest.raises(InvalidInput, match=r"node Eve: its numbers by name must be a frame with a single row"):
            sv.averaging(network, [*rows[:4], wrong])


def test_series_are_one_variable(network, tables):
    for series in (pd.Series, lambda values, name: pl.Series(name, values)):
        result = sv.private_mean(network, [series(table["age"], name="age") for table in tables])
        assert result.names == ("age",)
        assert isinstance(result.mean, float)
        counts = sv.private_histogram(network, [series(table["age"], name="age") for table in tables], bins=[0, 50, 99])
        assert counts.name == "age"
    column = sv.private_histogram(network, [pd.DataFrame({"age": t["age"]}) for t in tables], bins=[0, 50, 99])
    np.testing.assert_array_equal(column.counts, counts.counts)
    assert sv.private_mean(network, [pd.Series(table["age"]) for table in tables]).names == ("x",)


def test_an_index_is_no_column(network, tables):
    plain = sv.private_mean(network, [pd.DataFrame(table) for table in tables])
    shuffled = [pd.DataFrame(table, index=np.arange(40)[::-1]) for table in tables]
    np.testing.assert_array_equal(plain.mean, sv.private_mean(network, shuffled).mean)


def test_arrays_keep_working_by_position(network, tables):
    by_name = sv.private_covariance(network, [pd.DataFrame(table) for table in tables])
    rows = [np.column_stack(list(table.values())) for table in tables]
    by_position = sv.private_covariance(network, rows)
    np.testing.assert_array_equal(by_name.covariance, by_position.covariance)
    assert by_position.names == ("x0", "x1", "x2", "x3")


def test_numbers_of_every_type(network):
    """Booleans are 0 and 1; small, unsigned and nullable types are what they say."""
    frame = pd.DataFrame(
        {
            "flag": [True, False],
            "maybe": pd.array([True, False], dtype="boolean"),
            "count": pd.array([1, 2], dtype="Int64"),
            "byte": np.array([3, 4], dtype=np.uint8),
            "single": np.array([0.1, 0.2], dtype=np.float32),
            "big": [2**53 + 1, 5],
        }
    )
    expected = np.column_stack([np.asarray(frame[name], dtype=np.float64) for name in frame])
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        columns = read_columns(table, "party Ada")
        np.testing.assert_array_equal(columns.values, expected)
    assert columns.names == tuple(frame)
    batch = read_columns(pa.record_batch({"a": [1, 2]}), "party Ada")
    assert (batch.names, batch.values.tolist()) == (("a",), [[1.0], [2.0]])


# What is refused


def replaced(tables, table, at=3):
    return [pd.DataFrame(own) if i != at else table for i, own in enumerate(tables)]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.drop(columns="kwh"), r"party Dee: has no column 'kwh'\. All must have the same columns"),
        (lambda f: f.assign(zip=1), "party Dee: has a column 'zip' that party Ada has not"),
        (lambda f: f.rename(columns={"kwh": "KWh"}), "no column 'kwh', and has a column 'KWh' that party Ada has not"),
        (lambda f: f.to_numpy(), r"party Dee: its columns have no names, but those of party Ada have\. An array"),
        (lambda f: pd.concat([f, f[["age"]]], axis=1), "party Dee: two columns have the same name"),
        (
            lambda f: f.assign(kwh="4711"),
            r"party Dee, column 'kwh': holds String, not numbers\. Make 0/1 columns of it",
        ),
        (lambda f: f.assign(kwh=pd.Categorical(["4711"] * 40)), "column 'kwh': holds Categorical, not .* 0/1 columns"),
        (
            lambda f: f.assign(kwh=pd.Timestamp("2020-01-01")),
            "column 'kwh': holds Datetime, not numbers. Make it numbers",
        ),
        (lambda f: f.assign(kwh=pd.Series([4711] * 40, dtype=object)), "column 'kwh': holds Object, not numbers"),
        (
            lambda f: f.assign(kwh=f.kwh.where(f.index != 7)),
            r"column 'kwh' \(Float64\), row 7 \(the first is row 0\): .* m",
        ),
        (lambda f: f.assign(kwh=np.where(f.index == 9, np.inf, f.kwh)), r"'kwh' \(Float64\), row 9 .* NaN or infinite"),
        (
            lambda f: f.assign(pets=f.pets.astype("Int64").where(f.index != 2)),
            r"column 'pets' \(Int64\), row 2 .* missing",
        ),
        (lambda f: pl.DataFrame(f.to_dict("list")).with_columns(kwh=pl.lit(None)), "column 'kwh': holds Unknown"),
        (lambda f: f[[]], "party Dee: its frame has no columns"),
    ],
)
def test_what_differs_or_is_no_number_is_refused(network, tables, change, sentence):
    given_tables = replaced(tables, change(pd.DataFrame(tables[3])))
    with pytest.raises(InvalidInput, match=sentence) as caught:
        sv.private_mean(network, given_tables)
    assert "4711" not in str(caught.value)
    with pytest.raises(InvalidInput):
        sv.private_linear(network, given_tables, target="bill")
    with pytest.raises(InvalidInput):
        sv.least_squares(network, given_tables, target="bill")


def test_levels_of_an_enum_are_data(network):
    table = pl.DataFrame({"drug": pl.Series(["4711"], dtype=pl.Enum(["4711", "other"]))})
    with pytest.raises(InvalidInput, match=r"column 'drug': holds Enum, not numbers\. Make 0/1 columns") as caught:
        sv.private_mean(network, [table] * 5)
    assert "4711" not in str(caught.value)


def test_a_lazy_frame_that_fails_quotes_nothing(network):
    lazy = pl.LazyFrame({"kwh": ["4711 or so"]}).with_columns(pl.col("kwh").cast(pl.Int64))
    with pytest.raises(InvalidInput, match="party Ada: its lazy frame cannot be computed: Invalid") as caught:
        sv.private_mean(network, [lazy] * 5)
    told = "".join(traceback.format_exception(caught.value))
    assert "4711" not in told.replace('4711 or so"]', "")  # this line of the test


def test_targets(network, tables):
    frames = [pd.DataFrame(table) for table in tables]
    arrays = [(features(table), table["bill"]) for table in tables]
    fit = sv.private_linear
    with pytest.raises(InvalidInput, match=r"party Ada: its shard must be a pair .* Say which .* target="):
        fit(network, frames)
    with pytest.raises(InvalidInput, match="party Ada: target='bill' names a column of a frame; got tuple"):
        fit(network, arrays, target="bill")
    with pytest.raises(InvalidInput, match="party Cy: has no column 'bill', the target"):
        fit(network, [f if i != 2 else f.drop(columns="bill") for i, f in enumerate(frames)], target="bill")
    with pytest.raises(InvalidInput, match="the target 'bill' is among the columns that explain it"):
        fit(network, [(frame, frame["bill"]) for frame in frames])
    with pytest.raises(InvalidInput, match="party Ada: its target must be one column; got 2"):
        fit(network, [(frame[["age"]], frame[["bill", "kwh"]]) for frame in frames])
    with pytest.raises(InvalidInput, match="there is no column but the target 'bill'"):
        fit(network, [frame[["bill"]] for frame in frames], target="bill")
    with pytest.raises(InvalidInput, match="party Eve, target: has no column 'bill', and has a column 'kwh'"):
        fit(network, [(f[["age"]], f["kwh" if i == 4 else "bill"]) for i, f in enumerate(frames)])
    with pytest.raises(InvalidInput, match="names must be those of the frames, age, kwh, pets, or left out"):
        fit(network, frames, target="bill", names=["kwh", "age", "pets"])


def test_predict_by_name(network, tables):
    frames = [pd.DataFrame(table) for table in tables]
    fit = sv.private_linear(network, frames, target="bill")
    expected = fit.predict(features(tables[0]))
    np.testing.assert_array_equal(fit.predict(frames[0][["pets", "bill", "kwh", "age"]]), expected)
    with pytest.raises(InvalidInput, match="the table: has no column 'kwh'"):
        fit.predict(frames[0][["age", "pets"]])
    with pytest.raises(InvalidInput, match="a series is one column; give a frame"):
        fit.predict(frames[0].iloc[0])


def test_a_cost_by_itself_takes_no_frame(tables):
    """It could not know in which order the columns of others are."""
    frame = pd.DataFrame(tables[0])
    for cost in (sv.LeastSquares, sv.Lasso, sv.Logistic):
        with pytest.raises(InvalidInput, match="A is a frame, and a cost by itself cannot match its columns"):
            cost(frame[["age", "pets"]], frame["bill"], 1.0)
    assert sv.LeastSquares(frame[["age", "pets"]].to_numpy(), frame["bill"]).dim == 2


# By the name of a node


def test_data_by_the_names_of_nodes(network, tables):
    backwards = {name: pd.DataFrame(table) for name, table in reversed(list(zip(PEOPLE, tables, strict=True)))}
    frames = [pd.DataFrame(table) for table in tables]
    by_name = sv.private_linear(network, backwards, target="bill")
    in_order = sv.private_linear(network, frames, target="bill")
    assert repr(by_name.to_dict()) == repr(in_order.to_dict())
    numbers = {"Eve": 5.0, "Ada": 1.0, "Bo": 2.0, "Cy": 3.0, "Dee": 4.0}
    np.testing.assert_array_equal(sv.averaging(network, numbers).q, sv.averaging(network, [1, 2, 3, 4, 5]).q)
    assert sv.private_mean(network, numbers).mean == 3.0
    pairs = {name: (features(table), table["bill"] > 130) for name, table in zip(PEOPLE, tables, strict=True)}
    assert sv.logistic(network, pairs).dim == 3
    weights = {name: np.full(40, 1.0 + i) for i, name in enumerate(PEOPLE)}
    weighted = [
        sv.private_linear(network, frames, target="bill", weights=w).to_dict()
        for w in (weights, list(weights.values()), {name: pd.Series(w) for name, w in weights.items()})
    ]
    assert weighted[0] == weighted[1] == weighted[2]
    assert sv.private_mean(sv.Network.ring(3), {2: 3.0, 0: 1.0, 1: 2.0}).mean == 2.0


def test_missing_and_unknown_nodes(network):
    with pytest.raises(InvalidInput, match="shards: nothing for Dee, Eve; every node needs an entry"):
        sv.private_mean(network, {"Ada": 1.0, "Bo": 2.0, "Cy": 3.0})
    with pytest.raises(InvalidInput, match="'Eva' is no node of this network; they are Ada, Bo"):
        sv.averaging(network, dict.fromkeys([*PEOPLE[:4], "Eva"], 1.0))
    with pytest.raises(InvalidInput, match="shards: nothing for Eve"):
        sv.least_squares(network, dict.fromkeys(PEOPLE[:4], ([[1.0]], [1.0])))
    pairs = dict.fromkeys(PEOPLE, ([[1.0]], [1.0]))
    with pytest.raises(InvalidInput, match="weights: nothing for Eve"):
        sv.private_linear(network, pairs, weights=dict.fromkeys(PEOPLE[:4], (1.0,)))
    with pytest.raises(InvalidInput, match="party Cy: its shard has NaN or inf"):
        sv.private_mean(network, [1.0, 1.0, np.nan, 1.0, 1.0])


# Frames that are made


def test_to_frame_takes_what_is_there(monkeypatch):
    columns = {"party": ["Ada", "Bo"], "x": np.array([1.0, 2.0])}
    for library, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)):
        made = to_frame(columns)
        assert isinstance(made, kind)
        assert read_columns(made[["x"]] if library == "pandas" else made.select(["x"]), "").values.tolist() == [
            [1],
            [2],
        ]
        missing = {"pandas": ["pandas"], "polars": ["pandas", "polars"], "pyarrow": ["pandas", "polars", "pyarrow"]}
        monkeypatch.setattr(
            "sottovoce.files.frames.find_spec", lambda name, gone=missing[library]: name not in gone or None
        )
    with pytest.raises(Unsupported, match="a frame needs pandas, polars or pyarrow; none is installed"):
        to_frame(columns)


def test_arrays_load_no_library_of_frames():
    code = (
        "import sys, sottovoce as sv; shards = [([[1.0]], [1.0]), ([[2.0]], [3.0]), ([[4.0]], [1.0])]; "
        "sv.private_linear(sv.Network.ring(3), shards); "
        "print([m for m in ('narwhals', 'pandas', 'polars', 'pyarrow') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
