"""Means, variances, covariances and histograms, against sums of fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np

from .case import Case
from .exactly import Exact, fractions
from .worlds import World, rows_of

# Sums are exact and rounded once: half of a unit in the last place, 1.1e-16.
ONCE = 1.2e-16


def columns_of(case: Case, count: int, *, ranged: bool = False) -> tuple[World, list[str]]:
    """So many columns, one of them a boolean at times, two nearly one."""
    world = World(case.rng, rows_of(case.rng))
    names = []
    for k in range(count):
        if names and case.rng.random() < 0.2:
            world.number(f"x{k}", like=names[0], near=float(case.rng.choice([1e-9, 1e-6, 1e-3])), ranged=ranged)
        else:
            world.number(f"x{k}", ranged=ranged)
        names.append(f"x{k}")
    if not ranged and case.rng.random() < 0.2:
        world.boolean("b", case.rng.random(world.n) < 0.3)
        names.append("b")
    return world, names


def covariance_of(x: Exact, y: Exact, ddof: int) -> Fraction:
    """Of two columns."""
    n = len(x)
    return Fraction(((x - x.sum() / n) * (y - y.sum() / n)).sum()) / (n - ddof)


def mean(case: Case) -> None:
    """Of one column by its name, or of several."""
    world, names = columns_of(case, int(case.rng.integers(1, 4)))
    dealt = world.study()
    rows = dealt.rows(*names)
    if found := case.ask(lambda: dealt.study.mean(names), answers=len(rows) > 0):
        case.equal("observations", found.observations, len(rows))
        case.same("mean", found.mean, [fractions(rows[name]).sum() / len(rows) for name in names], ONCE)


def variance(case: Case) -> None:
    """Of one column, or of several, with one row less or none."""
    world, names = columns_of(case, int(case.rng.integers(1, 4)))
    dealt, ddof = world.study(), int(case.rng.integers(2))
    rows = dealt.rows(*names)
    if found := case.ask(lambda: dealt.study.variance(names, ddof=ddof), answers=len(rows) > ddof):
        columns = [fractions(rows[name]) for name in names]
        case.same("variance", found.variance, [covariance_of(x, x, ddof) for x in columns], ONCE)


def covariance(case: Case) -> None:
    """Of two columns or more."""
    world, names = columns_of(case, int(case.rng.integers(2, 5)))
    dealt, ddof = world.study(), int(case.rng.integers(2))
    rows = dealt.rows(*names)
    if found := case.ask(lambda: dealt.study.covariance(names, ddof=ddof), answers=len(rows) > ddof):
        columns = [fractions(rows[name]) for name in names]
        expected = np.array([[covariance_of(x, y, ddof) for y in columns] for x in columns], object)
        case.same("covariance", found.covariance, expected, ONCE)


def histogram(case: Case) -> None:
    """Counts between edges that values may lie on; or of levels."""
    rng = case.rng
    world = World(rng, rows_of(rng))
    if rng.random() < 0.3:
        world.category("g")
        dealt = world.study()
        rows = dealt.rows("g")
        if found := case.ask(lambda: dealt.study.histogram("g"), answers=True):
            levels = dealt.study.schema["g"].levels
            case.equal("counts", found.counts, [int((rows["g"] == level).sum()) for level in levels])
        return
    values = world.number("x", ranged=True)
    dealt = world.study()
    rows = dealt.rows("x")
    bins: int | list[float] | None = None if rng.random() < 0.3 else int(rng.integers(1, 30))
    if rng.random() < 0.5:  # some of the values are edges
        found_edges = np.unique([*rng.choice(values, 4), values.min() + 0.3 * values.std(), values.max() + 1e-3])
        bins = found_edges.tolist() if len(found_edges) > 1 else bins
    if found := case.ask(lambda: dealt.study.histogram("x", bins), answers=True):
        edges = found.edges.tolist()
        if isinstance(bins, list):
            case.equal("edges", edges, bins)
        else:
            low, high = world.schema["x"]["range"]
            count = 10 if bins is None else bins
            even = [Fraction(low) + (Fraction(high) - Fraction(low)) * k / count for k in range(count + 1)]
            case.same(
                "edges", edges, even, 4 * ONCE, max(abs(low), abs(high))
            )  # computed by linspace, not rounded once
        x = rows["x"].astype(float).tolist()
        last = len(edges) - 2
        inside = [sum(a <= v < b or (k == last and v == b) for v in x) for k, (a, b) in enumerate(pairwise(edges))]
        case.equal("counts", found.counts, inside)
        case.equal("beyond", [found.below, found.above], [sum(v < edges[0] for v in x), sum(v > edges[-1] for v in x)])


KINDS: dict[str, Callable[[Case], None]] = {
    "mean": mean,
    "variance": variance,
    "covariance": covariance,
    "histogram": histogram,
}
