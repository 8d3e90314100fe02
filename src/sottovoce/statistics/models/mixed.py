"""A linear model in which parties differ: ``y = x'beta + u_party + e`` (Laird and Ware 1982), by maximum likelihood or
restricted maximum likelihood (REML).

Of its rows a party needs their number, sums and products, for every ratio ``theta`` of the variances of ``u`` and
``e``: one pass. A party of ``n`` rows ``t = (x, y)``, whose sums are ``k`` and whose sums of products are ``K``, has

    T' V^-1 T = K - theta/(1 + n theta) k k',   log det V = log(1 + n theta),   c = n / (1 + n theta)

With ``sigma^2 = rss / df`` and ``df = N``, or ``N - p`` for REML, the profile likelihood is

    l(theta) = -(df log(rss) + sum log(1 + n theta) [+ log det A]) / 2,   A = X' V^-1 X

and with the mean residual ``r`` of a party and the means ``x`` of its columns its slope in ``log theta`` is half of
``theta (sum s - sum c)``, and the expected information there half of ``theta^2 sum c^2``, where

    s = c^2 (r^2 df / rss [+ x' A^-1 x])

At one ratio the parties add up ``T' V^-1 T``, ``log det V``, ``c`` and ``c^2``, solve for ``beta``, and then add up
``s``, which is one number. Each is a fraction, which a party rounds to a multiple of 2^-160, with columns counted in
powers of two about their root mean squares. ``T' V^-1 T`` is ``N`` at most in these units, and ``s`` and ``c^2`` are
``N^2``: with 2^39 rows there is room for 2^16 parties. Where columns, or the response, hang so much on others that
2^-100 of their squares is left, 18 digits of that remain.

There may be several maxima where parties are of very different sizes. So the parties first look at a public grid of
ratios, by four numbers each: the intercept is the best there, and the slopes are those of all rows alike, or those
within parties. They climb from about the highest maximum above 0: by the expected information at first, and then by the
secant of the last two slopes. Ratios are powers of two, or ``stretched`` from others by ``+ - * /``, and likelihoods
are whole numbers: all parties go the same way. Everything is exact from the totals on, and rounded to float64 once, at
the end.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput, Undetermined, Unsupported
from ...numerics.exact_algebra import nearest
from ...numerics.exact_sweeps import WORK, Rational, sweeps_of
from ...numerics.logarithm import logarithm
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis
from ..fit import Fit
from ..likelihood.columns import columns_of, half, own_products, products_of, square
from ..new_rows import linear_prediction, schema_text
from ..statistic import Statistic, Value
from . import special
from .levels import check_enough, model_columns

METHODS = ("reml", "ml")
GRID = 160
ONE = 1 << GRID
NOTHING = 90  # bits: what is less of the squares of the response is rounding of what it was computed from
HARDLY_ANY = 13  # bits: what 1/N is more than the first ratio above 0 that is looked at
LARGEST = 30  # bits: of the last
MOST = HARDLY_ANY + 40 + LARGEST + 2  # ratios, 0 among them, with 2^40 rows
LOOKS = 3  # at most, besides the first
STEPS = 40  # of the climb, at most
STRIDE = 2.0  # in log theta, at most
WITHIN = 16.0  # a ratio at which slopes are about those within parties, however few rows they have
OCTAVE = 0.7  # in log theta, from one ratio to the next
CLOSE = 2.0**-44  # of a step and the one before, multiplied: about the error that the secant leaves
NONE = 2.0**-20  # of 1/N, a ratio that counts as 0
ENDLESS = 2.0**60  # a ratio that is infinite: nothing is left within parties
VISITS = LOOKS + STEPS
STAGES = 2 * VISITS
SAY = "what residuals say of the ratio of variances"
LOOK = f"{SAY}; and weights, residuals and their squares, and log det V, on a public grid of ratios"


@dataclass(frozen=True, eq=False, repr=False)
class MixedFit(Fit):
    """What ``Study.mixed`` returns, besides the fields of ``Fit``: ``y = x'params + u_party + e``. Errors of ``params``
    are those of generalised least squares at the variances that were found.

    Attributes
    ----------
    response : str
        The column that is explained.
    formula, schema : str
        What was asked, and the columns that it reads as JSON: so much a prediction needs.
    method : str
        ``"reml"`` or ``"ml"``.
    groups : int
        Parties that have rows.
    tau2 : float
        The variance of ``u``, between parties; 0 where the likelihood is highest at this end of its range.
    scale : float
        The variance of ``e``, within parties.
    llf : float
        The log-likelihood, for ``"reml"`` the restricted one.
    llf_pooled : float
        The same without variance between parties.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> schema = {"age": {"type": "number", "range": (0, 100)}, "score": {"type": "number", "range": (0, 100)}}
    >>> rng = np.random.default_rng(1)
    >>> ages = [rng.uniform(20, 90, n) for n in (40, 25, 60)]
    >>> scores = [20 + 0.3 * age + 5 * k + rng.normal(size=len(age)) for k, age in enumerate(ages)]
    >>> tables = [{"age": age, "score": score} for age, score in zip(ages, scores)]
    >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).mixed("score ~ age")
    >>> fit.terms, fit.groups, 0.9 < fit.icc < 1
    (('Intercept', 'age'), 3, True)
    """

    response: Value[str] = Value()
    formula: Value[str] = Value()
    schema: Value[str] = Value()
    method: Value[str] = Value()
    groups: Value[int] = Value()
    tau2: Value[float] = Value()
    scale: Value[float] = Value()
    llf: Value[float] = Value()
    llf_pooled: Value[float] = Value()

    title: ClassVar[str] = "Linear mixed model, a random intercept by party"

    @property
    def icc(self) -> float:
        """The share of the variance that lies between parties: the correlation of two rows of one party."""
        return self.tau2 / (self.tau2 + self.scale)

    @property
    def at_boundary(self) -> bool:
        """Whether no variance between parties was found."""
        return self.tau2 == 0.0

    @property
    def llr(self) -> float:
        """The likelihood ratio statistic of a variance between parties."""
        return max(0.0, 2 * (self.llf - self.llf_pooled))

    @property
    def llr_pvalue(self) -> float:
        """The p-value of that statistic: as 0 is an end of the range of a variance, half of that of a chi-squared
        distribution with one degree of freedom (Self and Liang 1987)."""
        return float(special.chdtrc(1, self.llr)) / 2 if self.llr else 1.0

    @property
    def aic(self) -> float:
        """Akaike's criterion, ``2 k - 2 llf``, with two variances in ``k``; of maximum likelihood alone."""
        self._need_ml("AIC")
        return 2 * (len(self.params) + 2) - 2 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz's criterion, ``k log(nobs) - 2 llf``; of maximum likelihood alone."""
        self._need_ml("BIC")
        return float((len(self.params) + 2) * np.log(self.nobs) - 2 * self.llf)

    def _need_ml(self, what: str) -> None:
        if self.method != "ml":
            raise Unsupported(
                f'{what} compares models by likelihoods, and that of method="reml" depends on the columns. Use "ml".'
            )

    def predict(self, table: Any) -> Array:
        """``x'params`` in new rows, as at a party of which nothing is known: of a table with the columns that the
        formula reads, in any form that a party's table may have."""
        return linear_prediction(self.formula, self.schema, self.terms, self.params, table)

    def _head(self) -> list[tuple[str, str]]:
        boundary = ", the end of its range" if self.at_boundary else ""
        return [
            ("Dep. Variable", self.response), ("Method", self.method.upper()), *super()._head(),
            ("Parties with rows", f"{self.groups}"), ("Between parties", f"{self.tau2:.5g}{boundary}"),
            ("Within (scale)", f"{self.scale:.5g}"), ("ICC", f"{self.icc:.4g}"),
            ("Log-Likelihood", f"{self.llf:.5g}"), ("Without parties", f"{self.llf_pooled:.5g}"),
        ]  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Mixed(Analysis):
    """The linear model with a random intercept by party that a formula describes; see ``Study.mixed``."""

    formula: str
    method: str = "reml"

    type: ClassVar[str] = "mixed"
    gives: ClassVar[builtins.type[Statistic]] = MixedFit

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {self.method!r}.")
        column = self.schema.get(self._response)
        if column is not None and column.type == "category":
            raise InvalidInput(f"formula: a mixed model explains a number; {self._response!r} is a category.")

    @property
    def takes_fewer_digits(self) -> bool:
        return False

    @cached_property
    def selection(self) -> ModelColumns:
        return model_columns(self.schema, self.formula, "a mixed model")

    @property
    def _response(self) -> str:
        return self.selection.design.response[0]

    @property
    def _terms(self) -> tuple[str, ...]:
        return ("Intercept",) * self.selection.intercept + self.selection.slopes

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> MixedFit:
        units, d = agreements.units(rows, self.units), len(self.selection.slopes)
        own = [unless_beyond(own_products, part, range(d + 1), units) for part in rows]
        sent = [None if part is None else np.concatenate([[part[0], int(part[0] > 0)], part[1:]]) for part in own]
        of = "rows, parties that have any, and products of columns"
        total = agreements.sum(sent, of=of, counts=1, size=1 + products_of(d + 1))
        N, holders = int(total[0]), int(total[1])
        _refuse_sizes(N, holders)
        gram = square(np.concatenate([total[:1], total[2:]]), d + 2)
        columns = columns_of(gram, self.selection.slopes, units, intercept=self.selection.intercept)
        check_enough(N, len(columns) + 1)
        taken = [*([0] if columns.intercept else []), *(place + 1 for place in columns.places), d + 1]
        powers = tuple((int(gram[k, k]) // N).bit_length() // 2 if k else 0 for k in taken)
        grams = [square(part, d + 2) for part in own if part is not None]
        parties = [PartySums(int(part[0, 0]), part[0, taken], part[np.ix_(taken, taken)]) for part in grams]
        task = Task(agreements, parties, powers, N, columns.terms, self._response, self.method == "reml")
        pooled = _pooled(task, gram[np.ix_(taken, taken)])
        best = best_ratio(task, pooled)
        sizes = [Fraction(2) ** power * (units[k - 1] if k else 1) for k, power in zip(taken, powers, strict=True)]
        x, y = np.array(sizes[:-1], object), sizes[-1]
        scale = best.rss * y**2 / task.df
        return MixedFit(
            *agreements.made, terms=columns.terms, params=nearest(best.beta * y / x),
            covariance=nearest(best.inverse * scale / np.multiply.outer(x, x)), nobs=N, aliased=columns.aliased,
            response=self._response, formula=self.formula, schema=schema_text(self.schema, self.selection.needs),
            method=self.method, groups=holders, tau2=float(Fraction(best.theta) * scale), scale=float(scale),
            llf=_likelihood(best, task, sizes), llf_pooled=_likelihood(pooled, task, sizes),
        )  # fmt: skip

    @property
    def revealed(self) -> list[str]:
        columns = ", ".join((*self.selection.slopes, self._response))
        return [
            "the number of rows, and the parties that have any",
            f"values and products, pair by pair, of {columns}",
            f"X'V^-1X, X'V^-1y, y'V^-1y and log det V of {len(self._terms)} terms, at every ratio of the variances "
            "between and within parties that is tried: together they may tell the number of rows and the means of each "
            "party, though not whose they are",
            "what the residuals say of that ratio, there and on a public grid",
        ]

    @property
    def stages(self) -> int:
        return 1 + STAGES

    @property
    def numbers(self) -> int:
        return 1 + products_of(len(self.selection.slopes) + 1) + numbers_at_ratios(len(self._terms))

    @property
    def parameters(self) -> int:
        return len(self._terms) + 2


def _pooled(task: Task, products: Whole) -> RatioPoint:
    """The point without variance between parties, of exact products."""
    powers = np.array(task.powers, object)
    whole = products * (1 << GRID - np.add.outer(powers, powers))
    point = task.point(0.0, whole, 0, Fraction(task.observations), Fraction(0))
    if point is None:
        raise Undetermined(
            f"nothing is left of {task.response!r} beside the columns: it is constant, or made of them. There are "
            "no variances to tell apart."
        )
    return point


def _refuse_sizes(N: int, holders: int) -> None:
    """Rows that cannot tell variances."""
    if holders < 2:
        raise Undetermined(
            f"{holders} of the parties have rows: a variance between parties needs two or more. Ask for a linear "
            "model instead."
        )
    if holders == N:
        raise Undetermined(
            "no party has two rows: the variance between parties cannot be told from that within them. Ask for a "
            "linear model instead."
        )


def _likelihood(point: RatioPoint, task: Task, sizes: Sequence[Fraction]) -> float:
    """The log-likelihood with its constants, of the profile ``-(df log(rss) + log det V [+ log det A]) / 2``."""
    *x, y = (logarithm(size, GRID) for size in sizes)
    height = point.height - 2 * task.df * y - 2 * task.reml * sum(x)
    return float(Fraction(height, 2 << GRID)) - task.df / 2 * (math.log(2 * math.pi / task.df) + 1)


@dataclass(frozen=True, eq=False)
class PartySums:
    """What the likelihood needs of a party's rows: their number, sums ``k`` and sums of products ``K``, in units of the
    columns."""

    n: int
    sums: Whole
    products: Whole

    def weight(self, theta: Fraction) -> Fraction:
        """``c``, the information on the party's mean."""
        return self.n / (1 + self.n * theta)


@dataclass(frozen=True, eq=False)
class RatioPoint:
    """What is known of a ratio. Columns, and the response, are counted in powers of two of their units."""

    theta: float
    beta: Rational
    inverse: Rational  # of A
    rss: Fraction
    height: int  # twice the profile likelihood, in multiples of 2^-GRID
    weight: Fraction  # sum c
    squares: Fraction  # sum c^2


@dataclass(frozen=True, eq=False)
class Task:
    """The local parties at work: ``parties`` are their rows, of ``observations`` in all. ``powers``: of each column, by
    which power of two it is counted."""

    agreements: Agreements
    parties: Sequence[PartySums]
    powers: tuple[int, ...]
    observations: int
    names: tuple[str, ...]
    response: str
    reml: bool

    @property
    def df(self) -> int:
        """``N``, or ``N - p``."""
        return self.observations - len(self.names) * self.reml

    @property
    def intercept(self) -> bool:
        """Whether there is one; it is the first term."""
        return self.names[:1] == ("Intercept",)

    def point(
        self, theta: float, products: Whole, log_det: int, weight: Fraction, squares: Fraction
    ) -> RatioPoint | None:
        """The point of ``T'V^-1T`` in multiples of ``2^-GRID``; None where nothing is left of the response."""
        p, smallest = len(self.names), products[-1, -1] >> NOTHING
        sweeps = sweeps_of(products, WORK)
        sweeps.move(range(p))
        left = sweeps.values([p], [p])[0, 0]
        if left <= smallest:
            return None
        rss, inverse = Fraction(left) / ONE, -sweeps.values(range(p), range(p)) * ONE
        height = -self.df * logarithm(rss, GRID) - log_det
        if self.reml:
            height -= logarithm(Fraction(_determinant(products[:p, :p]), ONE**p), GRID)
        return RatioPoint(theta, sweeps.values(range(p), [p])[:, 0], inverse, rss, height, weight, squares)


def numbers_at_ratios(p: int) -> int:
    """How many numbers travel for ``p`` terms, at most: at every ratio that is visited, and at the grid."""
    return VISITS * (products_of(p) + 4) + (1 + LOOKS) * (2 + 4 * MOST)


def grid(observations: int) -> list[Fraction]:
    """Public ratios: 0, and powers of two from hardly any variance between parties to hardly any within."""
    lowest = -HARDLY_ANY - observations.bit_length()
    return [Fraction(0), *(Fraction(2) ** power for power in range(lowest, LARGEST + 1))]


def best_ratio(task: Task, pooled: RatioPoint) -> RatioPoint:
    """The maximum. ``pooled``: the point without variance between parties."""
    slope, heights, inside = _first_look(task, pooled)
    _, others = _look(task, inside)
    heights = [max(pair) for pair in zip(heights, others, strict=True)]
    # Determinants of slopes are not in these: the restricted likelihood may rise from 0 all the same, to about 1/N.
    at = _maximum(heights) or (HARDLY_ANY + 2) * (slope > 0)
    if not at:
        return pooled
    for _ in range(LOOKS - 1):
        point = visit(task, _about(task, heights, at))
        slope, heights = _look(task, point)
        before, at = at, _maximum(heights) or at
        if abs(at - before) <= 1:
            break
    top = _climb(task, point, slope)
    return top if top is not None and top.height > pooled.height else pooled


def _maximum(heights: list[int]) -> int:
    """The place of the highest maximum on the grid above 0, for slopes as they are; 0 where there is none."""
    inner = [k for k in range(1, len(heights)) if heights[k - 1] < heights[k] and heights[k] >= max(heights[k:][:2])]
    return max(inner, key=lambda place: heights[place], default=0)


def _about(task: Task, heights: list[int], at: int) -> float:
    """The ratio at which a parabola through the heights at a place and beside it is highest."""
    theta = float(grid(task.observations)[at])
    if not 1 < at < len(heights) - 1:
        return theta
    left, middle, right = heights[at - 1 : at + 2]
    bend = 2 * middle - left - right
    return stretched(theta, float(Fraction(right - left, 2 * bend)) * OCTAVE) if bend > 0 else theta


def _first_look(task: Task, pooled: RatioPoint) -> tuple[float, list[int], RatioPoint]:
    """At the grid with the slopes of all rows alike, and the point of those within parties, in one agreement."""
    terms, more = _look_terms(task, pooled), terms_at(task, WITHIN)
    of = f"{LOOK}; and X'V^-1X, X'V^-1y and y'V^-1y within parties"
    total = task.agreements.sum([[*a, *b] for a, b in zip(terms, more, strict=True)], of=of, iterate=True)
    split = len(total) - len(more[0])
    return *_read_look(task, pooled, total[:split]), point_of(task, WITHIN, total[split:])


def _look(task: Task, point: RatioPoint) -> tuple[float, list[int]]:
    """The slope at a point, in ``log theta`` or at 0 in ``theta``, and likelihoods on the grid for its slopes."""
    return _read_look(task, point, task.agreements.sum(_look_terms(task, point), of=LOOK, iterate=True))


def _look_terms(task: Task, point: RatioPoint) -> list[list[int]]:
    ratios, v, e = grid(task.observations), contrast(task, point), GRID + max(task.powers)
    pulled = zip(task.parties, pulls(task, point), strict=True)
    return [[pull, *_of_grid(party, ratios, v, e)] for party, pull in pulled]


def _read_look(task: Task, point: RatioPoint, sums: Whole) -> tuple[float, list[int]]:
    total = sums.tolist()
    heights, inside = [], total[1]
    for c, cr, crr, log_det in zip(*(total[k::4] for k in range(2, 6)), strict=True):
        rss = inside + crr - (Fraction(cr * cr, c) if task.intercept else 0)
        height = -task.df * logarithm(max(Fraction(rss), Fraction(1)) / ONE, GRID) - log_det
        heights.append(height - (logarithm(Fraction(c, ONE), GRID) if task.reml and task.intercept else 0))
    return _slope(point, total[0]), heights


def _of_grid(party: PartySums, ratios: list[Fraction], v: Whole, e: int) -> list[int]:
    """Squares of a party's residuals about their mean; and at each ratio ``c``, ``cr``, ``cr^2`` and ``log det V``."""
    if not party.n:
        return [0] * (1 + 4 * len(ratios))
    r = Fraction(int(v @ party.sums), party.n << e)
    terms = [on_grid(Fraction(int(v @ party.products @ v), 1 << 2 * e) - party.n * r * r)]
    for theta in ratios:
        c = party.weight(theta)
        terms += [on_grid(c), on_grid(c * r), on_grid(c * r * r), logarithm(1 + party.n * theta, GRID)]
    return terms


def _slope(point: RatioPoint, pull: int) -> float:
    return float((Fraction(point.theta) or 2) * (Fraction(pull, ONE) - point.weight) / 2)


def _climb(task: Task, good: RatioPoint, slope: float) -> RatioPoint | None:
    """Uphill in ``log theta`` from a point; None where that leads to 0."""
    step, last = min(max(slope / _information(good), -STRIDE), STRIDE), STRIDE
    for _ in range(STEPS):
        is_last, theta = abs(step * last) <= CLOSE, stretched(good.theta, step)
        if theta * task.observations < NONE:
            return None
        point = visit(task, theta, is_last=is_last)
        if is_last:
            return point
        if point.height < good.height:
            step /= 2
            continue
        pull = task.agreements.sum([[pull] for pull in pulls(task, point)], of=SAY, iterate=True)
        before, slope, last = slope, _slope(point, int(pull[0])), step
        bend = (before - slope) / step
        good, step = point, slope / bend if bend > 0 else math.copysign(2 * step, slope)
        step = min(max(step, -STRIDE), STRIDE)
    raise Undetermined(
        f"the likelihood has no maximum after {STEPS} steps in the ratio of the variances of {task.response!r} between "
        "and within parties. Drop columns that tell little."
    )


def _information(point: RatioPoint) -> float:
    """Expected, in ``log theta``."""
    return float(Fraction(point.theta) ** 2 * point.squares / 2)


def stretched(theta: float, step: float) -> float:
    """About ``theta exp(step)`` for small steps, by ``+ - * /`` alone (the approximation of Pade)."""
    return theta * ((12.0 + step * (6.0 + step)) / (12.0 - step * (6.0 - step)))


def visit(task: Task, theta: float, *, is_last: bool = False) -> RatioPoint:
    """The point at a ratio. ``is_last``: it is the answer."""
    if theta > ENDLESS:
        raise _nothing_within(task)
    of = f"X'V^-1X, X'V^-1y and y'V^-1y of {len(task.names)} terms, and log det V"
    return point_of(task, theta, task.agreements.sum(terms_at(task, theta), of=of, iterate=not is_last))


def terms_at(task: Task, theta: float) -> list[list[int]]:
    """Terms that the local parties add to the point at a ratio."""
    at, terms = Fraction(theta), []
    for party in task.parties:
        c = party.weight(at)
        counted = [logarithm(1 + party.n * at, GRID), on_grid(c), on_grid(c * c)]
        terms.append([*half(_weighted(party, at, task.powers)), *counted])
    return terms


def point_of(task: Task, theta: float, total: Whole) -> RatioPoint:
    """The point, from the totals; refused where nothing is left of the response."""
    log_det, weight, squares = total[-3:].tolist()
    products = square(total[:-3], len(task.powers))
    point = task.point(theta, products, log_det, Fraction(weight, ONE), Fraction(squares, ONE))
    if point is None:
        raise _nothing_within(task)
    return point


def _nothing_within(task: Task) -> Undetermined:
    return Undetermined(
        f"within the parties nothing is left of {task.response!r} beside the columns: it is constant there, or made of "
        "them. There are no variances to tell apart."
    )


def pulls(task: Task, point: RatioPoint) -> list[int]:
    """``s`` of the local parties, on the grid."""
    theta, e = Fraction(point.theta), max(task.powers)
    v, per = contrast(task, point), Fraction(on_grid(task.df / point.rss), ONE)
    inverse = np.array([[on_grid(entry) for entry in row] for row in point.inverse], object)
    terms = []
    for party in task.parties:
        if not party.n:
            terms.append(0)
            continue
        residual = Fraction(int(v @ party.sums), party.n << GRID + e)
        s = residual**2 * per
        if task.reml:
            x = shifted(party.sums[:-1], [e - power for power in task.powers[:-1]])
            s += Fraction(int(x @ inverse @ x), party.n**2 << GRID + 2 * e)
        terms.append(on_grid(party.weight(theta) ** 2 * s))
    return terms


def contrast(task: Task, point: RatioPoint) -> Whole:
    """``(-beta, 1)``, whose product with a row is its residual, in multiples of ``2^-(GRID + e)`` for the largest power
    ``e`` of a column."""
    e = max(task.powers)
    steps = np.array([*(-on_grid(entry) for entry in point.beta), ONE], object)
    return shifted(steps, [e - power for power in task.powers])


def on_grid(number: Fraction | int) -> int:
    """The nearest multiple of ``2^-GRID``."""
    return round(number * ONE)


def shifted(values: Whole, powers: Sequence[int]) -> Whole:
    """Each times its power of two."""
    return np.array([int(value) << power for value, power in zip(values, powers, strict=True)], object)


def _weighted(party: PartySums, theta: Fraction, powers: tuple[int, ...]) -> Whole:
    """``T'V^-1T`` of a party, on the grid."""
    a, b = theta.numerator, theta.denominator
    below = b + party.n * a
    above = party.products * below - np.multiply.outer(party.sums, party.sums) * a
    steps = GRID - np.add.outer(np.array(powers, object), np.array(powers, object))
    return np.asarray((above * (2 << steps) + below) // (2 * below))


def _determinant(A: Whole) -> int:
    """The determinant of positive definite integers, by divisions that leave no remainder (Bareiss 1968)."""
    M, before = A.copy(), 1
    for k in range(len(M) - 1):
        column, pivot = M[k + 1 :, k].copy(), M[k, k]
        M[k + 1 :, k + 1 :] = (pivot * M[k + 1 :, k + 1 :] - np.multiply.outer(column, column)) // before
        before = pivot
    return int(M[-1, -1])
