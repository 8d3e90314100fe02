"""The parties and the server of secure aggregation (Bonawitz et al. 2017), with real keys, shares and ciphers.

    1  advertise   two public keys each: one for ciphertexts (c), one for pads (s)
    2  share       the seed b_i and the private key of s, in Shamir's shares, encrypted to the neighbours
    3  input       y_i = s_i + PRG(b_i) +- PRG(key of i and j) for every neighbour j, modulo 2^64
    4  unmask      of those whose input came, shares of b; of those who vanished before, shares of the key of s

Nobody gives shares of both for one party: whoever has both can take all masks off its input. X25519, HKDF-SHA256,
ChaCha20 as generator, ChaCha20-Poly1305 for shares. All follow the protocol: there are no signatures, and no fifth
round in which parties compare what the server told them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .polynomial_shares import deal, reconstruct
from .sent import Sent

Words = npt.NDArray[np.uint64]

KEY = 32  # bytes of a key and of a seed
PRIME = 2**256 + 297  # the first one above all keys
SHARE = 33  # bytes


def protocol(
    units: Words,
    graph: Mapping[int, Collection[int]],
    threshold: int,
    early: Collection[int],
    late: Collection[int],
    rng: random.Random,
    sent: Sent,
) -> Words | None:
    """The sum of ``units (n, d)`` of all but early dropouts, modulo ``2^64``; None where too few are left."""
    parties = {i: Party(i, graph[i], threshold, rng) for i in graph}
    keys = {}
    for i, party in parties.items():
        keys[i] = party.advertise()
        sent.one(size(keys[i]))
    for i, party in parties.items():
        party.keys = {j: keys[j] for j in graph[i]}
        sent.one(sum(size(pair) for pair in party.keys.values()))
    for i, party in parties.items():
        for j, ciphertext in party.share().items():
            sent.one(len(ciphertext))  # to the server
            sent.one(len(ciphertext))  # and on
            parties[j].kept[i] = ciphertext
    inputs = {}
    for i, party in parties.items():
        if i not in early:
            inputs[i] = party.masked(units[i])
            sent.one(inputs[i].nbytes)
    revealed = {}
    for i in inputs:
        sent.one(len(graph[i]))  # a byte for each neighbour: whether it is there
        if i not in late:
            revealed[i] = parties[i].unmask(inputs.keys())
            sent.one(size(revealed[i].values()))
    total = unmasked(inputs, keys, graph, revealed, threshold)
    for _ in revealed:
        sent.one(units[0].nbytes)  # the mean, or that there is none
    sent.rounds = 4
    return total


def size(parts: Iterable[bytes]) -> int:
    return sum(len(part) for part in parts)


def agreed(private: X25519PrivateKey, public: bytes, purpose: bytes) -> bytes:
    """What two parties have in common, for one purpose."""
    shared = private.exchange(X25519PublicKey.from_public_bytes(public))
    return HKDF(hashes.SHA256(), length=KEY, salt=None, info=purpose).derive(shared)


def stretched(seed: bytes, d: int) -> Words:
    """``d`` words from a seed, which is used for nothing else."""
    stream = Cipher(ChaCha20(seed, bytes(16)), mode=None).encryptor().update(bytes(8 * d))
    return np.frombuffer(stream, "<u8").astype(np.uint64)


def pad(private: X25519PrivateKey, public: bytes, i: int, j: int, d: int) -> Words:
    """What ``i`` adds for ``j``, from the private key of one and the public key of the other."""
    words = stretched(agreed(private, public, b"pad"), d)
    return words if i < j else np.uint64(0) - words


class Party:
    """Number ``i``, with its neighbours among those that mask for one another."""

    def __init__(self, i: int, neighbours: Collection[int], threshold: int, rng: random.Random) -> None:
        self.i, self.neighbours, self.threshold, self.rng = i, sorted(neighbours), threshold, rng
        self.c, self.s = (X25519PrivateKey.from_private_bytes(rng.randbytes(KEY)) for _ in range(2))
        self.b = rng.randbytes(KEY)
        self.keys: Mapping[int, tuple[bytes, bytes]] = {}
        self.ciphers: dict[int, ChaCha20Poly1305] = {}
        self.kept: dict[int, bytes] = {}  # the ciphertexts of neighbours, with shares of their b and s

    def advertise(self) -> tuple[bytes, bytes]:
        return self.c.public_key().public_bytes_raw(), self.s.public_key().public_bytes_raw()

    def share(self) -> dict[int, bytes]:
        """A ciphertext for each neighbour."""
        secrets = [int.from_bytes(secret, "little") for secret in (self.b, self.s.private_bytes_raw())]
        dealt = deal(secrets, self.threshold, [j + 1 for j in self.neighbours], PRIME, self.rng)
        found = {}
        for j, shares in zip(self.neighbours, dealt.T, strict=True):
            plain = b"".join(share.to_bytes(SHARE, "little") for share in shares)
            found[j] = self.cipher(j).encrypt(nonce(self.i, j), plain, None)
        return found

    def cipher(self, j: int) -> ChaCha20Poly1305:
        """For what goes between this party and ``j``."""
        if j not in self.ciphers:
            self.ciphers[j] = ChaCha20Poly1305(agreed(self.c, self.keys[j][0], b"shares"))
        return self.ciphers[j]

    def masked(self, units: Words) -> Words:
        """``y_i``."""
        y = units + stretched(self.b, len(units))
        for j in self.neighbours:
            y = y + pad(self.s, self.keys[j][1], self.i, j, len(units))
        return y

    def unmask(self, there: Collection[int]) -> dict[int, bytes]:
        """Of each neighbour one share: of ``b`` if its input is there, and of its key for pads if not."""
        found = {}
        for j, ciphertext in self.kept.items():
            plain = self.cipher(j).decrypt(nonce(j, self.i), ciphertext, None)
            found[j] = plain[:SHARE] if j in there else plain[SHARE:]
        return found


def nonce(i: int, j: int) -> bytes:
    """From ``i`` to ``j``: both ways have one key."""
    return i.to_bytes(6, "little") + j.to_bytes(6, "little")


def unmasked(
    inputs: Mapping[int, Words],
    keys: Mapping[int, tuple[bytes, bytes]],
    neighbours: Mapping[int, Collection[int]],
    revealed: Mapping[int, Mapping[int, bytes]],
    threshold: int,
) -> Words | None:
    """The server: the sum of the inputs without masks, from the shares that each party revealed of its neighbours;
    None where they are too few."""
    if not inputs:
        return None
    total: Words = np.sum(list(inputs.values()), axis=0, dtype=np.uint64)
    for i in inputs:
        b = _secret(i, revealed, threshold)
        if b is None:
            return None
        total = total - stretched(b, len(total))
    for gone in keys.keys() - inputs.keys():
        left = [i for i in neighbours[gone] if i in inputs]
        if not left:
            continue
        s = _secret(gone, revealed, threshold)
        if s is None:
            return None
        key = X25519PrivateKey.from_private_bytes(s)
        for i in left:
            total = total - pad(key, keys[i][1], i, gone, len(total))
    return total


def _secret(of: int, revealed: Mapping[int, Mapping[int, bytes]], threshold: int) -> bytes | None:
    found = [(j + 1, int.from_bytes(shares[of], "little")) for j, shares in revealed.items() if of in shares]
    if len(found) <= threshold:
        return None
    points, values = zip(*found[: threshold + 1], strict=True)
    return int(reconstruct(points, np.array(values, dtype=object), PRIME)).to_bytes(KEY, "little")
