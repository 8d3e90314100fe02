"""Linear algebra in float64 whose every bit is a function of its input, on every IEEE machine.

Parties that hold one matrix must take one decision from it: whether a column depends on others, which way a step goes,
when to stop. BLAS and LAPACK add in an order that hangs on the CPU, the threads and the release, and contract products
with sums; ``np.sum`` and ``np.einsum`` choose an order too. One last bit more, and two parties go different ways.

So all of this is ``+ - * /`` and square roots, which IEEE 754 rounds correctly everywhere, in an order that is written
here: arrays meet entry by entry, one NumPy call for each operation, so that nothing fuses two of them; sums are loops.
``tests/unit/test_fixed_order.py`` has the same in plain Python, equal to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, NotConverged

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

CYCLES = 40  # of rotations of all pairs; eight do for most matrices
ALIGNED = 2.0**-54  # of the diagonal, what is not worth a rotation
NOTHING = 2.0**-64  # of the largest entry, likewise


def total(terms: Array) -> Array:
    """The sum over the first axis, from the first to the last."""
    result = np.zeros(terms.shape[1:])
    for term in terms:
        result = result + term
    return result


def product(A: Array, B: Array) -> Array:
    """``A B``: of a matrix ``A (n, m)`` and a vector or matrix ``B (m, ...)``."""
    if A.ndim != 2 or B.ndim not in (1, 2) or A.shape[1] != len(B):
        raise InvalidInput(f"matrices of shapes {A.shape} and {B.shape} have no product.")
    result = np.zeros((len(A), *B.shape[1:]))
    for k in range(len(B)):
        result += _times(A[:, k], B[k])
    return result


def quadratic(A: Array, v: Array) -> Array:
    """``v'A v`` of each row of ``v (P, n)``, or of one ``v (n,)``."""
    return total((product(v, A) * v).T) if v.ndim == 2 else total(product(A.T, v) * v)


def cholesky(A: Array, threshold: float = 0.0) -> tuple[Array, int | None]:
    """``L`` with ``A = L L'``, of the lower half of ``A``; and the first column that depends on those before it.

    Parameters
    ----------
    A : array, (n, n)
    threshold : float
        A column depends on those before it where they leave no more than this part of its ``A_kk``. Of centred columns
        that part is ``1 - R^2``.

    Returns
    -------
    L : array, (n, n)
        Finished up to that column.
    k : int or None
        That column, at which it stops, also if its pivot is negative or no number; None if there is none.
    """
    n = _size(A)
    L, rest = np.zeros((n, n)), np.array(A, dtype=np.float64)
    for k in range(n):
        pivot = float(rest[k, k])
        if not (pivot > 0 and pivot > threshold * float(A[k, k])):
            return L, k
        L[k, k] = math.sqrt(pivot)
        below = rest[k + 1 :, k] / L[k, k]
        L[k + 1 :, k] = below
        rest[k + 1 :, k + 1 :] -= _times(below, below)
    return L, None


def solve(L: Array, b: Array) -> Array:
    """``x`` with ``L L' x = b``, of a vector or of the columns of a matrix ``b``."""
    return _backward(L, forward(L, b))


def forward(L: Array, b: Array) -> Array:
    """``y`` with ``L y = b``, of a vector or of the columns of a matrix ``b``."""
    n, y = _size(L), np.array(b, dtype=np.float64)
    if y.ndim not in (1, 2) or len(y) != n:
        raise InvalidInput(f"b must have {n} rows, as L has; its shape is {y.shape}.")
    for k in range(n):
        y[k] /= L[k, k]
        y[k + 1 :] -= _times(L[k + 1 :, k], y[k])
    return y


def _backward(L: Array, y: Array) -> Array:
    x = y.copy()
    for k in reversed(range(len(L))):
        x[k] /= L[k, k]
        x[:k] -= _times(L[k, :k], x[k])
    return x


def inverse(L: Array) -> Array:
    """``(L L')^-1``, symmetric to the bit."""
    W = forward(L, np.eye(_size(L)))
    return product(W.T, W)


def eigen(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, from the largest to the smallest, and eigenvectors, as columns, of the upper half of ``A``.

    Each vector has length 1, and its entry that is largest in size, the first of equal ones, is positive. Jacobi's
    rotations in an order in which half of the columns meet the other half at once (R. P. Brent and F. T. Luk, "The
    solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays", SIAM Journal on Scientific
    and Statistical Computing 6 (1985), 69-84).

    Raises
    ------
    InvalidInput
        Entries that are infinite or not a number.
    """
    n = _size(A)
    if not np.isfinite(A).all():
        raise InvalidInput("eigenvalues need a matrix of finite numbers.")
    exponent = int(np.frexp(np.abs(A).max(initial=0.0))[1])  # by powers of two, so that no square is too large
    A = np.ldexp(np.triu(A) + np.triu(A, 1).T, -exponent)
    S, V = A.copy(), np.eye(n)  # of eigenvectors as rows
    rounds = list(_rounds(n))
    for _ in range(CYCLES):
        if not any([_rotate(S, V, p, q) for p, q in rounds]):
            break
    else:
        raise NotConverged(f"the eigenvalues did not settle in {CYCLES} cycles of rotations.")
    V = product(1.5 * np.eye(n) - 0.5 * product(V, V.T), V)  # as many rotations leave it a little oblique
    values = quadratic(A, V)
    order = np.argsort(-values, kind="stable")
    vectors = V[order]
    largest = vectors[np.arange(n), np.abs(vectors).argmax(axis=1)] if n else values
    return np.ldexp(values[order], exponent), (vectors * np.where(largest < 0, -1.0, 1.0)[:, None]).T


def _rounds(n: int) -> Iterator[tuple[Places, Places]]:
    """Rounds in which each column meets another, as in a tournament, until all have met."""
    seats = n + n % 2  # one without a partner has a round off
    for turn in range(seats - 1):
        ring = [0, *((turn + k) % (seats - 1) + 1 for k in range(seats - 1))]
        pairs = sorted((min(pair), max(pair)) for pair in zip(ring[: seats // 2], reversed(ring), strict=False))
        met = np.array([pair for pair in pairs if pair[1] < n], dtype=np.intp).reshape(-1, 2)
        yield met[:, 0], met[:, 1]


def _rotate(S: Array, V: Array, p: Places, q: Places) -> bool:
    """Rotate the planes of columns ``p`` and ``q`` so that ``S_pq`` becomes 0; whether there was any need."""
    size = np.abs(S[p, q])
    needed = (size > NOTHING) & (size > ALIGNED * np.sqrt(np.abs(S[p, p]) * np.abs(S[q, q])))
    if not needed.any():
        return False
    p, q = p[needed], q[needed]
    slope = (S[q, q] - S[p, p]) / (2.0 * S[p, q])
    t = np.where(slope < 0, -1.0, 1.0) / (np.abs(slope) + np.sqrt(slope * slope + 1.0))
    cosine = (1.0 / np.sqrt(t * t + 1.0))[:, None]
    sine = t[:, None] * cosine
    _turn(V, p, q, cosine, sine)
    _turn(S, p, q, cosine, sine)
    turned = S.T.copy()
    _turn(turned, p, q, cosine, sine)
    turned[p, q] = turned[q, p] = 0.0
    S[:] = (turned + turned.T) * 0.5
    return True


def _turn(rows: Array, p: Places, q: Places, cosine: Array, sine: Array) -> None:
    first, second = rows[p], rows[q]
    rows[p], rows[q] = cosine * first - sine * second, sine * first + cosine * second


def _times(a: Array, b: Array) -> Array:
    """Each entry of ``a`` by all of ``b``."""
    return np.asarray(np.multiply.outer(a, b))


def _size(A: Array) -> int:
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InvalidInput(f"the matrix must be square; its shape is {A.shape}.")
    return len(A)
