"""The answer that everybody signs: its numbers, its digest, and what a party does with one that is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from runtime.judged import Adversary, Run, signature, signed
from runtime.test_disbelief import settled

import sottovoce as sv
from sottovoce.runtime.protocol.agreement import COARSER, EPS, Agreement, Contradiction, Final
from sottovoce.runtime.protocol.answers import EXTRA, LARGEST, NONE, UNSALTED, Rounded
from sottovoce.runtime.protocol.route import Route

SALT = bytes(range(32))
R = np.array([1.0, 2.0])  # what all neighbours of a party that is settled say
TRIANGLE = sv.Network.complete(3)

vectors = arrays(np.float64, st.integers(1, 9), elements=st.floats(-1e6, 1e6))
salts = st.binary(min_size=32, max_size=32)


# Numbers


@given(vectors, st.floats(1e-9, 1e3), salts)
def test_it_travels_and_stays_what_it_is(x, step, salt):
    answer = Rounded.of(x, step, salt)
    again = Rounded.from_array(answer.as_array())
    assert again.digest == answer.digest
    assert again.x.tobytes() == answer.x.tobytes()
    assert len(answer.as_array()) == len(x) + EXTRA
    # A quotient, a product and another quotient are rounded on the way.
    assert answer.off(x) <= 0.5 + 2 * EPS * np.abs(x / step).max()


@given(arrays(np.int64, st.integers(1, 9), elements=st.integers(-(2**40), 2**40)), st.integers(2, 10**4))
def test_sums_of_whole_numbers(sums, parties):
    """Whatever the last digits of a mean are, the whole numbers are the same, and come back from it."""
    for wrong in (0.0, 0.04, -0.04):
        answer = Rounded.whole((sums + wrong) / parties, parties)
        assert answer.multiples.tolist() == sums.tolist()
        assert np.rint(answer.x * parties).tolist() == sums.tolist()
        assert answer.salt == UNSALTED


def test_a_digest_is_of_every_part():
    answer = Rounded.of(np.array([1.0, -2.0]), 0.25, SALT)
    others = [
        Rounded.of(np.array([1.0, -2.0]), 0.5, SALT),
        Rounded.of(np.array([1.25, -2.0]), 0.25, SALT),
        Rounded.of(np.array([1.0]), 0.25, SALT),
        Rounded.of(np.array([1.0, -2.0]), 0.25, UNSALTED),
    ]
    assert len({other.digest for other in [answer, *others]}) == 5
    assert Rounded.of(np.array([-1e-9, 0.0]), 1.0, SALT).digest == Rounded.of(np.zeros(2), 1.0, SALT).digest  # no -0.0


WRONG = {"half a multiple": (EXTRA, 0.5), "too large": (EXTRA, LARGEST), "no step": (EXTRA - 1, 0.0)}
WRONG |= {"a step below 0": (EXTRA - 1, -1.0), "a salt of more": (0, 2.0**32), "half a salt": (0, 0.5)}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_answer(what):
    numbers = Rounded.of(np.array([1.0, -2.0]), 0.25, SALT).as_array()
    assert Rounded.from_array(numbers) is not None
    place, number = WRONG[what]
    numbers[place] = number
    assert Rounded.from_array(numbers) is None


def test_the_first_and_how_far_the_others_are():
    chain = Route.over([(0, 1), (1, 2), (2, 3), (3, 4)], 0.4, 1.0)
    assert (chain.first, chain.hops) == (2, 2)
    ring = Route.over([(1, 2), (2, 3), (3, 4), (1, 4)], 0.4, 0.8)  # without 0, which has left
    assert (ring.first, ring.hops) == (1, 2)


# What a party does with it


def waiting() -> Agreement:
    """Party 1, to whom epoch 1 looks right; it waits for what party 0 tells."""
    own = settled(TRIANGLE, party=1)
    for j in own.node.neighbours:
        own.hear(j, 1, R)
    assert own.epoch.residual <= 1
    assert (own.epoch.answer, own.epoch.no, own.told) == (None, False, None)
    return own


def told(own: Agreement, by: float = 0.0, coarser: float = 1.0) -> np.ndarray:
    """An answer that is off by so many steps."""
    step = coarser * own._step(own.epoch)
    return Rounded(step, np.rint(own.epoch.x / step) + by, SALT).as_array()


def test_one_that_fits_is_signed_and_passed_on():
    own = waiting()
    own.offer(0, 1, told(own, 0.0))
    assert own.epoch.ok == 0b010
    assert own.told.digest == own.epoch.digest
    own.verdict(1, no=False, proofs=signed(1, 0, 2), answer=own.epoch.digest)
    assert own.done
    assert own.x.tobytes() == Rounded.from_array(told(own)).x.tobytes()


@pytest.mark.parametrize(("by", "coarser"), [(2.0, 1.0), (-2.0, 1.0), (0.0, 2 * COARSER)])
def test_one_that_does_not_fit_is_not_signed(by, coarser):
    """Others may have yet to refuse the epoch. When all have signed, it is a lie."""
    own = waiting()
    own.offer(0, 1, told(own, by, coarser))
    assert own.epoch.claims.keys() == {1}
    assert own.epoch.claims[1] == (NONE, signature(1, 1, NONE))
    assert (own.epoch.no, own.epoch.ok, own.hopeless) == (False, 0, None)
    digest = own.told.digest
    own.verdict(1, no=False, proofs=signed(1, 0, answer=digest), answer=digest)
    assert own.hopeless is None
    own.verdict(1, no=False, proofs=signed(1, 2, answer=digest), answer=digest)
    assert not own.done
    with pytest.raises(Contradiction, match="party 0 tells an answer of epoch 1 that is not the one which this party"):
        raise own.hopeless


def test_nobody_ends_with_no_answer():
    own = waiting()
    own.offer(0, 1, told(own, 2.0))
    own.verdict(1, no=False, proofs=signed(1, 0, 2, answer=NONE), answer=NONE)
    assert not own.done
    assert own.hopeless is not None


def test_an_epoch_that_is_refused_has_no_liars():
    own = waiting()
    own.offer(0, 1, told(own, 2.0))
    own.verdict(1, no=True, proofs={}, answer=b"")
    own.verdict(1, no=False, proofs=signed(1, 0, 2), answer=b"o" * 32)
    assert own.hopeless is None


def test_two_answers_of_one_epoch():
    own = waiting()
    own.offer(0, 2, told(own))
    own.offer(0, 2, told(own))
    with pytest.raises(Contradiction, match="has told two answers of epoch 2"):
        own.offer(0, 2, told(own, 1.0))
    with pytest.raises(Contradiction, match="tells an answer of epoch 1 that is none"):
        own.offer(0, 1, told(own) + 0.5)
    assert not own.epoch.no


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_who_has_signed_another_one_is_named_once_all_have_signed(first):
    """Whether this party knew its own by then or not."""
    own, other = waiting(), b"o" * 32
    if first:
        own.verdict(1, no=False, proofs=signed(1, 2), answer=other)
        assert own.epoch.claims.keys() == {2}
        assert own.not_agreed == [0, 1]
    own.offer(0, 1, told(own))
    if not first:
        own.verdict(1, no=False, proofs=signed(1, 2), answer=other)
    assert (own.epoch.no, own.hopeless) == (False, None)
    own.verdict(1, no=False, proofs=signed(1, 0), answer=own.epoch.digest)
    assert not own.done
    with pytest.raises(Contradiction, match="party 2 has accepted another answer of epoch 1 than this party"):
        raise own.hopeless


def test_its_own_signature_of_another_one_was_forgotten():
    own = waiting()
    own.offer(0, 1, told(own))
    with pytest.raises(Final, match="has accepted epoch 1, which it does not know"):
        own.verdict(1, no=False, proofs=signed(1, 1), answer=b"o" * 32)


@pytest.mark.parametrize("accepted", [True, False])
def test_it_is_there_after_a_restart(accepted):
    own = waiting()
    if accepted:
        own.offer(0, 1, told(own))
    again = Run(TRIANGLE, Adversary(0.0), theta=0.8).parties[1]
    again.restore(own.state(), 1000)
    assert again.epoch.digest == own.epoch.digest
    if not accepted:  # it is told again
        again.offer(0, 1, told(own))
        assert again.epoch.ok == 0b010


def test_sums_that_are_not_whole_are_not_signed():
    own = settled(TRIANGLE)
    own.whole = 3
    for j in own.node.neighbours:
        own.hear(j, 1, R)
    assert own.epoch.residual <= 1
    assert own.epoch.claims.keys() == {0}
    assert own.hopeless is None
    own.verdict(1, no=False, proofs=signed(1, 1, 2), answer=b"o" * 32)
    with pytest.raises(Contradiction, match="the sums of an agreement are no whole numbers"):
        raise own.hopeless
