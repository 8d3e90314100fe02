"""Parties on real connections: what is lost to staleness, what a message costs, and how many parties fit."""

from __future__ import annotations

import asyncio
import json
import os
import secrets as random_secrets
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import sottovoce as sv

from .measure import Group, Row, ratio_row
from .over_a_tree import over_a_tree
from .starting import LIBRARIES, children, importing, pads, starting

if TYPE_CHECKING:
    from sottovoce.runtime.cluster import Cluster
    from sottovoce.runtime.plan.routes import Routes

TOL = 1e-9
C, THETA = 0.4, 0.8


def networking(quick: bool) -> Group:
    """Ten parties against the simulator, frames against a bare WebSocket echo, many parties, and Paillier."""
    return Group(
        [
            *_staleness(quick),
            *_frames(quick),
            *_start(quick),
            *pads(quick),
            *_many(quick),
            *over_a_tree(quick),
            *_cryptography(quick),
        ]
    )


@contextmanager
def _cluster(network: sv.Network, values: np.ndarray, *, tree: bool = False) -> Iterator[object]:
    """Parties that agree on a mean of vectors, as processes; over a tree, or over all edges."""
    from sottovoce.runtime.cluster import Cluster, free_ports
    from sottovoce.runtime.keys import identity
    from sottovoce.runtime.plan.plan import toml

    n = network.n
    names, ports = [f"party-{i:03}" for i in range(n)], free_ports(n)
    run_id = os.urandom(16).hex()
    columns = [f"x{k}" for k in range(values.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        made = [identity.create(Path(folder) / name / "identity", name) for name in names]
        for i, name in enumerate(names):
            place = Path(folder) / name
            rows = "\n".join([",".join(columns), ",".join(repr(float(v)) for v in values[i])])
            (place / "data.csv").write_text(rows + "\n")
            text = [
                "[party]", f'name = "{name}"', f'listen = "127.0.0.1:{ports[i]}"', "[run]",
                'name = "benchmark"', f'id = "{run_id}"', f"parties = {json.dumps(names)}",
                f"keys = {json.dumps([identity.public_key(other.certificate) for other in made])}",
                *(f"{key} = {toml(value)}" for key, value in _routes(network, tree).to_dict(names).items()),
                f"tol = {TOL}", "[run.cost]",
                'type = "averaging"', f"columns = {columns}".replace("'", '"'), "mask = { variance = 1e6 }",
            ]  # fmt: skip
            for j in network.around(i).tolist():
                text += [
                    "[[neighbour]]", f'name = "{names[j]}"', f'address = "127.0.0.1:{ports[j]}"',
                    f'fingerprint = "{made[j].fingerprint}"', f'certificate = """{made[j].certificate}"""',
                ]  # fmt: skip
            (place / "node.toml").write_text("\n".join(text) + "\n")
        with Cluster(folder) as cluster:
            yield cluster


def _routes(network: sv.Network, tree: bool) -> Routes:
    from sottovoce.runtime.plan.routes import Routes
    from sottovoce.runtime.protocol.route import Route

    whole = Routes.all([(int(i), int(j)) for i, j in network.edges], C, THETA)
    if not tree:
        return whole
    spanning = network.spanning_tree()
    c = spanning.matched(np.full(network.n, 2.0)).tolist()
    return Routes(whole.edges, Route.over([(int(i), int(j)) for i, j in spanning.edges], c, 1.0), whole.route)


def _staleness(quick: bool) -> list[Row]:
    network = sv.Network.random_geometric(4 if quick else 10, seed=1)
    values = np.random.default_rng(0).normal(size=(network.n, 1))
    ratios, seconds = [], []
    for seed in range(1 if quick else 5):
        problem = sv.averaging(network, values)
        options = {"schedule": sv.Asynchronous(), "c": C, "theta": THETA, "mask": sv.GaussianMask(1e6), "tol": TOL}
        simulated = sv.solve(problem, seed=seed, check_every=network.n, **options).activations
        with _cluster(network, values) as cluster:
            cluster.start()
            cluster.wait(60)
            results = cluster.results().values()
        ratios.append(sum(result["wakes"] for result in results) / simulated)
        seconds.append(max(result["seconds"] for result in results))
        assert max(abs(result["answer"]["x0"] - values.mean()) for result in results) < 1e-8
    title = f"activations of {network.n} parties on loopback / of the simulator"
    how = f"to tol = {TOL:g}, the rounds of agreement on stopping included; {statistics.median(seconds):.2g} s"
    return [ratio_row(title, ratios, [1.0] * len(ratios), 1.5, "at most", how)]


def _frames(quick: bool) -> list[Row]:
    """The same frames through ``WebSocketTransport`` and through a bare stream, CPU and wall time."""
    count = 200 if quick else 5_000
    sides = {"transport": _through_transport, "echo": _through_echo}
    cpu: dict[str, list[float]] = {name: [] for name in sides}
    wall: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(1 if quick else 5):
        for name, play in sides.items():
            used, took = asyncio.run(play(count))
            cpu[name].append(used / count)
            wall[name].append(took / count)
    how = f"{count:,} frames of 100 bytes there and back over mutual TLS, one at a time, both ends in one process; "
    each = {name: 1e6 * statistics.median(times) for name, times in cpu.items()}
    how += f"{each['transport']:.0f} us of CPU against {each['echo']:.0f}"
    return [
        ratio_row("CPU per frame / bare WebSocket echo", cpu["transport"], cpu["echo"], 2.0, "at most", how),
        ratio_row("time per frame / bare WebSocket echo", wall["transport"], wall["echo"], 2.0, "at most", how),
    ]


@contextmanager
def _two_identities() -> Iterator[tuple[object, object]]:
    from sottovoce.runtime.keys import identity

    with tempfile.TemporaryDirectory() as folder:
        yield identity.create(Path(folder) / "a", "a"), identity.create(Path(folder) / "b", "b")


class _Nod:
    """A greeting without words."""

    done = True

    def next_frame(self) -> None: ...

    def receive(self, frame: bytes) -> None: ...


class _Ping:
    """A handler that answers every frame, or counts down."""

    def __init__(self, count: int) -> None:
        self.left, self.out, self.done, self.up = count, [b"x" * 100] if count else [], asyncio.Event(), asyncio.Event()
        self.transport: object = None

    def greet(self, neighbour: str) -> _Nod:
        return _Nod()

    def refused(self, neighbour: str, error: Exception) -> None: ...

    def connected(self, neighbour: str, greeting: object) -> None:
        self.up.set()
        self.transport.notify(neighbour)  # type: ignore[attr-defined]

    def disconnected(self, neighbour: str, reason: str) -> None: ...

    def received(self, neighbour: str, frame: bytes) -> None:
        self.left -= 1
        if self.left == 0:
            self.done.set()
            return
        self.out.append(frame)
        self.transport.notify(neighbour)  # type: ignore[attr-defined]

    def next_frame(self, neighbour: str) -> bytes | None:
        return self.out.pop() if self.out else None


async def _through_transport(count: int) -> tuple[float, float]:
    from types import SimpleNamespace

    from sottovoce.runtime.cluster import free_ports
    from sottovoce.runtime.transport.web_socket_transport import WebSocketTransport

    with _two_identities() as (a, b):
        ports = free_ports(2)
        transports, handlers = [], []
        for me, other, own, theirs, pings in ((a, b, 0, 1, count), (b, a, 1, 0, 0)):
            peer = SimpleNamespace(name=other.name, address=f"127.0.0.1:{ports[theirs]}", certificate=other.certificate)
            transports.append(WebSocketTransport(me, f"127.0.0.1:{ports[own]}", [peer]))
            handlers.append(_Ping(pings))
            handlers[-1].transport = transports[-1]
        ping = handlers[0]
        ping.out.clear()
        for transport, handler in zip(transports, handlers, strict=True):
            await transport.start(handler)
        await asyncio.wait_for(ping.up.wait(), 10)
        began, used = time.perf_counter(), time.process_time()
        ping.out.append(b"x" * 100)
        transports[0].notify("b")
        await asyncio.wait_for(ping.done.wait(), 120)
        spent = time.process_time() - used, time.perf_counter() - began
        for transport in transports:
            await transport.stop()
    return spent


async def _through_echo(count: int) -> tuple[float, float]:
    import ssl

    from websockets.asyncio.client import connect
    from websockets.asyncio.server import ServerConnection, serve

    def tls(kind: int, me: object, other: object) -> ssl.SSLContext:
        context = ssl.SSLContext(kind)
        context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=other.certificate)  # type: ignore[attr-defined]
        with tempfile.NamedTemporaryFile("w") as own:
            own.write(me.certificate + me.key)  # type: ignore[attr-defined]
            own.flush()
            context.load_cert_chain(own.name)
        return context

    async def talk(line: ServerConnection) -> None:
        async for frame in line:
            await line.send(frame)

    with _two_identities() as (a, b):
        plain = {"compression": None, "ping_interval": None}
        async with serve(talk, "127.0.0.1", 0, ssl=tls(ssl.PROTOCOL_TLS_SERVER, b, a), **plain) as server:
            at = f"wss://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with connect(at, ssl=tls(ssl.PROTOCOL_TLS_CLIENT, a, b), proxy=None, **plain) as line:
                await line.send(b"x" * 100)
                await line.recv()
                began, used = time.perf_counter(), time.process_time()
                for _ in range(count):
                    await line.send(b"x" * 100)
                    await line.recv()
                spent = time.process_time() - used, time.perf_counter() - began
    return spent


def _start(quick: bool) -> list[Row]:
    network = sv.Network.from_edges(2, [(0, 1)])
    with _cluster(network, np.zeros((2, 1))) as cluster:
        return starting(cluster.configs["party-001"].path.parent, quick)  # which listens


def _many(quick: bool) -> list[Row]:
    n = 4 if quick else 50
    network = sv.Network.watts_strogatz(n, 2 if quick else 4, 0.3, seed=2)
    values = np.random.default_rng(0).normal(size=(n, 1))
    before = children()
    with _cluster(network, values, tree=True) as cluster:
        names = cluster.names
        cluster.start(names[:1])
        time.sleep(0.5 if quick else 2)
        idle = _resident(cluster.processes[names[0]].pid)
        began = time.perf_counter()
        cluster.start(names[1:])
        after = _after_the_last(cluster)
        cluster.wait(180)
        took, results = time.perf_counter() - began, cluster.results()
    each = (children() - before) / n  # known once the process that they were forked from has ended
    bare = importing(1 if quick else 7)
    error = max(abs(result["answer"]["x0"] - values.mean()) for result in results.values())
    sent = sum(result["messages_sent"] for result in results.values())
    how = f"a mean over a tree in {network.m} edges, {sent:,} frames; {took:.0f} s with their start, error {error:.0e}"
    return [
        Row("memory of an idle party", idle / 1e6, None, "at most", "resident set, waiting for its neighbours", "MB"),
        Row(f"{n} parties as processes, from the last one's start to all answers", after, 5.0, "at most", how, "s"),
        ratio_row(
            f"CPU of one of {n} parties, start to end / {LIBRARIES}",
            [each] * len(bare),
            bare,
            3.5,
            "at most",
            f"all that the processes used, forked from one that has loaded everything, {1e3 * each:.0f} ms each",
        ),
    ]


def _after_the_last(cluster: Cluster) -> float:
    """Seconds from when the last party is up to the last answer, by their sockets and files."""
    configs = list(cluster.configs.values())
    while not all(config.socket.exists() or config.result.exists() for config in configs):
        time.sleep(0.05)
    up = time.time()
    while not all(config.result.exists() for config in configs):
        time.sleep(0.05)
    return max(0.0, max(config.result.stat().st_mtime for config in configs) - up)


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return 1024 * float(line.split()[1])
    return float("nan")


def _cryptography(quick: bool) -> list[Row]:
    """What protects one message here, against one Paillier ciphertext of 2048 bits."""
    from hashlib import blake2b

    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    key, message, count = os.urandom(32), os.urandom(8), 200 if quick else 20_000
    box = ChaCha20Poly1305(key)
    n = random_secrets.randbits(2048) | (1 << 2047) | 1  # as costly as a real modulus
    rounds = 1 if quick else 5

    def paillier() -> None:
        r = random_secrets.randbelow(n)
        pow(n + 1, 1, n * n) * pow(r, n, n * n) % (n * n)

    tasks = {
        "MAC": lambda: [blake2b(message, key=key, digest_size=16).digest() for _ in range(count)],
        "encryption": lambda: [box.encrypt(k.to_bytes(12, "little"), message, b"") for k in range(count)],
        "Paillier": lambda: [paillier() for _ in range(2)],
    }
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            times[name].append((time.perf_counter() - began) / (2 if name == "Paillier" else count))
    rows = []
    for name in ("MAC", "encryption"):
        own, theirs = (1e6 * statistics.median(times[which]) for which in (name, "Paillier"))
        how = f"one number; {own:.2g} us against {theirs:,.0f} us with 2048 bits, in Python"
        title = f"one Paillier ciphertext / {name} of a message"
        rows.append(ratio_row(title, times["Paillier"], times[name], None, "at least", how))
    return rows
