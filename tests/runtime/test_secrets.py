"""Pads and keys of an edge: equal at both ends, different for everything else, and distributed as the mask says."""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidInput, PeerError
from sottovoce.runtime.secrets import EdgeSecrets

MASK = sv.GaussianMask(variance=1e8)
COUNT = 100_000
RUN, NONCES = b"a hash".ljust(32), bytes(64)
KEYS = {name: bytes([number]) * 32 for number, name in enumerate(("ann", "bob", "cat"), start=1)}


def meeting(a: str = "ann", b: str = "bob", run: bytes = RUN) -> tuple[EdgeSecrets, EdgeSecrets]:
    """Both ends of an edge; the keys are fixed, so the pads below are the same every time."""
    one, other = EdgeSecrets(run, a, b, KEYS[a]), EdgeSecrets(run, b, a, KEYS[b])
    one.meet(other.offer)
    other.meet(one.offer)
    return one, other


def test_both_ends_derive_the_same():
    one, other = meeting()
    assert one.mac_key(NONCES) == other.mac_key(NONCES)
    assert len(one.mac_key(NONCES)) == 32
    assert one.check(3, b"pads") == other.check(3, b"pads")
    for holder in ("ann", "bob"):
        assert (one.pads(3, holder, 50, MASK) == other.pads(3, holder, 50, MASK)).all()
    assert (one.words(3, 50, 46) == other.words(3, 50, 46)).all()


def test_everything_that_differs_gives_other_pads():
    ann, _ = meeting()
    others = {
        "this": ann.pads(0, "ann", 50, MASK),
        "the other direction": ann.pads(0, "bob", 50, MASK),
        "the next stage": ann.pads(1, "ann", 50, MASK),
        "another run": meeting(run=b"b hash".ljust(32))[0].pads(0, "ann", 50, MASK),
        "another edge": meeting(b="cat")[0].pads(0, "ann", 50, MASK),
    }
    for (a, pads), (b, more) in combinations(others.items(), 2):
        assert not np.isin(pads, more).any(), f"{a} and {b}"
    assert not np.isin(ann.words(0, 50, 46), ann.words(1, 50, 46)).any()
    assert (
        meeting(run=b"b hash".ljust(32))[0].mac_key(NONCES)
        != ann.mac_key(NONCES)
        != meeting(b="cat")[0].mac_key(NONCES)
    )
    assert ann.mac_key(NONCES) != ann.mac_key(b"x" + NONCES[1:])
    tags = {ann.check(stage, pads) for stage, pads in ((0, b"a"), (1, b"a"), (0, b"b"))}
    assert {len(tag) for tag in tags} == {16}
    assert len(tags) == 3


def test_names_and_run_cannot_be_shifted_into_each_other():
    """``run + name`` spelled differently is another edge, although the text in a row is the same."""
    keys = [EdgeSecrets(run, own, "z", KEYS["ann"]) for run, own in ((b"ab", "c"), (b"a", "bc"))]
    theirs = EdgeSecrets(b"", "z", "y", KEYS["bob"]).offer
    for secrets in keys:
        secrets.meet(theirs)
    assert keys[0].mac_key(NONCES) != keys[1].mac_key(NONCES)


def test_pads_are_what_the_mask_draws(monkeypatch):
    """Bit for bit the construction of ``GaussianMask.draw``, if the operating system's generator gave this stream."""
    ann, _ = meeting()
    stream = ann._stream(12 * 1000, "gaussian", "0", "ann")
    taken = [stream[:8000], stream[8000:]]
    monkeypatch.setattr(os, "urandom", lambda size: taken.pop(0)[:size])
    assert (MASK.draw((1000,)) == ann.pads(0, "ann", 1000, MASK)).all()
    assert not taken


def test_pads_are_gaussian_and_on_the_grid():
    ann, _ = meeting()
    pads = [ann.pads(0, holder, COUNT, MASK) for holder in ("ann", "bob")]
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
def test_words_are_uniform(bits):
    words = meeting()[0].words(0, COUNT, bits)
    assert words.dtype == np.uint64
    assert words.max() < 2**bits
    assert stats.chisquare(np.bincount((words >> np.uint64(bits - 2)).astype(int), minlength=4)).pvalue > 1e-3
    assert stats.chisquare(np.bincount((words % np.uint64(4)).astype(int), minlength=4)).pvalue > 1e-3


def test_nothing_secret_is_shown():
    ann, _ = meeting()
    for secret in (KEYS["ann"], ann._shared, ann.mac_key(NONCES)):
        assert repr(secret)[2:-1] not in repr(ann)
        assert secret.hex() not in repr(ann)
    assert repr(ann) == "EdgeSecrets(own='ann', neighbour='bob', met=True)"


def test_before_meeting_there_are_no_secrets():
    ann = EdgeSecrets(RUN, "ann", "bob", KEYS["ann"])
    assert not ann.met
    for ask in (
        lambda: ann.mac_key(NONCES),
        lambda: ann.check(0, b""),
        lambda: ann.words(0, 1, 46),
        lambda: ann.pads(0, "ann", 1, MASK),
    ):
        with pytest.raises(InvalidInput, match="the key of bob is not known yet"):
            ask()


def test_a_neighbour_cannot_change_its_key():
    ann, bob = meeting()
    ann.meet(bob.offer)
    with pytest.raises(PeerError, match="another key for this run than before"):
        ann.meet(bob.offer[::-1])


@pytest.mark.parametrize("key", [b"", b"x" * 31, b"x" * 33, bytes(32), b"\x01" + bytes(31)])
def test_keys_that_agree_on_nothing_are_refused(key):
    """0 and 1 are points of small order: whoever sends them knows the shared secret without any key."""
    with pytest.raises(PeerError, match="bob gave a key that is no X25519 public key"):
        EdgeSecrets(RUN, "ann", "bob", KEYS["ann"]).meet(key)


def test_edges_that_are_none():
    with pytest.raises(InvalidInput, match="an edge needs two parties"):
        EdgeSecrets(RUN, "ann", "ann", KEYS["ann"])
    with pytest.raises(InvalidInput, match="'cat' holds nothing on the edge ann - bob"):
        meeting()[0].pads(0, "cat", 1, MASK)


class Shelf(dict):
    """A journal in memory, in which keys may still be drawn."""

    new = True

    def put(self, blobs):
        self.update(blobs)


def test_secrets_survive_a_restart():
    shelf, bob = Shelf(), EdgeSecrets(RUN, "bob", "ann", KEYS["bob"])
    ann = EdgeSecrets.saved(shelf, RUN, "ann", "bob")
    assert EdgeSecrets.saved(shelf, RUN, "ann", "bob").offer == ann.offer  # before anybody is met
    ann.meet(bob.offer)
    assert ann.fresh
    ann.save(shelf)
    assert not ann.fresh
    again = EdgeSecrets.saved(shelf, RUN, "ann", "bob")
    assert again.met
    assert not again.fresh
    assert (again.pads(0, "bob", 10, MASK) == ann.pads(0, "bob", 10, MASK)).all()
    assert EdgeSecrets.saved(shelf, RUN, "ann", "cat").offer != ann.offer
