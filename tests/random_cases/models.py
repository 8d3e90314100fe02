"""Generalised linear models, those of categories, and Cox's, against maxima in numbers of 80 bits; statsmodels has the
likelihoods, and says that its score is 0 there."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import special, stats
from statsmodels.duration.hazard_regression import PHReg

from .case import Case
from .climbs import Design, Wide, climbed, inverse_of, recedes
from .exactly import Exact, binary
from .linear import exact_design, names_by_formulaic
from .worlds import Dealt, World

# Estimates are right to 1e-12 of themselves or of their errors, and likelihoods to 1e-12 of what they are sums of: so
# the guides say, and ``reference/test_glm.py`` holds it for plain data. Where columns nearly depend on each other an
# error is that of the columns before it was multiplied: as many times as ``1 / nearness``.
CLOSE = 1e-12
NEARLY = "linearly dependent over the rows of all parties, or so nearly|so nearly linearly dependent"
TOO_NEAR = 3e-6  # of the length of a column, what others leave of it: below, refusals are documented
F, L = sm.families, sm.families.links


@dataclass
class Asked:
    """A table of a model, its formula, and the rows that the formula takes."""

    dealt: Dealt
    formula: str
    rows: pd.DataFrame
    names: list[str]

    def design(self) -> Exact:
        """In the order of formulaic. What a model computes of a row it computes of float64, not of decimals."""
        return exact_design(self.names, self.rows, read=binary)


def explained(case: Case, least: int) -> tuple[World, list[str], Any]:
    """Columns that explain something, and the predictor that they make, of about one deviation."""
    rng = case.rng
    world = World(rng, int(rng.integers(least, 120)))
    names = ["x0"]
    world.number("x0")
    if rng.random() < 0.6:
        names.append("x1")
        if rng.random() < 0.3:
            centred = abs(np.mean(world.columns["x0"])) < 1e3 * np.std(world.columns["x0"])
            world.number("x1", like="x0", near=float(rng.choice([1e-1, 1e-3, 1e-5, 1e-7] if centred else [1e-1, 1e-2])))
        else:
            world.number("x1")
    eta = np.zeros(world.n)
    for name in names:
        x = world.columns[name]
        eta = eta + rng.normal(0, 0.6) * (x - x.mean()) / (x.std() or 1.0)
    if rng.random() < 0.4:
        world.category("g")
        eta = eta + rng.normal(0, 0.5) * (world.columns["g"] == "g1")
        names.append("g")
    return world, names, np.clip(eta, -3, 3)


def asked_of(world: World, formula: str, used: Sequence[str], *, even: bool = False) -> Asked:
    """The study, and what of it is used."""
    dealt = world.study(even=even)
    rows = dealt.rows(*used)
    names = names_by_formulaic(formula, rows, dealt.study.schema) if len(rows) else []
    return Asked(dealt, formula, rows, names)


def compare_fit(case: Case, fit: Any, params: Wide, V: Wide, size: Any = None) -> None:
    """Estimates, errors and tests."""
    b, bse = np.asarray(params, np.float64), np.sqrt(np.asarray(np.diag(V), np.float64))
    size = 1.0 if size is None else size
    case.same("params", fit.params, b, CLOSE, (np.abs(b) + bse) * size)
    case.same("bse", fit.bse, bse, CLOSE, bse * size)
    case.same("covariance", fit.covariance, np.asarray(V, np.float64), CLOSE, 3 * np.outer(bse, bse) * size)
    z = b / bse
    case.pvalue("pvalues", fit.pvalues, 2 * stats.norm.sf(np.abs(z)), (1 + np.abs(z)) * size, CLOSE)


# Generalised linear models


LINKS: dict[str, tuple[Any, ...]] = {
    "binomial": ("logit", "probit", "cloglog"),
    "poisson": ("log",),
    "negative_binomial": ("log",),
    "gamma": ("log", "inverse"),
    "inverse_gaussian": ("log", "inverse_squared"),
    "gaussian": ("identity",),
}
THEIRS = {
    "logit": L.Logit, "probit": L.Probit, "cloglog": L.CLogLog, "log": L.Log, "inverse": L.InversePower,
    "inverse_squared": L.InverseSquared, "identity": L.Identity,
}  # fmt: skip
FAMILIES = {
    "binomial": F.Binomial, "poisson": F.Poisson, "gamma": F.Gamma, "inverse_gaussian": F.InverseGaussian,
    "gaussian": F.Gaussian,
}  # fmt: skip
SHAPE = 0.7


def mean_of(link: str, eta: Wide) -> tuple[Wide, Wide]:
    """Means, and how they change with the predictor."""
    one = np.longdouble(1)
    if link == "logit":
        mu = one / (one + np.exp(-eta))
        return mu, mu * (one / (one + np.exp(eta)))
    if link == "probit":
        plain = eta.astype(np.float64)
        return special.ndtr(plain).astype(np.longdouble), np.exp(-eta * eta / 2) / np.sqrt(2 * np.longdouble(np.pi))
    if link == "cloglog":
        return -np.expm1(-np.exp(eta)), np.exp(eta - np.exp(eta))
    if link == "log":
        return np.exp(eta), np.exp(eta)
    if link == "inverse":
        return one / eta, -one / eta**2
    if link == "inverse_squared":
        return one / np.sqrt(eta), -one / (2 * eta * np.sqrt(eta))
    return eta, np.ones_like(eta)


def variance_of(family: str, mu: Wide) -> Wide:
    """Of a response, but for its dispersion."""
    one = np.longdouble(1)
    return {
        "binomial": mu * (one - mu),
        "poisson": mu,
        "negative_binomial": mu + np.longdouble(SHAPE) * mu**2,
        "gamma": mu**2,
        "inverse_gaussian": mu**3,
        "gaussian": np.ones_like(mu),
    }[family]


def _drawn(case: Case, family: str, link: str, eta: Any) -> Any:
    rng = case.rng
    if family == "binomial":
        return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta + rng.choice([0.0, 2.0])))).astype(float)
    if family == "poisson":
        return rng.poisson(np.exp(eta + rng.choice([-1.0, 1.0, 5.0]))).astype(float)
    if family == "negative_binomial":
        mu = np.exp(eta + 1)
        return rng.negative_binomial(1 / SHAPE, 1 / (1 + SHAPE * mu)).astype(float)
    if family == "gaussian":
        return eta + rng.normal(size=len(eta)) + float(rng.choice([0.0, 1e3]))
    mu = np.exp(eta / 2) if link == "log" else (2 + 0.3 * np.tanh(eta)) ** (-1.0 if link == "inverse" else -0.5)
    if family == "gamma":
        return rng.gamma(4, mu / 4) + 1e-3
    return rng.wald(mu, 8 * mu) + 1e-3


def glm(case: Case) -> None:
    """Every family and link, with weights and offsets at times."""
    rng = case.rng
    family = str(rng.choice(list(LINKS)))
    link = str(rng.choice(LINKS[family]))
    world, names, eta = explained(case, 15)
    times = 1.0
    if family in ("gamma", "inverse_gaussian", "gaussian") and link in ("log", "identity"):
        times = 10 ** rng.uniform(-3, 3)
    world.add("y", _drawn(case, family, link, eta) * times, digits=12)
    options: dict[str, Any] = {"family": family, "link": link}
    if family == "negative_binomial":
        options["shape"] = SHAPE
    if rng.random() < 0.3:
        world.add("w", rng.uniform(0.2, 3, world.n) * 10 ** rng.uniform(-2, 2), digits=6)
        options["weights"] = "w"
    estimated = family in ("gamma", "inverse_gaussian", "gaussian")
    if not estimated and rng.random() < 0.15:
        options["dispersion"] = "pearson"
    # Of other links statsmodels takes the observed information for the sandwich.
    if link in ("logit", "inverse", "inverse_squared", "identity") and rng.random() < 0.25:
        options["robust"] = str(rng.choice(["HC0", "HC1"]))
    offset = link in ("log", "logit", "probit", "cloglog") and rng.random() < 0.2
    if offset:
        world.add("o", rng.normal(0, 0.3, world.n), digits=4)
    formula = f"y ~ {' + '.join(names)}"
    asked = asked_of(
        world, formula, [*names, "y", *(["w"] if "weights" in options else []), *(["o"] if offset else [])]
    )
    rows, n = asked.rows, len(asked.rows)
    y = rows["y"].astype(float).to_numpy()
    w = rows["w"].astype(float).to_numpy() if "weights" in options else np.ones(n)
    o = rows["o"].astype(float).to_numpy() if offset else np.zeros(n)
    design = Design(asked.design())
    p = len(design.kept)
    answers = n >= p > 0 and _has_maximum(family, link, y, np.asarray(design.Z, np.float64))
    rules = [NEARLY] if design.nearness < TOO_NEAR else []
    fit = case.ask(
        lambda: asked.dealt.study.glm(formula + " + offset(o)" * offset, **options), answers=answers, rules=rules
    )
    if fit is None:
        return
    order = [asked.names.index(term) for term in fit.terms]
    case.equal("terms", sorted(order), design.kept)
    if case.wrong:
        return
    model = _theirs(family, link, y, np.asarray(design.Z, np.float64), w, o)
    theta = _climbed_glm(family, link, y, design.Z, w, o, model)
    if theta is None:
        case.wrong.append("the oracle finds no maximum")
        return
    mu, slope = mean_of(link, design.Z @ theta + o)
    v = variance_of(family, mu)
    information = design.Z.T @ ((w * slope**2 / v)[:, None] * design.Z)
    pearson = (w * (y - mu) ** 2 / v).sum()
    dispersed = estimated or "dispersion" in options
    if n == p and (dispersed or "robust" in options):
        return
    scale = pearson / (n - p) if dispersed else np.longdouble(1)
    back, inverse = design.inverse, inverse_of(information)
    params, V = back @ theta, back @ inverse @ back.T * scale
    if robust := options.get("robust"):
        scores = (w * (y - mu) * slope / v)[:, None] * design.Z @ inverse @ back.T
        V = scores.T @ scores * (np.longdouble(n) / (n - p) if robust == "HC1" else 1)
    place = [design.kept.index(k) for k in order]
    worst = 1 + 0.1 / design.nearness
    compare_fit(case, fit, params[place], V[np.ix_(place, place)], worst)
    case.same("scale", fit.scale, float(scale), CLOSE, float(scale) * worst)
    case.same("pearson_chi2", fit.pearson_chi2, float(pearson), CLOSE, float(pearson) * worst)
    close = float(w.sum()) * 1e-15
    deviance = model.family.deviance(y, mu.astype(np.float64), w)
    case.same("deviance", fit.deviance, deviance, 1e-11, deviance + close * 1e3)
    told = deviance / n if family == "gaussian" else float(scale) if estimated else 1.0
    densities = np.abs(np.atleast_1d(model.family.loglike_obs(y, mu.astype(np.float64), w, scale=told)))
    llf = model.family.loglike_obs(y, mu.astype(np.float64), w, scale=told).sum()
    case.same("llf", fit.llf, llf, 1e-11, float(densities.sum()) + 1e-3)


def _has_maximum(family: str, link: str, y: Any, Z: Any) -> bool:
    if family == "binomial":
        return not recedes((2 * y - 1)[:, None] * Z)
    if family in ("poisson", "negative_binomial"):
        some = y > 0
        return not recedes(np.vstack([-Z[~some], *([Z[some], -Z[some]] if some.any() else [])])) and bool(some.any())
    return True


def _theirs(family: str, link: str, y: Any, Z: Any, w: Any, o: Any) -> Any:
    made = F.NegativeBinomial(alpha=SHAPE) if family == "negative_binomial" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = FAMILIES[family](THEIRS[link]()) if made is None else made
        return sm.GLM(y, Z, family=made, var_weights=w, offset=o)


def _climbed_glm(family: str, link: str, y: Any, Z: Wide, w: Any, o: Any, model: Any) -> Wide | None:
    """From what statsmodels finds, by Fisher's scoring in 80 bits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theta = np.asarray(model.fit(maxiter=300, tol=1e-13).params, np.longdouble)
        except (ValueError, np.linalg.LinAlgError):
            theta = np.full(Z.shape[1], np.nan)
    if not np.isfinite(theta.astype(np.float64)).all():
        theta = np.zeros(Z.shape[1], np.longdouble)
        theta[0] = model.family.link(np.average(y, weights=w)) * (1 if (Z[:, 0] > 0).all() else 0)
    last = np.inf
    for _ in range(400):
        mu, slope = mean_of(link, Z @ theta + o)
        v = variance_of(family, mu)
        information = Z.T @ ((w * slope**2 / v)[:, None] * Z)
        score = Z.T @ (w * (y - mu) * slope / v)
        try:
            step = inverse_of(information) @ score
        except ArithmeticError:
            return None
        size = float(step @ information @ step)
        scaled = size / max(1e-300, float((w * (y - mu) ** 2 / v).sum() / len(y)))
        if not math.isfinite(scaled):
            return None
        if scaled < 1e-33 or (scaled < 1e-27 and size >= last):
            return theta
        last, theta = size, theta + step
    return None


# Categories


def _responses(case: Case, eta: Any, levels: int, *, ordered: bool) -> Any:
    rng = case.rng
    if ordered:
        cuts = np.sort(rng.normal(0, 1.2, levels - 1))
        codes = np.searchsorted(cuts, eta + rng.logistic(size=len(eta)))
    else:
        utilities = np.column_stack([rng.normal() * eta + rng.normal() for _ in range(levels)])
        codes = (utilities + rng.gumbel(size=utilities.shape)).argmax(axis=1)
    return np.array([f"y{k}" for k in range(levels)])[codes].astype(object)


def multinomial(case: Case) -> None:
    """Levels in any order, the reference among them."""
    rng = case.rng
    world, names, eta = explained(case, 30)
    levels = int(rng.integers(2, 5))
    world.columns["y"] = _responses(case, eta, levels, ordered=False)
    known = [f"y{k}" for k in range(levels)]
    world.schema["y"] = {"type": "category", "levels": known, "reference": str(rng.choice(known))}
    formula = f"y ~ {' + '.join(names)}"
    weights = "w" if rng.random() < 0.3 else None
    if weights:
        world.add("w", rng.uniform(0.2, 3, world.n) * 10 ** rng.uniform(-2, 2), digits=6)
    asked = asked_of(world, formula, [*names, "y", *([weights] if weights else [])])
    rows, n = asked.rows, len(asked.rows)
    w = rows["w"].astype(float).to_numpy() if weights else np.ones(n)
    first = world.schema["y"]["reference"]
    order = [first, *(level for level in known if level != first)]
    codes = np.array([order.index(level) for level in rows["y"]], int)
    design = Design(asked.design())
    Z, p, others = design.Z, len(design.kept), levels - 1
    plain = np.asarray(Z, np.float64)
    gains = []
    for i in range(n):
        for level in range(levels):
            if level != codes[i]:
                gain = np.zeros((levels, p))
                gain[codes[i]], gain[level] = plain[i], -plain[i]
                gains.append(gain[1:].ravel())
    answers = n >= p * others > 0 and len(set(codes.tolist())) == levels and not recedes(np.array(gains))
    rules = [NEARLY] if design.nearness < TOO_NEAR else []
    fit = case.ask(lambda: asked.dealt.study.multinomial(formula, weights=weights), answers=answers, rules=rules)
    if fit is None:
        return

    def terms(theta: Wide) -> tuple[Any, Wide, Wide]:
        B = theta.reshape(others, p)
        eta = np.column_stack([np.zeros(n, np.longdouble), Z @ B.T])
        top = eta.max(axis=1, keepdims=True)
        odds = np.exp(eta - top)
        shares = odds / odds.sum(axis=1, keepdims=True)
        value = (w * (eta[np.arange(n), codes] - top[:, 0] - np.log(odds.sum(axis=1)))).sum()
        hits = w[:, None] * ((codes[:, None] == np.arange(1, levels)) - shares[:, 1:])
        information = np.zeros((others * p, others * p), np.longdouble)
        for a in range(others):
            for b in range(others):
                f = w * shares[:, a + 1] * ((a == b) - shares[:, b + 1])
                information[a * p : (a + 1) * p, b * p : (b + 1) * p] = Z.T @ (f[:, None] * Z)
        return value, (hits.T @ Z).ravel(), information

    case.equal("levels", list(fit.levels), order)
    case.equal("columns", sorted(fit.variables), sorted(asked.names[k] for k in design.kept))
    if case.wrong:
        return
    theta = climbed(terms, np.zeros(others * p))
    value, _, information = terms(theta)
    place = [design.kept.index(asked.names.index(term)) for term in fit.variables]
    every = [a * p + k for a in range(others) for k in place]
    back = _kron(others, design.inverse)
    params, V = back @ theta, back @ inverse_of(information) @ back.T
    # Weights may be far from their mean: the grid of their terms leaves 6 bits for that (``Softmax.bits``).
    worst = _condition(design, information) * (8.0 if weights else 1.0)
    compare_fit(case, fit, params[every], V[np.ix_(every, every)], worst)
    case.same("llf", fit.llf, float(value), CLOSE, abs(float(value)) + float(w.sum()) * 1e-3)
    if weights:
        return
    model = sm.MNLogit(codes, plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = model.loglike(np.asarray(theta.reshape(others, p).T, np.float64).ravel(order="F"))
    case.same("llf by statsmodels", fit.llf, theirs, 1e-10, abs(theirs) + 1e-3)


def _kron(times: int, back: Wide) -> Wide:
    p = len(back)
    found = np.zeros((times * p, times * p), np.longdouble)
    for a in range(times):
        found[a * p : (a + 1) * p, a * p : (a + 1) * p] = back
    return found


def _condition(design: Design, information: Wide) -> float:
    """What a rounding of the columns, or of the information in units of its diagonal, is multiplied by."""
    size = np.sqrt(np.diag(information))
    scaled = np.asarray(information / np.outer(size, size), np.float64)
    return 1 + 0.1 / design.nearness + float(np.linalg.cond(scaled)) * 0.01


def ordinal(case: Case) -> None:
    """Proportional odds, and normal ones."""
    rng = case.rng
    world, names, eta = explained(case, 30)
    levels = int(rng.integers(2, 5))
    world.columns["y"] = _responses(case, eta, levels, ordered=True)
    known = [f"y{k}" for k in range(levels)]
    world.schema["y"] = {"type": "category", "levels": known}
    link = str(rng.choice(["logit", "probit"]))
    formula = f"y ~ {' + '.join(names)}"
    asked = asked_of(world, formula, [*names, "y"])
    rows, n = asked.rows, len(asked.rows)
    codes = np.array([known.index(level) for level in rows["y"]], int)
    design = Design(asked.design())
    Z, d, cuts = design.Z[:, 1:], max(0, len(design.kept) - 1), levels - 1
    plain = np.asarray(Z, np.float64)
    gains = []
    for i in range(n):  # a cut above a row may rise, and one below it fall
        for cut, sign in ((codes[i], 1.0), (codes[i] - 1, -1.0)):
            if 0 <= cut < cuts:
                gain = np.zeros(d + cuts)
                gain[:d], gain[d + cut] = -sign * plain[i], sign
                gains.append(gain)
    enough = n >= d + cuts and len(set(codes.tolist())) == levels
    answers = enough and not recedes(np.array(gains))
    rules = [NEARLY] if design.nearness < TOO_NEAR else []
    fit = case.ask(lambda: asked.dealt.study.ordinal(formula, link=link), answers=answers, rules=rules)
    if fit is None:
        return

    def terms(theta: Wide) -> tuple[Any, Wide, Wide]:
        return _ordinal_terms(link, Z, codes, theta, levels)

    terms_of = [asked.names[k] for k in design.kept[1:]]
    case.equal("columns", sorted(fit.terms[: len(fit.slopes)]), sorted(terms_of))
    if case.wrong:
        return
    shares = np.cumsum(np.bincount(codes, minlength=levels))[:-1] / n
    start = special.ndtri(shares) if link == "probit" else special.logit(shares)
    theta = climbed(terms, np.concatenate([np.zeros(d), start]))
    value, _, information = terms(theta)
    # cut - Z'theta_Z = (cut - m'beta) - (x - m)'beta: what is on the column of ones goes into the cuts
    inverse, ones = design.inverse, float(design.R[0, 0])
    back = np.zeros((d + cuts, d + cuts), np.longdouble)
    back[:d, :d] = inverse[1:, 1:]
    back[d:, d:] = np.eye(cuts)
    back[d:, :d] = -inverse[0, 1:] * ones if d else 0
    params, V = back @ theta, back @ inverse_of(information) @ back.T
    place = [*(terms_of.index(term) for term in fit.terms[:d]), *range(d, d + cuts)]
    # The normal distribution is that of float64 here, whose differences lose digits in its tails.
    worst = _condition(design, information) * (10.0 if link == "probit" else 1.0)
    compare_fit(case, fit, params[place], V[np.ix_(place, place)], worst)
    case.same("llf", fit.llf, float(value), 1e-11, abs(float(value)) + n * 1e-3)


def _ordinal_terms(link: str, Z: Wide, codes: Any, theta: Wide, levels: int) -> tuple[Any, Wide, Wide]:
    """Log-likelihood, score and observed information, from ``log(F(a) - F(b))`` and its derivatives."""
    n, d = Z.shape
    inner = theta[d:]
    if not (np.diff(inner) > 0).all():
        return -np.inf, np.zeros_like(theta), np.eye(len(theta), dtype=np.longdouble)
    far = np.longdouble(1e4)
    bounds = np.concatenate([[-far], inner, [far]])
    eta = Z @ theta[:d]
    a, b = bounds[codes + 1] - eta, bounds[codes] - eta

    def tails(x: Wide) -> tuple[Wide, Wide, Wide, Wide]:
        """``F``, ``1 - F``, the density and its slope."""
        x = np.clip(x, -300, 300)
        if link == "logit":
            under, over = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(x))
            return under, over, under * over, under * over * (over - under)
        plain = np.clip(np.asarray(x, np.float64), -35, 35)
        density = np.exp(-x * x / 2) / np.sqrt(2 * np.longdouble(np.pi))
        return (
            special.ndtr(plain).astype(np.longdouble),
            special.ndtr(-plain).astype(np.longdouble),
            density,
            -x * density,
        )

    (Fa, Ga, fa, sa), (Fb, Gb, fb, sb) = tails(a), tails(b)
    P = np.where(b > 0, Gb - Ga, Fa - Fb)
    value = np.log(P).sum()
    X = np.zeros((2, n, len(theta)), np.longdouble)  # slopes of a and of b
    X[:, :, :d] = -Z
    for i, code in enumerate(codes):
        if code < levels - 1:
            X[0, i, d + code] = 1
        if code > 0:
            X[1, i, d + code - 1] = 1
    ga, gb = fa / P, -fb / P
    score = X[0].T @ ga + X[1].T @ gb
    Haa, Hbb, Hab = ga**2 - sa / P, gb**2 + sb / P, ga * gb
    information = X[0].T @ (Haa[:, None] * X[0]) + X[1].T @ (Hbb[:, None] * X[1])
    mixed = X[0].T @ (Hab[:, None] * X[1])
    return value, score, information + mixed + mixed.T


# Cox


def cox(case: Case) -> None:
    """A baseline for each party, or one for all on a grid; ties of both kinds."""
    rng = case.rng
    world, names, eta = explained(case, 20)
    ties = str(rng.choice(["efron", "breslow"]))
    t = rng.exponential(np.exp(-eta)) * 10
    most = int(rng.choice([15, 200]))
    world.integer("t", np.minimum(np.ceil(t), most), 0, most)
    world.boolean("d", rng.random(world.n) < rng.choice([0.4, 0.8, 1.0]))
    formula = " + ".join(names)
    asked = asked_of(world, "y ~ " + formula, [*names, "t", "d"], even=bool(rng.random() < 0.3))
    rows, n = asked.rows, len(asked.rows)
    time, event, party = rows["t"].astype(float).to_numpy(), rows["d"].to_numpy().astype(bool), rows["party"].to_numpy()
    design = Design(asked.design())
    Z, p = design.Z[:, 1:], max(0, len(design.kept) - 1)
    plain = np.asarray(Z, np.float64)
    options: dict[str, Any] = {"ties": ties}
    if rng.random() < 0.3:
        points = sorted({*rng.integers(1, most + 1, 5).tolist(), most // 2 + 1})
        options |= {"baseline": "grid", "grid": points, "min_departures": 1}
        place = np.searchsorted(points, time, side="left")
        event = event & (place < len(points))  # beyond the last point nothing is observed
        time, party = np.minimum(place, len(points) - 1).astype(float), np.zeros(n, int)
    strata = [np.flatnonzero(party == k) for k in np.unique(party)]
    pairs = [
        plain[own[i]] - plain[own[time[own] >= time[own[i]]]] for own in strata for i in np.flatnonzero(event[own])
    ]
    A = np.vstack(pairs) if pairs else np.zeros((0, p))
    singular = np.linalg.svd(A, compute_uv=False) if len(A) else np.zeros(p)
    told = p > 0 and len(A) > 0 and len(singular) == p and singular[-1] > 1e-9 * singular[0]
    answers = bool(told and not recedes(A))
    rules = [NEARLY] if design.nearness < TOO_NEAR or (told and singular[-1] < TOO_NEAR * singular[0]) else []
    fit = case.ask(lambda: asked.dealt.study.cox(f"t, d ~ {formula}", **options), answers=answers, rules=rules)
    if fit is None:
        return

    def terms(theta: Wide) -> tuple[Any, Wide, Wide]:
        return _cox_terms(Z, time, event, strata, ties, theta)

    terms_of = [asked.names[k] for k in design.kept[1:]]
    case.equal("columns", sorted(fit.terms), sorted(terms_of))
    if case.wrong:
        return
    theta = climbed(terms, np.zeros(p))
    value, _, information = terms(theta)
    first, score, at_zero = terms(np.zeros(p, np.longdouble))
    back = design.inverse[1:, 1:]
    params, V = back @ theta, back @ inverse_of(information) @ back.T
    place = [terms_of.index(term) for term in fit.terms]
    worst = _condition(design, information)
    if "grid" in options:
        # A row's weight is rounded to 2^-40 of the mean weight (docs: From measurements to integers): of a sum over a
        # risk set that is as much as the set is light.
        weight = np.exp(np.asarray(Z @ theta, np.float64))
        lightest = min(weight[time >= point].sum() for point in np.unique(time[event])) / weight.mean()
        worst *= 1 + 3 * math.sqrt(n) * 2.0**-40 / CLOSE / lightest
    compare_fit(case, fit, params[place], V[np.ix_(place, place)], worst)
    size = (abs(float(first)) + 1e-3) * worst
    case.same("llf", fit.llf, float(value), CLOSE, size)
    case.same("llf_null", fit.llf_null, float(first), CLOSE, size)
    statistic = float(score @ inverse_of(at_zero) @ score)
    case.same("score_statistic", fit.score_statistic, statistic, 1e-11, (statistic + 0.1) * worst)
    case.equal("events", fit.events, int(event.sum()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PHReg(time, plain, event.astype(int), ties=ties, strata=party)
        theirs = model.loglike(np.asarray(theta, np.float64))
    case.same("llf by statsmodels", fit.llf, theirs, 1e-9, size)


def _cox_terms(Z: Wide, time: Any, event: Any, strata: Sequence[Any], ties: str, theta: Wide) -> tuple[Any, Wide, Wide]:
    """The partial log-likelihood, its score and information, risk set by risk set."""
    p = Z.shape[1]
    value, score, information = np.longdouble(0), np.zeros(p, np.longdouble), np.zeros((p, p), np.longdouble)
    eta = Z @ theta
    for own in strata:
        for point in np.unique(time[own][event[own]]):
            risk = own[time[own] >= point]
            dead = own[(time[own] == point) & event[own]]
            top = eta[risk].max()
            w, v = np.exp(eta[risk] - top), np.exp(eta[dead] - top)
            value += (eta[dead] - top).sum()
            score += Z[dead].sum(axis=0)
            for j in range(len(dead)):
                share = np.longdouble(j) / len(dead) if ties == "efron" else np.longdouble(0)
                s0 = w.sum() - share * v.sum()
                s1 = w @ Z[risk] - share * (v @ Z[dead])
                s2 = Z[risk].T @ (w[:, None] * Z[risk]) - share * (Z[dead].T @ (v[:, None] * Z[dead]))
                value -= np.log(s0)
                score -= s1 / s0
                information += s2 / s0 - np.outer(s1 / s0, s1 / s0)
    return value, score, information


KINDS: dict[str, Callable[[Case], None]] = {
    "glm": glm,
    "multinomial": multinomial,
    "ordinal": ordinal,
    "cox": cox,
}
