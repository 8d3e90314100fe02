"""All coalitions from one matrix: what is left of ``E`` (``given_sums``) when a few nodes are taken out of the graph
(theory: Many coalitions).

Given the sum, ``q`` of a connected graph is seen through ``K = N + D - d d'/1'd``, a Laplacian: ``K E = I - d 1'/1'd``.
A coalition ``C`` leaves on the honest nodes ``H``, with components ``k``, the Laplacian of each one,

    K_H = K_HH - V S V',    V = (e_b for the neighbours b of C, d_k/1'd_k for the components k),

``K_HH`` being ``K`` with ``C`` held at zero, and ``S`` what is taken away: ``sigma^2/2`` per link of ``b`` to ``C``,
and of the components ``diag(1'd_k) - (1'd_k)(1'd_j)/1'd``, since each sum is known now. So with ``G = (K_HH)^{-1}``,
which is ``E`` less what passes through ``C``,

    X = G + G V S (I - V'G V S)^{-1} V'G

inverts ``K_H`` (Woodbury), where of every component one link to zero is kept: without it ``K_H`` is singular, and with
it nothing changes, as a current that enters and leaves inside the component does not pass it. At last
``E_H = P X P'`` with ``P = I - 1 d_k'/1'd_k``. That is ``n r^2`` multiplications for ``r`` links, not ``n^3``.

Whether digits were lost shows: the row of ``X`` at a node whose link was kept is constant, and known. A coalition of
which that, or a difference, is not accurate, is left to ``many_coalitions``.
"""

from __future__ import annotations

import numpy as np

from ...costs.base import Array
from ..adversary import Nodes
from .given_sums import LOST, beyond_the_sum, laplacian
from .secrets_and_prior import Secrets

LEFT = 1e-3  # share of a variance that must be left if it is to be had as a difference
ACCURATE = 1e-11  # relative to what is asked for: how far a number that is known may be off


def keeps_digits(secrets: Secrets, variance: float) -> bool:
    """Whether what is left of every variance can be had as a difference: the least that one honest neighbour leaves
    (``worst_coalition._bounded``) is no tiny share of it. Nor is then the sum of all others, of any."""
    if not variance > 0:
        return False
    D = secrets.Q**2 * secrets.K
    ends = secrets.problem.network.edges
    one, other = ends[:, 0], ends[:, 1]
    rest = 1 / (1 / D + 2 / variance)
    least = min((rest[one] / (D[other] + rest[one])).min(), (rest[other] / (D[one] + rest[other])).min())
    return bool(least > LEFT)


class Removal:
    """``E`` of the whole network at one variance, and what coalitions make of it."""

    def __init__(self, secrets: Secrets, variance: float) -> None:
        self.network, self.D, self.pad = secrets.problem.network, secrets.Q**2 * secrets.K, variance / 2
        self.E = beyond_the_sum(self.pad * laplacian(self.network), self.D)

    def diagonal(self, corrupt: frozenset[int], group: Nodes) -> Array | None:
        """``E_ii`` of every honest node, ``group`` being the number of its component; None where digits were lost."""
        try:
            return self._diagonal(sorted(corrupt), group)
        except np.linalg.LinAlgError:  # all of them
            return None

    def _diagonal(self, C: list[int], group: Nodes) -> Array | None:
        D = self.D.copy()
        D[C] = 0.0
        around, links = self._boundary(C)
        parts, kept = np.unique(group[around], return_index=True)
        inside = group == parts[:, None]
        total = inside @ D
        shares = inside * D / total[:, None]
        held = _Held(self.E, self.D, C)

        VG, r = np.vstack([held.rows(around), held.of_shares(shares, D, total)]), len(around)
        VGV = np.hstack([VG[:, around], VG @ shares.T])
        taken = self.pad * links
        strength = taken[kept] + D[around[kept]]
        taken[kept] -= strength
        known = np.diag(total) - np.outer(total, total / self.D.sum())
        inner = np.eye(len(VG)) - np.hstack([VGV[:, :r] * taken, VGV[:, r:] @ known])  # I - V'G V S
        Y = np.linalg.solve(inner, VG)
        Y[:r] *= taken[:, None]
        Y[r:] = known @ Y[r:]

        X = held.diagonal() + np.einsum("ki,ki->i", VG, Y)
        Xd = VG[r:] + (Y @ shares.T).T @ VG  # of the share of each component, a row each
        mean, own = np.einsum("ki,ki->k", Xd, shares), np.argmax(inside, axis=0)
        E = X - 2 * Xd[own, np.arange(len(D))] + mean[own]
        off = np.abs(VG[kept] + VG[:, around[kept]].T @ Y - inside / strength[:, None]).max(axis=0)
        asked = (D > 0) & (inside.sum(axis=1) > 1)[own]
        right = (E >= LOST * X) & (off <= ACCURATE * E)
        return E if right[asked].all() else None

    def _boundary(self, C: list[int]) -> tuple[Nodes, Nodes]:
        """The honest neighbours of a coalition, and how many links each has to it."""
        around, links = np.unique(np.concatenate([self.network.around(i) for i in C]), return_counts=True)
        honest = ~np.isin(around, C)
        return around[honest], links[honest]


class _Held:
    """``G``: ``E`` with a coalition held at zero, one node after the other."""

    def __init__(self, E: Array, D: Array, C: list[int]) -> None:
        self.E, self.D, self.C = E, D, C
        others = self._first(C[1:])
        self.passing = np.linalg.solve(others[:, C[1:]], others) if len(C) > 1 else others

    def _first(self, nodes: Nodes | list[int]) -> Array:
        """The rows where the first alone is held."""
        E, c = self.E, self.C[0]
        return np.asarray(E[nodes] - E[nodes, c][:, None] - (E[c] - E[c, c]))

    def rows(self, nodes: Nodes) -> Array:
        rows = self._first(nodes)
        return rows - rows[:, self.C[1:]] @ self.passing if len(self.C) > 1 else rows

    def diagonal(self) -> Array:
        E, c = self.E, self.C[0]
        found = E.diagonal() - 2 * E[c] + E[c, c]
        if len(self.C) > 1:
            found -= np.einsum("ki,ki->i", self._first(self.C[1:]), self.passing)
        return np.asarray(found)

    def of_shares(self, shares: Array, D: Array, total: Array) -> Array:
        """``G d_k/1'd_k``: small components by their rows, the largest by what is left of ``G d``, as ``E d = 0``."""
        E, c = self.E, self.C[0]
        whole = self.D.sum() * (E[c, c] - E[c])
        if len(self.C) > 1:
            whole = whole - self.D[self.C[1:]] @ self._first(self.C[1:])
            whole -= whole[self.C[1:]] @ self.passing
        largest = int(np.argmax((shares > 0).sum(axis=1)))
        found = np.zeros_like(shares)
        for k, share in enumerate(shares):
            if k != largest:
                members = np.flatnonzero(share)
                found[k] = share[members] @ self.rows(members)
        found[largest] = (whole - total @ found) / total[largest]
        return found
