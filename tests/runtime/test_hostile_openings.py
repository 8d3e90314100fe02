"""Strangers who throw bytes at a listening party: after each of them a neighbour gets in at once, and nothing grows."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from runtime.media import Known, Speaker, until
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from sottovoce.runtime.protocol.frames import MAX_FRAME
from sottovoce.runtime.transport import door, web_socket
from sottovoce.runtime.transport.web_socket import READ, ROOM, SUBPROTOCOL, WebSocket
from sottovoce.runtime.transport.web_socket_transport import WebSocketTransport

KEY = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
UPGRADE = ("Host: bob", "Upgrade: websocket", "Connection: Upgrade")
ASKED = (*UPGRADE, KEY, "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Protocol: {SUBPROTOCOL}")


def request(first: bytes = b"GET /ann HTTP/1.1", lines: tuple[str, ...] = ASKED, *more: bytes) -> bytes:
    return b"\r\n".join([first, *(line.encode() for line in lines), *more, b"", b""])


def without(start: str, *instead: str) -> bytes:
    return request(lines=(*(line for line in ASKED if not line.startswith(start)), *instead))


def frame(first: int, data: bytes = b"", length: bytes | None = None, masked: bool = True) -> bytes:
    """A WebSocket frame in which anything may be wrong. The mask is zero."""
    size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data))
    size = size if length is None else length
    return bytes([first, size[0] | 128 * masked]) + size[1:] + (bytes(4) if masked else b"") + data


# Each with the status of the answer; None: whoever says this is hung up on without one.
REQUESTS: dict[str, tuple[bytes, int | None]] = {
    "a path that is no UTF-8": (request(b"GET /\xff HTTP/1.1"), 400),
    "a path of NULs": (request(b"GET /\0\0 HTTP/1.1"), 403),
    "a path of 7 kB": (request(b"GET /" + b"a" * 7_000 + b" HTTP/1.1"), 403),
    "a path of 100 kB": (request(b"GET /" + b"a" * 100_000 + b" HTTP/1.1"), None),
    "a line that does not end": (b"G" * 200_000, None),
    "an address for a path": (request(b"GET http://bob/ann HTTP/1.1"), 403),
    "another name": (request(b"GET /mallory HTTP/1.1"), 403),
    "the name twice": (request(b"GET /ann/ann HTTP/1.1"), 403),
    "no path": (b"GET\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /ann\r\n\r\n", 400),
    "LF": (b"\n", 400),
    "HTTP/1.0": (request(b"GET /ann HTTP/1.0"), 505),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), 400),
    "POST": (request(b"POST /ann HTTP/1.1"), 400),
    "a header name of 0xff": (request(b"GET /ann HTTP/1.1", ASKED, b"\xff\xff: 1"), 400),
    "a header of 0xff": (request(b"GET /ann HTTP/1.1", ASKED, b"X: \xff\xff"), 101),
    "a header of 7 kB": (request(b"GET /ann HTTP/1.1", ASKED, b"X: " + b"a" * 7_000), 101),
    "a header of 100 kB": (request(b"GET /ann HTTP/1.1", ASKED, b"X: " + b"a" * 100_000), None),
    "200 headers": (request(b"GET /ann HTTP/1.1", ASKED, *[b"X: 1"] * 200), 431),
    "100 headers of 7 kB": (request(b"GET /ann HTTP/1.1", ASKED, *[b"X: " + b"a" * 7_000] * 100), 400),
    "a header in two lines": (request(b"GET /ann HTTP/1.1", ASKED, b"X: 1", b" 2"), 400),
    "a header without a colon": (request(b"GET /ann HTTP/1.1", ASKED, b"X"), 400),
    "lines that end in LF": (request().replace(b"\r\n", b"\n"), 400),
    "a body": (request(b"GET /ann HTTP/1.1", ASKED, b"Content-Length: 1000000000"), 400),
    "chunks": (request(b"GET /ann HTTP/1.1", ASKED, b"Transfer-Encoding: chunked"), 400),
    "no upgrade": (without("Upgrade"), 426),
    "another upgrade": (without("Upgrade", "Upgrade: h2c"), 426),
    "no key": (without("Sec-WebSocket-Key"), 400),
    "two keys": (without("Nothing", KEY), 400),
    "a short key": (without("Sec-WebSocket-Key", "Sec-WebSocket-Key: AAAA"), 400),
    "another version of WebSockets": (without("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8"), 400),
    "no protocol": (without("Sec-WebSocket-Protocol"), 400),
    "another protocol": (without("Sec-WebSocket-Protocol", "Sec-WebSocket-Protocol: chat"), 400),
    "a page of a browser": (without("Nothing", "Origin: http://example.org"), 403),
    "the start of TLS": (b"\x16\x03\x01\x02\x00\x01" + bytes(600), 400),
    "noise": (random.Random(1).randbytes(100_000), 400),
    "one byte": (b"\0", 400),
}

# After a request that is right, each with the code with which the connection is closed.
MESSAGES: dict[str, tuple[bytes, int]] = {
    "without a mask": (frame(0x82, b"x", masked=False), 1002),
    "reserved bits": (frame(0xC2, b"x"), 1002),
    "an unknown kind": (frame(0x83, b"x"), 1002),
    "a long ping": (frame(0x89, bytes(126)), 1002),
    "a ping in fragments": (frame(0x09, b"x"), 1002),
    "a close of one byte": (frame(0x88, b"x"), 1002),
    "a close with a code that nobody may send": (frame(0x88, struct.pack(">H", 1005)), 1002),
    "a reason that is no UTF-8": (frame(0x88, struct.pack(">H", 1000) + b"\xff"), 1007),
    "a fragment of nothing": (frame(0x80, b"x"), 1002),
    "a message within another": (frame(0x02, b"x") + frame(0x82, b"y"), 1002),
    "the end within a message": (frame(0x02, b"x") + frame(0x88, struct.pack(">H", 1000)), 1002),
    "more than a frame": (frame(0x82, length=b"\x7f" + struct.pack(">Q", MAX_FRAME + 1)), 1009),
    "2^63 bytes": (frame(0x82, length=b"\x7f" + struct.pack(">Q", 2**63)), 1009),
    "more than a frame, in fragments": (frame(0x02, bytes(2**15)) + frame(0x00, bytes(2**15)) * 40, 1009),
    "text": (frame(0x81, b"hello"), 1003),
}


class Bob:
    """A listening party, and strangers who know its address."""

    def __init__(self, speaker: Speaker, port: int) -> None:
        self.speaker, self.port = speaker, port
        self.ends: list[WebSocket] = []

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, *parts: bytes) -> bytes:
        """What a stranger hears until they hang up."""
        reader, writer = await self.dial()
        heard = bytearray()
        with suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
        with suppress(ConnectionError):
            async with asyncio.timeout(5.0):
                while data := await reader.read(2**16):
                    heard += data
        writer.transport.abort()
        return bytes(heard)

    async def is_there(self) -> None:
        """A neighbour gets in at once, and is heard."""
        heard = len(self.speaker.heard)
        at = f"ws://127.0.0.1:{self.port}/ann"
        async with connect(at, subprotocols=[SUBPROTOCOL], proxy=None, open_timeout=2.0) as line:
            await line.send(b"hello")
            await until(lambda: len(self.speaker.heard) > heard, 2.0)


@pytest.fixture
def play(identities, monkeypatch) -> Callable[[Callable[[Bob], Coroutine[Any, Any, None]]], None]:
    @asynccontextmanager
    async def listening() -> AsyncIterator[Bob]:
        speaker, known = Speaker(), Known("ann", None, identities["ann"].certificate)
        speaker.transport = WebSocketTransport(identities["bob"], "127.0.0.1:0", [known], "open", random.Random(1))
        await speaker.transport.start(speaker)
        bob = Bob(speaker, speaker.transport.port)
        made = WebSocket.dialled

        def dialled(streams: Any) -> WebSocket:
            bob.ends.append(made(streams))
            return bob.ends[-1]

        monkeypatch.setattr(WebSocket, "dialled", dialled)
        try:
            yield bob
        finally:
            await speaker.transport.stop()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    def played(scenario: Callable[[Bob], Coroutine[Any, Any, None]]) -> None:
        async def happen() -> None:
            async with listening() as bob:
                await scenario(bob)

        asyncio.run(happen())

    return played


def test_requests_that_are_none(play, caplog):
    async def scenario(bob: Bob) -> None:
        for name, (said, status) in REQUESTS.items():
            if status == 101:  # then a close, so that it ends
                said += frame(0x88, struct.pack(">H", 1000))
            heard = await bob.say(said)
            assert heard.split(b" ")[1:2] == [b"%d" % status] if status else b" 101 " not in heard, (name, heard)
            await bob.is_there()

    play(scenario)
    assert caplog.records == []


def test_messages_that_are_none(play, caplog):
    async def scenario(bob: Bob) -> None:
        for name, (said, code) in MESSAGES.items():
            before = len(bob.speaker.heard)
            heard = await bob.say(request(), said)
            _, _, end = heard.partition(b"\r\n\r\n")
            assert (end[0], struct.unpack(">H", end[2:4])[0]) == (0x88, code), (name, heard)
            assert len(bob.speaker.heard) == before, name
            await bob.is_there()

    play(scenario)
    assert caplog.records == []


def test_a_request_byte_by_byte_is_a_request(play):
    async def scenario(bob: Bob) -> None:
        end = frame(0x82, b"hello") + frame(0x88, struct.pack(">H", 1000))
        parts = [bytes([byte]) for byte in request() + end]
        assert b" 101 " in await bob.say(*parts)
        assert bob.speaker.heard == [b"hello"]

    play(scenario)


@pytest.mark.parametrize("kind", ["pings", "fragments"])
def test_floods_of_what_is_no_frame_fill_nothing(play, kind):
    """Of pings by somebody who reads no answer, and of fragments without an end; each many times what may wait."""
    times = 40 if kind == "pings" else 8
    part = 50 * frame(0x89, bytes(125)) if kind == "pings" else 1000 * frame(0x00)

    async def scenario(bob: Bob) -> None:
        loop, most = asyncio.get_running_loop(), 0
        with socket.socket() as stranger:
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**12)  # answers soon find no room
            stranger.setblocking(False)
            await loop.sock_connect(stranger, ("127.0.0.1", bob.port))
            await loop.sock_sendall(stranger, request())
            assert b" 101 " in await loop.sock_recv(stranger, 2**12)
            end = bob.ends[-1]
            await loop.sock_sendall(stranger, frame(0x02))  # a message under way, for fragments to belong to
            for _ in range(times * ROOM // len(part)):
                await loop.sock_sendall(stranger, part)
                await asyncio.sleep(0.001)  # bob reads
                most = max(most, end._writer.transport.get_write_buffer_size() + len(end._fragments))
            assert most <= ROOM + 2 * READ
            if kind == "pings":
                assert most > ROOM / 2  # answers did pile up
            assert len(end._reader._buffer) <= 4 * READ
            await bob.is_there()

    play(scenario)


def test_silent_connections_are_bounded_and_the_oldest_of_a_crowd_goes_first(play, monkeypatch):
    monkeypatch.setattr(door, "SILENT", 100)

    async def scenario(bob: Bob) -> None:
        crowd = [await bob.dial() for _ in range(300)]
        await until(lambda: sum(reader.at_eof() for reader, _ in crowd) == 200)
        assert all(reader.at_eof() for reader, _ in crowd[:200])
        assert bob.ends == []  # nobody has spoken, and nothing was made for them
        await bob.is_there()
        for _, writer in crowd:
            writer.transport.abort()

    play(scenario)


def test_those_who_say_half_a_request_are_bounded_too(play, monkeypatch):
    monkeypatch.setattr(door, "OPENINGS", 8)

    async def scenario(bob: Bob) -> None:
        crowd = [await bob.dial() for _ in range(100)]
        for _, writer in crowd:
            writer.write(request()[:50])
        gone = lambda: sum(reader.at_eof() or reader.exception() is not None for reader, _ in crowd)  # noqa: E731
        await until(lambda: gone() == 90)  # 8, and 2 for the neighbour
        await bob.is_there()
        for _, writer in crowd:
            writer.transport.abort()

    play(scenario)


@pytest.mark.parametrize("said", [b"", b"G", request()[:-2], request()], ids=["", "a byte", "a request", "no hello"])
def test_every_step_has_a_deadline(play, monkeypatch, said):
    for module in (door, web_socket):
        monkeypatch.setattr(module, "ANSWER", 0.3)
    monkeypatch.setattr("sottovoce.runtime.transport.web_socket_transport.ANSWER", 0.3)
    monkeypatch.setattr("sottovoce.runtime.transport.transport.HANDSHAKE", 0.3)

    async def scenario(bob: Bob) -> None:
        bob.speaker.greet = lambda neighbour: Mute()
        loop = asyncio.get_running_loop()
        began = loop.time()
        await bob.say(said)
        assert 0.25 < loop.time() - began < 2.5

    play(scenario)


class Mute:
    """A greeting that waits for ever."""

    done = False

    def next_frame(self) -> None: ...

    def receive(self, frame: bytes) -> None: ...


def test_thousands_of_connections_that_are_cut_at_once(play, caplog):
    async def scenario(bob: Bob) -> None:
        linger = struct.pack("ii", 1, 0)  # close with a reset
        for k in range(2_000):
            with socket.socket() as stranger:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                stranger.connect(("127.0.0.1", bob.port))
                if k % 2:
                    stranger.send(request())
            if k % 50 == 0:
                await asyncio.sleep(0)
        await bob.is_there()
        await until(lambda: not bob.speaker.transport._door._tasks, 5.0)
        gc.collect()

    play(scenario)
    assert caplog.records == []


def test_a_crowd_of_one_place_displaces_itself():
    gone: list[str] = []
    crowd: door.Crowd[str] = door.Crowd(4, gone.append)
    for guest, place in (("ann", b"a"), ("x1", b"x"), ("x2", b"x"), ("bob", b"b"), ("x3", b"x"), ("x4", b"x")):
        crowd.enter(guest, place)
    assert gone == ["x1", "x2"]
    crowd.leave("x3")
    crowd.leave("x3")  # it had left
    crowd.enter("cat", b"c")
    assert (gone, len(crowd)) == (["x1", "x2"], 4)
    crowd.enter("dan", b"d")  # all have one: the oldest of all
    assert gone == ["x1", "x2", "ann"]


def test_no_files_are_left(play, monkeypatch):
    """Whoever comes then waits; those that were silent for longest go."""

    async def scenario(bob: Bob) -> None:
        crowd = [await bob.dial() for _ in range(10)]
        await asyncio.sleep(0.05)
        accept, failures = socket.socket.accept, 3

        def failing(self: socket.socket) -> Any:
            nonlocal failures
            if failures > 0:
                failures -= 1
                raise OSError(24, "Too many open files")
            return accept(self)

        monkeypatch.setattr(socket.socket, "accept", failing)
        await bob.is_there()
        assert failures == 0
        await until(lambda: sum(reader.at_eof() for reader, _ in crowd) == 3)
        for _, writer in crowd:
            writer.transport.abort()
        await asyncio.sleep(0.05)
        failures = 1  # with nobody to send away
        await bob.is_there()

    play(scenario)


ANSWERS = {
    b"": "hung up at once: are its channels encrypted, and ours open?",
    b"\xff\xff\xff\r\n\r\n": "what answers there is no party of this version",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi": "it refused: hi",
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\n\x1b[2": "it refused: ?[2",
    b"HTTP/1.1 302 Found\r\nLocation: http://example.org\r\n\r\n": "it refused: Found",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n": "what answers there is no party of this version",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n": "what answers there is no party of this version",
    b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000: "what answers there is no party of this version",
}


def test_answers_that_are_none(identities, caplog):
    """To a party that dials: a sentence each, and it dials again."""
    answers = iter([*ANSWERS, b""])
    states: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**12)
        writer.write(next(answers, b""))
        writer.close()
        states.append(ann.transport.state("bob"))

    ann = Speaker()

    async def scenario() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        known = Known("bob", address, identities["bob"].certificate)
        ann.transport = WebSocketTransport(identities["ann"], None, [known], "open", random.Random(1))
        await ann.transport.start(ann)
        await until(lambda: len(states) > len(ANSWERS))
        await ann.transport.stop()
        server.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sottovoce.runtime.transport.transport.LONGEST_PAUSE", 0.05)
        asyncio.run(scenario())
    for said, state in zip(ANSWERS.values(), states[1:], strict=False):
        assert said in state
        assert state.isprintable()
    assert caplog.records == []
    assert ann.events == []


@pytest.mark.parametrize("channels", ["encrypted", "open"])
def test_a_listener_that_says_nothing(identities, monkeypatch, channels):
    for module in ("web_socket", "web_socket_transport"):
        monkeypatch.setattr(f"sottovoce.runtime.transport.{module}.ANSWER", 0.3)
    ann = Speaker()

    async def scenario() -> str:
        server = await asyncio.start_server(lambda reader, writer: asyncio.sleep(5.0), "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        known = Known("bob", address, identities["bob"].certificate)
        ann.transport = WebSocketTransport(identities["ann"], None, [known], channels, random.Random(1))
        await ann.transport.start(ann)
        await until(lambda: "not connected yet" not in ann.transport.state("bob"))
        await ann.transport.stop()
        server.close()
        return ann.transport.state("bob").replace(address, "ADDRESS")

    assert asyncio.run(scenario()) == "down: no answer from ADDRESS within 0.3 s"


@pytest.mark.parametrize("said", [bytes(MAX_FRAME + 1), "text", [bytes(2**16)] * 17])
def test_messages_that_are_none_to_whoever_dials(identities, said):
    """The listener is refused too, and hears why."""
    codes: list[int] = []

    async def answer(line: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await line.send(said)
            await line.recv()
        codes.append(line.close_code)

    async def scenario() -> Speaker:
        ann = Speaker()
        async with serve(answer, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL], compression=None) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            known = Known("bob", address, identities["bob"].certificate)
            ann.transport = WebSocketTransport(identities["ann"], None, [known], "open", random.Random(1))
            await ann.transport.start(ann)
            await until(lambda: ann.reasons and codes)
            await ann.transport.stop()
        return ann

    ann = asyncio.run(scenario())
    assert ann.heard == []
    assert codes[0] == (1003 if said == "text" else 1009)
    assert "text message" in ann.reasons[0] or "does not keep to RFC 6455" in ann.reasons[0]
