"""Closed forms for open channels: what a tapped transcript amounts to (THEORY, section 4, and beyond it).

Every message is public, so ``D = z - z(0)`` is, and all that a node's messages add is ``e_ij + 2 c A_ij x_i`` at its
first wake. Whatever ``theta`` and the schedule, a prefix in which the honest nodes ``F`` have woken is therefore
equivalent to

    Y_i = q_i + sum_{j honest} A_ij u_ij + Q_i t_K,    i in F,

with ``u_ij ~ N(0, sigma^2/2)``, one per edge between honest nodes, and ``t_K ~ N(0, sigma^2 / (2 c^2 m_K))``, one per
connected component ``K`` of ``F``: a shift of all its ``x``, which the messages show only through the pads of the
``m_K`` edges at ``K``. A corrupt neighbour knows the pads of its edges, and with them the shift: ``t_K = 0``. So the
noise has the covariance

    (sigma^2/2) (diag(honest degrees) - W_FF + sum_K Q_K Q_K' / (c^2 m_K)),

which is ``(sigma^2/2) L_h`` when all have woken: its kernel, the sum over each honest component, is disclosed exactly.
``R`` runs with fresh pads divide it by ``R``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from ..costs.base import Array
from ..errors import Unsupported
from .adversary import Nodes, groups, honest_components
from .posterior import Posterior, diagonal_blocks, observe
from .secrets import Secrets, entries
from .views import Answer, Leaks, leaks

GROUPS = 2_000  # unknowns of the coarse problem, which is solved directly


@dataclass(frozen=True, eq=False)
class OpenView:
    """A prefix over open channels, as its closed form."""

    secrets: Secrets
    corrupt: frozenset[int]
    woken: npt.NDArray[np.bool_]  # who has sent at least one message
    c: float
    public: bool = False  # whether an eavesdropper is told the answer

    def leaks(self, variance: float, nodes: Nodes | None = None) -> Leaks:
        """For pads of this variance (divided by the number of runs): all nodes, or the chosen ones by sparse solves."""
        return _dense(self, variance) if nodes is None else _sparse(self, variance, nodes)

    @property
    def complete(self) -> bool:
        """Whether every honest node has sent something."""
        return bool(self.woken[self.honest].all())

    @property
    def honest(self) -> npt.NDArray[np.bool_]:
        honest = np.ones(self.secrets.n, dtype=bool)
        honest[list(self.corrupt)] = False
        return honest

    @property
    def senders(self) -> Nodes:
        """``F``: the honest nodes that have woken."""
        return np.flatnonzero(self.honest & self.woken)

    def laplacian(self) -> sparse.csr_array[Any]:
        """``diag(honest degrees) - W`` on ``F``."""
        W = self.secrets.problem.network.adjacency.astype(np.float64)
        F, H = self.senders, np.flatnonzero(self.honest)
        degrees = W[F][:, H].sum(axis=1)
        return sparse.csr_array(sparse.diags_array(degrees) - W[F][:, F])

    def shifts(self) -> list[tuple[Nodes, float]]:
        """``(K, 1/(c^2 m_K))`` for the components of ``F`` whose shift nobody knows."""
        network, found = self.secrets.problem.network, []
        for K in groups(network, self.honest & self.woken):
            ends = np.isin(network.edges, K)
            if not np.isin(network.edges[ends.any(axis=1)], list(self.corrupt)).any():
                found.append((K, 1 / (self.c**2 * float(ends.any(axis=1).sum()))))
        return found


def _dense(view: OpenView, variance: float) -> Leaks:
    """All nodes at once, any prefix, any prior: a few dense products."""
    secrets, w, F = view.secrets, view.secrets.width, view.senders
    answer = Answer(secrets, view.corrupt, view.public)
    place = np.searchsorted(answer.honest, F)
    Q_F = secrets.hessian(F).toarray()
    A = np.zeros((len(Q_F), len(answer.K)))
    A[:, entries(place, w)] = Q_F
    N = (variance / 2) * np.kron(view.laplacian().toarray(), np.eye(w))
    for nodes, scale in view.shifts():
        inside = entries(np.searchsorted(F, nodes), w)
        Q_K = np.vstack([Q_F[np.ix_(rows, rows)] for rows in inside.reshape(-1, w)])
        N[np.ix_(inside, inside)] += (variance / 2) * scale * (Q_K @ Q_K.T)
    # Where all of a group has woken, 1'Y is the sum over it: a constant, once the answer is known. To an eavesdropper
    # it is the sum and the shift, which stays unknown.
    regular = np.zeros_like(N)
    size = float(np.trace(N) + np.trace(A @ answer.K @ A.T)) / max(1, len(N))
    for group in answer.groups:
        if view.woken[group].all() and (view.corrupt or not variance):
            rows = entries(np.searchsorted(F, group), w)
            regular[np.ix_(rows, rows)] += size * np.kron(np.ones((len(group), len(group))), np.eye(w))
    left = observe(answer.given, A, N, w, regular)
    if view.complete and view.corrupt and variance > np.diag(A @ answer.K @ A.T).max(initial=0.0):
        # The view holds the answer, so both leave the same; apart from it, the mask would drown the answer in rounding.
        before = diagonal_blocks(answer.K, w)
        seen = Posterior(before, left.after, before - left.after)
    else:
        seen = observe(answer.K, A, N, w)
    return leaks(answer, answer.honest, seen, left, complete=view.complete, heard=view.woken)


def _sparse(view: OpenView, variance: float, nodes: Nodes) -> Leaks:
    """Chosen nodes of a large network, one sparse solve each, once all have woken; independent scalar secrets.

    With ``D = Cov q`` diagonal, ``N`` the noise and ``d = D 1`` on the node's component, given the sum ``1'q``:
    ``(D + N) g = D e_i - d D_ii / 1'd`` has ``d'g = 0``, so ``g`` is also the best estimator given the sum, and what
    the view adds is ``g'(D e_i - d D_ii / 1'd)``, without a subtraction of large numbers.
    """
    secrets = view.secrets
    if secrets.K.ndim != 1 or secrets.width != 1 or not view.complete:
        raise Unsupported(
            f"{secrets.n} nodes need a prior of independent secrets, isotropic costs and the whole transcript."
        )
    if view.public:
        raise Unsupported("answer='public' is for all nodes at once: leave nodes out.")
    F = view.senders
    a, D = secrets.Q[F], secrets.Q[F] ** 2 * secrets.K[F]
    L = (variance / 2) * view.laplacian()
    shift = np.sqrt(variance / 2 * sum(scale for _, scale in view.shifts())) * a
    solve = _solver(sparse.csr_array(sparse.diags_array(D) + L), shift)
    found = honest_components(secrets.problem.network, view.corrupt) if view.corrupt else []
    of_group = np.array([np.where(np.isin(F, group), D, 0.0) for group in found] or [np.zeros(len(F))])  # d
    blocks = np.zeros((4, len(nodes), 1, 1))
    before, given, after, gained = blocks
    for at, i in enumerate(nodes):
        k = int(np.searchsorted(F, i))
        d = of_group[np.argmax(of_group[:, k])]
        total = d.sum() or np.inf
        target = -d * (D[k] / total)
        target[k] += D[k]
        g = solve(target)
        off = -g
        off[k] += 1.0
        inside = d > 0
        spread = np.where(inside, off - (d @ off) / total, off)  # Cov q given the sum, as a sum of squares
        before[at], given[at] = D[k], D[k] - D[k] ** 2 / total
        gained[at] = target @ g
        after[at] = D @ spread**2 + g @ (L @ g) + (shift @ g) ** 2
    before, given, after, gained = blocks / secrets.Q[nodes][None, :, None, None] ** 2
    left = Posterior(given, after, gained)
    # Where the answer is part of the view, the view alone leaves what is left given both.
    seen = Posterior(before, after, before - after) if view.corrupt else left
    answer = Answer(secrets, view.corrupt)
    return leaks(answer, nodes, seen, left, complete=True, heard=view.woken)


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
