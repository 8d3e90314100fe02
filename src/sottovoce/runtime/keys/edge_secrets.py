"""The secrets of one edge: pads and MAC keys, which both ends derive from one key agreement (theory: Messages).

    shared      = hybrid(own private keys, neighbour's offer)              ``hybrid``: X25519 and ML-KEM-768
    root, chain = HKDF-SHA256(shared; protocol, parameters, both names and offers in order, "mac" or "chain")
    chain       = HKDF-SHA256(chain; "next")                               after each stage
    key         = HKDF-SHA256(chain; purpose), HKDF-SHA256(root; nonces)   pads of a stage, MACs of a connection

Keys are for one neighbour and one run, and are kept on disk: after a restart the pads must be the same, and in another
run they must not be, because pads that are used twice show the difference of what they hide (theory: Bad pads). Nothing
is kept for longer than it is needed: the private keys go when the two have met, the chain moves on when a stage is
over, and from what is left nobody comes back to the keys before.
"""

from __future__ import annotations

from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ...costs.base import Array
from ...errors import InvalidInput, JournalError, PeerError
from ...pdmm.masks import GaussianMask
from . import hybrid
from .identity import with_lengths

if TYPE_CHECKING:
    from ..journal import Journal

PROTOCOL = "sottovoce 4"
TAG = 16  # bytes
EDGE = "edge/"  # what the names of all rows of edges begin with
STAGE = 4  # bytes, before a chain key on the disk


class EdgeSecrets:
    """What ``own`` and ``neighbour`` share in a run, once they have met."""

    def __init__(self, parameters_hash: bytes, own: str, neighbour: str, private: bytes = b"") -> None:
        """``private`` is what ``hybrid.draw`` gives, and nothing where the two have met before."""
        if own == neighbour:
            raise InvalidInput(f"an edge needs two parties; got {own!r} twice.")
        self.parameters_hash, self.own, self.neighbour = parameters_hash, own, neighbour
        self.first = own < neighbour  # the one that speaks first
        self.offer = hybrid.opening(private) if self.first and private else b""  # none before the other one is met
        self._theirs = b""  # the hash of the neighbour's offer
        self.fresh = False  # whether what they share is not written down yet
        self._private, self._root = private, b""
        self._stage, self._chain = 0, b""  # no key of a stage before this one is left

    @classmethod
    def saved(cls, journal: Journal, parameters_hash: bytes, own: str, neighbour: str) -> EdgeSecrets:
        """Those of the journal; if it is new, new ones, written down before anybody hears of them."""
        edge = f"{EDGE}{neighbour}/"
        private, theirs = journal.get(f"{edge}private"), journal.get(f"{edge}theirs")
        if not private and not theirs:
            if not journal.new:
                raise JournalError(
                    f"{journal.path}: there is no key for {neighbour}, which this journal had when this run began. "
                    "Restore the newest copy of it, or plan a new run, with a new name and new journals."
                )
            private = hybrid.draw(first=own < neighbour)
            journal.put({f"{edge}private": private})
        found = cls(parameters_hash, own, neighbour, private or b"")
        if theirs:
            found._theirs = theirs
            found.offer, found._root = journal.get(f"{edge}offer") or b"", journal.get(f"{edge}mac") or b""
            chain = journal.get(f"{edge}chain") or b""
            found._stage, found._chain = int.from_bytes(chain[:STAGE], "little"), chain[STAGE:]
        return found

    def save(self, journal: Journal) -> None:
        """Write down what they share, and the neighbour's offer, to refuse another one later."""
        edge = f"{EDGE}{self.neighbour}/"
        rows = {f"{edge}offer": self.offer, f"{edge}theirs": self._theirs, f"{edge}mac": self._root}
        journal.put(rows | self._chain_row(), [f"{edge}private"])
        self.fresh = False

    @property
    def met(self) -> bool:
        """Whether the neighbour's offer is known."""
        return bool(self._theirs)

    @property
    def known(self) -> bytes:
        """The hash of the neighbour's offer, or nothing."""
        return self._theirs

    def meet(self, theirs: bytes) -> None:
        """Take the neighbour's offer in. It cannot change during a run, because the pads hang on it."""
        known = sha256(theirs).digest()
        if self._theirs:
            if known != self._theirs:
                raise PeerError(
                    f"{self.neighbour} has another key for this run than before: it has lost its journal. Its pads "
                    "cannot be made again; agree on a new run."
                )
            return
        if self.first:
            shared = hybrid.conclude(self._private, theirs, self.neighbour)
        else:
            self.offer, shared = hybrid.answer(self._private, theirs, self.neighbour)
        offers = {self.own: self.offer, self.neighbour: theirs}
        context = [PROTOCOL.encode(), self.parameters_hash]
        context += [part for name in sorted(offers) for part in (name.encode(), offers[name])]
        self._root, self._chain = _derive(shared, *context, b"mac"), _derive(shared, *context, b"chain")
        self._theirs, self._private, self.fresh = known, b"", True

    def mac_key(self, nonces: bytes) -> bytes:
        """For the MACs of both directions of one connection: each covers the names of its sender and receiver."""
        self._need(self._root)
        return _derive(self._root, b"connection", nonces)

    # Stages

    def next_stage(self, stage: int) -> dict[str, bytes]:
        """``stage`` is over: forget its keys. What is returned takes the place of them on the disk."""
        self._stage, self._chain = stage + 1, self._chain_of(stage + 1)
        return self._chain_row()

    def last_stage(self) -> str:
        """No stage comes any more: forget the keys of all. On the disk they are the row of this name."""
        self._chain = b""
        return f"{EDGE}{self.neighbour}/chain"

    def check(self, stage: int, content: bytes) -> bytes:
        """A MAC of 16 bytes with a key of this stage, to compare what both ends should have come to alike."""
        return blake2b(content, key=self._key(stage, "check"), digest_size=TAG, person=b"sottovoce check").digest()

    def pads(self, stage: int, holder: str, count: int, mask: GaussianMask) -> Array:
        """``z_{holder|other}(0)`` of a stage: i.i.d. ``N(0, variance)`` on the mask's grid, equal at both ends.

        As ``GaussianMask.draw``, with a key stream in the place of the operating system's generator.
        """
        if holder not in (self.own, self.neighbour):
            raise InvalidInput(f"{holder!r} holds nothing on the edge {self.own} - {self.neighbour}.")
        stream = self._stream(12 * count, stage, "gaussian", holder)
        words, low = np.frombuffer(stream, "<u8", count), np.frombuffer(stream, "<u4", count, offset=8 * count)
        return mask.shaped(words.astype(np.uint64), low.astype(np.uint32))

    def words(self, stage: int, count: int, bits: int) -> npt.NDArray[np.uint64]:
        """The edge's pad ``p_ij`` of a ``ModularMask``: uniform modulo ``2^bits``, equal at both ends.

        One end adds it, the other subtracts it.
        """
        stream = self._stream(8 * count, stage, "modular")
        return np.frombuffer(stream, "<u8").astype(np.uint64) & np.uint64(2**bits - 1)

    def escrow_key(self, stage: int, sender: str) -> bytes:
        """Seals what ``sender`` leaves with the other end in a stage (escrow.py)."""
        return self._key(stage, "escrow", sender)

    def answer_key(self, stage: int, sender: str) -> bytes:
        """Seals the answers of a stage that ``sender`` passes on to the other end (answers.py)."""
        return self._key(stage, "answer", sender)

    def forgotten(self, stage: int) -> bool:
        """Whether the keys of a stage are deleted."""
        return stage < self._stage or not self._chain

    def _stream(self, size: int, stage: int, *purpose: str) -> bytes:
        # Every purpose has a key of its own, so that the nonce may be the same.
        return Cipher(ChaCha20(self._key(stage, *purpose), bytes(16)), mode=None).encryptor().update(bytes(size))

    def _key(self, stage: int, *purpose: str) -> bytes:
        return _derive(self._chain_of(stage), *(part.encode() for part in purpose))

    def _chain_of(self, stage: int) -> bytes:
        self._need(self._chain)
        if stage < self._stage:
            raise InvalidInput(f"the keys of stage {stage} are deleted: it is over.")
        chain = self._chain
        for _ in range(self._stage, stage):
            chain = _derive(chain, b"next")
        return chain

    def _chain_row(self) -> dict[str, bytes]:
        return {f"{EDGE}{self.neighbour}/chain": self._stage.to_bytes(STAGE, "little") + self._chain}

    def _need(self, key: bytes) -> None:
        if not self._theirs:
            raise InvalidInput(f"the key of {self.neighbour} is not known yet; there are no secrets with it.")
        if not key:
            raise InvalidInput(f"the keys with {self.neighbour} are deleted: the run is over.")

    def __repr__(self) -> str:
        return f"EdgeSecrets(own={self.own!r}, neighbour={self.neighbour!r}, met={self.met})"


def _derive(secret: bytes, *parts: bytes) -> bytes:
    return HKDF(hashes.SHA256(), length=32, salt=None, info=with_lengths(*parts)).derive(secret)
