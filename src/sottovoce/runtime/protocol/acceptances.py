"""Acceptances: what a party signs when it accepts an epoch, so that nobody can claim that it has.

Verdicts are flooded, and a party hears of most others through strangers. A bit that says "p7 accepts" could be set by
anybody on the way; a party next to a liar could then end in an epoch that others, further away, refuse. So every party
signs its acceptance, of one answer (``answers.py``) in one epoch of one stage on one route, and everybody checks it
with the key that the run lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ...costs.base import Array
from ..keys.identity import Identity, with_lengths
from ..keys.public_keys import signed_by
from .answers import SALT
from .frames import MAX_SIGNATURE, Verdict


class Acceptances:
    """What this party signs, and what the others have signed, in the run with this hash. ``keys`` are in the order of
    ``names``."""

    def __init__(self, me: Identity, names: Sequence[str], keys: Sequence[str], parameters_hash: bytes) -> None:
        self.me, self.names, self.keys, self.hash = me, names, keys, parameters_hash

    def sign(self, stage: int, epoch: int, answer: bytes, *, route: bytes = b"") -> bytes:
        """This party accepts, with the digest of the answer. To be written down before anybody hears of it."""
        return self.me.sign(self.signed_part(self.me.name, stage, epoch, answer, route))

    def genuine(self, index: int, said: Verdict) -> bool:
        """Whether the party with this index has accepted what a verdict says that it has."""
        signed = self.signed_part(self.names[index], said.stage, said.epoch, said.answer, said.route)
        return signed_by(self.keys[index], signed, said.acceptances[index])

    def signed_part(self, name: str, stage: int, epoch: int, answer: bytes, route: bytes = b"") -> bytes:
        """Who accepts which answer in which epoch of which stage, on which route, and the run, each part with its
        length."""
        parts = [str(part).encode() for part in (name, stage, epoch)]
        return with_lengths(b"sottovoce accept", self.hash, *parts, route, answer)

    def salt(self, stage: int, epoch: int, *, route: bytes = b"") -> bytes:
        """For the answer that this party proposes: nobody else can make it, and it is the same after a restart."""
        info = with_lengths(self.hash, str(stage).encode(), str(epoch).encode(), route)
        return HKDF(hashes.SHA256(), SALT, None, info).derive(self.me.derive("answer"))


def bits(indices: Iterable[int]) -> int:
    """The bit of each of them."""
    return sum(1 << i for i in indices)


def as_array(proofs: Mapping[int, bytes]) -> Array:
    """For the journal, which keeps numbers: a row of each party's index, the length of its signature, and the words."""
    rows = np.zeros((len(proofs), 2 + MAX_SIGNATURE // 4))
    for row, (index, signature) in zip(rows, proofs.items(), strict=True):
        row[:2] = index, len(signature)
        row[2:] = np.frombuffer(signature.ljust(MAX_SIGNATURE, b"\0"), dtype="<u4")
    return rows


def from_array(rows: Array) -> dict[int, bytes]:
    """What ``as_array`` was made of."""
    return {int(row[0]): row[2:].astype("<u4").tobytes()[: int(row[1])] for row in rows}
