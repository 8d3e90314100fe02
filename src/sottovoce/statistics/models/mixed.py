"""A linear model in which parties differ: ``y = x'beta + u_party + e`` (Laird and Ware 1982), by maximum likelihood or
restricted maximum likelihood (REML).

Of its rows a party needs their number, means and products about the means, for every ratio ``tau^2 / sigma^2`` of the
variances of ``u`` and ``e``: two passes. What the parties agree on at one ratio is in ``ratio_point``, and how they
find the best in ``variance_ratio``.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...data.rows import Rows
from ...data.selection import ModelColumns
from ...errors import InvalidInput, Undetermined
from ...numerics.fixed_order import product
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis
from ..likelihood.columns import Columns, columns_of, own_products, products_of, square
from ..new_rows import schema_text
from ..statistic import Statistic
from .level_model import check_enough, model_columns
from .mixed_fit import MixedFit
from .ratio_point import Party, Point, Task
from .variance_ratio import STAGES, best_ratio, numbers

METHODS = ("reml", "ml")


@dataclass(frozen=True, eq=False, kw_only=True)
class Mixed(Analysis):
    """The linear model with a random intercept by party that a formula describes, by ``method``."""

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
        own = [unless_beyond(lambda part=part: own_products(part, range(d + 1), units)) for part in rows]  # type: ignore[misc]
        sent = [None if part is None else np.concatenate([[part[0], int(part[0] > 0)], part[1:]]) for part in own]
        of = "rows, parties that have any, and products of columns"
        total = agreements.sum(sent, of=of, counts=1, size=1 + products_of(d + 1))
        N, holders = int(total[0]), int(total[1])
        self._refuse_sizes(N, holders)
        gram = square(np.concatenate([total[:1], total[2:]]), d + 2)
        scales = Scales.of(gram, self.selection.slopes, units, intercept=self.selection.intercept)
        check_enough(N, len(scales.columns) + 1)
        if not scales.deviation:
            raise Undetermined(f"the response {self._response!r} is constant over the rows of all parties.")
        held = [scales.party(square(part, d + 2)) for part in own if part is not None]
        task = Task(agreements, held, N, holders, scales.columns.terms, self._response, self.method == "reml")
        best, pooled = best_ratio(task)
        columns, unit = scales.columns, scales.deviation
        params = unit * product(columns.back, best.beta)
        if self.selection.intercept:
            params[0] += scales.centre
        scale = float(best.rss / task.df * unit**2)
        # What log-likelihoods in units of deviations lack: |dy|^df, and of REML the determinant of the units of x.
        lacks = float(task.df * np.log(unit) + (np.log(columns.deviation).sum() if task.reml else 0.0))
        return MixedFit(
            *agreements.made,
            terms=columns.terms,
            params=params,
            covariance=scale * columns.covariance(best.inverse),
            nobs=N,
            aliased=columns.aliased,
            response=self._response,
            formula=self.formula,
            schema=schema_text(self.schema, self.selection.needs),
            method=self.method,
            groups=holders,
            tau2=best.theta * scale,
            scale=scale,
            llf=_constants(best, task.df) - lacks,
            llf_pooled=_constants(pooled, task.df) - lacks,
        )

    def _refuse_sizes(self, N: int, holders: int) -> None:
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
        return 1 + products_of(len(self.selection.slopes) + 1) + numbers(len(self._terms))

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return len(self._terms) + 2


@dataclass(frozen=True, eq=False)
class Scales:
    """The columns of the design, standardised, and ``centre`` and ``deviation`` of the response, from totals."""

    columns: Columns
    units: tuple[Fraction, ...]
    centre: float
    deviation: float

    @classmethod
    def of(cls, gram: Whole, names: Sequence[str], units: Sequence[Fraction], *, intercept: bool) -> Scales:
        """``gram``: exact products of ``(1, x, y)``."""
        d, n = len(names), int(gram[0, 0])
        columns = columns_of(gram[: d + 1, : d + 1], names, units, intercept=intercept)
        total, squares, unit = int(gram[0, d + 1]), int(gram[d + 1, d + 1]), units[d]
        variance = unit**2 * Fraction(n * squares - total * total * intercept, n * n)
        centre = float(unit * Fraction(total, n)) if intercept else 0.0
        return cls(columns, tuple(units), centre, float(np.sqrt(float(variance))))

    def party(self, gram: Whole) -> Party:
        """Means and products about them of ``(1, x, y)`` of a party's rows, in units of deviations, rounded once."""
        n, intercept = int(gram[0, 0]), self.columns.intercept
        places = [*self.columns.places, len(gram) - 2]
        k = len(places) + intercept
        mean, within = np.zeros(k), np.zeros((k, k))
        if not n:
            return Party(0, mean, within)
        mean[:intercept] = 1.0
        centres = [*map(Fraction, self.columns.centre.tolist()), Fraction(self.centre)]
        deviations = [*map(Fraction, self.columns.deviation.tolist()), Fraction(self.deviation)]
        for a, j in enumerate(places):
            row = a + intercept
            mean[row] = float((self.units[j] * Fraction(int(gram[0, j + 1]), n) - centres[a]) / deviations[a])
            for b, k in enumerate(places[: a + 1]):
                moment = Fraction(n * int(gram[j + 1, k + 1]) - int(gram[0, j + 1]) * int(gram[0, k + 1]), n)
                value = float(moment * self.units[j] * self.units[k] / (deviations[a] * deviations[b]))
                within[row, b + intercept] = within[b + intercept, row] = value
        return Party(n, mean, within)


def _constants(point: Point, df: int) -> float:
    """The log-likelihood with its constants, of the profile ``-(df log(rss) + log det V [+ log det X'V^-1X]) / 2``."""
    return float(point.profile - df / 2 * (np.log(2 * np.pi / df) + 1))
