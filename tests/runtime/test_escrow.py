"""What a guardian keeps: sealed for it alone, and no more than an audit counts with."""

from __future__ import annotations

import numpy as np
import pytest
from runtime.edges import greet, link, met
from runtime.test_replay import CLOSE, HOUSE, MASK, NAMES, C, Story, rewrite

import sottovoce as sv
from sottovoce.errors import PeerError
from sottovoce.privacy import audit
from sottovoce.runtime.protocol.escrow import guardians, seal, unseal
from sottovoce.runtime.protocol.frames import CHUNK, decode, encode
from sottovoce.runtime.traces.trace_audit import audit_trace


@pytest.fixture
def keys():
    return met("ann", "bob"), met("bob", "ann")


def test_the_first_two_neighbours_are_guardians():
    assert guardians([7, 3, 5]) == [3, 5]
    assert guardians({2: "one"}) == [2]


@pytest.mark.parametrize("length", [1, 3, CHUNK + 2])
def test_sealed_at_one_end_and_opened_at_the_other(keys, rng, length):
    ann, bob = keys
    estate = rng.normal(size=length)
    sealed = seal(ann.escrow_key(1, "ann"), 1, estate)
    assert sealed == seal(ann.escrow_key(1, "ann"), 1, estate)  # after a restart it is the same again
    assert all(decode(encode(part)) == part for part in sealed)
    opened = np.concatenate([unseal(bob.escrow_key(1, "ann"), part) for part in sealed])
    np.testing.assert_array_equal(opened, estate)


def test_another_key_place_or_number_is_refused(keys, rng):
    ann, bob = keys
    (part,) = seal(ann.escrow_key(1, "ann"), 1, rng.normal(size=3))
    (other,) = seal(ann.escrow_key(1, "ann"), 1, rng.normal(size=3))
    assert part.data[:12] != other.data[:12]  # a nonce for each
    wrong = [
        (bob.escrow_key(2, "ann"), part),
        (bob.escrow_key(1, "bob"), part),
        (bob.escrow_key(1, "ann"), part._replace(chunks=2)),
        (bob.escrow_key(1, "ann"), part._replace(data=part.data[:-1] + bytes([part.data[-1] ^ 1]))),
        (bob.escrow_key(1, "ann"), seal(ann.escrow_key(1, "ann"), 1, np.array([np.nan]))[0]),
    ]
    for key, escrow in wrong:
        with pytest.raises(PeerError, match="an escrow"):
            unseal(key, escrow)


@pytest.mark.parametrize(("dimension", "most"), [(None, 16), (2, 1), (300, 2)])
def test_a_neighbour_leaves_no_more_than_an_estate(identities, dimension, most):
    """What it leaves is kept in memory and written to the disk."""
    ann, bob = link(identities, "ann", "bob"), link(identities, "bob", "ann")
    greet(ann, bob)
    if dimension is not None:
        bob.expected = {0: dimension}
    for count in (most, most + 1):
        part = seal(ann.secrets.escrow_key(0, "ann"), 0, np.zeros(CHUNK * count))[0]
        if count == most:
            bob.receive(ann._sealed(part))
        else:
            with pytest.raises(PeerError, match=f"an escrow of {count} chunks; in this stage {most} are the most"):
                bob.receive(ann._sealed(part))


def test_a_recorded_run_counts_the_escrows_of_corrupt_guardians(tmp_path):
    """Over encrypted channels the first party holds what the second and the fourth left with it. The last one is
    nobody's guardian."""
    story = Story(tmp_path, 5, channels="encrypted")
    for i in story.rng.integers(5, size=60).tolist():
        for message in story.wake(i):
            story.hear(message)
    tapped = audit(sv.averaging(HOUSE, np.zeros(5)), mask=MASK, corrupt={0}, c=C)
    none = [audit_trace(story.traces, stage=0, corrupt={i}).leakage for i in (0, 4)]
    for path in story.traces:
        rewrite(path, lambda k, line: line | {"run": line["run"] | {"fingerprints": NAMES}} if k == 0 else line)
    kept = [audit_trace(story.traces, stage=0, corrupt={i}).leakage for i in (0, 4)]
    assert (kept[0][[1, 3]] > none[0][[1, 3]] + 0.01).all()
    assert (kept[0][1:] <= tapped.leakage[1:] + CLOSE).all()
    np.testing.assert_allclose(kept[1], none[1], rtol=0, atol=CLOSE)
