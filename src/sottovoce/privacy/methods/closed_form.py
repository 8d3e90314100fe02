"""Closed forms for open channels: what a tapped transcript amounts to (theory: Open channels, and all prefixes).

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

With a penalty per edge ``c^2 m_K`` is the sum of ``c_ij^2`` over those edges. With messages over an overlay the
components ``K``, their edges and the corrupt neighbours that know a shift are those of the overlay; the sum over ``j``
stays that over all edges of the network, since pads lie on all (theory: Fewer messages). So once all have woken neither
``c`` nor the overlay changes what a coalition sees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...errors import Unsupported
from ...network import Network
from ...pdmm.overlay import Overlay
from ...pdmm.penalties import Penalty, squares
from ..adversary import Nodes, groups, honest_components
from .given_sums import diagonal_work
from .leaks import Answer, Leaks, leaks
from .many_coalitions import LARGE, all_nodes, whole_transcripts
from .posterior import Posterior, blocks, conditioned, diagonal_blocks, observe
from .removed_coalitions import keeps_digits
from .secrets_and_prior import Secrets, entries
from .sparse_estimators import estimators_of

DENSE = 3_000  # entries of secrets up to which all nodes are done by dense matrices
INVERSES = 3e12  # multiplications that the diagonals of inverses may take: about a minute
BLOCK = 32  # nodes of a large network that are done together


@dataclass(frozen=True, eq=False)
class OpenView:
    """A prefix over open channels, as its closed form."""

    secrets: Secrets
    corrupt: frozenset[int]
    woken: npt.NDArray[np.bool_]  # who has sent at least one message
    c: Penalty
    public: bool = False  # whether an eavesdropper is told the answer
    overlay: Overlay | None = None
    unread: bool = False  # whether of every edge with messages one pad is overwritten before anybody has read it

    def leaks(self, variance: float, nodes: Nodes | None = None) -> Leaks:
        """For pads of this variance (divided by the number of runs): all nodes, or the chosen ones by sparse solves."""
        v, everybody = self.pads * variance, np.flatnonzero(self.honest)
        if nodes is not None:
            return _sparse(self, v, nodes)
        if not self.is_stackable:
            return _dense(self, v)
        found = all_nodes(self.secrets, self.corrupt, v, self.strength) if self.at_once(variance) else None
        if found is None and self.secrets.n > DENSE:
            return _sparse(self, v, everybody)
        return found or next(whole_transcripts(self.secrets, [self.corrupt], v, self.strength))

    def at_once(self, variance: float) -> bool:
        """Whether all nodes of a large network are had from diagonals of inverses."""
        if not self.is_stackable or self.secrets.n < LARGE or not keeps_digits(self.secrets, self.pads * variance):
            return False
        return diagonal_work(self.secrets.problem.network.adjacency) <= INVERSES

    @property
    def pads(self) -> float:
        """How often the variance of a pad counts on every edge: a mean of two has half of what one alone has."""
        return 2.0 if self.unread and self.overlay is None else 1.0

    @property
    def talking(self) -> Network:
        """Over whose edges messages go."""
        return self.secrets.problem.network if self.overlay is None else self.overlay.network

    @property
    def strength(self) -> float:
        """The sum of ``c^2`` over the edges with messages: how well taps see a shift of all ``x``."""
        return squares(self.c, self.talking)

    @property
    def is_stackable(self) -> bool:
        """Whether it is one of those that ``many_coalitions`` does, many at a time."""
        plain = not self.public and (self.overlay is None or not self.unread)
        return self.secrets.width == 1 and self.secrets.K.ndim == 1 and self.complete and plain

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
        if self.unread and self.overlay is not None:  # on edges with messages one pad alone hides
            W = W + self.talking.adjacency
        F, H = self.senders, np.flatnonzero(self.honest)
        degrees = W[F][:, H].sum(axis=1)
        return sparse.csr_array(sparse.diags_array(degrees) - W[F][:, F])

    def shifts(self) -> list[tuple[Nodes, float]]:
        """``(K, 1/(c^2 m_K))`` for the components of ``F`` whose shift nobody knows."""
        network, found = self.talking, []
        for K in groups(network, self.honest & self.woken):
            at = np.asarray(np.isin(network.edges, K).any(axis=1))
            if not np.isin(network.edges[at], list(self.corrupt)).any():
                found.append((K, 1 / squares(self.c, network, at)))
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
    # Where all of a group has woken, 1'Y is the sum over it, without a mask. It is taken as that, as the mask would
    # drown it in rounding, and the largest of the group then has nothing to add. To an eavesdropper 1'Y is the sum and
    # the shift, which stays unknown.
    plain = bool(view.corrupt) or not variance
    held = np.array([plain and view.woken[group].all() for group in answer.groups], dtype=bool)
    sizes = np.diag(A @ answer.K @ A.T).reshape(-1, w).sum(axis=1)
    places = [np.searchsorted(F, group) for group, known in zip(answer.groups, held, strict=True) if known]
    rest = entries(np.setdiff1d(np.arange(len(F)), [own[np.argmax(sizes[own])] for own in places]), w)
    A, N = A[rest], N[np.ix_(rest, rest)]
    left = replace(observe(answer.root_given, A, N, w), before=answer.given)
    root, told_by = conditioned(answer.root, answer.sums[np.repeat(held, w)])
    besides = left if held.all() and len(held) else observe(root, A, N, w)
    seen = Posterior(diagonal_blocks(answer.K, w), besides.after, besides.gained + blocks(told_by, w))
    told = view.public and not view.corrupt
    return leaks(answer, answer.honest, seen, left, complete=view.complete, heard=view.woken, told=told)


def _sparse(view: OpenView, variance: float, nodes: Nodes) -> Leaks:
    """Chosen nodes of a large network, or all, once everybody has woken; independent scalar secrets.

    With ``D = Cov q`` diagonal, ``N`` the noise and ``d = D 1`` on the node's component, given the sum ``1'q``:
    ``(D + N) g = D e_i - d D_ii / 1'd`` has ``d'g = 0``, so ``g`` is also the best estimator given the sum, and what
    the view adds is ``g'(D e_i - d D_ii / 1'd)``, without a subtraction of large numbers. A constant on the component
    may be added to ``g`` without changing anything.
    """
    secrets = view.secrets
    if secrets.K.ndim != 1 or secrets.width != 1 or not view.complete:
        raise Unsupported(
            f"{secrets.n} nodes need a prior of independent secrets, isotropic costs and the whole transcript."
        )
    if view.public:
        raise Unsupported("answer='public' is for all nodes at once: leave nodes out.")
    F = view.senders
    D = secrets.Q[F] ** 2 * secrets.K[F]
    N = (variance / 2) * view.laplacian()
    shift = np.sqrt(variance / 2 * sum(scale for _, scale in view.shifts())) * secrets.Q[F]
    group = np.zeros(len(F), dtype=np.int64)
    for k, members in enumerate(honest_components(secrets.problem.network, view.corrupt)):
        group[np.searchsorted(F, members)] = k
    total = np.asarray(np.bincount(group, D)[group] if view.corrupt else np.full(len(F), np.inf), dtype=np.float64)
    places = np.searchsorted(F, nodes)
    estimators = estimators_of(N, D, shift, group, total, len(nodes))
    before = secrets.K[nodes]
    given = before - before * D[places] / total[places]
    after, gained = np.zeros((2, len(places)))
    for some in np.array_split(np.arange(len(places)), -(-len(places) // BLOCK)):
        at, columns = places[some], np.arange(len(some))
        g = estimators(at)
        off = -g
        off[at, columns] += 1.0
        # Cov q given the sum, as a sum of squares.
        spread = np.where(group[:, None] == group[at], off - (D @ off) / total[at], off)
        gained[some] = D[at] * (g[at, columns] - (D @ g) / total[at])
        after[some] = D @ spread**2 + (g * (N @ g)).sum(axis=0) + (shift @ g) ** 2
    each = (before, given, after / secrets.Q[nodes] ** 2, gained / secrets.Q[nodes] ** 2)
    before, given, after, gained = (values[:, None, None] for values in each)
    left = Posterior(given, after, gained)
    # Where the answer is part of the view, the view alone leaves what is left given both.
    seen = Posterior(before, after, before - after) if view.corrupt else left
    answer = Answer(secrets, view.corrupt)
    return leaks(answer, nodes, seen, left, complete=True, heard=view.woken)
