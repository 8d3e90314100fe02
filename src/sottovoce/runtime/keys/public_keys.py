"""The public keys of all parties. They are part of the run, so that everybody can check what anybody has signed."""

from __future__ import annotations

import re
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from ...errors import InvalidInput
from ..protocol.frames import MAX_PARTIES

KEY = re.compile("0[23][0-9a-f]{64}")


def check_key(key: str) -> None:
    """Refuse what is no point of the curve."""
    try:
        if KEY.fullmatch(key):
            _point(key)
            return
    except ValueError:
        pass
    raise InvalidInput(
        f"a public key must be a compressed point of P-256 in 66 digits 0-9 a-f, as sottovoce plan writes it; got "
        f"{key!r:.80}."
    )


def signed_by(key: str, data: bytes, signature: bytes) -> bool:
    """Whether the owner of a key has signed ``data``."""
    try:
        _point(key).verify(signature, data, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


@lru_cache(MAX_PARTIES)
def _point(key: str) -> ec.EllipticCurvePublicKey:
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes.fromhex(key))
