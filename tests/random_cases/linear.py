"""Linear models, penalised ones and principal components, against fractions; designs are those of formulaic."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import formulaic
import numpy as np
import pandas as pd
from scipy import special

from sottovoce.statistics.linear.folds import fold_of

from .case import Case
from .columns import ONCE
from .exactly import Exact, floats, fractions, independent, inverse, root, solved
from .worlds import World, rows_of

FEW = 8 * ONCE  # some operations on numbers that were rounded once
NEAREST = 1e-12  # of a column, what those before it leave; below, float64 may have made it
Reading = Callable[[Any], Exact]
NEARLY = "columns are nearly dependent"
FOLDS = "fold . of . has no rows"


class Table:
    """A table with a response and columns that explain it."""

    def __init__(self, case: Case, *, categories: bool = True, least: int = 0, mild: bool = False) -> None:
        rng = case.rng
        self.world = World(rng, max(least, rows_of(rng, 80)), mild)
        self.numbers = ["x0"]
        x = self.world.number("x0")
        near_zero = abs(float(np.mean(x))) < 1e3 * float(np.std(x) or 1.0)
        if rng.random() < 0.7:
            self.numbers.append("x1")
            if rng.random() < 0.3:
                near = float(rng.choice([1e-9, 1e-6, 1e-3]) if near_zero and not mild else 1e-3)
                self.world.number("x1", like="x0", near=near)
            else:
                self.world.number("x1")
        self.categories = [name for name in ("g", "h") if categories and rng.random() < 0.5]
        for name in self.categories:
            self.world.category(name)
        y = sum((rng.normal() * _scaled(self.world.columns[name]) for name in self.numbers), np.zeros(self.world.n))
        y = y + 10 ** rng.uniform(-3, 1) * self.world.standard()
        shift = 0.0 if mild else float(rng.choice([0, 0, 10, 1e5]))
        self.world.add("y", (y + shift) * (1.0 if mild else 10 ** rng.uniform(-6, 6)), digits=14 if shift > 10 else 9)

    def terms(self, case: Case) -> list[str]:
        """Of a formula: numbers, categories, some of their products and squares."""
        rng, found = case.rng, [*self.numbers, *self.categories]
        if self.categories and rng.random() < 0.4:
            found.append(f"x0:{self.categories[0]}")
        if len(self.categories) == 2 and rng.random() < 0.4:
            found.append("g:h")
        if rng.random() < 0.15:
            found.append("I(x0**2)")
        if len(self.numbers) == 2 and rng.random() < 0.15:
            found.append("x0:x1")
        return found


def _scaled(x: Any) -> Any:
    deviation = float(np.std(x))
    return (x - np.mean(x)) / deviation if deviation > 0 else np.zeros(len(x))


def names_by_formulaic(formula: str, rows: pd.DataFrame, schema: Any) -> list[str]:
    """Of the columns of a design, as formulaic has them, its references first among the levels."""
    frame = rows.copy()
    for name in frame:
        column = schema.get(name)
        if column is not None and column.type == "category":
            first = column.reference or column.levels[0]
            levels = [first, *(level for level in column.levels if level != first)]
            frame[name] = pd.Categorical(frame[name], categories=levels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = formulaic.model_matrix(formula.split("~")[1], frame)
    return list(found.columns)


def exact_column(name: str, rows: pd.DataFrame, rounded: bool = False, read: Reading = fractions) -> Exact:
    """A column of a design by its name, such as ``x0:g[T.g1]``. ``rounded``: as float64 has it; ``read``: what number a
    cell is, the decimal that it says or the float64 itself."""
    if rounded:
        return fractions(floats(exact_column(name, rows)))
    column = fractions(np.ones(len(rows)))
    for factor in name.split(":"):
        if factor == "Intercept":
            continue
        if factor.endswith("]"):
            variable, level = factor[:-1].split("[")
            column = column * (rows[variable] == level.removeprefix("T.")).to_numpy().astype(int)
        elif factor.startswith("I("):
            column = column * read(rows["x0"].astype(float)) ** 2
        else:
            column = column * read(rows[factor].astype(float))
    return column


def exact_design(names: Sequence[str], rows: pd.DataFrame, rounded: bool = False, read: Reading = fractions) -> Exact:
    """The columns of these names."""
    X = np.empty((len(rows), len(names)), object)
    for k, name in enumerate(names):
        X[:, k] = exact_column(name, rows, rounded, read)
    return X


def is_clear(X: Exact) -> bool:
    """Whether each column is a combination of those before it, or farther from any than rounding can take it."""
    kept = independent(X)
    G = X[:, kept].T @ X[:, kept]
    for k in range(1, len(kept)):
        left = G[k, k] - G[:k, k] @ solved(G[:k, :k], G[:k, k])
        if Fraction(left) < Fraction(NEAREST) ** 2 * G[k, k]:
            return False
    return True


def linear(case: Case) -> None:
    """All that a linear model reports."""
    rng = case.rng
    table = Table(case)
    w = None
    if rng.random() < 0.3:
        table.world.add("w", np.abs(table.world.standard()) * 10 ** rng.uniform(-3, 3) + 10 ** rng.uniform(-2, 0))
        w = "w"
    offset = rng.random() < 0.15
    if offset:
        table.world.number("o")
    intercept = rng.random() < 0.85
    robust = None if rng.random() < 0.5 else str(rng.choice(["HC0", "HC1", "HC2", "HC3"]))
    formula = f"y ~ {'' if intercept else '0 + '}{' + '.join(terms := table.terms(case))}"
    # Products of columns have all their digits where units are public and rows have no weights; else those of float64.
    products = any(term in ("x0:x1", "I(x0**2)") for term in terms)
    full = products and w is None and rng.random() < 0.7
    for name in table.numbers * full:
        table.world.declare(name)
    rounded = products and not full
    dealt = table.world.study()
    used = [*table.numbers, *table.categories, "y", *(["w"] if w else []), *(["o"] if offset else [])]
    rows = dealt.rows(*used)
    asked = formula + " + offset(o)" * offset
    names = names_by_formulaic(formula, rows, dealt.study.schema) if len(rows) else []
    X = exact_design(names, rows, rounded)
    if len(rows) and not is_clear(X):
        case.refused = "the oracle does not tell whether a column is made of others"
        return
    kept = independent(X) if len(rows) else []
    answers = len(rows) > len(kept) > 0
    y = fractions(rows["y"].astype(float)) - (fractions(rows["o"].astype(float)) if offset else 0)
    weights = fractions(rows["w"].astype(float)) if w else fractions(np.ones(len(rows)))
    oracle = Exactly(X[:, kept], y, weights) if answers else None
    lone = oracle is not None and robust in ("HC2", "HC3") and any(h == 1 for h in oracle.leverages)
    rules = ["leverage"] if lone else []
    fit = case.ask(
        lambda: dealt.study.linear(asked, weights=w, robust=robust), answers=answers and not lone, rules=rules
    )
    if fit is None or oracle is None:
        return
    case.equal("columns of the design", sorted(fit.all_terms), sorted(names))
    if list(fit.all_terms) != names:  # in the order that the package has, which tells what depends on what
        X = exact_design(fit.all_terms, rows, rounded)
        kept = independent(X)
        oracle = Exactly(X[:, kept], y, weights)
    case.equal("terms", list(fit.terms), [fit.all_terms[k] for k in kept])
    if not case.wrong:
        if rounded:  # by either side another way, and so much as that costs
            b, errors = floats(oracle.params), np.sqrt(floats(np.diagonal(oracle.inverse)))
            lengths = np.sqrt(floats(oracle.w @ oracle.X**2))
            inflated = float((errors * lengths).max()) * np.abs(b * lengths).max() * errors
            case.same("params", fit.params, b, FEW, np.abs(b) + 4 * inflated)
            return
        oracle.compare(case, fit, robust)
        if robust is None:
            _compare_terms(case, fit, X, [[_base(f) for f in name.split(":")] for name in fit.all_terms], y, weights)


def _base(factor: str) -> str:
    return factor.split("[")[0]


class Exactly:
    """Weighted least squares in fractions."""

    def __init__(self, X: Exact, y: Exact, w: Exact) -> None:
        self.X, self.y, self.w, self.n, self.k = X, y, w, *X.shape
        self.inverse = inverse(X.T @ (w[:, None] * X))
        self.params = self.inverse @ (X.T @ (w * y))
        self.left = y - X @ self.params
        self.ssr = Fraction((w * self.left**2).sum())

    @property
    def leverages(self) -> Exact:
        return np.asarray(self.w * ((self.X @ self.inverse) * self.X).sum(axis=1))

    def covariance(self, robust: str | None) -> Exact:
        if robust is None:
            return np.asarray(self.ssr / (self.n - self.k) * self.inverse)
        f = (self.w * self.left) ** 2
        if robust in ("HC2", "HC3"):
            f = f / (1 - self.leverages) ** (1 if robust == "HC2" else 2)
        meat = self.X.T @ (f[:, None] * self.X)
        times = Fraction(self.n, self.n - self.k) if robust == "HC1" else 1
        return np.asarray(self.inverse @ meat @ self.inverse * times)

    def compare(self, case: Case, fit: Any, robust: str | None) -> None:
        case.equal("nobs", fit.nobs, self.n)
        case.same("params", fit.params, self.params, FEW)
        case.same("ssr", fit.ssr, self.ssr, FEW)
        one = fractions(np.ones(self.n))
        constant = len(independent(np.column_stack([self.X, one]))) == self.k
        mean = (self.w * self.y).sum() / self.w.sum() if constant else 0
        total = Fraction((self.w * (self.y - mean) ** 2).sum())
        case.equal("constant", fit.constant, constant)
        if total:
            case.same(
                "rsquared", fit.rsquared, 1 - self.ssr / total, FEW, max(Fraction(1, 10**12), 1 - self.ssr / total)
            )
        if not self.ssr:
            case.equal("errors of a perfect fit", fit.bse.tolist(), [0.0] * self.k)
            return
        V = self.covariance(robust)
        variances = np.diagonal(V)
        # Of the sandwich a row's factor is rounded to 2^-40 of the mean (``robust.GRIDS``): so much of the sum of all.
        close = FEW if robust is None else 2.0**-36
        bse = floats([root(v) for v in variances])
        sizes = np.outer(bse, bse)
        if robust is not None:  # what cancels in a variance is relative to what it is the sum of
            f = self.covariance_size(robust)
            sizes, close = floats(f), 2.0**-36
            found, expected = fit.covariance, V
            case.same("robust covariance", found, expected, close, sizes)
            return
        case.same("covariance", fit.covariance, V, close, sizes)
        case.same("bse", fit.bse, bse, close)
        t = floats(self.params) / bse
        case.same("tvalues", fit.tvalues, t, 2 * FEW)
        df = self.n - self.k
        case.pvalue("pvalues", fit.pvalues, 2 * special.stdtr(df, -np.abs(t)), t, 1e-13)
        terms = [self.n / 2 * math.log(2 * math.pi * self.ssr / self.n), self.n / 2, sum(map(math.log, self.w)) / 2]
        case.same("llf", fit.llf, -terms[0] - terms[1] + terms[2], 20 * FEW, sum(map(abs, terms)))
        if constant and self.k > 1 and total:
            ratio = (total - self.ssr) / (self.k - 1) / (self.ssr / df)
            case.same("fvalue", fit.fvalue, ratio, FEW, max(ratio, Fraction(1, 10**12)))
            p = special.fdtrc(self.k - 1, df, float(ratio))
            case.pvalue("f_pvalue", fit.f_pvalue, p, math.sqrt(float(ratio) * self.k), 1e-12)
        G = self.X.T @ (self.w[:, None] * self.X)
        if "Intercept" in fit.terms and self.k > 1:
            about = [G[k, k] - (self.w * self.X[:, k]).sum() ** 2 / self.w.sum() for k in range(1, self.k)]
            case.same("vif", fit.vif[1:], [a * self.inverse[k + 1, k + 1] for k, a in enumerate(about)], FEW)

    def covariance_size(self, robust: str) -> Exact:
        """What robust variances are sums of: of no column is more lost than a share of this."""
        f = (self.w * self.left) ** 2
        if robust in ("HC2", "HC3"):
            f = f / (1 - self.leverages) ** (1 if robust == "HC2" else 2)
        rows = np.abs(self.X @ self.inverse)
        mean = f.sum() / self.n
        times = Fraction(self.n, self.n - self.k) if robust == "HC1" else 1
        return np.asarray(rows.T @ ((f + mean)[:, None] * rows) * times)


def _compare_terms(case: Case, fit: Any, X: Exact, factors: list[list[str]], y: Exact, w: Exact) -> None:
    """Sums of squares of type I, II and III, by comparing models."""
    of = [tuple(f) if f != ["Intercept"] else () for f in factors]
    terms = [term for term in dict.fromkeys(of) if term]
    if not terms:
        return
    kept = independent(X)

    def left(columns: Sequence[int]) -> Fraction:
        chosen = [columns[k] for k in independent(X[:, columns])] if len(columns) else []
        return Exactly(X[:, chosen], y, w).ssr if chosen else Fraction((w * y**2).sum())

    total = float((w * y**2).sum())
    expected = np.zeros((len(terms), 3))
    before = [k for k in kept if not of[k]]
    for place, term in enumerate(terms):
        own = [k for k in kept if of[k] == term]
        expected[place, 0] = left(before) - left([*before, *own])
        before += own
        besides = [k for k in range(len(of)) if not set(of[k]) >= set(term)]
        expected[place, 1] = left(besides) - left(sorted([*besides, *(k for k in range(len(of)) if of[k] == term)]))
        expected[place, 2] = left([k for k in kept if of[k] != term]) - left(kept)
    case.same("sums of squares by term", fit.sum_sq, expected, FEW, np.maximum(expected, 1e-25 * total))


# Penalties


def penalised(case: Case, lasso: bool) -> None:
    """A path, and its errors in folds."""
    rng = case.rng
    table = Table(case)
    intercept, standardize = rng.random() < 0.85, bool(rng.random() < 0.7)
    names = [*table.numbers]
    formula = f"y ~ {'' if intercept else '0 + '}{' + '.join(names)}"
    for name in table.categories[:1]:
        formula += f" + {name}"
    dealt = table.world.study()
    rows = dealt.rows(*names, *table.categories[:1], "y")
    n, ratio = len(rows), float(rng.choice([1.0, 0.5, 0.1])) if lasso else 1.0
    if not n:
        case.ask(lambda: dealt.study.ridge(formula), answers=False)
        return
    columns = names_by_formulaic(formula, rows, dealt.study.schema)
    if not intercept:  # all levels are there, in the order of the schema
        of_levels = [f"{name}[{level}]" for name in table.categories for level in dealt.study.schema[name].levels]
        at = {name: of_levels.index(name) for name in columns if name in of_levels}
        ranked = iter(sorted(at, key=lambda name: at[name]))
        columns = [next(ranked) if name in at else name for name in columns]
    X, y = exact_design([name for name in columns if name != "Intercept"], rows), fractions(rows["y"].astype(float))
    S, r, yy = _moments(X, y, intercept)
    # The size of a penalty that matters: of ridge the squares of a column, of the lasso the largest correlation.
    sizes = [S[k, k] for k in range(len(S)) if S[k, k]]
    of = [max(abs(r[k]) / (root(S[k, k]) if standardize else 1) for k in range(len(S)) if S[k, k])] if sizes else [1]
    scale = float(of[0]) if lasso else (1.0 if standardize else float(max(sizes, default=1))) * n
    penalties = sorted((scale * 10 ** rng.uniform(-4, 1, int(rng.integers(1, 4)))).tolist(), reverse=True)
    folds = int(rng.integers(2, 5))
    options = {"penalties": penalties, "folds": folds, "standardize": standardize, "fold_seed": int(rng.integers(9))}
    if lasso:
        options["l1_ratio"] = ratio
    ask = dealt.study.lasso if lasso else dealt.study.ridge
    answers = bool(yy) and bool(sizes)
    fold = np.zeros(n, int)
    # Which fold a row is in is the package's public function of its numbers; equal rows are in one.
    if len(penalties) > 1:
        fold = fold_of(np.column_stack([floats(X), rows["y"].astype(float)]), folds, options["fold_seed"])
        answers = answers and len(set(fold.tolist())) == folds
    rules = [FOLDS, *([NEARLY] if _nearly(S) else [])]
    fit = case.ask(lambda: ask(formula, **options), answers=answers, rules=rules)
    if fit is None:
        return
    case.equal("penalties", fit.penalties, penalties)
    case.equal("terms", list(fit.terms), columns)
    if case.wrong:
        return
    for place, penalty in enumerate(penalties):
        found = fit.path[place][int(intercept) :]
        b, size = _optimum(case, (S, r, n), _units(S), penalty, ratio if lasso else None, standardize, found)
        if b is None:
            return
        case.same(f"path at {penalty:.3g}", found, b, 100 * FEW, size)
        if len(penalties) > 1:
            _compare_folds(case, fit, place, (X, y, intercept), fold, penalty, ratio if lasso else None, standardize)


def _moments(X: Exact, y: Exact, intercept: bool) -> tuple[Exact, Exact, Fraction]:
    n = len(y)
    Z, v = (X - X.sum(axis=0) / Fraction(n), y - y.sum() / Fraction(n)) if intercept else (X, y)
    return Z.T @ Z / Fraction(n), Z.T @ v / Fraction(n), Fraction((v**2).sum()) / n


def _nearly(S: Exact) -> bool:
    """Whether moments that are rounded to float64 leave few digits of what tells columns apart."""
    deviation = _units(S)
    eigenvalues = np.linalg.eigvalsh(floats(S / np.outer(deviation, deviation)))
    return bool(len(S) and eigenvalues[0] < 1e-9)


def _units(S: Exact) -> Exact:
    found = np.empty(len(S), object)
    found[:] = [root(S[k, k]) if S[k, k] else Fraction(1) for k in range(len(S))]
    return found


def _optimum(
    case: Case,
    moments: tuple[Exact, Exact, int],
    deviation: Exact,
    penalty: float,
    ratio: float | None,
    standardize: bool,
    found: Any,
) -> tuple[Exact | None, Any]:
    """Coefficients, and what their errors are relative to: the condition of what is solved. Of the lasso, those that
    follow from the support of what was found, if they fulfil the conditions of an optimum."""
    S, r, n = moments
    there = [k for k in range(len(S)) if S[k, k]]
    tau = deviation if standardize else np.array([Fraction(1)] * len(S), object)
    b = np.array([Fraction(0)] * len(S), object)
    if ratio is None:
        H = S + np.diag(tau**2) * Fraction(penalty) / n
        on, l1 = there, np.array([Fraction(0)] * len(S), object)
    else:
        H = S + np.diag(tau**2) * Fraction(penalty) * (1 - Fraction(ratio))
        on, l1 = [k for k in there if found[k] != 0], tau * Fraction(penalty) * Fraction(ratio)
    signs = np.array([int(np.sign(each)) for each in found], object)
    if on and ratio is not None and len(independent(H[np.ix_(on, on)])) < len(on):
        case.wrong.append("the support of the path has dependent columns")
        return None, None
    if on:
        b[on] = solved(H[np.ix_(on, on)], (r - l1 * signs)[on])
    if ratio is not None:
        slope = r - H @ b
        slack = Fraction(1, 10**10)
        large = max((abs(r[k]) / deviation[k] for k in there), default=Fraction(0))
        bad = [k for k in there if k not in on and abs(slope[k]) > l1[k] + slack * large * deviation[k]]
        bad += [k for k in on if b[k] * signs[k] < -slack * abs(large) / deviation[k]]
        if bad:
            case.wrong.append(f"no optimum at {penalty:.3g}: columns {bad} have the wrong slope or sign")
            return None, None
    scaled = floats(H / np.outer(deviation, deviation))[np.ix_(on, on)]
    condition = float(np.linalg.cond(scaled)) if on else 1.0
    longest = max((abs(b[k]) * deviation[k] for k in range(len(b))), default=Fraction(0))
    return b, condition * float(longest) / floats(deviation) + 1e-300


def _compare_folds(
    case: Case,
    fit: Any,
    place: int,
    data: tuple[Exact, Exact, bool],
    fold: Any,
    penalty: float,
    ratio: float | None,
    standardize: bool,
) -> None:
    """The squared error in each fold of what the others tell."""
    if ratio is not None:
        return  # coefficients of training sets are not shown, and no optimum follows from what is not
    X, y, intercept = data
    for k in range(fit.cv_errors.shape[1]):
        inside = fold == k
        S, r, _ = _moments(X[~inside], y[~inside], intercept)
        b, size = _optimum(case, (S, r, int((~inside).sum())), _units(S), penalty, None, standardize, r)
        at = (y[~inside].sum() - X[~inside].sum(axis=0) @ b) / Fraction(int((~inside).sum())) if intercept else 0
        left = y[inside] - X[inside] @ b - at
        error = Fraction((left**2).sum()) / int(inside.sum())
        centre = X[~inside].sum(axis=0) / Fraction(int((~inside).sum())) if intercept else 0
        reach = float((np.abs(floats(X[inside] - centre)) @ np.asarray(size)).max())
        case.same("cv_errors", fit.cv_errors[place, k], error, 100 * FEW, float(error) + 2 * float(root(error)) * reach)


def ridge(case: Case) -> None:
    """Against the solution in fractions."""
    penalised(case, lasso=False)


def lasso(case: Case) -> None:
    """Against the conditions of an optimum, in fractions."""
    penalised(case, lasso=True)


def pca(case: Case) -> None:
    """Against the equations of eigenvectors, in fractions: components of near variances are not determined."""
    rng = case.rng
    table = Table(case, categories=False)
    names = [*table.numbers, "y"]
    dealt, standardize = table.world.study(), bool(rng.random() < 0.5)
    rows = dealt.rows(*names)
    n, count = len(rows), int(rng.integers(1, len(names) + 1))
    X = np.column_stack([fractions(rows[name].astype(float)) for name in names])
    S = _moments(X, X[:, 0], True)[0] if n else None
    answers = n >= max(2, count) and not (standardize and any(not S[k, k] for k in range(len(names))))
    fit = case.ask(lambda: dealt.study.pca(names, standardize=standardize, components=count), answers=answers)
    if fit is None:
        return
    deviation = _units(S)
    scale = deviation if standardize else np.array([Fraction(1)] * len(names), object)
    S = S / np.outer(scale, scale) * Fraction(n, n - 1)
    case.same("mean", fit.mean, X.sum(axis=0) / Fraction(n), ONCE)
    case.same("scale", fit.scale, scale, FEW)
    trace = sum(S[k, k] for k in range(len(names)))
    case.same("total variance", fit.total_variance, trace, FEW)
    eigenvalues = np.linalg.eigvalsh(floats(S))[::-1][:count]
    # Eigenvalues of a symmetric matrix that was rounded are off by as much as it is, in its norm.
    case.same("explained variance", fit.explained_variance, eigenvalues, 20 * FEW, float(trace) or 1.0)
    V = np.array([[Fraction(entry) for entry in row] for row in fit.components.tolist()], object)
    off = V @ S - np.array([Fraction(value) for value in fit.explained_variance.tolist()], object)[:, None] * V
    case.same("S v - lambda v", off, np.zeros(off.shape), 20 * FEW, float(trace) or 1.0)
    case.same("lengths and angles", V @ V.T, np.eye(count), 20 * FEW, 1.0)
    case.equal("turned", [bool(v[np.abs(v).argmax()] > 0) for v in fit.components], [True] * count)


KINDS: dict[str, Callable[[Case], None]] = {"linear": linear, "ridge": ridge, "lasso": lasso, "pca": pca}
