"""Listening sockets, and what strangers may take of a party before they have said who they are.

Whoever connects costs a socket until its first byte comes: a TLS handshake takes 300 kB of memory, and begins then.
Both kinds of waiting are bounded in number and in time. With one connection more, the oldest of the address that has
the most is given up: a crowd from one place displaces itself, and not a neighbour.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from ...errors import InvalidInput
from .addresses import ANSWER, split_address

SILENT = 1024  # connections that have said nothing yet
OPENINGS = 32  # that have, and are not known yet; besides two for each neighbour that may call
OWN_FILES = 64  # of those that a process may open, those that are not for connections
BUFFER = 2**17  # bytes that the system holds of a connection: what waits there is old when it is read
PAUSE = 0.1  # seconds until the next attempt, where there are no more files to open
BACKLOG = 512

Guest = TypeVar("Guest")


class Crowd(Generic[Guest]):
    """Those who wait, ``most`` at a time, each at an address."""

    def __init__(self, most: int, give_up: Callable[[Guest], object]) -> None:
        self._most, self._give_up = most, give_up
        self._places: dict[Guest, bytes] = {}
        self._at: dict[bytes, dict[Guest, None]] = {}  # in the order in which they came

    def __len__(self) -> int:
        return len(self._places)

    def enter(self, guest: Guest, place: bytes) -> None:
        """Somebody comes; where there are too many, somebody else is given up."""
        if len(self._places) >= self._most:
            self.shrink()
        self._places[guest] = place
        self._at.setdefault(place, {})[guest] = None

    def leave(self, guest: Guest) -> None:
        """Somebody waits no longer, or did not."""
        place = self._places.pop(guest, None)
        if place is not None:
            del self._at[place][guest]
            if not self._at[place]:
                del self._at[place]

    def shrink(self) -> None:
        """Give up the oldest of the address that has the most."""
        crowded = max(self._at, key=lambda place: len(self._at[place]))
        oldest = next(iter(self._at[crowded]))
        self.leave(oldest)
        self._give_up(oldest)


class Door:
    """The listening sockets of one party.

    ``answer`` is a task for each connection that has said something; it calls ``known`` when it knows who is there, and
    ``unknown`` when it is done with that.
    """

    def __init__(self, answer: Callable[[socket.socket], Coroutine[Any, Any, None]], neighbours: int) -> None:
        self._answer = answer
        self._listening: list[socket.socket] = []
        openings = OPENINGS + 2 * neighbours
        self._silent: Crowd[socket.socket] = Crowd(min(SILENT, max(16, files_left() // 2)), self._drop)
        self._limits: dict[socket.socket, asyncio.TimerHandle] = {}
        self._opening: Crowd[asyncio.Task[None]] = Crowd(openings, lambda task: task.cancel())
        self._tasks: dict[asyncio.Task[None], bytes] = {}

    async def open(self, listen: str) -> int:
        """Listen, on which port; ``InvalidInput`` where that cannot be."""
        host, port = split_address(listen)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for family, kind, _, _, address in found:
                listening = socket.socket(family, kind)
                self._listening.append(listening)
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)  # connections inherit both
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
                if family == socket.AF_INET6:
                    listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listening.setblocking(False)
                listening.bind((address[0], port, *address[2:]))
                listening.listen(BACKLOG)
                port = listening.getsockname()[1]
        except socket.gaierror:
            await self.close(0.0)
            raise InvalidInput(f"cannot listen on {listen}: {host} is not a name of this machine.") from None
        except OSError as error:
            await self.close(0.0)
            raise InvalidInput(f"cannot listen on {listen}: {error.strerror}. Choose another address.") from None
        for listening in self._listening:
            loop.add_reader(listening, self._accept, listening)
        return port

    async def close(self, patience: float) -> None:
        """Listen no longer; whoever is still there after so many seconds is cut off."""
        loop = asyncio.get_running_loop()
        for listening in self._listening:
            loop.remove_reader(listening)
            listening.close()
        self._listening.clear()
        while self._silent:
            self._silent.shrink()
        while self._opening:
            self._opening.shrink()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def known(self) -> None:
        """The task that runs knows who is there: it does not count among strangers."""
        task = asyncio.current_task()
        assert task is not None
        self._opening.leave(task)

    def unknown(self) -> None:
        """The task that runs is done with whoever was there, but for hanging up."""
        task = asyncio.current_task()
        assert task is not None
        self._opening.enter(task, self._tasks[task])

    def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(BACKLOG):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file is left
                if self._silent:
                    self._silent.shrink()
                else:
                    loop.remove_reader(listening)
                    loop.call_later(PAUSE, self._again, listening)
                return
            connection.setblocking(False)
            self._silent.enter(connection, _place(connection))
            loop.add_reader(connection, self._spoken, connection)
            self._limits[connection] = loop.call_later(ANSWER, self._drop, connection)

    def _again(self, listening: socket.socket) -> None:
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _spoken(self, connection: socket.socket) -> None:
        """There is a first byte, or the other end has hung up."""
        self._forget(connection)
        try:
            gone = not connection.recv(1, socket.MSG_PEEK)
        except OSError:
            gone = True
        if gone:
            connection.close()
            return
        place = _place(connection)
        task = asyncio.get_running_loop().create_task(self._answer(connection))
        self._tasks[task] = place
        self._opening.enter(task, place)
        task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._opening.leave(task)
        del self._tasks[task]

    def _drop(self, connection: socket.socket) -> None:
        self._forget(connection)
        connection.close()

    def _forget(self, connection: socket.socket) -> None:
        self._silent.leave(connection)
        asyncio.get_running_loop().remove_reader(connection)
        self._limits.pop(connection).cancel()


def files_left() -> int:
    """How many connections leave the party the files that it needs itself."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2**16 if allowed == resource.RLIM_INFINITY else min(allowed, 2**16)
    return max(most - OWN_FILES, most // 2)


def _place(connection: socket.socket) -> bytes:
    """Where a connection comes from. Of IPv6 the first half: whoever has one such address has all of its network."""
    try:
        address = connection.getpeername()[0]
        if connection.family == socket.AF_INET6:
            return socket.inet_pton(socket.AF_INET6, address.partition("%")[0])[:8]
        return socket.inet_aton(address)
    except OSError:  # it has gone
        return b""
