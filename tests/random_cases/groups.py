"""Tests and tables of groups, against fractions, and SciPy where it has as many digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .case import Case
from .columns import ONCE
from .exactly import filled, fractions, root
from .worlds import Dealt, World, rows_of

FEW = 8 * ONCE
# Special functions: Cephes and Boost promise some 1e-13 of a tail, both sides call SciPy's with numbers an ulp apart.
TAIL = 1e-12


def grouped(case: Case, *, ranged: bool = False) -> tuple[World, Dealt, pd.DataFrame, Sequence[str]]:
    """A number that differs between groups, or nearly does not vary."""
    rng = case.rng
    world = World(rng, rows_of(rng))
    x = world.number("x", ranged=ranged)
    world.category("g")
    if rng.random() < 0.05:
        world.add("x", np.full(world.n, float(x[0])), digits=9, ranged=ranged)
    elif not ranged and rng.random() < 0.5:
        moved = x + rng.normal() * float(x.std()) * (world.columns["g"] == "g1")
        world.add("x", moved, digits=14)
    world.number("other")
    dealt = world.study()
    return world, dealt, dealt.rows("x", "g"), dealt.study.schema["g"].levels


def moments(values: Any) -> tuple[int, Fraction, Fraction]:
    """Rows, their mean, and the sum of squares about it."""
    x = fractions(values)
    mean = Fraction(x.sum()) / max(1, len(x))
    return len(x), mean, Fraction(((x - mean) ** 2).sum()) if len(x) else Fraction(0)


def t_test(case: Case) -> None:
    """Of two groups, of one, and of pairs."""
    rng = case.rng
    _, dealt, rows, levels = grouped(case)
    way = str(rng.choice(["groups", "one", "pairs"], p=[0.6, 0.2, 0.2]))
    equal_var, mu = bool(rng.random() < 0.5), float(rng.choice([0.0, 0.25]))
    if way == "groups":
        chosen = tuple(map(str, rng.choice(levels, 2, replace=False)))
        samples = [moments(rows["x"][rows["g"] == level].astype(float)) for level in chosen]
        found = lambda: dealt.study.t_test("x", by="g", levels=chosen, equal_var=equal_var, mu=mu)  # noqa: E731
    elif way == "one":
        rows = dealt.rows("x")
        samples = [moments(rows["x"].astype(float))]
        found = lambda: dealt.study.t_test("x", mu=mu)  # noqa: E731
    else:
        rows = dealt.rows("x", "other")
        x = fractions(rows["x"].astype(float)) - fractions(rows["other"].astype(float))
        mean = Fraction(x.sum()) / max(1, len(x))
        samples = [(len(x), mean, Fraction(((x - mean) ** 2).sum()) if len(x) else Fraction(0))]
        found = lambda: dealt.study.t_test("x", paired="other", mu=mu)  # noqa: E731
    within = sum(s for _, _, s in samples)
    answers = all(n > 1 for n, _, _ in samples) and within > 0
    test = case.ask(found, answers=answers)
    if test is None:
        return
    variances = [s / (n - 1) for n, _, s in samples]
    difference = samples[0][1] - (samples[1][1] if len(samples) == 2 else 0)
    df = float(sum(n - 1 for n, _, _ in samples))
    if equal_var and len(samples) == 2:
        pooled = within / (sum(n for n, _, _ in samples) - 2)
        errors = [pooled / n for n, _, _ in samples]
    else:
        errors = [v / n for v, (n, _, _) in zip(variances, samples, strict=True)]
        if len(samples) == 2:
            df = float(sum(errors) ** 2 / sum(e**2 / (n - 1) for e, (n, _, _) in zip(errors, samples, strict=True)))
    t = (difference - Fraction(repr(mu))) / root(sum(errors))
    case.equal("n", list(test.n), [n for n, _, _ in samples])
    case.same("mean", test.mean, [m for _, m, _ in samples], ONCE)
    case.same("variance", test.variance, variances, ONCE)
    case.same("difference", test.difference, difference, ONCE)
    case.same("statistic", test.statistic, t, FEW)
    case.same("df", test.df, df, FEW)
    case.pvalue("pvalue", test.pvalue, 2 * stats.t.sf(abs(float(t)), df), float(t), TAIL)
    reach = stats.t.ppf(0.975, df) * float(root(sum(errors)))
    ends = [float(difference) - reach, float(difference) + reach]
    case.same("interval", test.interval, ends, TAIL, abs(float(difference)) + reach)


def _of_groups(case: Case, test: Any, samples: Sequence[tuple[int, Fraction, Fraction]]) -> None:
    """An analysis of variance of samples that have rows."""
    there = [sample for sample in samples if sample[0]]
    n = sum(count for count, _, _ in there)
    mean = sum(count * m for count, m, _ in there) / n
    between = sum(count * (m - mean) ** 2 for count, m, _ in there)
    within = sum(s for _, _, s in there)
    groups, rest = len(there) - 1, n - len(there)
    F = between / groups / (within / rest)
    case.equal("n", list(test.n), [count for count, _, _ in samples])
    case.same("mean", test.mean, [m if count else math.nan for count, m, _ in samples], ONCE)
    variances = [s / (count - 1) if count > 1 else math.nan for count, _, s in samples]
    case.same("variance", test.variance, variances, ONCE)
    case.same("statistic", test.statistic, F, FEW)
    case.equal("df", list(test.df), [groups, rest])
    size = math.sqrt(float(F) * groups)
    case.pvalue("pvalue", test.pvalue, stats.f.sf(float(F), groups, rest), size, TAIL)
    case.same("eta squared", test.eta_squared, between / (between + within), FEW)


def _has_test(samples: Sequence[tuple[int, Fraction, Fraction]]) -> bool:
    there = [sample for sample in samples if sample[0]]
    n, within = sum(count for count, _, _ in there), sum(s for _, _, s in there)
    return len(there) > 1 and n > len(there) and within > 0


def anova(case: Case) -> None:
    """By a category, some of whose levels have no rows, or one."""
    _, dealt, rows, levels = grouped(case)
    samples = [moments(rows["x"][rows["g"] == level].astype(float)) for level in levels]
    if test := case.ask(lambda: dealt.study.anova("x", by="g"), answers=_has_test(samples)):
        _of_groups(case, test, samples)


def levene(case: Case) -> None:
    """Of distances from the means."""
    _, dealt, rows, levels = grouped(case)
    samples = []
    for level in levels:
        values = rows["x"][rows["g"] == level].astype(float)
        x, (n, mean, _) = fractions(values), moments(values)
        distances = filled([abs(value - mean) for value in x], (n,))
        centre = Fraction(distances.sum()) / max(1, n)
        samples.append((n, centre, Fraction(((distances - centre) ** 2).sum()) if n else Fraction(0)))
    if test := case.ask(lambda: dealt.study.levene("x", by="g"), answers=_has_test(samples)):
        _of_groups(case, test, samples)


def crosstab(case: Case) -> None:
    """Counts, and tests of them, Fisher's in whole numbers."""
    rng = case.rng
    small = rng.random() < 0.5
    world = World(rng, int(rng.integers(1, 30)) if small else rows_of(rng, 400))
    for name in ("g", "h"):
        world.category(name, 2 if small else None)
    dealt = world.study()
    rows = dealt.rows("g", "h")
    levels = [dealt.study.schema[name].levels for name in ("g", "h")]
    table = np.array([[int(((rows["g"] == a) & (rows["h"] == b)).sum()) for b in levels[1]] for a in levels[0]])
    found = case.ask(lambda: dealt.study.crosstab("g", "h"), answers=len(rows) > 0)
    if found is None:
        return
    case.equal("counts", found.counts, table)
    seen = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(seen.shape) < 2:
        case.same("chi2", [found.chi2, found.g, found.cramers_v], [math.nan] * 3, FEW)
    else:
        plain = stats.chi2_contingency(seen, correction=False)
        ratio = stats.chi2_contingency(seen, correction=False, lambda_="log-likelihood")
        exact = _chi2(seen)
        case.same("chi2", found.chi2, exact, 20 * FEW, max(exact, 1e-12))  # float64 squares of what cancels
        case.same("g", found.g, ratio.statistic, 100 * FEW, max(ratio.statistic, len(rows) * 1.0))
        case.equal("df", found.df, plain.dof)
        chi2 = float(exact)
        case.pvalue("chi2_pvalue", found.chi2_pvalue, stats.chi2.sf(chi2, plain.dof), math.sqrt(chi2), TAIL)
        v = math.sqrt(chi2 / (seen.sum() * (min(seen.shape) - 1)))
        case.same("cramers_v", found.cramers_v, v, 20 * FEW, max(v, 1e-6))
        if table.shape == (2, 2):
            yates = stats.chi2_contingency(seen, correction=True)
            case.same("chi2_yates", found.chi2_yates, yates.statistic, 100 * FEW, max(yates.statistic, 1e-12))
    if table.shape == (2, 2):
        (a, b), (c, d) = table.tolist()
        odds = Fraction(a * d, b * c) if b * c else (math.inf if a * d else math.nan)
        case.same("odds_ratio", found.odds_ratio, odds, ONCE)
        case.same("fisher_pvalue", found.fisher_pvalue, fisher(a, b, c, d), 1e-13 * math.sqrt(len(rows)))


def _chi2(table: Any) -> Fraction:
    n = int(table.sum())
    rows, columns = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    return sum(
        (Fraction(int(table[i, j])) - Fraction(r * c, n)) ** 2 / Fraction(r * c, n)
        for i, r in enumerate(rows)
        for j, c in enumerate(columns)
    ) + Fraction(0)


def fisher(a: int, b: int, c: int, d: int) -> Fraction:
    """Of all tables with these margins those that are no more likely; as likely but for 1e-7 counts too, as in R."""
    row, column, n = a + b, a + c, a + b + c + d
    ways = {
        k: math.comb(row, k) * math.comb(n - row, column - k)
        for k in range(max(0, row + column - n), min(row, column) + 1)
    }
    own = ways[a] * (1 + Fraction(1, 10**7))
    return Fraction(sum(each for each in ways.values() if each <= own), sum(ways.values()))


def quantiles(case: Case) -> None:
    """Intervals that hold what NumPy has, or that itself."""
    rng = case.rng
    whole, by = rng.random() < 0.4, "g" if rng.random() < 0.5 else None
    world = World(rng, rows_of(rng))
    if whole:
        low = int(rng.choice([0, -50, 10**6]))
        world.integer("x", low + rng.integers(0, int(rng.choice([2, 60, 10**5])), world.n), low, low + 10**5)
    else:
        world.number("x", ranged=True)
    world.category("g")
    dealt = world.study()
    rows = dealt.rows("x", *([by] if by else []))
    q = [0.0, 1.0, *rng.choice([0.25, 0.5, 0.75, 0.1, 0.07, 1 / 3, 0.9], 3, replace=False).tolist()]
    options: dict[str, Any] = {"ways": int(rng.choice([2, 16, 50]))}
    low, high = dealt.study.schema["x"].limits
    if rng.random() < 0.4 and not whole:
        options["resolution"] = (high - low) / float(rng.choice([7, 100, 12345]))
    found = case.ask(lambda: dealt.study.quantiles("x", q, by=by, **options), answers=len(rows) > 0)
    if found is None:
        return
    for k, level in enumerate(found.groups):
        values = (rows["x"] if by is None else rows["x"][rows[by] == level]).astype(float).to_numpy()
        case.equal("n", int(found.n[k]), len(values))
        if not len(values):
            case.equal("of no rows", [math.isnan(v) for v in found.low[k]], [True] * len(q))
            continue
        expected = np.quantile(values, q, method="inverted_cdf")
        if whole:
            case.equal("quantiles", found.low[k], expected)
        inside = (found.low[k] <= expected) & ((expected < found.high[k]) | (expected == high))
        case.equal("intervals hold quantiles", inside.tolist(), [True] * len(q))
        width = found.high[k] - found.low[k]
        case.equal(
            "no wider than told",
            (width <= found.resolution + 1e-15 * abs(low) + 1e-15 * abs(high)).tolist(),
            [True] * len(q),
        )


def _quartiles(case: Case, found: Any, place: int, group: int, values: Any, resolution: float) -> None:
    if not len(values):
        case.equal("quartiles of no rows", np.isnan(found.quartiles[place, group]).tolist(), [True] * 3)
        return
    expected = np.quantile(values, [0.25, 0.5, 0.75], method="inverted_cdf")
    off = np.abs(found.quartiles[place, group] - expected)
    case.equal("quartiles", (off <= resolution * 0.5 * (1 + 1e-6)).tolist(), [True] * 3)


def cohort(case: Case) -> tuple[Dealt, pd.DataFrame, dict[str, Any]]:
    """Columns of all types."""
    rng = case.rng
    world = World(rng, rows_of(rng))
    world.number("x", ranged=True)
    world.number("z", **({"like": "x", "near": 1e-6} if rng.random() < 0.2 else {}), ranged=True)
    world.integer("k", rng.integers(0, 40, world.n), 0, 100)
    world.category("g")
    world.category("h")
    world.boolean("b", rng.random(world.n) < rng.choice([0.02, 0.5]))
    dealt = world.study()
    return dealt, dealt.rows("x", "z", "k", "g", "h", "b"), world.schema


def describe(case: Case) -> None:
    """Columns side by side."""
    dealt, rows, _ = cohort(case)
    names = ["x", "z", "k", "g", "b"]
    rows = dealt.rows(*names)
    found = case.ask(lambda: dealt.study.describe(names), answers=len(rows) > 0)
    if found is None:
        return
    for place, name in enumerate(names[:3]):
        n, mean, squares = moments(rows[name].astype(float))
        case.same(f"mean of {name}", found.mean[place, 0], mean, ONCE)
        case.same(f"sd of {name}", found.sd[place, 0], root(squares / (n - 1)) if n > 1 else math.nan, FEW)
        values = rows[name].astype(float).to_numpy()
        _quartiles(case, found, place, 0, values, 0.0 if name == "k" else float(found.resolution[place]))
    levels = dealt.study.schema["g"].levels
    case.equal("counts", found.counts("g")[:, 0], [int((rows["g"] == level).sum()) for level in levels])
    case.equal("counts of b", found.counts("b")[:, 0], [int((rows["b"] == v).sum()) for v in (False, True)])


def table_one(case: Case) -> None:
    """By a category, with tests and standardised differences."""
    dealt, rows, _ = cohort(case)
    names = ["x", "z", "k", "h", "b"]
    nonnormal = ["k"] if case.rng.random() < 0.5 else []
    found = case.ask(lambda: dealt.study.table_one(by="g", columns=names, nonnormal=nonnormal), answers=len(rows) > 0)
    if found is None:
        return
    levels = dealt.study.schema["g"].levels
    groups = [rows[rows["g"] == level] for level in levels]
    case.equal("n", list(found.n), [len(group) for group in groups])
    for place, name in enumerate(names[:3]):
        samples = [moments(group[name].astype(float)) for group in groups]
        case.same("mean", found.mean[place], [m if n else math.nan for n, m, _ in samples], ONCE)
        sd = [root(s / (n - 1)) if n > 1 else math.nan for n, _, s in samples]
        case.same("sd", found.sd[place], sd, FEW)
        there = [sample for sample in samples if sample[0]]
        case.same("smd", found.smd[place], _smd(there), FEW)
        if name in nonnormal:
            case.equal("no p-value", math.isnan(found.pvalue[place]), True)
            for k, group in enumerate(groups):
                _quartiles(case, found, place, k, group[name].astype(float).to_numpy(), 0.0)
        elif not _has_test(samples):
            case.equal("no p-value", math.isnan(found.pvalue[place]), True)
        else:
            n = sum(count for count, _, _ in there)
            mean = sum(count * m for count, m, _ in there) / n
            between, within = sum(c * (m - mean) ** 2 for c, m, _ in there), sum(s for _, _, s in there)
            d, rest = len(there) - 1, n - len(there)
            F = float(between / d / (within / rest))
            case.pvalue("p of a number", found.pvalue[place], stats.f.sf(F, d, rest), math.sqrt(F * d), TAIL)
    for place, name in ((3, "h"), (4, "b")):
        values = dealt.study.schema[name].levels or (False, True)
        counts = np.array([[int((group[name] == value).sum()) for group in groups] for value in values])
        case.equal("counts", found.counts(name), counts)
        seen = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
        if min(seen.shape) < 2:
            case.equal("no p-value of counts", math.isnan(found.pvalue[place]), True)
        else:
            test = stats.chi2_contingency(seen, correction=seen.shape == (2, 2))
            case.pvalue("p of counts", found.pvalue[place], test.pvalue, math.sqrt(test.statistic), TAIL)
        _compare_shares(case, found.smd[place], counts[:, counts.sum(axis=0) > 0])


def _smd(samples: Sequence[tuple[int, Fraction, Fraction]]) -> float:
    found = []
    for (n, m, s), (k, l, t) in combinations(samples, 2):
        if n < 2 or k < 2 or not s + t:
            found.append(math.nan)
        else:
            found.append(float(root((m - l) ** 2 / ((s / (n - 1) + t / (k - 1)) / 2))))
    return float(np.mean(found)) if found else math.nan


def _compare_shares(case: Case, smd: float, counts: Any) -> None:
    """Mahalanobis distances of shares, of two levels alone, where no inverse is needed."""
    if len(counts) != 2 or counts.shape[1] < 2:
        return
    found = []
    for a, b in combinations(range(counts.shape[1]), 2):
        p, q = (Fraction(int(counts[1, k]), int(counts[:, k].sum())) for k in (a, b))
        variance = (p * (1 - p) + q * (1 - q)) / 2
        found.append(float(root((p - q) ** 2 / variance)) if variance else (0.0 if p == q else math.nan))
    # float64 has 1 - p to an ulp, which is lost from variances where all shares are next to 0 or 1
    case.same("smd of shares", smd, float(np.mean(found)), 1e-13, max(float(np.mean(found)), 1e-3))


KINDS: dict[str, Callable[[Case], None]] = {
    "crosstab": crosstab,
    "t_test": t_test,
    "anova": anova,
    "levene": levene,
    "quantiles": quantiles,
    "describe": describe,
    "table_one": table_one,
}
