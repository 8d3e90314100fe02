"""The rational oracle: by hand on tiny networks, and the closed forms (theory: Open channels). No tolerance means
exactly equal."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
import rational as oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rational import Iteration, Model, asynchronous, averaging, synchronous

import sottovoce as sv

EPS = np.finfo(float).eps
PAIR = sv.Network.from_edges(2, [(0, 1)])
PATH = sv.Network.from_edges(3, [(0, 1), (1, 2)])
TWINS = sv.Network.from_edges(4, [(0, 1), (1, 2), (1, 3)])  # 2 and 3 are leaves of 1


def given_masked(model, corrupt, nodes, noise):
    """The posterior of ``S``, given corrupt secrets and ``q_i + N_i`` for some nodes, ``N ~ N(0, noise)``."""
    n, zeros = model.network.n, [F(0)] * len(nodes)
    masks = oracle.diagonal([F(1)] * len(nodes))
    rows = [model.secret(i)[:n] + zeros for i in corrupt]
    rows += [oracle.combine((-model.a[i], model.secret(i)))[:n] + masks[k] for k, i in enumerate(nodes)]
    return oracle.posterior(oracle.block_diagonal(model.Sigma_s, noise), rows, n)


def given_view(model, schedule, corrupt, channels="open"):
    return oracle.posterior(model.prior, oracle.view(model, schedule, corrupt, channels), model.network.n)


def laplacian(model, nodes, honest):
    """``diag(honest degree) - W``, on some of the honest nodes."""
    around = [set(nodes) & honest for nodes in model.neighbours]
    return [[F(len(around[i])) if i == j else -F(j in around[i]) for j in nodes] for i in nodes]


def open_channel_noise(model, woken, honest):
    """``(v/2) ( diag(honest degree) - W + sum_K a_K a_K' / (c^2 m_K) )`` on the honest nodes that have woken.

    ``K`` are the components of the woken; no such term where one has a corrupt neighbour, and ``x_K`` is known.
    """
    noise = laplacian(model, woken, honest)
    for K in oracle.components(model, woken):
        edges = [pair for pair in model.half_edges if pair[0] < pair[1] and set(pair) & K]
        if all(set(pair) <= honest for pair in edges):
            for p, i in enumerate(woken):
                for q, j in enumerate(woken):
                    if {i, j} <= K:
                        noise[p][q] += model.a[i] * model.a[j] / (model.c**2 * len(edges))
    return [[model.v / 2 * entry for entry in row] for row in noise]


@st.composite
def situations(draw):
    """A model, a schedule with losses, which need not wake everybody, and a coalition, which may be empty."""
    n = draw(st.integers(3, 6))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    edges |= set(draw(st.lists(st.sampled_from([(i, j) for j in range(n) for i in range(j)]), max_size=n)))
    names = draw(st.permutations(range(n)))
    network = sv.Network.from_edges(n, [(names[i], names[j]) for i, j in sorted(edges)])
    ratios = st.builds(F, st.integers(1, 5), st.integers(1, 5))
    common = draw(st.sampled_from([F(0), F(1), F(1, 3)]))  # correlates the secrets
    model = Model(
        network,
        a=[draw(ratios) for _ in range(n)],
        c=draw(ratios),
        theta=draw(st.sampled_from([F(1), F(1, 2), F(4, 5)])),
        v=draw(st.sampled_from([F(1), F(7), F(1, 10)])),
        Sigma_s=[[common + (draw(ratios) if i == j else 0) for j in range(n)] for i in range(n)],
    )
    schedule = []
    wakeful = st.sampled_from(sorted(draw(st.sets(st.integers(0, n - 1), min_size=2))))
    for awake in draw(st.lists(st.sets(wakeful, min_size=1), min_size=1, max_size=6)):
        sent = [pair for pair in model.half_edges if pair[0] in awake]
        schedule.append(Iteration(awake, draw(st.none() | st.sets(st.sampled_from(sent)))))
    return model, schedule, draw(st.sets(st.integers(0, n - 1), max_size=2))


# The oracle itself


def test_messages_are_those_of_the_nodes(rng):
    """The functionals, evaluated, are what ``sv.Node`` sends; with losses, and different curvatures."""
    network = sv.Network.from_edges(4, [(0, 1), (1, 2), (0, 2), (2, 3)])
    a, s, z0 = np.array([2.0, 0.5, 1.0, 3.0]), rng.normal(size=4), 10 * rng.normal(size=8)
    model = Model(network, a, c=0.5, theta=0.75, v=1, Sigma_s=np.eye(4))
    nodes = sv.nodes_of(sv.Problem(network, sv.Quadratic.many(a, -(a * s)[:, None])), c=0.5, theta=0.75, z0=z0)
    schedule, said = [], []
    for k in range(20):
        awake = [k % 4, (k // 2) % 4] if k % 3 else [0, 1, 2, 3]
        messages = [message for i in set(awake) for message in nodes[i].wake()]
        arrived = [message for message in messages if rng.random() < 0.7]
        for message in arrived:
            nodes[message.receiver].receive(message)
        schedule.append(Iteration(awake, [(message.sender, message.receiver) for message in arrived]))
        said += [(message.sender, message.receiver, message.r[0]) for message in messages]
    values = [F(float(value)) for value in np.concatenate([s, z0])]
    sent = oracle.transcript(model, schedule)
    assert [(i, j) for i, j, _ in sent] == [(i, j) for i, j, _ in said]
    # A dozen roundings per node and iteration, at the size of the pads; the iteration does not amplify them.
    exact = np.array([float(oracle.dot(r, values)) for _, _, r in sent])
    assert np.abs(exact - [r for _, _, r in said]).max() < 20 * 12 * EPS * np.abs(z0).max()


def test_the_posterior_against_floats(rng):
    root, V = rng.integers(-4, 5, size=(6, 6)) + 9 * np.eye(6, dtype=int), rng.integers(-3, 4, size=(3, 6))
    V = np.vstack([V, V[0] - 2 * V[1], 0 * V[0]])  # dependent rows add nothing
    K = root @ root.T
    fractions = [[oracle.exact(entry) for entry in row] for row in K]
    got = oracle.posterior(fractions, [[F(int(entry)) for entry in row] for row in V], 4)
    expected = K - K @ V[:3].T @ np.linalg.solve(V[:3] @ K @ V[:3].T, V[:3] @ K)
    assert np.linalg.cond(V[:3] @ K @ V[:3].T) < 1e2  # so that floats are right to 1e-12
    np.testing.assert_allclose(np.array(got, dtype=float), expected[:4, :4], rtol=1e-12, atol=1e-12 * K.max())
    assert oracle.posterior(fractions, [], 4) == [row[:4] for row in fractions[:4]]


def test_nats():
    assert oracle.nats(F(0)) == 0
    assert oracle.nats(F(1)) == math.inf
    for share, expected in [
        (F(3, 4), math.log(2)),
        (F(1, 2), math.log(2) / 2),
        (F(1, 10**30), 0.5e-30),
        (F(1, 10**400), 0.0),
        (1 - F(1, 10**30), 15 * math.log(10)),
        (1 - F(1, 10**400), 200 * math.log(10)),
    ]:
        assert oracle.nats(share) == pytest.approx(expected, rel=4 * EPS, abs=0)


def test_integers_of_numpy_do_not_overflow():
    big = oracle.exact(np.int64(2**62))
    assert big * big == 2**124


def test_refusals():
    model = averaging(PATH, c=1, theta=1, v=1)
    with pytest.raises(ValueError, match=r"\[\(1, 2\)\] arrive, but were not sent"):
        oracle.transcript(model, [Iteration([0], [(0, 1), (1, 2)])])
    with pytest.raises(ValueError, match=r"there is no node 3; nodes are 0 \.\. 2"):
        oracle.leakage(model, [], corrupt={3})
    with pytest.raises(ValueError, match="channels must be 'open' or 'encrypted'; got 'closed'"):
        oracle.leakage(model, [], channels="closed")


# By hand: a = 2, c = 1, all variances 1


def test_two_nodes():
    """Node 0 alone: ``r = z_{0|1}/3 - z_{1|0} - (4/3) s_0``, of which ``s_0`` explains ``16/(16 + 1 + 9)``. Both:
    ``Y = S + N`` with ``4 Cov N = [[1, -1], [-1, 1]]/2 + 2 [[1, 1], [1, 1]]``, hence ``4 * 6.5 / (6.5^2 - 1.5^2)``."""
    model = averaging(PAIR, c=1, theta=1, v=1)
    assert oracle.transcript(model, asynchronous([0]))[0].r == [F(-4, 3), F(0), F(1, 3), F(-1)]
    assert oracle.leakage(model, []) == {0: 0, 1: 0}
    assert oracle.leakage(model, asynchronous([0])) == {0: F(8, 13), 1: 0}
    assert oracle.leakage(model, synchronous(PAIR, 1)) == {0: F(13, 20), 1: F(13, 20)}
    assert oracle.leakage(model, asynchronous([1]), corrupt={1}) == {0: 0}
    assert oracle.leakage(model, asynchronous([0]), corrupt={1}, channels="encrypted") == {0: 1}
    assert oracle.floor(model) == {0: 0, 1: 0}
    assert oracle.floor(model, corrupt={1}) == {0: 1}


def test_a_path_with_a_corrupt_end():
    """Honest 0 and 1 share the pads of one edge, ``N(0, v/2)`` over open channels: ``4 * 4.5/(4.5^2 - 0.5^2)``.

    Encrypted, one pad, ``N(0, v)``, is all that is used: ``q_1 + z_{1|0}(0)`` when 1 wakes first, ``4/(4 + 1)``, then
    ``4 * 5/(5^2 - 1)``; when 0 wakes first, 1 shows ``q_1 + z_{0|1} - 2 x_0 = -2 s_1 + z_{0|1}/3 - (4/3) s_0``.
    """
    model = averaging(PATH, c=1, theta=1, v=1)

    def encrypted(nodes, share=oracle.leakage):
        return share(model, asynchronous(nodes), {2}, "encrypted")

    assert oracle.leakage(model, asynchronous([1]), {2}) == {0: 0, 1: F(8, 9)}
    assert oracle.leakage(model, asynchronous([1, 0]), {2}) == {0: F(9, 10), 1: F(9, 10)}
    assert encrypted([0, 2, 2]) == {0: 0, 1: 0}
    assert encrypted([1]) == encrypted([1, 0, 2]) == {0: 0, 1: F(4, 5)}
    assert encrypted([0, 1]) == {0: F(16, 53), 1: F(36, 53)}
    assert encrypted([0, 1, 0, 1]) == encrypted([1, 0, 1]) == encrypted([1, 0, 1] * 3) == {0: F(5, 6), 1: F(5, 6)}
    # The sum of both is the floor; with one masked value it makes the whole view.
    assert oracle.floor(model, {2}) == encrypted([0], oracle.joint) == {0: F(1, 2), 1: F(1, 2)}
    assert encrypted([1], oracle.joint) == {0: F(5, 6), 1: F(5, 6)}


def test_the_floor_counts_curvatures_and_what_the_coalition_knows_itself():
    model = Model(PATH, a=[1, 3, 2], c=1, theta=1, v=1, Sigma_s=oracle.diagonal([1, 1, 1]))
    assert oracle.floor(model, {2}) == {0: F(1, 10), 1: F(9, 10)}  # q_0 + q_1 = -(s_0 + 3 s_1)
    assert oracle.floor(model, {1}) == {0: 1, 2: 1}
    related = Model(PATH, a=[2, 2, 2], c=1, theta=1, v=1, Sigma_s=[[2, 1, 1], [1, 2, 1], [1, 1, 2]])
    # Given s_2: variances 3/2, covariance 1/2. Given the sum too: (3/2 - 1/2)/2.
    assert oracle.floor(related, {2}) == {0: F(3, 4), 1: F(3, 4)}


# Closed forms, open channels


LINE = sv.Network.from_edges(6, [(i, i + 1) for i in range(5)])


@settings(max_examples=80, deadline=None)
@given(situations())
# 0 and 1 have no corrupt neighbour and keep their common t, on two edges; of 4, next to the coalition, x is known.
@example((averaging(LINE, c=3, theta=1, v=1), asynchronous([4, 1, 0, 1]), {5}))
def test_open_channels_after_any_prefix(situation):
    """The view is ``q_i + sum_j A_ij u_ij + a_i t_K`` of the honest nodes that have woken, and nothing else."""
    model, schedule, corrupt = situation
    honest = set(range(model.network.n)) - corrupt
    woken = sorted({i for awake, _ in schedule for i in awake} & honest)
    expected = given_masked(model, corrupt, woken, open_channel_noise(model, woken, honest))
    assert given_view(model, schedule, corrupt) == expected


@settings(max_examples=20, deadline=None)
@given(situations())
def test_knowing_more_is_no_less(situation):
    model, schedule, corrupt = situation
    tapped = oracle.leakage(model, schedule, corrupt)
    encrypted, earlier, floor, joint = (
        oracle.leakage(model, schedule, corrupt, "encrypted"),
        oracle.leakage(model, schedule[:-1], corrupt),
        oracle.floor(model, corrupt),
        oracle.joint(model, schedule, corrupt, "encrypted"),
    )
    for i, share in tapped.items():
        assert 0 <= encrypted[i] <= share <= 1
        assert earlier[i] <= share
        assert max(floor[i], encrypted[i]) <= joint[i] <= 1
    if {i for awake, _ in schedule for i in awake} == set(range(model.network.n)) and corrupt:
        assert oracle.joint(model, schedule, corrupt) == tapped  # a complete transcript contains the sums


COMPLETE = {
    "synchronous": lambda rng: synchronous(GRAPH, 3),
    "asynchronous": lambda rng: asynchronous([*rng.permutation(6), *rng.integers(6, size=20)]),
    "losses": lambda rng: [Iteration([i], ()) for i in rng.permutation(6)] + synchronous(GRAPH, 1),
}
GRAPH = sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5)])


@pytest.mark.parametrize("schedule", COMPLETE)
@pytest.mark.parametrize(("theta", "c", "v"), [(1, F(2, 5), 8), (F(4, 5), 1, F(1, 2)), (F(1, 2), 3, 20)])
def test_whole_transcripts(rng, schedule, theta, c, v):
    """``[(I + rho L_h)^{-1}]_ii`` of a coalition, and the pure eavesdropper with ``kappa``, once all have woken."""
    secret_variance = 3
    model, run = averaging(GRAPH, c=c, theta=theta, v=v, secret_variance=secret_variance), COMPLETE[schedule](rng)
    W, n, rho = GRAPH.adjacency.toarray(), 6, float(v) / (8 * secret_variance)
    for corrupt in ({0}, {1, 4}, {3, 4}):  # the last cuts 5 off, which is disclosed
        honest = [i for i in range(n) if i not in corrupt]
        L = W[np.ix_(honest, honest)]
        expected = np.diag(np.linalg.inv(np.eye(len(honest)) + rho * (np.diag(L.sum(axis=1)) - L)))
        got = oracle.leakage(model, run, corrupt)
        # I + rho L is conditioned like 1 + 2 rho max d <= 8; 1e-12 is thousands of eps.
        np.testing.assert_allclose([float(got[i]) for i in honest], expected, rtol=1e-12)
        for part in oracle.components(model, honest):
            assert {oracle.floor(model, corrupt)[i] for i in part} == {F(1, len(part))}
    assert oracle.leakage(model, run, {3, 4})[5] == 1
    kappa = 2 * float(c) ** 2 * GRAPH.m * secret_variance / (n * float(v))
    smoothed = np.diag(np.linalg.inv(np.eye(n) + rho * (np.diag(W.sum(axis=1)) - W)))
    got = oracle.leakage(model, run)
    expected = smoothed - 1 / n + kappa / (1 + kappa) / n
    np.testing.assert_allclose([float(got[i]) for i in range(n)], expected, rtol=1e-12)
    for i in range(n):
        assert oracle.nats(got[i]) == pytest.approx(-0.5 * np.log(1 - expected[i]), rel=1e-11)


# Encrypted channels, theta = 1, one node at a time, nothing lost


def one_pad(model, corrupt):
    """Of the two pads of an honest edge only the one that is read first counts: noise ``v L_h`` in ``q``."""
    honest = sorted(set(range(model.network.n)) - set(corrupt))
    noise = [[model.v * entry for entry in row] for row in laplacian(model, honest, set(honest))]
    return given_masked(model, corrupt, honest, noise)


@pytest.mark.parametrize("seed", range(6))
def test_one_pad_per_edge_hides_over_encrypted_channels(seed):
    """Equal once the coalition's edges have shown every honest value, which takes some activations."""
    rng = np.random.default_rng(seed)
    network = sv.Network.erdos_renyi(5, 0.5, seed=seed)
    model = Model(network, a=[2] * 5, c=F(3, 7), theta=1, v=4, Sigma_s=oracle.diagonal([1] * 5))
    nodes, corrupt = [*rng.permutation(5), *rng.integers(5, size=60)], {int(rng.integers(5))}
    bound = one_pad(model, corrupt)
    early = given_view(model, asynchronous(nodes[:10]), corrupt, "encrypted")
    assert all(bound[i][i] <= early[i][i] for i in range(5))
    assert given_view(model, asynchronous(nodes), corrupt, "encrypted") == bound


@settings(max_examples=20, deadline=None)
@given(situations(), st.lists(st.integers(0, 5), max_size=12))
def test_one_pad_per_edge_is_always_a_bound(situation, nodes):
    model, _, corrupt = situation
    model.theta = F(1)
    corrupt = corrupt or {0}
    schedule = asynchronous(i % model.network.n for i in nodes)
    left, bound = given_view(model, schedule, corrupt, "encrypted"), one_pad(model, corrupt)
    assert all(bound[i][i] <= left[i][i] for i in range(model.network.n))


def test_twins_that_wake_alike_show_their_sum_only():
    """Leaves 2 and 3 always wake between the same activations of 1: for ever ``w_1`` and ``w_2 + w_3`` are all that 1
    passes on, and the bound is not reached. Any other order of the three tells them apart."""
    model = averaging(TWINS, c=F(3, 7), theta=1, v=1)
    w = {i: oracle.combine((-2, model.secret(i))) for i in (1, 2, 3)}
    for leaf in (2, 3):  # read first by the leaf, and passed on to 1: z_{leaf|1}(0), A_{leaf,1} = 1
        pad = model.pads[leaf, 1]
        w[leaf], w[1] = oracle.combine((1, w[leaf]), (1, pad)), oracle.combine((1, w[1]), (-1, pad))
    known = [model.secret(0), *(pad for pair, pad in model.pads.items() if 0 in pair)]
    sums = oracle.posterior(model.prior, [*known, w[1], oracle.combine((1, w[2]), (1, w[3]))], 4)
    apart = oracle.posterior(model.prior, [*known, w[1], w[2], w[3]], 4)
    assert given_view(model, asynchronous([2, 3, 1, 0] * 8), {0}, "encrypted") == sums != apart
    assert given_view(model, asynchronous([2, 3, 1, 2, 1, 0] * 3), {0}, "encrypted") == apart == one_pad(model, {0})


def test_a_singular_node_forgets_its_pads():
    """``y_i = (I - 2c A_i A_i'/(a_i + c d_i)) z_i + ...`` is singular where ``a_i = c d_i``. Leaf 0 then sends
    ``-A_01 q_0`` without its pad, and nothing but ``q_0 + q_1`` ever shows: the floor, with every edge in use."""
    model = averaging(PATH, c=2, theta=1, v=1)
    for rounds in (1, 8):
        assert oracle.leakage(model, asynchronous([0, 1, 2] * rounds), {2}, "encrypted") == oracle.floor(model, {2})
    assert given_view(model, asynchronous([1, 0, 1]), {2}, "encrypted") == one_pad(model, {2})  # 1 showed a pad before


@pytest.mark.parametrize(
    ("theta", "schedule"),
    [
        (F(1, 2), asynchronous([0, 1] * 3)),
        (F(4, 5), asynchronous([1, 0] * 3)),
        (F(1), synchronous(PATH, 3)),
        (F(1, 2), synchronous(PATH, 3)),
        (
            F(1),
            [Iteration([1], [(1, 2)]), *asynchronous([0, 1, 0, 1])],
        ),  # 0 did not hear 1, and still reads its own pad
    ],
)
def test_both_pads_show_in_the_end_otherwise(theta, schedule):
    """With ``theta < 1``, adjacent nodes awake at once, or a loss, both pads of an edge are read. A long transcript
    then shows their difference, and encryption between honest nodes hides no more than open channels do."""
    model = averaging(PATH, c=1, theta=theta, v=1)
    assert oracle.leakage(model, schedule, {2}, "encrypted") == {0: F(9, 10), 1: F(9, 10)}
    assert given_view(model, schedule, {2}, "encrypted") == given_view(model, schedule, {2})
