"""Keys and certificates: made once, kept private, and every mistake told apart."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from sottovoce.errors import InvalidInput
from sottovoce.runtime.keys.identity import check_certificate, check_name, create, fingerprint, load, public_key
from sottovoce.runtime.keys.public_keys import signed_by


@pytest.fixture
def ann(tmp_path):
    return create(tmp_path / "ann", "ann")


def test_what_was_created_is_loaded(tmp_path, ann):
    assert load(tmp_path / "ann") == ann
    assert ann.name == "ann"
    check_certificate(ann.certificate, "ann", ann.fingerprint)


def test_files_are_private_from_the_first_byte(tmp_path, monkeypatch):
    """The key is opened with its final mode, whatever the umask; nothing is changed afterwards."""
    monkeypatch.setattr(os, "chmod", lambda *_: pytest.fail("a mode set afterwards leaves a moment for others"))
    before = os.umask(0)
    try:
        create(tmp_path / "new" / "ann", "ann")
    finally:
        os.umask(before)
    modes = {path: os.stat(tmp_path / "new" / path).st_mode & 0o777 for path in ("ann", "ann/key.pem")}
    assert modes == {"ann": 0o700, "ann/key.pem": 0o600}


def test_nothing_is_overwritten(tmp_path, ann):
    with pytest.raises(InvalidInput, match=r"key\.pem is already there"):
        create(tmp_path / "ann", "ann")
    (tmp_path / "ann" / "key.pem").unlink()
    with pytest.raises(InvalidInput, match=r"certificate\.pem is already there"):
        create(tmp_path / "ann", "ann")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path, ann, mode):
    key = tmp_path / "ann" / "key.pem"
    key.chmod(mode)
    with pytest.raises(InvalidInput, match=f"mode {mode:o}.*chmod 600 {key}"):
        load(tmp_path / "ann")


def test_signatures(ann, identities):
    signature = ann.sign(b"data")
    assert signed_by(public_key(ann.certificate), b"data", signature)
    assert not signed_by(public_key(ann.certificate), b"other data", signature)
    assert not signed_by(public_key(ann.certificate), b"data", signature[:-1])
    assert not signed_by(public_key(ann.certificate), b"data", b"")
    assert not signed_by(public_key(identities["bob"].certificate), b"data", signature)


def test_fingerprint_is_the_hash_of_the_der_form(ann):
    """As ``openssl x509 -fingerprint -sha256`` gives it, without colons."""
    import base64
    import hashlib

    der = base64.b64decode("".join(ann.certificate.splitlines()[1:-1]))
    assert fingerprint(ann.certificate) == ann.fingerprint == f"SHA256:{hashlib.sha256(der).hexdigest()}"


def test_digits_for_the_telephone(ann, identities):
    """As the protocol page says, computed in another way."""
    rest = 0
    for byte in bytes.fromhex(ann.fingerprint.removeprefix("SHA256:")):
        rest = (256 * rest + byte) % 10**25
    assert int(ann.digits.replace(" ", "")) == rest
    assert re.fullmatch("[0-9]{5}( [0-9]{5}){4}", ann.digits)
    assert len({other.digits for other in identities.values()}) == len(identities)


def test_no_secret_is_shown(ann):
    secret = "".join(ann.key.splitlines()[1:-1])
    assert secret[:20] not in repr(ann)
    with pytest.raises(InvalidInput, match="holds a private key") as caught:
        fingerprint(ann.key)
    assert secret[:10] not in str(caught.value)


def test_certificates_that_do_not_fit(ann, identities):
    bob = identities["bob"]
    with pytest.raises(InvalidInput, match=f"{bob.fingerprint}, but {ann.fingerprint} is expected"):
        check_certificate(bob.certificate, "ann", ann.fingerprint)
    with pytest.raises(InvalidInput, match="the certificate of ann is for the name 'bob'"):
        check_certificate(bob.certificate, "ann", bob.fingerprint)
    now = datetime.now(UTC)
    with pytest.raises(InvalidInput, match=f"expired on {now + timedelta(days=3650):%Y-%m-%d}"):
        check_certificate(ann.certificate, "ann", ann.fingerprint, now + timedelta(days=3651))
    with pytest.raises(InvalidInput, match=r"valid from \d{4}-\d\d-\d\d only; check the clocks"):
        check_certificate(ann.certificate, "ann", ann.fingerprint, now - timedelta(days=2))


@pytest.mark.parametrize("what", ["", "hello", "two", "truncated", "garbage", "key beside it"])
def test_what_is_no_certificate(ann, identities, what):
    lines = ann.certificate.splitlines(keepends=True)
    pem = {
        "two": ann.certificate + identities["bob"].certificate,  # TLS would trust the second one too
        "truncated": "".join(lines[:-2] + lines[-1:]),
        "garbage": "".join([lines[0], "AAAA\n", lines[-1]]),
        "key beside it": ann.certificate + ann.key,
    }.get(what, what)
    with pytest.raises(InvalidInput, match="the certificate of ann is not one P-256 certificate"):
        check_certificate(pem, "ann", ann.fingerprint)


def pem_of(key) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def test_folders_that_hold_no_identity(tmp_path, ann):
    with pytest.raises(InvalidInput, match="holds no identity"):
        load(tmp_path / "nobody")
    key = tmp_path / "ann" / "key.pem"
    for text, sentence in (
        ("", "is not a P-256 private key"),
        (pem_of(ec.generate_private_key(ec.SECP384R1())), "is not a P-256 private key"),
        (pem_of(rsa.generate_private_key(65537, 1024)), "is not a P-256 private key"),
        (pem_of(ec.generate_private_key(ec.SECP256R1())), "do not belong together"),
    ):
        key.write_text(text)
        with pytest.raises(InvalidInput, match=sentence):
            load(tmp_path / "ann")
    key.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="must be PEM text"):
        load(tmp_path / "ann")


@pytest.mark.parametrize("name", ["a", "0", "hospital-3", "a.b_c-9", "x" * 64, "1.2.3.4a"])
def test_names(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "é", "-a", ".a", "a.", "10.0.0.1", "1.2", "a\n", "a/b", "*", 3])
def test_names_that_are_refused(tmp_path, name):
    with pytest.raises(InvalidInput, match="a party's name must be"):
        create(tmp_path / "x", name)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("days", [0, -1, 1.5, True, 40_000])
def test_days_that_are_refused(tmp_path, days):
    with pytest.raises(InvalidInput, match=r"days must be an integer in 1 \.\. 36500"):
        create(tmp_path / "x", "x", days)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="the identity cannot be written"):
        create(tmp_path / "file" / "ann", "ann")
