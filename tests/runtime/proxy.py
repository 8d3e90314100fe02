"""TCP connections of this machine through a place where they can be disturbed. Runs in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

SEGMENT = 2**14  # bytes, at most, that are handled at a time
PATIENCE = 0.05  # seconds for a segment to be overtaken in


class Proxy:
    """What connects to ``address`` is connected to ``127.0.0.1:port``. The knobs may be turned at any time:

    ``refusing``   new connections are closed at once
    ``delay``      seconds that everything takes
    ``rate``       bytes per second, in each direction
    ``still``      nothing moves, nothing is lost
    ``garble``     "cut short": half a segment, and the connection is closed; "twice": every segment comes twice;
                   "overtaken": a segment comes after the next one; "bit": one bit is wrong
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, port: int) -> None:
        self.loop, self.port = loop, port
        self.address = ""
        self.refusing, self.still, self.garble = False, False, ""
        self.delay, self.rate = 0.0, float("inf")
        self.connections = 0
        self.recording = False
        self.recorded: list[bytearray] = []  # one for each direction of each connection
        self._writers: set[asyncio.StreamWriter] = set()
        self._dead: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def hang_up(self) -> None:
        """Close every connection."""
        self.loop.call_soon_threadsafe(lambda: [writer.transport.abort() for writer in self._writers])

    def swallow(self) -> None:
        """From now on nothing that is said over the present connections arrives, and nobody is told."""
        self.loop.call_soon_threadsafe(lambda: self._dead.update(self._writers))

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0, limit=SEGMENT)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())  # type: ignore[arg-type]
        if self.refusing:
            writer.transport.abort()
            return
        self.connections += 1
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port, limit=SEGMENT)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, far_writer}
        self._writers |= ends
        try:
            await asyncio.gather(self._move(reader, far_writer), self._move(far_reader, writer))
        except (OSError, asyncio.CancelledError):  # the latter from close()
            pass
        finally:
            self._writers -= ends
            self._dead -= ends
            for end in ends:
                end.transport.abort()

    async def _move(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Raises at the end, so that both directions end together."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)
        self.recorded.append(recorded := bytearray())
        arriving = asyncio.create_task(self._arrive(waiting, writer))
        try:
            while data := await reader.read(SEGMENT):
                if self.recording:
                    recorded += data
                await waiting.put((self.loop.time() + self.delay, data))
                if arriving.done():
                    break
            if writer not in self._dead:
                raise ConnectionResetError
            await asyncio.sleep(3600)  # the other end has given up; this one is not told
        finally:
            arriving.cancel()

    async def _arrive(self, waiting: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0.0, due - self.loop.time()))
            while self.still:
                await asyncio.sleep(0.02)
            if writer in self._dead:
                continue
            match self.garble:
                case "cut short":
                    writer.write(data[: len(data) // 2])
                    await writer.drain()
                    writer.transport.abort()
                    raise ConnectionResetError
                case "twice":
                    data += data
                case "bit":
                    data = data[:-1] + bytes([data[-1] ^ 1])
                case "overtaken":
                    with suppress(TimeoutError):
                        data = (await asyncio.wait_for(waiting.get(), PATIENCE))[1] + data
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(len(data) / self.rate)


class Proxies:
    """Proxies, and the thread in which they run, until the ``with`` block is left."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.all: list[Proxy] = []
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def to(self, port: int) -> Proxy:
        """A new one, in front of a port."""
        proxy = Proxy(self.loop, port)
        asyncio.run_coroutine_threadsafe(proxy.open(), self.loop).result(5.0)
        self.all.append(proxy)
        return proxy

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for proxy in self.all:
            asyncio.run_coroutine_threadsafe(proxy.close(), self.loop).result(5.0)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5.0)
        self.loop.close()
