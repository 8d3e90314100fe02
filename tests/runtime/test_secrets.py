"""Pads and keys of an edge: equal at both ends, different for everything else, and distributed as the mask says."""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from runtime.edges import Shelf
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidInput, JournalError, PeerError
from sottovoce.runtime.keys import hybrid
from sottovoce.runtime.keys.edge_secrets import EdgeSecrets

MASK = sv.GaussianMask(variance=1e8)
COUNT = 100_000
KEYS = {name: bytes([number]) * 96 for number, name in enumerate(("ann", "bob", "cat"), start=1)}
A_RUN, B_RUN = b"a" * 32, b"b" * 32  # hashes of their parameters


def end(own: str, other: str, run: bytes = A_RUN) -> EdgeSecrets:
    return EdgeSecrets(run, own, other, KEYS[own][: 96 if own < other else 32])


def meeting(a: str = "ann", b: str = "bob", run: bytes = A_RUN) -> tuple[EdgeSecrets, EdgeSecrets]:
    """Both ends of an edge, ``a < b``."""
    one, other = end(a, b, run), end(b, a, run)
    other.meet(one.offer)
    one.meet(other.offer)
    return one, other


@pytest.fixture
def fixed(monkeypatch) -> EdgeSecrets:
    """One whose keys are the same every time, so that what is said of its pads cannot fail by chance."""
    monkeypatch.setattr(hybrid, "encapsulate", lambda key: (bytes(32), bytes(hybrid.CIPHERTEXT)))
    bob = end("bob", "ann")
    bob.meet(end("ann", "bob").offer)
    return bob


def test_both_ends_derive_the_same():
    one, other = meeting()
    assert one.mac_key(b"nonces") == other.mac_key(b"nonces")
    assert len(one.mac_key(b"nonces")) == 32
    assert one.mac_key(b"nonces") != one.mac_key(b"others")
    assert one.check(3, b"pads") == other.check(3, b"pads")
    assert len(one.check(3, b"pads")) == 16
    assert len({one.check(3, b"pads"), one.check(3, b"pad"), one.check(4, b"pads")}) == 3
    for holder in ("ann", "bob"):
        assert (one.pads(3, holder, 50, MASK) == other.pads(3, holder, 50, MASK)).all()
    assert (one.words(3, 50, 46) == other.words(3, 50, 46)).all()


def test_everything_that_differs_gives_other_pads():
    ann, _ = meeting()
    others = {
        "this": ann.pads(0, "ann", 50, MASK),
        "the other direction": ann.pads(0, "bob", 50, MASK),
        "the next stage": ann.pads(1, "ann", 50, MASK),
        "another run": meeting(run=B_RUN)[0].pads(0, "ann", 50, MASK),
        "another edge": meeting(b="cat")[0].pads(0, "ann", 50, MASK),
    }
    for (a, pads), (b, more) in combinations(others.items(), 2):
        assert not np.isin(pads, more).any(), f"{a} and {b}"
    assert not np.isin(ann.words(0, 50, 46), ann.words(1, 50, 46)).any()
    assert len({edge.mac_key(b"") for edge in (ann, meeting(run=B_RUN)[0], meeting(b="cat")[0])}) == 3


@pytest.mark.parametrize("changed", ["run", "own name", "their name", "their offer"])
def test_all_that_was_agreed_on_is_in_the_keys(fixed, changed):
    """The secret that is shared is the same here; what differs is what it is for."""
    run, own, other, theirs = A_RUN, "bob", "ann", end("ann", "bob").offer
    if changed == "run":
        run = B_RUN
    elif changed == "own name":
        own = "cat"
    elif changed == "their name":
        other = "amy"
    else:
        theirs = theirs[:32] + MLKEM768PrivateKey.generate().public_key().public_bytes_raw()
    edge = EdgeSecrets(run, own, other, KEYS["bob"][:32])
    edge.meet(theirs)
    assert edge.mac_key(b"") != fixed.mac_key(b"")
    assert edge.check(0, b"") != fixed.check(0, b"")


def test_both_halves_of_the_agreement_count(monkeypatch):
    """Whoever breaks one of them has nothing: other secrets of either give other keys, all else being the same."""
    ann, found = end("ann", "bob"), []
    for point, capsule in ((1, 1), (2, 1), (1, 2)):
        monkeypatch.setattr(hybrid, "encapsulate", lambda key, c=capsule: (bytes([c]) * 32, bytes(hybrid.CIPHERTEXT)))
        monkeypatch.setattr(hybrid, "_exchange", lambda *_, p=point: bytes([p]) * 32)
        bob = end("bob", "ann")
        bob.meet(ann.offer)
        found.append(bob.mac_key(b""))
    assert len(set(found)) == 3


def test_pads_are_what_the_mask_draws(monkeypatch):
    """Bit for bit the construction of ``GaussianMask.draw``, if the operating system's generator gave this stream."""
    ann, _ = meeting()
    stream = ann._stream(12 * 1000, 0, "gaussian", "ann")
    taken = [stream[:8000], stream[8000:]]
    monkeypatch.setattr(os, "urandom", lambda size: taken.pop(0)[:size])
    assert (MASK.draw((1000,)) == ann.pads(0, "ann", 1000, MASK)).all()
    assert not taken


def test_pads_are_gaussian_and_on_the_grid(fixed):
    pads = [fixed.pads(0, holder, COUNT, MASK) for holder in ("ann", "bob")]
    for z in pads:
        assert (z / MASK.grid == np.rint(z / MASK.grid)).all()
        # The keys are fixed, so these cannot fail by chance; five standard errors each, and p > 0.001.
        assert abs(z.mean()) < 5 * MASK.sigma / COUNT**0.5
        assert abs(z.var() / MASK.variance - 1) < 5 * (2 / COUNT) ** 0.5
        assert abs(stats.kurtosis(z)) < 5 * (24 / COUNT) ** 0.5
        assert stats.kstest(z / MASK.sigma, "norm").pvalue > 1e-3
        # The low bits too: which of 16 neighbouring multiples of the grid.
        counts = np.bincount((np.rint(z / MASK.grid) % 16).astype(int), minlength=16)
        assert stats.chisquare(counts).pvalue > 1e-3
    assert abs(np.corrcoef(*pads)[0, 1]) < 5 / COUNT**0.5


@pytest.mark.parametrize("bits", [2, 46, 52])
def test_words_are_uniform(fixed, bits):
    words = fixed.words(0, COUNT, bits)
    assert words.dtype == np.uint64
    assert words.max() < 2**bits
    assert stats.chisquare(np.bincount((words >> np.uint64(bits - 2)).astype(int), minlength=4)).pvalue > 1e-3
    assert stats.chisquare(np.bincount((words % np.uint64(4)).astype(int), minlength=4)).pvalue > 1e-3


def test_nothing_secret_is_shown():
    ann, _ = meeting()
    for secret in (KEYS["ann"], ann._root, ann._chain, ann.mac_key(b"")):
        assert repr(secret)[2:-1] not in repr(ann)
        assert secret.hex() not in repr(ann)
    assert repr(ann) == "EdgeSecrets(own='ann', neighbour='bob', met=True)"


def test_before_meeting_there_are_no_secrets():
    ann = end("ann", "bob")
    assert not ann.met
    for ask in (
        lambda: ann.mac_key(b""), lambda: ann.words(0, 1, 46), lambda: ann.pads(0, "ann", 1, MASK),
        lambda: ann.check(0, b""),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="the key of bob is not known yet"):
            ask()


def test_the_party_with_the_larger_name_answers():
    """It cannot offer anything before it has heard the other one."""
    ann, bob = end("ann", "bob"), end("bob", "ann")
    assert (len(ann.offer), bob.offer) == (32 + 1184, b"")
    bob.meet(ann.offer)
    assert len(bob.offer) == 32 + 1088


def test_a_neighbour_cannot_change_its_key():
    ann, bob = meeting()
    ann.meet(bob.offer)
    with pytest.raises(PeerError, match="another key for this run than before: it has lost its journal"):
        ann.meet(bob.offer[::-1])


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31)])
def test_keys_that_agree_on_nothing_are_refused(point):
    """0 and 1 are points of small order: whoever sends them knows that half of the secret without any key."""
    ann, bob = meeting()
    with pytest.raises(PeerError, match="bob gave a key that is no X25519 public key"):
        end("ann", "bob").meet(point + bob.offer[32:])
    with pytest.raises(PeerError, match="ann gave a key that is no X25519 public key"):
        end("bob", "ann").meet(point + ann.offer[32:])


@pytest.mark.parametrize("size", [0, 31, 32, 1119, 1121, 1216, 5000])
def test_offers_of_another_size_are_refused(size):
    with pytest.raises(PeerError, match=f"bob gave keys of {size} bytes; 1120 are expected"):
        end("ann", "bob").meet(b"x" * size)


def test_an_encapsulation_key_that_is_none_is_refused():
    """Its numbers are below 3329 (FIPS 203, 7.2)."""
    with pytest.raises(PeerError, match="ann gave a key that is no ML-KEM-768 encapsulation key"):
        end("bob", "ann").meet(end("ann", "bob").offer[:32] + b"\xff" * 1184)


def test_a_ciphertext_for_another_key_gives_other_secrets():
    """FIPS 203 refuses none; what the two then share is not the same, and every frame is refused."""
    ann, bob = meeting()
    other = end("ann", "bob")
    other.meet(bob.offer[:-1] + bytes([bob.offer[-1] ^ 1]))
    assert other.mac_key(b"") != ann.mac_key(b"")


def test_edges_that_are_none():
    with pytest.raises(InvalidInput, match="an edge needs two parties"):
        EdgeSecrets(A_RUN, "ann", "ann", KEYS["ann"])
    with pytest.raises(InvalidInput, match="'cat' holds nothing on the edge ann - bob"):
        meeting()[0].pads(0, "cat", 1, MASK)


# On the disk


@pytest.mark.parametrize(("own", "other"), [("ann", "bob"), ("bob", "ann")])
def test_secrets_survive_a_restart(own, other):
    shelf, far = Shelf(), end(other, own)
    near = EdgeSecrets.saved(shelf, A_RUN, own, other)
    assert EdgeSecrets.saved(shelf, A_RUN, own, other)._private == near._private  # before anybody is met
    for one, two in ((near, far), (far, near)) if own > other else ((far, near), (near, far)):
        one.meet(two.offer)
    assert near.fresh
    near.save(shelf)
    assert not near.fresh
    again = EdgeSecrets.saved(shelf, A_RUN, own, other)
    assert again.met
    assert not again.fresh
    assert again.offer == near.offer
    assert again.mac_key(b"n") == far.mac_key(b"n")
    assert (again.pads(0, "bob", 10, MASK) == far.pads(0, "bob", 10, MASK)).all()
    with pytest.raises(PeerError, match="it has lost its journal"):
        again.meet(far.offer[::-1])
    assert EdgeSecrets.saved(shelf, A_RUN, own, "dan")._private != near._private
    shelf.new = False
    with pytest.raises(JournalError, match="there is no key for eve"):
        EdgeSecrets.saved(shelf, A_RUN, own, "eve")


def test_private_keys_go_once_the_two_have_met():
    shelf = Shelf()
    ann, bob = EdgeSecrets.saved(shelf, A_RUN, "ann", "bob"), end("bob", "ann")
    private = shelf["edge/bob/private"]
    bob.meet(ann.offer)
    ann.meet(bob.offer)
    assert shelf["edge/bob/private"] == private  # until what they share is written
    ann.save(shelf)
    assert sorted(shelf) == ["edge/bob/chain", "edge/bob/mac", "edge/bob/offer", "edge/bob/theirs"]
    kept = b"".join([*shelf.values(), repr(vars(ann)).encode()])
    for part in (private, private[:32], private[32:]):
        assert part not in kept
        assert repr(part)[2:-1].encode() not in kept


def test_keys_of_stages_that_are_over_are_gone_and_the_next_ones_are_the_same():
    shelf = Shelf()
    ann, bob = EdgeSecrets.saved(shelf, A_RUN, "ann", "bob"), end("bob", "ann")
    bob.meet(ann.offer)
    ann.meet(bob.offer)
    ann.save(shelf)
    before = dict(shelf)
    expected = {stage: bob.words(stage, 5, 46).tolist() for stage in range(4)}
    for stage in range(3):
        assert ann.words(stage, 5, 46).tolist() == expected[stage]
        shelf.update(ann.next_stage(stage))
        for edge in (ann, EdgeSecrets.saved(shelf, A_RUN, "ann", "bob")):
            assert edge.words(stage + 1, 5, 46).tolist() == expected[stage + 1]
            for over in range(stage + 1):
                with pytest.raises(InvalidInput, match=f"the keys of stage {over} are deleted"):
                    edge.words(over, 5, 46)
    assert before["edge/bob/chain"][4:] not in b"".join(shelf.values())
    del shelf[ann.last_stage()]
    for edge in (ann, EdgeSecrets.saved(shelf, A_RUN, "ann", "bob")):
        with pytest.raises(InvalidInput, match="the keys with bob are deleted: the run is over"):
            edge.words(3, 5, 46)
        assert edge.mac_key(b"n") == bob.mac_key(b"n")  # to tell the end
