"""Parties in one process, for tests: the same transport over queues, faults on demand, nothing left to chance."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from random import Random

from ...errors import PeerError
from .transport import CLOSED, Connection, Greeting, Lost, Transport

ROOM = 16  # frames on their way in one direction, after which the sender waits
LATENCY = 0.001  # seconds that every frame takes, or else time would stand still while parties talk

# What becomes of a frame from a sender to a receiver: (delay beyond LATENCY, frame) for every copy that arrives. Copies
# with different delays overtake each other.
Faults = Callable[[str, str, bytes], list[tuple[float, bytes]]]


class Hub:
    """The network between ``MemoryTransport``s.

    With the same seed, and an event loop whose time does not depend on the machine, everything happens again in the
    same order.
    """

    def __init__(self, faults: Faults | None = None, seed: int = 0) -> None:
        self.faults, self.seed = faults, seed
        self._listening: dict[str, MemoryTransport] = {}
        self._cuts: set[frozenset[str]] = set()
        self._pipes: list[_Pipe] = []

    def transport(self, name: str, neighbours: Iterable[str]) -> MemoryTransport:
        """A party's transport; also for a party that was killed and begins anew."""
        return MemoryTransport(self, name, neighbours)

    def cut(self, a: str, b: str) -> None:
        """Break the connection between two parties, and every new one until ``heal``."""
        self._cuts.add(frozenset((a, b)))
        self._break(lambda parties: parties == {a, b})

    def heal(self, a: str, b: str) -> None:
        """Undo ``cut``."""
        self._cuts.discard(frozenset((a, b)))

    def kill(self, name: str) -> None:
        """End a party as a crash would: it sends nothing more, and its handler hears nothing more, not even the end."""
        self._listening.pop(name).die()
        self._break(lambda parties: name in parties)

    def _break(self, affected: Callable[[frozenset[str]], bool]) -> None:
        for pipe in [pipe for pipe in self._pipes if affected(pipe.parties)]:
            pipe.close("the connection was reset")

    def _join(self, caller: str, listener: str) -> _Pipe:
        if frozenset((caller, listener)) in self._cuts or listener not in self._listening:
            raise Lost(f"nobody answers for {listener}")
        return self._listening[listener].answer(caller)


class _Pipe:
    """A stream between two parties."""

    def __init__(self, hub: Hub, caller: str, listener: str) -> None:
        self.parties, self._pipes = frozenset((caller, listener)), hub._pipes
        self.closed: str | None = None
        self.caller, self.listener = _End(hub, self, caller, listener), _End(hub, self, listener, caller)
        self.caller.other, self.listener.other = self.listener, self.caller
        self._pipes.append(self)

    def close(self, reason: str) -> None:
        """Whatever is still on its way is lost."""
        if self.closed is None:
            self.closed = reason
            self._pipes.remove(self)
            for end in (self.caller, self.listener):
                end.inbox.clear()
                end.changed.set()


class _End(Connection):
    other: _End

    def __init__(self, hub: Hub, pipe: _Pipe, owner: str, neighbour: str) -> None:
        self._hub, self._pipe, self._owner, self._neighbour = hub, pipe, owner, neighbour
        self.inbox: deque[bytes] = deque()
        self._flying: list[tuple[float, int, bytes]] = []
        self._number = count()
        self.on_their_way = 0  # frames from here that the other end has not taken
        self.finished = False
        self.changed = asyncio.Event()

    async def send(self, frame: bytes) -> None:
        await self._until(lambda: self.on_their_way < ROOM)
        faults = self._hub.faults
        loop = asyncio.get_running_loop()
        for delay, copy in [(0.0, frame)] if faults is None else faults(self._owner, self._neighbour, frame):
            self.on_their_way += 1
            arrival = loop.time() + LATENCY + delay
            heappush(self._flying, (arrival, next(self._number), copy))
            loop.call_at(arrival, self._arrive)

    async def receive(self) -> bytes:
        await self._until(lambda: bool(self.inbox) or (self.other.finished and self.other.on_their_way == 0))
        if not self.inbox:
            raise Lost(CLOSED)
        self.other.on_their_way -= 1
        self.other.changed.set()
        return self.inbox.popleft()

    async def finish(self, fault: str = "") -> None:
        self.finished = True
        self.other.changed.set()
        await self._until(lambda: self.on_their_way == 0)

    def _arrive(self) -> None:
        # The first one that is due, not the one for which this was called: an event loop may swap calls of one time.
        _, _, frame = heappop(self._flying)
        if self._pipe.closed is None:
            self.other.inbox.append(frame)
            self.other.changed.set()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while self._pipe.closed is None and not condition():
            self.changed.clear()
            await self.changed.wait()
        if self._pipe.closed is not None:
            raise Lost(self._pipe.closed)


class MemoryTransport(Transport):
    """A transport over a ``Hub``."""

    def __init__(self, hub: Hub, name: str, neighbours: Iterable[str]) -> None:
        super().__init__(name, neighbours, Random(f"{hub.seed} {name}"))
        self._hub = hub
        self._answering: list[asyncio.Task[None]] = []

    def answer(self, caller: str) -> _Pipe:
        """Take a call."""
        if caller not in self.neighbours:
            raise Lost(f"{self.name} does not know {caller}")
        pipe = _Pipe(self._hub, caller, self.name)
        task = asyncio.create_task(self._answer(caller, pipe))
        self._answering.append(task)
        task.add_done_callback(self._answering.remove)
        return pipe

    async def _answer(self, caller: str, pipe: _Pipe) -> None:
        reason = CLOSED
        try:
            await self.converse(caller, pipe.listener)
        except PeerError as error:
            reason = f"it refused: {error}"
        except Lost:
            pass
        finally:
            pipe.close(reason)

    def die(self) -> None:
        """End without another word to anybody."""
        self._handler, self._stopping = _Nobody(), True
        for task in (*self._dialling, *self._answering):
            task.cancel()

    async def open(self) -> None:
        self._hub._listening[self.name] = self

    async def close(self) -> None:
        if self._hub._listening.get(self.name) is self:
            del self._hub._listening[self.name]
        await asyncio.gather(*self._answering)

    @asynccontextmanager
    async def connect(self, neighbour: str) -> AsyncIterator[Connection]:
        pipe = self._hub._join(self.name, neighbour)
        try:
            yield pipe.caller
        finally:
            pipe.close(CLOSED)


class _Nobody:
    """The handler of a party that was killed."""

    def greet(self, neighbour: str) -> Greeting:
        raise Lost("nobody is there")

    def refused(self, neighbour: str, error: PeerError) -> None: ...

    def connected(self, neighbour: str, greeting: Greeting) -> None: ...

    def disconnected(self, neighbour: str, reason: str) -> None: ...

    def received(self, neighbour: str, frame: bytes) -> None: ...

    def next_frame(self, neighbour: str) -> bytes | None:
        return None
