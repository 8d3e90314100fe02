"""A linear model in which parties differ: ``y = x'beta + u_party + e`` (Laird and Ware 1982), by maximum likelihood or
restricted maximum likelihood (REML).

Of its rows a party needs their number, sums and products, for every ratio ``tau^2 / sigma^2`` of the variances of ``u``
and ``e``: one pass. Everything is exact from the totals on, and rounded to float64 once, at the end.
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
from ...numerics.logarithm import logarithm
from ...sums import Whole
from ..agreements import Agreements, unless_beyond
from ..analysis import Analysis
from ..fit import Fit
from ..likelihood.columns import columns_of, own_products, products_of, square
from ..new_rows import linear_prediction, schema_text
from ..statistic import Statistic, Value
from . import special
from .levels import check_enough, model_columns
from .variance_ratio import GRID, STAGES, Party, Point, Task, best_ratio, numbers

METHODS = ("reml", "ml")


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
        """Of that statistic: as 0 is an end of the range of a variance, half of that of a chi-squared distribution with
        one degree of freedom (Self and Liang 1987)."""
        return float(special.chdtrc(1, self.llr)) / 2 if self.llr else 1.0

    @property
    def aic(self) -> float:
        """Akaike's criterion, ``2 k - 2 llf``, with two variances in ``k``; of maximum likelihood alone."""
        self._need_ml("AIC")
        return 2 * (len(self.params) + 2) - 2 * self.llf

    @property
    def bic(self) -> float:
        """That of Schwarz, ``k log(nobs) - 2 llf``; of maximum likelihood alone."""
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
        parties = [Party(int(part[0, 0]), part[0, taken], part[np.ix_(taken, taken)]) for part in grams]
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
        return 1 + products_of(len(self.selection.slopes) + 1) + numbers(len(self._terms))

    @property
    def counts(self) -> int:
        return 0

    @property
    def parameters(self) -> int:
        return len(self._terms) + 2


def _pooled(task: Task, products: Whole) -> Point:
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


def _likelihood(point: Point, task: Task, sizes: Sequence[Fraction]) -> float:
    """The log-likelihood with its constants, of the profile ``-(df log(rss) + log det V [+ log det A]) / 2``."""
    *x, y = (logarithm(size, GRID) for size in sizes)
    height = point.height - 2 * task.df * y - 2 * task.reml * sum(x)
    return float(Fraction(height, 2 << GRID)) - task.df / 2 * (math.log(2 * math.pi / task.df) + 1)
