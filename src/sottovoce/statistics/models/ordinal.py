"""Ordinal regression with proportional odds: ``P(y <= j) = F(cut_j - x'beta)`` (McCullagh 1980), levels in their order.

With ``a = cut_y - x'beta`` and ``b = cut_{y-1} - x'beta`` a row adds ``log(F(a) - F(b))``. It is concave in ``(a, b)``
for the logistic and the normal distribution, and so in the parameters: Newton's method climbs with the observed
information, as long as the cuts stay in order. A step that would disorder them is told by a low objective, and halved.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import InvalidInput, NotConverged
from ..agreements import Agreements
from ..likelihood.columns import Columns, agreed_columns
from ..likelihood.maximise import Sums, maximise, packed
from ..statistic import Statistic
from .level_model import LevelModel
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

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters: slopes, and cuts between levels."""
        cuts = (f"{low}/{high}" for low, high in zip(self.levels, self.levels[1:], strict=False))
        return (*self.selection.slopes, *cuts)

    def program(self, agreements: Agreements, rows: Sequence[Rows]) -> OrdinalFit:
        slopes = self.selection.slopes
        d, cuts = len(slopes), len(self.levels) - 1
        try:
            counts = self.agreed_levels(agreements, rows)
            N = int(counts.sum())
            columns, _ = agreed_columns(agreements, rows, N, self.mask, slopes, self.unit[:d], intercept=True)
            parts = [self._sums(part, own) for part, own in zip(rows, columns, strict=True)]
            start = np.append(np.zeros(d), LINKS[self.link].quantile(np.cumsum(counts)[:-1] / N))
            ended = maximise(
                agreements, parts, np.tile(start, (len(rows), 1)), self.names, self.mask, N,
                infinite=f": columns separate levels of {self.response!r}. Drop one, or merge levels.",
            )  # fmt: skip
        except NotConverged:
            return OrdinalFit(*agreements.made)
        # cut - x'beta = (cut - centre'beta) - z'(deviation beta) for standardised columns z
        back = np.eye(d + cuts)
        back[:d, :d] = np.diag(1 / columns[0].deviation)
        back[d:, :d] = columns[0].centre / columns[0].deviation
        return OrdinalFit(*agreements.made, link=self.link, **self.found(counts, ended, back))

    def _sums(self, rows: Rows, columns: Columns) -> Sums:
        """Objective, score and information of one party's rows, in one pass."""
        d, cuts, place = len(columns.names), len(self.levels) - 1, self.place
        between, k = LINKS[self.link].between, d + cuts

        def sums(theta: Array) -> Array:
            beta, inner = theta[:d], theta[d:]
            if not (np.diff(inner) > 0).all():  # lower than at the start, where no row is below -log(levels) on average
                return packed(-(np.log(cuts + 1) + 1) * len(rows), np.zeros(k), np.zeros((k, k)))
            bounds = np.concatenate([[-np.inf], inner, [np.inf]])

            def sides(block: Array) -> tuple[Array, Array]:
                ones_and_z = columns.matrix(block)
                z, y = ones_and_z[:, 1:], block[:, place].astype(np.int64)
                eta = rows.linear(z, beta)
                at = between(bounds[y + 1] - eta, bounds[y] - eta)
                over, under = (
                    y[:, None] == np.arange(cuts) + shift for shift in (0, 1)
                )  # a row's cut above, and below
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
                return np.column_stack(left), ones_and_z

            found = rows.products(sides)
            value, slope, of_z, of_cut, mixed, diagonal, beside = np.split(
                found, np.cumsum([1, 1, d, cuts, cuts, cuts]), axis=0
            )
            information = np.zeros((k, k))
            information[:d, :d] = (of_z[:, 1:] + of_z[:, 1:].T) / 2
            information[d:, :d], information[:d, d:] = mixed[:, 1:], mixed[:, 1:].T
            off = beside[:-1, 0]
            information[d:, d:] = np.diag(diagonal[:, 0]) + np.diag(off, 1) + np.diag(off, -1)
            return packed(float(value[0, 0]), np.append(slope[0, 1:], of_cut[:, 0]), information)

        return sums
