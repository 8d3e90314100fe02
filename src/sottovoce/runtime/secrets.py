"""The secrets of one edge: pads and a MAC key, which both ends derive from one key agreement (THEORY 5).

    shared = X25519(own private key, neighbour's public key)
    key    = HKDF-SHA256(shared; protocol, run, both names in order, both public keys, purpose)

A key pair is for one neighbour and one run, and is kept on disk: after a restart the pads must be the same, and in
another run they must not be, because pads that are used twice show the difference of what they hide (THEORY 4).
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.special  # noqa: F401  for pads: loaded now, for it takes longer than a party may wait in a stage
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..costs.base import Array
from ..errors import InvalidInput, JournalError, PeerError
from ..masks import GaussianMask

if TYPE_CHECKING:
    from .journal import Journal

PROTOCOL = "sottovoce 1"


class EdgeSecrets:
    """What ``own`` and ``neighbour`` share in a run, once they have met."""

    def __init__(self, run: str, own: str, neighbour: str, private: bytes, theirs: bytes | None = None) -> None:
        """``private`` is 32 random bytes, ``theirs`` the neighbour's public key where it is already known."""
        if own == neighbour:
            raise InvalidInput(f"an edge needs two parties; got {own!r} twice.")
        self.run, self.own, self.neighbour = run, own, neighbour
        self._private = X25519PrivateKey.from_private_bytes(private)
        self.public = self._private.public_key().public_bytes_raw()
        self.theirs: bytes | None = None
        self._shared = b""
        self.fresh = False  # whether the neighbour's key is not written down yet
        if theirs is not None:
            self.meet(theirs)
            self.fresh = False

    @classmethod
    def saved(cls, journal: Journal, run: str, own: str, neighbour: str) -> EdgeSecrets:
        """Those of the journal; if it is new, new ones, written down before anybody hears of them."""
        private = journal.get(f"edge/{run}/{neighbour}/private")
        if private is None:
            if not journal.new:
                raise JournalError(
                    f"{journal.path}: there is no key for {neighbour}: the neighbours changed since this run began. "
                    "Restore them, or plan a new run, with a new name and new journals."
                )
            private = os.urandom(32)
            journal.put({f"edge/{run}/{neighbour}/private": private})
        return cls(run, own, neighbour, private, journal.get(f"edge/{run}/{neighbour}/theirs"))

    def save(self, journal: Journal) -> None:
        """Write the neighbour's key down, to refuse another one later."""
        assert self.theirs is not None
        journal.put({f"edge/{self.run}/{self.neighbour}/theirs": self.theirs})
        self.fresh = False

    @property
    def met(self) -> bool:
        """Whether the neighbour's key is known."""
        return self.theirs is not None

    def meet(self, theirs: bytes) -> None:
        """Take the neighbour's public key in. It cannot change during a run, because the pads hang on it."""
        if self.theirs is not None:
            if theirs != self.theirs:
                raise PeerError(
                    f"{self.neighbour} has another key for the run {self.run!r} than before: it has lost its journal. "
                    "Its pads cannot be made again; start a new run, with a new name."
                )
            return
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError:  # of another length, or a point with which the shared secret is no secret
            raise PeerError(f"{self.neighbour} gave a key that is no X25519 public key.") from None
        self.theirs, self._shared, self.fresh = theirs, shared, True

    @cached_property
    def mac_key(self) -> bytes:
        """For the MACs of both directions: each covers the names of its sender and receiver."""
        return self._derive("mac")

    def pads(self, stage: int, holder: str, count: int, mask: GaussianMask) -> Array:
        """``z_{holder|other}(0)`` of a stage: i.i.d. ``N(0, variance)`` on the mask's grid, equal at both ends.

        As ``GaussianMask.draw``, with a key stream in the place of the operating system's generator.
        """
        if holder not in (self.own, self.neighbour):
            raise InvalidInput(f"{holder!r} holds nothing on the edge {self.own} - {self.neighbour}.")
        stream = self._stream(12 * count, "gaussian", str(stage), holder)
        words, low = np.frombuffer(stream, "<u8", count), np.frombuffer(stream, "<u4", count, offset=8 * count)
        return mask.shaped(words.astype(np.uint64), low.astype(np.uint32))

    def words(self, stage: int, count: int, bits: int) -> npt.NDArray[np.uint64]:
        """The edge's pad ``p_ij`` of a ``ModularMask``: uniform modulo ``2^bits``, equal at both ends.

        One end adds it, the other subtracts it.
        """
        stream = self._stream(8 * count, "modular", str(stage))
        return np.frombuffer(stream, "<u8").astype(np.uint64) & np.uint64(2**bits - 1)

    def escrow_key(self, stage: int, sender: str) -> bytes:
        """Seals what ``sender`` leaves with the other end in a stage (escrow.py)."""
        return self._derive("escrow", str(stage), sender)

    def _stream(self, size: int, *purpose: str) -> bytes:
        # Every purpose has a key of its own, so that the nonce may be the same.
        return Cipher(ChaCha20(self._derive(*purpose), bytes(16)), mode=None).encryptor().update(bytes(size))

    def _derive(self, *purpose: str) -> bytes:
        if self.theirs is None:
            raise InvalidInput(f"the key of {self.neighbour} is not known yet; there are no secrets with it.")
        keys = {self.own: self.public, self.neighbour: self.theirs}
        parts = [PROTOCOL.encode(), self.run.encode()]
        parts += [part for name in sorted(keys) for part in (name.encode(), keys[name])]
        parts += [part.encode() for part in purpose]
        info = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
        return HKDF(hashes.SHA256(), length=32, salt=None, info=info).derive(self._shared)

    def __repr__(self) -> str:
        return f"EdgeSecrets(run={self.run!r}, own={self.own!r}, neighbour={self.neighbour!r}, met={self.met})"
