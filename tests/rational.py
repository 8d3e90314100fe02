"""What an adversary learns, in exact rational arithmetic: the oracle that the auditor is held against.

Scalar consensus, ``f_i(x) = a_i x^2 / 2 + q_i x`` with ``q_i = -a_i s_i`` (theory: The problem). Everything that moves
is a linear functional of ``(s, z(0))``, kept as a row of Fractions: first the ``n`` secrets, then the ``2m`` pads
``z_{i|j}(0)`` in the order of ``network.half_edges``. A view is a list of such rows, and conditioning a Gaussian on it
takes elimination and nothing else. Local noise, where there is any, is ``n`` more unknowns, the last ones: a node is
given ``s_i + eta_i``, and a coalition knows both of its own. Of the package this reads ``network.n`` and
``network.edges`` only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

import sottovoce as sv

Row = list[Fraction]
Number = Fraction | int | float
Channels = Literal["open", "encrypted"]


@dataclass(eq=False)
class Model:
    """The problem, its parameters, and the prior: ``S ~ N(0, Sigma_s)``, pads independent ``N(0, v)``, and noise on
    every secret independent ``N(0, noise)``.

    ``used`` are the edges that messages use, None all of them; ``c`` is one number, or one for each of those edges.
    """

    network: sv.Network
    a: Sequence[Number]
    c: Number | Sequence[Number]
    theta: Number
    v: Number
    Sigma_s: Sequence[Sequence[Number]]
    used: Sequence[tuple[int, int]] | None = None
    noise: Number = 0

    def __post_init__(self) -> None:
        self.a = [exact(value) for value in self.a]
        self.theta, self.v, self.noise = exact(self.theta), exact(self.v), exact(self.noise)
        self.Sigma_s = [[exact(value) for value in row] for row in self.Sigma_s]
        edges = [tuple(edge) for edge in (self.network.edges.tolist() if self.used is None else self.used)]
        each = list(self.c) if isinstance(self.c, Sequence | np.ndarray) else [self.c] * len(edges)
        self.c_of = {pair: exact(c) for (i, j), c in zip(edges, each, strict=True) for pair in ((i, j), (j, i))}

    @cached_property
    def neighbours(self) -> list[list[int]]:
        edges = self.network.edges.tolist()
        both = [*edges, *([j, i] for i, j in edges)]
        return [sorted(j for i, j in both if i == node) for node in range(self.network.n)]

    @cached_property
    def half_edges(self) -> list[tuple[int, int]]:
        return [(i, j) for i, nodes in enumerate(self.neighbours) for j in nodes]

    def on(self, used: Sequence[tuple[int, int]] | None, c: Number | Sequence[Number]) -> Model:
        """The same pads, with messages on other edges."""
        return replace(self, used=used, c=c)

    @property
    def prior(self) -> list[Row]:
        """``K = blockdiag(Sigma_s, v I)``, and ``noise I`` where there is noise."""
        return block_diagonal(
            self.Sigma_s, diagonal([self.v] * len(self.half_edges)), diagonal([self.noise] * self.noisy_nodes)
        )

    @property
    def noisy_nodes(self) -> int:
        return self.network.n if self.noise else 0

    @property
    def unknowns(self) -> int:
        return self.network.n + len(self.half_edges) + self.noisy_nodes

    def secret(self, i: int) -> Row:
        if not 0 <= i < self.network.n:
            raise ValueError(f"there is no node {i}; nodes are 0 .. {self.network.n - 1}.")
        return [Fraction(int(i == k)) for k in range(self.unknowns)]

    def eta(self, i: int) -> Row:
        """Its noise; nothing where there is none."""
        at = self.network.n + len(self.half_edges) + i if self.noise else -1
        return [Fraction(int(at == k)) for k in range(self.unknowns)]

    def given(self, i: int) -> Row:
        """What it brings into the run: its secret and the noise on it."""
        return combine((1, self.secret(i)), (1, self.eta(i)))

    @cached_property
    def pads(self) -> dict[tuple[int, int], Row]:
        """``z_{i|j}(0)`` by ``(i, j)``."""
        unit = diagonal([Fraction(1)] * len(self.half_edges))
        before, after = [Fraction(0)] * self.network.n, [Fraction(0)] * self.noisy_nodes
        return {pair: before + unit[h] + after for h, pair in enumerate(self.half_edges)}


def averaging(network: sv.Network, *, c: Number, theta: Number, v: Number, secret_variance: Number = 1) -> Model:
    """The paper's ``f_i = (x - s_i)^2``: ``a = 2``, and independent secrets."""
    return Model(network, [2] * network.n, c, theta, v, diagonal([exact(secret_variance)] * network.n))


def exact(value: Number) -> Fraction:
    """As a Fraction. A float stands for its exact binary value; NumPy's integers would overflow inside a Fraction."""
    return Fraction(value.item() if isinstance(value, np.generic) else value)


class Iteration(NamedTuple):
    """The nodes that wake, all from the same ``z``, and the messages ``(i, j)`` that arrive (None: all of them)."""

    awake: Collection[int]
    arrived: Collection[tuple[int, int]] | None = None


class Message(NamedTuple):
    """``r_{j|i} = y_{j|i} - z_{j|i}(0)`` from ``i`` to ``j``, as a functional of ``(s, z(0))``."""

    i: int
    j: int
    r: Row


def A(i: int, j: int) -> int:
    return 1 if i > j else -1


def synchronous(network: sv.Network, iterations: int) -> list[Iteration]:
    return [Iteration(range(network.n))] * iterations


def asynchronous(nodes: Iterable[int]) -> list[Iteration]:
    return [Iteration([int(i)]) for i in nodes]


def transcript(
    model: Model, schedule: Iterable[Iteration], start: dict[tuple[int, int], Row] | None = None
) -> list[Message]:
    """Every message that is sent (theory: Messages, with ``b = 0``), whether it arrives or not.

    Of an edge without messages a node feels ``A_ij (z_{i|j}(0) + z_{j|i}(0)) / 2``. ``start`` is where ``z`` begins on
    the others, if it is not at the pads.
    """
    c, theta = model.c_of, model.theta
    around = [[j for j in nodes if (i, j) in c] for i, nodes in enumerate(model.neighbours)]
    start = model.pads if start is None else start
    z = dict(start)  # z[i, j] is z_{i|j}
    own = [combine((-model.a[i], model.given(i))) for i in range(model.network.n)]
    for (i, j), pad in model.pads.items():
        if (i, j) not in c:
            own[i] = combine((1, own[i]), (Fraction(A(i, j), 2), pad), (Fraction(A(i, j), 2), model.pads[j, i]))
    sent = []
    for awake, arrived in schedule:
        y = {}  # y[j, i] is y_{j|i}
        for i in set(awake):
            gradient = [(1, own[i]), *((A(i, j), z[i, j]) for j in around[i])]
            x = combine((-1 / (model.a[i] + sum(c[i, j] for j in around[i])), combine(*gradient)))
            for j in around[i]:
                y[j, i] = combine((1, z[i, j]), (2 * c[i, j] * A(i, j), x))
                sent.append(Message(i, j, combine((1, y[j, i]), (-1, start[j, i]))))
        arriving = {(i, j) for j, i in y} if arrived is None else set(arrived)
        if stray := sorted((i, j) for i, j in arriving if (j, i) not in y):
            raise ValueError(f"{stray} arrive, but were not sent; name messages (i, j) of awake nodes i.")
        for i, j in arriving:
            z[j, i] = combine((1 - theta, z[j, i]), (theta, y[j, i]))
    return sent


def view(
    model: Model, schedule: Iterable[Iteration], corrupt: Collection[int] = (), channels: Channels = "open"
) -> list[Row]:
    """What the adversary holds: messages, and of corrupt nodes the secret and both pads of every edge
    (theory: Transcripts).

    Over open channels it sees all that is sent; over encrypted ones, what is sent to or by a corrupt node.
    """
    if channels not in ("open", "encrypted"):
        raise ValueError(f"channels must be 'open' or 'encrypted'; got {channels!r}.")
    known = [row for i in corrupt for row in (model.secret(i), model.given(i))]
    known += [pad for pair, pad in model.pads.items() if set(pair) & set(corrupt)]
    seen = [r for i, j, r in transcript(model, schedule) if channels == "open" or {i, j} & set(corrupt)]
    return known + seen


def answer(model: Model, corrupt: Collection[int]) -> list[Row]:
    """What a coalition knows of a run that only gives the exact optimum: its own secrets, and the sum of ``q_i`` over
    every honest component (theory: The floor). A pure eavesdropper takes no part, and is told nothing."""
    if not corrupt:
        return []
    honest = set(range(model.network.n)) - set(corrupt)
    sums = [combine(*((model.a[i], model.given(i)) for i in part)) for part in components(model, honest)]
    return [row for i in corrupt for row in (model.secret(i), model.given(i))] + sums


def components(model: Model, nodes: Collection[int]) -> list[set[int]]:
    """The connected components of the subgraph that ``nodes`` induce."""
    left, found = set(nodes), []
    while left:
        part, frontier = set(), {min(left)}
        while frontier:
            part |= frontier
            frontier = {j for i in frontier for j in model.neighbours[i]} & left - part
        found.append(part)
        left -= part
    return found


# Shares of variance: 1 - Var(S_i | ...) / Var(S_i) for every honest node; exactly 1 is disclosed


def leakage(
    model: Model, schedule: Iterable[Iteration], corrupt: Collection[int] = (), channels: Channels = "open"
) -> dict[int, Fraction]:
    """Given the view."""
    return explained(model, view(model, schedule, corrupt, channels), corrupt)


def floor(model: Model, corrupt: Collection[int] = ()) -> dict[int, Fraction]:
    """Given the exact answer only (theory: The floor)."""
    return explained(model, answer(model, corrupt), corrupt)


def joint(
    model: Model, schedule: Iterable[Iteration], corrupt: Collection[int] = (), channels: Channels = "open"
) -> dict[int, Fraction]:
    """Given the view and the exact answer, which an unfinished or encrypted transcript need not contain."""
    return explained(model, view(model, schedule, corrupt, channels) + answer(model, corrupt), corrupt)


def explained(model: Model, rows: Iterable[Row], corrupt: Collection[int]) -> dict[int, Fraction]:
    n = model.network.n
    left = posterior(model.prior, rows, n)
    return {i: 1 - left[i][i] / model.Sigma_s[i][i] for i in range(n) if i not in set(corrupt)}


def nats(share: Fraction) -> float:
    """``-1/2 ln(1 - share)``, right to rounding at both ends: only the last step leaves the rationals."""
    if share == 1:
        return math.inf
    if share < Fraction(1, 2):
        return -0.5 * math.log1p(-float(share))
    left = 1 - share
    halvings = left.denominator.bit_length() - left.numerator.bit_length()  # left may be below the smallest float
    return 0.5 * (halvings * math.log(2) - math.log(left * 2**halvings))


# Linear algebra over the rationals


def combine(*terms: tuple[Fraction | int, Row]) -> Row:
    """The sum of ``coefficient * row``."""
    total = [Fraction(0)] * len(terms[0][1])
    for coefficient, row in terms:
        for k, entry in enumerate(row):
            if entry:
                total[k] += coefficient * entry
    return total


def dot(row: Sequence[Fraction | int], other: Sequence[Fraction | int]) -> Fraction:
    return sum((p * q for p, q in zip(row, other, strict=True) if p and q), Fraction(0))


def diagonal(entries: Sequence[Fraction]) -> list[Row]:
    return [[entry if k == h else Fraction(0) for h in range(len(entries))] for k, entry in enumerate(entries)]


def block_diagonal(*blocks: Sequence[Sequence[Fraction]]) -> list[Row]:
    size, at, rows = sum(map(len, blocks)), 0, []
    for block in blocks:
        rows += [[Fraction(0)] * at + list(row) + [Fraction(0)] * (size - at - len(row)) for row in block]
        at += len(block)
    return rows


def posterior(K: list[Row], view: Iterable[Row], count: int) -> list[Row]:
    """The covariance of the first ``count`` variables of ``N(0, K)`` given the functionals ``view``.

    ``K - K V' (V K V')^{-1} V K`` over an independent basis ``V`` of the view; ``V K V'`` must be invertible.
    """
    V = basis(view)
    VK = [[dot(row, column) for column in K] for row in V]
    # Gauss-Jordan on [ V K V' | V K ]: the right part becomes (V K V')^{-1} V K.
    system = [[dot(row, other) for other in V] + row[:count] for row in VK]
    for k in range(len(V)):  # pivots of a positive definite matrix are positive
        system[k] = [entry / system[k][k] for entry in system[k]]
        for other in range(len(V)):
            if other != k and system[other][k]:
                system[other] = combine((1, system[other]), (-system[other][k], system[k]))
    gain = [row[len(V) :] for row in system]
    return [
        [K[i][j] - dot([row[i] for row in VK], [row[j] for row in gain]) for j in range(count)] for i in range(count)
    ]


def basis(rows: Iterable[Row]) -> list[list[int]]:
    """The reduced echelon form, its rows scaled to integers without a common factor."""
    found: dict[int, list[int]] = {}  # by pivot: the one row that is not zero there
    for functional in rows:
        scale = math.lcm(*(entry.denominator for entry in functional))
        row = [int(entry * scale) for entry in functional]
        for pivot, other in found.items():
            row = without(row, other, pivot)
        if any(row):
            new = next(k for k, entry in enumerate(row) if entry)
            found = {pivot: without(other, row, new) for pivot, other in found.items()} | {new: row}
    return list(found.values())


def without(row: list[int], other: list[int], pivot: int) -> list[int]:
    """``row`` less the multiple of ``other`` that clears its entry at ``pivot``."""
    if not row[pivot]:
        return row
    row = [other[pivot] * p - row[pivot] * q for p, q in zip(row, other, strict=True)]
    factor = math.gcd(*row) or 1
    return [entry // factor for entry in row]
