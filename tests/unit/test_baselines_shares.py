"""Secret sharing: answers, dropouts, counts, closed forms, and every argument that is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.baselines import AdditiveShares, SecureAggregation, Shamir, TreeSum, secure_aggregation
from sottovoce.baselines.base import randomness
from sottovoce.baselines.polynomial_shares import deal, is_prime, reconstruct
from sottovoce.errors import InvalidInput, MissingExtra, Unsupported
from sottovoce.privacy import Coalition, Eavesdropper

TAPS = Eavesdropper()
NAMED = sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Ada"), ("Eve", "Joe"), ("Joe", "Kim")])
NUMBERS = {"Ada": 3, "Bob": 1, "Eve": 4, "Joe": 1, "Kim": 5}
EVERY = [Shamir(), AdditiveShares(), SecureAggregation(), TreeSum()]


def floor(size: int) -> float:
    return -0.5 * math.log(1 - 1 / size)


# Answers


@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data(), n=st.integers(3, 8), d=st.integers(1, 3), seed=st.integers(0, 2**40))
def test_sums_of_integers_are_exact(data, n, d, seed):
    """Python divides integers with one rounding, and so do the methods."""
    largest = (2**60 - 1) // n // 2**20  # for Shamir; the others take more
    row = st.lists(st.integers(-largest, largest), min_size=d, max_size=d)
    s = data.draw(st.lists(row, min_size=n, max_size=n))
    mean = [sum(column) / n for column in zip(*s, strict=True)]
    t = data.draw(st.integers(1, n - 2))
    gone = data.draw(st.sets(st.integers(0, n - 1), max_size=n - t - 1))
    methods = [
        Shamir(threshold=t, dropouts=gone),
        AdditiveShares(derived=data.draw(st.booleans())),
        SecureAggregation(threshold=t, late_dropouts=set(list(gone)[: n - t - 2])),
    ]
    for method in methods:
        outcome = method.run(np.array(s), sv.Network.ring(n), seed=seed)
        there = ~np.isnan(outcome.x[:, 0])
        assert there.sum() == n - len(getattr(method, "dropouts", ()) or getattr(method, "late_dropouts", ()))
        assert outcome.converged
        assert outcome.x[there].tolist() == [mean] * int(there.sum())


@pytest.mark.parametrize("method", [Shamir, AdditiveShares, SecureAggregation])
@pytest.mark.parametrize("resolution", [2.0**-20, 0.01])
def test_reals_are_rounded_once(method, resolution):
    s = np.random.default_rng(0).normal(size=(6, 2))
    outcome = method(resolution=resolution).run(s, sv.Network.ring(6), seed=1)
    exact = [sum(round(Fraction(v) / Fraction(resolution)) for v in column) for column in s.T.tolist()]
    assert outcome.x[0].tolist() == [float(units * Fraction(resolution) / 6) for units in exact]
    assert np.abs(outcome.x - s.mean(axis=0)).max() <= resolution / 2
    assert 0 < outcome.error <= resolution**2 / 4


def test_resolution_one_is_for_integers():
    outcome = Shamir(resolution=1, prime=2**31 - 1).run([3, 1, 4, 1.4], sv.Network.ring(4), seed=0)
    assert outcome.x[0, 0] == 9 / 4  # 1.4 is rounded


def test_every_choice_of_enough_shares_reconstructs():
    p, secrets, t = 2**127 - 1, [0, 5, 2**126], 3
    shares = deal(secrets, t, range(1, 8), p, randomness(3))
    for chosen in combinations(range(7), t + 1):
        assert reconstruct([j + 1 for j in chosen], shares[:, chosen], p).tolist() == secrets
    for chosen in combinations(range(7), t):  # one too few: another secret
        assert reconstruct([j + 1 for j in chosen], shares[:, chosen], p).tolist() != secrets


@pytest.mark.parametrize("method", EVERY, ids=lambda method: method.name)
def test_the_same_seed_gives_the_same_run_and_none_a_secret_one(method):
    s = [3.0, 1.0, 4.0, 1.0, 5.0]
    one, two, secret = (method.run(s, sv.Network.ring(5), seed=seed) for seed in (7, 7, None))
    assert one.x.tolist() == two.x.tolist()
    assert one.traffic == two.traffic == secret.traffic
    np.testing.assert_allclose(secret.x, 2.8, atol=1e-9)  # pads of size 1e4, rounded at 1e-12


def test_tree_sum_takes_vectors():
    s = np.random.default_rng(2).normal(size=(9, 4))
    outcome = TreeSum(1e6).run(s, sv.Network.grid(3, 3), seed=0)
    np.testing.assert_allclose(outcome.x, np.tile(s.mean(axis=0), (9, 1)), atol=1e-11)  # n eps sigma
    assert outcome.traffic == TreeSum(1e6).traffic(sv.Network.grid(3, 3), dim=4)


# Dropouts


def test_who_drops_out_after_dealing_is_in_the_sum():
    outcome = Shamir(threshold=2, dropouts={"Ada", "Kim"}).run(NUMBERS, NAMED, seed=0)
    assert outcome.x[:, 0].tolist()[1:4] == [2.8] * 3
    assert np.isnan(outcome.x[[0, 4]]).all()
    assert outcome.error == 0
    assert outcome.traffic.messages == 5 * 4 + 3 * 4


def test_too_many_dropouts_leave_no_answer():
    outcome = Shamir(threshold=2, dropouts={"Ada", "Kim", "Joe"}).run(NUMBERS, NAMED, seed=0)
    assert np.isnan(outcome.x).all()
    assert math.isnan(outcome.error)
    assert not outcome.converged
    assert outcome.notes == ("no answer: 2 of 5 nodes are left, and the sum needs 3 of them.",)
    # Ada is gone and hears nothing more; Bob and Eve hear each other; with Ada's share they have three points.
    assert outcome.leakage(Coalition({"Ada"})).worst == 0
    assert outcome.leakage(Coalition({"Bob"})).worst == 0
    assert outcome.leakage(Coalition({"Ada", "Bob"})).worst == pytest.approx(floor(3))


def test_early_and_late_dropouts_of_secure_aggregation():
    method = SecureAggregation(threshold=1, dropouts={"Ada"}, late_dropouts={"Kim"})
    outcome = method.run(NUMBERS, NAMED, seed=0)
    assert outcome.x[1:4, 0].tolist() == [11 / 4] * 3  # without Ada
    assert np.isnan(outcome.x[[0, 4]]).all()
    assert outcome.exact.tolist() == [2.8]  # what was asked
    assert outcome.notes == ("the mean is of 4 parties: 1 dropped out before their input.",)
    assert outcome.leakage(Coalition({"Kim"})).worst == outcome.leakage(Coalition({"Ada"})).worst == 0  # told nothing
    assert outcome.leakage(Coalition({"Kim", "Joe"})).worst == pytest.approx(floor(2))
    nats = outcome.leakage(Coalition({"Bob"}) | TAPS).nats
    np.testing.assert_allclose(nats, [0, np.nan, floor(3), floor(3), floor(3)], rtol=1e-15)


@pytest.mark.parametrize("gone", [{"dropouts": {0, 1, 2}}, {"late_dropouts": {0, 1, 2}}, {"dropouts": range(5)}])
def test_secure_aggregation_without_enough_shares_has_no_answer(gone):
    outcome = SecureAggregation(threshold=2, **gone).run([1, 2, 3, 4, 5], sv.Network.ring(5), seed=0)
    assert np.isnan(outcome.x).all()
    assert not outcome.converged
    assert outcome.notes == ("no answer: not of all parties are there 3 holders of shares left, of 4.",)
    assert outcome.leakage(TAPS).worst == 0
    assert outcome.leakage(Coalition({4})).worst == 0
    assert outcome.traffic == SecureAggregation(threshold=2, **gone).traffic(sv.Network.ring(5))


@pytest.mark.parametrize("when", ["dropouts", "late_dropouts"])
def test_exactly_threshold_holders_are_one_too_few(when):
    """Each of three parties that are left has two others: as many as learn nothing of it, and so cannot open it."""
    few = SecureAggregation(threshold=2, **{when: {0, 1}}).run([1, 2, 3, 4, 5], sv.Network.ring(5), seed=0)
    assert not few.converged
    assert np.isnan(few.x).all()
    enough = SecureAggregation(threshold=2, **{when: {0}}).run([1, 2, 3, 4, 5], sv.Network.ring(5), seed=0)
    assert enough.converged
    assert enough.x[1:, 0].tolist() == [3.5 if when == "dropouts" else 3.0] * 4


def test_dropouts_may_break_a_sparse_masking_graph():
    """With two neighbours each, parties mask in a ring: without two of them it falls apart, and the server sees both
    parts. The order is random, and known."""
    parts = set()
    for seed in range(10):
        outcome = SecureAggregation(threshold=1, neighbours=2).run(range(6), sv.Network.ring(6), seed=seed)
        nats = outcome.leakage(Coalition({0, 1}) | TAPS).nats[2:]
        parts.add(tuple(sorted(round(1 / -math.expm1(-2 * v)) if v < math.inf else 1 for v in nats)))
    assert parts <= {(4, 4, 4, 4), (1, 3, 3, 3), (2, 2, 2, 2)}
    assert len(parts) > 1


# Counts


@pytest.mark.parametrize(
    "network", [sv.Network.ring(7), sv.Network.complete(4), sv.Network.random_geometric(12, seed=3)]
)
@pytest.mark.parametrize("d", [1, 3])
def test_closed_forms_are_what_is_sent(network, d):
    methods = [
        Shamir(),
        Shamir(dropouts={0}, prime=2**127 - 1),
        AdditiveShares(bits=44),
        AdditiveShares(derived=True),
        SecureAggregation(),
        SecureAggregation(neighbours=2, threshold=1),
        SecureAggregation(neighbours=network.n - 1),
        SecureAggregation(threshold=1, dropouts={1}, late_dropouts={0}),
        TreeSum(),
    ]
    for method in methods:
        outcome = method.run(np.ones((network.n, d)), network, seed=0)
        assert outcome.traffic == method.traffic(network, d), method


def test_counts_of_the_literature():
    """COMPARE's table: 2n(n-1), 2m and 2(n-1), n(n-1) or nk ciphertexts each way, 2(n-1)."""
    network = sv.Network.random_geometric(50, seed=1)
    n, m, depth = network.n, network.m, network.spanning_tree().depth
    assert Shamir().traffic(network) == sv.baselines.Traffic(2 * n * (n - 1), 16 * n * (n - 1), 2)
    assert AdditiveShares().traffic(network).messages == 2 * m + 2 * (n - 1)
    assert AdditiveShares().traffic(network).rounds == 1 + 2 * depth
    assert AdditiveShares(derived=True).traffic(network) == TreeSum().traffic(network)
    assert TreeSum().traffic(network) == sv.baselines.Traffic(2 * (n - 1), 16 * (n - 1), 2 * depth)
    assert SecureAggregation().traffic(network).messages == 2 * n * (n - 1) + 6 * n
    assert SecureAggregation(neighbours=10).traffic(network).messages == 2 * n * 10 + 6 * n
    # A party: its keys, input and the mean; of each neighbour keys, two ciphertexts each way, a flag and a share.
    assert SecureAggregation(neighbours=10).traffic(network).bytes == n * (64 + 8 + 8 + 10 * (64 + 2 * 82 + 1 + 33))


# What is given away


def test_what_shamir_gives_away():
    outcome = Shamir(threshold=2).run([3, 1, 4, 1, 5], sv.Network.ring(5), seed=0)
    assert outcome.leakage(TAPS).nats.tolist() == [0.0] * 5  # channels are private
    for corrupt in [{0}, {1, 3}]:
        for adversary in (Coalition(corrupt), Coalition(corrupt) | TAPS):
            leakage = outcome.leakage(adversary)
            assert leakage.kind == "exact"
            assert np.isnan(leakage.nats[list(corrupt)]).all()
            assert leakage.worst == pytest.approx(floor(5 - len(corrupt)), rel=1e-14)
    assert np.nanmin(outcome.leakage(Coalition({0, 1, 2})).nats) == math.inf


def test_vectors_count_each_entry():
    s = np.arange(10.0).reshape(5, 2)
    for method in (Shamir(), AdditiveShares(), SecureAggregation()):
        outcome = method.run(s, sv.Network.ring(5), seed=0)
        assert outcome.leakage(Coalition({0}) | TAPS).worst == pytest.approx(2 * floor(4), rel=1e-14)


def test_secure_aggregation_against_its_server():
    outcome = SecureAggregation(threshold=2).run([3, 1, 4, 1, 5, 9], sv.Network.ring(6), seed=0)
    for adversary, worst in [
        (TAPS, floor(6)),
        (Coalition({0, 1}), floor(4)),
        (Coalition({0, 1}) | TAPS, floor(4)),
        (Coalition({0, 1, 2}), floor(3)),  # they could open inputs, but have none
        (Coalition({0, 1, 2}) | TAPS, math.inf),
    ]:
        leakage = outcome.leakage(adversary)
        assert leakage.kind == "computational"
        assert leakage.worst == pytest.approx(worst, rel=1e-14)


def test_a_tree_sum_tells_taps_the_mean():
    outcome = TreeSum(variance=1e30).run(np.zeros(6), sv.Network.ring(6), seed=0)  # the pads are no question
    assert outcome.leakage(TAPS).worst == pytest.approx(floor(6), rel=1e-9)
    assert outcome.leakage(Coalition({0})).worst == pytest.approx(floor(5), rel=1e-9)
    nats = outcome.leakage(Coalition({0, 3}) | TAPS, prior=4.0).nats
    np.testing.assert_allclose(nats, [np.nan, floor(2), floor(2), np.nan, floor(2), floor(2)], rtol=1e-9)
    assert outcome.leakage(Coalition({0, 2})).nats[1] == math.inf


# What is refused


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Shamir(threshold=0), "threshold must be an integer >= 1"),
        (lambda: Shamir(threshold=True), "threshold must be an integer >= 1"),
        (lambda: Shamir(threshold=1.5), "threshold must be an integer >= 1"),
        (lambda: Shamir(prime=15), r"prime must be one, such as 2\*\*61 - 1"),
        (lambda: Shamir(prime=1), "prime must be one"),
        (lambda: Shamir(prime=7.0), "prime must be an integer >= 1"),
        (lambda: Shamir(resolution=0), "resolution must be a positive number"),
        (lambda: Shamir(dropouts="Ada"), "dropouts takes a set of nodes"),
        (lambda: Shamir(dropouts=3), "dropouts takes a set of nodes"),
        (lambda: AdditiveShares(bits=65), "bits must be an integer in 2 .. 64; got 65"),
        (lambda: AdditiveShares(bits=1), "bits must be an integer in 2 .. 64; got 1"),
        (lambda: AdditiveShares(bits=0), "bits must be an integer >= 1"),
        (lambda: AdditiveShares(derived=1), "derived must be True or False; got 1"),
        (lambda: AdditiveShares(resolution=math.inf), "resolution must be a positive number"),
        (lambda: SecureAggregation(threshold=-1), "threshold must be an integer >= 1"),
        (lambda: SecureAggregation(neighbours=0), "neighbours must be an integer >= 1"),
        (lambda: SecureAggregation(resolution=-1), "resolution must be a positive number"),
        (lambda: SecureAggregation(late_dropouts=[0.5]), "late_dropouts takes a set of nodes"),
        (lambda: TreeSum(variance=0), "variance must be a positive number"),
        (lambda: TreeSum(variance=math.nan), "variance must be a positive number"),
    ],
)
def test_parameters_that_mean_nothing(make, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make()


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (Shamir(threshold=5), "threshold must be from 1 to 4, so that threshold . 1 of 5 nodes reconstruct; got 5"),
        (Shamir(prime=5), "prime must be larger than 5, the number of nodes; got 5"),
        (Shamir(dropouts={"Zoe"}), "dropouts: 'Zoe' is no node"),
        (SecureAggregation(threshold=4), "threshold must be from 1 to 3, .* of 4 holders of shares"),
        (SecureAggregation(neighbours=2, threshold=2), "threshold must be from 1 to 1"),
        (SecureAggregation(neighbours=5), "neighbours must be from 2 to 4"),
        (SecureAggregation(neighbours=1), "neighbours must be from 2 to 4"),
        (SecureAggregation(neighbours=3), "even where the number of parties is odd; got 3 for 5 parties"),
        (SecureAggregation(dropouts={"Ada"}, late_dropouts={"Ada", "Bob"}), "drops out once; Ada is in dropouts and"),
        (SecureAggregation(late_dropouts={9}), "late_dropouts: there is no node 9"),
    ],
)
def test_parameters_that_do_not_fit_the_network(method, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        method.run(NUMBERS, NAMED)
    with pytest.raises(InvalidInput, match=sentence):
        method.traffic(NAMED)


def test_two_parties():
    pair = sv.Network.from_edges(2, [(0, 1)])
    assert Shamir().run([1, 2], pair, seed=0).x.tolist() == [[1.5], [1.5]]
    assert AdditiveShares().run([1, 2], pair, seed=0).x.tolist() == [[1.5], [1.5]]
    with pytest.raises(InvalidInput, match="for three parties or more"):
        SecureAggregation().run([1, 2], pair)


@pytest.mark.parametrize(
    ("method", "largest", "cure"),
    [
        (Shamir(resolution=1, prime=101), 10, r"larger prime, such as prime=2\*\*127 - 1"),
        (AdditiveShares(resolution=1, bits=8), 25, "or more bits"),
        (SecureAggregation(resolution=2.0**40), 2.0**101, "Take a coarser resolution"),
    ],
)
def test_sums_that_could_wrap_around_are_refused(method, largest, cure):
    if largest < 100:
        for sign in (1, -1):  # the largest that fits
            outcome = method.run([sign * largest] * 5, sv.Network.ring(5), seed=0)
            assert outcome.x[0, 0] == sign * largest
            assert outcome.error == 0
    numbers = dict.fromkeys(NUMBERS, 0.0) | {"Joe": -largest - 1}
    with pytest.raises(InvalidInput, match=rf"could wrap around: .* node Joe holds more\. .*{cure}") as refused:
        method.run(numbers, NAMED)
    assert str(numbers["Joe"]) not in str(refused.value)  # the limit is public, the number is not
    with pytest.raises(InvalidInput, match="could wrap around"):
        type(method)(resolution=1e-300).run([1e100] * 5, sv.Network.ring(5))


@pytest.mark.parametrize("method", EVERY, ids=lambda method: method.name)
def test_only_means(method):
    network = sv.Network.ring(3)
    problem = sv.least_squares(network, [([[1.0], [2.0]], [1.0, 2.0])] * 3)
    with pytest.raises(Unsupported, match=f"{method.name} is for means"):
        method.run(problem)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(secure_aggregation, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"SecureAggregation needs cryptography.*sottovoce\[network\]"):
        SecureAggregation().run([1, 2, 3], sv.Network.ring(3))
    assert SecureAggregation().traffic(sv.Network.ring(3)).rounds == 4  # which needs none


def test_primes():
    assert [p for p in range(400) if is_prime(p)] == [p for p in range(2, 400) if all(p % q for q in range(2, p))]
    assert all(is_prime(p) for p in (2**61 - 1, 2**127 - 1, 2**256 + 297))
    assert not any(is_prime(p) for p in (2**67 - 1, 3215031751, (2**61 - 1) * (2**31 - 1)))  # one strong pseudoprime
