"""Ordinal regression with proportional odds: ``P(y <= j) = F(cut_j - x'beta)`` (McCullagh 1980), levels in their order.

With ``a = cut_y - x'beta`` and ``b = cut_{y-1} - x'beta`` a row adds ``log(F(a) - F(b))``. It is concave in ``(a, b)``
for the logistic and the normal distribution, and so in the parameters: Newton's method climbs with the observed
information, as long as the cuts stay in order. A step that would disorder them is told by a low objective, and halved.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...errors import InvalidInput
from ...sums import Beyond, Whole, on_grid
from ..agreements import Agreements
from ..fewer_digits import Index, climb_digits
from ..likelihood.columns import Columns, half, square
from ..likelihood.fixed_point import values
from ..likelihood.maximise import Sums, maximise
from ..new_rows import linear_prediction
from ..statistic import Statistic, Value
from . import special
from .levels import LevelFit, LevelModel, factor_bits

TINY = 1e-300  # a probability below is as good as none


class LogDifference(NamedTuple):
    """``log(F(a) - F(b))``: its value, its slopes in ``a`` and ``b``, and the negatives of its second derivatives."""

    value: Array
    a: Array
    b: Array
    aa: Array
    ab: Array
    bb: Array


class OrdinalLink(NamedTuple):
    """A distribution function ``F``, its inverse, and ``log(F(a) - F(b))`` for ``a > b``, of which one may be infinite,
    without loss of digits in the tails."""

    distribution: Callable[[Array], Array]
    quantile: Callable[[Array], Array]
    between: Callable[[Array, Array], LogDifference]


def _derivatives(value: Array, up: Array, down: Array, bend_up: Array, bend_down: Array) -> LogDifference:
    """From ``up = f(a)/p``, ``down = f(b)/p``, ``bend_up = f'(a)/p`` and ``bend_down = f'(b)/p``."""
    return LogDifference(value, up, -down, up * up - bend_up, -up * down, down * down + bend_down)


def _softplus(t: Array) -> Array:
    return np.logaddexp(0.0, t)


def _logistic(t: Array) -> Array:
    return np.exp(-_softplus(-t))


def _between_logistic(a: Array, b: Array) -> LogDifference:
    """``F(a) - F(b) = F(a) F(-b) (1 - exp(b - a))``, and ``f = F (1 - F)``."""
    gap = -np.expm1(b - a)
    up = np.exp(_softplus(b) - _softplus(a)) / gap
    down = np.exp(_softplus(-a) - _softplus(-b)) / gap
    value = np.log(gap) - _softplus(-a) - _softplus(b)
    return _derivatives(value, up, down, up * (1 - 2 * _logistic(a)), down * (1 - 2 * _logistic(b)))


def _normal(t: Array) -> Array:
    return np.asarray(special.ndtr(t))


def _between_normal(a: Array, b: Array) -> LogDifference:
    """In the tail where the difference keeps its digits; ``f'(t) = -t f(t)``."""
    upper = a + b > 0
    p = np.maximum(_normal(np.where(upper, -b, a)) - _normal(np.where(upper, -a, b)), TINY)
    up, down = (np.exp(-t * t / 2) / np.sqrt(2 * np.pi) / p for t in (a, b))
    end_a, end_b = (np.where(np.isinf(t), 0.0, t) for t in (a, b))
    return _derivatives(np.log(p), up, down, -end_a * up, -end_b * down)


LINKS = {
    "logit": OrdinalLink(_logistic, lambda share: np.log(share / (1 - share)), _between_logistic),
    "probit": OrdinalLink(_normal, lambda share: np.asarray(special.ndtri(share)), _between_normal),
}


@dataclass(frozen=True, eq=False, repr=False)
class OrdinalFit(LevelFit):
    """What ``Study.ordinal`` returns, besides those of ``LevelFit``: ``P(y <= level_j) = F(cut_j - x'slopes)``. Terms
    are the columns of the design, and the cuts between levels, called ``"low/high"``.

    Attributes
    ----------
    link : str
        ``"logit"`` or ``"probit"``.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> levels = ["low", "medium", "high"]
    >>> schema = {"age": {"type": "number", "range": (0, 100)}, "pain": {"type": "category", "levels": levels}}
    >>> rng = np.random.default_rng(1)
    >>> tables = [{"age": rng.uniform(20, 90, n), "pain": rng.choice(levels, n)} for n in (40, 25, 60)]
    >>> fit = sv.Study(sv.Network.ring(3), tables, schema=schema).ordinal("pain ~ age")
    >>> fit.terms, bool(np.diff(fit.cuts)[0] > 0)
    (('age', 'low/medium', 'medium/high'), True)
    """

    link: Value[str] = Value()

    title: ClassVar[str] = "Ordinal regression"

    @property
    def ratio(self) -> str | None:  # type: ignore[override]  # what exp of an estimate is depends on the link
        """Of a slope the ratio of the odds of a higher level, for the logit; of a cut the odds of a level at or below
        it, where all columns are 0."""
        return "odds ratio" if self.link == "logit" else None

    @property
    def slopes(self) -> Array:
        """The estimates of the columns."""
        return self.params[: len(self.params) - len(self.levels) + 1]

    @property
    def cuts(self) -> Array:
        """The thresholds between levels, increasing."""
        return self.params[len(self.params) - len(self.levels) + 1 :]

    @property
    def _slopes(self) -> list[int]:
        return list(range(len(self.slopes)))

    def predict(self, table: Any) -> Array:
        """The probability of every level in new rows, ``(rows, levels)``: of a table with the columns that the formula
        reads, in any form that a party's table may have."""
        eta = linear_prediction(self.formula, self.schema, self.terms[: len(self.slopes)], self.slopes, table)
        below = LINKS[self.link].distribution(self.cuts - eta[:, None])
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    def _head(self) -> list[tuple[str, str]]:
        response, *others = super()._head()
        return [response, ("Link", self.link), *others]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ordinal(LevelModel):
    """The ordinal regression that a formula describes; see ``Study.ordinal``."""

    link: str = "logit"

    type: ClassVar[str] = "ordinal"
    what: ClassVar[str] = "an ordinal model"
    gives: ClassVar[builtins.type[Statistic]] = OrdinalFit

    def __post_init__(self) -> None:
        if self.link not in LINKS:
            raise InvalidInput(f"link must be one of {', '.join(LINKS)}; got {self.link!r}.")
        if not self.selection.intercept:
            raise InvalidInput("formula: the cuts of an ordinal model stand for an intercept. Leave 0 or -1 out.")
        _ = self.levels  # refused now, if it has none

    @property
    def levels(self) -> tuple[str, ...]:
        """As they are ordered."""
        return self.in_order

    def terms_of(self, columns: Columns) -> tuple[str, ...]:
        """Slopes, and cuts between levels."""
        cuts = (f"{low}/{high}" for low, high in zip(self.levels, self.levels[1:], strict=False))
        return (*columns.names, *cuts)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> OrdinalFit:
        counts, columns = self.first_totals(agreements, rows)
        N, d, cuts = int(counts.sum()), len(columns.names), len(self.levels) - 1
        bits, indices = factor_bits(N), self._indices(d)
        below = np.cumsum(counts)[:-1]
        # Of a slope as a logistic regression on the middle has it, and of a cut as that of its two sides.
        first = np.append(np.full(d, N / 4), np.maximum(below * (1 - below / N), 1.0))
        named = np.eye(d + cuts)
        named[:d, :d] = columns.unmixed.T[1:, 1:]
        of = [2 * bits + (len(index) == 2 and max(index) < d) for index in indices]  # of two slopes twice
        ended = maximise(
            agreements, [self._sums(part, columns, bits) for part in rows],
            np.append(np.zeros(d), LINKS[self.link].quantile(below / N)), self.terms_of(columns),
            lambda total, theta: self._read(total, d, 2 * bits), size=len(indices),
            digits=climb_digits(agreements, indices, of, N, first), named=named,
            infinite=f": columns separate levels of {self.response!r}. Drop one, or merge levels.",
        )  # fmt: skip
        # cut - x'beta = (cut - centre'beta) - z'(deviation beta) for standardised columns z
        back = np.eye(d + cuts)
        back[:d, :d] = columns.back[1:, 1:]
        back[d:, :d] = -columns.back[0, 1:]
        return OrdinalFit(*agreements.made, link=self.link, **self.fields_of(counts, ended, columns, back))

    def _indices(self, d: int) -> list[Index]:
        """Of which parameters each sum is, see ``climb_steps``: the slopes of ``d`` columns, and cuts."""
        cuts = range(d, d + len(self.levels) - 1)
        mixed = [(cut, j) for cut in cuts for j in range(d)]
        diagonal, beside = [(cut, cut) for cut in cuts], [(cut, cut + 1) for cut in cuts[:-1]]
        alone = [(i,) for i in (*range(d), *cuts)]
        return [(), *alone, *combinations_with_replacement(range(d), 2), *mixed, *diagonal, *beside]

    def _sums(self, rows: Rows, columns: Columns, bits: int) -> Sums:
        """Objective, score and information of one party's rows, in one pass."""
        d, cuts, place = len(columns.names), len(self.levels) - 1, self.place
        between = LINKS[self.link].between

        def sums(theta: Array) -> Whole:
            beta, inner = theta[:d], theta[d:]
            if not (np.diff(inner) > 0).all():
                raise Beyond("cuts out of order have no likelihood.")  # all parties see it: the step is halved
            bounds = np.concatenate([[-np.inf], inner, [np.inf]])

            def sides(block: Array) -> tuple[Int64, Int64]:
                ones_and_z = columns.matrix(block)
                z, y = ones_and_z[:, 1:], block[:, place].astype(np.int64)
                eta = rows.linear(z, beta)
                at = between(bounds[y + 1] - eta, bounds[y] - eta)
                over, under = (y[:, None] == np.arange(cuts) + shift for shift in (0, 1))  # its cut above, and below
                of_a, of_b = at.aa + at.ab, at.ab + at.bb
                left = [
                    at.value[:, None],
                    -(at.a + at.b)[:, None],
                    (of_a + of_b)[:, None] * z,
                    over * at.a[:, None] + under * at.b[:, None],
                    -(over * of_a[:, None] + under * of_b[:, None]),
                    over * at.aa[:, None] + under * at.bb[:, None],
                    under * at.ab[:, None],  # of the cuts below and above a row
                ]
                return on_grid(np.column_stack(left), bits), on_grid(ones_and_z, bits)

            value, slope, of_z, of_cut, mixed, diagonal, beside = np.split(
                rows.grams(sides), np.cumsum([1, 1, d, cuts, cuts, cuts]), axis=0
            )
            of_slopes = half(of_z[:, 1:] + of_z[:, 1:].T)
            rest = (mixed[:, 1:].ravel(), diagonal[:, 0], beside[:-1, 0])
            return np.concatenate([value[0, :1], slope[0, 1:], of_cut[:, 0], of_slopes, *rest])

        return sums

    def _read(self, total: Whole, d: int, bits: int) -> tuple[float, Array, Array]:
        """Objective, score and information."""
        cuts = len(self.levels) - 1
        parts = np.split(total, np.cumsum([1, d + cuts, d * (d + 1) // 2, cuts * d, cuts]))
        value, score, slopes, mixed, diagonal, beside = parts
        information = np.zeros((d + cuts, d + cuts))
        information[:d, :d] = values(square(slopes, d), bits + 1)
        information[d:, :d] = values(mixed, bits).reshape(cuts, d)
        information[:d, d:] = information[d:, :d].T
        off = values(beside, bits)
        information[d:, d:] = np.diag(values(diagonal, bits)) + np.diag(off, 1) + np.diag(off, -1)
        return float(values(value, bits)[0]), values(score, bits), information
