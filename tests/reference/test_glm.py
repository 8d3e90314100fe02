"""Generalised linear models against statsmodels on the pooled rows, for every family and link."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

import sottovoce as sv

F, L = sm.families, sm.families.links
SHAPE = 0.7
MODELS = {  # new ones: those of statsmodels remember data
    ("binomial", "logit"): lambda: F.Binomial(),
    ("binomial", "probit"): lambda: F.Binomial(L.Probit()),
    ("binomial", "cloglog"): lambda: F.Binomial(L.CLogLog()),
    ("poisson", "log"): lambda: F.Poisson(),
    ("negative_binomial", "log"): lambda: F.NegativeBinomial(alpha=SHAPE),
    ("gamma", "log"): lambda: F.Gamma(L.Log()),
    ("gamma", "inverse"): lambda: F.Gamma(),
    ("inverse_gaussian", "log"): lambda: F.InverseGaussian(L.Log()),
    ("inverse_gaussian", "inverse_squared"): lambda: F.InverseGaussian(),
    ("gaussian", "identity"): lambda: F.Gaussian(),
}
RTOL, OF_ERROR = 1e-12, 1e-12


def spector():
    data = sm.datasets.spector.load_pandas()
    return data.exog.to_numpy(), data.endog.to_numpy()


def fair():
    data = sm.datasets.fair.load_pandas().data
    x = data[["rate_marriage", "age", "yrs_married", "children", "religious", "educ"]]
    return x.to_numpy()[::4], (data["affairs"] > 0).to_numpy(float)[::4]


def cpunish():
    data = sm.datasets.cpunish.load_pandas()
    x = data.exog.to_numpy()
    return x / [1e4, 1, 1, 1e2, 1, 1], data.endog.to_numpy()


def randhie():
    data = sm.datasets.randhie.load_pandas()
    return data.exog[["lncoins", "idp", "lpi", "fmde", "physlm", "disea"]].to_numpy()[::12], data.endog.to_numpy()[::12]


def scotland():
    data = sm.datasets.scotland.load_pandas()
    return data.exog.to_numpy()[:, [0, 1, 5]], data.endog.to_numpy()


def engel():
    data = sm.datasets.engel.load_pandas().data
    return 1000 / data[["income"]].to_numpy(), data["foodexp"].to_numpy()  # also for links of the inverse


def drawn(kind):
    """Two numbers in other units, and a level that most parties do not have."""

    def load():
        rng = np.random.default_rng(5)
        x = np.column_stack([rng.normal(2015, 5, 400), rng.uniform(0, 0.01, 400), np.arange(400) >= 370])
        eta = 0.05 * (x[:, 0] - 2015) - 60 * (x[:, 1] - 0.005) + 0.4 * x[:, 2]
        if kind == "outcome":
            return x, (rng.random(400) < 1 / (1 + np.exp(0.8 - eta))).astype(float)
        if kind == "count":
            return x, rng.poisson(np.exp(1 + eta)).astype(float)
        if kind == "time":
            return x, 1e4 * rng.wald((1 + 0.2 * np.tanh(eta)) ** -0.5, 4)
        return x, 1e-3 * rng.gamma(3, (1 + 0.1 * np.tanh(eta)) / 3)

    load.__name__ = f"drawn {kind}"
    return load


OUTCOMES = [spector, fair, drawn("outcome")]
COUNTS = [cpunish, randhie, drawn("count")]
AMOUNTS = [scotland, engel, drawn("amount")]
DATA = {"binomial": OUTCOMES, "poisson": COUNTS, "negative_binomial": COUNTS}
OF_LINK = {"inverse_squared": [scotland, drawn("time"), drawn("amount")]}  # statsmodels finds no fit of engel's
CASES = [(*model, load) for model in MODELS for load in OF_LINK.get(model[1], DATA.get(model[0], AMOUNTS))]


def shards(*arrays):
    """Of very different sizes: one row, some, none, the rest."""
    cut = [1, 1 + len(arrays[0]) // 5, 1 + len(arrays[0]) // 5]
    return list(zip(*(np.split(array, cut) for array in arrays), strict=True))


def ours(family, link, x, y, **options):
    further = {name: [part for (part,) in shards(value)] for name, value in options.items() if np.ndim(value)}
    shape = SHAPE if family == "negative_binomial" else None
    options = {**options, **further, "shape": shape}
    return sv.private_glm(sv.Network.ring(4), shards(x, y), family=family, link=link, **options)


class Theirs:
    """What statsmodels finds. It is given standardised columns: in those of the data its own digits are lost to the
    condition of the design, 1e-10 where a column is a year. What it finds is brought back to them."""

    def __init__(self, family, link, x, y, intercept=True, fit=None, **options):
        centre, deviation = x.mean(axis=0) * intercept, np.sqrt(((x - x.mean(axis=0) * intercept) ** 2).mean(axis=0))
        design = (x - centre) / deviation
        self.T = np.diag(1 / deviation)
        if intercept:
            design = sm.add_constant(design, has_constant="add")
            self.T = np.block([[np.ones((1, 1)), -(centre / deviation)[None]], [np.zeros((x.shape[1], 1)), self.T]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of links whose domain is not the family's
            model = sm.GLM(y, design, family=MODELS[family, link](), **options)
            self.found = model.fit(maxiter=300, tol=0.0, rtol=1e-14, tol_criterion="params", **(fit or {}))
        self.params = self.T @ self.found.params

    def __getattr__(self, name):
        return getattr(self.found, name)

    def cov_params(self):
        return self.T @ self.found.cov_params() @ self.T.T

    @property
    def bse(self):
        return np.sqrt(np.diag(self.cov_params()))

    @property
    def pvalues(self):
        return 2 * stats.norm.sf(np.abs(self.params / self.bse))

    def conf_int(self):
        return self.params[:, None] + stats.norm.ppf([0.025, 0.975]) * self.bse[:, None]


def theirs(*arguments, **options):
    return Theirs(*arguments, **options)


def agree(fit, expected, llf=True):
    np.testing.assert_allclose(fit.bse, expected.bse, rtol=RTOL)
    off = np.abs(fit.params - expected.params)
    assert (off <= RTOL * np.abs(expected.params) + OF_ERROR * expected.bse).all(), off / expected.bse
    np.testing.assert_allclose(fit.conf_int(), expected.conf_int(), rtol=RTOL, atol=RTOL * expected.bse.max())
    np.testing.assert_allclose(fit.pvalues, expected.pvalues, rtol=1e-9, atol=1e-15)  # tails: digits times z^2
    correlations = [each.cov_params() / np.outer(expected.bse, expected.bse) for each in (fit, expected)]
    np.testing.assert_allclose(*correlations, rtol=0, atol=RTOL)
    assert (fit.nobs, fit.df_resid, fit.df_model) == (expected.nobs, expected.df_resid, expected.df_model)
    names = ["deviance", "null_deviance", "pearson_chi2", "scale"]
    names += ["llf", "llnull", "aic", "bic", "bic_deviance"] if llf else []
    for name in names:
        of = {"bic": "bic_llf"}.get(name, name)
        assert getattr(fit, name) == pytest.approx(getattr(expected, of), rel=RTOL), name


@pytest.mark.parametrize(("family", "link", "load"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_every_family_and_link(family, link, load):
    x, y = load()
    fit = ours(family, link, x, y)
    expected = theirs(family, link, x, y)
    agree(fit, expected)
    np.testing.assert_allclose(fit.predict(x), expected.found.fittedvalues, rtol=1e-11)
    assert fit.pseudo_rsquared("cs") == pytest.approx(expected.pseudo_rsquared("cs"), rel=1e-11)
    assert fit.pseudo_rsquared() == pytest.approx(expected.pseudo_rsquared("mcf"), rel=1e-11)
    assert fit.traffic.agreements == 1 + fit.steps
    assert fit.steps <= 9


@pytest.mark.parametrize(("family", "link"), MODELS)
def test_weights_and_sandwich_errors(family, link):
    x, y = DATA.get(family, AMOUNTS)[2]()
    w = np.random.default_rng(1).uniform(0.02, 3, len(y))
    agree(ours(family, link, x, y, weights=w), theirs(family, link, x, y, var_weights=w))
    expected = theirs(family, link, x, y, var_weights=w, fit={"cov_type": "HC0"})
    fit = ours(family, link, x, y, weights=w, robust="HC0")
    agree(fit, expected)
    # statsmodels gives HC0 for HC1 here; MacKinnon and White (1985) multiply it.
    more = ours(family, link, x, y, weights=w, robust="HC1")
    np.testing.assert_allclose(more.covariance, fit.covariance * len(y) / (len(y) - 4), rtol=1e-14)


@pytest.mark.parametrize(("family", "link"), [model for model in MODELS if not model[1].startswith("inverse")])
@pytest.mark.parametrize("intercept", [True, False])
def test_offsets_with_and_without_an_intercept(family, link, intercept):
    x, y = DATA.get(family, AMOUNTS)[2]()
    x = np.column_stack([x[:, 0] - 2015, x[:, 1:]] if intercept else [x[:, 0] - 2015, x[:, 2], 1 - x[:, 2]])
    o = np.random.default_rng(2).normal(0.5, 0.2, len(y)) * (y.std() if family == "gaussian" else 1)
    agree(ours(family, link, x, y, offset=o, intercept=intercept), theirs(family, link, x, y, intercept, offset=o))


@pytest.mark.parametrize(("family", "link"), MODELS)
def test_without_an_intercept(family, link):
    x, y = DATA.get(family, AMOUNTS)[2]()
    levels = np.column_stack([x[:, 2], 1 - x[:, 2], x[:, 0] - 2015])
    agree(ours(family, link, levels, y, intercept=False), theirs(family, link, levels, y, False))


@pytest.mark.parametrize("family", ["poisson", "negative_binomial"])
def test_rates_per_exposure(family):
    x, y = randhie()
    e = np.random.default_rng(3).uniform(10, 5e4, len(y))
    agree(ours(family, "log", x, y, exposure=e), theirs(family, "log", x, y, exposure=e))


def test_proportions_of_trials():
    data = sm.datasets.star98.load_pandas()
    both, x = data.endog.to_numpy(), data.exog.to_numpy()[:, [0, 1, 2, 4, 5, 8]]
    trials = both.sum(axis=1)
    fit = ours("binomial", "logit", x, both[:, 0] / trials, weights=trials)
    agree(fit, theirs("binomial", "logit", x, both))
    quasi = ours("binomial", "logit", x, both[:, 0] / trials, weights=trials, dispersion="pearson")
    # statsmodels forgets the trials of two columns in this scale, and knows them as weights.
    expected = theirs("binomial", "logit", x, both[:, 0] / trials, var_weights=trials, fit={"scale": "X2"})
    agree(quasi, expected, llf=False)


def test_quasi_poisson():
    x, y = randhie()
    fit = ours("poisson", "log", x, y, dispersion="pearson")
    agree(fit, theirs("poisson", "log", x, y, fit={"scale": "X2"}), llf=False)
    assert fit.llf == pytest.approx(theirs("poisson", "log", x, y).llf, rel=RTOL)  # that of the family


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_rare_events(link, turned):
    """A few dozen in forty thousand rows, and a level of 1 % of the rows: digits are those of the events."""
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.normal(size=40_000), rng.random(40_000) < 0.01])
    y = (rng.random(40_000) < 1 / (1 + np.exp(7.5 - x @ [1.0, 2.0]))).astype(float)
    assert 30 < y.sum() < 100
    y = 1 - y if turned else y
    agree(ours("binomial", link, x, y), theirs("binomial", link, x, y))
