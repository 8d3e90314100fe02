"""Parties on different machines: WebSockets over mutual TLS 1.3, in which only the pinned certificates are trusted.

A listener admits the exact certificates of its neighbours; a dialler accepts the exact certificate of the neighbour
that it calls. With open channels there is no TLS, and whoever dials in says who it is: ``link.py`` then authenticates
every frame, but anybody can disturb the connection.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from random import Random
from typing import Literal, Protocol

from ...errors import InvalidInput, PeerError
from ..keys.identity import Identity, check_certificate, fingerprint
from .addresses import ANSWER, Proxy, reach, split_address
from .door import BUFFER, Door
from .transport import Connection, Lost, Transport
from .web_socket import ENDING, WebSocket, streams

FILES = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"  # a service may have a /dev without it
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE", "INVALID_ALERT")


class Neighbour(Protocol):
    """What a node file says about a neighbour: ``host:port``, or None where it cannot be called, and the pinned
    certificate in PEM."""

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str | None: ...
    @property
    def certificate(self) -> str: ...


class WebSocketTransport(Transport):
    """A transport over WebSockets.

    ``listen`` is None for a party that cannot be called: it dials all its neighbours. ``port`` is the one it listens
    on, where that was left to the system by giving 0. ``proxy`` is on the way out; the environment's is not asked.
    """

    def __init__(
        self,
        identity: Identity,
        listen: str | None,
        neighbours: Iterable[Neighbour],
        channels: Literal["encrypted", "open"] = "encrypted",
        jitter: Random | None = None,
        proxy: Proxy | None = None,
    ) -> None:
        self._identity, self._listen, self._encrypted = identity, listen, channels == "encrypted"
        self._neighbours = {neighbour.name: neighbour for neighbour in neighbours}
        self._proxy = proxy
        called = {n.name: n.address for n in self._neighbours.values() if n.address is not None}
        for address in called.values():
            split_address(address)
        calls = [name for name in called if listen is None or identity.name < name]
        super().__init__(identity.name, self._neighbours, jitter or Random(), calls)
        self.port = 0 if listen is None else split_address(listen)[1]
        self._pinned = {fingerprint(other.certificate): name for name, other in self._neighbours.items()}
        self._door = Door(self._answer, len(self._neighbours))
        self._tls: ssl.SSLContext | None = None

    # Those who call

    async def open(self) -> None:
        if self._listen is None:
            return
        if self._encrypted:
            pinned = [neighbour.certificate for neighbour in self._neighbours.values()]
            self._tls = _context(ssl.PROTOCOL_TLS_SERVER, self._identity, pinned)
        self.port = await self._door.open(self._listen)

    async def close(self) -> None:
        await self._door.close(ENDING)

    async def _answer(self, connection: socket.socket) -> None:
        """Somebody has dialled in, and said something."""
        try:
            async with asyncio.timeout(ANSWER):
                there = WebSocket.dialled(await streams(connection, self._tls, called=True))
        except (OSError, TimeoutError):
            return
        fault = ""
        try:
            async with asyncio.timeout(ANSWER):
                caller = await self._caller(there)
            if caller is not None:
                self._door.known()
                try:
                    await self.converse(caller, there)
                finally:
                    self._door.unknown()
        except PeerError as error:
            fault = str(error)
        except (Lost, OSError, TimeoutError):
            pass
        except BaseException:
            there.abort()
            raise
        await there.leave(fault)

    async def _caller(self, there: WebSocket) -> str | None:
        """The neighbour that has dialled, once it was let in."""
        path = await there.asked()
        if path is None:
            return None
        if self._encrypted:
            # Not by a name in it, nor by a chain: TLS also admits what was signed by a certificate that may sign.
            caller = self._pinned.get(_fingerprint(there))
        else:
            caller = path if path in self._neighbours else None
        if caller is None:
            there.reject(f"{self.name} does not expect a call of this party")
        else:
            there.accept()
        return caller

    # Those who are called

    @asynccontextmanager
    async def connect(self, neighbour: str) -> AsyncIterator[Connection]:
        called = self._neighbours[neighbour]
        there = await self._call(called)
        fault = ""
        try:
            yield there
        except PeerError as error:
            fault = str(error)
            raise
        finally:
            await there.leave(fault)

    async def _call(self, called: Neighbour) -> WebSocket:
        assert called.address is not None
        tls, there = None, None
        if self._encrypted:
            tls = _context(ssl.PROTOCOL_TLS_CLIENT, self._identity, [called.certificate])
        connection = await reach(called.address, self._proxy)
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            async with asyncio.timeout(ANSWER):
                there = WebSocket.dialling(await streams(connection, tls, called=False), self.name, called.address)
                if self._encrypted and _fingerprint(there) != fingerprint(called.certificate):
                    raise Lost(self._false(called))
                if fault := _fault(called.certificate, called.name):
                    raise Lost(fault)
                await there.ask()
            return there
        except BaseException as error:
            connection.close()
            if there is not None:
                there.abort()
            if isinstance(error, OSError):
                raise Lost(self._explain(called, error)) from None
            raise

    def _explain(self, called: Neighbour, error: OSError) -> str:
        """Why a call did not come about."""
        address, own = called.address, self._identity
        if isinstance(error, TimeoutError):
            return f"no answer from {address} within {ANSWER:g} s"
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._false(called)
        if isinstance(error, ssl.SSLError) and error.reason in NO_TLS:
            return f"{address} does not speak TLS: are its channels open, and ours encrypted?"
        if not self._encrypted:
            return f"{address} hung up at once: are its channels encrypted, and ours open?"
        known = f"{address} hung up at once: does it know this party's certificate, {own.fingerprint}?"
        return _fault(own.certificate, own.name) or known

    def _false(self, called: Neighbour) -> str:
        expected = fingerprint(called.certificate)
        return _fault(called.certificate, called.name) or f"{called.address} does not show the certificate {expected}"


def _context(kind: ssl._SSLMethod, identity: Identity, pinned: list[str]) -> ssl.SSLContext:
    """TLS 1.3 in which this party shows its certificate, and the other end one of these."""
    tls = ssl.SSLContext(kind)
    tls.minimum_version = ssl.TLSVersion.TLSv1_3
    tls.check_hostname = False  # whose certificate it is, is seen by its fingerprint
    tls.verify_mode = ssl.CERT_REQUIRED
    if kind is ssl.PROTOCOL_TLS_SERVER:
        tls.num_tickets = 0  # who comes again shows its certificate again
    tls.load_verify_locations(cadata="\n".join(pinned))
    with as_file(identity.certificate) as certificate, as_file(identity.key) as key:
        tls.load_cert_chain(certificate, key)
    return tls


@contextmanager
def as_file(text: str) -> Iterator[str]:
    """The path of a pipe with this text: OpenSSL reads keys from files alone, and a key must not be in another one."""
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "w") as pipe:
            pipe.write(text)
        yield f"{FILES}/{reading}"
    finally:
        os.close(reading)


def _fingerprint(there: WebSocket) -> str:
    return f"SHA256:{sha256(there.certificate or b'').hexdigest()}"


def _fault(certificate: str, name: str) -> str | None:
    """What is wrong with a certificate that is pinned here, or None."""
    try:
        check_certificate(certificate, name, fingerprint(certificate))
    except InvalidInput as error:
        return str(error)
    return None
