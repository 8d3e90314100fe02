"""Statistics of tables, against pandas and statsmodels on all rows in one place."""

from __future__ import annotations

import inspect
import re
from datetime import date

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from picture_faults import faults

import sottovoce as sv
from sottovoce.data.sources import PiecesSource
from sottovoce.errors import InvalidInput, PrecisionLost
from sottovoce.statistics.analyses import restored
from sottovoce.statistics.gone import WHY

SCHEMA = sv.Schema(
    {
        "age": {"type": "number", "range": (0, 120), "unit_name": "years"},
        "sex": {"type": "category", "levels": ["f", "m", "x"]},
        "arm": {"type": "category", "levels": ["high", "low", "placebo"], "reference": "placebo"},
        "smoker": "boolean",
        "enrolled": {"type": "date", "range": (date(2020, 1, 1), date(2023, 12, 31))},
        "visits": {"type": "integer", "range": (0, 40), "missing": ["-9"]},
        "crp": {"type": "number", "range": (0, 400)},
        "recovery": {"type": "number", "range": (-20, 60), "unit_name": "points"},
    }
)
CLOSE = 1e-10  # of what NumPy and statsmodels come to in float64, of dates and ages far from 0


def cohort(rng, rows):
    """Some patients, as a clinic types them in."""
    arm = rng.choice(["placebo", "low", "high"], rows)
    sex = rng.choice(["m", "f", "x"], rows, p=[0.45, 0.45, 0.1])
    age = rng.uniform(18, 95, rows).round(1)
    crp = rng.lognormal(2, 0.7, rows).round(2) + 0.01
    recovery = 30 - 0.2 * age + 4.0 * (arm == "high") + 2 * (sex == "m") - np.log(crp) + rng.normal(size=rows)
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "arm": arm,
            "smoker": rng.random(rows) < 0.3,
            "enrolled": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1461, rows), unit="D"),
            "visits": rng.integers(0, 20, rows),
            "crp": crp,
            "recovery": recovery.round(3),
        }
    )


def with_blanks(rng, frame):
    """About a row in ten lacks one of its cells, and some lack two."""
    frame = frame.astype({"visits": "float64", "smoker": "object"})
    for name in ("age", "sex", "enrolled", "crp"):
        frame.loc[rng.random(len(frame)) < 0.03, name] = None
    return frame


@pytest.fixture(scope="module")
def cohorts():
    """Of very different sizes, one without rows; nobody in the third is of sex x or in the arm low."""
    rng = np.random.default_rng(5)
    frames = [with_blanks(rng, cohort(rng, rows)) for rows in (700, 60, 9, 0)]
    frames[2]["sex"] = ["f", "m", "f", "m", None, "f", "f", "m", "m"]
    frames[2]["arm"] = ["placebo", "high"] * 4 + ["high"]
    return frames


@pytest.fixture(scope="module")
def tables(cohorts, tmp_path_factory):
    """CSV with decimal commas and codes for blanks, Parquet, a frame whose levels have an order of their own, and CSV
    without rows; columns in an order of their own, some beside those of the schema."""
    folder = tmp_path_factory.mktemp("cohorts")
    first = cohorts[0].assign(name="Ada")
    first.to_csv(folder / "a.csv", sep=";", decimal=",", index=False, date_format="%Y-%m-%d")
    cohorts[1][list(SCHEMA)[::-1]].to_parquet(folder / "b.parquet")
    third = cohorts[2][["crp", "sex", "recovery", "arm", "smoker", "age", "visits", "enrolled"]].copy()
    third["arm"] = pd.Categorical(third["arm"], categories=["placebo", "low", "high"], ordered=True)
    third["sex"] = pd.Categorical(third["sex"], categories=["x", "m", "f"])
    cohorts[3].to_csv(folder / "d.csv", index=False)
    return {
        "Ada": {"source": "csv", "file": str(folder / "a.csv"), "delimiter": ";", "decimal": ","},
        "Ben": folder / "b.parquet",
        "Cleo": third,
        "Dan": str(folder / "d.csv"),
    }


@pytest.fixture(scope="module")
def pooled(cohorts):
    frame = pd.concat([part for part in cohorts if len(part)], ignore_index=True)
    days = (pd.to_datetime(frame["enrolled"]) - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    return frame.assign(enrolled=days, smoker=frame["smoker"].astype(float))


NETWORK = sv.Network.from_named_edges([("Ada", "Ben"), ("Ben", "Cleo"), ("Cleo", "Dan"), ("Dan", "Ada")])


def study(tables, **arguments):
    return sv.Study(NETWORK, tables, **{"schema": SCHEMA, "missing": "drop", **arguments})


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=CLOSE)


def dropped_of(pooled, *names):
    gone = pooled[list(names)].isna()
    return {"rows": int(gone.any(axis=1).sum()), **{name: int(gone[name].sum()) for name in names}}


def test_mean_variance_covariance(tables, pooled):
    names = ["age", "smoker", "visits", "crp", "enrolled"]
    complete = pooled[names].dropna()
    own = study(tables)
    mean, variance, covariance = own.mean(names), own.variance(names), own.covariance(["age", "crp"])
    near(mean.mean, complete.mean())
    near(variance.variance, complete.var())
    near(covariance.covariance, np.cov(pooled[["age", "crp"]].dropna().T))
    assert mean.observations == variance.observations == len(complete)
    assert mean.dropped == variance.dropped == dropped_of(pooled, *names)
    assert covariance.dropped == dropped_of(pooled, "age", "crp")
    assert mean.dropped["rows"] > max(mean.dropped[name] for name in names) > 0
    assert isinstance(own.variance("age").variance, float)
    assert own.mean("age").to_dict()["dropped"] == dropped_of(pooled, "age")


def fitted(fit, exact):
    """Terms in any order; right to CLOSE of what an estimate is, and of what it is known to."""
    at = [fit.terms.index(name) for name in exact.params.index]
    assert len(at) == len(fit.terms)
    assert (np.abs(fit.params[at] - exact.params) <= CLOSE * (exact.params.abs() + exact.bse)).all()
    near(fit.bse[at], exact.bse)
    near(1 - fit.rsquared, 1 - exact.rsquared)
    assert fit.nobs == exact.nobs


def test_regression(tables, pooled):
    fit = study(tables).linear("recovery ~ age + C(sex) + arm + log(crp) + smoker:age")
    names = ["age", "sex", "arm", "smoker", "crp", "recovery"]
    rows = pooled[names].dropna()
    columns = {
        "Intercept": 1.0,
        "age": rows["age"],
        "C(sex)[T.m]": rows["sex"] == "m",
        "C(sex)[T.x]": rows["sex"] == "x",
        "arm[T.high]": rows["arm"] == "high",
        "arm[T.low]": rows["arm"] == "low",
        "log(crp)": np.log(rows["crp"]),
        "smoker:age": rows["smoker"] * rows["age"],
    }
    fitted(fit, sm.OLS(rows["recovery"], pd.DataFrame(columns, index=rows.index).astype(float)).fit())
    assert fit.response == "recovery"
    assert fit.dropped == dropped_of(pooled, *names)
    assert f"{fit.dropped['rows']} rows dropped for missing values: age {fit.dropped['age']}, " in fit.summary()


def test_dates_offsets_and_no_intercept(tables, pooled):
    own = study(tables)
    rows = pooled[["recovery", "enrolled", "age"]].dropna()
    X = sm.add_constant(rows[["enrolled"]]).rename(columns={"const": "Intercept"})
    fitted(
        own.linear("recovery ~ enrolled + offset(-0.2 * age)"),
        sm.OLS(rows["recovery"] + 0.2 * rows["age"], X).fit(),
    )
    rows = pooled[["recovery", "age", "arm"]].dropna()
    X = pd.DataFrame({f"arm[{arm}]": rows["arm"] == arm for arm in ("high", "low", "placebo")}).astype(float)
    fit = own.linear("recovery ~ 0 + arm + age")
    exact = sm.OLS(rows["recovery"], X.assign(age=rows["age"])).fit()
    near(fit.params, exact.params)


def test_histograms(tables, pooled):
    own = study(tables)
    sex = own.histogram("sex")
    assert sex.levels == ("f", "m", "x")
    assert sex.counts.tolist() == [(pooled["sex"] == level).sum() for level in sex.levels]
    assert sex.dropped == dropped_of(pooled, "sex")
    again = restored("histogram", sex.to_dict(), 4)
    assert again.summary() == sex.summary()
    dropped = f"{sex.dropped['rows']} rows dropped for missing values: sex {sex.dropped['sex']}"
    assert sex.summary().splitlines()[1] == dropped
    assert faults(sex.plot()) == []
    assert own.histogram("smoker").counts.tolist() == [(pooled["smoker"] == value).sum() for value in (0, 1)]
    known = pooled["age"].dropna()
    assert own.histogram("age").counts.tolist() == np.histogram(known, np.linspace(0, 120, 11))[0].tolist()
    assert own.histogram("age", 3).counts.tolist() == np.histogram(known, [0, 40, 80, 120])[0].tolist()
    cut = own.histogram("age", [30, 40, 50])
    assert (cut.below, cut.above) == ((known < 30).sum(), (known > 50).sum())
    days = [date(2020, 1, 1), date(2021, 7, 1), date(2023, 12, 31)]
    edges = [(pd.Timestamp(day) - pd.Timestamp("1970-01-01")).days for day in days]
    counts = own.histogram("enrolled", days).counts
    assert counts.tolist() == np.histogram(pooled["enrolled"].dropna(), edges)[0].tolist()


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_blocks_of_any_size_give_the_same_answer(cohorts, size):
    """To the bit: local sums are exact, so agreements are on the same numbers."""
    pa = pytest.importorskip("pyarrow")
    whole = [
        pa.Table.from_pandas(part[["age", "sex", "recovery"]].head(50), preserve_index=False) for part in cohorts[:3]
    ]

    def cut(table):
        return lambda: table.to_batches(max_chunksize=size)

    def fit(given):
        network = sv.Network.ring(3)
        return sv.Study(network, given, schema=SCHEMA, missing="drop").linear("recovery ~ age * sex")

    expected, found = fit(whole), fit([PiecesSource(cut(table)) for table in whole])
    np.testing.assert_array_equal(found.params, expected.params)
    assert found.dropped == expected.dropped


def test_missing_values_are_refused_before_anything_is_agreed_on(tables, cohorts, monkeypatch):
    monkeypatch.setattr(
        "sottovoce.statistics.agreements.summed", lambda *_, **__: pytest.fail("something was agreed on")
    )
    own = study(tables, missing="raise")
    with pytest.raises(InvalidInput) as told:
        own.mean(["visits", "age", "sex"][:2])
    gone = np.flatnonzero(cohorts[0]["age"].isna()) + 1
    first = ", ".join(map(str, gone[:5]))
    assert str(told.value).startswith(
        f"party Ada: values are missing in {len(gone)} of 700 rows, by column: 'age' {len(gone)} (rows {first}, ..)."
    )
    # of several columns, each with its own, at the party that has them
    with pytest.raises(InvalidInput, match=r"party Ada: .*'sex' \d+ \(rows .*'crp' \d+ \(rows"):
        own.linear("recovery ~ sex + crp")


def test_whole_tables_raise_nothing(tables, pooled):
    result = study(tables, missing="raise").mean("recovery")
    near(result.mean, pooled["recovery"].mean())
    assert result.dropped is None
    assert "dropped" not in result.to_dict()
    assert result.traffic.agreements == 1


def test_what_is_dropped_is_agreed_on_first(tables):
    result = study(tables).mean("age")
    assert [each.of for each in result.shown] == ["rows with missing values, by column", "rows and values"]
    assert result.shown[0].counts == (result.dropped["rows"], result.dropped["age"])
    assert np.nanmax(result.audit_total(corrupt={"Ada"}).excess) == 0


def changed(tables, **columns):
    return {**tables, "Cleo": tables["Cleo"].assign(**columns)}


REFUSED = [
    (
        {"sex": ["f"] * 6 + ["other", "f", "f"]},
        "sex",
        r"party Cleo: column 'sex': unknown level \(none of 'f', 'm', 'x'\) in row 7\.",
    ),
    ({"age": [50.0] * 3 + [150.0] + [50.0] * 5}, "age", r"party Cleo: column 'age': .*from 0 to 120 years.* row 4\."),
    ({"enrolled": pd.Timestamp("2030-05-05")}, "enrolled", r"party Cleo: .*'enrolled'.*from 2020-01-01 to 2023-12-31"),
    ({"visits": 1.5}, "visits", r"party Cleo: .*'visits'"),
]


@pytest.mark.parametrize(("columns", "name", "sentence"), REFUSED, ids=[name for _, name, _ in REFUSED])
def test_cells_that_do_not_fit_name_party_column_and_row(tables, columns, name, sentence):
    with pytest.raises(InvalidInput, match=sentence) as told:
        study(changed(tables, **columns)).histogram(name, 4 if name != "sex" else None)
    assert not re.search("other|150|2030|1\\.5", str(told.value))  # no cell is quoted


def test_rows_are_counted_over_all_batches():
    pa = pytest.importorskip("pyarrow")

    def told(cells, missing="raise"):
        batches = pa.table({"age": cells}).to_batches(max_chunksize=2)
        given = [{"age": [1.0]}, PiecesSource(lambda: iter(batches)), {"age": [2.0]}]
        with pytest.raises(InvalidInput) as refused:
            sv.Study(sv.Network.ring(3), given, schema=SCHEMA, missing=missing).mean("age")
        return str(refused.value)

    assert "party 1: values are missing in 2 of 6 rows, by column: 'age' 2 (rows 3, 6)." in told(
        [1, 2, None, 4, 5, None]
    )
    assert "party 1: column 'age': out of range (from 0 to 120 years) in row 5." in told(
        [1, None, 3, 4, 500, 6], "drop"
    )


def test_what_a_formula_makes_no_number_of(tables):
    crp = [1.0, None, 0.0, 2.0, 3.0, 0.0, 1.0, 1.0, 1.0]
    with pytest.raises(InvalidInput, match=r"party Cleo: formula: .*log.* in 2 rows: 3, 6"):
        study(changed(tables, crp=crp)).linear("recovery ~ log(crp)")


WRONG = [
    (lambda own: own.mean("sex"), "column 'sex' is a category, which has no mean: its histogram counts its levels"),
    (lambda own: own.covariance("age"), "a covariance needs a list of columns"),
    (lambda own: own.mean("agee"), r"the schema has no column .agee.*age"),
    (lambda own: own.mean([]), "columns must be one or more different names"),
    (lambda own: own.mean(["age", "age"]), "columns must be one or more different names"),
    (lambda own: own.histogram("sex", 3), "column 'sex' is a category: leave bins out"),
    (lambda own: own.histogram(["age", "crp"]), "a histogram counts one column"),
    (lambda own: own.histogram("age", 0), "0 bins need a range in the schema, and are 1 to 10,000"),
    (lambda own: own.linear("~ age"), "one column before ~"),
    (lambda own: own.linear("age ~ age + crp"), "'age' is the response, and a term as well"),
    (lambda own: own.linear("recovery ~ nobody"), "nobody"),
    (lambda own: own.variance("age", ddof=-1), "ddof must be"),
]


@pytest.mark.parametrize(("question", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_questions_that_cannot_be_answered(tables, question, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        question(study(tables))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"missing": "impute"}, 'missing must be "raise" or "drop"'),
        ({"mask": sv.ModularMask()}, "mask is gone"),
        ({"scale": {"age": 1.0}}, "scale is gone"),
        ({"seed": 1}, "seed is gone"),
        ({"schema": {}}, "a schema has one to"),
    ],
)
def test_studies_that_cannot_be(tables, arguments, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        study(tables, **arguments)


def test_tables_that_cannot_be_opened_or_do_not_fit(tables):
    with pytest.raises(InvalidInput, match=r"party Ben: .*cannot be told from its name"):
        study({**tables, "Ben": "b.unknown"})
    with pytest.raises(InvalidInput, match="one entry per party, 4; got 3"):
        study(list(tables.values())[:3])
    with pytest.raises(InvalidInput, match=r"party Cleo: .* has no column 'crp'"):
        study({**tables, "Cleo": tables["Cleo"].drop(columns="crp")}).mean("crp")
    near(study({**tables, "Cleo": tables["Cleo"].drop(columns="crp")}).mean("age").mean, study(tables).mean("age").mean)


def test_nothing_left(tables):
    """Blanks alone, or no rows at all: the parties learn it together."""
    nothing = {"age": np.array([np.nan, np.nan])}
    schema = {"age": "number", "rows": "number"}
    with pytest.raises(InvalidInput, match="no party has any rows"):
        sv.Study(sv.Network.ring(3), [nothing] * 3, schema=schema, missing="drop").mean("age")
    with pytest.raises(InvalidInput, match="a column is called 'rows'"):
        sv.Study(sv.Network.ring(3), [{"rows": [1.0]}] * 3, schema=schema, missing="drop").mean("rows")
    table = {"age": [1.0, None], "rows": [2.0, 3.0]}
    result = sv.Study(sv.Network.ring(3), [table, nothing, table], schema=schema, missing="drop").mean("age")
    assert (result.observations, result.dropped) == (2, {"rows": 4, "age": 4})


def test_a_category_with_one_level_does_nothing():
    schema = {"y": "number", "x": "number", "centre": {"type": "category", "levels": ["here"]}}
    parts = [
        {"y": [1.0, 2.5, 3.0], "x": [0.5, 1.5, 3.5], "centre": ["here"] * 3},
        {"y": [4.0], "x": [5.0], "centre": ["here"]},
    ]
    own = sv.Study(sv.Network.ring(3), [*parts, {"y": [], "x": [], "centre": []}], schema=schema)
    alone, beside = own.linear("y ~ x"), own.linear("y ~ x * centre")
    assert beside.terms == alone.terms
    assert beside.params.tolist() == alone.params.tolist()
    assert own.histogram("centre").counts.tolist() == [4]
    with pytest.raises(InvalidInput, match="needs two levels or more; 'centre' has one"):
        own.multinomial("centre ~ x")


def test_a_column_that_loses_digits_by_its_unit_is_never_silent(recwarn):
    """Its owner hears of it; decimals that float64 has nearly are no loss."""
    network, schema = sv.Network.ring(3), {"x": {"type": "number", "range": (0, 10), "unit": 0.1}}
    whole = {"x": [0.1 + 0.2, 0.3, 1.7]}
    assert sv.Study(network, [whole] * 3, schema=schema).mean("x").mean == pytest.approx(2.3 / 3, rel=1e-15)
    assert not recwarn
    with pytest.warns(PrecisionLost, match=r"column 'x': 2 of 3 numbers are no multiple of its unit, 0\.1, and"):
        finer = sv.Study(network, [whole, {"x": [1.04, 2.26, 3.0]}, whole], schema=schema).mean("x")
    assert finer.mean == pytest.approx((2 * 2.3 + 1 + 2.3 + 3) / 9, rel=1e-15)


def test_a_column_that_is_tiny_in_its_range_is_never_silent(recwarn):
    """Without a unit the range gives one, of 15 digits of its ends: here it is 0.01, and nothing is left of a spread of
    0.0003. With a unit all of it is there, whatever the range."""
    network, own = sv.Network.ring(3), {"x": [0.3004, 0.2998, 0.3001]}
    wide = {"type": "number", "range": (-1e12, 1e12)}
    exact = sv.Study(network, [own] * 3, schema={"x": {**wide, "unit": 0.0001}}).variance("x")
    assert exact.variance == pytest.approx(6.75e-8, rel=1e-14)
    coarse = {"x": [3e11, 1 / 3, 2e11]}  # loses less of itself than float64 does of a sum
    assert sv.Study(network, [coarse] * 3, schema={"x": wide}).mean("x").mean == pytest.approx(5e11 / 3, rel=1e-11)
    assert not recwarn
    for table in (own, {"x": [0.3004, 0.2998, None]}):
        study = sv.Study(network, [{"x": [5e11]}, table, {"x": [-5e11]}], schema={"x": wide}, missing="drop")
        with pytest.warns(
            PrecisionLost, match=r"x': . of 3 numbers are no multiple of 0\.01, the unit that its range"
        ) as w:
            study.variance("x")
        assert len(w) == 1  # its owner alone
        assert "0.3" not in str(w[0].message)


@pytest.mark.parametrize("key", WHY)
def test_options_of_older_studies_get_a_sentence(key):
    with pytest.raises(InvalidInput, match=f"^{key} is gone: .*"):
        sv.Study(sv.Network.ring(3), [{"x": [1.0]}] * 3, schema={"x": "number"}, **{key: 1})


@pytest.mark.parametrize("name", [name for name in sv.__all__ if name.startswith("private_")])
@pytest.mark.parametrize("key", WHY)
def test_options_of_older_programs_get_a_sentence_before_data_are_read(name, key):
    run = getattr(sv, name)
    asked = inspect.signature(run).parameters.values()
    nothing = {own.name: None for own in asked if own.default is own.empty and own.kind is not own.VAR_KEYWORD}
    with pytest.raises(InvalidInput, match=f"^{key} is gone: .*"):
        run(**nothing, **{key: 1})


def test_products_of_very_many_columns_are_refused():
    names = [f"x{k}" for k in range(1001)]
    study = sv.Study(
        sv.Network.complete(2), [{name: [1.0] for name in names}] * 2, schema=dict.fromkeys(names, "number")
    )
    with pytest.raises(InvalidInput, match="1,001 columns are too many for sums of their products; at most 1000"):
        study.covariance(names)
