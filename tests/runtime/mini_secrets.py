"""The secrets of docs/reference/protocol.md, by its words alone, at the dialling end: for ``mini_party``."""

from __future__ import annotations

import hashlib
import hmac
import math
import struct

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from runtime.mini_quantile import quantile


def len32(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def derive(secret: bytes, *parts: str | bytes) -> bytes:
    """H of the page, HKDF-SHA256 without salt, of 32 bytes: one block."""
    words = [part.encode() if isinstance(part, str) else part for part in parts]
    key = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(key, b"".join(len32(word) for word in words) + b"\x01", "sha256")


def offered(private: bytes) -> bytes:
    """The offer of the party that dials; ``private`` is its X25519 key and the seed of its ML-KEM pair."""
    point = X25519PrivateKey.from_private_bytes(private[:32]).public_key().public_bytes_raw()
    return point + MLKEM768PrivateKey.from_seed_bytes(private[32:]).public_key().public_bytes_raw()


def concluded(private: bytes, answer: bytes) -> bytes:
    """What the two share, at the party that dials."""
    assert len(answer) == 32 + 1088
    point = X25519PublicKey.from_public_bytes(answer[:32])
    secret = X25519PrivateKey.from_private_bytes(private[:32]).exchange(point)
    return secret + MLKEM768PrivateKey.from_seed_bytes(private[32:]).decapsulate(answer[32:])


class Secrets:
    """What two parties share: ``offers`` by name."""

    def __init__(self, run: bytes, offers: dict[str, bytes], shared: bytes) -> None:
        names = [part for name in sorted(offers) for part in (name.encode(), offers[name])]
        self.root = derive(shared, "sottovoce 4", run, *names, "mac")
        self.chains = [derive(shared, "sottovoce 4", run, *names, "chain")]

    def mac_key(self, nonces: bytes) -> bytes:
        return derive(self.root, "connection", nonces)

    def key(self, stage: int, *purpose: str) -> bytes:
        while len(self.chains) <= stage:  # one that survives restarts would delete those before
            self.chains.append(derive(self.chains[-1], "next"))
        return derive(self.chains[stage], *purpose)

    def stream(self, size: int, stage: int, *purpose: str) -> bytes:
        return Cipher(ChaCha20(self.key(stage, *purpose), bytes(16)), mode=None).encryptor().update(bytes(size))

    def pads(self, stage: int, holder: str, count: int, variance: float) -> list[float]:
        sigma = math.sqrt(variance)
        g = grid(variance)
        stream = self.stream(12 * count, stage, "gaussian", holder)
        pads = []
        for u, v in zip(
            struct.unpack_from(f"<{count}Q", stream), struct.unpack_from(f"<{count}I", stream, 8 * count), strict=True
        ):
            high = sigma * (1.0 if u % 2 else -1.0) * quantile((float(u >> 1) + 0.5) * 2.0**-64)
            pads.append(2**20 * g * round(high / (2**20 * g)) + g * (v % 2**20 - 2**19))
        return pads

    def word(self, stage: int) -> int:
        return int(struct.unpack("<Q", self.stream(8, stage, "modular"))[0])

    def seal(self, stage: int, purpose: str, sender: str, vector: list[float]) -> bytes:
        """Of a vector that fits into one frame."""
        key, place, plain = (
            self.key(stage, purpose, sender),
            struct.pack("<2I", 0, 1),
            struct.pack(f"<{len(vector)}d", *vector),
        )
        person = f"sottovoce {purpose}".encode()
        nonce = hashlib.blake2b(place + plain, key=key, digest_size=12, person=person).digest()
        return nonce + ChaCha20Poly1305(key).encrypt(nonce, plain, place)

    def unseal(self, stage: int, purpose: str, sender: str, data: bytes) -> list[float]:
        key = self.key(stage, purpose, sender)
        plain = ChaCha20Poly1305(key).decrypt(data[:12], data[12:], struct.pack("<2I", 0, 1))
        return list(struct.unpack(f"<{len(plain) // 8}d", plain))

    def tag(self, stage: int, pads: bytes) -> bytes:
        key = self.key(stage, "check")
        return hashlib.blake2b(pads, key=key, digest_size=16, person=b"sottovoce check").digest()


def grid(variance: float) -> float:
    return 2.0 ** (math.frexp(math.sqrt(variance))[1] - 49)  # an exact floor(log2 sigma) - 48
