"""Media over which two parties can talk, and can be disturbed."""

from __future__ import annotations

import asyncio
import re
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from runtime import virtual_time

from sottovoce.errors import PeerError
from sottovoce.runtime.keys.identity import Identity
from sottovoce.runtime.transport.in_memory import Hub
from sottovoce.runtime.transport.transport import Greeting, Transport
from sottovoce.runtime.transport.web_socket_transport import WebSocketTransport


class Nod:
    """A greeting without words."""

    done = True

    def next_frame(self) -> bytes | None:
        return None

    def receive(self, frame: bytes) -> None:
        raise AssertionError


class Speaker:
    """A handler that writes everything down. ``outbox`` holds what to say, ``check`` may refuse what is heard."""

    def __init__(self) -> None:
        self.transport: Transport
        self.outbox: deque[bytes] = deque()
        self.source: Callable[[], bytes | None] = lambda: self.outbox.popleft() if self.outbox else None
        self.check: Callable[[bytes], None] = lambda frame: None
        self.heard: list[bytes] = []
        self.events: list[tuple[str, str]] = []  # "connected" and "", or "disconnected" and the reason
        self.times: list[float] = []

    def greet(self, neighbour: str) -> Greeting:
        return Nod()

    def refused(self, neighbour: str, error: PeerError) -> None:
        self._happened("refused", str(error))

    def connected(self, neighbour: str, greeting: Greeting) -> None:
        self._happened("connected")

    def disconnected(self, neighbour: str, reason: str) -> None:
        self._happened("disconnected", reason)

    def received(self, neighbour: str, frame: bytes) -> None:
        self.check(frame)
        self.heard.append(frame)

    def next_frame(self, neighbour: str) -> bytes | None:
        return self.source()

    def say(self, *frames: bytes) -> None:
        self.outbox.extend(frames)
        for neighbour in self.transport.neighbours:
            self.transport.notify(neighbour)

    @property
    def connections(self) -> int:
        return sum(what == "connected" for what, _ in self.events)

    @property
    def reasons(self) -> list[str]:
        return [reason for what, reason in self.events if what == "disconnected"]

    @property
    def up(self) -> bool:
        return bool(self.events) and self.events[-1][0] == "connected"

    def _happened(self, what: str, reason: str = "") -> None:
        self.events.append((what, reason))
        self.times.append(asyncio.get_running_loop().time())


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for something that must happen soon."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


Scenario = Callable[[Speaker, Speaker], Awaitable[None]]


class Medium:
    """Two parties: ann, who dials, and bob. ``talk`` plays a scenario, and sees whether all was left in order."""

    run = staticmethod(asyncio.run)
    explains = "bob"  # whose refusals the other one hears

    async def open(self, ann: Speaker, bob: Speaker) -> None:
        """Give both a transport, and start it."""
        raise NotImplementedError

    async def close(self) -> None:
        """After both have stopped."""

    def talk(self, scenario: Scenario) -> tuple[Speaker, Speaker]:
        ann, bob = Speaker(), Speaker()

        async def play() -> None:
            await self.open(ann, bob)
            try:
                await until(lambda: ann.up and bob.up)
                await scenario(ann, bob)
            finally:
                await ann.transport.stop()
                await bob.transport.stop()
                await self.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

        self.run(play())
        for speaker in (ann, bob):
            assert [what for what, _ in speaker.events] == ["connected", "disconnected"] * speaker.connections
        return ann, bob


class InMemory(Medium):
    room = 16 + 1  # memory.ROOM, and the one that waits
    run = staticmethod(virtual_time.run)

    def __init__(self) -> None:
        self.delay = 0.0
        self.hub = Hub(lambda sender, receiver, frame: [(self.delay, frame)], seed=1)

    def transport(self, name: str) -> Transport:
        """Ann's or bob's."""
        return self.hub.transport(name, {"ann", "bob"} - {name})

    async def open(self, ann: Speaker, bob: Speaker) -> None:
        ann.transport, bob.transport = self.transport("ann"), self.transport("bob")
        await bob.transport.start(bob)
        await ann.transport.start(ann)

    def cut(self) -> None:
        self.hub.cut("ann", "bob")

    def heal(self) -> None:
        self.hub.heal("ann", "bob")

    def freeze(self) -> None:
        self.delay = 5.0

    def thaw(self) -> None:
        self.delay = 0.0


class Known(NamedTuple):
    """A neighbour as a node file has it."""

    name: str
    address: str | None
    certificate: str


class OverWebSockets(Medium):
    # Frames of 1,000 bytes: 2^16 bytes in the writer, 2^18 in the system, and what the line holds.
    room = 400
    explains = "ann bob"

    def __init__(self, identities: dict[str, Identity], channels: str) -> None:
        self.identities, self.channels = identities, channels

    def transport(self, name: str, listen: str = "127.0.0.1:0") -> WebSocketTransport:
        """Ann's, who dials through the line, or bob's."""
        if name == "ann":
            return self.party("ann", listen, Known("bob", self.line.address, self.identities["bob"].certificate))
        return self.party("bob", listen, Known("ann", None, self.identities["ann"].certificate))

    def party(self, name: str, listen: str, *neighbours: Known) -> WebSocketTransport:
        return WebSocketTransport(self.identities[name], listen, neighbours, self.channels, Random(1))

    async def open(self, ann: Speaker, bob: Speaker) -> None:
        bob.transport = self.transport("bob")
        await bob.transport.start(bob)
        self.line = Line(bob.transport.port)
        await self.line.open()
        ann.transport = self.transport("ann")
        await ann.transport.start(ann)

    async def close(self) -> None:
        await self.line.close()

    def cut(self) -> None:
        self.line.cut = True
        self.line.hang_up()

    def heal(self) -> None:
        self.line.cut = False

    def freeze(self) -> None:
        self.line.moving.clear()

    def thaw(self) -> None:
        self.line.moving.set()


class OfThePage(OverWebSockets):
    """The transport of docs/guides/own-transport.md, as a reader would copy it."""

    # What the buffers of two connections hold, in frames of 1,000 bytes.
    room = 8_000
    explains = ""

    def __init__(self) -> None:
        text = (Path(__file__).parents[2] / "docs" / "guides" / "own-transport.md").read_text()
        block = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
        names: dict[str, Any] = {}
        exec(compile(block, "own-transport.md", "exec"), names)
        self.make = names["TcpTransport"]

    def transport(self, name: str, listen: str = "") -> Any:
        host, port = self.line.address.split(":") if name == "ann" else ("127.0.0.1", "0")
        known = {"ann": ("127.0.0.1", 0), "bob": (host, int(port))}
        return self.make(name, known)

    async def open(self, ann: Speaker, bob: Speaker) -> None:
        bob.transport = self.transport("bob")
        await bob.transport.start(bob)
        self.line = Line(bob.transport.server.sockets[0].getsockname()[1])
        await self.line.open()
        ann.transport = self.transport("ann")
        await ann.transport.start(ann)


class Line:
    """A TCP connection to a port through here, where it can be cut, or stop moving."""

    def __init__(self, port: int) -> None:
        self.port, self.cut = port, False
        self.moving = asyncio.Event()
        self.moving.set()
        self.writers: list[asyncio.StreamWriter] = []
        self.tasks: set[asyncio.Task] = set()

    async def open(self) -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**14)  # what waits is then in the transports
        self.server = await asyncio.start_server(self.join, sock=listening, limit=2**14)
        self.address = f"127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.current_task())
        try:
            if self.cut:
                raise ConnectionError
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**14)
        except ConnectionError:
            writer.transport.abort()
            return
        self.writers += [writer, far_writer]
        await asyncio.gather(self.copy(reader, far_writer), self.copy(far_reader, writer))

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(2**14):
                await self.moving.wait()
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    def hang_up(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def close(self) -> None:
        self.moving.set()
        self.hang_up()
        self.server.close()
        await asyncio.gather(*self.tasks)
