"""Weighted least squares from agreed moments, with one pass over the residuals.

In the columns ``u`` of the design and the target ``v``, in units of their deviations, ``H = sum w u u'/N`` and
``b = H^{-1} sum w u v/N``. With the number of its rows, means and moments a fit takes

    which columns are dependent, b, and the size q of the residuals       agreement 5, integers
    sum w e^2 / qN, sum w u e / sqrt(q)N for e = v - u'b                  agreement 6, with sum w^2 u u' e^2/(1 - h)^k

``b`` is then the same at all parties to the bit, the second sums bring it to the optimum (one step of iterative
refinement), and the first are the squares to all their digits, however good the fit is. The last are the middle of
White's covariance (HC0 to HC3: MacKinnon and White, J. Econometrics 29, 1985), ``h = w u'(NH)^{-1}u`` the leverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...costs.base import Array
from ...data.rows import Rows
from ...errors import Undetermined
from ...numerics.symmetric import symmetric, upper
from ..agreements import Agreements

RIGHT = 1e-2
from ..settled import Flags, majority, settled
from .equation import Equation
from .moments import NOT_ZERO, VARIES, Moments, agreed_moments, left_open

ROBUST = ("HC0", "HC1", "HC2", "HC3")
POWER = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}  # of 1/(1 - h)
ALONE = 1e-6  # a row with less than that to the leverage of 1 is fitted by itself
INSIDE = 1e-6  # of the columns that come next to the constant, what they may leave of it if they span it
PERFECT = 1e-8  # the least size of residuals, squared, in units of the target's


@dataclass(frozen=True, eq=False)
class Solved:
    """A fit in the coordinates of ``Design``: estimates ``b``, ``H``, ``sum w e^2/N``, the middle of a robust
    covariance over ``N``, ``sum log w`` and whether the columns span the constant."""

    design: Design
    b: Array
    H: Array
    squares: float
    middle: Array | None
    log_weights: float
    constant: bool


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of the design and the target in terms of ``a = (1, z)``: ``u = a U`` and ``v = a'V``.

    With an intercept they are ``a`` itself. Without one ``x`` is ``s (z + c/s)``, and brought to size 1.
    """

    equation: Equation
    moments: Moments

    @property
    def U(self) -> Array:
        """``(2 + d, p)``."""
        d = len(self.equation.slopes)
        if self.equation.intercept:
            return np.eye(d + 2, d + 1)
        return np.vstack([self._shift[:-1], np.eye(d + 1, d)]) / self._size[:-1]

    @property
    def V(self) -> Array:
        """``(2 + d,)``."""
        e = np.eye(len(self.equation.names) + 1)
        return e[-1] if self.equation.intercept else np.asarray((e[-1] + self._shift[-1] * e[0]) / self._size[-1])

    @property
    def about_0(self) -> Array:
        """The target itself, in its unit, whether there is an intercept or not."""
        e = np.eye(len(self.equation.names) + 1)
        return self.V + self._shift[-1] * e[0] if self.equation.intercept else self.V

    @property
    def unit(self) -> float:
        """Of the target."""
        return float(self.moments.spread[-1] * self._size[-1])

    @property
    def T(self) -> Array:
        """From ``b`` to parameters in the units of the data, but for the target's centre."""
        slopes = np.diag(self.unit / (self.moments.spread * self._size)[:-1])
        if not self.equation.intercept:
            return slopes
        first = np.append(1.0, -self._shift[:-1]) * self.unit
        return np.vstack([first, np.column_stack([np.zeros(len(slopes)), slopes])])

    @property
    def _shift(self) -> Array:
        return self.moments.centre / self.moments.spread

    @property
    def _size(self) -> Array:
        return np.ones(len(self._shift)) if self.equation.intercept else np.sqrt(1 + self._shift**2)

    def params(self, b: Array) -> Array:
        """Estimates in the units of the data."""
        found = self.T @ b
        if self.equation.intercept:
            found[0] += self.moments.centre[-1]
        return np.asarray(found)


def solved(agreements: Agreements, rows: Sequence[Rows], equation: Equation, robust: str | None) -> Solved:
    """The fit that the local parties come to; results are those of the first of them."""
    p = len(equation.terms)
    moments = agreed_moments(
        agreements, rows, equation, need=p + 1, columns_are=VARIES if equation.intercept else NOT_ZERO
    )
    design = Design(equation, moments)
    b, size, constant = _settled_fit(agreements, rows, design, robust)
    G = moments.products[0]
    H = design.U.T @ G @ design.U
    squares, score, middle, logs = _residuals(agreements, rows, design, b, size, robust)
    step = np.linalg.solve(H, score)
    return Solved(
        design=design,
        b=b + np.sqrt(size) * step,
        H=H,
        squares=max(0.0, float(size * (squares - score @ step))),
        middle=None if middle is None else size * middle,
        log_weights=logs,
        constant=constant,
    )


def _settled_fit(
    agreements: Agreements, rows: Sequence[Rows], design: Design, robust: str | None
) -> tuple[Array, float, bool]:
    """``b``, the size of the squared residuals, and whether the columns span the constant; refused where columns are
    dependent, or a row has the leverage 1."""
    equation, U, V = design.equation, design.U, design.V
    p = len(equation.terms)
    values, votes = np.zeros((len(rows), p + 1)), np.zeros((len(rows), p + 2), np.int64)
    for own, vote, part, G in zip(values, votes, rows, design.moments.products, strict=True):
        H, right = U.T @ G @ U, U.T @ G @ V
        vote[:p] = _dependent(H, left_open(agreements, equation, float(np.abs(G).max())) * np.abs(U).sum(axis=0) ** 2)
        if vote[:p].any():
            continue
        own[:p] = np.linalg.solve(H, right)
        e = V - U @ own[:p]
        own[p] = max(float(e @ G @ e), PERFECT * float(V @ G @ V))
        vote[p] = equation.intercept or _spans_constant(H, U, G)
        if robust is not None and POWER[robust]:
            vote[p + 1] = _stands_alone(part, design, np.linalg.inv(H))
    numbers, said = settled(agreements, values, votes, of="estimates that follow from these")
    if (dependent := majority(agreements, said[:p])).any():
        raise _refusal(equation, dependent)
    if said[p + 1]:
        raise Undetermined(
            f"robust: {robust} divides by what a row leaves of its leverage, and there is a row that a term fits alone "
            '(leverage 1), such as the only one at a level. Leave that term out, or use "HC1".'
        )
    return numbers[:p], float(numbers[p]) * 1.01, bool(majority(agreements, said[p : p + 1])[0])


def _spans_constant(H: Array, U: Array, G: Array) -> bool:
    """Whether columns without an intercept come to the constant, as those of all levels do. Years that hardly differ
    come close to it: what ``1 - u'b`` leaves is measured by how much of the columns ``z`` about their means is in it,
    as it is known to that."""
    rest = np.eye(len(G))[0] - U @ np.linalg.solve(H, U.T @ G[:, 0])
    return bool(rest @ G @ rest <= INSIDE * G[0, 0] * min(1.0, float(np.abs(rest[1:]).sum())) ** 2)


def _dependent(H: Array, error: Array) -> Flags:
    """Which columns are linearly dependent, if any, where an entry of ``H`` may be off by ``sqrt(error_j error_k)``."""
    size = np.diag(H)
    if (flat := size * RIGHT <= error).any():
        return np.asarray(flat)
    values, vectors = np.linalg.eigh(H / np.sqrt(np.outer(size, size)))
    # Entries of the scaled matrix are off by sqrt(error_j/size_j error_k/size_k): in norm, by sum_j error_j/size_j.
    if values[0] * RIGHT > float((error / size).sum()):
        return np.zeros(len(H), bool)
    share = np.abs(vectors[:, 0])
    return np.asarray(share > 0.1 * share.max())


def _refusal(equation: Equation, dependent: Flags) -> Undetermined:
    among = ", ".join(repr(name) for name, one in zip(equation.terms, dependent, strict=True) if one)
    return Undetermined(
        f"the columns {among} are linearly dependent over the rows of all parties, to the precision of the agreement "
        "(as where a reference level has no rows, or one column follows from others). Leave one of them out, or lower "
        "tol (and the mask) if they are only nearly so."
    )


def _stands_alone(part: Rows, design: Design, inverse: Array) -> bool:
    def terms(block: Array) -> Array:
        return np.asarray(1 - _leverage(part, design, inverse, block) < ALONE, np.float64)

    return bool(part.sums(terms)[0] > 0)


def _leverage(part: Rows, design: Design, inverse: Array, block: Array) -> Array:
    """``w u'(NH)^{-1}u`` of some rows, ``(rows, 1)``."""
    a = design.moments.a(design.equation, block)
    u = np.column_stack([part.linear(a, column) for column in design.U.T])
    h = sum(u[:, j] * part.linear(u, row) for j, row in enumerate(inverse))
    return np.asarray(design.moments.weights(design.equation, block)[:, 0] * h / design.moments.N)[:, None]


def _residuals(
    agreements: Agreements, rows: Sequence[Rows], design: Design, b: Array, size: float, robust: str | None
) -> tuple[float, Array, Array | None, float]:
    """``sum w e^2/qN``, ``sum w u e/sqrt(q)N``, the middle of a robust covariance over ``qN``, ``sum log w``.

    What travels is of ``1`` and ``z`` in the place of ``u``, which may be nearly dependent without an intercept.
    """
    equation, moments, U = design.equation, design.moments, design.U
    k, r = len(equation.names), (design.V - U @ b) / np.sqrt(size)
    inverses = np.linalg.inv(U.T @ moments.products @ U)
    weighted = equation.weight is not None

    def share(part: Rows, inverse: Array) -> Array:
        def sides(block: Array) -> tuple[Array, Array]:
            a, w = moments.a(equation, block), moments.weights(equation, block)
            e, x = part.linear(a, r)[:, None], a[:, :k]
            left = [w * e, np.log(w)] if weighted else [w * e]
            if robust is not None:
                h = _leverage(part, design, inverse, block) if POWER[robust] else np.zeros_like(w)
                left.append(x * ((w * e) ** 2 / (1 - h) ** POWER[robust]))
            return np.hstack(left), np.hstack([x, e])

        found = part.products(sides)
        told = [found[0], found[1, :1]] if weighted else [found[0]]  # the first of x is 1
        return np.concatenate([*told, upper(found[-k:, :k])] if robust is not None else told)

    shares = [share(*own) for own in zip(rows, inverses, strict=True)]
    of = "squared residuals, and residuals times columns"
    if robust is not None:
        of += ", and squared residuals times products of columns"
    agreed = agreements.mean_together(agreements.parties / moments.N * np.array(shares), equation.mask, of=of)[0]
    squares, score, rest = float(agreed[k]), U[:k].T @ agreed[:k], agreed[k + 1 :]
    logs = 0.0
    if weighted:
        logs, rest = moments.N * (float(rest[0]) + np.log(moments.weight)), rest[1:]
    if robust is None:
        return squares, score, None, logs
    return squares, score, U[:k].T @ symmetric(rest, k) @ U[:k], logs
