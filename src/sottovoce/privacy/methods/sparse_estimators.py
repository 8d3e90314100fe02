"""Best estimators of single secrets on large networks: by one sparse factorisation, or by conjugate gradients.

``M = D + N``, with ``N = (sigma^2/2) L_h``, is nearly singular under a large mask: along the constants of a component
only ``D`` is left. Both ways keep away from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, cg, splu

from ...costs.base import Array
from ...errors import Unsupported
from ..adversary import Nodes

FEW = 20  # nodes up to which conjugate gradients are tried first
MANY = 1_000  # nodes up to which they are tried at all
SOLVES = 6e10  # entries of factors times right-hand sides: about a minute
GROUPS = 2_000  # unknowns of the coarse problem, which is solved directly

Estimators = Callable[[Nodes], Array]


def estimators_of(
    N: sparse.csr_array[Any], D: Array, shift: Array, group: Nodes, total: Array, count: int
) -> Estimators:
    """For nodes that are asked for, of which there will be ``count``, columns ``g`` that solve
    ``(D + N + shift shift') g = D e_i - d D_ii / total``, but for a constant on components whose total is known."""
    cost = count * _envelope(N)
    if count > FEW and cost <= SOLVES:
        return _direct(N, D, shift, group, total)
    if count > MANY:
        raise Unsupported(
            f"{count:,} nodes of this network would take some {cost:.0e} multiplications; at most {SOLVES:.0e} are "
            f"tried. Name up to {MANY:,} nodes that you ask about: nodes=[0, 1]."
        )
    return _iterative(N, D, shift, group, total)


def _envelope(N: sparse.csr_array[Any]) -> float:
    """At most so many entries does a factor have, in the order of Cuthill and McKee."""
    order = reverse_cuthill_mckee(N, symmetric_mode=True)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = first = np.arange(len(order))
    np.minimum.at(first, np.repeat(place, np.diff(N.indptr)), place[N.indices])
    return float((np.arange(len(order)) - first + 1).sum())


def _direct(N: sparse.csr_array[Any], D: Array, shift: Array, group: Nodes, total: Array) -> Estimators:
    """One node ``r`` of every component is put aside, the best connected one; ``A`` is the inverse of ``M`` without it.

    Where the total is known, ``g_r`` may be 0. The other equations are then ``g = A (D_ii e_i - d D_ii / total) +
    alpha A d`` with ``alpha total = d'g``; in ``total - d'A d = D_r - d'A m_r``, ``m_r`` the column of ``r``, the right
    side is a sum of positive numbers. Otherwise ``g_r`` and ``y = shift'g`` are two more unknowns.
    """
    M = sparse.csc_array(sparse.diags_array(D) + N)
    order = np.lexsort((-N.diagonal(), group))
    aside = order[np.diff(group[order], prepend=-1) > 0]
    rest = np.setdiff1d(np.arange(len(D)), aside)
    settings: dict[str, Any] = {
        "permc_spec": "MMD_AT_PLUS_A",
        "diag_pivot_thresh": 0.0,
        "options": {"SymmetricMode": True},
    }
    factor = splu(sparse.csc_array(M[rest][:, rest]), **settings) if len(rest) else None  # None: all are alone

    def inverse(columns: Array) -> Array:
        """``A``, with zeros at the nodes put aside."""
        found = np.zeros_like(columns)
        if factor is not None:
            found[rest] = factor.solve(np.ascontiguousarray(columns[rest]))
        return found

    def of_units(at: Nodes) -> Array:
        units = np.zeros((len(D), len(at)))
        units[at, np.arange(len(at))] = D[at]
        return inverse(units)

    m = M[:, aside].sum(axis=1)
    m[aside] = 0.0
    if np.isfinite(total).all():
        Ad, Am = inverse(np.column_stack([D, m])).T
        Am[aside] = -1.0
        dAd, left = (np.bincount(group, D * values)[group] for values in (Ad, -Am))

        def given_sums(at: Nodes) -> Array:
            alpha = D[at] * (Ad[at] - dAd[at] / total[at]) / left[at]
            mine = group[:, None] == group[at]
            return np.asarray(of_units(at) + mine * (alpha - D[at] / total[at]) * Ad[:, None])

        return given_sums

    (r,) = aside
    border = np.column_stack([m, shift])
    border[r] = 0.0
    A_border = inverse(border)
    small = np.array([[M[r, r], shift[r]], [shift[r], -1.0]]) - border.T @ A_border

    def with_shift(at: Nodes) -> Array:
        sides = -D[at] * A_border[at].T
        sides[0, at == r] = D[r]
        more = np.linalg.solve(small, sides)
        g = of_units(at) - A_border @ more
        g[r] = more[0]
        return g

    return with_shift


def _iterative(N: sparse.csr_array[Any], D: Array, shift: Array, group: Nodes, total: Array) -> Estimators:
    solve = _solver(sparse.csr_array(sparse.diags_array(D) + N), shift)

    def one_by_one(at: Nodes) -> Array:
        columns = np.zeros((len(D), len(at)))
        for column, k in zip(columns.T, at, strict=True):
            target = np.where(group == group[k], -D * (D[k] / total[k]), 0.0)
            target[k] += D[k]
            column[:] = solve(target)
        return columns

    return one_by_one


def _solver(M: sparse.csr_array[Any], shift: Array) -> Callable[[Array], Array]:
    """``(M + shift shift')^{-1}`` by conjugate gradients, preconditioned on two levels: the diagonal, and groups.

    What the diagonal leaves are the smooth parts of a long graph; on groups of neighbours they are a small problem.
    """
    group = _aggregates(M)
    P = sparse.csr_array((np.ones(len(group)), (np.arange(len(group)), group)))
    small = np.bincount(group, shift)
    coarse = linalg.cho_factor((P.T @ M @ P).toarray() + np.outer(small, small))
    diagonal = M.diagonal() + shift**2

    def both_levels(r: Array) -> Array:
        return np.asarray(r.ravel() / diagonal + linalg.cho_solve(coarse, np.bincount(group, r.ravel()))[group])

    full = LinearOperator(M.shape, matvec=lambda v: M @ v.ravel() + shift * (shift @ v.ravel()), dtype=np.float64)
    preconditioner = LinearOperator(M.shape, matvec=both_levels, dtype=np.float64)

    def solve(target: Array) -> Array:
        # What is asked for are quadratic forms, whose error is the square of this one.
        g, failed = cg(full, target, rtol=1e-10, maxiter=20_000, M=preconditioner)
        if failed:
            raise Unsupported("conjugate gradients failed: the variances of mask and prior are too far apart.")
        return np.asarray(g)

    return solve


def _aggregates(M: sparse.csr_array[Any]) -> npt.NDArray[np.int64]:
    """Groups of neighbours, and groups of groups, until there are at most ``GROUPS``."""
    label, graph = np.arange(M.shape[0]), M
    while graph.shape[0] > GROUPS:
        part, count = np.full(graph.shape[0], -1), 0
        for i in range(graph.shape[0]):
            if part[i] < 0:
                around = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
                part[around[part[around] < 0]] = count
                part[i] = count
                count += 1
        if count == graph.shape[0]:
            break
        label = part[label]
        P = sparse.csr_array((np.ones(len(part)), (np.arange(len(part)), part)))
        graph = sparse.csr_array(P.T @ graph @ P)
    return label
