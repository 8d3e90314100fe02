"""``baselines.ADMM`` is the engine at ``theta = 1/2``, to the bit, and the auditor says the same about it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce import baselines
from sottovoce.baselines.admm import hear
from sottovoce.baselines.without_noise import FloatSpace
from sottovoce.privacy import Coalition, Eavesdropper, Transcript, audit

N = 8


@pytest.fixture
def network():
    return sv.Network.random_geometric(N, seed=2)


def problems(network, rng):
    rows = shards(rng, N, 6, 3)
    return {
        "averaging": (sv.averaging(network, rng.normal(size=N)), 0.4),
        "vectors": (sv.averaging(network, rng.normal(size=(N, 2))), 0.4),
        "least squares": (sv.least_squares(network, rows), 2.0),
        "lasso": (sv.Problem(network, [sv.Lasso(A, b, 1.0) for A, b in rows]), 2.0),
    }


@pytest.mark.parametrize("name", ["averaging", "vectors", "least squares", "lasso"])
@pytest.mark.parametrize("given", [True, False], ids=["c", "auto"])
def test_admm_is_the_engine(network, rng, name, given):
    problem, c = problems(network, rng)[name]
    c = c if given else "auto"
    outcome = baselines.ADMM(c=c).run(problem)
    assert outcome.converged
    # The answer is what nodes compute from the last messages, before they would send again.
    rounds = outcome.traffic.rounds
    result = sv.solve(problem, theta=0.5, c=c, tol=0, max_iter=rounds + 1)
    np.testing.assert_array_equal(outcome.x, result.x.reshape(N, -1))
    assert outcome.traffic.messages == result.messages * rounds / (rounds + 1)


@pytest.mark.parametrize("rounds", [1, 2, 4, 60])
@pytest.mark.parametrize(
    "network",
    [
        sv.Network.random_geometric(N, seed=2),
        sv.Network.star(6),
        sv.Network.ring(7),
        sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)]),
    ],
    ids=["geometric", "star", "ring", "path"],
)
def test_the_auditor_agrees(network, rounds):
    problem = sv.averaging(network, np.arange(network.n))
    outcome = baselines.ADMM(c=0.3, tol=1e-300, max_rounds=rounds).run(problem)
    for adversary, channels in ((Coalition({1}), "encrypted"), (Coalition({1}) | Eavesdropper(), "open")):
        report = audit(
            problem, against=adversary, channels=channels, prior=2.0, c=0.3, theta=0.5, seen=Transcript(rounds)
        )
        leakage = outcome.leakage(adversary, prior=2.0)
        assert (report.guarantee, leakage.kind) == ("exact", "exact")
        # Two ways through the same projector: rounding, and 1 - R2 loses digits where R2 is close to 1.
        np.testing.assert_allclose(leakage.nats, report.leakage, rtol=1e-9, atol=1e-12)


def test_what_is_heard_are_the_answers_of_the_engine(network):
    """Functionals of the secrets, found backwards from each answer, against runs on unit vectors."""

    class Recorder(FloatSpace):
        def add(self, rows):
            heard.append(rows)
            return rows

    heard, c, everybody = [], 0.3, np.arange(N)
    hear(Recorder(N), network, everybody, everybody, 6, c)
    problem = sv.averaging(network, np.eye(N))
    for rounds, rows in enumerate(heard, start=1):
        x = sv.solve(problem, theta=0.5, c=c, tol=0, max_iter=rounds).x
        np.testing.assert_allclose(rows, x, atol=1e-14)  # sums of a few terms below 1
    assert len(heard) == 6
