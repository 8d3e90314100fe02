"""Real parties among hostile ones: strangers, impostors, replays, a neighbour that breaks the protocol in every way.

A neighbour that keeps to the form of the protocol and lies is in test_liars.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import re
import socket
import ssl
import struct
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.proxy import Proxies
from runtime.trial import Trial, edit, journal_of, prepare, results_of, status, wait_for
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.frames import CloseCode
from websockets.protocol import CLIENT, SERVER, Protocol, State

import sottovoce as sv
from sottovoce.runtime.cluster import Cluster, free_ports
from sottovoce.runtime.keys import identity
from sottovoce.runtime.keys.edge_secrets import EdgeSecrets
from sottovoce.runtime.keys.identity import Identity
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.protocol import frames
from sottovoce.runtime.protocol.frames import (
    CHUNK,
    MAX_FRAME,
    Goodbye,
    Hello,
    Opening,
    Pads,
    Snapshot,
    Value,
    Verdict,
    encode,
)
from sottovoce.runtime.protocol.handshake import Handshake, signed_part
from sottovoce.runtime.protocol.link import Link, digest
from sottovoce.runtime.transport.web_socket import SUBPROTOCOL
from sottovoce.runtime.transport.web_socket_transport import as_file

TRIANGLE = sv.Network.complete(3)
CLOCK = 25.0
NUMBERS = re.compile(rb'"((?:[A-Za-z0-9+/]{4}){5,}[A-Za-z0-9+/]{2}[A-Za-z0-9+/=]=)"')  # two or more, in base64


class Caller:
    """Somebody who dials ``called`` as ``name``: with a pair of certificate and key, or without TLS."""

    def __init__(self, trial: Trial, name: str, called: str, pair: Identity | None) -> None:
        config = read_node_file(trial.folder / name / "node.toml")
        self.name, self.pair = name, pair
        self.neighbour = next(neighbour for neighbour in config.neighbours if neighbour.name == called)

    def call(self) -> connect:
        at = f"{'ws' if self.pair is None else 'wss'}://{self.neighbour.address}/{self.name}"
        tls = None
        if self.pair is not None:
            tls = ssl.create_default_context(cadata=self.neighbour.certificate)
            tls.check_hostname = False
            if self.pair.key:
                with as_file(self.pair.certificate) as certificate, as_file(self.pair.key) as key:
                    tls.load_cert_chain(certificate, key)
        return connect(
            at, ssl=tls, subprotocols=[SUBPROTOCOL], compression=None, proxy=None, max_size=None, open_timeout=10.0
        )

    async def say(
        self, frames: Iterable[bytes], greeting: Handshake | None = None, stay: float = 0.0
    ) -> tuple[str, str]:
        """Greet, say this, and stay for so many seconds, or until they hang up: how it ended and why, or "open"."""
        try:
            async with self.call() as line:
                try:
                    while greeting is not None:
                        while (frame := greeting.next_frame()) is not None:
                            await line.send(frame)
                        if greeting.done:
                            break
                        greeting.receive(await line.recv())
                    for frame in frames:
                        await line.send(frame)
                    async with asyncio.timeout(stay or 10.0):
                        while True:
                            await line.recv()
                except TimeoutError:
                    return "open", ""
                except ConnectionClosed as closed:
                    return CloseCode(closed.rcvd.code).name if closed.rcvd else "lost", str(
                        closed.rcvd and closed.rcvd.reason
                    )
        except InvalidStatus as refused:
            return f"{refused.response.status_code}", refused.response.body.decode()
        except (OSError, InvalidMessage) as error:
            return "not admitted", str(error)


def edge_of(trial: Trial, name: str, other: str) -> Link:
    """A party's end of an edge, with the keys of its journal, so that it can be honest afterwards."""
    config = read_node_file(trial.folder / name / "node.toml")
    neighbour = next(neighbour for neighbour in config.neighbours if neighbour.name == other)
    with journal_of(config) as journal:
        secrets = EdgeSecrets.saved(journal, config.run_hash, name, other)
    own = identity.load(config.identity)
    mac = config.channels == "open"
    return Link(own, other, neighbour.index, neighbour.certificate, config.run_text, secrets, authenticate=mac)


class Liar(Handshake):
    """A hello with other contents, rightly signed."""

    def __init__(self, link: Link, **changes: Any) -> None:
        super().__init__(link)
        self.changes = changes

    def hello(self) -> Hello:
        hello = super().hello()._replace(**self.changes)
        if "signature" in self.changes:
            return hello
        hello = hello._replace(parameters_hash=digest(hello.parameters))
        return hello._replace(signature=self.link.me.sign(signed_part(hello, self.own, self.theirs)))


def memory(cluster: Cluster, name: str) -> int:
    """Resident bytes of a party."""
    text = Path(f"/proc/{cluster.processes[name].pid}/status").read_text()
    return 1024 * int(text.split("VmRSS:")[1].split()[0])


def undisturbed(trial: Trial, cluster: Cluster) -> None:
    results_of(cluster)
    trial.check(cluster)
    assert cluster.wait(30.0) == dict.fromkeys(cluster.names, 0)
    for name in cluster.names:
        assert "Traceback" not in cluster.log(name)


# Who is not a neighbour


def test_strangers_and_impostors_are_not_admitted(tmp_path):
    """While three parties run over encrypted channels, and without disturbing them."""
    trial = prepare(tmp_path, TRIANGLE, wake=CLOCK)
    false = identity.create(tmp_path / "false", "p0")  # the right name
    nobody = Identity("p0", "", "")
    with trial.cluster() as cluster:
        cluster.start()
        wait_for(lambda: min(status(cluster, "p1").get(f"messages_{way}", 0) for way in ("sent", "received")))
        for pair in (false, nobody, None):
            code, _ = asyncio.run(Caller(trial, "p0", "p1", pair).say([]))
            assert code == "not admitted"  # the handshake failed
        host, _, port = cluster.configs["p1"].listen.rpartition(":")
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(random.Random(1).randbytes(100_000))
        told = status(cluster, "p1")
        assert set(told["neighbours"].values()) == {"up"}
        assert told["frames_refused"] == 0
        assert set(told["links"]) == {"p0", "p2"}  # each neighbour alone, and together all that was counted
        for way in ("sent", "received"):
            assert sum(link[way] for link in told["links"].values()) == told[f"messages_{way}"] > 0
        undisturbed(trial, cluster)
        assert cluster.log("p1").count(" connected neighbour=p0") == 1


def test_a_false_listener_is_not_spoken_to(tmp_path):
    """The party that dials looks at the certificate, not at the name in it; its status says which one it expects."""
    trial = prepare(tmp_path, TRIANGLE)
    false = identity.create(tmp_path / "false", "p1")
    calls = []

    async def answer(line: ServerConnection) -> None:
        calls.append(line.request.path)

    async def listen() -> str:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with as_file(false.certificate) as certificate, as_file(false.key) as key:
            tls.load_cert_chain(certificate, key)
        server = await serve(answer, "127.0.0.1", 0, ssl=tls, subprotocols=[SUBPROTOCOL])
        port = server.sockets[0].getsockname()[1]
        edit(
            trial.folder / "p0" / "node.toml",
            next(n.address for n in read_node_file(trial.folder / "p0" / "node.toml").neighbours if n.name == "p1"),
            f"127.0.0.1:{port}",
        )
        with trial.cluster() as cluster:
            cluster.start(["p0"])
            while "does not show the certificate" not in status(cluster, "p0").get("neighbours", {}).get("p1", ""):
                await asyncio.sleep(0.05)
            state = status(cluster, "p0")["neighbours"]["p1"]
        server.close()
        return state

    state = asyncio.run(asyncio.wait_for(listen(), 30.0))
    assert (
        next(n.fingerprint for n in read_node_file(trial.folder / "p0" / "node.toml").neighbours if n.name == "p1")
        in state
    )
    assert not calls


# Replays


def test_replays_in_an_open_run(tmp_path):
    """A listener who has recorded p0 says it all again to p1, as p0, again and again, or waits without a word. The
    connection of the honest p0 stays, and everything goes on."""
    trial = prepare(tmp_path, TRIANGLE, channels="open", wake=CLOCK)
    recorded: list[bytes] = []

    async def tap(line: ServerConnection) -> None:
        """Between p0 and p1: passes every frame on."""
        caller = Caller(trial, "p2", "p1", None)
        caller.name = "p0"
        async with caller.call() as call:

            async def there() -> None:
                async for frame in line:
                    recorded.append(frame)
                    await call.send(frame)
                await call.close()

            task = asyncio.create_task(there())
            async for frame in call:
                await line.send(frame)
            task.cancel()

    async def play() -> tuple[int, int]:
        server = await serve(tap, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL], max_size=None)
        port = server.sockets[0].getsockname()[1]
        own = trial.folder / "p0" / "node.toml"
        edit(own, next(n.address for n in read_node_file(own).neighbours if n.name == "p1"), f"127.0.0.1:{port}")
        with trial.cluster() as cluster:
            cluster.start()
            while len(recorded) < 30:
                await asyncio.sleep(0.05)
            impostor = Caller(trial, "p2", "p1", None)
            impostor.name = "p0"
            replays = 0
            for _ in range(20):
                code, why = await impostor.say(recorded[:2], stay=5.0)
                assert code == "POLICY_VIOLATION"
                assert "is not signed by its certificate, for this connection" in why
                replays += 1
            assert (await impostor.say([], stay=0.1))[0] == "open"
            assert status(cluster, "p1")["neighbours"]["p0"] == "up"
            connections = cluster.log("p1").count(" connected neighbour=p0")
            while len(cluster.results()) < 3:
                await asyncio.sleep(0.1)
            await asyncio.to_thread(undisturbed, trial, cluster)
        server.close()
        return replays, connections

    replays, connections = asyncio.run(asyncio.wait_for(play(), 60.0))
    assert (replays, connections) == (20, 1)


# A neighbour that breaks the protocol


def test_a_dispute_names_both_values(tmp_path):
    trial = prepare(tmp_path, TRIANGLE)
    edit(trial.folder / "p0" / "node.toml", "c = 0.4", "c = 0.5")
    edit(trial.folder / "p0" / "node.toml", 'columns = ["a", "b", "y"]', 'columns = ["a", "y", "b"]')
    with trial.cluster() as cluster:
        cluster.start()
        told = wait_for(lambda: status(cluster, "p1").get("disagreements", {}).get("p0"))
        assert "p0 means another run: c is 0.4 here and 0.5 there" in told
        assert "['a', 'b', 'y'] here and ['a', 'y', 'b'] there" in told
        told = wait_for(lambda: status(cluster, "p0").get("disagreements", {}).get("p1"))
        assert "c is 0.5 here and 0.4 there" in told
        assert "c is 0.4 here and 0.5 there" in cluster.log("p1")
        wait_for(lambda: status(cluster, "p1")["neighbours"]["p2"] == "up")  # others are not concerned
        assert status(cluster, "p1")["stage"] == -1


Case = tuple[Handshake | None, list[bytes]]


def broken(link: Link, chance: random.Random) -> dict[str, Case]:
    """What a neighbour must not say, each after its hello; the last frame is the one that is refused."""

    def raw(body: Value | Snapshot | Goodbye) -> bytes:
        """As ``encode`` would refuse to make it."""
        return frames._written(body)

    fine, tag = np.ones(2), tag_of_counts(link)
    cases: dict[str, Case] = {
        "no opening": (None, [encode(Handshake(link).hello())]),
        "no hello": (None, [encode(Opening(bytes(32))), encode(Value(0, 1, 0, 1, fine))]),
        "another version": (Liar(link, version=7), []),
        "another run": (Liar(link, parameters='{"c":1.0}'), []),
        "another name": (Liar(link, name="p2"), []),
        "a false signature": (Liar(link, signature=b"x" * 70), []),
        "another key": (Liar(link, offer=link.secrets.offer[::-1]), []),
    }
    after = {
        "another hello": [encode(Handshake(link).hello())],
        "a goodbye of two lines": [raw(Goodbye("a\nb"))],
        "a verdict of strangers": [encode(Verdict(0, 1, False, {9: b"signed"}))],
        "no tag of the pads": [encode(Value(0, 1, 0, 1, fine))],
        "a stage far ahead": [encode(Pads(9, bytes(16))), encode(Value(9, 1, 0, 1, fine))],
        "too many chunks": [tag, encode(Value(0, 1, 0, 1000, np.ones(CHUNK)))],
        "a MAC where none belongs": [tag, encode(Value(0, 1, 0, 1, fine), bytes(32), "p0", "p1")],
        "a giant": [bytes(MAX_FRAME + 1)],
        "nothing": [b""],
    }
    for bad in (np.nan, np.inf, -np.inf):
        after[f"a value {bad}"] = [tag, raw(Value(0, 1, 0, 1, np.array([1.0, bad])))]
        after[f"a snapshot {bad}"] = [tag, raw(Snapshot(0, 1, 0, 1, np.array([bad, 1.0])))]
    for k in range(30):
        after[f"noise {k}"] = [chance.randbytes(chance.choice([1, 3, 20, 200, 20_000, 1_000_000]))]
    for k in range(30):
        frame = bytearray(raw(Value(0, 1, 0, 1, np.array([np.nan, 1.0]))))
        for _ in range(3):
            frame[chance.randrange(4)] = chance.randrange(256)
        after[f"mutation {k}"] = [tag, bytes(frame)]
    return cases | {name: (Handshake(link), frames) for name, frames in after.items()}


def tag_of_counts(link: Link) -> bytes:
    """Of the pads of stage 0, on rows, three columns and an objection: another one would end the run."""
    return encode(Pads(0, link.secrets.check(0, link.secrets.words(0, 5, 64).astype("<u8").tobytes())))


def test_a_neighbour_that_breaks_the_protocol(tmp_path):
    """With the certificate of p0, against p1. Every frame is refused with a reason; p1 lives, its memory does not grow,
    and with the honest p0 afterwards everybody gets the right answer."""
    trial = prepare(tmp_path, TRIANGLE)
    link = edge_of(trial, "p0", "p1")
    liar = Caller(trial, "p0", "p1", link.me)
    # Within the protocol: vectors of the next stage, never whole, ever newer, of both kinds; 45 MB in all.
    flood = [encode(Pads(1, bytes(16)))]
    for counter in range(1, 4):
        for k in range(15):
            flood.append(encode(Value(1, counter, k, 16, np.ones(CHUNK))))
            flood.append(encode(Snapshot(1, counter, k, 16, np.ones(CHUNK))))

    async def attack() -> dict[str, tuple[str, str]]:
        cases = broken(link, random.Random(2))  # with the key of p1, which is known now
        return {name: await liar.say(frames, greeting) for name, (greeting, frames) in cases.items()}

    with trial.cluster() as cluster:
        cluster.start(["p1", "p2"])
        wait_for(lambda: status(cluster, "p1").get("neighbours", {}).get("p2") == "up")
        asyncio.run(liar.say([], Handshake(link), stay=0.2))  # what one connection takes, it takes before
        before = memory(cluster, "p1")
        ends = asyncio.run(attack())
        assert asyncio.run(liar.say(flood, Handshake(link), stay=1.0))[0] == "open"
        for name, (code, why) in ends.items():
            assert code == ("MESSAGE_TOO_BIG" if name == "a giant" else "POLICY_VIOLATION"), (name, code, why)
            assert why
            assert why.isprintable()
        assert "speaks version 7 of the protocol, this party 4" in cluster.log("p1")
        told = status(cluster, "p1")
        assert told["frames_refused"] == len(ends) - 1  # the giant is refused before it is read
        assert memory(cluster, "p1") - before < 50e6
        cluster.start(["p0"])
        undisturbed(trial, cluster)


# What must not be seen


def raw_forms(values: Iterable[float]) -> list[bytes]:
    """As they could stand in a file or on the wire: text to eight digits, and float64 of either order."""
    forms = []
    for value in values:
        forms += [repr(float(value))[:10].encode(), struct.pack("<d", value), struct.pack(">d", value)]
    return forms


def secrets_of(trial: Trial, config: NodeConfig, own: int) -> dict[str, list[bytes]]:
    """What a party must keep to itself: its data and their sums, its pads, and the keys of both."""
    rows = trial.shards[own]
    found = {"data": raw_forms(rows.ravel()), "sums": raw_forms(rows.sum(axis=0)), "pads": [], "keys": []}
    key = identity.load(config.identity).key
    found["keys"].append(key.splitlines()[1].encode())
    with journal_of(config) as journal:
        for neighbour in config.neighbours:
            edge = EdgeSecrets.saved(journal, config.run_hash, config.name, neighbour.name)
            found["keys"] += [edge._chain, edge._root, edge._key(0, "check"), edge._chain.hex().encode()]
            for stage, words in ((0, 5), (1, 4 * 5)):  # counts, and rows and sums, each with an objection
                for word in edge.words(stage, words, 64).tolist():
                    found["pads"] += [str(word).encode(), struct.pack("<Q", word), struct.pack(">Q", word)]
    return found


def messages(data: bytes) -> bytes:
    """What one direction of a WebSocket said, without masks."""
    head, _, rest = data.partition(b"\r\n\r\n")
    protocol = Protocol(SERVER if head.startswith(b"GET") else CLIENT, state=State.OPEN, max_size=MAX_FRAME)
    protocol.receive_data(rest)
    assert protocol.parser_exc is None
    return b"".join(bytes(frame.data) for frame in protocol.events_received())


@pytest.mark.parametrize("channels", ["encrypted", "open"])
def test_nothing_secret_is_shown(tmp_path, channels):
    """Logs, status, metrics, traces and the wire, searched for every secret number and key of every party."""
    metrics = free_ports(3)
    with Proxies() as proxies:
        trial = prepare(
            tmp_path, TRIANGLE, channels=channels, wake=30.0, party='record = "trace.jsonl"', proxies=proxies
        )
        for i, port in enumerate(metrics):
            edit(trial.folder / f"p{i}" / "node.toml", "[party]\n", f'[party]\nmetrics = "127.0.0.1:{port}"\n')
        for proxy in proxies.all:
            proxy.recording = True
        shown: dict[str, bytes] = {}
        with trial.cluster() as cluster:
            cluster.start()
            wait_for(lambda: status(cluster, "p0").get("wakes", 0) > 5)  # of an agreement, which has some thirty
            for name, port in zip(cluster.names, metrics, strict=True):
                shown[f"status of {name}"] = json.dumps(status(cluster, name)).encode()
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
                    shown[f"metrics of {name}"] = page.read()
            undisturbed(trial, cluster)
            for name in cluster.names:
                for file in ("node.log", "trace.jsonl", "result.json"):
                    shown[f"{file} of {name}"] = (trial.folder / name / file).read_bytes()
        for name in cluster.names:
            found = NUMBERS.findall(shown[f"trace.jsonl of {name}"])
            shown[f"numbers in the trace of {name}"] = b"".join(base64.b64decode(text) for text in found)
        recorded = [bytes(data) for proxy in proxies.all for data in proxy.recorded]
        shown["the wire"] = b"".join(recorded)
        if channels == "open":
            shown["the messages"] = b"".join(messages(data) for data in recorded)
    assert b"sottovoce_wakes_total" in shown["metrics of p0"]
    for i, name in enumerate(cluster.names):
        secret = secrets_of(trial, cluster.configs[name], i)
        for kind, forms in secret.items():
            for place, content in shown.items():
                assert not [form for form in forms if form in content], f"{kind} of {name} in {place}"
        # The same search finds them where they are.
        assert all(form in (trial.folder / name / "data.csv").read_bytes() for form in secret["data"][::3])
        assert secret["keys"][0] in (trial.folder / name / "identity" / "key.pem").read_bytes()
        assert secret["keys"][1] in (trial.folder / name / "journal.sqlite").read_bytes()
    # And on the wire it finds what travels, where that is open.
    with journal_of(cluster.configs["p0"]) as journal:
        frozen = journal.get_arrays("stage/1")["epoch.sent.1"]
    if channels == "open":
        assert all(form in shown["the messages"] for form in raw_forms(frozen)[1::3])
    assert not any(form in shown["the wire"] for form in raw_forms(frozen)[1::3])  # whoever dials masks, or TLS does
