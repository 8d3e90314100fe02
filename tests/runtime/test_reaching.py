"""How parties reach each other: one that cannot be called, and one behind a proxy."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from runtime.media import Known, Speaker, until
from runtime.trial import edit, results_of
from runtime.trial import prepare as prepare_trial

import sottovoce as sv
from sottovoce.errors import InvalidFile, InvalidInput
from sottovoce.runtime.keys.identity import Identity
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.runtime.transport.addresses import Proxy
from sottovoce.runtime.transport.web_socket_transport import WebSocketTransport

PLAN = """
run = {name = "ages", c = 2.0}
network = {edges = [[0, 1], [1, 2]]}
statistic = {type = "mean", columns = ["age"]}
"""
ANN = '[[party]]\nname = "ann"\naddress = "10.0.0.1:7401"\n'
BOB = '[[party]]\nname = "bob"\nreachable = false\n'
CAT = '[[party]]\nname = "cat"\naddress = "10.0.0.3:7401"\n'

Pair = tuple[Speaker, Speaker]


@asynccontextmanager
async def between(
    identities: dict[str, Identity],
    listen: tuple[str | None, ...],
    addresses: tuple[str | None, ...],
    proxy=None,
    **how,
) -> AsyncIterator[Pair]:
    """Ann and bob, of which one may not listen; addresses are those that the other one has."""
    names, speakers, ports = ("ann", "bob"), (Speaker(), Speaker()), ["", ""]
    order = (0, 1) if listen[0] is not None else (1, 0)  # who listens comes first, so that the port is known
    for own in order:
        other = 1 - own
        address = addresses[other] and addresses[other].replace("PORT", ports[other])
        known = Known(names[other], address, identities[names[other]].certificate)
        at = listen[own]
        speakers[own].transport = WebSocketTransport(
            identities[names[own]], at, [known], jitter=Random(1), proxy=proxy if own == order[1] else None, **how
        )
        await speakers[own].transport.start(speakers[own])
        ports[own] = str(speakers[own].transport.port)
    try:
        yield speakers
    finally:
        for speaker in speakers:
            await speaker.transport.stop()


async def both_talk(pair: Pair) -> None:
    ann, bob = pair
    await until(lambda: ann.up and bob.up)
    ann.say(b"hello bob")
    bob.say(b"hello ann")
    await until(lambda: (ann.heard, bob.heard) == ([b"hello ann"], [b"hello bob"]))
    assert ann.transport.state("bob") == bob.transport.state("ann") == "up"


HERE = "127.0.0.1:0"


@pytest.mark.parametrize("channels", ["encrypted", "open"])
@pytest.mark.parametrize("mute", ["ann", "bob"])
def test_who_cannot_be_called_calls(identities, mute, channels):
    """Whichever name is the smaller one."""
    listen = (None, HERE) if mute == "ann" else (HERE, None)
    addresses = (None, "127.0.0.1:PORT") if mute == "ann" else ("127.0.0.1:PORT", None)

    async def scenario() -> None:
        async with between(identities, listen, addresses, channels=channels) as pair:
            await both_talk(pair)

    asyncio.run(scenario())


@pytest.mark.parametrize("host", ["[::1]", "localhost"])
def test_hosts_by_name_and_by_the_longer_address(identities, host):
    async def scenario() -> None:
        async with between(identities, (None, f"{host}:0"), (None, f"{host}:PORT")) as pair:
            await both_talk(pair)

    asyncio.run(scenario())


def test_who_cannot_be_called_calls_although_others_believe_that_it_can(identities):
    """Its own file says so, and theirs do not: they call it in vain until it has called."""

    calls: list[asyncio.StreamWriter] = []

    async def scenario() -> None:
        server = await asyncio.start_server(lambda _, writer: (calls.append(writer), writer.close()), "127.0.0.1", 0)
        elsewhere = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with between(identities, (HERE, None), ("127.0.0.1:PORT", elsewhere)) as pair:
            await both_talk(pair)
            await asyncio.sleep(0.5)  # a call may have been under way
            in_vain = len(calls)
            await asyncio.sleep(2.5)  # the longest pause between two
            assert len(calls) == in_vain
            assert [speaker.connections for speaker in pair] == [1, 1]
            assert pair[0].transport.state("bob") == "up"
        server.close()

    asyncio.run(scenario())


# Plans and node files


def write(tmp_path, text: str):
    (tmp_path / "plan.toml").write_text(text)
    return tmp_path / "plan.toml"


def test_a_plan_with_a_party_that_cannot_be_called(tmp_path):
    plan = read_plan(write(tmp_path, PLAN + ANN + BOB + CAT))
    write_plan(plan, tmp_path / "parties", generate_keys=True)
    for name in ("ann", "bob", "cat"):
        (tmp_path / "parties" / name / "data.csv").write_text("age\n41\n")
    configs = {name: read_node_file(tmp_path / "parties" / name / "node.toml") for name in ("ann", "bob", "cat")}
    assert configs["bob"].listen is None
    assert [other.address for other in configs["bob"].neighbours] == ["10.0.0.1:7401", "10.0.0.3:7401"]
    for name in ("ann", "cat"):
        assert configs[name].listen == "0.0.0.0:7401"
        assert [other.address for other in configs[name].neighbours] == [None]
    assert len({config.run_hash for config in configs.values()}) == 1
    edit(tmp_path / "parties" / "ann" / "node.toml", 'listen = "0.0.0.0:7401"\n', "")
    with pytest.raises(InvalidFile, match=r"\[party\] listen is missing, and bob has no address"):
        read_node_file(tmp_path / "parties" / "ann" / "node.toml")


def test_two_neighbours_that_cannot_be_called(tmp_path):
    mute = CAT.replace('address = "10.0.0.3:7401"', "reachable = false")
    with pytest.raises(InvalidFile, match="bob and cat share an edge, and neither can be called"):
        read_plan(write(tmp_path, PLAN + ANN + BOB + mute))
    with pytest.raises(InvalidFile, match="number 2 address has no meaning with reachable = false"):
        read_plan(write(tmp_path, PLAN + ANN + BOB + 'address = "10.0.0.2:7401"\n' + CAT))


def test_a_run_with_a_party_that_cannot_be_called_through_a_proxy(tmp_path):
    """Of real parties, beside an environment whose proxy is not there."""
    trial = prepare_trial(tmp_path, sv.Network.from_edges(3, [(0, 1), (0, 2)]))

    async def scenario() -> list[bytes]:
        asked: list[bytes] = []
        async with proxy(asked) as address:
            own = trial.folder / "p2" / "node.toml"
            listen = read_node_file(own).listen
            edit(own, f'listen = "{listen}"\n', f'proxy = "http://{address}"\n')
            edit(trial.folder / "p0" / "node.toml", f'address = "{listen}"\n', "")
            with pytest.MonkeyPatch.context() as patch, trial.cluster() as cluster:
                for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "grpc_proxy"):
                    patch.setenv(name, "http://127.0.0.1:9")
                patch.delenv("no_proxy", raising=False)
                cluster.start()
                await asyncio.to_thread(results_of, cluster)
                trial.check(cluster)
                assert await asyncio.to_thread(cluster.wait, 30.0) == dict.fromkeys(cluster.names, 0)
        return asked

    asked = asyncio.run(scenario())
    assert asked
    assert all(line.startswith(b"CONNECT 127.0.0.1:") for line in asked)


# Proxies


@asynccontextmanager
async def proxy(
    asked: list[bytes], answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
) -> AsyncIterator[str]:
    """One that does as it is told."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        writer.write(answer)
        if b" 200 " not in answer:
            writer.close()
            return
        host, _, port = head.split()[1].decode().rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        await asyncio.gather(copy(reader, back), copy(there, writer))

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(2**14):
                writer.write(data)
        except ConnectionError:
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize("channels", ["encrypted", "open"])
def test_through_a_proxy(identities, channels):
    async def scenario() -> None:
        asked: list[bytes] = []
        async with proxy(asked) as address:
            way = Proxy.read(f"http://ward:se%cret@{address}/")
            async with between(identities, (None, HERE), (None, "127.0.0.1:PORT"), way, channels=channels) as pair:
                await both_talk(pair)
                port = pair[1].transport.port
        first, *rest = asked[0].split(b"\r\n")
        assert (len(asked), first) == (1, b"CONNECT 127.0.0.1:%d HTTP/1.1" % port)
        login = next(line for line in rest if line.startswith(b"Proxy-Authorization: Basic "))
        assert b64decode(login.split()[-1]) == b"ward:se%cret"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407 Proxy Authentication Required"),
        (b"HTTP/1.0 502 Bad\x1bGateway\r\nX: y\r\n\r\n", "502 Bad?Gateway"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not answer as a proxy does"),
        (b"HTTP/1.1 200 OK\r\n\r\nand more", "does not answer as a proxy does"),
        (b"", "does not answer as a proxy does"),
        (b"x" * 100_000, "does not answer as a proxy does"),
    ],
)
def test_a_proxy_that_does_not_connect(identities, answer, said):
    async def scenario() -> str:
        async with (
            proxy([], answer) as address,
            between(identities, (None, HERE), (None, "127.0.0.1:PORT"), Proxy.read(f"http://{address}")) as (ann, bob),
        ):
            await until(lambda: "not connected yet" not in ann.transport.state("bob"))
            assert bob.events == []
            return ann.transport.state("bob").replace(address, "PROXY")

    state = asyncio.run(scenario())
    assert state.startswith("down: ")
    assert "PROXY" in state
    assert said in state
    assert state.isprintable()


def test_a_proxy_that_is_not_there(identities):
    async def scenario() -> str:
        way = Proxy.read("http://127.0.0.1:1")
        async with between(identities, (None, HERE), (None, "127.0.0.1:PORT"), way) as (ann, _):
            await until(lambda: "not connected yet" not in ann.transport.state("bob"))
            return ann.transport.state("bob")

    assert asyncio.run(scenario()) == "down: nobody listens on the proxy 127.0.0.1:1"


@pytest.mark.parametrize(
    "text",
    ["", "10.0.0.9:3128", "https://10.0.0.9:3128", "http://10.0.0.9", "http://a:secret@b:c@d:1", "http://x:99999"],
)
def test_what_is_no_proxy(text):
    with pytest.raises(InvalidInput, match="a proxy is http://host:port") as refusal:
        Proxy.read(text)
    assert "secret" not in str(refusal.value)
    assert "secret" not in repr(Proxy.read("http://ward:secret@10.0.0.9:3128"))


def test_a_proxy_in_a_node_file(tmp_path):
    trial = prepare_trial(tmp_path, sv.Network.from_edges(2, [(0, 1)]), party='proxy = "http://ward:secret@proxy:3128"')
    config = read_node_file(trial.folder / "p0" / "node.toml")
    assert config.proxy == Proxy("proxy:3128", "ward:secret")
    assert "secret" not in repr(config)
    edit(trial.folder / "p0" / "node.toml", "@proxy:3128", "@proxy")
    with pytest.raises(InvalidFile, match=r"\[party\] proxy cannot be used: a proxy is http://host:port") as refusal:
        read_node_file(trial.folder / "p0" / "node.toml")
    assert "secret" not in str(refusal.value)
