"""docs/protocol.md is enough to join: a party written from it agrees with its vectors, and with a real party."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from runtime import mini_party
from runtime.mini_party import (
    GOODBYE,
    OPENING,
    PADS,
    SNAPSHOT,
    VALUE,
    VERDICT,
    Fields,
    MiniParty,
    Secrets,
    frame,
    vector,
)

from sottovoce.runtime.cluster import free_ports
from sottovoce.runtime.config import NodeConfig, read_node_file
from sottovoce.runtime.identity import Identity

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
RUN_ID = "00112233445566778899aabbccddeeff"
ROWS = {"ann": [10.5, 12.25, 9.0, 30.0, 7.75], "bob": [11.0, 8.5, 20.125]}


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    text = PAGE.read_text()
    begin = text.index("vectors = ") + len("vectors = ")
    return ast.literal_eval(text[begin : text.index("\n}\n", begin) + 2])


# The vectors


@pytest.fixture(scope="module")
def secrets(vectors: dict[str, Any]) -> Secrets:
    private = {name: X25519PrivateKey.from_private_bytes(bytes.fromhex(vectors[f"{name}_private"])) for name in ROWS}
    public = {name: key.public_key().public_bytes_raw() for name, key in private.items()}
    assert {name: key.hex() for name, key in public.items()} == {name: vectors[f"{name}_offer"] for name in ROWS}
    shared = private["bob"].exchange(X25519PublicKey.from_public_bytes(public["ann"]))
    assert shared.hex() == vectors["shared"]
    return Secrets(bytes.fromhex(vectors["parameters_hash"]), public, shared)


@pytest.fixture(scope="module")
def nonces(vectors: dict[str, Any]) -> tuple[bytes, bytes]:
    return bytes.fromhex(vectors["ann_nonce"]), bytes.fromhex(vectors["bob_nonce"])


def test_what_is_hashed_and_signed(vectors: dict[str, Any], secrets: Secrets, nonces: tuple[bytes, bytes]) -> None:
    text = vectors["parameters"]
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text
    assert f"\n    {text}\n    {vectors['parameters_hash']}\n" in PAGE.read_text()  # the example, and its hash
    assert hashlib.sha256(text.encode()).hexdigest() == vectors["parameters_hash"]
    hello: Fields = {1: 2, 2: b"ann", 3: b"bob", 4: secrets.run, 6: secrets.keys["ann"]}
    signed = mini_party.signed(hello | {8: 1, 9: 2000, 10: 3, 11: 1, 12: 1999, 13: 2}, *nonces)
    assert signed.hex() == vectors["signed"]
    signer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes.fromhex(vectors["signer"]))
    signer.verify(bytes.fromhex(vectors["signature"]), signed, mini_party.ECDSA)


def test_what_is_derived(vectors: dict[str, Any], secrets: Secrets, nonces: tuple[bytes, bytes]) -> None:
    assert secrets.key("mac", b"".join(nonces)).hex() == vectors["mac_key"]
    assert secrets.stream(24, "gaussian", "1", "ann").hex() == vectors["stream_gaussian_1_ann"]
    assert secrets.pads(1, "ann", 2, 1e6) == vectors["pads_ann"]
    assert secrets.pads(1, "bob", 2, 1e6) == vectors["pads_bob"]
    assert secrets.word(0, 46) == vectors["word"]
    assert secrets.tag(0, struct.pack("<Q", vectors["word"])).hex() == vectors["tag_0"]
    assert secrets.tag(1, struct.pack("<4d", *vectors["pads_ann"], *vectors["pads_bob"])).hex() == vectors["tag_1"]
    for name, hidden in (("ann", 5 + vectors["word"]), ("bob", 3 - vectors["word"])):
        assert mini_party.limbs(hidden % 2**46, 46, 2) == (vectors[f"limbs_{name}"], 23)


def test_what_is_computed(vectors: dict[str, Any]) -> None:
    held, written = np.array(vectors["pads_ann"]), np.array(vectors["pads_bob"])
    w, e = -2 * np.array([1.25, 0.5]) - held, held - written
    x = -w / 2.4
    assert w.tolist() == vectors["w"]
    assert e.tolist() == vectors["e"]
    assert np.allclose(x, vectors["x"], rtol=4e-16, atol=0)  # a rounding, of a division
    assert np.allclose(e - 0.8 * x, vectors["r"], rtol=4e-16, atol=0)


def test_what_travels(vectors: dict[str, Any], secrets: Secrets, nonces: tuple[bytes, bytes]) -> None:
    value = frame(VALUE, vector(1, 7, [1.5, -2.0]))
    assert value.hex() == vectors["value"]
    seal = mini_party.mac(secrets.key("mac", b"".join(nonces)), "ann", "bob", value)
    assert (value + b"\x7a\x10" + seal).hex() == vectors["value_with_mac"]
    assert frame(SNAPSHOT, vector(0, 3, [0.25])).hex() == vectors["snapshot"]
    assert frame(VERDICT, {1: 2, 2: 4, 3: 1, 4: b"\x01"}).hex() == vectors["verdict"]
    assert frame(GOODBYE, {1: b"finished"}).hex() == vectors["goodbye"]
    assert frame(OPENING, {1: nonces[0]}).hex() == vectors["opening"]
    assert frame(PADS, {1: 1, 2: bytes.fromhex(vectors["tag_1"])}).hex() == vectors["pads"]


# A real party


class RealParty:
    """A process of its own: gRPC of two kinds, with and without an event loop, does not mix well in one."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        command = [sys.executable, "-m", "sottovoce", "node", str(config.path)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def result(self) -> dict[str, Any]:
        """What it wrote down, once it has ended by itself."""
        assert self.process.wait(timeout=30) == 0
        return json.loads(self.config.result.read_text())


@contextmanager
def real_party(folder: Path, me: Identity, neighbour: Identity, channels: str) -> Iterator[RealParty]:
    """Bob, once he listens."""
    (port,) = free_ports(1)
    (folder / "identity").mkdir(mode=0o700)
    for name, text in (("key.pem", me.key), ("certificate.pem", me.certificate)):
        (folder / "identity" / name).touch(mode=0o600)
        (folder / "identity" / name).write_text(text)
    (folder / "data.csv").write_text("\n".join(["dose", *map(str, ROWS["bob"])]) + "\n")
    (folder / "node.toml").write_text(f'''
        [party]
        name = "bob"
        listen = "127.0.0.1:{port}"
        [run]
        name = "trial"
        id = "{RUN_ID}"
        parties = ["ann", "bob"]
        channels = "{channels}"
        c = 0.4
        theta = 0.8
        tol = 1e-10
        [run.statistic]
        type = "mean"
        columns = ["dose"]
        scale = {{ dose = 10 }}
        mask = {{ variance = 1e6 }}
        [[neighbour]]
        name = "ann"
        address = "127.0.0.1:1"
        fingerprint = "{neighbour.fingerprint}"
        certificate = """{neighbour.certificate}"""
    ''')
    config = read_node_file(folder / "node.toml")
    bob = RealParty(config)
    try:
        deadline = time.monotonic() + 30
        while not config.socket.exists():  # made after the port is open
            assert time.monotonic() < deadline
            assert bob.process.poll() is None
            time.sleep(0.05)
        yield bob
    finally:
        bob.process.terminate()
        bob.process.wait(timeout=20)


def ann(vectors: dict[str, Any], identities: dict[str, Identity], channels: str) -> MiniParty:
    me, bob = identities["ann"], identities["bob"]
    run = json.loads(vectors["parameters"]) | {"channels": channels}
    return MiniParty("ann", 0, "bob", 1, me.key.encode(), me.certificate.encode(), bob.certificate.encode(), run)


@pytest.mark.parametrize("channels", ["encrypted", "open"])
def test_the_two_agree(channels: str, vectors: dict[str, Any], identities: dict[str, Identity], tmp_path: Path) -> None:
    mini = ann(vectors, identities, channels)
    with real_party(tmp_path, identities["bob"], identities["ann"], channels) as bob:
        mini.connect(bob.config.listen)
        mine = mini.mean(ROWS["ann"], scale=10.0)
        mini.leave()
        theirs = bob.result()["answer"]
    pooled = math.fsum(ROWS["ann"] + ROWS["bob"]) / 8
    # 3 tol times the largest contribution, 2/8 of Ann's sum (statistics.agreements.Agreements).
    error = 3e-10 * 2 / 8 * sum(ROWS["ann"])
    assert mine == pytest.approx(pooled, rel=0, abs=error)
    assert theirs["mean"] == pytest.approx([pooled], rel=0, abs=error)
    assert theirs["observations"] == 8


@pytest.mark.parametrize(
    ("version", "changed", "said"),
    [
        (3, {}, "speaks version 3"),
        (2, {1: 3}, "is not signed by its certificate"),
        (2, {3: b"cat"}, "a hello from 'ann' to 'cat'"),
        (2, {6: bytes(range(32))}, "is not signed by its certificate"),
        (2, {5: b"{}"}, "do not have the hash"),
        (2, {12: 1}, "is not signed by its certificate"),
    ],
    ids=["version", "changed version", "another receiver", "another key", "other parameters", "more heard"],
)
def test_a_wrong_hello_is_refused(
    version: int,
    changed: Fields,
    said: str,
    vectors: dict[str, Any],
    identities: dict[str, Identity],
    tmp_path: Path,
) -> None:
    mini = ann(vectors, identities, "encrypted")
    with real_party(tmp_path, identities["bob"], identities["ann"], "encrypted") as bob:
        with pytest.raises(grpc.RpcError) as refusal:
            mini.talk(bob.config.listen, version, changed)
        mini.outbox.put(None)
        mini.channel.close()
    assert refusal.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert said in refusal.value.details()
