"""What listeners keep of a run, and the gradient differences in it (theory: Public gradients).

A pure eavesdropper taps open channels.

It hears every message ``r_{j|i} = y_{j|i} - z_{j|i}(0)``, lost ones included, and knows ``c``, ``theta``, the edge
blocks, who woke and what arrived. It has no pads, no ``x``, no secret. ``D = z - z(0)`` is public: it is made of
messages. The two equations of a node, with ``e_ij = z_{i|j}(0) - z_{j|i}(0)`` and ``nu_i = sum_j A_ij' z_{i|j}(0)``
(theory: Messages),

    r_{j|i} = D_{i|j} + e_ij + c (2 A_ij x_i - b_ij)                                                     (eq. 3)
    grad f_i(x_i) + nu_i + sum_j A_ij' (D_{i|j} - (c/2) b_ij) + c sum_j A_ij'A_ij x_i = 0                (eq. 2)

hold at each of its wakes with the same ``e``, ``nu`` and ``b``. Differences between two wakes, written ``d``, are
therefore free of them:

    A_ij dx = (dr_{j|i} - dD_{i|j}) / (2c),        dgrad = -(1/2) sum_j A_ij' (dD_{i|j} + dr_{j|i})

A corrupt node ``j`` sees its own edges over any channels, and knows their pads, hence ``e_ij``: of each neighbour ``i``
it knows ``x_i`` itself at every wake, and the part ``A_ij' z_{i|j}`` of its gradient (``RecordedTranscript.on_edges``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...errors import InvalidInput, Unsupported
from ...pdmm.masks import Mask
from ...pdmm.node import nodes_of
from ...pdmm.penalties import AskedPenalty, Penalty
from ...pdmm.problem import Problem
from ...pdmm.reference import Run
from ...pdmm.schedules import Schedule
from ...pdmm.settings import positive_integer, settle
from ...pdmm.solve import start

EPS = float(np.finfo(float).eps)
PATIENCE = 100  # rounds per wake that is waited for: a node that hardly ever wakes is not waited for

C = AskedPenalty


class Wake(NamedTuple):
    """``node`` woke and sent ``r[j]``, that is ``r_{j|node}``, to each neighbour ``j``; those in ``arrived`` got it."""

    node: int
    r: dict[int, Array]
    arrived: frozenset[int]


class Heard(NamedTuple):
    """``r_{j|i}`` and ``D_{i|j}`` at every wake of one node, its neighbours stacked: ``(wakes, rows)`` each."""

    r: Array
    D: Array


class OnEdges(NamedTuple):
    """What the ends of some of a node's edges know at each of its wakes, ``(wakes, d)`` each, without its other edges.

    Pads and ``b`` are constants of the run, left out of both: of ``A_ij x`` that is ``(c b_ij - e_ij)/(2c)``, of
    ``pull``, which is ``sum_j A_ij' z_{i|j}`` over these edges, ``sum_j A_ij' z_{i|j}(0)``.
    """

    x: Array
    pull: Array
    quiet: npt.NDArray[np.bool_]  # (wakes - 1,): whether no other neighbour's message came in since the wake before
    rounding: tuple[float, float]  # of an entry of x, and of pull


class Differences(NamedTuple):
    """``x_i`` and ``grad f_i(x_i)`` at the later wakes of a node, less those at its first one: ``(wakes - 1, d)``."""

    x: Array
    gradient: Array


@dataclass(frozen=True, eq=False)
class RecordedTranscript:
    """The public traffic of a run. Wakes of one iteration are simultaneous: none has heard the others.

    Made by ``record_transcript``.

    Attributes
    ----------
    blocks : tuple of ndarray
        Of each node: its ``A_ij`` over its neighbours, stacked.
    c, theta : float, or ndarray of one ``c`` per edge
        Of the run, which everybody knows.
    iterations : tuple of tuple of Wake
        Who woke in each, what it sent (``r[j]`` to neighbour ``j``), and where that ``arrived``.
    along : tuple of ndarray
        Of each node: the ``c`` of each row of its block.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> transcript = sv.privacy.research.record_transcript(problem, c=0.5, iterations=3)
    >>> len(transcript.iterations), [wake.node for wake in transcript.iterations[0]]
    (3, [0, 1, 2, 3])
    """

    blocks: tuple[Array, ...]
    c: Penalty
    theta: float
    iterations: tuple[tuple[Wake, ...], ...]
    along: tuple[Array, ...]

    @cached_property
    def heard(self) -> tuple[Heard, ...]:
        """The traffic sorted by node, ``D`` formed as its receiver forms it (eq. 5)."""
        D: list[dict[int, Array]] = [{} for _ in self.blocks]
        sent: list[list[Array]] = [[] for _ in self.blocks]
        held: list[list[Array]] = [[] for _ in self.blocks]
        for wakes in self.iterations:
            for i, r, _ in wakes:
                sent[i].append(np.concatenate(list(r.values())))
                held[i].append(np.concatenate([D[i].get(j, np.zeros_like(r_j)) for j, r_j in r.items()]))
            for i, r, arrived in wakes:
                for j in arrived:
                    D[j][i] = (1 - self.theta) * D[j].get(i, np.zeros_like(r[j])) + self.theta * r[j]
        return tuple(
            Heard(np.array(r).reshape(-1, len(A)), np.array(d).reshape(-1, len(A)))
            for A, r, d in zip(self.blocks, sent, held, strict=True)
        )

    @cached_property
    def around(self) -> tuple[dict[int, int], ...]:
        """Of each node that has woken: its neighbours in the order of ``heard``, and the rows of each."""
        found: list[dict[int, int]] = [{} for _ in self.blocks]
        for wakes in self.iterations:
            for wake in wakes:
                found[wake.node] = found[wake.node] or {j: len(r) for j, r in wake.r.items()}
        return tuple(found)

    @cached_property
    def writers(self) -> tuple[list[set[int]], ...]:
        """Of each node: whose messages came in before its first wake, between the first and the second, and so on."""
        found: list[list[set[int]]] = [[set()] for _ in self.blocks]
        for wakes in self.iterations:
            for wake in wakes:
                found[wake.node].append(set())
            for wake in wakes:
                for j in wake.arrived:
                    found[j][-1].add(wake.node)
        return tuple(found)

    def rows(self, node: int, chosen: Collection[int]) -> npt.NDArray[np.bool_]:
        """Which rows of ``heard[node]``, and of its block, belong to the chosen neighbours."""
        around = self.around[node]
        return np.repeat([j in chosen for j in around], list(around.values())).astype(bool)

    def on_edges(self, node: int, chosen: Collection[int]) -> OnEdges | None:
        """The view of a node's chosen neighbours, by which they learn nothing of its other edges; None if it has none
        of them, or never woke, or they do not fix its ``x``."""
        rows = self.rows(node, chosen)
        if not rows.any():
            return None
        A, c, (r, D) = self.blocks[node][rows], self.along[node][rows], (part[:, rows] for part in self.heard[node])
        if np.linalg.matrix_rank(A) < A.shape[1]:
            return None
        size = EPS * max(float(np.abs(r).max()), float(np.abs(D).max()))
        return OnEdges(
            x=moves(A, c, r - D, node),
            pull=D @ A,
            quiet=np.array([wrote <= set(chosen) for wrote in self.writers[node][1:-1]], dtype=bool),
            rounding=(size / (2 * float(c.min()) * float(np.linalg.svd(A, compute_uv=False)[-1])), size * len(A)),
        )


def record_transcript(
    problem: Problem,
    *,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: C = "auto",
    mask: Mask | None = None,
    z0: Any = None,
    seed: int | None = None,
    iterations: int,
) -> RecordedTranscript:
    """Play ``iterations`` iterations of the run that ``solve`` makes of these arguments, and keep what is public.

    Parameters
    ----------
    problem
        Network and costs.
    schedule, theta, c, mask, z0, seed
        As for ``solve``.
    iterations
        How many are played.

    Returns
    -------
    RecordedTranscript
        Every message, lost ones included.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> sv.privacy.research.record_transcript(problem, c=0.5, mask=sv.GaussianMask(9.0), seed=1, iterations=3).c
    0.5
    """
    run, pads = _start(problem, schedule, theta, c, mask, z0, seed)
    length = run.schedule.length()
    if length is not None and length < positive_integer(iterations, "iterations"):
        raise InvalidInput(f"the trace has {length} steps; got iterations={iterations}.")
    return _transcript(run, islice(_play(run, pads), positive_integer(iterations, "iterations")))


def overhear(
    problem: Problem,
    *,
    schedule: Schedule | None,
    theta: float | None,
    c: C,
    mask: Mask | None = None,
    z0: Any = None,
    seed: int | None,
    wakes: int,
    iterations: int | None = None,
) -> tuple[RecordedTranscript, Array]:
    """The traffic until every node has woken ``wakes`` times with something new to say, or the trace is over, or
    ``iterations`` are; and the pads, which a simulation knows."""
    run, pads = _start(problem, schedule, theta, c, mask, z0, seed)
    network = problem.network
    missing = np.full(network.n, wakes)
    news = np.ones(network.n, dtype=bool)  # who wakes on old news only repeats itself
    kept = []
    most = PATIENCE * wakes * run.schedule.round(network)
    for heard in islice(_play(run, pads), most if iterations is None else min(most, iterations)):
        kept.append(heard)
        awake = [wake.node for wake in heard]
        missing[awake] -= news[awake]
        news[awake] = False
        for wake in heard:
            news[list(wake.arrived)] = True
        if missing.max() <= 0:
            break
    return _transcript(run, kept), pads


def gradient_differences(transcript: RecordedTranscript, node: int) -> Differences:
    """``dx`` and ``dgrad f_i`` from public traffic alone, exact to rounding at the size of the messages.

    Masking hides the constant of the gradient map and nothing else (theory: Public gradients).

    Parameters
    ----------
    transcript
        What a tap keeps.
    node
        Whose.

    Returns
    -------
    Differences
        ``x`` and ``gradient`` at its later wakes, less those at its first one.

    Examples
    --------
    >>> import numpy as np, sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4])
    >>> run = {"c": 0.5, "mask": sv.GaussianMask(9.0), "seed": 1, "iterations": 3}
    >>> transcript = sv.privacy.research.record_transcript(problem, **run)
    >>> dx, gradient = sv.privacy.research.gradient_differences(transcript, 0)
    >>> np.allclose(gradient, 2 * dx)
    True
    """
    if isinstance(node, bool) or not isinstance(node, int | np.integer) or not 0 <= node < len(transcript.blocks):
        raise InvalidInput(f"node must be in 0 .. {len(transcript.blocks) - 1}; got {node!r}.")
    A, (r, D) = transcript.blocks[node], transcript.heard[node]
    r, D = r[1:] - r[:1], D[1:] - D[:1]
    return Differences(moves(A, transcript.along[node], r - D, node), gradient_moves(A, r + D))


def moves(A: Array, c: Array, difference: Array, node: int) -> Array:
    """``dx`` from ``A_ij dx = (dr - dD)/(2c)``, one a row; every copy counts. ``c`` is that of each row of ``A``."""
    x, _, rank, _ = np.linalg.lstsq(A, difference.T / (2 * c[:, None]), rcond=None)
    if rank < A.shape[1]:
        raise Unsupported(f"the edge blocks of node {node} have rank {rank} < {A.shape[1]}: messages do not fix its x.")
    return np.asarray(x.T)


def gradient_moves(A: Array, difference: Array) -> Array:
    """``dgrad = -(1/2) sum_j A_ij' (dD + dr)``, one a row."""
    return np.asarray(-0.5 * (difference @ A))


def _start(
    problem: Problem, schedule: Schedule | None, theta: float | None, c: C, mask: Mask | None, z0: Any, seed: int | None
) -> tuple[Run, Array]:
    """The run that ``solve`` would start, for its checked schedule, key, ``c`` and ``theta``; and its pads."""
    if mask is not None and (z0 is not None or not isinstance(mask, Mask)):
        raise InvalidInput(f"give a mask such as sv.GaussianMask(variance=1e6), or z0, not both; got mask={mask!r}.")
    settings = settle(problem, schedule=schedule, theta=theta, c=c, z0=z0, seed=seed, engine="reference")
    run = start(problem, settings)
    if run.schedule.late:
        raise Unsupported(f"transcripts are not recorded under {type(run.schedule).__name__}; use sv.Asynchronous().")
    rows = int(problem.rows[-1])
    if mask is not None:
        return run, mask.draw((rows, 1), seed)[:, 0]
    return run, np.zeros(rows) if z0 is None else problem.stack_z(z0, None)[:, 0]


def _play(run: Run, z0: Array) -> Iterator[tuple[Wake, ...]]:
    """Nodes that talk, and what is heard of it, iteration by iteration; to the end of a trace, or without end."""
    problem, network = run.problem, run.problem.network
    nodes = nodes_of(problem, c=run.c, theta=run.theta, z0=z0)
    length = run.schedule.length()
    for k in count() if length is None else range(length):
        awake, arrives = _who(run, k)
        talk = [nodes[i].wake() for i in awake]  # all compute before any message arrives
        heard = []
        for i, messages in zip(awake, talk, strict=True):
            inwards = network.twin[network.indptr[i] : network.indptr[i + 1]]  # the half-edges (j, i)
            landed = [message for message, h in zip(messages, inwards, strict=True) if arrives[h]]
            for message in landed:
                nodes[message.receiver].receive(message)
            r = {message.receiver: message.r for message in messages}
            heard.append(Wake(i, r, frozenset(message.receiver for message in landed)))
        yield tuple(heard)


def _who(run: Run, k: int) -> tuple[list[int], npt.NDArray[np.bool_]]:
    """The nodes that wake at iteration ``k``, and whether a message to half-edge ``h`` would arrive."""
    network = run.problem.network
    active, arrived = run.schedule.sets(network, run.key, k)
    awake = list(range(network.n)) if active is None else [int(i) for i in np.flatnonzero(active)]
    return awake, np.ones(2 * network.m, dtype=bool) if arrived is None else arrived


def _transcript(run: Run, iterations: Iterable[tuple[Wake, ...]]) -> RecordedTranscript:
    problem, n = run.problem, run.problem.network.n
    ends = problem.rows[problem.network.indptr]
    blocks = tuple(
        problem.C[ends[i] : ends[i + 1], problem.columns[i] : problem.columns[i + 1]].toarray() for i in range(n)
    )
    along = np.broadcast_to(problem.along(run.c), (ends[-1], 1))[:, 0]
    return RecordedTranscript(blocks, run.c, run.theta, tuple(iterations), tuple(np.split(along, ends[1:-1])))
