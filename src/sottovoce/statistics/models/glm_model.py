"""What a generalised linear model is made of, and what one party sums up over its rows for it.

In the first agreement these are counts, sums and products of columns, of which everybody knows the columns that stay,
how large all further numbers are, and the first step of the climb.

With ``z`` the standardised columns, ``C = sqrt(w s^2) z``, ``u = w s r``, and ``D = sqrt|w c| z`` for the curvature
``c``, all rounded to public grids, one pass over the rows makes the products

    C'C  (information)    D' sign(c) D  (observed information)    z'u  (score)    1'(w d), 1'(w r^2)

of whole numbers. The first has no negative eigenvalue, however it was rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from ...costs.base import Array
from ...data.rows import Int64, Rows
from ...errors import InvalidInput, PeerError, Undetermined
from ...numerics import fixed_order
from ...numerics.exact_algebra import nearest
from ...numerics.symmetric import symmetric
from ...sums import Whole, on_grid
from ..agreements import Agreements, Objected, unless_beyond
from ..analysis import check_rows
from ..fewer_digits import PART, ClimbDigits, Index, Rounding, agreed_rounding, climb_digits, rounded
from ..likelihood.columns import Columns, columns_of, half, own_products, square
from ..likelihood.fixed_point import LOW, about, exponent, join, pair, value, values
from .families import Family, Link
from .levels import check_enough

FARTHEST = 2.0**61  # what a squared residual counts as that is too large to be added up
OBSERVED = 0.1  # of the expected information, what the observed one must have for a step of Newton's method
BEYOND = (
    "columns, responses or weights of some party are larger than exact sums hold: 2^62 of their units. Give them units "
    "in the schema that are not as small, or bring them to sizes about 1."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class GLMModel:
    """A generalised linear model of rows, which have the columns of ``names`` first, then the ``response``.

    Attributes
    ----------
    names : tuple of str
        Of the columns of the design, less the intercept.
    units : tuple of Fraction or None
        Public units of the columns of the rows, as far as they are declared.
    offset, exposure, weights : int, optional
        Where they are in a row; None where there are none.
    turned : bool
        Whether outcomes 0 and 1 change places, as the second level is the reference.
    dispersed : bool
        Whether the dispersion is estimated.
    robust : {"HC0", "HC1"}, optional
        Sandwich errors.
    ridge : float
        ``ridge ||slopes||^2 / 2``, in units of the data, is subtracted from half of the negative deviance.
    """

    names: tuple[str, ...]
    response: str
    family: Family
    link: Link
    intercept: bool
    units: tuple[Fraction | None, ...]
    offset: int | None
    exposure: int | None
    weights: int | None
    turned: bool
    dispersed: bool
    robust: str | None
    ridge: float

    @property
    def k(self) -> int:
        """How many parameters there are, if no column depends on others."""
        return len(self.names) + self.intercept

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return ("Intercept",) * self.intercept + self.names

    @property
    def kinds(self) -> int:
        """How many informations there are: the expected one, and the observed one where that is another."""
        return 1 + (self.link.name != self.family.canonical)

    @property
    def moved(self) -> bool:
        """Whether the linear predictor has something in it that is not estimated."""
        return self.offset is not None or self.exposure is not None

    @property
    def separable(self) -> bool:
        """Whether the log-likelihood of a perfect fit can be told before the dispersion is."""
        return self.family.separable(weighted=self.weights is not None)

    @property
    def counted(self) -> tuple[str, ...]:
        """Names of what the first integers count, for people."""
        return ("rows", *self.family.counted)

    # Of some rows. Columns are copied: what NumPy makes of a number may depend on how far it lies from the next one.

    def y(self, block: Array) -> Array:
        """Responses."""
        y = np.ascontiguousarray(block[:, len(self.names)])
        return 1 - y if self.turned else y

    def w(self, block: Array) -> Array:
        """Prior weights; 1 without."""
        return np.ones(len(block)) if self.weights is None else np.ascontiguousarray(block[:, self.weights])

    def o(self, block: Array) -> Array:
        """Offsets and logarithms of exposures, summed; 0 without."""
        total = np.zeros(len(block))
        if self.offset is not None:
            total += block[:, self.offset]
        if self.exposure is not None:
            total += np.log(np.ascontiguousarray(block[:, self.exposure]))
        return total

    def counts(self, block: Array) -> Int64:
        """Counts of each row: 1, and whether it is one of those that are ``counted``."""
        return np.column_stack([np.ones(len(block), bool), self.family.count(self.y(block))]).astype(np.int64)

    def check(self, rows: Rows) -> None:
        """Refuse responses that the family does not have, and weights and exposures that are not positive: by column,
        before anything is sent."""

        def faults(block: Array) -> Int64:
            nothing = np.zeros(len(block), dtype=bool)
            found = [
                self.family.wrong(self.y(block), weighted=self.weights is not None, dispersed=self.dispersed),
                *(nothing if at is None else block[:, at] <= 0 for at in (self.weights, self.exposure)),
            ]
            return np.column_stack(found).astype(np.int64)

        y, w, e = rows.totals(faults)
        if y:
            raise InvalidInput(
                f"column {self.response!r} has responses in {y} rows that the family {self.family.name} does not "
                f"take: it takes {self.family.takes}. Take another family, or mend them."
            )
        if w:
            raise InvalidInput(f"weights: they must be positive, and {w} rows have others. Leave such rows out.")
        if e:
            raise InvalidInput(f"exposure: it must be positive, and {e} rows have others. Leave such rows out.")


@dataclass(frozen=True, eq=False)
class Known:
    """What all parties know after the first agreement: of ``N`` rows the products ``gram`` of ``(1, columns,
    response)``, weighted, in ``units``, and the ``columns`` that stay; the mean prior ``weight``, the log-likelihood of
    a perfect fit at the dispersion 1 (``saturated``), and the mean ``offset``, of what is not estimated."""

    model: GLMModel
    N: int
    gram: Whole
    units: tuple[Fraction, ...]
    columns: Columns
    weight: Fraction
    saturated: float
    offset: float

    @property
    def _y(self) -> int:
        return len(self.model.names) + 1

    @cached_property
    def mean(self) -> Fraction:
        """The weighted mean response."""
        mean = self.units[self._y - 1] * Fraction(int(self.gram[0, self._y]), int(self.gram[0, 0]))
        return 1 - mean if self.model.turned else mean

    @cached_property
    def centre(self) -> float:
        """From where responses are counted."""
        return float(self.mean) if self.model.family.centred and self.model.intercept else 0.0

    @cached_property
    def null(self) -> float:
        """The linear predictor of the model of an intercept alone, where nothing else is in it."""
        return float(self.model.link.of(nearest([self.mean - Fraction(self.centre)]))[0])

    @cached_property
    def spread(self) -> Fraction:
        """The weighted variance of the responses, known where the dispersion is estimated."""
        n, total, squares = (int(self.gram[at]) for at in ((0, 0), (0, self._y), (self._y, self._y)))
        return self.units[self._y - 1] ** 2 * Fraction(n * squares - total * total, n * n)

    @cached_property
    def information(self) -> float:
        """The information of a row on its linear predictor, per unit of weight, at the mean response."""
        eta, mean = np.array([self.null]), nearest([self.mean])
        slope, variance = self.model.link.slope(eta), self.model.family.variance(mean)
        return float((slope * slope / variance)[0])

    @cached_property
    def dispersion(self) -> float:
        """The dispersion without columns, about."""
        if not self.model.family.estimated:
            return 1.0
        variance = self.model.family.variance(nearest([self.mean]))[0]
        return float(self.spread * self.weight) / float(variance) if self.spread else 1.0

    # Powers of two: how finely what is made of rows is rounded

    @cached_property
    def wide(self) -> int:
        """``N`` as a power of two."""
        return max(1, (self.N - 1).bit_length())

    @cached_property
    def z_bits(self) -> int:
        """The grid of standardised columns, which are at most ``sqrt N`` with equal weights."""
        return min(48, 57 - (self.wide + 1) // 2)

    @cached_property
    def root_bits(self) -> int:
        """The grid of columns times the root of a row's information, which may be ``2^20`` times that at the mean, or
        for few rows ``2^6 N`` times: of positive sums no term is more than all of them."""
        size = exponent(float(self.weight) * self.information)
        return 60 - (min(20, self.wide + 6) + self.wide + size + 1) // 2

    @cached_property
    def score_bits(self) -> int:
        """The grid of a row's part of the score."""
        return 20 - (exponent(float(self.weight) * self.information * self.dispersion) + 1) // 2

    @cached_property
    def deviance_bits(self) -> int:
        """The grid of deviances and squared residuals, which are about the dispersion."""
        return 20 - exponent(self.dispersion)

    # The start of the climb

    @property
    def start_of_null(self) -> float:
        """The linear predictor of an intercept alone, about."""
        return about(self.null) - about(self.offset)

    def start(self) -> tuple[Array, Array | None]:
        """The parameters of an intercept alone, or what comes nearest; and the first step of Fisher scoring from there,
        where the sums at hand tell it: all rows have one mean at the start."""
        model, columns = self.model, self.columns
        eta = self.start_of_null
        start = np.zeros(len(columns))
        if not model.intercept:
            return eta * self._solved(0), None
        start[0] = eta
        if model.moved or not columns.names:
            return start, None
        penalty = model.ridge / columns.deviation**2 / (float(self.weight) * self.N)
        slope = about(float(model.link.slope(np.array([self.null]))[0]))
        turned = -1.0 if model.turned else 1.0
        step = self._solved(self._y, penalty / about(self.information)) * (turned / slope)
        return start, np.append(0.0, step)

    def orthogonal(self) -> Known:
        """The same with columns at right angles, however nearly they depend on each other; as they are under a penalty,
        which has a size for each."""
        if self.model.ridge or not self.columns.names:
            return self
        L, place = fixed_order.cholesky(self._products(0)[:-1, :-1])
        return self if place is not None else replace(self, columns=replace(self.columns, mix=L))

    def _products(self, other: int) -> Array:
        """Products of the standardised columns with each other, and with another column, the last: about the means
        where there is an intercept, per unit of weight."""
        n, taken = int(self.gram[0, 0]), [*(place + 1 for place in self.columns.places), other]
        middle, units = int(self.model.intercept), [Fraction(1), *self.units]
        exact = np.empty((len(taken), len(taken)), object)
        for a, i in enumerate(taken):
            for b, j in enumerate(taken):
                product = n * int(self.gram[i, j]) - middle * int(self.gram[0, i]) * int(self.gram[0, j])
                exact[a, b] = units[i] * units[j] * Fraction(product, n * n)
        deviation = np.append(self.columns.deviation, 1.0)
        return np.asarray(nearest(exact) / np.multiply.outer(deviation, deviation))

    def _solved(self, other: int, penalty: Array | float = 0.0) -> Array:
        """The parameters of least squares for another column; 0 where float64 does not tell them."""
        products, mix = self._products(other), self.columns.mix
        if mix is not None:  # at right angles
            return fixed_order.forward(mix, products[:-1, -1])
        k = len(products) - 1
        L, place = fixed_order.cholesky(products[:-1, :-1] + np.diag(np.broadcast_to(penalty, k)))
        return np.zeros(k) if place is not None else fixed_order.solve(L, products[:-1, -1])

    # How totals are read: deviance, squared residuals, deviance without columns; the score; the information, expected,
    # and observed where that is another. With offsets the intercept of the model that has nothing else is one more
    # parameter, the last: its score and information follow.

    @property
    def k(self) -> int:
        """How many parameters there are."""
        return len(self.columns)

    @property
    def indices(self) -> list[Index]:
        """Of which parameters each total is: see ``climb_steps``."""
        kinds, scores = self.model.kinds, [(i,) for i in range(self.k)]
        pairs = list(combinations_with_replacement(range(self.k), 2))
        null = [(self.k,), *[(self.k, self.k)] * kinds]
        return [(), (-1,), (), *scores, *pairs * kinds, *null * self.model.moved]

    def split(self, total: Whole) -> list[Whole]:
        """Sums, score, expected and observed information, and those of the null model."""
        h = self.k * (self.k + 1) // 2
        return np.split(total, np.cumsum([3, self.k, h, h * (self.model.kinds - 1)]))

    def digits(self, agreements: Agreements) -> ClimbDigits | None:
        """How finely the totals of a climb are told."""
        model = self.model
        squares = self.deviance_bits + LOW if model.dispersed else LOW
        sums = [self.deviance_bits + LOW, squares, self.deviance_bits + LOW]
        scores = [self.z_bits + self.score_bits + LOW] * self.k
        pairs = [2 * self.root_bits] * (model.kinds * self.k * (self.k + 1) // 2)
        null = [self.score_bits + LOW, *[self.root_bits + LOW] * model.kinds] * model.moved
        first = np.full(self.k + model.moved, self.N * float(self.weight) * self.information)
        return climb_digits(
            agreements, self.indices, [*sums, *scores, *pairs, *null], self.N, first, self.dispersion
        )  # fmt: skip

    def read(self, total: Whole, theta: Array) -> tuple[float, Array, Array]:
        """For ``maximise``: half of the negative deviance with the penalty, its score, the information for a step."""
        k, P = self.k, np.append(np.zeros(int(self.columns.intercept)), self.model.ridge / self.columns.deviation**2)
        _, scores, _, _, more = self.split(total)
        bits = self.z_bits + self.score_bits + LOW
        objective = -(self.deviance(total) + self.model.moved * self.null_deviance(total)) / 2
        score = values(scores, bits) - P * theta[:k]
        H = np.zeros((len(theta), len(theta)))
        H[:k, :k] = self._for_step(total) + np.diag(P)
        if self.model.moved:
            score = np.append(score, value(more[0], self.score_bits + LOW))
            expected, observed = value(more[1], self.root_bits + LOW), value(more[-1], self.root_bits + LOW)
            H[k, k] = observed if observed > OBSERVED * expected else expected
        return objective - float(fixed_order.total(P * theta[:k] ** 2)) / 2, score, H

    def before(self, total: Whole) -> float:
        """The objective of the model of an intercept alone."""
        return -self.null_deviance(total) / 2

    def deviance(self, total: Whole) -> float:
        """The deviance of the model."""
        return value(total[0], self.deviance_bits + LOW)

    def null_deviance(self, total: Whole) -> float:
        """The deviance of an intercept alone."""
        return value(total[2], self.deviance_bits + LOW)

    def squares(self, total: Whole) -> float:
        """The sum of squared Pearson residuals; NaN where some are too large."""
        if self.model.dispersed:
            return value(total[1], self.deviance_bits + LOW)
        return value(total[1], LOW) if total[1] < int(FARTHEST) << LOW else float("nan")

    def expected(self, total: Whole) -> Array:
        """The expected information."""
        return self._information(self.split(total)[2])

    def observed(self, total: Whole) -> Array:
        """The observed information."""
        _, _, expected, observed, _ = self.split(total)
        return self._information(observed if self.model.kinds > 1 else expected)

    def _for_step(self, total: Whole) -> Array:
        """The observed information, where steps of Newton's method climb with it; else the expected one."""
        expected = self.expected(total)
        if self.model.kinds == 1:
            return expected
        observed = self.observed(total)
        if self.model.family.is_concave(self.model.link):
            return observed
        L, place = fixed_order.cholesky(observed)
        L_expected, _ = fixed_order.cholesky(expected)
        enough = place is None and bool((np.diag(L) ** 2 >= OBSERVED * np.diag(L_expected) ** 2).all())
        return observed if enough else expected

    def _information(self, part: Whole) -> Array:
        return symmetric(values(part, 2 * self.root_bits), self.k)


def first_agreement(agreements: Agreements, rows: Sequence[Rows], model: GLMModel) -> Known:
    """The first agreement; refused with no rows, fewer than parameters, or responses that have nothing to explain."""
    units = agreements.units(rows, model.units)
    weights = () if model.weights is None else (model.weights,)
    rounding = agreed_rounding(agreements, rows, [*range(len(model.names) + 1), *weights], units)
    own = [unless_beyond(_own_first, part, model, units, rounding) for part in rows]
    counted = len(model.counted)
    of = f"{', '.join(model.counted)}; sums and products of {len(model.names)} columns and of {model.response!r}"
    try:
        total = agreements.sum(own, of=of, counts=counted, size=numbers_of(model))
    except Objected:
        raise Undetermined(BEYOND) from None
    N, *counts = total[:counted].tolist()
    check_rows(N)
    if not model.ridge:
        check_enough(N, model.k)
    gram, at = np.zeros((len(model.names) + 2,) * 2, object), _places(model)
    gram[at] = gram[at[::-1]] = total[counted:-2]
    if gram[0, 0] <= 0:
        raise Undetermined("the weights of all rows are 0 in their unit. Give them a smaller one in the schema.")
    weight = Fraction(1) if model.weights is None else Fraction(int(gram[0, 0]), N) * units[model.weights]
    columns = columns_of(
        gram, model.names, units[: len(model.names)], intercept=model.intercept, alias=not model.ridge,
        rounding=rounding, weighted=bool(weights),
    )  # fmt: skip
    offset = value(int(total[-1]), LOW) / N
    found = Known(model, N, gram, units, columns, weight, value(int(total[-2]), LOW), offset)
    _check_responses(found, tuple(counts))
    if not columns.terms:
        raise Undetermined("all columns are 0 in all rows of all parties, and there is no intercept.")
    return found.orthogonal()


def _check_responses(found: Known, counts: tuple[int, ...]) -> None:
    """Refuse responses that explain nothing, and those that no rows can have."""
    model, mean = found.model, float(found.mean)
    model.family.check(model.response, counts, mean)
    if model.family.wrong(np.array([mean]), weighted=True, dispersed=True)[0]:
        if mean == 0:
            raise Undetermined(f"all of {model.response!r} is 0 in its unit. Give it a smaller one in the schema.")
        raise PeerError(
            f"the mean of {model.response!r} of all parties is that of no rows: a party has not kept to the protocol. "
            "Agree on a new run."
        )
    if model.family.estimated and model.intercept and not model.moved and found.spread == 0:
        raise Undetermined(
            f"{model.response!r} does not vary over the rows of all parties: there is nothing to explain."
        )


def _own_first(rows: Rows, model: GLMModel, units: tuple[Fraction, ...], rounding: Rounding | None) -> Whole:
    """One party's part: counts, products, the log-likelihood of a perfect fit where it does not wait for the
    dispersion, and offsets."""

    def terms(block: Array) -> Int64:
        perfect = np.zeros(len(block))
        if model.separable:
            perfect = model.family.saturated(model.y(block), model.w(block), 1.0)
        return np.column_stack([model.counts(block), pair(perfect, 0), pair(model.o(block), 0)])

    totals = rows.totals(terms)
    d = len(model.names)
    gram = square(own_products(rows, range(d + 1), units, model.weights, rounding), d + 2)
    sums = np.array([join(*totals[-4:-2]), join(*totals[-2:])], object)
    if rounding is not None:  # a log-likelihood to 0.01, and offsets as logarithms that differ by about 1
        sums = np.asarray(rounded(sums, [size * (1 << LOW) // PART for size in (1, math.isqrt(rounding.rows))]))
    return np.concatenate([totals[:-4], gram[_places(model)], sums])


def _places(model: GLMModel) -> tuple[list[int], list[int]]:
    """Rows and columns of the products of ``(1, columns, response)`` that somebody needs, as they are sent."""
    y = len(model.names) + 1
    found = [*combinations_with_replacement(range(y), 2), (0, y)]
    found += [(j, y) for j in range(1, y)] if model.intercept and not model.moved else []
    found += [(y, y)] if model.family.estimated else []
    return [i for i, _ in found], [j for _, j in found]


def numbers_of(model: GLMModel) -> int:
    """How many integers a party sums up."""
    return len(model.counted) + len(_places(model)[0]) + 2


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
        known, k, both = self.known, self.known.k, self.known.model.kinds > 1

        def pairs(block: Array) -> list[tuple[Int64, Int64]]:
            z, y, w, eta, o = self._at(block, theta)
            pieces = known.model.family.pieces(known.model.link, eta, y)
            C = on_grid(np.sqrt(w * pieces.information)[:, None] * z, known.root_bits)
            found = [(C, C)]
            if both:
                c = w * self._curvature(eta, y)
                D = on_grid(np.sqrt(np.abs(c))[:, None] * z, known.root_bits)
                found.append((D, D * np.sign(c).astype(np.int64)[:, None]))
            of_rows = [pair(w * pieces.score, known.score_bits), pair(w * pieces.deviance, known.deviance_bits)]
            of_rows += [self._squares(w * pieces.square), *self._null(theta[k:], y, w, o)]
            ones_and_z = np.hstack([np.ones((len(z), 1), np.int64), on_grid(z, known.z_bits)])
            return [*found, (ones_and_z, np.hstack(of_rows))]

        *informations, sums = self.rows.several_grams(pairs)
        score = [join(*row) for row in sums[1:, :2]]
        deviance, squares, null, *more = (join(*row) for row in sums[0, 2:].reshape(-1, 2))
        first = np.array([deviance, squares, null, *score], object)
        return np.concatenate([first, *map(half, informations), np.array(more, object)])

    def _null(self, theta: Array, y: Array, w: Array, o: Array) -> list[Int64]:
        """Terms of the model with an intercept alone; its parameter is known unless there are offsets."""
        known, family, link = self.known, self.known.model.family, self.known.model.link
        if not known.model.moved:
            mean = link.mean(np.full(len(y), known.null))
            return [pair(w * family.deviance(y, mean), known.deviance_bits)]
        eta = theta[0] + o
        pieces = family.pieces(link, eta, y)
        found = [pair(w * pieces.deviance, known.deviance_bits), pair(w * pieces.score, known.score_bits)]
        found.append(pair(w * pieces.information, known.root_bits))
        if known.model.kinds > 1:
            found.append(pair(w * self._curvature(eta, y), known.root_bits))
        return found

    def _squares(self, values: Array) -> Int64:
        """Squared residuals. Where the dispersion is known nothing hangs on them: one that is too large makes a total
        that everybody sees to be none."""
        if self.known.model.dispersed:
            return pair(values, self.known.deviance_bits)
        return pair(np.where(values < FARTHEST / self.known.N, values, FARTHEST), 0)

    def scores(self, theta: Array, bits: int) -> Whole:
        """``sum u^2 z z'`` for the scores ``u z`` of the rows: what stands in the middle of the sandwich."""
        known = self.known

        def sides(block: Array) -> tuple[Int64, Int64]:
            z, y, w, eta, _ = self._at(block, theta)
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

    def _at(self, block: Array, theta: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Columns, responses, weights, linear predictors, and what of these is not estimated."""
        known, model = self.known, self.known.model
        z, o = known.columns.matrix(block), model.o(block)
        return z, model.y(block) - known.centre, model.w(block), self.rows.linear(z, theta[: known.k]) + o, o

    def _curvature(self, eta: Array, y: Array) -> Array:
        """NaN where there is no mean."""
        family, link = self.known.model.family, self.known.model.link
        inside = link.inside(eta)
        return np.where(inside, family.curvature(link, np.where(inside, eta, 1.0), y), np.nan)
