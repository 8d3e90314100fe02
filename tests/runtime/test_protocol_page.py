"""docs/reference/protocol.md is enough to join: a party written from it agrees with its vectors and a real party."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from runtime import mini_party, mini_secrets, protocol_vectors
from runtime.mini_party import (
    ESCROW,
    GOODBYE,
    HELLO,
    LEAVE,
    LOST,
    OPENING,
    PADS,
    SNAPSHOT,
    VALUE,
    VERDICT,
    Fields,
    MiniParty,
    frame,
    vector,
)
from runtime.mini_secrets import Secrets, len32
from runtime.proxy import Proxies
from runtime.trial import edit, status, wait_for
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from sottovoce.runtime.cluster import Cluster, free_ports
from sottovoce.runtime.keys import hybrid
from sottovoce.runtime.keys.edge_secrets import PROTOCOL
from sottovoce.runtime.keys.identity import Identity, public_key
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.runtime.protocol import agreement, frames, handshake, link
from sottovoce.runtime.protocol.route import Route
from sottovoce.runtime.transport.web_socket import SUBPROTOCOL

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
RUN_ID = "00112233445566778899aabbccddeeff"
ROWS = {"ann": [10.5, 12.25, 9.0, 30.0, 7.75], "bob": [11.0, 8.5, 20.125]}


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    text = PAGE.read_text()
    begin = text.index("vectors = ") + len("vectors = ")
    return ast.literal_eval(text[begin : text.index("\n}\n", begin) + 2])


# What can be compared without thinking


def test_the_vectors_are_those_of_the_package(vectors: dict[str, Any]) -> None:
    assert protocol_vectors.compute(vectors) == vectors


def test_the_page_has_every_field_of_every_frame() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    told = {int(k): (body, re.findall(r"`(\w+)` (\w+)", fields)) for k, body, fields in rows}
    words = {int: "integer", bool: "flag", bytes: "bytes", str: "text", frames.Array: "numbers"}
    words[Mapping[int, bytes]] = "signatures"
    true = {
        k: (kind.__name__, [(name, words[of]) for name, of in get_type_hints(kind).items()])
        for k, kind in enumerate(frames.KINDS, 1)
    }
    assert told == true


def test_the_page_has_the_numbers_of_the_code() -> None:
    words = " ".join(PAGE.read_text().split())
    for said in (
        f"at most {frames.MAX_FRAME:,} bytes",
        f"`parameters` at most {frames.MAX_PARAMETERS:,}",
        f"`reason` has at most {frames.MAX_REASON} characters",
        f"`0 <= chunk < chunks <= {frames.MAX_CHUNKS}`",
        f"`data` is 1 to {frames.CHUNK:,} float64",
        f"of `acceptances` at most {frames.MAX_ACCEPTANCES:,} are in one frame",
        f"`signature` 1 to {frames.MAX_SIGNATURE};",
        "`offer` {} to {:,}, or none".format(*frames.OFFER),
        f"at most {link.AHEAD} chunks",
        f"refuses stages from {link.STAGES} on",
        f"`step` at most {agreement.COARSER:g} times what it would take itself",
        f"In a Hello `version` is {handshake.VERSION}",
        f'context = "{PROTOCOL}"',
        f"`{SUBPROTOCOL}`",
        f"({hybrid.ENCAPSULATION_KEY} bytes, FIPS 203)",
        f"the ciphertext ({hybrid.CIPHERTEXT} bytes)",
    ):
        assert said in words


# But for pictures that are made with the site.
LINK = r"\]\((?!http|.*images/gallery|.*images/multi-centre-study)([^)#]*)#?([^)]*)\)"


def test_its_references_lead_somewhere() -> None:
    for page in sorted(PAGE.parents[1].rglob("*.md")):
        for target, anchor in re.findall(LINK, page.read_text()):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
                known = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
                assert anchor in known, f"{page.name}: #{anchor}"


# The vectors


@pytest.fixture(scope="module")
def offers(vectors: dict[str, Any]) -> dict[str, bytes]:
    return {name: bytes.fromhex(vectors[f"{name}_offer"]) for name in ROWS}


@pytest.fixture(scope="module")
def secrets(vectors: dict[str, Any], offers: dict[str, bytes]) -> Secrets:
    private = bytes.fromhex(vectors["ann_private"] + vectors["ann_seed"])
    assert mini_secrets.offered(private) == offers["ann"]
    shared = mini_secrets.concluded(private, offers["bob"])
    assert shared.hex() == vectors["shared"]
    return Secrets(bytes.fromhex(vectors["parameters_hash"]), offers, shared)


@pytest.fixture(scope="module")
def nonces(vectors: dict[str, Any]) -> tuple[bytes, bytes]:
    return bytes.fromhex(vectors["ann_nonce"]), bytes.fromhex(vectors["bob_nonce"])


@pytest.fixture(scope="module")
def hello(vectors: dict[str, Any], offers: dict[str, bytes]) -> Fields:
    texts = {2: b"ann", 3: b"bob", 4: bytes.fromhex(vectors["parameters_hash"]), 5: vectors["parameters"].encode()}
    said = {8: 1, 9: 2000, 10: 3, 11: 1, 12: 1999, 13: 2}
    return {1: 4, **texts, 6: offers["ann"], 7: bytes.fromhex(vectors["signature"]), **said}


def test_what_is_hashed(vectors: dict[str, Any]) -> None:
    text = vectors["parameters"]
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text
    assert f"\n    {text}\n    {vectors['parameters_hash']}\n" in PAGE.read_text()  # the example, and its hash
    assert hashlib.sha256(text.encode()).hexdigest() == vectors["parameters_hash"]


def test_what_is_signed(vectors: dict[str, Any], hello: Fields, nonces: tuple[bytes, bytes]) -> None:
    key = bytes.fromhex(json.loads(vectors["parameters"])["keys"][0])
    signer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
    signed = mini_party.signed(hello, *nonces)
    parts = (vectors[name] for name in ("signed_before_offer", "ann_offer", "signed_after_offer"))
    assert signed.hex() == "".join(parts)
    signer.verify(bytes.fromhex(vectors["signature"]), signed, mini_party.ECDSA)
    route = bytes.fromhex(vectors["route"])
    accepted = mini_party.acceptance(hello[4], "ann", 2, 4, route, bytes.fromhex(vectors["answer_digest"]))
    assert accepted.hex() == vectors["accept_signed"]
    signer.verify(bytes.fromhex(vectors["accept_signature"]), accepted, mini_party.ECDSA)
    statement = (b"sottovoce leave", hello[4], b"cat", b"ann", b"1", b"2", b"2", b"3", b"1", b"0", route)
    signed = b"".join(len32(part) for part in statement)
    assert signed.hex() == vectors["leave_signed"]
    signer.verify(bytes.fromhex(vectors["leave_signature"]), signed, mini_party.ECDSA)
    signed = b"".join(len32(part) for part in (b"sottovoce lost", hello[4], b"ann", b"cat"))
    assert signed.hex() == vectors["lost_signed"]
    signer.verify(bytes.fromhex(vectors["lost_signature"]), signed, mini_party.ECDSA)


def test_what_a_route_is(vectors: dict[str, Any]) -> None:
    digest = bytes.fromhex(vectors["parameters_hash"])
    edges = [(0, 1), (0, 2), (1, 2)]
    assert mini_party.rerouted(digest, 3, edges, edges[:2], {(0, 2)}) == (
        [(0, 1), (1, 2)],
        bytes.fromhex(vectors["route"]),
    )
    assert mini_party.rerouted(digest, 3, edges, edges[:2], {(1, 2)}) == (edges[:2], b"")
    parts = (digest, b"2")  # Cat has left, no edge is dead
    tag = hashlib.blake2b(b"".join(map(len32, parts)), digest_size=16, person=b"sottovoce route").hexdigest()
    assert tag == vectors["route_without_2"]


def test_what_is_derived(vectors: dict[str, Any], secrets: Secrets, nonces: tuple[bytes, bytes]) -> None:
    assert secrets.mac_key(b"".join(nonces)).hex() == vectors["mac_key"]
    assert secrets.stream(24, 1, "gaussian", "ann").hex() == vectors["stream_gaussian_1_ann"]
    assert secrets.root.hex() == vectors["root"]
    assert [chain.hex() for chain in secrets.chains[:2]] == [vectors["chain_0"], vectors["chain_1"]]
    assert secrets.pads(1, "ann", 2, 1e6) == vectors["pads_ann"]
    assert secrets.pads(1, "bob", 2, 1e6) == vectors["pads_bob"]
    assert secrets.word(0) == vectors["word"]
    assert secrets.tag(0, struct.pack("<Q", vectors["word"])).hex() == vectors["tag_0"]
    assert secrets.tag(1, struct.pack("<4d", *vectors["pads_ann"], *vectors["pads_bob"])).hex() == vectors["tag_1"]
    for name, hidden in (("ann", 5 + vectors["word"]), ("bob", 3 - vectors["word"])):
        assert mini_party.limbs(hidden % 2**64, 64, 2) == (vectors[f"limbs_{name}"], 22)


def test_what_is_computed(vectors: dict[str, Any]) -> None:
    held, written = np.array(vectors["pads_ann"]), np.array(vectors["pads_bob"])
    w, e = -2 * np.array([1.25, 0.5]) - held, held - written
    x = -w / 2.4
    assert w.tolist() == vectors["w"]
    assert e.tolist() == vectors["e"]
    assert np.allclose(x, vectors["x"], rtol=4e-16, atol=0)  # a rounding, of a division
    assert np.allclose(e - 0.8 * x, vectors["r"], rtol=4e-16, atol=0)
    assert [2.0, *(w + e / 2)] == vectors["estate"]
    # On the whole network the edge has a third of the planned c.
    unit = mini_secrets.grid(1e6) / 2
    half = np.rint(e / 2 * (0.4 / 1.2) / unit) * unit
    assert (2 * half).tolist() == vectors["e_rerouted"]
    assert (w + e / 2 - half).tolist() == vectors["w_rerouted"]


def test_what_travels(vectors: dict[str, Any], hello: Fields, secrets: Secrets, nonces: tuple[bytes, bytes]) -> None:
    assert hashlib.sha256(frame(HELLO, hello)).hexdigest() == vectors["hello_sha256"]
    value = frame(VALUE, vector(1, 7, [1.5, -2.0]))
    assert value.hex() == vectors["value"]
    seal = mini_party.mac(secrets.mac_key(b"".join(nonces)), "ann", "bob", value)
    assert (value + seal).hex() == vectors["value_with_mac"]
    route = bytes.fromhex(vectors["route"])
    assert frame(SNAPSHOT, vector(0, 3, [0.25]) | {6: route}).hex() == vectors["snapshot"]
    accepted = {0: bytes.fromhex(vectors["accept_signature"])}
    digest = bytes.fromhex(vectors["answer_digest"])
    assert frame(VERDICT, {1: 2, 2: 4, 3: 1, 4: accepted, 5: route, 6: digest}).hex() == vectors["verdict"]
    assert frame(GOODBYE, {1: b"finished"}).hex() == vectors["goodbye"]
    assert frame(OPENING, {1: nonces[0]}).hex() == vectors["opening"]
    assert frame(PADS, {1: 1, 2: bytes.fromhex(vectors["tag_1"])}).hex() == vectors["pads"]
    said = {
        1: b"cat",
        2: b"ann",
        3: 1,
        4: 2,
        5: 2,
        6: 3,
        7: 1,
        9: bytes.fromhex(vectors["leave_signature"]),
        10: route,
    }
    assert frame(LEAVE, said).hex() == vectors["leave"]
    said = {1: b"ann", 2: b"cat", 3: bytes.fromhex(vectors["lost_signature"])}
    assert frame(LOST, said).hex() == vectors["lost"]


def test_what_is_sealed(vectors: dict[str, Any], secrets: Secrets) -> None:
    key, place, estate = (
        secrets.key(1, "escrow", "ann"),
        struct.pack("<2I", 0, 1),
        struct.pack("<3d", *vectors["estate"]),
    )
    nonce = hashlib.blake2b(place + estate, key=key, digest_size=12, person=b"sottovoce escrow").digest()
    data = nonce + ChaCha20Poly1305(key).encrypt(nonce, estate, place)
    assert frame(ESCROW, {1: 1, 3: 1, 4: data}).hex() == vectors["escrow"]


def test_what_an_answer_is(vectors: dict[str, Any], secrets: Secrets) -> None:
    told, x = vectors["answer"], vectors["x"]
    assert told[:9] == [*struct.unpack("<8I", bytes(range(32))), 2.0**-20]
    assert told[9:] == [float(round(v * 2**20)) for v in x]
    assert mini_party.answer_digest(told).hex() == vectors["answer_digest"]
    data = secrets.seal(1, "answer", "ann", told)
    assert secrets.unseal(1, "answer", "ann", data) == told
    route = bytes.fromhex(vectors["route"])
    assert frame(mini_party.ANSWER, {1: 1, 2: 4, 4: 1, 5: data, 6: route}).hex() == vectors["answer_frame"]


def test_who_says_the_answer() -> None:
    """The middle of a tree, of two the smaller; on any other route the smallest, however far the others are."""
    assert mini_party.first_of([(0, 1), (1, 2)]) == (1, 1)
    assert mini_party.first_of([(0, 2), (1, 3), (2, 3)]) == (2, 2)
    assert mini_party.first_of([(0, 1), (1, 2), (1, 3), (2, 3)]) == (0, 2)
    rng = np.random.default_rng(1)
    for n in (2, 5, 9):
        for cycles in (0, 2):
            tree = {(int(rng.integers(j)), j) for j in range(1, n)}
            pairs = sorted(tree | {tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(cycles)})
            route = Route.over(pairs, 0.4, 0.8)
            assert mini_party.first_of(pairs) == (route.first, route.hops)


# A real party


class RealParty:
    """A process of its own."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        command = [sys.executable, "-m", "sottovoce", "node", str(config.path)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def result(self) -> dict[str, Any]:
        """What it wrote down, once it has ended by itself."""
        assert self.process.wait(timeout=30) == 0
        return json.loads(self.config.result.read_text())


@contextmanager
def real_party(
    folder: Path, me: Identity, neighbour: Identity, channels: str, asked: str, rows: list[float]
) -> Iterator[RealParty]:
    """Bob, once he listens."""
    (port,) = free_ports(1)
    (folder / "identity").mkdir(mode=0o700)
    for name, text in (("key.pem", me.key), ("certificate.pem", me.certificate)):
        (folder / "identity" / name).touch(mode=0o600)
        (folder / "identity" / name).write_text(text)
    (folder / "data.csv").write_text("\n".join(["dose", *map(str, rows)]) + "\n")
    (folder / "node.toml").write_text(f'''
        [party]
        name = "bob"
        listen = "127.0.0.1:{port}"
        [run]
        name = "trial"
        id = "{RUN_ID}"
        parties = ["ann", "bob"]
        keys = {[public_key(party.certificate) for party in (neighbour, me)]}
        channels = "{channels}"
        c = 0.4
        theta = 0.8
        tol = 1e-10
        edges = [["ann", "bob"]]
        {asked}
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


MEAN = """[run.statistic]
        type = "mean"
        columns = ["dose"]"""
AVERAGING = """[run.cost]
        type = "averaging"
        columns = ["dose"]
        size = 40.0
        mask = { variance = 1e6 }"""


def ann(vectors: dict[str, Any], identities: dict[str, Identity], channels: str) -> MiniParty:
    me, bob = identities["ann"], identities["bob"]
    keys = [public_key(party.certificate) for party in (me, bob)]
    run = json.loads(vectors["parameters"]) | {"channels": channels, "keys": keys}
    return MiniParty("ann", 0, "bob", 1, me.key.encode(), me.certificate.encode(), bob.certificate.encode(), run)


def meeting(bob: RealParty, identities: dict[str, Identity]) -> MiniParty:
    """Ann in the run of Bob's file."""
    me, theirs = identities["ann"], identities["bob"].certificate.encode()
    run = json.loads(bob.config.run_text)
    return MiniParty("ann", 0, "bob", 1, me.key.encode(), me.certificate.encode(), theirs, run)


@pytest.mark.parametrize("channels", ["encrypted", "open"])
def test_the_two_agree(channels: str, vectors: dict[str, Any], identities: dict[str, Identity], tmp_path: Path) -> None:
    mini = ann(vectors, identities, channels)
    with real_party(tmp_path, identities["bob"], identities["ann"], channels, MEAN, ROWS["bob"]) as bob:
        mini.connect(bob.config.listen)
        mine = mini.mean([str(row) for row in ROWS["ann"]])
        mini.leave()
        theirs = bob.result()["answer"]
    assert theirs["mean"] == [mine] == [math.fsum(ROWS["ann"] + ROWS["bob"]) / 8]  # to the bit
    assert theirs["observations"] == 8


def test_the_two_agree_on_real_numbers(identities: dict[str, Identity], tmp_path: Path) -> None:
    with real_party(tmp_path, identities["bob"], identities["ann"], "open", AVERAGING, [8.5]) as bob:
        mini = meeting(bob, identities)
        mini.connect(bob.config.listen)
        mine = mini.averaging([30.0])
        mini.leave()
        theirs = bob.result()["answer"]
    assert mine == pytest.approx(19.25, rel=0, abs=1e-8)
    assert theirs == {"dose": pytest.approx(19.25, rel=0, abs=1e-8)}


PLAN = """
[run]
name = "trial"
tol = 1e-10
fallback = 1.0
[network]
edges = [[0, 1], [1, 2], [1, 3], [2, 3]]
[statistic]
type = "mean"
columns = ["dose"]
"""


def test_a_link_of_others_stays_dead(tmp_path: Path) -> None:
    """Bob is in the middle of the tree, and loses Cat for good: Ann hears of it, and goes on over another route."""
    names, rows = ("ann", "bob", "cat", "dan"), {"ann": [10.5, 12.25, 9.0], "bob": [1.0], "cat": [2.5, 4], "dan": [7.0]}
    ports = free_ports(4)
    parties = "".join(
        f'[[party]]\nname = "{n}"\naddress = "127.0.0.1:{p}"\n' for n, p in zip(names, ports, strict=True)
    )
    (tmp_path / "plan.toml").write_text(PLAN + parties)
    write_plan(read_plan(tmp_path / "plan.toml"), tmp_path / "parties", generate_keys=True)
    for name in names:
        data = "\n".join(["dose", *map(str, rows[name])]) + "\n"
        (tmp_path / "parties" / name / "data.csv").write_text(data)
    with Proxies() as proxies:
        proxy = proxies.to(ports[2])
        edit(tmp_path / "parties" / "bob" / "node.toml", f'"127.0.0.1:{ports[2]}"', f'"{proxy.address}"')
        cluster = Cluster(tmp_path / "parties")
        configs = cluster.configs
        ann, bob = configs["ann"], configs["bob"]
        key, certificate = ((ann.identity / name).read_bytes() for name in ("key.pem", "certificate.pem"))
        theirs = (bob.identity / "certificate.pem").read_bytes()
        mini = MiniParty("ann", 0, "bob", 1, key, certificate, theirs, json.loads(ann.run_text))
        real = [RealParty(configs[name]) for name in names[1:]]
        try:
            mini.connect(bob.listen)
            wait_for(lambda: status(cluster, "cat").get("stage") == 0, what="the first stage")
            proxy.refusing = True
            proxy.hang_up()
            mine = mini.mean([str(row) for row in rows["ann"]])
            mini.leave()
            results = [party.result() for party in real]
        finally:
            for party in real:
                party.process.terminate()
                party.process.wait(timeout=20)
    assert mini.route()[3] != b""
    pooled = Fraction(sum(Fraction(v) for own in rows.values() for v in own), 7)
    assert mine == float(pooled)  # to the bit
    for result in results:
        assert result["answer"]["mean"] == [mine]
        assert result["fallback"] == {"stage": 0, "dead": [["bob", "cat"]]}


@pytest.mark.parametrize(
    ("version", "changed", "said"),
    [
        (3, {}, "speaks version 3"),
        (4, {1: 3}, "is not signed by its certificate"),
        (4, {3: b"cat"}, "a hello from 'ann' to 'cat'"),
        (4, {6: bytes(1216)}, "is not signed by its certificate"),
        (4, {5: b"{}"}, "do not have the hash"),
        (4, {12: 1}, "is not signed by its certificate"),
    ],
    ids=["version", "changed version", "another receiver", "another key", "other parameters", "more heard"],
)
def test_a_wrong_hello_is_refused(
    version: int,
    changed: Fields,
    said: str,
    identities: dict[str, Identity],
    tmp_path: Path,
) -> None:
    with (
        real_party(tmp_path, identities["bob"], identities["ann"], "encrypted", MEAN, ROWS["bob"]) as bob,
        pytest.raises(ConnectionClosed) as refusal,
    ):
        meeting(bob, identities).talk(bob.config.listen, version, changed)
    assert refusal.value.rcvd.code == CloseCode.POLICY_VIOLATION
    assert said in refusal.value.rcvd.reason
