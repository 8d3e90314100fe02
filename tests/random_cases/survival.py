"""Curves and tests of times to an event, in fractions; curves against lifelines too, whose products are of float64."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from lifelines import KaplanMeierFitter, NelsonAalenFitter
from lifelines.statistics import multivariate_logrank_test
from scipy import stats

from .case import Case
from .exactly import Exact, independent_rows, root, solved
from .worlds import Dealt, World, rows_of

# Products and sums over some fifty points, each with a rounding or two.
SUMMED = 3e-14
THEIRS = 1e-12  # lifelines adds logarithms up
OFTEN = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (2.0, 1.0), (0.5, 0.5)]


def timed(case: Case) -> tuple[World, Dealt, Any, str]:
    """Times, events and groups; integers on their own grid, or numbers on a coarse one, beyond which some lie."""
    rng = case.rng
    world = World(rng, rows_of(rng))
    n, most = world.n, int(rng.choice([4, 20, 60]))
    raw = rng.exponential(most / 2, n) if rng.random() < 0.7 else rng.uniform(0, most, n)
    if rng.random() < 0.5:
        world.integer("t", np.minimum(np.ceil(raw), most), 0, most)
        grid: Any = None if rng.random() < 0.6 else sorted({*rng.integers(1, most + 1, 3).tolist(), most // 2 + 1})
    else:
        world.add("t", np.minimum(raw, most), digits=4)
        world.schema["t"] = {"type": "number", "range": (0, most), "unit": str(world.unit("t"))}
        grid = int(rng.integers(2, 20)) if rng.random() < 0.5 else sorted({round(most / 3, 1), round(0.9 * most, 1)})
    share = float(rng.choice([0.0, 0.3, 0.7, 1.0], p=[0.04, 0.3, 0.36, 0.3]))
    world.boolean("d", rng.random(n) < share)
    world.category("g")
    if rng.random() < 0.3:  # a group that leaves at once
        values = world.columns["t"]
        values[world.columns["g"] == "g1"] = values.min()
    world.boolean("s", rng.random(n) < 0.4)
    dealt = world.study()
    return world, dealt, grid, "g"


def moved(times: Any, events: Any, points: Sequence[float]) -> tuple[Any, Any]:
    """Places of times on a grid, and whether they end with the event; beyond its end there are none."""
    place = np.searchsorted(points, times, side="left")
    return np.minimum(place, len(points) - 1), np.asarray(events, bool) & (place < len(points))


def points_of(schema: Any, grid: Any) -> list[float]:
    """Of the grid as it was asked for."""
    low, high = schema["t"].limits
    if grid is None:
        return list(np.arange(low, high + 1.0))
    return list(np.linspace(low, high, grid + 1)) if isinstance(grid, int) else [float(point) for point in grid]


def _counts(place: Any, event: Any, points: int) -> tuple[list[int], list[int], list[int]]:
    """Events, censorings, and those at risk."""
    d = np.bincount(place[event], minlength=points).tolist()
    c = np.bincount(place[~event], minlength=points).tolist()
    left = np.cumsum([0, *(a + b for a, b in zip(d, c, strict=True))])
    return d, c, [int(len(place) - gone) for gone in left[:-1]]


def curves(case: Case, kaplan: bool) -> None:
    """A curve for each group."""
    rng = case.rng
    _, dealt, grid, by = timed(case)
    named = by if rng.random() < 0.7 else None
    rows = dealt.rows("t", "d", *([named] if named else []))
    options: dict[str, Any] = {"by": named, "grid": grid}
    smooth = bool(not kaplan and rng.random() < 0.4)
    ask = dealt.study.kaplan_meier if kaplan else dealt.study.nelson_aalen
    if smooth:
        options["smooth"] = True
    found = case.ask(lambda: ask("t", "d", **options), answers=len(rows) > 0)
    if found is None:
        return
    points = points_of(dealt.study.schema, grid)
    case.same("times", found.times, points, SUMMED, max(points))
    for k, level in enumerate(found.groups):
        own = rows if named is None else rows[rows[named] == level]
        place, event = moved(own["t"].astype(float).to_numpy(), own["d"].to_numpy(), points)
        d, c, risk = _counts(place, event, len(points))
        case.equal("events", found.events[k], d)
        case.equal("censored", found.censored[k], c)
        if not len(own):
            case.equal("a curve of no rows", np.isnan(found.curve[k]).all(), True)
            continue
        (_survival if kaplan else _hazard)(case, found, k, (d, risk), smooth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times = np.asarray(points)[place]
            if kaplan:
                fitted = KaplanMeierFitter().fit(times, event)
                theirs = fitted.survival_function_at_times(points).to_numpy()
                case.same("survival by lifelines", found.survival[k], theirs, THEIRS, 1.0)
            else:
                fitter = NelsonAalenFitter(nelson_aalen_smoothing=smooth).fit(times, event)
                theirs = fitter.cumulative_hazard_at_times(points).to_numpy()
                case.same("hazard by lifelines", found.cumulative_hazard[k], theirs, THEIRS, np.abs(theirs) + 1)


def _survival(case: Case, found: Any, k: int, counts: tuple[list[int], list[int]], _: bool) -> None:
    S, V, curve, errors = Fraction(1), Fraction(0), [], []
    infinite = False
    for d, n in zip(*counts, strict=True):
        if d:
            S *= 1 - Fraction(d, n)
            infinite = infinite or d == n
            V += 0 if infinite else Fraction(d, n * (n - d))
        curve.append(S)
        errors.append(math.nan if infinite else float(root(V)) * float(S))
    case.same("survival", found.survival[k], curve, SUMMED)
    case.same("std_error", found.std_error[k], errors, SUMMED)
    half = next((t for t, s in zip(found.times.tolist(), curve, strict=True) if s <= Fraction(1, 2)), math.inf)
    case.equal("median", float(found.median[k]), half)
    s, v = np.array(curve, float), np.array(errors) / np.maximum(np.array(curve, float), 1e-300)
    ends = np.full((len(s), 2), math.nan)
    z = stats.norm.ppf(0.975)
    for j, (survival, error) in enumerate(zip(s, v, strict=True)):
        if survival == 1:
            ends[j] = 1.0
        elif survival > 0:
            reach = z * error / math.log(survival)
            ends[j] = survival ** math.exp(-reach), survival ** math.exp(reach)
    case.same("conf_int", found.conf_int()[k], ends, 1e-12, 1.0)


def _hazard(case: Case, found: Any, k: int, counts: tuple[list[int], list[int]], smooth: bool) -> None:
    H, V, curve, errors = Fraction(0), Fraction(0), [], []
    for d, n in zip(*counts, strict=True):
        if d and smooth:
            H += sum(Fraction(1, n - j) for j in range(d))
            V += sum(Fraction(1, (n - j) ** 2) for j in range(d))
        elif d:
            H += Fraction(d, n)
            V += Fraction(d * (n - d), n**3)
        curve.append(H)
        errors.append(root(V) if V else Fraction(0))
    case.same("cumulative_hazard", found.cumulative_hazard[k], curve, SUMMED)
    case.same("std_error", found.std_error[k], errors, SUMMED)


def kaplan_meier(case: Case) -> None:
    """Survival, its errors and intervals, medians."""
    curves(case, True)


def nelson_aalen(case: Case) -> None:
    """Cumulative hazards and their errors."""
    curves(case, False)


def log_rank(case: Case) -> None:
    """Five weightings, with strata and without."""
    rng = case.rng
    _, dealt, grid, by = timed(case)
    strata = "s" if rng.random() < 0.4 else None
    weighting = str(rng.choice(["logrank", "wilcoxon", "tarone-ware", "peto", "fleming-harrington"]))
    rho, gamma = OFTEN[int(rng.integers(len(OFTEN)))]
    powers = {"rho": rho, "gamma": gamma} if weighting == "fleming-harrington" else {}
    rows = dealt.rows("t", "d", by, *([strata] if strata else []))
    points, levels = points_of(dealt.study.schema, grid), list(dealt.study.schema[by].levels)
    place, event = moved(rows["t"].astype(float).to_numpy(), rows["d"].to_numpy(), points)
    codes = np.array([levels.index(level) for level in rows[by]], int)
    apart = rows[strata].to_numpy().astype(int) if strata else np.zeros(len(rows), int)
    O_E, V, observed = _compared(place, event, codes, apart, (len(points), len(levels)), weighting, (rho, gamma))
    chosen = independent_rows(V)
    found = case.ask(
        lambda: dealt.study.log_rank("t", "d", by=by, strata=strata, grid=grid, weighting=weighting, **powers),
        answers=len(chosen) > 0,
    )
    if found is None:
        return
    statistic = O_E[chosen] @ solved(V[np.ix_(chosen, chosen)], O_E[chosen])
    size = float(abs(O_E).max()) + float(sum(observed, Fraction(0)))
    case.equal("df", found.df, len(chosen))
    case.same("observed", found.observed, observed, 1e-13, size)
    case.same("observed - expected", found.observed - found.expected, O_E, 1e-13, size)
    case.same("covariance", found.covariance, V, 1e-12, float(max(V[k, k] for k in range(len(V)))))
    # What cancels in observed less expected is lost from the statistic.
    case.same("statistic", found.statistic, statistic, 1e-12, max(float(statistic), 1e-2))
    p = stats.chi2.sf(float(statistic), len(chosen))
    case.pvalue("pvalue", found.pvalue, p, math.sqrt(float(statistic)) + 0.1, 1e-12)
    if strata is None and weighting in ("logrank", "wilcoxon", "peto") and len(chosen) == rows[by].nunique() - 1:
        named = None if weighting == "logrank" else weighting
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = multivariate_logrank_test(np.asarray(points)[place], rows[by], event, weightings=named)
        # lifelines inverts a covariance that may be badly conditioned
        case.same("statistic by lifelines", found.statistic, theirs.test_statistic, 1e-6, max(float(statistic), 1e-2))


def _compared(
    place: Any,
    event: Any,
    group: Any,
    apart: Any,
    sizes: tuple[int, int],
    weighting: str,
    powers: tuple[float, float],
) -> tuple[Exact, Exact, Exact]:
    """``O - E``, its covariance, and ``O``, of fractions."""
    points, groups = sizes
    zero = [Fraction(0)] * groups
    O_E, O, V = np.array(zero, object), np.array(zero, object), np.array([list(zero) for _ in range(groups)], object)
    for stratum in np.unique(apart):
        inside = apart == stratum
        peto = before = Fraction(1)
        for point in range(points):
            risk = [int((inside & (group == j) & (place >= point)).sum()) for j in range(groups)]
            dead = [int((inside & (group == j) & (place == point) & event).sum()) for j in range(groups)]
            n, d = sum(risk), sum(dead)
            if not d:
                continue
            peto *= 1 - Fraction(d, n + 1)
            w = {
                "logrank": Fraction(1),
                "wilcoxon": Fraction(n),
                "tarone-ware": root(Fraction(n)),
                "peto": peto,
                "fleming-harrington": _power(before, powers[0]) * _power(1 - before, powers[1]),
            }[weighting]
            before *= 1 - Fraction(d, n)
            for j in range(groups):
                O[j] += w * dead[j]
                O_E[j] += w * (dead[j] - Fraction(d * risk[j], n))
                for k in range(groups) if n > 1 else ():
                    share = Fraction(risk[j], n) * ((j == k) - Fraction(risk[k], n))
                    V[j, k] += w**2 * d * Fraction(n - d, n - 1) * share
    return O_E, V, O


def _power(number: Fraction, exponent: float) -> Fraction:
    if exponent == int(exponent):
        return number ** int(exponent)
    return root(number) if number else Fraction(0)


KINDS: dict[str, Callable[[Case], None]] = {
    "kaplan_meier": kaplan_meier,
    "nelson_aalen": nelson_aalen,
    "log_rank": log_rank,
}
