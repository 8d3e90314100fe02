"""What every fitted model shows: tables, summaries, frames and forests, against hand-made numbers and statsmodels."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from picture_faults import faults

import sottovoce as sv
from sottovoce.errors import InvalidInput, NotConverged
from sottovoce.statistics import Fit
from sottovoce.statistics.fit import covariates, is_intercept
from sottovoce.statistics.pictures import ratio_ticks

COMMON: dict[str, Any] = {"status": sv.Status.CONVERGED, "parties": 3}


class Odds(Fit):
    title = "Generalised linear model"
    ratio = "odds ratio"

    def _head(self):
        return [("Family", "binomial"), *super()._head()]


class Student(Fit):
    title = "Linear model"

    @property
    def _df(self):
        return 28.0


def made(family: type[Fit], terms, params, variances, nobs=400, **more):
    covariance = np.diag(variances).astype(float)
    values = {
        "terms": tuple(terms),
        "params": np.array(params, float),
        "covariance": covariance,
        "nobs": nobs,
        "aliased": (),
    }
    return family(**COMMON, **values, **more)


@pytest.fixture(scope="module")
def spector():
    data = sm.datasets.spector.load_pandas()
    return data.endog, sm.add_constant(data.exog)


def of_statsmodels(family, fitted):
    terms = ["Intercept", *fitted.params.index[1:]]
    params, covariance = fitted.params.to_numpy(), fitted.cov_params().to_numpy()
    values = {
        "terms": tuple(terms),
        "params": params,
        "covariance": covariance,
        "nobs": int(fitted.nobs),
        "aliased": (),
    }
    return family(**COMMON, **values)


@pytest.mark.parametrize("family", [Odds, Student])
def test_the_numbers_are_those_of_statsmodels(spector, family):
    y, X = spector
    fitted = sm.Logit(y, X).fit(disp=0) if family is Odds else sm.OLS(y, X).fit()
    fit = of_statsmodels(family, fitted)
    for name in ("bse", "tvalues", "pvalues"):
        np.testing.assert_allclose(getattr(fit, name), getattr(fitted, name), rtol=1e-12)
    np.testing.assert_array_equal(fit.zvalues, fit.tvalues)
    for alpha in (0.05, 0.2):
        np.testing.assert_allclose(fit.conf_int(alpha), fitted.conf_int(alpha), rtol=1e-12)
        low, high = np.exp(fitted.conf_int(alpha).to_numpy()).T
        np.testing.assert_allclose(fit.ratios(alpha), np.column_stack([np.exp(fitted.params), low, high]), rtol=1e-11)
    np.testing.assert_array_equal(fit.cov_params(), fitted.cov_params())
    # The lines of both texts: coef, std err, z or t, P, [0.025, 0.975]; statsmodels rounds to 3 and 4 decimals.
    theirs = [line.split() for line in fitted.summary().tables[1].as_text().splitlines()]
    theirs = {line[0]: np.array(line[1:], float) for line in theirs if len(line) == 7 and line[0] != "coef"}
    ours = {line.split()[0]: line.split()[1:7] for line in fit.summary().splitlines() if line.split()[0] in fit.terms}
    assert len(theirs) == len(ours) == 4
    for (name, one), two in zip(ours.items(), theirs.values(), strict=True):
        np.testing.assert_allclose(np.array(one, float), two, atol=6e-4, rtol=2e-5, err_msg=name)


def test_alpha_is_checked():
    for alpha in (0, 1, -0.1, "0.05", True):
        with pytest.raises(InvalidInput, match="alpha must lie between 0 and 1"):
            made(Fit, ["a"], [1.0], [1.0]).conf_int(alpha)


# Text


def test_a_summary_to_the_letter():
    fit = made(
        Odds, ["Intercept", "age", "dose[T.very high]"], [-2.0, 0.05, 1.5], [1.0, 0.0001, 0.25], 1234,
        dropped={"rows": 3, "age": 2, "dose": 1},
    )  # fmt: skip
    assert fit.summary() == "\n".join(
        [
            "                                 Generalised linear model",
            "==========================================================================================",
            "Family:                            binomial   Parties:                                   3",
            "No. Observations:                     1,234",
            "==========================================================================================",
            "                       coef   std err         z     P>|z|    [0.025     0.975]  odds ratio",
            "------------------------------------------------------------------------------------------",
            "Intercept                -2         1    -2.000    0.0455     -3.96  -0.040036     0.13534",
            "age                    0.05      0.01     5.000   <0.0001    0.0304     0.0696      1.0513",
            "dose[T.very high]       1.5       0.5     3.000    0.0027   0.52002       2.48      4.4817",
            "==========================================================================================",
            "3 rows dropped for missing values: age 2, dose 1.",
            "Of the rows of 3 parties together, from sums over groups of them.",
        ]
    )


def test_columns_stay_apart_and_aligned():
    """Whatever the names and the sizes of numbers: a column ends at one place, and cells do not touch."""
    terms = ["a", "a name that is much longer than any that people give[T.level]", "c", "d"]
    fit = made(Odds, terms, [1e-12, -123456789.0, 40.0, 1.0], [1e-30, 1e10, 1e8, np.inf])
    lines = fit.summary().splitlines()
    head = next(line for line in lines if "std err" in line)
    body = [line for line in lines if any(line.startswith(f"{term} ") for term in terms)]
    assert len(body) == 4
    assert len({len(line) for line in [head, *body]}) == 1
    cells = [re.split(r"\s{2,}", line[len(terms[1]) :].strip()) for line in body]
    assert {len(row) for row in cells} == {7}
    assert max(map(len, lines)) == len(head)
    assert [row[6] for row in cells] == ["1", "0", "2.3539e+17", "2.7183"]
    assert [row[3] for row in cells] == ["<0.0001", "<0.0001", "0.9968", "1.0000"]
    assert " t " in made(Student, ["a"], [1.0], [1.0]).summary()
    assert "P>|t|" in made(Student, ["a"], [1.0], [1.0]).summary()


def test_facts_wider_than_the_table():
    class Wordy(Fit):
        def _head(self):
            return [("Method", "w" * 60), ("Covariance", "sandwich"), ("Parties", "3")]

    lines = made(Wordy, ["a"], [1.0], [1.0]).summary().splitlines()
    assert lines[2].startswith("Method: " + "w" * 60 + "   Parties:")
    assert len(lines[1]) == len(lines[2]) == 2 * 68 + 3
    assert set(lines[1]) == {"="}


# Notebooks, frames and JSON


def test_the_tidy_table():
    odds, plain = made(Odds, ["Intercept", "a"], [1.0, 2.0], [0.25, 1.0]), made(Student, ["a"], [2.0], [1.0])
    tidy = ["term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    assert list(plain.to_frame().columns) == tidy
    frame = odds.to_frame()
    assert list(frame.columns) == [*tidy, "ratio", "ratio_low", "ratio_high"]
    assert list(frame["term"]) == ["Intercept", "a"]
    np.testing.assert_allclose(frame["estimate"], [1.0, 2.0])
    np.testing.assert_allclose(frame["std_error"], [0.5, 1.0])
    np.testing.assert_allclose(frame["statistic"], [2.0, 2.0])
    np.testing.assert_allclose(frame["p_value"], 0.04550026389635842)  # 2 (1 - Phi(2))
    np.testing.assert_allclose(frame["conf_low"], [1 - 0.5 * 1.959963984540054, 2 - 1.959963984540054])
    np.testing.assert_allclose(frame["ratio_high"], np.exp(frame["conf_high"]))
    np.testing.assert_allclose(frame["ratio"], [np.e, np.e**2])


def test_what_a_notebook_shows():
    shown = made(Odds, ["Intercept", "<a>"], [1.0, 2.0], [0.25, 1.0], 1234, dropped={"rows": 1, "a": 1})._repr_html_()
    caption = re.search("<caption[^>]*>(.*)</caption>", shown)
    assert caption is not None
    assert caption[1] == (
        "Generalised linear model; Family: binomial; No. Observations: 1,234; Parties: 3; "
        "1 row dropped for missing values: a 1"
    )
    assert shown.count("<tr>") == 3
    assert "ratio_low" in shown
    assert "&lt;a&gt;" in shown
    assert "<a>" not in shown
    long = made(Fit, [f"x{k}" for k in range(60)], np.ones(60), np.ones(60))._repr_html_()
    assert "the first 50 of 60 rows" in long
    assert long.count("<tr>") == 51


def test_what_json_has():
    fit = made(Odds, ["Intercept", "a"], [1.0, 900.0], [0.25, 1.0], dropped={"rows": 0})
    told = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert list(told) == [
        "status", "dropped", "terms", "params", "covariance", "nobs", "aliased", "bse", "zvalues", "pvalues",
        "conf_int", "ratios",
    ]  # fmt: skip
    assert told["bse"] == [0.5, 1.0]
    assert told["ratios"][1] == [None, None, None]  # exp(900): JSON knows no infinity
    assert "ratios" not in made(Student, ["a"], [2.0], [1.0]).to_dict()


def test_without_an_answer():
    fit = Odds(**COMMON | {"status": sv.Status.MAX_ITER})
    assert fit.summary() == "Generalised linear model: max_iter, no estimates to report."
    assert fit.to_dict() == {"status": "max_iter"}
    assert "max_iter" in fit._repr_html_()
    for call in (fit.to_frame, fit.plot):
        with pytest.raises(NotConverged, match="there is nothing for a"):
            call()
    assert fit.disclosure.parameters is None
    with pytest.raises(NotConverged, match="params is not known; the answer here has the status max_iter"):
        fit.params  # noqa: B018


# Forests


def dots(figure):
    """The estimates that are drawn: place, and row."""
    (marks,) = (c for c in figure.axes[0].collections if hasattr(c, "get_sizes") and c.get_sizes()[0] == 52)
    return np.asarray(marks.get_offsets())


def segments(figure):
    (lines,) = (c for c in figure.axes[0].collections if hasattr(c, "get_segments"))
    return np.array([segment[:, 0] for segment in lines.get_segments() if segment.size])  # none where it is not known


def test_a_forest_of_ratios(tmp_path):
    fit = made(Odds, ["Intercept", "age", "sex[T.m]"], [-3.0, 0.1, -0.7], [1.0, 0.01, 0.04])
    figure = fit.plot(tmp_path / "forest.svg")
    assert faults(figure) == []
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "odds ratio and 95 % interval"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age", "sex[T.m]"]
    np.testing.assert_allclose(dots(figure), [[np.exp(0.1), 0], [np.exp(-0.7), 1]])
    np.testing.assert_allclose(segments(figure), fit.ratios()[1:, 1:])
    (line,) = axes.lines
    assert set(line.get_xdata()) == {1}
    assert 1.0 in axes.get_xticks()
    assert (tmp_path / "forest.svg").read_text().count("odds ratio and 95 % interval") == 1


def test_a_forest_without_ratios_lies_about_zero():
    figure = made(Student, ["Intercept", "a", "b"], [9.0, 1.0, -0.5], [1.0, 0.04, 0.01]).plot()
    assert faults(figure) == []
    np.testing.assert_allclose(dots(figure)[:, 0], [1.0, -0.5])
    assert set(figure.axes[0].lines[0].get_xdata()) == {0}
    alone = made(Odds, ["Intercept"], [0.3], [0.01]).plot()
    assert [label.get_text() for label in alone.axes[0].get_yticklabels()] == ["Intercept"]


def test_other_terms_than_intercepts_may_stay_out_of_a_forest():
    class Ordered(Odds):
        @property
        def _slopes(self):
            return [0]  # the rest are cuts between levels

    fit = made(Ordered, ["age", "low/high"], [0.1, 2.0], [0.01, 0.01])
    assert [label.get_text() for label in fit.plot().axes[0].get_yticklabels()] == ["age"]
    assert fit._model_size() == (2, 1, 400)


@pytest.mark.parametrize("family", [Odds, Student])
@pytest.mark.parametrize(
    ("params", "variances"),
    [
        ([0.1, 1.2, 25.0, -0.1], [0.01, 0.3, 1e8, 0.02]),  # separation
        ([0.1, 1.2, 0.5, 0.0], [0.01, 0.3, np.inf, 0.0]),
        ([800.0, -800.0, 0.5, 0.1], [1.0, 1.0, 1.0, np.nan]),  # exp overflows
        ([1e-4, -1e-4, 2e-4, 0.0], [1e-9, 1e-9, 1e-9, 1e-9]),
        ([np.nan] * 4, [np.nan] * 4),
    ],
)
def test_forests_of_wild_numbers(family, params, variances):
    """Nothing is cut, and an interval that goes on beyond the picture says so, in an arrow and in figures."""
    fit = made(family, ["a", "b $x_1$", "a name of a term that is far too long", "d"], params, variances)
    figure = fit.plot()
    assert faults(figure) == []
    low, high = figure.axes[0].get_xlim()
    drawn = segments(figure)
    assert np.isfinite([low, high]).all()
    assert low < high
    if family is Odds:
        assert np.nanmin(drawn, initial=1.0) >= low
        assert np.nanmax(drawn, initial=1.0) <= high
        arrows = sum(len(c.get_offsets()) for c in figure.axes[0].collections if getattr(c, "_sizes", [0])[0] == 40)
        cut = (fit.ratios()[:, 1] < np.nanmin(drawn, initial=1.0) * (1 - 1e-12)).sum()
        cut += (fit.ratios()[:, 2] > np.nanmax(drawn, initial=1.0) * (1 + 1e-12)).sum()
        assert arrows == cut


def test_a_forest_of_many_rows():
    fit = made(Odds, [f"x{k}" for k in range(60)], np.linspace(-1, 1, 60), np.full(60, 0.01))
    figure = fit.plot()
    assert faults(figure) == []
    assert len(figure.axes[0].get_yticks()) == 50
    assert "the first 50 of 60 rows" in figure.axes[0].get_xlabel()


def test_an_interval_without_an_end_leaves_the_picture():
    figure = made(Student, ["a", "b"], [1.0, 1.2], [0.04, np.inf]).plot()
    low, high = figure.axes[0].get_xlim()
    (a, b), (c, d) = segments(figure)
    assert low < a < b < high
    assert c < low < high < d


@pytest.mark.parametrize("reach", [0.002, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 9.0])
def test_ticks_are_round_and_have_1(reach):
    for low, high in ((np.exp(-reach), np.exp(reach)), (0.99, np.exp(reach)), (np.exp(-reach), 1.01)):
        ticks = ratio_ticks(low, high)
        assert 1.0 in ticks
        assert len(ticks) <= 9
        assert all(low <= tick <= high for tick in ticks)
        assert len({f"{tick:g}" for tick in ticks}) == len(ticks)


# What terms are made of


@pytest.mark.parametrize(
    ("terms", "numbers"),
    [
        (["Intercept", "age", "bmi"], 2),
        (["intercept", "x0", "x1", "x2"], 3),
        (["Intercept", "age", "I(age^2)", "log(age)"], 1),
        (["Intercept", "sex[T.m]", "C(ward)[T.b]"], 0),
        (["Intercept", "age:bmi", "age:sex[T.m]"], 2),
        (["Intercept", "bs(age, knots=[40, 60], range=[0, 120])[1]", "bs(age, knots=[40, 60], range=[0, 120])[2]"], 1),
        (["Intercept", "body mass", "ns(crp, knots=[1], range=[0, 9])[1]"], 2),
        (["Intercept", "dose[T.a:b]", "weight (kg)"], 1),
        (["b: Intercept", "b: age", "b: sex[T.m]", "c: Intercept", "c: age", "c: sex[T.m]"], 1),
    ],
)
def test_columns_of_numbers_behind_terms(terms, numbers):
    assert covariates(terms) == numbers


def test_names_of_the_intercept():
    assert is_intercept("Intercept")
    assert is_intercept("intercept")
    assert is_intercept("diet b: Intercept")
    assert not is_intercept("diet b: age")
    assert not is_intercept("age")


def test_values_are_fields():
    assert {field.name for field in dataclasses.fields(Fit)} >= {"terms", "params", "covariance", "nobs", "shown"}
