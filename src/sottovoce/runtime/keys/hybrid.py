"""A key agreement that holds while either of two does: X25519, and ML-KEM-768 (FIPS 203), which quantum computers do
not break. Whoever records the traffic of today must break both.

The party with the smaller name speaks first. Its offer is an X25519 public key and an encapsulation key; that of the
other one is an X25519 public key and a ciphertext, made for that encapsulation key.

    shared = X25519 secret || ML-KEM secret
"""

from __future__ import annotations

import os

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ...errors import InvalidInput, PeerError

POINT, SEED = 32, 64  # bytes: an X25519 key, and what an ML-KEM key pair is made from
ENCAPSULATION_KEY, CIPHERTEXT = 1184, 1088


def draw(*, first: bool) -> bytes:
    """The private keys of one edge: an X25519 key, and of the party that speaks first the seed of an ML-KEM pair."""
    return os.urandom(POINT + SEED if first else POINT)


def opening(private: bytes) -> bytes:
    """The offer of the party that speaks first."""
    return _public(private) + _decapsulation_key(private).public_key().public_bytes_raw()


def answer(private: bytes, theirs: bytes, name: str) -> tuple[bytes, bytes]:
    """The offer of the other party, once it has that of ``name``, and what both then share."""
    secret = _exchange(private, theirs, name, ENCAPSULATION_KEY)
    try:
        more, ciphertext = encapsulate(theirs[POINT:])
    except ValueError:
        raise PeerError(f"{name} gave a key that is no ML-KEM-768 encapsulation key.") from None
    return _public(private) + ciphertext, secret + more


def conclude(private: bytes, theirs: bytes, name: str) -> bytes:
    """What both share, at the party that spoke first, from the offer of the other one, ``name``."""
    secret = _exchange(private, theirs, name, CIPHERTEXT)
    # Any ciphertext of this length gives a secret: with one that was not made for this key, nobody else has it.
    return secret + _decapsulation_key(private).decapsulate(theirs[POINT:])


def encapsulate(key: bytes) -> tuple[bytes, bytes]:
    """A fresh secret, and the ciphertext that tells it to the holder of the key."""
    return MLKEM768PublicKey.from_public_bytes(key).encapsulate()


def _public(private: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private[:POINT]).public_key().public_bytes_raw()


def _decapsulation_key(private: bytes) -> MLKEM768PrivateKey:
    try:
        return MLKEM768PrivateKey.from_seed_bytes(private[POINT:])
    except UnsupportedAlgorithm:
        raise InvalidInput(
            "the installed package cryptography has no ML-KEM: it was built with an OpenSSL before 3.5. "
            "Use its wheels: pip install --only-binary :all: 'cryptography>=48'"
        ) from None


def _exchange(private: bytes, theirs: bytes, name: str, rest: int) -> bytes:
    if len(theirs) != POINT + rest:
        raise PeerError(f"{name} gave keys of {len(theirs)} bytes; {POINT + rest} are expected.")
    try:
        return X25519PrivateKey.from_private_bytes(private[:POINT]).exchange(
            X25519PublicKey.from_public_bytes(theirs[:POINT])
        )
    except ValueError:  # a point with which the shared secret is no secret
        raise PeerError(f"{name} gave a key that is no X25519 public key.") from None
