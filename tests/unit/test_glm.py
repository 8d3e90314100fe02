"""Generalised linear models: what is asked, what is refused and by whom, what is said of a fit."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lockstep import together
from partitions import assert_same_bits
from scipy import stats

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.errors import InvalidInput, PeerError, Undetermined
from sottovoce.statistics.models.families import FAMILIES, LINKS
from sottovoce.statistics.models.glm import GLM

SCHEMA = sv.Schema(
    {
        "age": {"type": "number", "range": (0, 100)},
        "site": {"type": "category", "levels": ["a", "b", "c"], "reference": "b"},
        "alive": {"type": "category", "levels": ["yes", "no"]},
        "dead": {"type": "category", "levels": ["yes", "no"], "reference": "no"},
        "death": "boolean",
        "visits": {"type": "integer", "range": (0, 50)},
        "cost": {"type": "number", "range": (-1000, 20000)},
        "days": {"type": "number", "range": (1, 400)},
        "w": {"type": "number", "range": (0, 10)},
        "born": "date",
    }
)


def table(n, seed, sites="abc"):
    rng = np.random.default_rng(seed)
    age, site = rng.uniform(20, 90, n), rng.choice(list(sites), n)
    eta = 0.05 * (age - 60) + 0.5 * (site == "c")
    death = rng.random(n) < 1 / (1 + np.exp(0.6 - eta))
    return pd.DataFrame(
        {
            "age": age, "site": site, "death": death, "alive": np.where(death, "no", "yes"),
            "dead": np.where(death, "yes", "no"), "visits": rng.poisson(np.exp(0.8 + eta / 3)),
            "cost": rng.gamma(3, 500 * np.exp(eta / 3)), "days": rng.uniform(10, 400, n), "w": rng.uniform(0.5, 4, n),
            "born": pd.to_datetime("1960-01-01"),
        }
    )  # fmt: skip


TABLES = [table(3, 1), table(70, 2, "ab"), table(0, 3), table(150, 4)]
POOLED = pd.concat(TABLES, ignore_index=True).assign(y=lambda frame: frame["death"].astype(float))
RING = sv.Network.ring(4)


@pytest.fixture
def study():
    return sv.Study(RING, TABLES, schema=SCHEMA)


def pooled(formula, family, **options):
    data = POOLED.assign(site=pd.Categorical(POOLED["site"], ["b", "a", "c"]))
    return smf.glm(formula, data, family=family, **options).fit(tol=1e-13, tol_criterion="params")


# As tables


@pytest.mark.parametrize("response", ["death", "alive", "dead"])
def test_an_outcome_is_a_boolean_or_a_category_whose_reference_counts_as_0(study, response):
    """One party has no rows, and one has no row at level c."""
    fit = study.glm(f"{response} ~ age + site")
    expected = pooled("y ~ age + site", sm.families.Binomial())
    assert fit.terms == ("Intercept", "age", "site[T.a]", "site[T.c]")
    assert (fit.response, fit.family, fit.link, fit.ratio) == (response, "binomial", "logit", "odds ratio")
    order = ["Intercept", "age", "site[T.a]", "site[T.c]"]
    np.testing.assert_allclose(fit.params, expected.params[order], rtol=1e-12)
    np.testing.assert_allclose(fit.bse, expected.bse[order], rtol=1e-12)
    np.testing.assert_allclose(fit.ratios()[:, 0], np.exp(expected.params[order]), rtol=1e-12)
    assert fit.shown[0].counts == (223, POOLED["death"].sum(), (~POOLED["death"]).sum())


def test_exposure_offset_and_weights_are_columns(study):
    fit = study.glm("visits ~ age + offset(0.01 * w)", family="poisson", exposure="days", weights="w", robust="HC0")
    expected = sm.GLM(
        POOLED["visits"], sm.add_constant(POOLED[["age"]]), family=sm.families.Poisson(), exposure=POOLED["days"],
        offset=0.01 * POOLED["w"], var_weights=POOLED["w"],
    ).fit(tol=1e-13, tol_criterion="params", cov_type="HC0")  # fmt: skip
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-12)
    np.testing.assert_allclose(fit.bse, expected.bse, rtol=1e-12)
    assert (fit.weights, fit.exposure, fit.robust, fit.ratio) == ("w", "days", "HC0", "rate ratio")


def test_of_arrays_and_of_tables_are_one(study):
    shards = [(frame[["age"]], frame[["cost"]]) for frame in TABLES]
    one = sv.private_glm(RING, shards, family="gamma")
    two = study.glm("cost ~ age", family="gamma")
    assert (one.terms, one.response) == (two.terms, two.response)
    np.testing.assert_allclose(one.params, two.params, rtol=1e-12)
    target = sv.private_glm(RING, [frame[["age", "cost"]] for frame in TABLES], family="gamma", target="cost")
    np.testing.assert_allclose(target.params, one.params, rtol=1e-12)


def test_rows_with_missing_values_are_dropped_where_that_is_asked():
    holes = [frame.assign(age=frame["age"].where(np.arange(len(frame)) % 5 != 1)) for frame in TABLES]
    fit = sv.Study(RING, holes, schema=SCHEMA, missing="drop").glm("death ~ age")
    kept = pd.concat(holes).dropna()
    expected = sm.Logit(kept["death"].astype(float), sm.add_constant(kept[["age"]])).fit(disp=0)
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-12)
    assert fit.dropped["age"] == len(POOLED) - len(kept)


def test_an_intercept_alone(study):
    fit = study.glm("visits ~ 1", family="poisson")
    assert fit.params[0] == pytest.approx(np.log(POOLED["visits"].mean()), rel=1e-12)
    assert (fit.deviance, fit.llf) == pytest.approx((fit.null_deviance, fit.llnull), rel=1e-12)


# At a party


@pytest.mark.parametrize(
    "options",
    [
        {"formula": "death ~ age + site", "robust": "HC1"},
        {"formula": "visits ~ 0 + age + site", "family": "negative_binomial", "shape": 0.5, "exposure": "days"},
        {"formula": "cost ~ age", "family": "gamma", "link": "inverse", "weights": "w"},
        {"formula": "cost ~ age", "family": "inverse_gaussian"},
    ],
    ids=lambda options: options.get("family", "binomial"),
)
def test_parties_that_hold_only_their_own_rows_come_to_the_simulators_answer(study, options):
    glm = GLM(schema=SCHEMA, **options)
    expected = study.glm(**options)
    values = [{name: column.to_numpy() for name, column in frame.items()} for frame in TABLES]
    for part in values:
        for name in ("site", "alive", "dead"):
            levels = SCHEMA[name].levels
            part[name] = np.array([levels.index(cell) for cell in part[name]], dtype=float)
        part.update({name: part[name].astype(float) for name in ("death", "visits")})
    rows = [ArrayRows(glm.selection.block(part, np.arange(len(part["age"])))) for part in values]
    for part in rows:
        glm.check(part, 4)
    found, sent = together(lambda agreements, i: glm.program(agreements, [rows[i]]), 4)
    assert len(sent) <= glm.stages
    assert sum(len(parts[0]) - 1 for parts in sent) <= glm.numbers  # an objection is beside them
    assert glm.counts == 0
    assert glm.parameters == len(expected.params)
    for one in found:
        assert [(shown.of, shown.numbers, shown.counts) for shown in one.shown] == [
            (shown.of, shown.numbers, shown.counts) for shown in expected.shown
        ]
        assert repr(one.to_dict()) == repr(expected.to_dict())  # to the bit


# What is refused before anything is sent


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"family": "normal"}, "family must be one of binomial, poisson, negative_binomial, gamma, inverse_gaussian, "),
        ({"link": "log"}, "link must be one of logit, probit, cloglog for family binomial; got 'log'"),
        ({"family": "negative_binomial"}, "shape: family negative_binomial needs a shape"),
        ({"shape": 1.0}, "shape: family binomial has no shape; got 1.0"),
        ({"family": "negative_binomial", "shape": -1.0}, "shape must be a positive number; got -1.0"),
        ({"dispersion": "deviance"}, "dispersion must be one of fixed, pearson; got 'deviance'"),
        ({"family": "gamma", "dispersion": "fixed"}, "dispersion of family gamma is estimated; got 'fixed'"),
        ({"robust": "HC3"}, "robust must be one of HC0, HC1, or left out; got 'HC3'"),
        ({"exposure": "days"}, "exposure needs the link log; got 'logit'"),
        ({"weights": "weight"}, "weights must be a column of the schema; got 'weight'"),
        ({"weights": "site"}, "weights must be a column of numbers; 'site' is a category"),
        ({"formula": "~ age"}, "formula: it needs one column before ~, which is to be explained; got 0"),
        ({"formula": "site ~ age"}, "formula: 'site' has 3 levels; family binomial takes 2"),
        ({"formula": "alive ~ age", "family": "poisson"}, "formula: 'alive' is a category, and no response of family"),
        ({"formula": "death ~ 0"}, "formula: there are no terms left"),
        ({"formula": "death ~ death"}, "'death' is the response, and a term as well"),
        (
            {"formula": "cost ~ age + offset(w)", "family": "gamma", "link": "inverse"},
            "offset has no use with the link inverse",
        ),
    ],
)
def test_questions_that_do_not_fit(study, options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        study.glm(**{"formula": "death ~ age", **options})


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        (
            {"cost": 2.5},
            {"formula": "cost ~ age", "family": "poisson"},
            "column 'cost' has responses in 3 rows that the",
        ),
        (
            {"cost": -1.0},
            {"formula": "cost ~ age", "family": "gamma"},
            "family gamma does not take: it takes positive ",
        ),
        ({"cost": 0.0}, {"formula": "cost ~ age", "family": "inverse_gaussian"}, "takes positive numbers"),
        (
            {"cost": 0.5},
            {"formula": "cost ~ age"},
            "it takes outcomes 0 and 1, or proportions of the trials in weights",
        ),
        ({"cost": 1.5}, {"formula": "cost ~ age", "weights": "w"}, "column 'cost' has responses in 3 rows"),
        (
            {"w": 0.0},
            {"formula": "death ~ age", "weights": "w"},
            "weights: they must be positive, and 3 rows have others",
        ),
    ],
)
def test_a_partys_rows_are_refused_by_column_before_anything_is_sent(change, options, sentence):
    tables = [TABLES[0].assign(**change), *TABLES[1:]]
    with pytest.raises(InvalidInput, match=rf"^party 0: .*{sentence}"):
        sv.Study(RING, tables, schema=SCHEMA).glm(**options)


def test_exposures_are_positive():
    schema = sv.Schema({"visits": "integer", "days": "number"})
    tables = [{"visits": [1, 2], "days": [1.0, 0.0]}, {"visits": [0], "days": [2.0]}, {"visits": [], "days": []}]
    with pytest.raises(InvalidInput, match="party 0: exposure: it must be positive, and 1 rows have others"):
        sv.Study(sv.Network.ring(3), tables, schema=schema).glm("visits ~ 1", family="poisson", exposure="days")


# What all parties find together, and say with one sentence


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        (
            lambda f: f.assign(death=False),
            {"formula": "death ~ age"},
            r"no row of any party has 'death' = 1 \(no events",
        ),
        (
            lambda f: f.assign(death=True),
            {"formula": "death ~ age"},
            r"no row of any party has 'death' = 0 \(only even",
        ),
        (
            lambda f: f.assign(visits=0),
            {"formula": "visits ~ age", "family": "poisson"},
            "all counts 'visits' of all p",
        ),
        (lambda f: f.iloc[:0], {"formula": "death ~ age"}, "no party has any rows"),
        (lambda f: f.iloc[:1], {"formula": "visits ~ age * site", "family": "poisson"}, "3 observations do not determ"),
        (
            lambda f: f.assign(death=f["death"] | (f["site"] == "c")),
            {"formula": "death ~ age + site"},
            r"the estimate of 'site\[T.c\]' is infinite: the column separates the outcomes 'death', or a level",
        ),
        (
            lambda f: f.assign(death=f["age"] > 50),
            {"formula": "death ~ age", "link": "probit"},
            "the estimate of 'age' is infinite",
        ),
        (
            lambda f: f.assign(visits=f["visits"].where(f["site"] != "c", 0)),
            {"formula": "visits ~ age + site", "family": "poisson"},
            r"the estimate of 'site\[T.c\]' is infinite: all counts 'visits' are 0 where the column is not",
        ),
        (
            lambda f: f.assign(cost=7.0),
            {"formula": "cost ~ age", "family": "gaussian"},
            "'cost' does not vary over the",
        ),
    ],
)
def test_what_the_rows_of_all_parties_do_not_tell(change, options, sentence):
    with pytest.raises(Undetermined, match=sentence):
        sv.Study(RING, [change(frame) for frame in TABLES], schema=SCHEMA).glm(**options)


# What is left out


def test_columns_that_hang_on_others_are_left_out_in_the_order_of_the_formula():
    """A constant, a level without rows, and a column in other units, as R has it."""
    tables = [frame.assign(w=frame["age"] / 16, days=7.0) for frame in TABLES]
    tables = [frame[frame["site"] != "c"] for frame in tables]
    fit = sv.Study(RING, tables, schema=SCHEMA).glm("death ~ days + age + site + w")
    assert fit.aliased == ("days", "site[T.c]", "w")
    assert fit.terms == ("Intercept", "age", "site[T.a]")
    assert fit.all_terms == ("Intercept", "days", "age", "site[T.a]", "site[T.c]", "w")
    data = pd.concat(tables)
    design = np.column_stack([np.ones(len(data)), data["age"], data["site"] == "a"])
    expected = sm.Logit(data["death"].astype(float), design).fit(disp=0, tol=1e-14)
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-11)
    np.testing.assert_allclose(fit.bse, expected.bse, rtol=1e-11)
    assert (fit.df_model, fit.df_resid) == (2, len(data) - 3)
    assert "Left out, as they hang on terms before them: days, site[T.c], w." in fit.summary()
    assert json.loads(json.dumps(fit.to_dict()))["aliased"] == ["days", "site[T.c]", "w"]
    np.testing.assert_allclose(fit.predict(data), expected.predict(design), rtol=1e-11)


def test_columns_of_arrays_that_only_rounding_keeps_apart():
    """x0 - x1 has float64's own digits at the end."""
    x = np.round(np.random.default_rng(1).normal(size=(40, 2)), 3)
    X, y = np.column_stack([x, x[:, 0] - x[:, 1], np.full(40, 0.1)]), np.random.default_rng(2).poisson(2, 40)
    fit = sv.private_glm(sv.Network.ring(3), [(X[:9], y[:9]), (X[9:9], y[9:9]), (X[9:], y[9:])], family="poisson")
    assert (fit.terms, fit.aliased) == (("Intercept", "x0", "x1"), ("x2", "x3"))
    expected = sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson()).fit(tol=1e-14, tol_criterion="params")
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-12)
    np.testing.assert_allclose(fit.predict(X), expected.fittedvalues, rtol=1e-12)
    with pytest.raises(InvalidInput, match="the table must have 4 columns, as in the fit: x0, x1, x2, x3"):
        fit.predict(x)
    X[:, 3] = x[:, 0] + 1e-8 * np.arange(40)  # of which 2e-14 of its square is left: float64 cannot climb with that
    with pytest.raises(Undetermined, match="columns 'x0', 'x3' are so nearly linearly dependent"):
        sv.private_glm(sv.Network.ring(3), [(X[:9], y[:9]), (X[9:9], y[9:9]), (X[9:], y[9:])], family="poisson")


def test_nothing_is_left():
    schema = {"a": "integer", "y": "integer"}
    tables = [{"a": [0, 0], "y": [1, 2]}, {"a": [0], "y": [3]}]
    with pytest.raises(Undetermined, match="all columns are 0 in all rows of all parties"):
        sv.Study(sv.Network.complete(2), tables, schema=schema).glm("y ~ a - 1", family="poisson")


# How many agreements it takes


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({"formula": "death ~ age + site"}, 0),
        ({"formula": "death ~ age + site", "link": "probit"}, 0),
        ({"formula": "death ~ age", "robust": "HC1"}, 1),
        ({"formula": "visits ~ age", "family": "poisson", "exposure": "days"}, 0),
        ({"formula": "visits ~ 0 + age", "family": "poisson"}, 0),
        ({"formula": "cost ~ age", "family": "gamma"}, 0),
        ({"formula": "cost ~ age", "family": "gamma", "weights": "w"}, 1),  # the likelihood waits for the dispersion
        ({"formula": "cost ~ age", "family": "gamma", "weights": "w", "robust": "HC0"}, 1),
        ({"formula": "cost ~ age", "family": "inverse_gaussian", "weights": "w"}, 0),
    ],
)
def test_one_agreement_before_the_climb_and_none_after_it_unless_it_is_asked_for(study, options, more):
    fit = study.glm(**options)
    assert fit.traffic.agreements == len(fit.shown) == 1 + fit.steps + more
    assert fit.steps <= 6
    assert [shown.iterate for shown in fit.shown] == [False, *[True] * (fit.steps - 1), False, *[False] * more]
    assert fit.status is sv.Status.CONVERGED


def test_least_squares_is_one_step(study):
    fit = study.glm("cost ~ age + site", family="gaussian")
    linear = study.linear("cost ~ age + site")
    assert fit.traffic.agreements == 2
    np.testing.assert_allclose(fit.params, linear.params, rtol=1e-12)
    np.testing.assert_allclose(fit.bse, linear.bse, rtol=1e-12)


@pytest.mark.parametrize("robust", [None, "HC0"])
def test_columns_that_nearly_depend_on_each_other_keep_their_digits(robust):
    """1e-9 of the square of x1 is its own, and 1e-6 of that of a squared year: least squares in fractions knows."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(80, 3)).round(6)
    x[:, 1] = (x[:, 0] + 3e-5 * x[:, 1]).round(9)
    year = rng.integers(2000, 2021, 80).astype(float)
    X = np.column_stack([x, year, year**2])
    y = (X[:, 0] + 0.1 * (year - 2010) + rng.normal(size=80)).round(3)
    shards = [(X[:30], y[:30]), (X[30:30], y[30:30]), (X[30:], y[30:])]
    exact = sv.private_linear(sv.Network.ring(3), shards, robust=robust)
    fit = sv.private_glm(sv.Network.ring(3), shards, family="gaussian", robust=robust)
    assert (np.abs(fit.params - exact.params) <= 1e-12 * np.abs(exact.params) + 1e-10 * exact.bse).all()
    np.testing.assert_allclose(fit.bse, exact.bse, rtol=1e-10)


# Rows that are far from the rest


def test_a_row_that_the_model_finds_impossible_costs_one_number():
    """exp(60) is its squared residual, which nothing hangs on where the dispersion is known."""
    rng = np.random.default_rng(4)
    x, o = rng.normal(size=(90, 1)), np.where(np.arange(90) == 7, 60.0, 0.0)
    y = np.where(np.arange(90) == 7, 0.0, (rng.random(90) < 1 / (1 + np.exp(-x[:, 0]))).astype(float))

    def parts(values):
        return np.split(values, [20, 21])

    shards = list(zip(parts(x), parts(y), strict=True))
    fit = sv.private_glm(sv.Network.ring(3), shards, offset=parts(o))
    expected = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial(), offset=o).fit(tol=1e-14)
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-11)
    eta = np.where(y == 1, 1, -1) * (fit.params[0] + fit.params[1] * x[:, 0] + o)
    assert fit.deviance == pytest.approx(2 * np.logaddexp(0, -eta).sum(), rel=1e-12)
    assert np.isnan(fit.pearson_chi2)
    assert json.loads(json.dumps(fit.to_dict(), allow_nan=False))["pearson_chi2"] is None
    with pytest.raises(
        Undetermined, match="the sums at the start are not finite for the rows of some party, or larger"
    ):
        sv.private_glm(sv.Network.ring(3), shards, offset=parts(o), dispersion="pearson")


def test_weights_that_are_larger_than_integers():
    shards = [([[1.0], [2.0], [5.0]], [1, 2, 1]), ([[1.0]], [3])]
    weights = [[1e25, 2e25, 1e25], [1e25]]
    with pytest.raises(Undetermined, match="columns, responses or weights of some party are larger than exact sums"):
        sv.private_glm(sv.Network.complete(2), shards, family="poisson", weights=weights)


def test_a_step_that_leaves_the_means_is_halved():
    """With the link 1 / mu the first step from the mean goes where some rows have none."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (120, 1))
    y = rng.gamma(30, 1 / (0.05 + 4 * x[:, 0])) / 30
    shards = [(x[:50], y[:50]), (x[50:], y[50:])]
    fit = sv.private_glm(sv.Network.complete(2), shards, family="gamma", link="inverse")
    expected = sm.GLM(y, sm.add_constant(x), family=sm.families.Gamma()).fit(
        start_params=[0.1, 4.0], maxiter=200, tol=0.0, rtol=1e-14, tol_criterion="params"
    )
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-11)
    assert fit.traffic.agreements > 1 + fit.steps  # some party objected


def test_a_perfect_fit():
    x = np.random.default_rng(0).normal(size=(30, 2)).round(2)
    shards = [(x[:9], 3 + x[:9, 0] - 2 * x[:9, 1]), (x[9:], 3 + x[9:, 0] - 2 * x[9:, 1])]
    fit = sv.private_glm(sv.Network.complete(2), shards, family="gaussian")
    np.testing.assert_allclose(fit.params, [3, 1, -2], rtol=1e-13)
    assert fit.deviance < 1e-25
    assert fit.null_deviance > 10
    assert "gaussian" in fit.summary()
    assert json.dumps(fit.to_dict(), allow_nan=False)


def test_a_robust_variance_of_nothing_is_refused():
    """HC0 of a level that one row has, without an intercept: its residual is 0 whatever it is."""
    schema = {"site": {"type": "category", "levels": ["a", "b"]}, "n": "integer"}
    tables = [{"site": ["a", "b", "a"], "n": [3, 4, 1]}, {"site": ["a", "a"], "n": [2, 2]}]
    study = sv.Study(sv.Network.complete(2), tables, schema=schema)
    sentence = r"the robust variance of 'site\[b\]' is 0: as for a level that one row has"
    for family in ("poisson", "negative_binomial"):
        shape = 0.5 if family == "negative_binomial" else None
        with pytest.raises(Undetermined, match=sentence):
            study.glm("n ~ 0 + site", family=family, shape=shape, robust="HC0")
    # Beside an intercept it is that of the others.
    fit = study.glm("n ~ site", family="poisson", robust="HC0")
    y, design = [3, 4, 1, 2, 2], sm.add_constant([0.0, 1, 0, 0, 0])
    expected = sm.GLM(y, design, family=sm.families.Poisson()).fit(cov_type="HC0", tol=1e-14)
    np.testing.assert_allclose(fit.bse, expected.bse, rtol=1e-12)


def test_counts_far_more_spread_than_poisson(study):
    """A dispersion of 100."""
    rng = np.random.default_rng(6)
    x, w = rng.normal(size=(200, 1)), rng.uniform(500, 2000, 200).round(1)
    y = rng.poisson(np.exp(1 + 0.3 * x[:, 0]) * rng.gamma(0.01, 100, 200)).astype(float)
    shards = [(x[:50], y[:50]), (x[50:], y[50:])]
    fit = sv.private_glm(
        sv.Network.complete(2), shards, family="poisson", dispersion="pearson", weights=[w[:50], w[50:]]
    )
    model = sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson(), var_weights=w)
    expected = model.fit(scale="X2", tol=0.0, rtol=1e-14, tol_criterion="params", maxiter=200)
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-11)
    np.testing.assert_allclose(fit.bse, expected.bse, rtol=1e-11)
    assert fit.scale == pytest.approx(expected.scale, rel=1e-12)


# Rows of all parties, however they are dealt out


@pytest.mark.parametrize(
    "options",
    [
        {"formula": "death ~ age * site", "robust": "HC0"},
        {"formula": "visits ~ age + site + offset(0.1 * w)", "family": "poisson", "exposure": "days", "weights": "w"},
        {"formula": "cost ~ 0 + site + age", "family": "inverse_gaussian", "robust": "HC1"},
    ],
    ids=lambda options: options.get("family", "binomial"),
)
def test_answers_are_the_same_to_the_bit_however_rows_are_dealt_out(options):
    data = {name: POOLED[name].to_numpy() for name in SCHEMA if name != "born"}
    assert_same_bits(data, SCHEMA.restricted(tuple(data)), lambda study: study.glm(**options), ways=7)


# What is said of a fit


def test_predictions_from_a_table(study):
    fit = study.glm("visits ~ age * site + offset(0.1 * w)", family="poisson", exposure="days")
    new = table(9, 8)
    x = np.column_stack(
        [new["age"], new["site"] == "a", new["site"] == "c", *(new["age"] * (new["site"] == s) for s in "ac")]
    )
    eta = fit.params[0] + x @ fit.params[1:]
    want = new["days"] * np.exp(eta + 0.1 * new["w"])
    np.testing.assert_allclose(fit.predict(new.drop(columns="visits")), want, rtol=1e-12)
    np.testing.assert_allclose(fit.predict(new.assign(days=1), linear=True), eta + 0.1 * new["w"])
    with pytest.raises(InvalidInput, match="values are missing in new rows, by column: 'age' 1"):
        fit.predict(new.assign(age=new["age"].where(new.index != 3)))
    with pytest.raises(InvalidInput, match="exposure: this model reads all that it needs from the table"):
        fit.predict(new, exposure=np.ones(9))
    alone = study.glm("visits ~ 1", family="poisson")
    assert alone.predict({"note": ["x", "y", "z"]}) == pytest.approx([np.exp(alone.params[0])] * 3)


def test_predictions_of_models_of_arrays():
    columns = ["age", "w"]
    fit = sv.private_glm(
        RING, [(frame[columns], frame["visits"]) for frame in TABLES], family="poisson",
        exposure=[frame["days"] for frame in TABLES],
    )  # fmt: skip
    new = table(9, 8)
    eta = fit.params[0] + new[columns].to_numpy() @ fit.params[1:]
    np.testing.assert_allclose(fit.predict(new[["w", "visits", "age"]], linear=True), eta)  # by name
    want = new["days"] * np.exp(eta + 0.1 * new["w"])
    np.testing.assert_allclose(
        fit.predict(new[columns].to_numpy(), exposure=new["days"], offset=0.1 * new["w"].to_numpy()), want, rtol=1e-12
    )
    with pytest.raises(InvalidInput, match="the table must have 2 columns, as in the fit: age, w"):
        fit.predict(new[["age"]].to_numpy())
    with pytest.raises(InvalidInput, match="exposure: it must be positive, and 9 of the new rows"):
        fit.predict(new[columns], exposure=np.zeros(9))
    plain = sv.private_glm(RING, [(frame[["age"]], frame["death"]) for frame in TABLES])
    with pytest.raises(InvalidInput, match="exposure needs the link log; this model has logit"):
        plain.predict([[50.0]], exposure=[2.0])


def test_likelihood_ratio_tests(study):
    small, large = study.glm("death ~ age"), study.glm("death ~ site + age")
    statistic, p, df = large.compare_lr(small)
    assert statistic == pytest.approx(2 * (large.llf - small.llf), rel=1e-12)
    assert (p, df) == (pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-12), 2)
    costs = [study.glm(f"cost ~ {terms}", family="gamma") for terms in ("age", "age + site")]
    assert costs[1].compare_lr(costs[0])[0] == pytest.approx((costs[0].deviance - costs[1].deviance) / costs[1].scale)
    for other, sentence in (
        (large, "must have some of this model's terms and no others"),
        (study.glm("death ~ w"), "must have some of this model's terms and no others"),
        (study.glm("death ~ 1", link="probit"), "its link is another"),
        (3, "other must be a GLMFit; got int"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            small.compare_lr(other)
    with pytest.raises(InvalidInput, match="kind must be 'mcf' or 'cs'"):
        small.pseudo_rsquared("nagelkerke")


def test_what_a_fit_tells(study):
    fit = study.glm("visits ~ age", family="negative_binomial", shape=0.5)
    told = json.loads(json.dumps(fit.to_dict()))
    assert (told["family"], told["shape"], told["dispersion"], told["robust"]) == (
        "negative_binomial",
        0.5,
        "fixed",
        None,
    )
    assert told["steps"] == fit.steps <= 8
    assert repr(fit) == "GLMFit(converged, negative_binomial model of visits, 2 terms: 223 observations of 4 parties)"
    head = dict(fit._head())
    assert (head["Dep. Variable"], head["Link Function"], head["Shape"]) == ("visits", "log", "0.5")
    assert (head["No. Observations"], head["Df Residuals"], head["Covariance Type"]) == ("223", "221", "nonrobust")
    assert list(fit.to_frame().columns[:5]) == ["term", "estimate", "std_error", "statistic", "p_value"]
    assert "age" in fit.summary()
    assert study.glm("cost ~ age", family="gaussian").ratio is None
    assert [shown.iterate for shown in fit.shown].count(True) == fit.steps - 1  # the last one is the answer


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"names": ["a"]}, "names must be 2 different strings, one per column of X"),
        ({"names": ["Intercept", "b"]}, "a column is called 'Intercept'"),
        ({"weights": [[1.0], [1.0], []]}, r"party 0: weights must be 2 finite numbers, one per row; got shape \(1,\)"),
        ({"offset": [[1.0, np.nan], [1.0], []]}, "party 0: offset must be 2 finite numbers"),
        (
            {"family": "gamma", "link": "inverse", "offset": [[1.0, 1.0], [1.0], []]},
            "offset has no use with the link in",
        ),
        ({"family": "gamma"}, "party 0: column 'y' has responses in 1 rows that the family gamma does not take"),
    ],
)
def test_shards_that_do_not_fit(arguments, sentence):
    shards = [([[1.0, 2.0], [3.0, 1.0]], [0, 1]), ([[2.0, 2.0]], [1]), (np.empty((0, 2)), [])]
    with pytest.raises(InvalidInput, match=sentence):
        sv.private_glm(sv.Network.ring(3), shards, **arguments)


# Families and links


ETA = np.array([-250.0, -30.0, -8.0, -1.3, 0.2, 1.9, 9.0, 40.0, 250.0])


@pytest.mark.parametrize("name", LINKS)
def test_derivatives_of_links(name):
    link = LINKS[name]
    eta = np.array([0.3, 0.9, 1.7]) if (link.power or 0) < 0 else np.array([-2.1, -0.4, 0.3, 1.1])
    h = 1e-5
    np.testing.assert_allclose(link.of(link.mean(eta)), eta, rtol=1e-12)
    np.testing.assert_allclose(link.slope(eta), (link.mean(eta + h) - link.mean(eta - h)) / (2 * h), rtol=1e-8)
    np.testing.assert_allclose(
        link.curve(eta), (link.slope(eta + h) - link.slope(eta - h)) / (2 * h), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize(("name", "link"), [(name, link) for name, family in FAMILIES.items() for link in family.links])
def test_score_and_information_are_derivatives_of_the_deviance_and_finite_everywhere(name, link):
    family, link = FAMILIES[name].of_shape(0.7 if FAMILIES[name].shaped_by else None), LINKS[link]
    y = np.array([0.0, 1.0, 3.0, 1.0]) if name in ("poisson", "negative_binomial") else np.array([0.3, 0.9, 0.5, 0.1])
    eta, h = np.array([0.4, 0.9, 1.3, 0.2]), 1e-5

    def score(at):
        return family.pieces(link, at, y).score

    def deviance(at):
        return family.pieces(link, at, y).deviance

    np.testing.assert_allclose(score(eta), -(deviance(eta + h) - deviance(eta - h)) / (4 * h), rtol=1e-7, atol=1e-9)
    observed = family.curvature(link, eta, y)
    np.testing.assert_allclose(observed, -(score(eta + h) - score(eta - h)) / (2 * h), rtol=1e-7, atol=1e-9)
    if family.is_concave(link):
        assert (family.curvature(link, np.abs(ETA) if link.power else ETA, np.resize(y, len(ETA))) >= 0).all()
    found = family.pieces(link, eta, y)
    mean = link.mean(eta)
    np.testing.assert_allclose(found.square, (y - mean) ** 2 / family.variance(mean), rtol=1e-12)
    np.testing.assert_allclose(found.information, link.slope(eta) ** 2 / family.variance(mean), rtol=1e-12)
    with np.errstate(all="raise", under="ignore"):
        found = family.pieces(link, ETA, np.resize(y, len(ETA)))
        inside = link.inside(ETA)
        assert np.isfinite(found.deviance[inside]).all()
        assert np.isnan(found.deviance[~inside]).all()
        assert np.isfinite([found.score, found.information, found.square]).all()


def test_the_curvature_of_cloglog_joins_its_series():
    p, _ = LINKS["cloglog"].curvatures(np.log(np.array([0.01 - 1e-15, 0.01])))
    assert p[0] == pytest.approx(p[1], rel=1e-9)


# Who does not keep to the protocol


def test_a_mean_that_no_rows_have_is_no_model():
    """The sum of outcomes; its place is after rows, events, others, and 1, x, x^2."""
    glm = GLM(schema=SCHEMA, formula="death ~ age")
    rows = [ArrayRows(np.column_stack([part["age"], part["death"]]).astype(float)) for part in TABLES]

    def program(agreements, i):
        honest = agreements.add_up

        def lying(own, ring, rows_counted):
            own[0][6] += 10**6 if not agreements.shown and i == 1 else 0
            return honest(own, ring, rows_counted)

        agreements.add_up = lying
        return glm.program(agreements, [rows[i]])

    with pytest.raises(PeerError, match="the mean of 'death' of all parties is that of no rows"):
        together(program, 4)
