"""Strata, studies and scores: sums of fractions, and scikit-learn and statsmodels where they have as many digits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.contingency_tables import StratifiedTable

from .case import Case
from .columns import ONCE
from .exactly import fractions, logarithm, root
from .worlds import Dealt, World, rows_of

FEW = 8 * ONCE
THEIRS = 1e-11  # sums of float64
Cells = tuple[int, int, int, int]


def fourfold(case: Case) -> tuple[Dealt, list[Cells], str]:
    """Exposure and outcome at parties whose risks differ, rare or common, and the tables of the parties."""
    rng = case.rng
    world = World(rng, rows_of(rng, 300))
    exposed = rng.random(world.n) < rng.choice([0.05, 0.5])
    risk = float(rng.choice([0.03, 0.3, 0.8]))
    world.boolean("out", rng.random(world.n) < np.where(exposed, min(0.97, 1.5 * risk), risk))
    if rng.random() < 0.4:
        world.columns["exp"] = np.where(exposed, "yes", "no").astype(object)
        reference = {"reference": "no"}
        world.schema["exp"] = {"type": "category", "levels": ["yes", "no"], **reference}
        yes: Any = "yes"
    else:
        world.boolean("exp", exposed)
        yes = True
    dealt = world.study()
    rows = dealt.rows("exp", "out")
    e, o, party = (rows["exp"] == yes).to_numpy(), rows["out"].to_numpy().astype(bool), rows["party"].to_numpy()
    tables = []
    for k in range(dealt.parties):
        own = party == k
        cells = [(e & o), (e & ~o), (~e & o), (~e & ~o)]
        tables.append(tuple(int((own & cell).sum()) for cell in cells))
    return dealt, tables, "exp"  # type: ignore[return-value]


def mantel_haenszel(case: Case) -> None:
    """Common ratios, their errors, and the test."""
    dealt, tables, _ = fourfold(case)
    strata = sum(min(a + b, c + d, a + c, b + d) > 0 for a, b, c, d in tables)
    found = case.ask(lambda: dealt.study.mantel_haenszel("exp", "out"), answers=strata > 0)
    if found is None:
        return
    case.equal("counts", found.counts.ravel(), np.sum(tables, axis=0))
    case.equal("strata", found.strata, strata)
    R = S = PR = PS = QS = above = below = spread = excess = variance = Fraction(0)
    for a, b, c, d in tables:
        T = a + b + c + d
        if T < 2:
            continue
        r, s, p, q = (Fraction(x, T) for x in (a * d, b * c, a + d, b + c))
        R, S, PR, PS, QS = R + r, S + s, PR + p * r, PS + p * s + q * r, QS + q * s
        above, below = above + Fraction(a * (c + d), T), below + Fraction(c * (a + b), T)
        spread += Fraction((a + b) * (c + d) * (a + c) - a * c * T, T**2)
        excess += a - Fraction((a + b) * (a + c), T)
        variance += Fraction((a + b) * (c + d) * (a + c) * (b + d), T**2 * (T - 1))
    case.same("odds_ratio", found.odds_ratio, R / S if S else (math.inf if R else math.nan), FEW)
    case.same("risk_ratio", found.risk_ratio, above / below if below else (math.inf if above else math.nan), FEW)
    error = root(PR / R**2 / 2 + PS / (R * S) / 2 + QS / S**2 / 2) if R * S else math.nan
    case.same("log_odds_ratio_se", found.log_odds_ratio_se, error, FEW)
    error = root(spread / (above * below)) if above * below else math.nan
    case.same("log_risk_ratio_se", found.log_risk_ratio_se, error, FEW)
    if variance:
        case.same("chi2", found.chi2, excess**2 / variance, FEW, max(excess**2 / variance, Fraction(1, 10**20)))
        chi2 = float((abs(excess) - Fraction(1, 2)) ** 2 / variance)
        case.same("chi2_corrected", found.chi2_corrected, chi2, 100 * FEW, max(chi2, 1e-3))
        case.pvalue(
            "pvalue", found.pvalue, stats.chi2.sf(float(excess**2 / variance), 1), abs(float(excess)) + 1, 1e-12
        )
    if R * S and all(min(table) > 0 for table in tables if sum(table)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = StratifiedTable([np.reshape(table, (2, 2)) for table in tables if sum(table)])
        case.same("odds ratio by statsmodels", found.odds_ratio, theirs.oddsratio_pooled, THEIRS)
        case.same("its error by statsmodels", found.log_odds_ratio_se, theirs.logodds_pooled_se, THEIRS)


def _estimates_of_tables(effect: str, tables: Sequence[Cells], continuity: Fraction) -> list[tuple[Fraction, Fraction]]:
    found = []
    for cells in tables:
        if not cells[0] + cells[1] or not cells[2] + cells[3] or (0 in cells and not continuity):
            continue
        a, b, c, d = (Fraction(cell) + (continuity if 0 in cells else 0) for cell in cells)
        if effect == "log_odds_ratio":
            found.append((logarithm(a * d / (b * c)), 1 / a + 1 / b + 1 / c + 1 / d))
        elif effect == "log_risk_ratio":
            found.append((logarithm(a / (a + b) / (c / (c + d))), b / (a * (a + b)) + d / (c * (c + d))))
        else:
            found.append((a / (a + b) - c / (c + d), a * b / (a + b) ** 3 + c * d / (c + d) ** 3))
    return found


def _estimate_of_means(samples: Sequence[Any]) -> tuple[Fraction, Fraction] | None:
    means, variance = [], Fraction(0)
    for values in samples:
        x = fractions(values)
        if len(x) < 2:
            return None
        means.append(Fraction(x.sum()) / len(x))
        variance += Fraction(((x - means[-1]) ** 2).sum()) / (len(x) - 1) / len(x)
    return (means[0] - means[1] if len(means) == 2 else means[0], variance) if variance else None


def meta_analysis(case: Case) -> None:
    """Fixed and random effects, of tables and of means."""
    rng = case.rng
    effect = str(rng.choice(["mean", "mean_difference", "log_odds_ratio", "log_risk_ratio", "risk_difference"]))
    if effect.startswith("mean"):
        world = World(rng, rows_of(rng))
        world.number("x")
        world.category("g", 2, empty=False)
        dealt = world.study()
        by = ["g"] if effect == "mean_difference" else []
        rows = dealt.rows("x", *by)
        own = [rows[rows["party"] == k] for k in range(dealt.parties)]
        levels = dealt.study.schema["g"].levels if by else ()
        samples = [
            [p["x"][p["g"] == level].astype(float) for level in levels] if by else [p["x"].astype(float)] for p in own
        ]
        estimates = [pair for sample in samples if (pair := _estimate_of_means(sample))]
        options: dict[str, Any] = {"column": "x"} | ({"by": "g", "levels": tuple(levels)} if by else {})
    else:
        dealt, tables, _ = fourfold(case)
        continuity = Fraction(str(rng.choice(["0.5", "0.5", "0", "0.25"])))
        estimates = _estimates_of_tables(effect, tables, continuity)
        options = {"exposure": "exp", "outcome": "out", "continuity": float(continuity)}
    # Beyond 2^35 of its errors an estimate has no place in the sums, nor has a weight of 2^60 times the typical one.
    far = any(abs(y) > 2**35 * root(v) for y, v in estimates)
    rules = ["of sizes too different"] if far or _weights_apart(estimates) else []
    found = case.ask(lambda: dealt.study.meta_analysis(effect, **options), answers=bool(estimates), rules=rules)
    if found is None:
        return
    k, w = len(estimates), [1 / v for _, v in estimates]
    y = [value for value, _ in estimates]
    weight = sum(w)
    fixed = sum(a * b for a, b in zip(w, y, strict=True)) / weight
    q = sum(a * (b - fixed) ** 2 for a, b in zip(w, y, strict=True))
    C = weight - sum(a * a for a in w) / weight
    tau2 = max(Fraction(0), (q - (k - 1)) / C) if C else Fraction(0)
    star = [1 / (v + tau2) for _, v in estimates]
    random = sum(a * b for a, b in zip(star, y, strict=True)) / sum(star)
    case.equal("studies", found.studies, k)
    # Weights and estimates lie on a grid of 2^-56 of a typical one and of its error: so much of an error, and of q.
    error, errors = root(1 / weight), root(1 / sum(star))
    typical = root(Fraction(k) / weight)
    grid = 1e-15
    case.same("fixed", found.fixed, fixed, grid, abs(fixed) + typical)
    case.same("fixed_se", found.fixed_se, error, grid)
    largest = max((abs(value) / root(v) for value, v in estimates), default=Fraction(0))
    case.same("q", found.q, q, grid, q + largest + k)
    size = (q + largest + k) / C if C else Fraction(1)
    case.same("tau2", found.tau2, tau2, 4 * grid, size)
    if abs(q - (k - 1)) > Fraction(1, 10**9):  # where chance decides between the models
        close = 4 * grid * (1 + float(size / (tau2 + typical**2)))
        case.same("random", found.random, random, max(close, grid), abs(random) + errors + root(tau2))
        case.same("random_se", found.random_se, errors, max(close, grid))


def _weights_apart(estimates: Sequence[tuple[Fraction, Fraction]]) -> bool:
    if not estimates:
        return False
    logs = [math.log2(1 / float(v)) if float(v) else math.inf for _, v in estimates]
    return max(logs) - sum(logs) / len(logs) > 58


def scored(case: Case) -> tuple[Dealt, pd.DataFrame, int, tuple[float, float]]:
    """Scores that lie on edges at times, of an outcome that is rare at times."""
    rng = case.rng
    world = World(rng, rows_of(rng, 300))
    digits = int(rng.choice([1, 2, 8]))
    p = np.round(rng.beta(*rng.choice([[2, 3], [0.3, 0.3], [1, 30]]), world.n), digits)
    world.boolean("out", rng.random(world.n) < np.clip(p * rng.choice([0.3, 1.0]), 0, 1))
    world.add("p", p, digits=12)
    world.schema["p"] = {"type": "number", "range": (0, 1), "unit": "1e-12"}
    dealt = world.study()
    return dealt, dealt.rows("out", "p"), int(rng.choice([2, 5, 10, 33])), (0.0, 1.0)


def _places(p: Any, bins: int) -> Any:
    """A bin has its upper edge, the first both; edges are the float64 next to ``k / bins``."""
    edges = [k / bins for k in range(1, bins)]
    return np.array([sum(value > edge for edge in edges) for value in p], int)


def roc(case: Case) -> None:
    """The curve of scores in bins."""
    dealt, rows, bins, _ = scored(case)
    y, p = rows["out"].to_numpy().astype(bool), rows["p"].astype(float).to_numpy()
    found = case.ask(lambda: dealt.study.roc("out", "p", bins=bins), answers=bool(y.any() and not y.all()))
    if found is None:
        return
    place = _places(p, bins)
    case.equal("positives", found.positives, np.bincount(place[y], minlength=bins))
    case.equal("negatives", found.negatives, np.bincount(place[~y], minlength=bins))
    case.same("auc", found.auc, roc_auc_score(y, place), 1e-13)
    low, high = found.bounds
    auc = roc_auc_score(y, p)
    case.equal("bounds hold the area of scores", bool(low - 1e-12 <= auc <= high + 1e-12), True)
    order = (place[y][:, None] > place[~y]) + 0.5 * (place[y][:, None] == place[~y])
    if min(order.shape) > 1:
        of_y, of_n = order.mean(axis=1), order.mean(axis=0)
        error = math.sqrt(of_y.var(ddof=1) / len(of_y) + of_n.var(ddof=1) / len(of_n))
        case.same("auc_se", found.auc_se, error, 1e-12, max(error, 1e-3))
    case.same("tpr", found.tpr[1:], [(place[y] >= k).mean() for k in reversed(range(bins))], FEW)
    case.same("fpr", found.fpr[1:], [(place[~y] >= k).mean() for k in reversed(range(bins))], FEW)


def calibration(case: Case) -> None:
    """Predicted against observed shares, by bins."""
    dealt, rows, bins, _ = scored(case)
    fitted = bool(case.rng.random() < 0.5)
    y, p = rows["out"].to_numpy().astype(bool), rows["p"].astype(float).to_numpy()
    answers = bool(y.any() and not y.all())
    found = case.ask(lambda: dealt.study.calibration("out", "p", bins=bins, fitted=fitted), answers=answers)
    if found is None:
        return
    place, x = _places(p, bins), fractions(p)
    n = np.bincount(place, minlength=bins)
    case.equal("n", found.n, n)
    case.equal("events", found.events, np.bincount(place[y], minlength=bins))
    sums = [Fraction(x[place == k].sum()) for k in range(bins)]
    case.same("predicted", found.predicted, [s / int(c) if c else math.nan for s, c in zip(sums, n, strict=True)], ONCE)
    brier = Fraction(((x - y.astype(int)) ** 2).sum()) / len(x)
    case.same("brier", found.brier, brier, ONCE)
    case.same("brier by scikit-learn", found.brier, brier_score_loss(y, p), 1e-13, 1.0)
    statistic: Fraction | float = Fraction(0)
    size = 1.0
    for k in range(bins):
        apart = int(y[place == k].sum()) - sums[k]
        if apart:
            variance = sums[k] * (1 - sums[k] / int(n[k]))
            statistic = statistic + apart**2 / variance if variance else math.inf
            # an ulp of expected events, and of one less the mean score
            expected, rest = float(sums[k]), float(1 - sums[k] / int(n[k]))
            size += float(abs(apart) / variance) * (expected + float(abs(apart)) / rest) if variance else 0.0
    case.same("hosmer_lemeshow", found.hosmer_lemeshow, statistic, FEW, size + float(statistic))
    df = int((n > 0).sum()) - 2 * fitted
    case.equal("df", found.df, df)


KINDS: dict[str, Callable[[Case], None]] = {
    "mantel_haenszel": mantel_haenszel,
    "meta_analysis": meta_analysis,
    "roc": roc,
    "calibration": calibration,
}
