"""What only WebSockets over TLS can get wrong: who is admitted, and the sentences for what does not work."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from runtime.media import Known, OverWebSockets, Speaker, until
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from sottovoce.errors import InvalidInput
from sottovoce.runtime.keys import identity
from sottovoce.runtime.keys.identity import Identity
from sottovoce.runtime.protocol.frames import MAX_FRAME
from sottovoce.runtime.transport import web_socket
from sottovoce.runtime.transport.addresses import split_address
from sottovoce.runtime.transport.web_socket import SUBPROTOCOL
from sottovoce.runtime.transport.web_socket_transport import WebSocketTransport, as_file


def transport(me: Identity, *neighbours: Known, listen: str = "127.0.0.1:0", channels: str = "encrypted"):
    return WebSocketTransport(me, listen, neighbours, channels, Random(1))


async def refusal(
    caller: Identity, called: Identity, *, pinned: Identity, admitted: Identity, channels=("encrypted",) * 2
):
    """Why a caller that has pinned one certificate does not reach the called, which admits another one."""
    ann, bob = Speaker(), Speaker()
    bob.transport = transport(called, Known("ann", None, admitted.certificate), channels=channels[1])
    await bob.transport.start(bob)
    address = f"127.0.0.1:{bob.transport.port}"
    ann.transport = transport(caller, Known("bob", address, pinned.certificate), channels=channels[0])
    try:
        await ann.transport.start(ann)
        await until(lambda: "not connected yet" not in ann.transport.state("bob"))
        await asyncio.sleep(0.2)  # some more attempts
        # Whoever is called admits nobody. The caller may take itself for connected until it hears of the refusal.
        assert bob.events == []
        assert not [event for event in ann.events if event[0] not in ("connected", "disconnected")]
        await until(lambda: ann.transport.state("bob").startswith("down"))
        return ann.transport.state("bob").replace(address, "ADDRESS")
    finally:
        await ann.transport.stop()
        await bob.transport.stop()


@pytest.fixture
def ann(identities):
    return identities["ann"]


@pytest.fixture
def bob(identities):
    return identities["bob"]


@pytest.fixture
def past(tmp_path):
    """Identities that expired yesterday."""
    then = datetime.now(UTC) - timedelta(days=11)
    return {name: identity.create(tmp_path / name, name, 10, then) for name in ("ann", "bob")}


def made_elsewhere(name: str, issuer: Identity | None = None, signs: bool = False) -> Identity:
    """A certificate that does not say what it is for, but for whether it ``signs``; of somebody else, or of itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    by = serialization.load_pem_private_key(issuer.key.encode(), None) if issuer else key
    issuers = issuer.name if issuer else name
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in (issuers, name)]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(*names, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=signs, path_length=None), critical=True)
        .sign(by, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return Identity(name, certificate.public_bytes(serialization.Encoding.PEM).decode(), pem)


def test_a_stranger_is_refused(tmp_path, ann, bob):
    """Even one with the right name."""
    stranger = identity.create(tmp_path / "stranger", "ann")
    reason = asyncio.run(refusal(stranger, bob, pinned=bob, admitted=ann))
    assert reason == f"down: ADDRESS hung up at once: does it know this party's certificate, {stranger.fingerprint}?"


def test_an_impostor_is_not_called(tmp_path, ann, bob):
    impostor = identity.create(tmp_path / "impostor", "bob")
    reason = asyncio.run(refusal(ann, impostor, pinned=bob, admitted=ann))
    assert reason == f"down: ADDRESS does not show the certificate {bob.fingerprint}"


def test_the_right_certificate_with_another_name_is_refused(identities, ann):
    mallory = identities["mallory"]
    reason = asyncio.run(refusal(ann, mallory, pinned=mallory, admitted=ann))
    assert reason == "down: the certificate of bob is for the name 'mallory'; ask bob for its own."


def test_expired_certificates_are_refused(past, ann, bob):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    reason = asyncio.run(refusal(past["ann"], bob, pinned=bob, admitted=past["ann"]))
    assert reason.startswith(f"down: the certificate of ann expired on {yesterday:%Y-%m-%d}")
    reason = asyncio.run(refusal(ann, past["bob"], pinned=past["bob"], admitted=ann))
    assert reason.startswith(f"down: the certificate of bob expired on {yesterday:%Y-%m-%d}")


def test_a_neighbour_cannot_vouch_for_others(ann, bob):
    """Our certificates forbid it. Of others TLS would admit it, and the transport does not."""
    reason = asyncio.run(refusal(made_elsewhere("aaa", issuer=ann), bob, pinned=bob, admitted=ann))
    assert "hung up at once" in reason
    neighbour = made_elsewhere("ann", signs=True)
    reason = asyncio.run(refusal(made_elsewhere("aaa", issuer=neighbour), bob, pinned=bob, admitted=neighbour))
    assert reason == "down: it refused: bob does not expect a call of this party"
    neighbour = made_elsewhere("bob", signs=True)
    impostor = made_elsewhere("zed", issuer=neighbour)
    reason = asyncio.run(refusal(ann, impostor, pinned=neighbour, admitted=ann))
    assert reason == f"down: ADDRESS does not show the certificate {neighbour.fingerprint}"


def test_open_and_encrypted_channels_do_not_mix(ann, bob):
    known = {"pinned": bob, "admitted": ann}
    reason = asyncio.run(refusal(ann, bob, **known, channels=("encrypted", "open")))
    assert reason == "down: ADDRESS does not speak TLS: are its channels open, and ours encrypted?"
    reason = asyncio.run(refusal(ann, bob, **known, channels=("open", "encrypted")))
    assert reason == "down: ADDRESS hung up at once: are its channels encrypted, and ours open?"


def admission(own: Identity | None, called: Identity) -> ssl.SSLContext:
    """TLS as a caller with other means than ours would have it."""
    tls = ssl.create_default_context(cadata=called.certificate)
    tls.check_hostname = False
    if own is not None:
        with as_file(own.certificate) as certificate, as_file(own.key) as key:
            tls.load_cert_chain(certificate, key)
    return tls


@asynccontextmanager
async def raw_call(me: Identity, admitted: Identity, tls: ssl.SSLContext | None, path: str = "ann"):
    """A call with other means than ours, of a party that keeps what it hears."""
    bob = Speaker()
    bob.transport = transport(me, Known("ann", None, admitted.certificate), channels="encrypted" if tls else "open")
    await bob.transport.start(bob)
    at = f"{'wss' if tls else 'ws'}://127.0.0.1:{bob.transport.port}/{path}"
    try:
        async with connect(at, ssl=tls, subprotocols=[SUBPROTOCOL], proxy=None, max_size=None) as line:
            yield bob, line
    finally:
        await bob.transport.stop()


async def refused(line: ClientConnection, *messages: Any) -> int:
    """The code with which a connection ends when this is said."""
    with suppress(ConnectionClosed):
        for message in messages:
            await line.send(message)
        await line.recv()
    return line.close_code


def test_without_a_certificate_nobody_gets_in(ann, bob):
    async def call():
        async with raw_call(bob, ann, admission(None, bob)):
            pass

    with pytest.raises((InvalidMessage, ssl.SSLError, ConnectionError)):
        asyncio.run(call())


def test_a_frame_that_is_too_large_ends_the_connection(ann, bob):
    async def call():
        async with raw_call(bob, ann, admission(ann, bob)) as (seen, line):
            assert await refused(line, bytes(1), bytes(MAX_FRAME), bytes(MAX_FRAME + 1)) == 1009
            assert [len(frame) for frame in seen.heard] == [1, MAX_FRAME]
            assert f"{MAX_FRAME + 1} bytes" in seen.reasons[0]

    asyncio.run(call())


def test_messages_in_fragments_are_put_together(ann, bob):
    """And are too large together, where they are."""

    async def call():
        async with raw_call(bob, ann, admission(ann, bob)) as (seen, line):
            await line.send(iter([b"one ", b"", b"frame"]))
            await until(lambda: seen.heard == [b"one frame"])
            assert await refused(line, [bytes(2**15)] * 40) == 1009
        assert seen.heard == [b"one frame"]

    asyncio.run(call())


def test_a_text_message_ends_the_connection(ann, bob):
    async def call():
        async with raw_call(bob, ann, admission(ann, bob)) as (seen, line):
            assert await refused(line, "hello") == 1003
        assert seen.reasons == ["a text message came; frames are binary ones."]

    asyncio.run(call())


@pytest.mark.parametrize("path", ["", "mallory", "bob", "ann/", "%61nn"])
def test_on_open_channels_a_caller_has_to_name_itself(ann, bob, path):
    async def call():
        with pytest.raises(InvalidStatus, match="HTTP 403"):
            async with raw_call(bob, ann, None, path):
                pass
        async with raw_call(bob, ann, None) as (seen, _):
            await until(lambda: seen.up)

    asyncio.run(call())


def test_a_name_of_64_characters_passes_tls(tmp_path, ann):
    name = "z" * 64
    long = identity.create(tmp_path / "long", name)

    async def scenario():
        a, z = Speaker(), Speaker()
        z.transport = transport(long, Known("ann", None, ann.certificate))
        await z.transport.start(z)
        a.transport = transport(ann, Known(name, f"127.0.0.1:{z.transport.port}", long.certificate))
        await a.transport.start(a)
        await until(lambda: a.up and z.up)
        await a.transport.stop()
        await z.transport.stop()

    asyncio.run(scenario())


def test_a_neighbour_that_is_down_is_called_until_it_is_up(ann, bob):
    async def scenario():
        a, b = Speaker(), Speaker()
        with socket.create_server(("127.0.0.1", 0)) as reserved:
            address = f"127.0.0.1:{reserved.getsockname()[1]}"
        a.transport = transport(ann, Known("bob", address, bob.certificate))
        await a.transport.start(a)
        await until(lambda: a.transport.state("bob") == f"down: nobody listens on {address}")
        for _ in range(2):  # the port is free again after a stop
            b.transport = transport(bob, Known("ann", None, ann.certificate), listen=address)
            await b.transport.start(b)
            await until(lambda: a.up and b.up)
            await b.transport.stop()
            await until(lambda: a.transport.state("bob") == f"down: nobody listens on {address}")
        await a.transport.stop()

    asyncio.run(scenario())


def test_a_neighbour_that_has_gone_without_a_word_is_noticed(identities, monkeypatch):
    """And one that is only silent is not dropped. Thirty times as fast as in earnest."""
    monkeypatch.setattr(web_socket, "SILENCE", web_socket.SILENCE / 30)
    monkeypatch.setattr(web_socket, "PATIENCE", web_socket.PATIENCE / 30)
    line = OverWebSockets(identities, "encrypted")

    async def scenario(a, b):
        await asyncio.sleep(2.5)
        assert a.connections == b.connections == 1
        assert a.up
        assert b.up
        line.freeze()
        await until(lambda: not a.up and not b.up, seconds=2)  # 0.5 s, and what a busy machine adds
        line.thaw()
        await until(lambda: a.up and b.up)

    line.talk(scenario)


def test_a_name_that_does_not_resolve(ann, bob):
    async def scenario():
        a = Speaker()
        a.transport = transport(ann, Known("bob", "nobody.invalid:7401", bob.certificate))
        await a.transport.start(a)
        await until(lambda: "not connected yet" not in a.transport.state("bob"))
        await a.transport.stop()
        return a.transport.state("bob")

    assert asyncio.run(scenario()) == "down: the name in the address nobody.invalid:7401 does not resolve"


def test_addresses_that_cannot_be_listened_on(ann, bob):
    async def listen(address):
        await transport(bob, Known("ann", None, ann.certificate), listen=address).start(Speaker())

    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InvalidInput, match=f"cannot listen on {address}: Address already in use"):
            asyncio.run(listen(address))
    with pytest.raises(InvalidInput, match=r"cannot listen on 192\.0\.2\.1:7401: Cannot assign requested address"):
        asyncio.run(listen("192.0.2.1:7401"))
    with pytest.raises(InvalidInput, match=r"cannot listen on nobody\.invalid:7401: nobody\.invalid is not a name"):
        asyncio.run(listen("nobody.invalid:7401"))


def test_two_parties_cannot_share_a_port(ann, bob):
    async def scenario():
        first = transport(bob, Known("ann", None, ann.certificate))
        await first.start(Speaker())
        try:
            second = transport(bob, Known("ann", None, ann.certificate), listen=f"127.0.0.1:{first.port}")
            with pytest.raises(InvalidInput, match="Address already in use"):
                await second.start(Speaker())
        finally:
            await first.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("address", ["", "host", "host:", ":1", "host:65536", "host:x", "a b:1", "::1:80", "unix:/a:1"])
def test_what_is_no_address(ann, bob, address):
    with pytest.raises(InvalidInput, match="an address is host:port"):
        transport(ann, Known("bob", address, bob.certificate))


def test_addresses():
    assert split_address("10.0.0.1:7401") == ("10.0.0.1", 7401)
    assert split_address("[::1]:0") == ("[::1]", 0)
