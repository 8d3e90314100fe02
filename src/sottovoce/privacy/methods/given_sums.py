"""What pads leave of a precision once the sums are known, without a difference of large numbers.

On a connected graph with ``D = Cov q`` diagonal, ``d = D 1`` and noise ``N = (sigma^2/2) L``, the precision of ``q``
given ``Y = q + N(0, N)`` is read off ``(D + N)^{-1}``, which under a large mask is all but the constant ``1 1'/1'd``:
what the sum ``1'q`` tells. The rest, which the procedure tells, is

    E = (D + N)^{-1} - 1 1'/1'd,    E d = 0,

and of the variance of ``q_i`` the view explains ``D_i^2 E_ii`` beyond the sum (theory: Many coalitions). With ``A`` the
inverse of ``D + N`` without one node ``r``, zero there, ``m`` the column of ``r`` and ``P = I - 1 d'/1'd``,

    E = P A P' + (P A d)(P A d)' / (D_r - d'A m),

a sum of squares; in the denominator is a sum of positive numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...costs.base import Array
from ...network import Network
from ..adversary import Nodes
from .selected_inverse import Levels, inverse, levels_of, work_of

LOST = 1e-5  # share of a number below which a difference from it is not trusted


def beyond_the_sum(N: sparse.csr_array[Any], D: Array) -> Array:
    """``E``, as a matrix."""
    r, rest, m = _aside(N)
    M = sparse.csr_array(sparse.diags_array(D) + N)
    A = np.zeros((len(D), len(D)))
    A[np.ix_(rest, rest)] = inverse(M[rest][:, rest].toarray())
    Ad = A @ D
    total, away, left = _beyond(D, Ad, D[r], A @ m)
    A -= Ad[:, None] / total
    A -= away / total
    A += np.outer(away, away / left)
    return A


def diagonal_beyond_the_sum(N: sparse.csr_array[Any], D: Array, Q: Array) -> tuple[Array, Array] | None:
    """The diagonal of ``E``, and ``E Q``, of two nodes or more; None where digits were lost."""
    r, rest, m = _aside(N)
    M = sparse.csr_array(sparse.diags_array(D) + N)
    place = np.cumsum(np.arange(len(D)) != r) - 1
    levels = [place[level[level != r]] for level in levels_of(N)]
    factor = Levels(sparse.csr_array(M[rest][:, rest]), [level for level in levels if len(level)])
    A, solved = np.zeros(len(D)), np.zeros((len(D), 3))
    A[rest], solved[rest] = factor.diagonal(), factor.solve(np.column_stack([D, m, Q])[rest])
    Ad, Am, AQ = solved.T
    total, away, left = _beyond(D, Ad, D[r], Am)
    E = A - Ad / total - away / total + away**2 / left
    if not (E >= LOST * A).all():
        return None
    y = AQ - Ad * (Q.sum() / total)
    return E, y - D @ y / total + away * ((away @ Q) / left)


def overheard(E: Array, EQ: Array, D: Array, Q: Array, shift: float) -> Array | None:
    """The diagonal of ``(D + N + shift Q Q')^{-1}``, from that of ``E``: what taps without a corrupt node see, to whom
    neither the sum is known nor a ``shift`` of all ``x``. None where digits were lost."""
    total, q, QEQ = D.sum(), Q.sum(), Q @ EQ
    known = 1 + shift * (QEQ + q**2 / total)
    found = E + ((1 + shift * QEQ) / total - shift * EQ * (EQ + 2 * q / total)) / known
    return np.asarray(found) if (found >= LOST * E).all() else None


def diagonal_work(graph: sparse.csr_array[Any]) -> float:
    """Of ``diagonal_beyond_the_sum``, in multiplications, about."""
    return work_of(levels_of(graph))


def laplacian(network: Network, corrupt: frozenset[int] = frozenset()) -> sparse.csr_array[Any]:
    """Degrees on the diagonal, -1 for every edge; edges of corrupt nodes are none."""
    honest = np.ones(network.n)
    honest[list(corrupt)] = 0.0
    W = sparse.csr_array(network.adjacency * honest * honest[:, None])
    return sparse.csr_array(sparse.diags_array(W.sum(axis=1)) - W)


def _beyond(D: Array, Ad: Array, aside: float, Am: Array) -> tuple[float, Array, float]:
    """``1'd``, ``P A d`` and ``D_r - d'A m``."""
    total = float(D.sum())
    return total, Ad - D @ Ad / total, float(aside - D @ Am)


def _aside(N: sparse.csr_array[Any]) -> tuple[int, Nodes, Array]:
    """The best connected node, the others, and its column without itself."""
    r = int(np.argmax(N.diagonal()))
    m = N[:, [r]].toarray()[:, 0]
    m[r] = 0.0
    return r, np.delete(np.arange(N.shape[0]), r), m
