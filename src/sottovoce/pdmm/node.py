"""One party, without I/O: no sockets, no clock, no random generator inside. Whoever drives it brings those.

This is the form that survives loss (theory: Messages). With ``z = z(0) + D`` a node collapses its pads once, into

    nu_i = sum_j A_ij' z_{i|j}(0)            a tilt of its cost, f_i(x) + nu_i'x
    e_ij = z_{i|j}(0) - z_{j|i}(0)           one offset per neighbour

and forgets them. A quadratic cost it collapses too, into ``w_i = q_i + nu_i`` by exact summation, and forgets ``q_i``:
every float that follows is a function of ``(w_i, e)``, so rounding tells nobody more than ``(w_i, e)`` does. (Other
costs keep their data, since their steps need them, and their rounding may tell.)

What it sends is ``r_{j|i} = y_{j|i} - z_{j|i}(0)``, which reveals exactly what the paper's differences reveal, but
survives loss: the receiver forms ``D_{j|i} <- (1 - theta) D_{j|i} + theta r_{j|i}`` from the newest ``r`` alone, and a
lost message is exactly ``U_{j|i} = 0``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..costs import Cost, Quadratic
from ..costs.base import Array
from ..errors import InvalidInput, is_number
from ..network.edge_constraints import penalty
from ..numerics.grid import lattice, nearest, on_grid
from ..numerics.unquoted import kind_of
from .penalties import by_half_edge, checked_penalty
from .problem import Problem

UNKNOWN_CURVATURE = 1.0  # of costs without a quadratic form: a public number, since their own would tell of their data
FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class Message:
    """What one node tells another: ``r_{receiver|sender}``.

    Parameters
    ----------
    sender, receiver : int
        Two neighbours.
    counter : int
        From 1; it grows with every message of this half-edge.
    r : array
        What is said, as many numbers as the edge has rows.

    Examples
    --------
    >>> import sottovoce as sv
    >>> node = sv.nodes_of(sv.averaging(sv.Network.ring(3), [1, 2, 6]), c=0.5, theta=1.0)[0]
    >>> [(message.sender, message.receiver, message.counter) for message in node.wake()]
    [(0, 1, 1), (0, 2, 1)]
    """

    sender: int
    receiver: int
    counter: int
    r: Array


@dataclass(frozen=True, eq=False)
class Link:
    """What a node knows of one of its edges: ``A_ij``, ``b_ij``, and the pads ``z_{i|j}(0)`` and ``z_{j|i}(0)``."""

    A: Array | float  # a number stands for that number times I: +-1 under consensus
    b: Array
    held: Array
    written: Array


class Node:
    """Node ``i``: ``wake`` computes and returns messages, ``receive`` takes one in. ``x`` is its current answer.

    Parameters
    ----------
    i : int
        Its number.
    cost : Cost
        Its own, of one node.
    links : mapping of int to Link
        What it knows of the edge to each neighbour, pads among it; they are forgotten at once.
    c : float or mapping of int to float
        Of all edges, or of the edge to each neighbour.
    theta : float
        Of the run: all nodes have the same.
    folded : iterable of Link
        Edges over which nothing is said: their pads hide all the same (theory: Fewer messages).
    grid : float
        That of the pads, ``GaussianMask.grid``: ``q_i`` is rounded to it, for otherwise its bits below the grid show.
        Data that lie on the grid anyway, such as integers under a mask that is not astronomical, do not need it.

    Raises
    ------
    InvalidInput
        Where ``c`` or ``theta`` are out of range, or there is no neighbour; by ``receive``, of a message that is not
        for this node or not what a message must be.

    Examples
    --------
    >>> import sottovoce as sv
    >>> nodes = sv.nodes_of(sv.averaging(sv.Network.ring(3), [1, 2, 6]), c=0.5, theta=1.0)
    >>> for k in range(120):
    ...     for message in nodes[k % 3].wake():
    ...         assert nodes[message.receiver].receive(message)
    >>> [round(float(node.x[0]), 6) for node in nodes]
    [3.0, 3.0, 3.0]
    """

    def __init__(
        self,
        i: int,
        cost: Cost,
        links: Mapping[int, Link],
        *,
        c: float | Mapping[int, float],
        theta: float,
        grid: float = 0.0,
        folded: Iterable[Link] = (),
    ) -> None:
        if not links:
            raise InvalidInput(f"node {i} has no neighbours; it can only solve its own problem.")
        self.neighbours = sorted(links)
        self.c = {j: c.get(j, 0.0) if isinstance(c, Mapping) else c for j in self.neighbours}  # by neighbour
        positive = all(is_number(value) and 0 < value < np.inf for value in self.c.values())
        if not (positive and is_number(theta) and 0 < theta <= 1):
            raise InvalidInput(f"node {i}: c must be positive and theta in (0, 1]; got c={c!r}, theta={theta!r}.")
        self.i, self.theta = i, theta
        folded = list(folded)
        self.A = {j: links[j].A for j in self.neighbours}
        self.b = {j: links[j].b for j in self.neighbours}
        # The pads end here: only their sum and the differences are kept, and of quadratic costs the sum is hidden in w.
        # (Of other costs with a single neighbour the sum is the pad.)
        self.nu = np.zeros(cost.dim)
        self.curvature = UNKNOWN_CURVATURE
        self.size = 0.0  # of w_i, which hides q_i; nothing is said of other costs
        self.form: Quadratic | None = None  # Q_i and w_i
        if cost.quadratic is not None:
            cost = self.form = collapsed(cost, links, grid, folded)
        else:
            for j in self.neighbours:
                self.nu = self.nu + adjoint(self.A[j], links[j].held)
            for link in folded:
                self.nu = self.nu + adjoint(link.A, (link.held + link.written) / 2)
        self.e = {j: links[j].held - links[j].written for j in self.neighbours}
        self.D = {j: np.zeros(len(links[j].b)) for j in self.neighbours}
        self.newest = dict.fromkeys(self.neighbours, 0)
        self.sent = 0
        self.x = np.zeros(cost.dim)
        self.step = cost.bind_from(self._penalty())
        if self.form is not None:
            self._take(self.form)

    def _take(self, form: Quadratic) -> None:
        self.form, self.step = form, form.bind_from(self._penalty())
        self.curvature = smallest_curvature(form.Q)
        self.size = float(np.abs(form.q).max(initial=0.0))

    def _penalty(self) -> Array:
        values = list(self.c.values())
        return penalty(values[0] if len(set(values)) == 1 else values, self.A.values())

    def wake(self) -> list[Message]:
        """Minimise, and say what every neighbour should know (eqs. 2 and 3)."""
        g = np.zeros_like(self.x)
        for j in self.neighbours:
            g = g + adjoint(self.A[j], self.D[j] - (self.c[j] / 2) * self.b[j])
        self.x = self.step((self.nu + g)[None, :], self.x[None, :])[0]
        self.sent += 1
        return [
            Message(self.i, j, self.sent, self.D[j] + self.e[j] + c * (2 * times(self.A[j], self.x) - self.b[j]))
            for j, c in self.c.items()
        ]

    def receive(self, message: Message) -> bool:
        """Take a message in (eq. 5); False where it is old news: a duplicate, or overtaken by a later one."""
        j = message.sender
        if message.receiver != self.i or j not in self.D:
            raise InvalidInput(f"node {self.i} got a message from {j} to {message.receiver}, which is not its edge.")
        r, counter = message.r, message.counter
        if not (isinstance(r, np.ndarray) and r.dtype == np.float64 and r.shape == self.D[j].shape):
            raise InvalidInput(f"node {self.i} got {kind_of(r)} from {j}; expected {len(self.D[j])} finite numbers.")
        if not np.isfinite(r).all():
            raise InvalidInput(f"node {self.i} got NaN or inf from {j}; expected {len(self.D[j])} finite numbers.")
        if isinstance(counter, bool) or not isinstance(counter, int) or counter < 1:
            raise InvalidInput(f"node {self.i} got the counter {counter!r:.80} from {j}; expected an integer >= 1.")
        if counter <= self.newest[j]:
            return False
        self.newest[j] = counter
        self.D[j] = (1 - self.theta) * self.D[j] + self.theta * r
        return True

    # Where a party leaves for good (theory: A party leaves): the pads of its edges are folded at the other ends, as if
    # nothing had ever been said over them. An heir brings what they hid at this end.

    @property
    def estate(self) -> Array | None:
        """What an heir needs to stand in for this node: ``Q_i``, and ``w_i`` as it is where nothing is said over any of
        its edges, a function of ``(w_i, e)``; None where the cost has no quadratic form."""
        if self.form is None:
            return None
        terms = [self.form.q[0], *(-adjoint(self.A[j], self.e[j] / 2) for j in self.neighbours)]
        rest = [math.fsum(entry) for entry in np.stack(terms).T.tolist()]
        return np.concatenate([self.form.Q.ravel(), rest])

    def inherit(self, estate: Array) -> None:
        """Bring to the sum what another node brought, over none of whose edges anything is said."""
        assert self.form is not None
        d = len(self.x)
        own, other = self.form.Q, estate[:-d].reshape((1,) if len(estate) == d + 1 else (1, d, d))
        if own.ndim != other.ndim:
            own, other = (Q[:, None, None] * np.eye(d) if Q.ndim == 1 else Q for Q in (own, other))
        q = self.form.q + estate[-d:]
        self._take(Quadratic.trusted(self.form.shape, own + other, q))


def collapsed(cost: Cost, links: Mapping[int, Link], grid: float, folded: Sequence[Link] = ()) -> Quadratic:
    """``x'Q_i x / 2 + w_i'x`` with ``w_i = q_i + sum_j A_ij' z_{i|j}(0)``, rounded once at most. Of a folded edge it is
    ``(z_{i|j}(0) + z_{j|i}(0)) / 2``, which has opposite signs at its two ends."""
    assert cost.quadratic is not None
    Q, q = cost.quadratic
    said = list(links.values())
    if all(isinstance(link.A, float) and abs(link.A) == 1 for link in (*said, *folded)):
        # Consensus: all terms lie on the grid, so their correctly rounded sum does. For long vectors, too.
        terms = [on_grid(q[0], grid), *(link.A * link.held for link in said)]
        halves = [link.A * (link.held + link.written) / 2 for link in folded]
        sums = [[math.fsum(entry) for entry in np.stack([*terms, *halves]).T.tolist()]]
        return Quadratic.trusted(cost.shape, Q, on_grid(np.array(sums), grid / 2 if halves else grid))
    if folded:
        raise InvalidInput("only edges that say x_i = x_j can be without messages: others are constraints.")
    blocks = [link.A * np.eye(cost.dim) if isinstance(link.A, float) else link.A for link in said]
    A, held = np.concatenate(blocks), [Fraction(v) for link in said for v in link.held]
    grids = lattice(grid, np.abs(A).max(axis=0))
    w = np.empty_like(q)
    for t, own in enumerate(on_grid(q[0], grids)):
        nu = sum((Fraction(a) * v for a, v in zip(A[:, t], held, strict=True) if a), Fraction())
        w[0, t] = nearest(Fraction(own) + nu, grids[t])
    return Quadratic.trusted(cost.shape, Q, w)


def smallest_curvature(Q: Array) -> float:
    """The smallest eigenvalue of ``Q_i``, or next to nothing where that is 0."""
    smallest = Q.min() if Q.ndim == 1 else np.linalg.eigvalsh(Q)[0, 0]
    return max(float(smallest), FLAT)


def times(A: Array | float, v: Array) -> Array:
    return A * v if isinstance(A, float) else A @ v


def adjoint(A: Array | float, v: Array) -> Array:
    return A * v if isinstance(A, float) else A.T @ v


def nodes_of(
    problem: Problem, *, c: float | npt.ArrayLike, theta: float, z0: npt.ArrayLike | None = None, grid: float = 0.0
) -> list[Node]:
    """Every party of a problem as a ``Node``.

    Parameters
    ----------
    problem : Problem
        The network, and a cost for each node.
    c : float or array_like
        Of the run, or one number per edge in the order of ``network.edges``.
    theta : float
        Of the run.
    z0 : array_like, optional
        The pads, in the order of ``network.half_edges``. None is 0.
    grid : float
        That of the pads, see ``Node``.

    Returns
    -------
    list of Node
        In the order of the nodes.

    Raises
    ------
    InvalidInput
        Where ``c`` or ``theta`` are out of range, or ``z0`` does not fit.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(3), [1, 2, 6])
    >>> pads = sv.GaussianMask(variance=1e6).draw((6,))
    >>> [node.neighbours for node in sv.nodes_of(problem, c=0.5, theta=1.0, z0=pads)]
    [[1, 2], [0, 2], [0, 1]]
    """
    network, rows = problem.network, problem.rows
    of_half_edge = by_half_edge(np.broadcast_to(checked_penalty(c, network), network.m), network).tolist()
    z = np.zeros(rows[-1]) if z0 is None else problem.stack_z(z0, None)[:, 0]
    b = np.broadcast_to(problem.b, (len(z), 1))[:, 0]

    def link(h: int) -> Link:
        held = slice(rows[h], rows[h + 1])
        written = slice(rows[network.twin[h]], rows[network.twin[h] + 1])
        A = network.constraints.A[h] if network.constraints is not None else float(network.C.data[h])
        return Link(A, b[held], z[held], z[written])

    def node(i: int) -> Node:
        own = {int(network.indices[h]): h for h in range(network.indptr[i], network.indptr[i + 1])}
        links, of_edge = {j: link(h) for j, h in own.items()}, {j: of_half_edge[h] for j, h in own.items()}
        return Node(i, problem.cost(i), links, c=of_edge, theta=theta, grid=grid)

    return [node(i) for i in range(network.n)]
