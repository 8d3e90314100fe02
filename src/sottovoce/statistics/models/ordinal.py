"""Ordinal regression with proportional odds: ``P(y <= j) = F(cut_j - x'beta)`` (McCullagh 1980), levels in their order.

With ``a = cut_y - x'beta`` and ``b = cut_{y-1} - x'beta`` a row adds ``log(F(a) - F(b))``. It is concave in ``(a, b)``
for the logistic and the normal distribution, and so in the parameters: Newton's method climbs with the observed
information, as long as the cuts stay in order. A step that would disorder them is told by a low objective, and halved.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...errors import InvalidInput
from ...pdmm.modular_mask import Integers
from ...sums import Beyond, Whole, on_grid
from ..agreements import Agreements
from ..fewer_digits import ClimbDigits, Index, climb_digits
from ..likelihood.columns import Columns, half, square
from ..likelihood.maximise import Sums, maximise
from ..statistic import Statistic
from .level_model import LevelModel, as_floats, factor_bits
from .ordinal_fit import OrdinalFit
from .ordinal_links import LINKS


@dataclass(frozen=True, eq=False, kw_only=True)
class Ordinal(LevelModel):
    """The ordinal regression that a formula describes; its response is a category, whose levels are in the order of the
    schema. ``link``: ``"logit"`` or ``"probit"``."""

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
        totals, columns = self.first_totals(agreements, rows)
        counts, d, cuts = totals.astype(np.int64), len(columns.names), len(self.levels) - 1
        N = int(counts.sum())
        bits = factor_bits(N)
        start = np.append(np.zeros(d), LINKS[self.link].quantile(np.cumsum(counts)[:-1] / N))
        named = np.eye(d + cuts)
        named[:d, :d] = columns.unmixed.T[1:, 1:]
        ended = maximise(
            agreements, [self._sums(part, columns, bits) for part in rows], start, self.terms_of(columns),
            lambda total, theta: self._read(total, d, 2 * bits), size=self._size(d),
            digits=self._digits(agreements, counts, d, 2 * bits), named=named,
            infinite=f": columns separate levels of {self.response!r}. Drop one, or merge levels.",
        )  # fmt: skip
        # cut - x'beta = (cut - centre'beta) - z'(deviation beta) for standardised columns z
        back = np.eye(d + cuts)
        back[:d, :d] = columns.back[1:, 1:]
        back[d:, :d] = -columns.back[0, 1:]
        return OrdinalFit(*agreements.made, link=self.link, **self.fields_of(counts, ended, columns, back))

    def _size(self, d: int) -> int:
        """How many integers are summed."""
        cuts = len(self.levels) - 1
        return 1 + d + cuts + d * (d + 1) // 2 + cuts * d + cuts + cuts - 1

    def _digits(self, agreements: Agreements, counts: Integers, d: int, bits: int) -> ClimbDigits | None:
        """How finely they are told."""
        cuts = range(d, d + len(self.levels) - 1)
        indices: list[Index] = [(), *((i,) for i in range(d + len(cuts)))]
        slopes: list[Index] = list(combinations_with_replacement(range(d), 2))
        rest = [*((cut, j) for cut in cuts for j in range(d)), *((cut, cut) for cut in cuts)]
        beside = [(cut, cut + 1) for cut in cuts[:-1]]
        of = [bits] * len(indices) + [bits + 1] * len(slopes) + [bits] * (len(rest) + len(beside))
        N = counts.sum()
        below = np.cumsum(counts)[:-1]
        # Of a slope as a logistic regression on the middle has it, and of a cut as that of its two sides.
        first = np.append(np.full(d, N / 4), np.maximum(below * (1 - below / N), 1.0))
        return climb_digits(agreements, [*indices, *slopes, *rest, *beside], of, int(N), first)

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
        information[:d, :d] = as_floats(square(slopes, d), bits + 1)
        information[d:, :d] = as_floats(mixed, bits).reshape(cuts, d)
        information[:d, d:] = information[d:, :d].T
        off = as_floats(beside, bits)
        information[d:, d:] = np.diag(as_floats(diagonal, bits)) + np.diag(off, 1) + np.diag(off, -1)
        return float(as_floats(value, bits)[0]), as_floats(score, bits), information
