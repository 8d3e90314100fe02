"""What a party leaves with its guardians in every stage, before its first value: its estate (``Node.estate``).

If it leaves for good later in that stage, one of them stands in for it (leaving.py). An estate is a function of the
party's ``(w, e)``, which whoever taps open channels and holds one party knows anyway: a guardian learns no more than
the audit of a plan counts with, where anybody may be corrupt. Nobody else is meant to have it, so it is sealed, over
open channels too, with a key of the edge for this stage and direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from ...costs.base import Array
from ...errors import PeerError
from .frames import CHUNK, Escrow, chunks

GUARDIANS = 2  # one may be away, or go too


def guardians(neighbours: Iterable[int]) -> list[int]:
    """The neighbours that keep a party's estate: those with the smallest indices."""
    return sorted(neighbours)[:GUARDIANS]


def seal(key: bytes, stage: int, estate: Array) -> list[Escrow]:
    """Frames for one guardian."""
    pieces = chunks(estate)
    sealed = []
    for k, piece in enumerate(pieces):
        plain, place = np.asarray(piece, dtype="<f8").tobytes(), _place(k, len(pieces))
        # A nonce that hangs on what is sealed: the same is sealed to the same after a restart, anything else is not.
        nonce = blake2b(place + plain, key=key, digest_size=12, person=b"sottovoce escrow").digest()
        data = nonce + ChaCha20Poly1305(key).encrypt(nonce, plain, place)
        sealed.append(Escrow(stage, k, len(pieces), data))
    return sealed


def unseal(key: bytes, escrow: Escrow) -> Array:
    """The numbers of one frame."""
    try:
        place = _place(escrow.chunk, escrow.chunks)
        plain = ChaCha20Poly1305(key).decrypt(escrow.data[:12], escrow.data[12:], place)
    except InvalidTag:
        raise PeerError("an escrow that was not sealed by this neighbour for this party.") from None
    numbers = np.frombuffer(plain, dtype="<f8").astype(np.float64)
    if not np.isfinite(numbers).all() or (escrow.chunk < escrow.chunks - 1 and len(numbers) < CHUNK):
        raise PeerError("an escrow with a number that is not finite, or with too few numbers.")
    return numbers


def _place(chunk: int, chunks: int) -> bytes:
    return chunk.to_bytes(4, "little") + chunks.to_bytes(4, "little")
