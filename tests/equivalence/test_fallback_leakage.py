"""What it shows if a link of the tree stays dead: the parties run again, from the same collapsed state, over the whole
network without that link (theory: Fewer messages).

``W_i = q_i + sum_j A_ij u_ij`` over all edges stays, and ``e_ij`` is scaled by the penalties, ``e'_ij = e_ij c'_ij /
c_ij``, on edges that the tree used. In fractions: to a coalition with taps both runs together show what one over the
whole network shows, and to taps alone what one shows with the penalties of the tree on the tree's edges and those of
the second run on the others.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction as F

import numpy as np
import pytest
import rational as oracle
from rational import Iteration, combine
from situations import TOLERANCE, matched

import sottovoce as sv
from sottovoce.errors import InvalidNetwork
from sottovoce.pdmm.overlay import laid_on, settled_overlay
from sottovoce.privacy.methods.elimination import Elimination, Heard
from sottovoce.privacy.methods.secrets_and_prior import secrets_of

CASES = range(20)


class Trial:
    """A random network, its tree with matched or any penalties, some dead links of the tree, and two runs."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 7))
        ring = [(i, (i + 1) % n) for i in range(n)]  # so that some link can be missed
        more = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(rng.integers(1, n))]
        network = sv.Network.from_edges(n, sorted({(min(e), max(e)) for e in [*ring, *more]}))
        a = [ratio(rng) for _ in range(n)]
        model = oracle.Model(network, a, 1, [F(1), F(4, 5)][seed % 2], 10, oracle.diagonal([ratio(rng) for _ in a]))
        used, c = matched(model)
        self.model = model.on(used, c if seed % 3 else [ratio(rng) for _ in used])
        self.left = [tuple(edge) for edge in network.edges.tolist()]
        for link in rng.permutation(used)[: 1 + seed % 2].tolist():
            rest = [edge for edge in self.left if edge != tuple(link)]
            with suppress(InvalidNetwork):  # a link that is missed by all stays
                self.left = [tuple(edge) for edge in network.restricted_to(rest).edges.tolist()]
        self.again = model.on(self.left, [ratio(rng) for _ in self.left] if seed % 2 else ratio(rng))
        self.first, self.second = (schedule(rng, of, 3) for of in (self.model, self.again))
        self.everybody = oracle.asynchronous(rng.permutation(n))
        self.corrupt = frozenset(rng.choice(n, int(rng.integers(1, 3)), replace=False).tolist())

    def start(self, scaled: bool = True) -> dict[tuple[int, int], oracle.Row]:
        """``u + e'/2`` on the edges of the second run."""
        pads, c, found = self.model.pads, self.model.c_of, {}
        for (i, j), c_again in self.again.c_of.items():
            times = c_again / c[i, j] if scaled and (i, j) in c else F(1)
            found[i, j] = combine(((1 + times) / 2, pads[i, j]), ((1 - times) / 2, pads[j, i]))
        return found

    def view(self, first, second, corrupt=(), channels="open", scaled=True) -> list[oracle.Row]:
        """What both runs show."""
        known = oracle.view(self.model, [], corrupt)
        sent = oracle.transcript(self.model, first) + oracle.transcript(self.again, second, self.start(scaled))
        return known + [r for i, j, r in sent if channels == "open" or {i, j} & set(corrupt)]

    @property
    def together(self) -> oracle.Model:
        """One run over all edges that stands for both."""
        edges = [tuple(edge) for edge in self.model.network.edges.tolist()]
        return self.model.on(edges, [self.model.c_of.get(e) or self.again.c_of[e] for e in edges])


def ratio(rng: np.random.Generator) -> F:
    return F(int(rng.integers(1, 6)), int(rng.integers(1, 6)))


def schedule(rng: np.random.Generator, model: oracle.Model, most: int) -> list[Iteration]:
    """Random wakes and losses; it may be cut anywhere, also before anybody has spoken."""
    played = []
    for _ in range(rng.integers(0, most + 1)):
        awake = np.flatnonzero(rng.random(model.network.n) < 0.6).tolist()
        played.append(Iteration(awake, [(i, j) for i, j in model.c_of if i in awake and rng.random() < 0.7]))
    return played


def rank(rows):
    return len(oracle.basis(rows))


@pytest.mark.parametrize("seed", CASES)
def test_a_coalition_learns_nothing_more(seed):
    trial = Trial(seed)
    whole = oracle.basis(oracle.view(trial.together, oracle.synchronous(trial.model.network, 1), trial.corrupt))
    for first in (trial.first, trial.first + trial.everybody):
        seen = trial.view(first, trial.second, trial.corrupt)
        assert rank([*whole, *seen]) == rank(whole)
    both = trial.view(trial.first + trial.everybody, trial.everybody + trial.second, trial.corrupt)
    shares = oracle.explained(trial.model, both, trial.corrupt)
    assert shares == oracle.explained(trial.model, whole, trial.corrupt)


@pytest.mark.parametrize("seed", CASES)
def test_taps_alone_learn_no_mean(seed):
    """Everything may move by one vector, with ``W`` and ``e`` against it, and no message of either run changes."""
    trial = Trial(seed)
    model = trial.model
    c = trial.together.c_of
    moved = [F(1)] * model.network.n + [-c[i, j] * oracle.A(i, j) for i, j in model.half_edges]
    seen = trial.view(trial.first + trial.everybody, trial.everybody + trial.second)
    assert not any(oracle.dot(row, moved) for row in seen)
    total = combine(*((a, model.secret(i)) for i, a in enumerate(model.a)))
    assert oracle.dot(total, moved) > 0  # so that the sum of all is not known
    one_run = oracle.view(trial.together, trial.everybody)
    assert rank([*seen, *one_run]) == rank(one_run) == rank(seen)


def test_without_the_scaling_taps_would_learn_the_mean():
    """The negative control: it does wherever the tree and the rest have penalties that differ."""
    told = 0
    for seed in CASES:
        trial = Trial(seed)
        seen = trial.view(trial.everybody, trial.everybody, scaled=False)
        total = combine(*((a, trial.model.secret(i)) for i, a in enumerate(trial.model.a)))
        told += rank([*seen, total]) == rank(seen)
    assert told >= len(CASES) - 2


@pytest.mark.parametrize("seed", CASES[:6])
def test_the_elimination_says_so_too(seed):
    """Two runs in floats on the same unknowns, against one over the whole network with the penalties of both."""
    trial = Trial(seed)
    model, n = trial.model, trial.model.network.n
    a = np.array(model.a, dtype=float)
    problem = sv.Problem(model.network, sv.Quadratic.many(a, np.zeros((n, 1))))
    secrets = secrets_of(problem, np.array(model.Sigma_s, dtype=float).diagonal())
    how = {"theta": float(model.theta), "seed": 0}
    wakes = sv.Trace([i for iteration in trial.everybody for i in iteration.awake])
    for corrupt in (frozenset(), trial.corrupt):
        tree, rest = (settled_overlay(model.network, of.used) for of in (model, trial.again))
        c, c_again = (
            [float(of.c_of[tuple(e)]) for e in on.network.edges] for of, on in ((model, tree), (trial.again, rest))
        )
        seen = Elimination(secrets, wakes, corrupt=corrupt, sees_all=True, overlay=tree, c=np.array(c), **how)
        seen.play(n)
        unknowns = n + len(model.half_edges)
        start = np.array([[float(v) for v in trial.start().get(pair, model.pads[pair])] for pair in model.half_edges])
        q, _, played = laid_on(secrets.problem, rest, np.eye(n, unknowns), np.eye(len(start), unknowns, n))
        start = start[rest.entries(secrets.problem)]
        again = Heard(played, wakes, start, q, c=np.array(c_again), **how)
        for _ in range(n):
            again.advance(1)
            rows, y = again.sent
            for functional in y - start[rows]:
                seen.told(functional)
        each = np.array([float(trial.together.c_of[tuple(e)]) for e in model.network.edges])
        report = sv.privacy.audit(
            problem, sv.GaussianMask(10.0), corrupt=corrupt, prior=secrets.K, c=each, theta=1.0, hessians="public"
        )
        found = seen.leaks(10.0)
        for name in ("leakage", "floor", "excess"):
            np.testing.assert_allclose(getattr(found, name), getattr(report, name), rtol=0, atol=TOLERANCE)


def test_over_encrypted_channels_both_show_more_than_each_and_no_more_than_open_ones():
    """A corrupt node reads its own edges, first those of the tree, then all: what it could not see of the one it may
    see of the other. So plans count encrypted channels as open."""
    more = 0
    for seed in CASES[:8]:
        trial = Trial(seed)
        wakes = oracle.asynchronous(np.random.default_rng(seed).integers(trial.model.network.n, size=40))
        corrupt = {min(trial.corrupt)}
        views = ((wakes, []), ([], wakes), (wakes, wakes))
        tree, again, both = (
            oracle.explained(trial.model, trial.view(*played, corrupt, "encrypted"), corrupt) for played in views
        )
        tapped = oracle.leakage(trial.together, trial.everybody, corrupt)
        assert all(max(tree[i], again[i]) <= both[i] <= tapped[i] for i in both)
        more += any(both[i] > max(tree[i], again[i]) for i in both)
    assert more > 0
