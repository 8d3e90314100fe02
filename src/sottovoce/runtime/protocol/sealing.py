"""Vectors for one neighbour only, over open channels too: sealed with a key of the edge, this stage and this sender."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from ...costs.base import Array
from ...errors import PeerError
from .frames import CHUNK, Answer, Escrow, chunks


def sealed(key: bytes, vector: Array, purpose: bytes) -> list[bytes]:
    """The data of the frames in which a vector travels."""
    pieces, found = chunks(vector), []
    for k, piece in enumerate(pieces):
        plain, place = np.asarray(piece, dtype="<f8").tobytes(), _place(k, len(pieces))
        # A nonce that hangs on what is sealed: the same is sealed to the same after a restart, anything else is not.
        nonce = blake2b(place + plain, key=key, digest_size=12, person=purpose).digest()
        found.append(nonce + ChaCha20Poly1305(key).encrypt(nonce, plain, place))
    return found


def unsealed(key: bytes, body: Escrow | Answer, what: str) -> Array:
    """The numbers of one frame."""
    try:
        plain = ChaCha20Poly1305(key).decrypt(body.data[:12], body.data[12:], _place(body.chunk, body.chunks))
    except InvalidTag:
        raise PeerError(f"{what} that was not sealed by this neighbour for this party.") from None
    numbers = np.frombuffer(plain, dtype="<f8").astype(np.float64)
    if not np.isfinite(numbers).all() or (body.chunk < body.chunks - 1 and len(numbers) < CHUNK):
        raise PeerError(f"{what} with a number that is not finite, or with too few numbers.")
    return numbers


def _place(chunk: int, chunks: int) -> bytes:
    return chunk.to_bytes(4, "little") + chunks.to_bytes(4, "little")
