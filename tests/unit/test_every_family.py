"""Every family of generalised linear models, and one from outside of the library: what it says of itself is so, and
fits are those of statsmodels whatever the size of responses and weights.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import statsmodels.api as sm
from partitions import dealt
from scipy import special, stats

import sottovoce as sv
from sottovoce.errors import InvalidInput, Undetermined
from sottovoce.statistics.models.families import FAMILIES, LINKS, Family

F, L = sm.families, sm.families.links


@dataclass(frozen=True)
class Tweedie(Family):
    """Of variance ``phi mu^p`` for ``1 < p < 2``: sums of a Poisson number of gamma ones, 0 among them."""

    name, links = "tweedie", ("log",)
    takes = "numbers >= 0"
    estimated = True
    shaped_by, shapes = "the power of its variance mu^p", (1.0, 2.0)

    def wrong(self, y, *, weighted, dispersed):
        return y < 0

    def variance(self, mean):
        return mean**self.shape

    def variance_slope(self, mean):
        return self.shape * mean ** (self.shape - 1)

    def deviance(self, y, mean):
        a, b = 1 - self.shape, 2 - self.shape
        return 2 * (y**b / (a * b) - y * mean**a / a + mean**b / b)

    def saturated(self, y, w, scale):
        """By the series of P. K. Dunn and G. K. Smyth (Statistics and Computing 15, 2005), a Wright function."""
        a, b = 1 - self.shape, 2 - self.shape
        some, phi = np.where(y > 0, y, 1.0), scale / w
        x = (-a * phi / some) ** (b / a) / (b * phi)
        density = np.log(special.wright_bessel(-b / a, 0, x) / some) + some**b / (a * b * phi)
        return np.where(y > 0, density, 0.0)

    def curvature(self, link, eta, y):
        mean = link.mean(eta)
        return (self.shape - 1) * y * mean ** (1 - self.shape) + (2 - self.shape) * mean ** (2 - self.shape)

    concave = True


@dataclass(frozen=True)
class Row:
    """Of one family: its class in statsmodels, random responses of some mean, the log-density of responses, a value
    that it refuses, and its shape."""

    theirs: object
    draw: object
    density: object
    refused: float
    shape: float | None = None
    responses: tuple[float, ...] = (0.4, 1.0, 7.5)


def gamma_density(y, mean, phi):
    return stats.gamma.logpdf(y, 1 / phi, scale=mean * phi)


def tweedie_drawn(rng, mean):
    p, phi = 1.6, 0.9
    jumps = rng.poisson(mean ** (2 - p) / (phi * (2 - p)))
    each = (2 - p) / (p - 1)
    return np.where(jumps, rng.gamma(np.maximum(jumps, 1) * each, phi * (p - 1) * mean ** (p - 1)), 0.0)


ROWS = {
    "binomial": Row(
        F.Binomial, lambda rng, mean: (rng.random(len(mean)) < mean).astype(float),
        lambda y, mean, phi: stats.bernoulli.logpmf(y, mean), 0.5, responses=(0.0, 1.0),
    ),
    "poisson": Row(
        F.Poisson, lambda rng, mean: rng.poisson(mean).astype(float),
        lambda y, mean, phi: stats.poisson.logpmf(y, mean), 0.5, responses=(0.0, 1.0, 12.0),
    ),
    "negative_binomial": Row(
        lambda link: F.NegativeBinomial(link, alpha=0.7),
        lambda rng, mean: rng.poisson(mean * rng.gamma(1 / 0.7, 0.7, len(mean))).astype(float),
        lambda y, mean, phi: stats.nbinom.logpmf(y, 1 / 0.7, 1 / (1 + 0.7 * mean)), -1.0, 0.7, (0.0, 1.0, 12.0),
    ),
    "gamma": Row(F.Gamma, lambda rng, mean: rng.gamma(4, mean / 4), gamma_density, 0.0),
    "inverse_gaussian": Row(
        F.InverseGaussian, lambda rng, mean: mean * rng.wald(1, 4, len(mean)),
        lambda y, mean, phi: stats.invgauss.logpdf(y, mean * phi, scale=1 / phi), 0.0,
    ),
    "gaussian": Row(
        F.Gaussian, lambda rng, mean: mean + 0.3 * mean.mean() * rng.normal(size=len(mean)),
        lambda y, mean, phi: stats.norm.logpdf(y, mean, np.sqrt(phi)), np.nan,
    ),
    "tweedie": Row(lambda link: F.Tweedie(link, var_power=1.6), tweedie_drawn, None, -1.0, 1.6, (0.0, 0.4, 7.5)),
}  # fmt: skip
THEIR_LINKS = {
    "logit": L.Logit, "probit": L.Probit, "cloglog": L.CLogLog, "log": L.Log, "identity": L.Identity,
    "inverse": L.InversePower, "inverse_squared": L.InverseSquared,
}  # fmt: skip
ALL = {**FAMILIES, "tweedie": Tweedie}
PAIRS = [(name, link) for name, family in ALL.items() for link in family.links]


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    """Entered as a contributor would."""
    monkeypatch.setitem(FAMILIES, "tweedie", Tweedie)


def test_every_family_has_its_row():
    assert set(ROWS) == set(ALL)


# What a family says of itself


@pytest.mark.parametrize("name", ALL)
def test_variance_deviance_and_likelihood_fit_together(name):
    row, family = ROWS[name], ALL[name].of_shape(ROWS[name].shape)
    y, mean, h = np.repeat(row.responses, 3), np.tile([0.2, 0.5, 0.9], len(row.responses)), 1e-6
    slope = (family.variance(mean + h) - family.variance(mean - h)) / (2 * h)
    np.testing.assert_allclose(family.variance_slope(mean), slope, rtol=1e-8, atol=1e-9)
    slope = (family.deviance(y, mean + h) - family.deviance(y, mean - h)) / (2 * h)
    np.testing.assert_allclose(slope, -2 * (y - mean) / family.variance(mean), rtol=1e-7, atol=1e-7)
    inner = np.array([each for each in row.responses if each > 0 and not (name == "binomial" and each == 1)] or [0.3])
    np.testing.assert_allclose(family.deviance(inner, inner), 0, atol=1e-14)  # rounding of numbers up to 12
    near = inner * (1 - 1e-7)
    expected = (inner - near) ** 2 / family.variance(inner)  # and a cubic term, 1e-7 of it
    if name != "tweedie":  # from outside, it does without the digits of small differences
        np.testing.assert_allclose(family.deviance(inner, near), expected, rtol=1e-6)
    if row.density is not None:
        phi = 0.3 if family.estimated else 1.0
        told = family.saturated(y, np.ones(len(y)), phi) - family.deviance(y, mean) / (2 * phi)
        np.testing.assert_allclose(told, row.density(y, mean, phi), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_responses_are_counted_and_refused(name):
    row, family = ROWS[name], ALL[name].of_shape(ROWS[name].shape)
    good, bad = np.array(row.responses), np.array([*row.responses, row.refused])
    assert not family.wrong(good, weighted=False, dispersed=family.estimated).any()
    wrong = family.wrong(bad, weighted=False, dispersed=family.estimated)
    assert wrong.tolist() == [False] * len(good) + [not np.isnan(row.refused)]
    counts = family.count(good)
    assert counts.shape == (len(good), len(family.counted))
    assert counts.dtype == bool
    family.check("y", tuple(counts.sum(axis=0).tolist()), float(good.mean()))
    assert family.infinite("y")
    assert family.takes


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("weighted", [False, True])
def test_what_a_dispersion_does_to_a_perfect_fit_is_the_same_for_all_rows_where_that_is_said(name, weighted):
    row, family = ROWS[name], ALL[name].of_shape(ROWS[name].shape)
    y = np.array(row.responses)
    w = np.linspace(0.5, 2, len(y)) if weighted else np.ones(len(y))
    change = family.saturated(y, w, 0.4) - family.saturated(y, w, 1.0)
    same = np.allclose(change, change[0], rtol=1e-12, atol=1e-12)
    assert same == family.separable(weighted=weighted)


@pytest.mark.parametrize("name", [name for name, family in ALL.items() if family.shaped_by])
def test_shapes(name):
    family = ALL[name]
    with pytest.raises(InvalidInput, match=f"shape: family {name} needs a shape, {family.shaped_by.split()[0]}"):
        family.of_shape(None)
    for shape in (family.shapes[0], family.shapes[1], "1", np.nan):
        with pytest.raises(InvalidInput, match=r"shape must be a (positive number|number between 1 and 2)"):
            family.of_shape(shape)


# Fits


def drawn(name, link, size, rows=200, seed=3):
    """Columns, and responses whose means are about ``size``."""
    rng = np.random.default_rng(seed)
    x = np.round(np.column_stack([rng.normal(size=rows), rng.random(rows) < 0.3]), 3)
    by, base = LINKS[link], 0.4 if name == "binomial" else size
    eta = float(by.of(np.array([base]))[0])
    step = 0.4 if by.power is None else 0.1 * eta
    return x, ROWS[name].draw(rng, by.mean(eta + step * np.tanh(x @ [0.8, -0.5])))


def parts(values):
    return [values[:1], values[1:70], values[70:70], values[70:]]


def fitted(name, link, x, y, w=None, **options):
    further = {} if w is None else {"weights": parts(w)}
    shards = list(zip(parts(x), parts(y), strict=True))
    return sv.private_glm(
        sv.Network.ring(4), shards, family=name, link=link, shape=ROWS[name].shape, **further, **options
    )


def theirs(name, link, x, y, w=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(y, sm.add_constant(x), family=ROWS[name].theirs(THEIR_LINKS[link]()), var_weights=w)
        return model.fit(maxiter=300, tol=0.0, rtol=1e-14, tol_criterion="params")


def exactly(name, y, mean, w):
    """The deviance that statsmodels takes from ``y log y`` in float64, of long doubles."""
    if name != "negative_binomial":
        return None
    y, mean, a = y.astype(np.longdouble), mean.astype(np.longdouble), np.longdouble(ROWS[name].shape)
    log = np.log(np.where(y > 0, y, 1) / mean)
    return float((2 * w * (y * log - (y + 1 / a) * (np.log1p(a * y) - np.log1p(a * mean)))).sum())


def compare(fit, expected, llf=True):
    names = ("params", "bse", "deviance", "null_deviance", "pearson_chi2", "scale", *(("llf", "llnull") if llf else ()))
    off = np.abs(fit.params - expected.params)
    assert (off <= 1e-12 * np.abs(expected.params) + 1e-12 * expected.bse).all()
    exact = exactly(fit.family, expected.model.endog, expected.fittedvalues, expected.model.var_weights)
    for what in names[1:]:
        wanted = exact if what == "deviance" and exact is not None else getattr(expected, what)
        digits = 1e-11 if what == "null_deviance" and exact is not None else 1e-12
        np.testing.assert_allclose(getattr(fit, what), wanted, rtol=digits, err_msg=what)


SIZES = {"usual": 3.0, "large": 1e4, "tiny": 1e-6}
ZEROS = ("poisson", "negative_binomial", "tweedie")  # small responses are mostly that


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "link"), PAIRS)
def test_sizes_of_responses(name, link, size):
    if size == "tiny" and name in ZEROS:
        x, y = drawn(name, link, 0.02, rows=3000)
    else:
        x, y = drawn(name, link, SIZES[size])
    compare(fitted(name, link, x, y), theirs(name, link, x, y), llf=name != "tweedie" or size == "usual")


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1000.0])
@pytest.mark.parametrize(("name", "link"), PAIRS)
def test_weights(name, link, weight):
    """Those of a survey are about 1000."""
    x, y = drawn(name, link, 3.0)
    w = np.round(weight * np.random.default_rng(1).uniform(0.3, 2, len(y)), 5)
    compare(fitted(name, link, x, y, w), theirs(name, link, x, y, w), llf=name not in ("tweedie", "binomial"))


@pytest.mark.parametrize(("name", "link"), PAIRS)
def test_however_rows_lie_among_parties_all_bits_are_the_same(name, link):
    x, y = drawn(name, link, 3.0)
    table = {"a": x[:, 0], "b": x[:, 1], "y": y, "w": np.random.default_rng(2).uniform(0.5, 2, len(y))}
    answers = []
    for tables in dealt(table, 5):
        network = sv.Network.complete(len(tables))
        fit = sv.private_glm(
            network, [(np.column_stack([t["a"], t["b"]]), t["y"]) for t in tables], family=name, link=link,
            shape=ROWS[name].shape, weights=[t["w"] for t in tables], offset=None, robust="HC1",
        )  # fmt: skip
        answers.append({key: repr(each) for key, each in fit.to_dict().items()})
    assert answers == [answers[0]] * 5


@pytest.mark.parametrize("name", ALL)
def test_a_family_by_its_name_in_a_study(name):
    """A formula, a schema, and what is refused there."""
    x, y = drawn(name, ALL[name].links[0], 3.0)
    tables = [{"a": a[:, 0], "y": b} for a, b in zip(parts(x), parts(y), strict=True)]
    schema = {"a": {"type": "number", "unit": 0.001}, "y": "number"}
    study = sv.Study(sv.Network.ring(4), tables, schema=schema)
    fit = study.glm("y ~ a", family=name, shape=ROWS[name].shape)
    compare(fit, theirs(name, ALL[name].links[0], x[:, :1], y), llf=True)
    kind = {"a": {"type": "category", "levels": ["p", "q", "r"]}, "y": "number"}
    letters = [{"a": np.array(["p", "q", "r"]), "y": np.ones(3)}] * 4
    with pytest.raises(InvalidInput, match=r"3 levels|no response of family"):
        sv.Study(sv.Network.ring(4), letters, schema=kind).glm("a ~ y", family=name, shape=ROWS[name].shape)


@pytest.mark.parametrize("name", [name for name, family in ALL.items() if family.estimated])
def test_responses_that_are_all_the_same_have_no_dispersion(name):
    x, _ = drawn(name, ALL[name].links[0], 3.0)
    with pytest.raises(Undetermined, match="'y' does not vary over the rows of all parties"):
        fitted(name, None, x, np.full(len(x), 2.5))
