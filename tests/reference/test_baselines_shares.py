"""What secret sharing gives away, by enumeration, by fractions, and by taking masks off as an adversary would."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import chain, combinations, product

import numpy as np
import pytest
import rational as oracle
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

import sottovoce as sv
from sottovoce.baselines import AdditiveShares, SecureAggregation, Shamir, SubspacePerturbation, TreeSum
from sottovoce.baselines.base import randomness
from sottovoce.baselines.double_masking import PRIME, SHARE, Party, nonce, pad, stretched
from sottovoce.baselines.masking_graph import known_groups, masking_graph
from sottovoce.baselines.over_tree import summed
from sottovoce.baselines.polynomial_shares import deal, reconstruct
from sottovoce.baselines.sent import Sent
from sottovoce.privacy import Coalition, Eavesdropper, audit

TAPS = Eavesdropper()


def coalitions(n, most):
    return chain.from_iterable(combinations(range(n), size) for size in range(1, most + 1))


def floor(size):
    return -0.5 * math.log(1 - 1 / size) if size > 1 else math.inf


def shows(distributions, honest_sum):
    """Of ``{secrets: distribution of the view}`` which of three it is: two worlds have the same view, or none that it
    could be in both."""
    worlds = list(distributions)

    def alike(one, two):
        return distributions[one] == distributions[two]

    def apart(one, two):
        return not distributions[one].keys() & distributions[two].keys()

    pairs = list(combinations(worlds, 2))
    if all(alike(*pair) for pair in pairs):
        return "nothing"
    if all(apart(*pair) for pair in pairs):
        return "everything"
    assert all((alike if honest_sum(one) == honest_sum(two) else apart)(one, two) for one, two in pairs)
    return "the sum"


def counted(columns):
    rows, counts = np.unique(np.array(columns), axis=1, return_counts=True)
    return dict(zip(map(tuple, rows.T.tolist()), counts.tolist(), strict=True))


# Shamir


class Scripted:
    """Every coefficient in turn, instead of a random one."""

    def __init__(self, values, p):
        self.values, self.p = iter(values), p

    def randrange(self, p):
        assert p == self.p
        return next(self.values)


def every_polynomial(p, t, n):
    """Shares ``(n, p^t)`` of each secret, one column for every choice of the other coefficients."""
    tails = list(product(range(p), repeat=t))
    return {
        s: deal([s] * len(tails), t, range(1, n + 1), p, Scripted(chain.from_iterable(tails), p)).T.astype(np.int64)
        for s in range(p)
    }


@pytest.mark.parametrize(("p", "n", "t"), [(5, 3, 1), (7, 3, 1), (5, 3, 2), (5, 4, 1), (5, 4, 2), (5, 4, 3)])
def test_shamir_by_enumeration(p, n, t):
    """Coalitions, and all polynomials of honest dealers: up to t learn the sum, and t + 1 everything. Corrupt dealers
    know their own polynomials, so these are left out. With dropouts, too."""
    shares = every_polynomial(p, t, n)
    gone, met = [set(), {n - 1}, set(range(1, n))], set()
    for corrupt in coalitions(n, min(t + 1, n - 1)):
        honest = [i for i in range(n) if i not in corrupt]
        for dropped in gone:
            if p ** (t * len(honest)) > 2000 and corrupt not in ((0,), (0, 1)):
                continue  # of the larger enumerations one coalition is enough
            if p ** (t * len(honest)) > 20_000:
                continue
            stay = set(range(n)) - dropped
            heard = sorted(stay) if stay & set(corrupt) else []
            choices = list(product(range(2), repeat=len(honest)))
            picks = np.array(list(product(range(p**t), repeat=len(honest)))).T
            views = {}
            for secrets in choices:
                dealt = np.array([shares[s][:, pick] for s, pick in zip(secrets, picks, strict=True)])
                own, sums = dealt[:, list(corrupt)].reshape(-1, picks.shape[1]), dealt.sum(axis=0)[heard] % p
                views[secrets] = counted([*own, *sums])
            found = shows(views, lambda secrets: sum(secrets) % p)
            method = Shamir(threshold=t, prime=p, resolution=1, dropouts=dropped)
            nats = method.run(np.zeros(n), sv.Network.complete(n), seed=0).leakage(Coalition(corrupt)).nats[honest]
            expected = {"nothing": 0.0, "the sum": floor(len(honest)), "everything": np.inf}[found]
            np.testing.assert_allclose(nats, expected, rtol=1e-14)
            met.add(found)
    assert met >= {"the sum", "everything"}


@pytest.mark.parametrize(("p", "n", "t"), [(5, 3, 1), (7, 4, 2)])
def test_few_shares_are_uniform_and_one_more_is_not(p, n, t):
    shares = every_polynomial(p, t, n)
    for points in combinations(range(n), t):
        for s in range(p):
            assert counted(shares[s][list(points)]) == {point: 1 for point in product(range(p), repeat=t)}
    for points in combinations(range(n), t + 1):
        views = [counted(shares[s][list(points)]) for s in range(p)]
        assert all(not one.keys() & two.keys() for one, two in combinations(views, 2))


# Additive shares

Q = 4
GRAPHS = {
    "path": [(0, 1), (1, 2), (2, 3)],
    "star": [(0, 1), (0, 2), (0, 3)],
    "ring": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "paw": [(0, 1), (0, 2), (1, 2), (2, 3)],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_additive_shares_by_enumeration(name):
    """All shares modulo 4, of every coalition: the messages of its tree edges, or of all, and its own shares."""
    network, method = sv.Network.from_edges(4, GRAPHS[name]), AdditiveShares(bits=2, resolution=1)
    tree = network.spanning_tree()
    grids = np.meshgrid(*[np.arange(Q, dtype=np.uint64)] * (2 * network.m), indexing="ij")
    shares = np.array([grid.ravel() for grid in grids])
    outcome = method.run(np.zeros(4), network, seed=0)
    for corrupt, taps in product([(0,), (2,), (1, 2)], [True, False]):
        honest = [i for i in range(4) if i not in corrupt]
        own = [bool({i, j} & set(corrupt)) for i, j in network.half_edges.tolist()]
        seen = [i for i in range(4) if taps or i == tree.root or {i, int(tree.parents[i])} & set(corrupt)]
        parts = oracle.components(oracle.averaging(network, c=1, theta=1, v=1), honest)
        views = {}
        for secrets in [(0, 0, 0), (1, 0, 3), (3, 1, 0), (1, 0, 0), (0, 2, 2)]:
            s = np.zeros((4, 1), dtype=np.uint64)
            s[honest, 0] = secrets[: len(honest)]
            hidden = method.hidden(network, np.repeat(s, shares.shape[1], axis=1), shares)
            below, _ = summed(tree, hidden, 0, Sent())
            view = counted_codes([*method.reduced(below)[seen], *shares[own]])
            sums = tuple(int(s[list(part), 0].sum()) % Q for part in parts)
            known = views.setdefault(sums, view)
            assert all(np.array_equal(*pair) for pair in zip(known, view, strict=True))
        for one, two in combinations(views.values(), 2):
            assert not np.intersect1d(one[0], two[0]).size  # the sum of a part shows
        adversary = Coalition(corrupt) | TAPS if taps else Coalition(corrupt)
        nats = outcome.leakage(adversary).nats
        for part in parts:
            np.testing.assert_allclose(nats[list(part)], floor(len(part)), rtol=1e-14)


def counted_codes(columns):
    return np.unique(sum(column * np.uint64(Q**k) for k, column in enumerate(columns)), return_counts=True)


@pytest.mark.parametrize("d", [1, 3])
def test_additive_shares_and_the_modular_mask(d):
    """The same pads, modulo ``2^bits``: the auditor says what they give away."""
    network = sv.Network.random_geometric(14, radius=0.32, seed=4)
    problem = sv.averaging(network, np.random.default_rng(0).integers(-50, 50, size=(14, d)))
    outcome = AdditiveShares().run(problem, seed=0)
    cut = False
    for adversary in [TAPS, *(Coalition(set(pair)) | TAPS for pair in combinations(range(14), 2))]:
        report = audit(problem, sv.ModularMask(), against=adversary, prior=1.0)
        np.testing.assert_allclose(outcome.leakage(adversary).nats, report.leakage, rtol=1e-12)
        cut |= len(set(report.leakage[~np.isnan(report.leakage)])) > 1
    assert cut  # some pair cuts the graph
    assert outcome.x[:, 0].tolist() == np.ravel(sv.solve(problem, mask=sv.ModularMask(), seed=0).x).tolist()[::d]


# The sum over a tree


@st.composite
def trees(draw):
    n = draw(st.integers(3, 7))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    edges |= set(draw(st.lists(st.sampled_from([(i, j) for j in range(n) for i in range(j)]), max_size=n)))
    corrupt = draw(st.sets(st.integers(0, n - 1), max_size=min(3, n - 1)))
    return sv.Network.from_edges(n, sorted(edges)), corrupt, draw(st.booleans())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(case=trees(), variance=st.sampled_from([F(1, 2), F(50), F(10**8)]), prior=st.sampled_from([F(1), F(5, 2)]))
def test_a_tree_sum_in_fractions(case, variance, prior):
    """Every message as a functional of ``(s, z(0))``, in the clear; the posterior by elimination, without rounding."""
    network, corrupt, taps = case
    n, parents = network.n, network.spanning_tree().parents.tolist()
    model = oracle.averaging(network, c=1, theta=1, v=variance, secret_variance=prior)
    w = []
    for i in range(n):
        terms = [(F(-oracle.A(i, j), 4), model.pads[pair]) for j in model.neighbours[i] for pair in ((i, j), (j, i))]
        w.append(oracle.combine((1, model.secret(i)), *terms))

    def path(i):
        return [i] if parents[i] < 0 else [i, *path(parents[i])]

    up = {i: oracle.combine(*((1, w[k]) for k in range(n) if i in path(k))) for i in range(n)}
    everything = oracle.combine(*((1, row) for row in w))
    edges = [(i, parents[i]) for i in range(n) if parents[i] >= 0]
    seen = [row for i, j in edges if taps or {i, j} & corrupt for row in (up[i], everything)]
    seen += [model.secret(i) for i in corrupt]
    seen += [row for pair, row in model.pads.items() if set(pair) & corrupt]
    explained = oracle.explained(model, seen, corrupt)
    outcome = TreeSum(float(variance)).run(np.arange(n), network, seed=0)
    adversary = Coalition(corrupt) | TAPS if taps else Coalition(corrupt)
    found = outcome.leakage(adversary, prior=float(prior)).nats
    for i in range(n):
        if i in corrupt:
            assert np.isnan(found[i])
        else:  # double precision, at pads of 1e4 times the secrets
            assert found[i] == pytest.approx(oracle.nats(explained[i]), rel=1e-9, abs=1e-11)


def test_a_tree_sum_is_the_matched_tree():
    network = sv.Network.random_geometric(12, seed=5)
    problem = sv.averaging(network, np.random.default_rng(1).normal(size=(12, 2)))
    ours, theirs = TreeSum(1e6).run(problem, seed=3), SubspacePerturbation(1e6, overlay="tree").run(problem, seed=3)
    np.testing.assert_allclose(ours.x, theirs.x, atol=12 * 1e3 * 2.3e-16)  # n eps sigma
    for corrupt in ({0}, {3, 7}):
        adversary = Coalition(corrupt) | TAPS
        one, two = (outcome.leakage(adversary, prior=2.0) for outcome in (ours, theirs))
        np.testing.assert_allclose(one.nats, two.nats, rtol=1e-9)
    # The eavesdropper is told the mean, which PDMM hides from it.
    L = np.diag(network.degrees) - network.adjacency.toarray()
    share = np.diag(np.linalg.inv(np.eye(12) + 1e6 / (8 * 2.0) * L))
    np.testing.assert_allclose(ours.leakage(TAPS, prior=2.0).nats, -np.log1p(-share), rtol=1e-6)
    assert theirs.leakage(TAPS, prior=2.0).worst < 1e-3 * ours.leakage(TAPS, prior=2.0).worst


# Secure aggregation


def ideal_server(seed):
    """Masks as unknowns without a prior: what is left of the inputs when all combinations that hold one are gone."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 11))
    holders = int(rng.choice([k for k in range(2, n) if k * n % 2 == 0]))
    t = int(rng.integers(1, 1 + min(2, holders - 1)))
    fates = rng.choice(["stays", "early", "late"], size=n)
    corrupt = set(rng.choice(n, size=rng.integers(0, min(n, 4)), replace=False).tolist())
    early, late = ({i for i in range(n) if fates[i] == fate} for fate in ("early", "late"))
    graph = masking_graph(n, holders, randomness(seed))

    def shares_of(kind, i):
        told = {j for j in graph[i] if fates[j] == "stays"} if (kind == "key") == (i in early) else set()
        return told | (graph[i] & corrupt)

    known = {(kind, i): i in corrupt or len(shares_of(kind, i)) > t for kind in ("key", "seed") for i in range(n)}
    honest = sorted(set(range(n)) - corrupt)
    masks = [("seed", i) for i in honest if not known["seed", i]]
    masks += [("pad", i, j) for i in range(n) for j in graph[i] if i < j and not known["key", i] | known["key", j]]
    inputs = [i for i in honest if i not in early]
    A, B = np.zeros((len(inputs), n)), np.zeros((len(inputs), len(masks)))
    for row, i in enumerate(inputs):
        A[row, i] = 1
        for column, (kind, *who) in enumerate(masks):
            if i in who:
                B[row, column] = 1 if kind == "seed" or i == who[0] else -1
    left = (null_space(B.T).T if B.size else np.eye(len(inputs))) @ A
    R2 = np.diag(np.linalg.pinv(left) @ left) if left.size else np.zeros(n)

    groups = known_groups(graph, t, early, late, Coalition(corrupt) | TAPS, answered=True)
    found = np.zeros(n)
    for group in groups:
        found[group] = 1 / len(group)
    np.testing.assert_allclose(found, R2, atol=1e-9, err_msg=f"seed {seed}")  # of projections of unit vectors


def test_what_an_ideal_server_learns():
    for seed in range(150):  # breaking any one condition of known_groups fails within 20
        ideal_server(seed)


def test_shares_of_a_coalition_open_an_input():
    """With the real ciphers: t + 1 holders and the server take all masks off an honest input; t of them get nowhere."""
    n, t, rng = 6, 2, randomness(1)
    graph = masking_graph(n, n - 1, rng)
    parties = [Party(i, graph[i], t, rng) for i in range(n)]
    keys = {party.i: party.advertise() for party in parties}
    for party in parties:
        party.keys = {j: keys[j] for j in graph[party.i]}
    for party in parties:
        for j, ciphertext in party.share().items():
            parties[j].kept[party.i] = ciphertext
    units = np.array([123456, 2**64 - 5], dtype=np.uint64)
    y = parties[5].masked(units)

    def opened(corrupt):
        plain = [parties[j].cipher(5).decrypt(nonce(5, j), parties[j].kept[5], None) for j in corrupt]
        halves = np.array(
            [[int.from_bytes(p[a : a + SHARE], "little") for p in plain] for a in (0, SHARE)], dtype=object
        )
        b, s = ((int(v) % 2**256).to_bytes(32, "little") for v in reconstruct([j + 1 for j in corrupt], halves, PRIME))
        private = X25519PrivateKey.from_private_bytes(s)
        return y - stretched(b, 2) - sum((pad(private, keys[j][1], 5, j, 2) for j in graph[5]), np.zeros(2, np.uint64))

    assert opened([0, 2, 3]).tolist() == opened([1, 3, 4]).tolist() == units.tolist()
    assert not (opened([0, 2]) == units).any()
    outcome = SecureAggregation(threshold=t).run(np.arange(n), sv.Network.ring(n), seed=0)
    assert outcome.leakage(Coalition({0, 2, 3}) | TAPS).worst == math.inf
    assert outcome.leakage(Coalition({0, 2}) | TAPS).worst == pytest.approx(floor(4))


@pytest.mark.parametrize(("n", "k"), [(5, 2), (6, 3), (7, 6), (8, 7), (9, 4)])
def test_the_masking_graph_is_regular_and_connected(n, k):
    graph = masking_graph(n, k, randomness(n))
    assert {len(around) for around in graph.values()} == {k}
    assert all(i in graph[j] and i != j for i in graph for j in graph[i])
    reached = {0}
    for _ in range(n):
        reached |= {j for i in reached for j in graph[i]}
    assert len(reached) == n
