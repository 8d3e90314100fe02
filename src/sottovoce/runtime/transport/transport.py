"""How frames travel: one stream per edge, dialled by one of its ends, and dialled again for ever.

``Transport`` has all that does not depend on the medium: who dials, when to dial again, one conversation per neighbour,
and what becomes of it. ``in_memory.py`` and ``web_socket_transport.py`` add connections. Whoever is there has to be
greeted before anything else, so that a stranger does not take the place of a neighbour. A transport keeps nothing for
later: it asks the handler for the next frame when there is room for one, so that a slow neighbour gets the newest, not
a queue.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, suppress
from random import Random
from typing import Any, Protocol

from ...errors import InvalidInput, PeerError
from ..protocol.frames import MAX_FRAME

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts to connect
HANDSHAKE = 10.0  # seconds that a handshake may take
HANDSHAKES = 4  # at a time for each neighbour; with one more, the oldest is given up
FLUSH = 3.0  # seconds that stopping may take for what is still to be sent: a busy machine reads late
STOPPED = "this party stopped"
CLOSED = "the neighbour closed the connection"
BROKEN = "the connection broke"
INTERNAL = "an internal error of this party, which is in its log"


class Greeting(Protocol):
    """What two ends say to each other before they talk: who is there, and whether both mean the same run.

    A transport carries it, and need not know what is in it.
    """

    @property
    def done(self) -> bool:
        """Whether the other end is the neighbour, and both can talk."""

    def next_frame(self) -> bytes | None:
        """What to send now; None: nothing, until something was received."""

    def receive(self, frame: bytes) -> None:
        """A frame has come. ``PeerError``: the connection is dropped, after what there is still to send."""


class Handler(Protocol):
    """Whom a transport serves: a party. All calls come from the event loop, and must not block."""

    def greet(self, neighbour: str) -> Greeting:
        """Somebody is there who may be this neighbour."""

    def refused(self, neighbour: str, error: PeerError) -> None:
        """A greeting ended with this error; a connection that is there stays."""

    def connected(self, neighbour: str, greeting: Greeting) -> None:
        """After this greeting, a connection begins. Followed by one ``disconnected`` before the next ``connected`` of
        this neighbour."""

    def disconnected(self, neighbour: str, reason: str) -> None:
        """It has ended; nothing comes from it any more."""

    def received(self, neighbour: str, frame: bytes) -> None:
        """A frame has come. ``PeerError``: the neighbour broke the protocol, and the connection is dropped."""

    def next_frame(self, neighbour: str) -> bytes | None:
        """What to send now; None: nothing, until ``Transport.notify``."""


class Lost(Exception):
    """A connection that is no more, or never was; says why. It is not an error: the transport dials again."""


class Connection(Protocol):
    """One end of a stream, over which whole frames come in the order in which they were sent, none of them twice.

    Every method raises ``Lost`` when the stream is. One task calls ``send`` while another one calls
    ``receive``.
    """

    async def send(self, frame: bytes) -> None:
        """Returns when there is room for another frame."""

    async def receive(self) -> bytes:
        """The next frame."""

    async def finish(self, fault: str = "") -> None:
        """Nothing more will be sent; ``fault`` says what was wrong with what came. Returns when what was sent has left,
        as far as one can know."""


class _Talk:
    """What others may do to a conversation: wake its writer, end it, and wait until it is over."""

    def __init__(self) -> None:
        self.wake, self.over = asyncio.Event(), asyncio.Event()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def end(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)


class Transport(ABC):
    """The streams of one party: a base for media of one's own (docs/guides/own-transport.md).

    A subclass says how to listen and how to dial: ``open``, ``close`` and ``connect``. It hands whoever dials in to
    ``converse``. With ``channels = "encrypted"`` a party relies on it for secrecy, and to notice changed frames.

    Parameters
    ----------
    name : str
        Of the party.
    neighbours : iterable of str
        Their names.
    jitter : random.Random
        Keeps parties that lost the same neighbour from dialling it all at once. Nothing secret hangs on it.
    calls : iterable of str, optional
        The neighbours that it dials; the others dial. By default those whose names are larger.

    Examples
    --------
    Over queues, two parties that nod and then talk:

    >>> import asyncio
    >>> from sottovoce.runtime.transport.in_memory import Hub
    >>> class Nod:
    ...     done = True
    ...     def next_frame(self): return None
    >>> class Party:
    ...     def __init__(self, words): self.words, self.heard = words, []
    ...     def greet(self, neighbour): return Nod()
    ...     def connected(self, neighbour, greeting): pass
    ...     def disconnected(self, neighbour, reason): pass
    ...     def received(self, neighbour, frame): self.heard.append((neighbour, frame))
    ...     def next_frame(self, neighbour): return self.words.pop() if self.words else None
    >>> async def talk():
    ...     hub, ann, bob = Hub(), Party([b"hello"]), Party([])
    ...     ends = [hub.transport("ann", ["bob"]), hub.transport("bob", ["ann"])]
    ...     await ends[1].start(bob)
    ...     await ends[0].start(ann)
    ...     while not bob.heard:
    ...         await asyncio.sleep(0.01)
    ...     state = ends[0].state("bob")
    ...     for end in ends:
    ...         await end.stop()
    ...     return bob.heard, state
    >>> asyncio.run(talk())
    ([('ann', b'hello')], 'up')
    """

    max_frame = MAX_FRAME  # bytes; a medium refuses more before it reads it

    def __init__(
        self, name: str, neighbours: Iterable[str], jitter: Random, calls: Iterable[str] | None = None
    ) -> None:
        self.name, self._jitter = name, jitter
        self._states = dict.fromkeys(sorted(neighbours), "down: not connected yet")
        self._calls = [other for other in self._states if name < other] if calls is None else sorted(calls)
        self._talks: dict[str, _Talk] = {}
        self._greetings: dict[str, deque[asyncio.Timeout]] = {name: deque() for name in self._states}
        self._dialling: list[asyncio.Task[None]] = []
        self._stopping = False
        self._handler: Handler

    async def start(self, handler: Handler) -> None:
        """Listen, and dial those that are to be dialled, again and again until ``stop``."""
        self._handler = handler
        await self.open()
        self._dialling = [asyncio.create_task(self._dial(neighbour)) for neighbour in self._calls]

    async def stop(self) -> None:
        """Send what the handler still has, for ``FLUSH`` seconds at most, and close everything."""
        self._stopping = True
        for limits in self._greetings.values():
            while limits:
                self._give_up(limits)
        for talk in self._talks.values():
            talk.wake.set()
        over = asyncio.gather(*(talk.over.wait() for talk in self._talks.values()))
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(over), FLUSH)
        for talk in self._talks.values():
            talk.end(STOPPED)
        await over
        for task in self._dialling:
            task.cancel()
        await asyncio.gather(*self._dialling, return_exceptions=True)
        await self.close()

    @property
    def neighbours(self) -> list[str]:
        """Their names, sorted."""
        return list(self._states)

    def notify(self, neighbour: str) -> None:
        """There may be something to send: ``Handler.next_frame`` is asked soon."""
        if neighbour in self._talks:
            self._talks[neighbour].wake.set()

    def state(self, neighbour: str) -> str:
        """``up``, or ``down:`` and the reason."""
        return self._states[neighbour]

    # The medium

    @abstractmethod
    async def open(self) -> None:
        """Listen. Whoever dials in, and may be a neighbour, goes to ``converse``."""

    @abstractmethod
    async def close(self) -> None:
        """Undo ``open``, when all conversations are over."""

    @abstractmethod
    def connect(self, neighbour: str) -> AbstractAsyncContextManager[Connection]:
        """Dial once; closed on leaving the block. ``Lost`` where nobody answers."""

    # What does not depend on it

    async def _dial(self, neighbour: str) -> None:
        now, pause = asyncio.get_running_loop().time, FIRST_PAUSE
        while not self._stopping:
            while neighbour in self._talks:  # it has dialled: others may not know that it cannot be called
                await self._talks[neighbour].over.wait()
            began = now()
            try:
                async with self.connect(neighbour) as connection:
                    await self.converse(neighbour, connection)
            except (Lost, PeerError) as reason:
                self._down(neighbour, reason)
            except Exception:  # a mistake in this program; the other neighbours go on
                log.exception("the connection to %s", neighbour)
                self._down(neighbour, INTERNAL)
            if now() - began > LONGEST_PAUSE:  # it was good for a while; otherwise a peer that errs at once is no storm
                pause = FIRST_PAUSE
            await asyncio.sleep(pause * self._jitter.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _down(self, neighbour: str, reason: object) -> None:
        """An attempt was in vain, which is no news where there is another connection."""
        if neighbour not in self._talks:
            self._states[neighbour] = f"down: {reason}"

    async def _greet(self, neighbour: str, connection: Connection) -> Greeting:
        """A handshake, which takes so long at most; or the ``Lost`` or ``PeerError`` why not."""
        if self._stopping:
            raise Lost(STOPPED)
        greeting, limits = self._handler.greet(neighbour), self._greetings[neighbour]
        if len(limits) == HANDSHAKES:
            self._give_up(limits)
        try:
            async with asyncio.timeout(HANDSHAKE) as limit:
                limits.append(limit)
                try:
                    while True:
                        await self._say(greeting, connection)
                        if greeting.done:
                            return greeting
                        frame = _checked(await connection.receive())
                        try:
                            greeting.receive(frame)
                        except PeerError as error:
                            self._handler.refused(neighbour, error)
                            if await self._say(greeting, connection):
                                await connection.finish(str(error))
                            raise
                finally:
                    if limit in limits:
                        limits.remove(limit)
        except TimeoutError:
            raise Lost(STOPPED if self._stopping else f"no hello within {HANDSHAKE:g} s") from None

    def _give_up(self, limits: deque[asyncio.Timeout]) -> None:
        """End the oldest of these: it would have been done by now."""
        limits.popleft().reschedule(asyncio.get_running_loop().time())

    async def _say(self, greeting: Greeting, connection: Connection) -> int:
        """All that there is to say now; how many frames."""
        said = 0
        while (frame := greeting.next_frame()) is not None:
            await connection.send(frame)
            said += 1
        return said

    async def converse(self, neighbour: str, connection: Connection) -> None:
        """One connection from its beginning to its end, which is the ``Lost`` or ``PeerError`` that this raises. The
        medium closes it then; where it can, it tells the neighbour what a ``PeerError`` says."""
        try:
            greeting = await self._greet(neighbour, connection)
        except (Lost, PeerError) as error:
            self._down(neighbour, error)
            raise
        except Exception:  # a mistake in this program
            log.exception("the connection to %s", neighbour)
            raise Lost(INTERNAL) from None
        while neighbour in self._talks:  # a dead one that has not noticed
            self._talks[neighbour].end("a newer connection of the same neighbour replaced it")
            await self._talks[neighbour].over.wait()
        if self._stopping:
            raise Lost(STOPPED)
        talk = self._talks[neighbour] = _Talk()
        self._states[neighbour] = "up"
        reader = asyncio.create_task(self._read(neighbour, connection))
        writer = asyncio.create_task(self._write(neighbour, connection, talk))
        end: Exception = Lost(BROKEN)  # what is known where this task is cancelled
        try:
            self._handler.connected(neighbour, greeting)
            ends: set[asyncio.Future[Any]] = {reader, writer, talk.ended}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            end = Lost(talk.ended.result()) if talk.ended.done() else self._cause(neighbour, reader, writer)
            if self._stopping:  # then the neighbour hangs up too, and it is chance which one is noticed first
                end = Lost(STOPPED)
        finally:
            reader.cancel()
            writer.cancel()
            del self._talks[neighbour]
            self._states[neighbour] = f"down: {end}"
            talk.over.set()
            self._handler.disconnected(neighbour, str(end))
            await asyncio.gather(reader, writer, return_exceptions=True)
        raise end

    async def _read(self, neighbour: str, connection: Connection) -> None:
        while True:
            self._handler.received(neighbour, _checked(await connection.receive()))

    async def _write(self, neighbour: str, connection: Connection, talk: _Talk) -> None:
        while True:
            talk.wake.clear()
            while (frame := self._handler.next_frame(neighbour)) is not None:
                if len(frame) > MAX_FRAME:
                    raise InvalidInput(f"a frame of {len(frame)} bytes to send; at most {MAX_FRAME} are allowed.")
                await connection.send(frame)
            if self._stopping:
                await connection.finish()
                raise Lost(STOPPED)
            await talk.wake.wait()

    def _cause(self, neighbour: str, *tasks: asyncio.Task[None]) -> Exception:
        """What ended the first of these tasks that has ended."""
        task = next(task for task in tasks if task.done())
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Lost | PeerError):
            return error
        if error is None:
            return Lost(BROKEN)
        log.error("the connection to %s", neighbour, exc_info=error)
        return Lost(INTERNAL)


def _checked(frame: bytes) -> bytes:
    if len(frame) > MAX_FRAME:
        raise PeerError(f"a frame of {len(frame)} bytes; at most {MAX_FRAME} are allowed.")
    return frame
