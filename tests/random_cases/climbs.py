"""Maxima of likelihoods in numbers of 80 bits, where those of statsmodels end at some digits of float64.

A design is first brought to columns at right angles, from differences that float64 has exactly; a maximum is then
climbed to by Newton's method, and statsmodels is asked for its score there. Whether there is a finite maximum at all is
a linear programme: whether some direction never lowers the likelihood (A. Albert and J. A. Anderson, Biometrika 71,
1984).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linprog

from .exactly import Exact, binary, floats, independent

Wide = np.ndarray[Any, np.dtype[np.longdouble]]
Terms = Callable[[Wide], tuple[Any, Wide, Wide]]  # of parameters: objective, score, information
STEPS = 200
ALIASED = 1e-11  # of its length, what the columns before one leave of it where it hangs on them
SEPARATES = 0.5  # of a row that gains by a direction, where a gain is counted up to 1


def wide(values: Exact) -> Wide:
    """Fractions in two parts, so that all 64 bits of a number are right."""
    high = floats(values)
    exact = np.array([a for a in np.ravel(values)], object).reshape(np.shape(values))
    low = floats(exact - binary(high))
    return high.astype(np.longdouble) + low.astype(np.longdouble)


class Design:
    """A design, and the same space in columns ``Z`` at right angles: ``X = Z R``. Its parameters are ``R^-1`` times
    those of ``Z``. Columns that depend on those before them but for rounding are left out, as R's glm does it.

    ``kept``: the others; ``nearness``: the least of what a column has left, of its length about the mean.
    """

    def __init__(self, X: Exact) -> None:
        n, ones = max(1, len(X)), self._has_ones(X)
        self.kept: list[int] = []
        self.nearness = 1.0
        Z: list[Wide] = []
        parts: list[list[Any]] = []  # of each column, by those before it
        for k in independent(X):
            mean = X[:, k].sum() / n if Z and ones else 0
            column = wide(X[:, k] - mean)
            left, shares = column.copy(), [np.longdouble(0)] * len(Z)
            for _ in range(2):  # twice is enough (W. Kahan)
                for j, other in enumerate(Z):
                    share = (other @ left) / n
                    shares[j] += share
                    left = left - share * other
            size = np.sqrt((left @ left) / n)
            nearness = float(size / np.sqrt((column @ column) / n))
            if nearness < ALIASED:
                continue
            if mean:
                shares[0] += wide(np.array([mean], object))[0]
            self.nearness = min(self.nearness, nearness)
            self.kept.append(k)
            Z.append(left / size)
            parts.append([*shares, size])
        self.Z = np.column_stack(Z) if Z else np.zeros((len(X), 0), np.longdouble)
        self.R = np.zeros((len(Z), len(Z)), np.longdouble)
        for k, shares in enumerate(parts):
            self.R[: k + 1, k] = shares

    @staticmethod
    def _has_ones(X: Exact) -> bool:
        return bool(X.shape[1] and (X[:, 0] == 1).all())

    @property
    def inverse(self) -> Wide:
        """``R^-1``."""
        p = len(self.R)
        found = np.zeros((p, p), np.longdouble)
        for k in reversed(range(p)):
            row = np.eye(p, dtype=np.longdouble)[k] - self.R[k, k + 1 :] @ found[k + 1 :]
            found[k] = row / self.R[k, k]
        return found


def cholesky(A: Wide) -> Wide:
    """The lower factor of a definite matrix, or an ``ArithmeticError``."""
    p = len(A)
    L = np.zeros((p, p), np.longdouble)
    for j in range(p):
        pivot = A[j, j] - L[j, :j] @ L[j, :j]
        if not pivot > 0:
            raise ArithmeticError("not definite")
        L[j, j] = np.sqrt(pivot)
        for i in range(j + 1, p):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
    return L


def inverse_of(A: Wide) -> Wide:
    """Of a definite matrix."""
    L = cholesky(A)
    p = len(L)
    M = np.zeros((p, p), np.longdouble)
    for i in range(p):
        M[i] = (np.eye(p, dtype=np.longdouble)[i] - L[i, :i] @ M[:i]) / L[i, i]
    return M.T @ M


def climbed(terms: Terms, start: Any) -> Wide:
    """Where the score is 0, by halved steps of Newton's method."""
    theta = np.asarray(start, np.longdouble)
    value, score, information = terms(theta)
    last = np.inf
    for _ in range(STEPS):
        step = inverse_of(information) @ score
        size = float(step @ information @ step)
        if size < 1e-34 or (size < 1e-26 and size >= last):
            return theta
        last = size
        for _ in range(60):
            tried = terms(theta + step)
            if tried[0] >= value - abs(value) * 1e-17 - 1e-18:
                break
            step = step / 2
        theta, (value, score, information) = theta + step, tried
    return theta


def recedes(A: Any) -> bool:
    """Whether some ``b`` has ``A b >= 0``, and not 0 in all rows: the likelihood then rises for ever along it."""
    A = np.asarray(A, np.float64)
    if not A.size:
        return False
    m, p = A.shape
    cost = np.concatenate([np.zeros(p), -np.ones(m)])
    found = linprog(
        cost,
        A_ub=np.hstack([-A, np.eye(m)]),
        b_ub=np.zeros(m),
        bounds=[(None, None)] * p + [(0, 1)] * m,
        method="highs",
    )
    return bool(found.status == 0 and -found.fun > SEPARATES)
