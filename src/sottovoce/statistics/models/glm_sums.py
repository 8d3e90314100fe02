"""What one party sums up over its rows for a generalised linear model, and how everybody reads the totals.

With ``z`` the standardised columns, ``C = sqrt(w s^2) z``, ``u = w s r``, and ``D = sqrt|w c| z`` for the curvature
``c``, all rounded to public grids, one pass over the rows makes the products

    C'C  (information)    D' sign(c) D  (observed information)    z'u  (score)    1'(w d), 1'(w r^2)

of whole numbers. The first has no negative eigenvalue, however it was rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...numerics import fixed_order
from ...numerics.symmetric import symmetric
from ...sums import Whole, on_grid
from ..agreements import Agreements
from ..fewer_digits import ClimbDigits, Index, climb_digits
from ..likelihood.columns import half
from ..likelihood.fixed_point import LOW, join, pair, value, values
from .families import Pieces
from .glm_model import GLMModel, Known

FARTHEST = 2.0**61  # what a squared residual counts as that is too large to be added up
OBSERVED = 0.1  # of the expected information, what the observed one must have for a step of Newton's method


def climb_size(model: GLMModel, k: int) -> int:
    """How many integers a party sums up at every point, of ``k`` parameters."""
    return 3 + k + model.kinds * k * (k + 1) // 2 + model.moved * (1 + model.kinds)


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one party."""

    rows: Rows
    known: Known

    def __call__(self, theta: Array) -> Whole:
        """Integers at some parameters: for ``maximise``."""
        known, k, both = self.known, len(self.known.columns), self.known.model.kinds > 1

        def sides(block: Array) -> tuple[Int64, Int64]:
            z, y, w = self._design(block)
            eta, o = self._eta(block, z, theta[:k])
            pieces = known.model.family.pieces(known.model.link, eta, y)
            C = on_grid(np.sqrt(w * pieces.information)[:, None] * z, known.root_bits)
            left, right = [np.ones((len(z), 1), np.int64), on_grid(z, known.z_bits), C], [C]
            if both:
                c = w * self._curvature(eta, y, pieces)
                D = on_grid(np.sqrt(np.abs(c))[:, None] * z, known.root_bits)
                left, right = [*left, D], [*right, D * np.sign(c).astype(np.int64)[:, None]]
            right += [pair(w * pieces.score, known.score_bits), pair(w * pieces.deviance, known.deviance_bits)]
            right += [self._squares(w * pieces.square), *self._null(theta[k:], y, w, o)]
            return np.hstack(left), np.hstack(right)

        return self._told(self.rows.grams(sides), k, both)

    def _null(self, theta: Array, y: Array, w: Array, o: Array) -> list[Int64]:
        """Of the model with an intercept alone; its parameter is known unless there are offsets."""
        known, family, link = self.known, self.known.model.family, self.known.model.link
        if not known.model.moved:
            mean = link.mean(np.full(len(y), known.null))
            return [pair(w * family.deviance(y, mean), known.deviance_bits)]
        eta = theta[0] + o
        pieces = family.pieces(link, eta, y)
        found = [pair(w * pieces.deviance, known.deviance_bits), pair(w * pieces.score, known.score_bits)]
        found.append(pair(w * pieces.information, known.root_bits))
        if known.model.kinds > 1:
            found.append(pair(w * self._curvature(eta, y, pieces), known.root_bits))
        return found

    def _squares(self, values: Array) -> Int64:
        """Squared residuals. Where the dispersion is known nothing hangs on them: one that is too large makes a total
        that everybody sees to be none."""
        if self.known.model.dispersed:
            return pair(values, self.known.deviance_bits)
        return pair(np.where(values < FARTHEST / self.known.N, values, FARTHEST), 0)

    def _told(self, gram: Whole, k: int, both: bool) -> Whole:
        """What is sent of the products: see ``Reading``."""
        information = [half(gram[1 + k : 1 + 2 * k, :k])]
        if both:
            information.append(half(gram[1 + 2 * k :, k : 2 * k]))
        q = k * (1 + both)  # where pairs begin
        score = [join(*row) for row in gram[1 : 1 + k, q : q + 2]]
        d, squares, null, *more = (join(*both_) for both_ in gram[0, q + 2 :].reshape(-1, 2))
        return np.concatenate([np.array([d, squares, null, *score], object), *information, np.array(more, object)])

    def scores(self, theta: Array, bits: int) -> Whole:
        """``sum u^2 z z'`` for the scores ``u z`` of the rows: what stands in the middle of the sandwich."""
        known = self.known

        def sides(block: Array) -> tuple[Int64, Int64]:
            z, y, w = self._design(block)
            eta, _ = self._eta(block, z, theta[: len(known.columns)])
            u = on_grid((w * known.model.family.pieces(known.model.link, eta, y).score)[:, None] * z, bits)
            return u, u

        return half(self.rows.grams(sides))

    def saturated(self, scales: tuple[float, float]) -> Whole:
        """The log-likelihood of a perfect fit at two dispersions."""
        model = self.known.model

        def terms(block: Array) -> Int64:
            y, w = model.y(block), model.w(block)
            return np.hstack([pair(model.family.saturated(y, w, scale), 0) for scale in scales])

        high, low, high_2, low_2 = self.rows.totals(terms)
        return np.array([join(high, low), join(high_2, low_2)], object)

    def _design(self, block: Array) -> tuple[Array, Array, Array]:
        model = self.known.model
        return self.known.columns.matrix(block), model.y(block) - self.known.centre, model.w(block)

    def _eta(self, block: Array, z: Array, theta: Array) -> tuple[Array, Array]:
        """The linear predictor, and what of it is not estimated."""
        o = self.known.model.o(block)
        return self.rows.linear(z, theta) + o, o

    def _curvature(self, eta: Array, y: Array, pieces: Pieces) -> Array:
        """NaN where there is no mean."""
        family, link = self.known.model.family, self.known.model.link
        inside = link.inside(eta)
        return np.where(inside, family.curvature(link, np.where(inside, eta, 1.0), y), np.nan)


@dataclass(frozen=True, eq=False)
class Reading:
    """How totals are read: for ``maximise``. They are deviance, squared residuals, deviance without columns; the score;
    the information, expected, and observed where that is another. With offsets the intercept of the model that has
    nothing else is one more parameter, the last: its score and information follow."""

    known: Known

    @property
    def k(self) -> int:
        """How many parameters there are, without that."""
        return len(self.known.columns)

    @property
    def indices(self) -> list[Index]:
        """Of which parameters each is: see ``climb_steps``."""
        kinds, scores = self.known.model.kinds, [(i,) for i in range(self.k)]
        pairs = list(combinations_with_replacement(range(self.k), 2))
        null = [(self.k,), *[(self.k, self.k)] * kinds]
        return [(), (-1,), (), *scores, *pairs * kinds, *null * self.known.model.moved]

    def split(self, total: Whole) -> list[Whole]:
        """Sums, score, expected and observed information, and those of the null model."""
        h = self.k * (self.k + 1) // 2
        return np.split(total, np.cumsum([3, self.k, h, h * (self.known.model.kinds - 1)]))

    def digits(self, agreements: Agreements) -> ClimbDigits | None:
        """How finely the totals of a climb are told."""
        known, model = self.known, self.known.model
        squares = known.deviance_bits + LOW if model.dispersed else LOW
        sums = [known.deviance_bits + LOW, squares, known.deviance_bits + LOW]
        scores = [known.z_bits + known.score_bits + LOW] * self.k
        pairs = [2 * known.root_bits] * (model.kinds * self.k * (self.k + 1) // 2)
        null = [known.score_bits + LOW, *[known.root_bits + LOW] * model.kinds] * model.moved
        first = np.full(self.k + model.moved, known.N * float(known.weight) * known.information)
        return climb_digits(
            agreements, self.indices, [*sums, *scores, *pairs, *null], known.N, first, known.dispersion
        )  # fmt: skip

    @property
    def penalty(self) -> Array:
        """Of every parameter, what half of its square is multiplied by in the objective: 0 for an intercept."""
        columns = self.known.columns
        slopes = self.known.model.ridge / columns.deviation**2
        return np.append(np.zeros(int(columns.intercept)), slopes)

    def __call__(self, total: Whole, theta: Array) -> tuple[float, Array, Array]:
        """Half of the negative deviance with the penalty, its score, and the information for a step."""
        k, P, known = self.k, self.penalty, self.known
        _, scores, _, _, more = self.split(total)
        bits = known.z_bits + known.score_bits + LOW
        objective = -(self.deviance(total) + known.model.moved * self.null_deviance(total)) / 2
        score = values(scores, bits) - P * theta[:k]
        H = np.zeros((len(theta), len(theta)))
        H[:k, :k] = self._for_step(total) + np.diag(P)
        if known.model.moved:
            score = np.append(score, value(more[0], known.score_bits + LOW))
            expected, observed = value(more[1], known.root_bits + LOW), value(more[-1], known.root_bits + LOW)
            H[k, k] = observed if observed > OBSERVED * expected else expected
        return objective - float(fixed_order.total(P * theta[:k] ** 2)) / 2, score, H

    def before(self, total: Whole) -> float:
        """The objective of the model of an intercept alone."""
        return -self.null_deviance(total) / 2

    def deviance(self, total: Whole) -> float:
        """Of the model."""
        return value(total[0], self.known.deviance_bits + LOW)

    def null_deviance(self, total: Whole) -> float:
        """Of an intercept alone."""
        return value(total[2], self.known.deviance_bits + LOW)

    def squares(self, total: Whole) -> float:
        """Of Pearson residuals; NaN where some are too large."""
        if self.known.model.dispersed:
            return value(total[1], self.known.deviance_bits + LOW)
        return value(total[1], LOW) if total[1] < int(FARTHEST) << LOW else float("nan")

    def expected(self, total: Whole) -> Array:
        """The expected information."""
        return self._information(self.split(total)[2])

    def observed(self, total: Whole) -> Array:
        """The observed information."""
        _, _, expected, observed, _ = self.split(total)
        return self._information(observed if self.known.model.kinds > 1 else expected)

    def _for_step(self, total: Whole) -> Array:
        """The observed information, where steps of Newton's method climb with it; else the expected one."""
        expected = self.expected(total)
        if self.known.model.kinds == 1:
            return expected
        observed = self.observed(total)
        if self.known.model.family.is_concave(self.known.model.link):
            return observed
        L, place = fixed_order.cholesky(observed)
        L_expected, _ = fixed_order.cholesky(expected)
        enough = place is None and bool((np.diag(L) ** 2 >= OBSERVED * np.diag(L_expected) ** 2).all())
        return observed if enough else expected

    def _information(self, part: Whole) -> Array:
        return symmetric(values(part, 2 * self.known.root_bits), self.k)
