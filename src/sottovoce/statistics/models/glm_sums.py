"""What one party sums up over its rows for a generalised linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ..likelihood.columns import Columns
from ..likelihood.maximise import packed
from .glm_model import GLMModel

TINY = 1e-200  # of a row's information: its root divides


@dataclass(eq=False)
class Part:
    """The rows of one party, in units that are the same at all parties: responses ``(y - centre) / level``, weights
    ``w / weight``.

    Attributes
    ----------
    chi2, deviance : float
        The sum of squared Pearson residuals, and the deviance, where sums were last asked for.
    first : float
        The deviance where they were first asked for.
    """

    rows: Rows
    model: GLMModel
    columns: Columns
    centre: float
    level: float
    weight: float
    chi2: float = field(default=math.nan, init=False)
    deviance: float = field(default=math.nan, init=False)
    first: float = field(default=math.nan, init=False)

    @property
    def shift(self) -> float:
        """In the linear predictor, so that a logarithmic one has the parameters of the responses as they are."""
        return -math.log(self.level) if self.model.link.name == "log" else 0.0

    @property
    def factor(self) -> float:
        """Of parameters in units of the data."""
        return self.level ** (self.model.link.power or 0)

    @property
    def measure(self) -> float:
        """Of deviances, residuals and the dispersion in units of the data."""
        power = self.model.family.power
        return self.weight * (1.0 if power is None else self.level ** (2 - power))

    @property
    def penalty(self) -> Array:
        """Of every parameter, what half of its square is multiplied by in the objective: 0 for an intercept."""
        slopes = self.model.ridge / self.weight / self.columns.deviation**2
        return np.append(np.zeros(int(self.columns.intercept)), slopes)

    def offset(self, offset: Array | float) -> Array:
        """In the linear predictor of these units."""
        return np.asarray(offset / self.factor + self.shift)

    def y(self, block: Array) -> Array:
        """Responses."""
        return (self.model.y(block) - self.centre) / self.level

    def w(self, block: Array) -> Array:
        """Weights."""
        return self.model.w(block) / self.weight

    def __call__(self, theta: Array) -> Array:
        """Half of the negative deviance, score and information: for ``maximise``. All are products of columns ``c x``,
        ``s r / c``, ``r`` and ``sqrt d``, so that one pass makes them; ``c^2`` is a row's part of the information, the
        observed one where that is never negative."""
        k, family, link = len(theta), self.model.family, self.model.link

        def sides(block: Array) -> tuple[Array, Array]:
            A = self.columns.matrix(block, spare=3)
            eta, y, root = self._eta(block, self.rows.linear(A[:, :k], theta)), self.y(block), np.sqrt(self.w(block))
            c, r, d = family.pieces(link, eta, y)
            A[:, k : k + 3] = (root * np.stack([r, r, np.sqrt(d)])).T
            if self.model.by_newton:
                s, c = c, np.sqrt(np.maximum(family.curvature(link, eta, y), TINY))
                A[:, k] *= s / c
            A[:, :k] *= (root * c)[:, None]
            return A, A

        found = self.rows.products(sides)
        self.chi2, self.deviance = float(found[k + 1, k + 1]), float(found[k + 2, k + 2])
        self.first = self.deviance if math.isnan(self.first) else self.first
        return packed(-self.deviance / 2, found[:k, k], found[:k, :k])

    def alone(self) -> Part:
        """The same with an intercept and nothing else."""
        columns = Columns((), True, np.zeros(0), np.zeros(0), np.zeros(0, bool))
        return Part(self.rows, self.model, columns, self.centre, self.level, self.weight)

    def squares(self) -> tuple[Array, Array]:
        """``X'X`` and ``X'1`` of the standardised columns."""
        k = len(self.columns)

        def sides(block: Array) -> tuple[Array, Array]:
            A = self.columns.matrix(block, spare=1)
            A[:, k] = 1.0
            return A, A

        found = self.rows.products(sides)
        return found[:k, :k], found[:k, k]

    def of_null(self, eta: float) -> float:
        """The deviance of an intercept alone; where the climb starts there it is known."""
        if self.model.intercept and not self.model.moved:
            return self.first

        def terms(block: Array) -> Array:
            return (self.w(block) * self._pieces(block, np.full(len(block), eta))[2])[:, None]

        return float(self.rows.sums(terms)[0])

    def saturated(self, scale: float) -> float:
        """The log-likelihood of a perfect fit, in units of the data."""
        model = self.model
        if model.binary and model.weights is None:
            return 0.0  # outcomes 0 and 1 are certain there

        def terms(block: Array) -> Array:
            return model.family.saturated(model.y(block), model.w(block), scale)[:, None]

        return float(self.rows.sums(terms)[0])

    def scores(self, theta: Array) -> Array:
        """``sum u^2 x x'`` for the scores ``u x`` of the rows: what stands in the middle of the sandwich."""

        def sides(block: Array) -> tuple[Array, Array]:
            Z = self.columns.matrix(block)
            s, r, _ = self._pieces(block, self.rows.linear(Z, theta))
            Z *= (self.w(block) * s * r)[:, None]
            return Z, Z

        return self.rows.products(sides)

    def expected(self, theta: Array) -> Array:
        """The expected information."""

        def sides(block: Array) -> tuple[Array, Array]:
            Z = self.columns.matrix(block)
            Z *= (np.sqrt(self.w(block)) * self._pieces(block, self.rows.linear(Z, theta))[0])[:, None]
            return Z, Z

        return self.rows.products(sides)

    def observed(self, theta: Array) -> Array:
        """The observed information."""
        family, link = self.model.family, self.model.link

        def sides(block: Array) -> tuple[Array, Array]:
            Z = self.columns.matrix(block)
            eta = self._eta(block, self.rows.linear(Z, theta))
            return Z * (self.w(block) * family.curvature(link, eta, self.y(block)))[:, None], Z

        return self.rows.products(sides)

    def _pieces(self, block: Array, linear: Array) -> tuple[Array, Array, Array]:
        return self.model.family.pieces(self.model.link, self._eta(block, linear), self.y(block))

    def _eta(self, block: Array, linear: Array) -> Array:
        return linear + self.offset(self.model.o(block)) if self.model.moved else linear + self.shift
