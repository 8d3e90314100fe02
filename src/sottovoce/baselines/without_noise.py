"""What a run without noise shows: to taps all numbers, to a coalition those that its neighbours' messages determine.

All that is sent is a linear function of the secrets. So a coalition without taps holds the span of what it was told,
the share of ``S_i`` that it knows is the diagonal of the projector on that span, and the prior does not matter. Such
functionals are faint long before they are nothing: what they span is decided modulo a prime (``prime_field``), and
told in floats where nothing faint is among them.

Iterations with fixed weights need no playing. Of honest nodes ``x_h(k) = p_k(W_hh) s_h``, and
what the coalition knows itself, with polynomials ``p_k`` whose degree grows by one a round: EXTRA, DIGing and Chebyshev
averaging all show, after ``K`` rounds, the Krylov space of ``e_j' W_hh^k``, ``j`` next to the coalition, ``k < K``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs import Averaging
from ..costs.base import Array
from ..network import Network
from ..pdmm.problem import Problem
from ..privacy.adversary import Adversary
from ..privacy.encrypted.prime_field import PRIMES, Span, kernel, product, reciprocal, residue
from .base import Leakage
from .metropolis import metropolis, shares

Nodes = npt.NDArray[np.int64]
FAINT = 1e-7  # of a functional of unit length, what is new in it: below, rounding would show in the digits

DISCLOSED = "messages are functions of data, without noise: whoever sends one is disclosed"
NOTHING = "nothing is seen"
SPANNED = "what the coalition was told, as a span; ranks modulo a prime"
AT_LEAST = f"{SPANNED}; at least, as functionals fainter than {FAINT:g} were left out where a number is not disclosed"


class Space:
    """A span that grows, modulo a prime."""

    def __init__(self, width: int, p: int) -> None:
        self.width, self.p, self.span = width, p, Span(width, p)

    @property
    def rank(self) -> int:
        return self.span.rank

    @property
    def full(self) -> bool:
        return self.rank == self.width

    def zeros(self, count: int) -> Any:
        return np.zeros((count, self.width), dtype=np.int64)

    def unit(self, count: int) -> Any:
        return np.eye(count, self.width, dtype=np.int64)

    def number(self, value: float) -> Any:
        """A float, as the fraction that it stands for."""
        return residue(value, self.p)

    def reduced(self, v: Any) -> Any:
        """After a sum or a product of two."""
        return v % self.p

    def inverse(self, v: Any) -> Any:
        """Of each of them."""
        return np.array([reciprocal(one, self.p) for one in v.tolist()], dtype=np.int64)

    def whole(self, matrix: Any) -> Any:
        """An array of whole numbers."""
        return matrix.astype(np.int64)

    def weights(self, network: Network, honest: Nodes) -> Any:
        """``W_hh``."""
        W, (i, j) = np.zeros((network.n, network.n), dtype=np.int64), network.edges.T
        W[i, j] = W[j, i] = [reciprocal(share, self.p) for share in shares(network).tolist()]
        W[np.arange(network.n), np.arange(network.n)] = (1 - W.sum(axis=1)) % self.p
        return W[np.ix_(honest, honest)]

    def times(self, rows: Any, W: Any) -> Any:
        return product(rows, W, self.p)

    def add(self, rows: Any) -> Any:
        """Take some in; returns a basis of what is new."""
        return self.span.add(rows)

    def holds(self, rows: Any) -> bool:
        """Whether all of them are in it."""
        return not self.span.without(rows).any()


class FloatSpace(Space):
    """Its twin in floats, which leaves out what is faint: an orthonormal basis."""

    def __init__(self, width: int) -> None:
        self.width, self.basis = width, np.zeros((0, width))

    @property
    def rank(self) -> int:
        return len(self.basis)

    def zeros(self, count: int) -> Array:
        return np.zeros((count, self.width))

    def unit(self, count: int) -> Array:
        return np.eye(count, self.width)

    def number(self, value: float) -> float:
        return value

    def reduced(self, v: Array) -> Array:
        return v

    def inverse(self, v: Array) -> Array:
        return 1.0 / v

    def whole(self, matrix: Any) -> Array:
        return np.asarray(matrix, dtype=np.float64)

    def weights(self, network: Network, honest: Nodes) -> Any:
        return metropolis(network)[honest][:, honest]

    def times(self, rows: Array, W: Any) -> Any:
        return rows @ W

    def add(self, rows: Array) -> Array:
        before = self.rank
        for row in rows:
            size = np.linalg.norm(row)
            new = row / size if size > 0 else row
            for _ in range(2):  # twice is enough
                new = new - self.basis.T @ (self.basis @ new)
            if (length := np.linalg.norm(new)) > FAINT:
                self.basis = np.vstack([self.basis, new / length])
        return self.basis[before:]

    def holds(self, rows: Array) -> bool:
        return False  # rounding never says so


def told_by(hear: Callable[[Space], None], n: int, honest: Nodes, copies: int) -> Leakage:
    """What ``hear`` puts into a space over the honest secrets gives away of each of them, ``copies`` times."""
    nats, width = np.full(n, np.nan), len(honest)
    one, *others = (Space(width, p) for p in PRIMES)
    hear(one)
    if one.full or not one.rank:
        nats[honest] = np.inf if one.full else 0.0
        return Leakage(nats, "exact", SPANNED)

    def modulo_others() -> Iterator[Span]:
        for other in others:
            hear(other)
            yield other.span

    unseen = kernel(one.span, modulo_others())
    if unseen is not None:  # in simple fractions: zeros are zeros
        left, exact = (np.linalg.qr(unseen)[0] ** 2).sum(axis=1), True
        disclosed = ~unseen.any(axis=1)
    else:
        floats = FloatSpace(width)
        hear(floats)
        left, exact = 1.0 - (floats.basis**2).sum(axis=0), floats.rank == one.rank
        disclosed = ~one.span.without(np.eye(width, dtype=np.int64)).any(axis=1)
    nats[honest] = np.where(disclosed, np.inf, -0.5 * copies * np.log(np.clip(left, 1e-16, 1.0)))
    return Leakage(nats, "exact" if exact else "attack", SPANNED if exact else AT_LEAST)


def is_mean(problem: Problem) -> bool:
    """Whether what is wanted is the mean of numbers."""
    return problem.consensus and all(type(cost) is Averaging for _, cost in problem.groups)


def krylov(space: Space, network: Network, honest: Nodes, beside: Nodes, rounds: int) -> None:
    """What a coalition hears of an iteration with Metropolis weights."""
    W = space.weights(network, honest)
    new = space.add(space.unit(len(honest))[beside])
    for _ in range(rounds - 1):
        if space.full or not len(new):  # what W takes nowhere new, it never does
            return
        new = space.add(space.times(new, W))


def of_a_mean(problem: Problem, adversary: Adversary, rounds: int, hear: Callable[..., None] = krylov) -> Leakage:
    """What so many rounds show. ``hear(space, network, honest, beside, rounds)`` takes what a coalition is told into a
    space over the secrets of ``honest`` nodes; ``beside`` says which of these talk to it."""
    network = problem.network
    if not rounds or not (adversary.corrupt or adversary.taps):
        return zero(network.n, adversary)
    if adversary.taps:
        return everybody(network, adversary, np.arange(network.n))
    honest = np.flatnonzero(~np.isin(np.arange(network.n), list(adversary.corrupt)))
    beside = np.flatnonzero(np.isin(honest, neighbours(network, adversary)))
    return told_by(lambda space: hear(space, network, honest, beside, rounds), network.n, honest, problem.dim)


def first_messages(network: Network, adversary: Adversary, rounds: int, what: str) -> Leakage:
    """Of costs that are no means: what the first message of a node shows, a function of its data and of nothing else.

    Such a function of numbers with a density has no limit to its information. It need not be all the data.
    """
    if not rounds or not (adversary.corrupt or adversary.taps):
        return zero(network.n, adversary)
    heard = np.arange(network.n) if adversary.taps else neighbours(network, adversary)
    found = zero(network.n, adversary).nats
    found[np.setdiff1d(heard, list(adversary.corrupt))] = np.inf
    told = f"the first message of a node is {what}: a function of its data alone, without noise"
    if not adversary.taps:
        told += "; of nodes whose messages are not heard this attack finds nothing, which is no guarantee"
    return Leakage(found, "attack", told)


def neighbours(network: Network, adversary: Adversary) -> Nodes:
    """Whoever talks to a corrupt node."""
    return np.unique(np.concatenate([network.around(i) for i in adversary.corrupt])).astype(np.int64)


def everybody(network: Network, adversary: Adversary, spoke: Nodes) -> Leakage:
    """To taps: all that is sent."""
    nats = zero(network.n, adversary).nats
    nats[np.setdiff1d(spoke, list(adversary.corrupt))] = np.inf
    return Leakage(nats, "exact", DISCLOSED)


def zero(n: int, adversary: Adversary | None = None) -> Leakage:
    """Nothing is seen."""
    nats = np.zeros(n)
    nats[[] if adversary is None else list(adversary.corrupt)] = np.nan
    return Leakage(nats, "exact", NOTHING)
