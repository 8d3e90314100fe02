"""Who a party is: an ECDSA P-256 key, and a self-signed certificate that carries the party's name.

There is no authority. Parties give each other their certificates once, by a way they trust, and compare fingerprints;
from then on exactly that certificate is the neighbour, and nothing else is.
"""

from __future__ import annotations

import os
import re
import textwrap
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ...errors import InvalidInput

KEY, CERTIFICATE = "key.pem", "certificate.pem"
# A name is a host name to TLS, which drops a final dot and takes four numbers for an address.
NAME = re.compile(r"(?![0-9.]*\.[0-9.]*$)[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
CLOCKS_DIFFER = timedelta(days=1)  # a new certificate is already valid where the clock is behind


@dataclass(frozen=True)
class Identity:
    """A party's name, certificate and private key (the latter two as PEM)."""

    name: str
    certificate: str
    key: str = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """Who this is, to programs."""
        return fingerprint(self.certificate)

    @property
    def digits(self) -> str:
        """What to compare with a neighbour, over the telephone."""
        return digits(self.certificate)

    def sign(self, data: bytes) -> bytes:
        """Checked by ``verify`` with the certificate."""
        return _private_key(self.key, "the key").sign(data, ec.ECDSA(hashes.SHA256()))

    def derive(self, purpose: str) -> bytes:
        """32 secret bytes that whoever has the private key can make again."""
        number = _private_key(self.key, "the key").private_numbers().private_value
        info = f"sottovoce {purpose}".encode()
        return HKDF(hashes.SHA256(), length=32, salt=None, info=info).derive(number.to_bytes(32, "big"))


def create(folder: str | Path, name: str, days: int = 3650, now: datetime | None = None) -> Identity:
    """A new identity, as ``key.pem`` (mode 600) and ``certificate.pem`` in ``folder``, which is made with mode 700."""
    check_name(name)
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= 36500:
        raise InvalidInput(f"days must be an integer in 1 .. 36500; got {days!r}.")
    folder, now = Path(folder), now or datetime.now(UTC)
    for path in (folder / KEY, folder / CERTIFICATE):
        if path.exists():
            raise InvalidInput(
                f"{path} is already there and is not overwritten: neighbours know this party by it. "
                "Choose another folder, or delete both files if nobody relies on them."
            )
    key = ec.generate_private_key(ec.SECP256R1())
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    certificate = _self_signed(key, name, now, days).public_bytes(serialization.Encoding.PEM).decode()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_new(folder / KEY, secret, 0o600)
        _write_new(folder / CERTIFICATE, certificate, 0o644)
    except OSError as error:
        raise InvalidInput(f"{folder}: the identity cannot be written: {error.strerror or error}.") from None
    return Identity(name, certificate, secret)


def load(folder: str | Path) -> Identity:
    """The identity that ``create`` made. A key that others could have read is refused."""
    folder, certificate = Path(folder), None
    try:
        with (folder / KEY).open() as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            if mode & 0o077:
                raise InvalidInput(
                    f"{folder / KEY} has mode {mode:o}: other users of this machine may have read it. "
                    f"If they have not, run: chmod 600 {folder / KEY}"
                )
            secret = file.read()
        certificate = (folder / CERTIFICATE).read_text()
    except OSError as error:
        raise InvalidInput(f"{folder} holds no identity: {error.filename}: {error.strerror}. Create one.") from None
    except UnicodeDecodeError:  # which has what was read in it, and must not be the context of another error
        pass
    if certificate is None:
        raise InvalidInput(f"{folder} holds no identity: {KEY} and {CERTIFICATE} must be PEM text.")
    key, parsed = _private_key(secret, str(folder / KEY)), _parse(certificate, str(folder / CERTIFICATE))
    if key.public_key() != parsed.public_key():
        raise InvalidInput(f"{folder}: {KEY} and {CERTIFICATE} do not belong together; restore the pair.")
    return Identity(_name(parsed), certificate, secret)


def check_name(name: str) -> str:
    """A name that TLS, files and logs all take, or a sentence."""
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise InvalidInput(
            f"a party's name must be 1 to 64 of the characters A-Z a-z 0-9 . _ -, begin with a letter or digit, not "
            f"end with a dot, and not look like an address; got {name!r:.80}."
        )
    return name


def fingerprint(pem: str) -> str:
    """``SHA256:`` and the hash of a certificate in hexadecimal."""
    return f"SHA256:{_parse(pem).fingerprint(hashes.SHA256()).hex()}"


def public_key(pem: str) -> str:
    """The key of a certificate, as a run lists it: a compressed point of P-256, in hexadecimal."""
    point = serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
    return _parse(pem).public_key().public_bytes(*point).hex()


def digits(pem: str) -> str:
    """A fingerprint for the telephone: the last 25 decimal digits of the hash as a number, in groups of five. Whoever
    wants another certificate with the same has 2^83 to try."""
    number = int.from_bytes(_parse(pem).fingerprint(hashes.SHA256()), "big") % 10**25
    return " ".join(textwrap.wrap(f"{number:025d}", 5))


def check_certificate(pem: str, name: str, fingerprint: str, now: datetime | None = None) -> None:
    """Refuse a certificate that is not the one with this fingerprint, not for this name, or not valid now."""
    certificate, now = _parse(pem, f"the certificate of {name}"), now or datetime.now(UTC)
    found = f"SHA256:{certificate.fingerprint(hashes.SHA256()).hex()}"
    if found != fingerprint:
        raise InvalidInput(
            f"the certificate of {name} has the fingerprint {found}, but {fingerprint} is expected. "
            f"Ask {name} which one is right, by a way that you trust."
        )
    if _name(certificate) != name:
        found = _name(certificate)
        raise InvalidInput(f"the certificate of {name} is for the name {found!r:.80}; ask {name} for its own.")
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        raise InvalidInput(f"the certificate of {name} expired on {end:%Y-%m-%d}; {name} must create a new identity.")
    if now < begin:
        raise InvalidInput(f"the certificate of {name} is valid from {begin:%Y-%m-%d} only; check the clocks.")


def valid_until(pem: str) -> datetime:
    """When a certificate ends."""
    return _parse(pem).not_valid_after_utc


def with_lengths(*parts: bytes) -> bytes:
    """Parts in a row, each after its length in four bytes: so no two rows look alike. What is signed and derived."""
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def _self_signed(key: ec.EllipticCurvePrivateKey, name: str, now: datetime, days: int) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign",
         "encipher_only", "decipher_only"), False,
    )  # fmt: skip
    return (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - CLOCKS_DIFFER)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
        .sign(key, hashes.SHA256())
    )


def _write_new(path: Path, text: str, mode: int) -> None:
    """Private from the first byte on: a mode set afterwards leaves a moment in which others can open the file."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)


def _private_key(pem: str, what: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):  # TypeError: it has a password
        key = None
    if not (isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1)):
        raise InvalidInput(f"{what} is not a P-256 private key without password in PEM; create a new identity.")
    return key


def _parse(pem: str, what: str = "the certificate") -> x509.Certificate:
    """One certificate, with the kind of key that signs here, and nothing beside it: TLS would trust what follows it."""
    try:
        found = x509.load_pem_x509_certificates(pem.encode()) if pem.count("-----BEGIN") == 1 else []
        key = found[0].public_key() if found else None
    except (ValueError, x509.InvalidVersion):
        key = None
    if not (isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)):
        held = " but holds a private key, which must stay with its owner" if "PRIVATE KEY-----" in pem else ""
        raise InvalidInput(f"{what} is not one P-256 certificate in PEM{held}. Give the file {CERTIFICATE}, alone.")
    return found[0]


def _name(certificate: x509.Certificate) -> str:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        return ""
    found = names.get_values_for_type(x509.DNSName)
    return found[0] if len(found) == 1 else ""
