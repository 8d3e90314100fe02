"""Attacks from public traffic: each recovers what it claims, and fails where theory says it must."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import shards
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy.attacks.recorded_transcript import gradient_differences, record_transcript
from sottovoce.privacy.attacks.traffic import (
    changes_between,
    gradient_attack,
    pad_reuse_attack,
    recover_hessians,
    regression_attack,
    symmetric_solution,
)

# Masks are small here on purpose: what is compared is arithmetic, and small masks leave it more digits.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")

N, EPS = 12, np.finfo(float).eps
SCHEDULES = {
    "synchronous": sv.Synchronous(),
    "asynchronous": sv.Asynchronous(),
    "rates": sv.Asynchronous(rates=np.arange(1.0, N + 1)),
    "nodes": sv.NodeBernoulli(0.4),
    "edges": sv.EdgeBernoulli(0.6),
    "sets": sv.Trace(node_sets=[[k % N, (5 * k + 1) % N] for k in range(60)]),
    "half-edges": sv.Trace(half_edges=[[k % 20, (7 * k + 3) % 20] for k in range(60)]),
}


def constrained(network, rng, rows=2, d=2):
    A = {(i, j): rng.normal(size=(rows, d)) for i, j in network.half_edges.tolist()}
    b = {(i, j): rng.normal(size=rows) for i, j in network.edges.tolist()}
    return sv.Problem(network.with_constraints(A, b), [sv.Quadratic(np.eye(d), q) for q in rng.normal(size=(N, d))])


# The transcript


@pytest.mark.parametrize("theta", [1.0, 0.6])
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_transcript_is_that_of_the_run(network, rng, name, theta):
    """``z(0)`` plus what the traffic adds up to is the ``z`` of ``solve`` with the same arguments."""
    problem = sv.averaging(network, rng.normal(size=(N, 2)))
    run = {"schedule": SCHEDULES[name], "theta": theta, "c": 0.4, "mask": sv.GaussianMask(100.0), "seed": 3}
    transcript = record_transcript(problem, iterations=60, **run)
    z = sv.GaussianMask(100.0).draw((4 * network.m, 1), 3).reshape(-1, 2)
    z0, half = z.copy(), {tuple(pair): h for h, pair in enumerate(network.half_edges.tolist())}
    for wakes in transcript.iterations:
        for i, r, arrived in wakes:
            for j in arrived:
                z[half[j, i]] = (1 - theta) * z[half[j, i]] + theta * (r[j] + z0[half[j, i]])
    # Rounding at the size of the pads, once per iteration.
    assert np.abs(z - sv.solve(problem, tol=0, max_iter=60, **run).z).max() < 60 * EPS * np.abs(z0).max()


def test_lost_messages_are_heard_and_do_not_arrive(network, rng):
    transcript = record_transcript(
        sv.averaging(network, rng.normal(size=N)), schedule=sv.EdgeBernoulli(0.5), c=0.4, seed=1, iterations=40
    )
    heard = [wake for wakes in transcript.iterations for wake in wakes]
    sent, arrived = sum(len(wake.r) for wake in heard), sum(len(wake.arrived) for wake in heard)
    assert sent == 40 * 2 * network.m
    assert abs(arrived / sent - 0.5) < 4 * 0.5 / np.sqrt(sent)


def test_nothing_secret_is_kept(network, rng):
    s, z0 = rng.normal(size=N), 10 * rng.normal(size=2 * network.m)
    problem = sv.averaging(network, s)
    transcript = record_transcript(problem, c=0.4, z0=z0, iterations=30)
    said = np.concatenate([r for wakes in transcript.iterations for wake in wakes for r in wake.r.values()])
    x = np.ravel([state.x for state, _ in zip(sv.iterate(problem, c=0.4, z0=z0), range(31), strict=False)][1:])
    assert set(vars(transcript)) == {"blocks", "c", "theta", "iterations", "along"}
    assert not np.isin(said, np.concatenate([s, -2 * s, z0, x])).any()


def test_arguments_of_a_transcript(network, rng):
    problem, settings = sv.averaging(network, rng.normal(size=N)), {"c": 0.4, "iterations": 5}
    with pytest.raises(Unsupported, match="not recorded under Delayed"):
        record_transcript(problem, schedule=sv.Delayed(2), **settings)
    with pytest.raises(InvalidInput, match="3 steps; got iterations=5"):
        record_transcript(problem, schedule=sv.Trace([0, 1, 2]), **settings)
    with pytest.raises(InvalidInput, match="iterations must be an integer >= 1; got 0"):
        record_transcript(problem, c=0.4, iterations=0)
    for mask, z0 in ((1e6, None), (sv.GaussianMask(1.0), np.zeros(2 * network.m))):
        with pytest.raises(InvalidInput, match="give a mask"):
            record_transcript(problem, mask=mask, z0=z0, **settings)
    transcript = record_transcript(problem, **settings)
    for node in (-1, N, 1.0):
        with pytest.raises(InvalidInput, match=r"node must be in 0 \.\. 11"):
            gradient_differences(transcript, node)


# Gradient differences


def logistic_gradient(problem, i, x):
    (A, labels), ridge = problem.shards[i], 1.0 / N
    return -(A.T * labels) @ expit(-labels * (A @ x)) + 2 * ridge * x


@pytest.mark.parametrize("sigma", [1.0, 1e4])
@pytest.mark.parametrize("name", ["averaging", "least squares", "constrained", "huber", "logistic"])
def test_differences_of_x_and_gradient_are_public(network, rng, name, sigma):
    """Against the ``x`` that the nodes hold, and gradients written down by hand."""
    s = rng.normal(size=N)
    if name == "averaging":
        problem, gradient = sv.averaging(network, s), lambda i, x: 2 * (x - s[i])
    elif name == "huber":
        problem, gradient = sv.Problem(network, sv.Huber.many(s)), lambda i, x: np.clip(x - s[i], -1, 1)
    elif name == "logistic":
        data = [(A, np.sign(b)) for A, b in shards(rng, N, 8, 2)]
        problem = sv.logistic(network, data)
        problem.shards = data
        gradient = lambda i, x: logistic_gradient(problem, i, x)  # noqa: E731
    else:
        regression = sv.least_squares(network, shards(rng, N, 6, 3))
        problem = constrained(network, rng) if name == "constrained" else regression
        gradient = lambda i, x: problem.quadratic.Q[i] @ x  # noqa: E731
    d = problem.dim
    z0 = sigma * rng.normal(size=int(problem.rows[-1]))
    run = {"theta": 0.5, "c": 0.7, "z0": z0}
    transcript = record_transcript(problem, iterations=12, **run)
    states = [state.x.reshape(N, d) for state, _ in zip(sv.iterate(problem, **run), range(13), strict=False)][1:]
    for i in range(N):
        x, dgrad = gradient_differences(transcript, i)
        true = np.array([gradient(i, state[i]) for state in states])
        # Rounding of messages a few times sigma, divided by 2c in x, summed over the neighbours in the gradient. Random
        # 2 x 2 blocks determine x less well.
        bound = (1e3 if name == "constrained" else 50) * EPS * max(sigma, 1.0) * (1 + np.abs(true).max() / sigma)
        assert np.abs(x - np.array([state[i] - states[0][i] for state in states[1:]])).max() < bound
        assert np.abs(dgrad - (true[1:] - true[0])).max() < bound
        assert np.abs(x).max() > 0.05 * sigma  # there is something to know


def test_blocks_that_do_not_fix_x_are_refused(network, rng):
    A = {(i, j): np.array([[1.0, 0.0]]) for i, j in network.half_edges.tolist()}
    problem = sv.Problem(network.with_constraints(A), [sv.Quadratic(np.eye(2), q) for q in rng.normal(size=(N, 2))])
    with pytest.raises(Unsupported, match="rank 1 < 2"):
        gradient_differences(record_transcript(problem, c=0.4, iterations=3), 0)


# Hessians


@pytest.mark.parametrize("name", ["synchronous", "asynchronous", "nodes", "edges"])
@pytest.mark.parametrize("sigma", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_every_gram_matrix_at_any_sigma(network, rng, d, sigma, name):
    data = shards(rng, N, 3 * d, d)
    problem = sv.least_squares(network, data, ridge=0.3)
    found = regression_attack(problem, mask=sv.GaussianMask(sigma**2), seed=1, schedule=SCHEDULES[name], c=0.4 * d)
    # eps times the condition of the walk of x, some 1e3 at d = 10; no sigma in it.
    assert found.errors(problem).max() < 1e-12
    assert found.residuals.max() < 1e-13
    grams = np.array([A.T @ A for A, _ in data])
    assert np.abs(found.grams(ridge=0.3) - grams).max() < 1e-12 * np.abs(grams).max()


@pytest.mark.parametrize("d", [1, 3])
def test_d_plus_one_wakes_and_no_less(network, rng, d):
    problem = sv.least_squares(network, shards(rng, N, 9, d))
    run = {"c": 2.0, "mask": sv.GaussianMask(1e8), "seed": 2}
    found = recover_hessians(record_transcript(problem, iterations=d + 1, **run))
    assert found.errors(problem).max() < 1e-10  # eps times the condition of d random differences
    found = recover_hessians(record_transcript(problem, iterations=d, **run))
    assert np.isnan(found.matrices).all()
    assert np.isnan(found.residuals).all()


def test_who_says_nothing_new_keeps_its_secret(network, rng):
    """Node 0 wakes often, but on the same news; node 1 wakes once; the others talk."""
    problem = sv.least_squares(network, shards(rng, N, 6, 2))
    far = [i for i in range(2, N) if i not in network.neighbours(0)]
    sequence = [1, *[0] * 6, *np.random.default_rng(0).choice(far, 400)]
    run = {"schedule": sv.Trace(sequence), "c": 2.0, "mask": sv.GaussianMask(1e8), "seed": 1, "iterations": 407}
    found = recover_hessians(record_transcript(problem, **run))
    assert np.isnan(found.matrices[[0, 1]]).all()
    errors = found.errors(problem)
    assert np.isfinite(errors).sum() > 4
    assert np.nanmax(errors) < 1e-10  # nodes in small groups move little: eps times the condition of their walk


def test_singular_and_general_problems(network, rng):
    for problem in (sv.least_squares(network, shards(rng, N, 1, 3)), constrained(network, rng, rows=3)):
        found = regression_attack(problem, mask=sv.GaussianMask(1e8), seed=1, theta=0.7, c=0.8)
        assert found.errors(problem).max() < 1e-11  # rank 1, or random blocks: some 1e4 eps


@settings(max_examples=25, deadline=None)
@given(
    d=st.integers(1, 4),
    exponent=st.integers(-2, 6),
    theta=st.floats(0.3, 1.0),
    n=st.integers(3, 7),
    seed=st.integers(0, 10**6),
)
def test_hessians_of_random_problems(d, exponent, theta, n, seed):
    rng = np.random.default_rng(seed)
    problem = sv.least_squares(sv.Network.erdos_renyi(n, 0.6, seed=seed), shards(rng, n, 3 * d, d))
    mask = sv.GaussianMask(100.0**exponent)
    found = regression_attack(problem, mask=mask, seed=seed, schedule=sv.Asynchronous(), theta=theta, c=1.0 * d)
    # What the attacker can know: some walks are nearly flat, and then it says nan rather than a wrong matrix.
    errors = found.errors(problem)
    assert np.isfinite(errors).mean() > 0.5
    assert np.nanmax(errors) < 1e-3
    assert np.nanmedian(errors) < 1e-10


def test_the_attacker_sees_that_a_cost_is_not_quadratic(network, rng):
    for problem in (
        sv.Problem(network, sv.Huber.many(rng.normal(size=N))),
        sv.logistic(network, [(A, np.sign(b)) for A, b in shards(rng, N, 8, 2)]),
    ):
        transcript = record_transcript(problem, c=0.4, theta=0.5, mask=sv.GaussianMask(100.0), seed=1, iterations=20)
        assert np.nanmin(recover_hessians(transcript).residuals) > 1e-3
    with pytest.raises(Unsupported, match=r"quadratic costs.*gradient_attack"):
        regression_attack(problem, mask=sv.GaussianMask(1.0))


def test_the_symmetric_solution_is_the_least_squares_one(rng):
    """Against the normal equations over the free entries of a symmetric matrix."""
    X, G = rng.normal(size=(2, 9, 3))
    units = [np.zeros((3, 3)) for _ in range(6)]
    for unit, (i, j) in zip(units, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)], strict=True):
        unit[i, j] = unit[j, i] = 1.0
    entries = np.linalg.lstsq(np.array([(X @ unit).ravel() for unit in units]).T, G.ravel(), rcond=None)[0]
    expected = sum(entry * unit for entry, unit in zip(entries, units, strict=True))
    np.testing.assert_allclose(symmetric_solution(X, G), expected, rtol=1e-12, atol=1e-13)


# Gradients of other costs


def family(name, network, rng):
    labelled = [(A, np.sign(b)) for A, b in shards(rng, N, 8, 2)]
    return sv.Problem(
        network,
        {
            "logistic": lambda: [sv.Logistic(A, y, 0.1) for A, y in labelled],
            "hinge": lambda: [sv.Hinge(A, y, 0.1) for A, y in labelled],
            "lasso": lambda: [sv.Lasso(A, b, 0.5) for A, b in shards(rng, N, 6, 3)],
            "huber": lambda: sv.Huber.many(rng.normal(size=N)),
            "median": lambda: sv.AbsoluteDeviation.many(rng.normal(size=N)),
            "custom": lambda: [
                sv.Custom(lambda v, t: (v + np.sqrt(v * v + 4 * t)) / 2, lambda x: -np.log(x) if x > 0 else np.inf)
                for _ in range(N)
            ],
            "averaging": lambda: sv.Averaging.many(rng.normal(size=(N, 2))),
        }[name](),
    )


@pytest.mark.parametrize("sigma", [1.0, 1e4])
@pytest.mark.parametrize("name", ["logistic", "hinge", "lasso", "huber", "median", "custom", "averaging"])
def test_gradients_up_to_a_constant(network, rng, name, sigma):
    problem = family(name, network, rng)
    found = gradient_attack(problem, mask=sv.GaussianMask(sigma**2), seed=2, c=0.7, schedule=sv.Asynchronous())
    assert [len(x) for x, _ in found.differences] == [len(gradient) for _, gradient in found.differences]
    assert found.points.min() >= (8 if name in ("hinge", "median", "lasso") else 15)  # who sits in a kink stays there
    assert found.errors.max() < 100 * EPS * sigma  # rounding of messages a few times sigma, summed over neighbours
    assert found.ranges.max() > 0.5  # there is something to know, at some nodes at least where gradients are bounded
    if name in ("logistic", "averaging"):
        assert (found.ranges > 1e10 * found.errors).all()


@pytest.mark.parametrize("sigma", [1.0, 1e4])
def test_gradients_under_general_constraints(network, rng, sigma):
    """The penalty of a step is a matrix there, and ``b`` is not 0; and errors are those of what was recovered."""
    problem = constrained(network, rng, rows=3)
    found = gradient_attack(problem, mask=sv.GaussianMask(sigma**2), seed=2, c=0.7, schedule=sv.Asynchronous())
    assert all(problem.penalty(0.7, i).ndim == 3 for i in range(N))
    assert found.errors.max() < 1e4 * EPS * sigma  # random blocks determine x less well
    assert (found.ranges > 1e6 * found.errors).all()
    for x, gradient in found.differences:
        assert np.abs(gradient - x).max() < 1e4 * EPS * sigma  # Q = I


def test_the_error_of_a_wrong_pair_shows(network, rng):
    from sottovoce.privacy.attacks.traffic import _distance

    problem = family("logistic", network, rng)
    z0 = 10 * rng.normal(size=int(problem.rows[-1]))
    transcript = record_transcript(problem, z0=z0, c=0.7, iterations=15)
    pairs = gradient_differences(transcript, 4)
    assert _distance(problem, transcript, z0, 4, pairs) < 1e-13
    for x, gradient in ((pairs.x + 1e-6, pairs.gradient), (pairs.x, pairs.gradient + 1e-6)):
        assert _distance(problem, transcript, z0, 4, type(pairs)(x, gradient)) > 1e-7


def test_in_words(network, rng):
    found = gradient_attack(family("huber", network, rng), mask=sv.GaussianMask(1e4), wakes=6, seed=2, c=0.7)
    assert found.sentence(3).startswith("The gradient map of node 3 is known up to a constant at 6 points")
    with pytest.raises(InvalidInput, match="wakes must be an integer >= 1"):
        gradient_attack(family("huber", network, rng), mask=sv.GaussianMask(1.0), wakes=0)


# What pads do hide, until they are used twice


def played(problem, z0=None, **changes):
    return record_transcript(problem, **{"c": 0.4, "theta": 1.0, "z0": z0, "iterations": 12, **changes})


def test_the_constant_is_hidden_by_pads_and_by_nothing_else(network, rng):
    """The difference to a run with data of one's own and no pads, which anyone can play, gives ``q`` of a run without
    pads. Of a run with pads it gives ``q`` plus noise of the size of the pads."""
    mine, theirs = (sv.averaging(network, s) for s in rng.normal(size=(2, N)))
    z0 = 1e4 * rng.normal(size=2 * network.m)
    assert changes_between(played(mine), played(theirs)).errors(mine, theirs).max() < 1e-13
    assert np.median(changes_between(played(mine), played(theirs, z0)).errors(mine, theirs)) > 1e3


def test_another_data_set_gives_the_same_transcript(network, rng):
    """Zero-sum changes of ``q`` are absorbed by the half-sums of the pads
    (theory: Open channels, only the sum is revealed), so that whatever an attacker computes is the same for both."""
    s, z0 = rng.normal(size=N), 100 * rng.normal(size=2 * network.m)
    change = rng.normal(size=N)
    change -= change.mean()
    C, P = network.C.toarray(), network.P
    symmetric = np.eye(2 * network.m) + np.eye(2 * network.m)[P]
    u = np.linalg.lstsq(C.T @ symmetric, 2 * change, rcond=None)[0]  # C'(u + Pu) = -(change of q) = 2 change
    one = played(sv.averaging(network, s), z0)
    other = played(sv.averaging(network, s + change), z0 + u + u[P])
    for heard, again in zip(one.heard, other.heard, strict=True):
        assert np.abs(heard.r - again.r).max() < 1e3 * EPS * 100  # rounding at the size of messages, in 12 iterations
    assert np.abs(change).max() > 0.5


@pytest.mark.parametrize("sigma", [1.0, 1e4])
@pytest.mark.parametrize("schedule", [None, sv.Asynchronous(), sv.EdgeBernoulli(0.7)], ids=str)
@pytest.mark.parametrize("kind", ["numbers", "vectors", "regression", "constrained"])
def test_pads_used_twice_show_every_change(network, rng, kind, schedule, sigma):
    if kind == "regression":
        data = shards(rng, N, 6, 2)
        before = sv.least_squares(network, data)
        after = sv.least_squares(network, [(A, b + (i % 3 == 0)) for i, (A, b) in enumerate(data)])
    elif kind == "constrained":
        before = constrained(network, rng, rows=3)
        after = sv.Problem(before.network, [sv.Quadratic(np.eye(2), q) for q in rng.normal(size=(N, 2))])
    else:
        s = rng.normal(size=N if kind == "numbers" else (N, 3))
        before, after = sv.averaging(network, s), sv.averaging(network, s + rng.integers(0, 2, s.shape))
    found = pad_reuse_attack(before, after, mask=sv.GaussianMask(sigma**2), seed=5, schedule=schedule, c=0.7)
    # Rounding of messages, and of x times the curvature, some 30 for the regression; random blocks are worse.
    bound = (1e4 if kind == "constrained" else 1e3) * EPS * max(sigma, 1.0)
    assert found.errors(before, after).max() < bound
    assert np.abs(found.q).max() > 0.5


def test_fresh_pads_show_no_change(network, rng):
    s = rng.normal(size=N)
    before, after = sv.averaging(network, s), sv.averaging(network, s + 1)
    one, two = (1e4 * rng.normal(size=2 * network.m) for _ in range(2))
    found = changes_between(played(before, one), played(after, two))
    assert np.median(found.errors(before, after)) > 1e3
    assert changes_between(played(before, one), played(after, one)).errors(before, after).max() < 1e-9


def test_where_the_hessian_changed_the_change_of_q_is_not_determined(network, rng):
    """Moving every ``x`` by ``shift``, with ``q - Q shift`` and pads ``z(0) - c C shift``, gives the same transcripts,
    but a ``q' - q`` that differs by ``(Q' - Q) shift``. The attack says nan there, and is exact elsewhere."""
    Q, Q_after = np.full(N, 2.0), np.where(np.arange(N) == 4, 3.0, 2.0)
    q, q_after = rng.normal(size=(2, N))
    z0, c, shift = 100 * rng.normal(size=2 * network.m), 0.4, 1.5

    def runs(moved):
        pads = z0 - moved * c * (network.C @ np.ones(N))
        costs = [(Q, q - moved * Q), (Q_after, q_after - moved * Q_after)]
        problems = [sv.Problem(network, [sv.Quadratic(*pair) for pair in zip(*both, strict=True)]) for both in costs]
        return problems, [played(problem, pads, c=c) for problem in problems]

    (problems, transcripts), (_, moved) = runs(0.0), runs(shift)
    for one, other in zip(transcripts, moved, strict=True):
        for heard, again in zip(one.heard, other.heard, strict=True):
            assert np.abs(heard.r - again.r).max() < 1e3 * EPS * 100  # as above
    found = changes_between(*transcripts)
    assert np.isnan(found.q[4]).all()
    assert np.delete(found.errors(*problems), 4).max() < 1e3 * EPS * 100


def test_pads_of_different_networks_cannot_be_shared(network, rng):
    s = rng.normal(size=N)
    with pytest.raises(InvalidInput, match="one network"):
        pad_reuse_attack(sv.averaging(network, s), sv.averaging(sv.Network.ring(N), s), mask=sv.GaussianMask(1.0))
    with pytest.raises(Unsupported, match="quadratic"):
        pad_reuse_attack(sv.averaging(network, s), sv.Problem(network, sv.Huber.many(s)), mask=sv.GaussianMask(1.0))
