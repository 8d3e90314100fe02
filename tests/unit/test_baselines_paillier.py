"""Paillier's cryptosystem, and consensus on its ciphertexts: by hand, by the textbook, and attacked."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.baselines import PaillierConsensus, paillier
from sottovoce.baselines.paillier import PrivateKey, PublicKey, generate_key, is_prime
from sottovoce.baselines.paillier_consensus import sources
from sottovoce.baselines.paillier_exchange import Parties
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Coalition, Eavesdropper

RNG = random.Random(0)
KEY = generate_key(160, RNG)
PUBLIC = KEY.public
small = st.integers(-(2**70), 2**70)


class Always(random.Random):
    """Draws one number for ever."""

    def __init__(self, value):
        self.value = value

    def randrange(self, *_):
        return self.value


def test_a_key_by_hand():
    """``n = 15``: ``(1 + 4 15) 2^15 = 61 143 = 173 mod 225``; back, ``173^4 = 16``, ``(16 - 1)/15 = 1``, times
    ``4^-1 = 4 mod 15``."""
    key = PrivateKey(3, 5)
    assert key.public.encrypt(4, Always(2)) == 173
    assert key.decrypt(173) == 4


@settings(max_examples=30, deadline=None)
@given(small, small, st.integers(-(2**16), 2**16))
def test_ciphertexts_add_and_multiply(a, b, factor):
    one, other = PUBLIC.encrypt(a, RNG), PUBLIC.encrypt(b, RNG)
    assert KEY.decrypt(one) == a
    assert KEY.decrypt(PUBLIC.add(one, other)) == a + b
    assert KEY.decrypt(PUBLIC.add_plain(one, b)) == a + b
    assert KEY.decrypt(PUBLIC.times(one, factor % 2**8)) == a * (factor % 2**8)
    assert KEY.decrypt(PUBLIC.times(PUBLIC.encrypt(factor, RNG), -3)) == -3 * factor
    renewed = PUBLIC.fresh(one, RNG)
    assert renewed != one
    assert KEY.decrypt(renewed) == a


@settings(max_examples=30, deadline=None)
@given(st.integers(1, PUBLIC.square - 1).filter(lambda c: math.gcd(c, PUBLIC.n) == 1))
def test_decryption_is_that_of_the_textbook(c):
    n, lam = PUBLIC.n, math.lcm(KEY.p - 1, KEY.q - 1)
    value = (pow(c, lam, n * n) - 1) // n * pow(lam, -1, n) % n
    assert KEY.decrypt(c) % n == value


def test_sizes_of_ciphertexts():
    assert [PublicKey(3 << (bits - 2)).size for bits in (2048, 3072)] == [512, 768]


def test_a_key_of_2048_bits():
    key = generate_key(2048, random.Random(1))
    assert key.public.n.bit_length() == 2048
    assert key.public.size == 512
    assert (key.p >> 1022, key.q >> 1022) == (3, 3)
    assert generate_key(np.int64(128), random.Random(1)).public.size == 32
    assert key.decrypt(key.public.encrypt(-(10**300), RNG)) == -(10**300)


def test_primes_are_those_of_the_sieve():
    sieve = np.ones(30_000, dtype=bool)
    for p in range(2, 180):
        sieve[p * p :: p] = False
    odd = range(2001, 30_000, 2)
    assert [n for n in odd if is_prime(n)] == [n for n in odd if sieve[n]]


def test_numbers_that_deceive_some_witnesses_are_not_prime():
    assert not is_prime((2**31 - 1) ** 2)
    assert not is_prime(2**67 - 1)  # 193707721 761838257287
    assert not is_prime(3825123056546413051)  # strong pseudoprime to the first nine primes
    assert not is_prime(3317044064679887385961981)  # to the first thirteen
    assert is_prime(2**61 - 1)
    assert is_prime(2**127 - 1)


def test_the_same_with_gmpy2_and_without(monkeypatch):
    gmpy2 = pytest.importorskip("gmpy2")
    found = []
    for library in (gmpy2, None):
        monkeypatch.setattr(paillier, "gmpy2", library)
        key = generate_key(256, random.Random(3))
        found.append((key.p, key.q, key.public.encrypt(-5, random.Random(4))))
    assert found[0] == found[1]


def test_a_key_does_not_show_its_primes():
    assert str(KEY.p) not in repr(KEY)


@pytest.mark.parametrize("bits", [127, 64, 129, 2048.0, True, "2048"])
def test_lengths_that_cannot_be(bits):
    with pytest.raises(InvalidInput, match="bits must be 2048 or 3072"):
        generate_key(bits, RNG)
    with pytest.raises(InvalidInput, match="bits must be"):
        PaillierConsensus(bits=bits)


@pytest.mark.parametrize(("p", "q"), [(7, 7), (3, 7), (2, 5), (1, 5)])
def test_primes_that_do_not_decrypt(p, q):
    with pytest.raises(InvalidInput, match="different odd primes"):
        PrivateKey(p, q)


def test_a_number_too_large_for_a_key_is_not_quoted():
    with pytest.raises(InvalidInput, match="between -n/2 and n/2") as caught:
        PUBLIC.encrypt(123456789 * 2**160, RNG)
    assert "123456789" not in str(caught.value)


# Consensus

NETWORK = sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])
SECRETS = np.array([0.5, -1.25, 3.0, 0.1, -2.2, 1.7])
TEST = PaillierConsensus(bits=128)


def test_the_mean_and_what_it_takes():
    outcome = PaillierConsensus(bits=128, encrypted=None, tol=1e-3).run(SECRETS, NETWORK, seed=1)
    k = (outcome.traffic.rounds - 1) // 2
    assert outcome.converged
    assert np.abs(outcome.x - SECRETS.mean()).max() <= 1e-3
    assert outcome.traffic.messages == 2 * 7 + 4 * 7 * k  # 7 edges: keys both ways, then four ciphertexts a round
    assert outcome.traffic.bytes == 2 * 7 * 16 + 4 * 7 * k * 32
    assert outcome.seconds > 0
    assert outcome.notes[0] == f"seconds: {7 * k} of {7 * k} exchanges encrypted, the rest counted"


@pytest.mark.parametrize("some", [1, 10, None])
def test_ciphertexts_change_nothing(some):
    """The encrypted run is that in the clear, to the bit: entries of two numbers, whatever is encrypted."""
    numbers = np.column_stack([SECRETS, 1000 * SECRETS[::-1]])
    runs = [
        PaillierConsensus(bits=128, encrypted=encrypted, tol=1e-2).run(numbers, NETWORK, seed=2)
        for encrypted in (0, some)
    ]
    assert np.array_equal(runs[0].x, runs[1].x)
    assert runs[0].traffic == runs[1].traffic
    assert runs[0].notes[0].startswith("seconds: none of")


def test_what_decryption_finds_is_what_the_run_goes_on_with(monkeypatch):
    honest = Parties.decrypted
    monkeypatch.setattr(Parties, "decrypted", lambda *given: honest(*given) * 2)
    one, other = (
        PaillierConsensus(bits=128, encrypted=encrypted, max_rounds=1).run(SECRETS, NETWORK, seed=2).x
        for encrypted in (0, 1)
    )
    assert np.flatnonzero(one != other).tolist() == [0, 1]  # the ends of the one edge that was encrypted


def test_the_work_of_a_run_is_counted():
    weights, nonces = sources(0)
    parties = Parties(128, nonces, None)
    turns = TEST.turns(np.zeros((6, 2)), NETWORK, weights, parties)
    for _ in range(3):
        next(turns)
    assert dict(parties.clock.times) == {"key": 6, "question": 3 * 12, "answer": 3 * 28, "decryption": 3 * 28}
    seconds, _ = parties.seconds(NETWORK, 2, 3)
    assert seconds == pytest.approx(sum(parties.clock.spent.values()), rel=1e-12)  # all measured, nothing counted


def test_the_sum_is_kept_exactly():
    X = np.rint(2.0**50 * np.array([[0.3], [-0.9], [1.0], [-0.11], [0.77], [0.123]]))
    turns = TEST.turns(X, NETWORK, sources(0)[0], Parties(128, RNG, 0))
    assert {sum(int(value) for value in next(turns).X[:, 0]) for _ in range(300)} == {sum(int(v) for v in X[:, 0])}


def test_a_step_is_that_of_the_formula():
    X = np.array([[5.0], [2.0**50], [-7.0], [1.0], [0.0], [12345.0]])
    turn = next(TEST.turns(X, NETWORK, sources(3)[0], Parties(128, RNG, 0)))
    expected = [int(x) for x in X[:, 0]]
    for edge, (i, j) in enumerate(NETWORK.edges):
        a, b = (int(w) for w in turn.weights[:, edge, 0])
        assert min(a, b) >= 1
        assert max(a, b) <= 2**16
        move = round(float(a * b * int(X[j, 0] - X[i, 0])) * (0.25 / 2**32))  # the largest degree is 3
        expected[i] += move
        expected[j] -= move
    assert turn.X[:, 0].tolist() == expected


def test_rounding_leaves_differences_below_half_a_step():
    """Five edges lie between any two nodes at most, and each keeps less than ``1/(2 step) = 2`` units."""
    outcome = PaillierConsensus(bits=128, encrypted=0, resolution=1e-3, max_rounds=3000).run(SECRETS, NETWORK, seed=0)
    assert not outcome.converged
    assert 0 < np.abs(outcome.x - SECRETS.mean()).max() <= 5 * 2 * 1e-3


def test_a_step_too_long_diverges_and_says_so():
    outcome = PaillierConsensus(bits=128, encrypted=0, step=10.0).run(SECRETS, NETWORK, seed=0)
    assert not outcome.converged
    assert np.isfinite(outcome.x).all()


def test_steps_to_choose_from():
    problem = sv.averaging(NETWORK, SECRETS)
    candidates = TEST.candidates(problem)
    assert [c.step for c in candidates] == pytest.approx(np.geomspace(1 / 3, 8 / 3, 7))
    rounds = [run.traffic.rounds for c in candidates if (run := c.run(problem, seed=0)).converged]
    assert min(rounds) < rounds[0] / 2


@pytest.mark.parametrize("scale", [1e-40, 1e-9, 1e9, 1e300])
def test_numbers_of_any_size(scale):
    outcome = PaillierConsensus(bits=128, encrypted=0, tol=1e-12 * scale if scale < 1 else 1e-10).run(
        scale * (SECRETS + 5), NETWORK, seed=0
    )
    assert outcome.x == pytest.approx(np.full((6, 1), scale * (SECRETS.mean() + 5)), rel=1e-9)


def test_equal_numbers_need_no_round():
    outcome = PaillierConsensus(bits=128).run(np.zeros(6), NETWORK, seed=0)
    assert (outcome.error, outcome.traffic.messages, outcome.traffic.rounds) == (0, 14, 1)


def test_without_a_seed_nothing_repeats():
    one, other = (PaillierConsensus(bits=128, max_rounds=2).run(SECRETS, NETWORK).x for _ in range(2))
    assert not np.array_equal(one, other)


# What shows


def transcript(seed, rounds=1500):
    """A run, and what neighbours know of it: the states, weights and steps of each round."""
    X = np.rint(SECRETS[:, None] * 2.0**40)
    turns = TEST.turns(X, NETWORK, sources(seed)[0], Parties(128, RNG, 0))
    return X, [next(turns) for _ in range(rounds)]


@pytest.mark.parametrize(
    ("corrupt", "group"), [({3, 5}, [4]), ({2}, [0, 1]), ({3}, [4, 5]), ({1, 2}, [0]), ({0, 5}, [1, 2, 3, 4])]
)
def test_a_coalition_around_a_group_finds_its_sum(corrupt, group):
    """What a corrupt node has in the end times their number, less all that came in over the group's edges."""
    X, turns = transcript(5)
    came = 0.0
    for edge, (i, j) in enumerate(NETWORK.edges):
        if i in group and j in corrupt:
            came += sum(turn.steps[edge, 0] for turn in turns)
        elif j in group and i in corrupt:
            came -= sum(turn.steps[edge, 0] for turn in turns)
    found = len(group) * turns[-1].X[min(corrupt), 0] - came
    assert abs(found - X[group, 0].sum()) <= 50  # units of 2^-40: what rounding leaves between nodes
    nats = PaillierConsensus(bits=128, encrypted=0, tol=1e-3).run(SECRETS, NETWORK, seed=0).leakage(Coalition(corrupt))
    assert np.isnan(nats.nats[list(corrupt)]).all()
    floor = -0.5 * math.log(1 - 1 / len(group)) if len(group) > 1 else math.inf
    assert (nats.nats[group] >= floor).all()


def test_a_neighbour_divides_what_it_decrypts():
    """Node 2 knows its own number, and decrypts ``a_32 (X_3 - X_2)`` in the first round. Of some 2^43 states at most a
    hundred fit, and the truth is one of them."""
    for seed in range(10):
        X, turns = transcript(seed, rounds=1)
        edge = [tuple(edge) for edge in NETWORK.edges].index((2, 3))
        y = int(turns[0].weights[1, edge, 0]) * int(X[3, 0] - X[2, 0])
        fits = {int(X[2, 0]) + y // a for a in range(1, 2**16 + 1) if y % a == 0}
        plausible = {x for x in fits if abs(x) < 4 * 2**40}
        assert int(X[3, 0]) in plausible
        assert len(plausible) <= 100


def test_what_shows_to_whom():
    outcome = PaillierConsensus(bits=128, encrypted=0, tol=1e-3).run(SECRETS, NETWORK, seed=0)
    assert outcome.leakage(Eavesdropper()).nats.tolist() == [0] * 6
    found = outcome.leakage(Coalition({0}) | Eavesdropper())
    assert found.kind == "computational"
    assert "1.12 nats" in found.told
    unit = 2.0**2 / 2**50
    whole = 0.5 * math.log(2 * math.pi * math.e) - math.log(unit)  # H of a secret on this grid
    assert (found.nats[1:3] < whole - 1).all()
    assert (found.nats[1:3] > whole - 3).all()
    assert found.nats[3:].tolist() == pytest.approx([-0.5 * math.log(0.8)] * 3)  # two edges away: the mean of five
    assert outcome.leakage(Coalition({0, 1})).nats[2] == math.inf  # two who divide are enough


def test_entries_of_a_vector_count_each():
    """In one message."""
    numbers = np.column_stack([SECRETS, SECRETS])
    one, two = (
        PaillierConsensus(bits=128, encrypted=0, tol=1e-9, max_rounds=3).run(s, NETWORK, seed=0)
        for s in (SECRETS, numbers)
    )
    assert two.leakage(Coalition({0})).nats[1:] == pytest.approx(2 * one.leakage(Coalition({0})).nats[1:])
    assert (one.traffic.messages, one.traffic.bytes) == (14 + 84, 14 * 16 + 84 * 32)
    assert (two.traffic.messages, two.traffic.bytes) == (14 + 84, 14 * 16 + 84 * 2 * 32)


def test_wrong_arguments():
    for name in ("step", "resolution"):
        for value in (0, -1.0, "small", math.nan, True):
            with pytest.raises(InvalidInput, match=f"{name} must be"):
                PaillierConsensus(**{name: value})
    with pytest.raises(InvalidInput, match="tol must be"):
        PaillierConsensus(tol=0)
    with pytest.raises(InvalidInput, match="max_rounds must be"):
        PaillierConsensus(max_rounds=0)
    with pytest.raises(InvalidInput, match="encrypted must be"):
        PaillierConsensus(encrypted=-1)
    with pytest.raises(InvalidInput, match="take a coarser one") as caught:
        PaillierConsensus(bits=128, resolution=1e-12).run(SECRETS * 98765432, NETWORK)
    assert "98765" not in str(caught.value)
    with pytest.raises(Unsupported, match="Paillier consensus is for means"):
        TEST.run(sv.Problem(sv.Network.ring(3), [sv.costs.AbsoluteDeviation(1.0)] * 3))
