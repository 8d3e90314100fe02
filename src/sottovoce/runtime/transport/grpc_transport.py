"""Parties on different machines: gRPC streams over mutual TLS, in which only the pinned certificates are trusted.

A listener admits the exact certificates of its neighbours; a dialler accepts the certificate of the neighbour that it
calls, if it carries that neighbour's name. With open channels there is no TLS, and whoever dials in says who it is:
``link.py`` then authenticates every frame, but anybody can disturb the connection.
"""

from __future__ import annotations

import asyncio
import re
import resource
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Literal, Protocol

import grpc
import grpc.aio

from ...errors import InvalidInput, PeerError
from ..keys.identity import Identity, check_certificate, fingerprint
from ..protocol.frames import MAX_FRAME
from .transport import BROKEN, CLOSED, HANDSHAKES, Connection, Lost, Transport

SERVICE, METHOD = "sottovoce.v4.Party", "Talk"
NAME_KEY = "party-name"  # with open channels, the metadata in which a caller names itself
ANSWER = 10.0  # seconds to wait for a neighbour that is called
OWN_FILES = 64  # of those that a process may open, those that are not for connections
ENDING = 0.5  # seconds for streams to end when the server stops
LONGEST = 200  # characters of a neighbour's own words
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
# The first two are said in _answer, the third by gRPC about a frame that is too large.
REFUSALS = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED)

OPTIONS = [
    ("grpc.max_receive_message_length", MAX_FRAME),
    ("grpc.max_send_message_length", MAX_FRAME),
    # A neighbour that has gone without a word is noticed after 15 seconds. (keepalive_timeout_ms alone does nothing.)
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    # Also on a stream that is silent for long, on which gRPC would ping twice only, and resent more.
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    # What waits in the stream is old when it is read. gRPC would let 4 MiB wait, and be no faster for it.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 2**18),
    # Who connects and says nothing holds an open file until then; gRPC would wait two minutes.
    ("grpc.server_handshake_timeout_ms", int(1000 * ANSWER)),
    # Otherwise two parties can listen on one port, and each gets some of the calls.
    ("grpc.so_reuseport", 0),
    # Every attempt starts anew: when to dial again is decided in transport.py.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    ("grpc.min_reconnect_backoff_ms", int(1000 * ANSWER)),  # gRPC's name for the time that one attempt may take
]


class Neighbour(Protocol):
    """What a node file says about a neighbour: ``host:port``, and the pinned certificate in PEM."""

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def certificate(self) -> str: ...


class GrpcTransport(Transport):
    """A transport over gRPC. ``port`` is the one it listens on, where that was left to the system by giving 0."""

    def __init__(
        self,
        identity: Identity,
        listen: str,
        neighbours: Iterable[Neighbour],
        channels: Literal["encrypted", "open"] = "encrypted",
        jitter: Random | None = None,
    ) -> None:
        self._identity, self._listen, self._encrypted = identity, listen, channels == "encrypted"
        self._neighbours = {neighbour.name: neighbour for neighbour in neighbours}
        super().__init__(identity.name, self._neighbours, jitter or Random())
        self._host, self.port = split_address(listen)
        for name, neighbour in self._neighbours.items():
            if self.name < name:
                split_address(neighbour.address)
        # The neighbours that dial in, by what they are known by.
        callers = [neighbour for name, neighbour in self._neighbours.items() if name < self.name]
        self._callers = {fingerprint(c.certificate) if self._encrypted else c.name: c.name for c in callers}
        self._roots = "\n".join(caller.certificate for caller in callers).encode()
        self._server: Any = None

    # Those who call

    async def open(self) -> None:
        if not self._callers:
            return
        await self._check_listen()
        method = grpc.stream_stream_rpc_method_handler(self._answer)
        most = 8 + (HANDSHAKES + 2) * len(self._callers)
        self._server = grpc.aio.server(options=[*OPTIONS, files_left()], maximum_concurrent_rpcs=most)
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {METHOD: method})])
        try:
            if self._encrypted:
                pair = (self._identity.key.encode(), self._identity.certificate.encode())
                credentials = grpc.ssl_server_credentials([pair], self._roots, require_client_auth=True)
                self.port = self._server.add_secure_port(self._listen, credentials)
            else:
                self.port = self._server.add_insecure_port(self._listen)
        except RuntimeError:
            raise InvalidInput(f"cannot listen on {self._listen}; choose another address.") from None
        await self._server.start()

    async def _check_listen(self) -> None:
        """gRPC does not say why it cannot listen; a socket does."""
        loop = asyncio.get_running_loop()
        try:
            host = self._host.strip("[]")
            found = await loop.getaddrinfo(host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for family, _, _, _, address in found:
                socket.create_server(address[:2], family=family).close()
        except socket.gaierror:
            raise InvalidInput(f"cannot listen on {self._listen}: {host} is not a name of this machine.") from None
        except OSError as error:
            raise InvalidInput(f"cannot listen on {self._listen}: {error.strerror}. Choose another address.") from None

    async def close(self) -> None:
        if self._server is not None:
            await self._server.stop(ENDING)

    async def _answer(self, _: object, context: Any) -> None:
        """Somebody has dialled in."""
        caller = self._caller(context)
        if caller is None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, f"{self.name} does not expect a call of this party")
        await context.send_initial_metadata(())  # so that the caller knows that it is admitted
        try:
            await self.converse(str(caller), _Called(context))
        except PeerError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error)[:LONGEST])
        except Lost:
            return

    def _caller(self, context: Any) -> str | None:
        if not self._encrypted:
            return self._callers.get(dict(context.invocation_metadata()).get(NAME_KEY, ""))
        # Not by a name in it, nor by a chain: TLS also admits what was signed by a certificate that does not forbid it.
        try:
            return self._callers.get(fingerprint(context.auth_context()["x509_pem_cert"][0].decode()))
        except InvalidInput:
            return None

    # Those who are called

    @asynccontextmanager
    async def connect(self, neighbour: str) -> AsyncIterator[Connection]:
        await self._check_called(self._neighbours[neighbour].address)
        async with self._channel(neighbour) as channel:
            call = channel.stream_stream(f"/{SERVICE}/{METHOD}")(metadata=((NAME_KEY, self.name),))
            try:
                async with asyncio.timeout(ANSWER):
                    await call.initial_metadata()
            except TimeoutError:
                raise Lost(f"no answer from {self._neighbours[neighbour].address} within {ANSWER:g} s") from None
            if call.done():
                raise Lost(self._explain(neighbour, await call.code(), await call.details() or ""))
            yield _Calling(call)

    async def _check_called(self, address: str) -> None:
        """Whether anybody listens there: a socket finds out in a tenth of the work of a gRPC channel, and while the
        parties of a run start one after the other, most calls are in vain. Whatever else is wrong, gRPC will see."""
        host, port = split_address(address)
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(host.strip("[]"), port), ANSWER)
        except ConnectionRefusedError:
            raise Lost(f"nobody listens on {address}") from None
        except (OSError, TimeoutError):
            return
        writer.close()

    def _channel(self, neighbour: str) -> Any:
        called, own = self._neighbours[neighbour], self._identity
        if not self._encrypted:
            return grpc.aio.insecure_channel(called.address, options=OPTIONS)
        trusted, key, shown = (pem.encode() for pem in (called.certificate, own.key, own.certificate))
        options = [*OPTIONS, ("grpc.ssl_target_name_override", neighbour)]
        return grpc.aio.secure_channel(
            called.address, grpc.ssl_channel_credentials(trusted, key, shown), options=options
        )

    def _explain(self, neighbour: str, code: grpc.StatusCode, details: str) -> str:
        """Why a call did not come about, from what gRPC says."""
        called, own = self._neighbours[neighbour], self._identity
        if code is not grpc.StatusCode.UNAVAILABLE:
            return _ending(code, details)
        if "Connection refused" in details:
            return f"nobody listens on {called.address}"
        if "resolving" in details or "DNS" in details:
            return f"the name in the address {called.address} does not resolve"
        if "WRONG_VERSION_NUMBER" in details:
            return f"{called.address} does not speak TLS: are its channels open, and ours encrypted?"
        if "CERTIFICATE_VERIFY_FAILED" in details or "Hostname" in details:
            expected = fingerprint(called.certificate)
            return _fault(called.certificate, neighbour) or f"{called.address} does not show the certificate {expected}"
        if "Socket closed" in details or "andshake" in details:
            if not self._encrypted:
                return f"{called.address} hung up at once: are its channels encrypted, and ours open?"
            known = f"{called.address} hung up at once: does it know this party's certificate, {own.fingerprint}?"
            return _fault(own.certificate, own.name) or known
        return _printable(details)


class _Calling(Connection):
    """The end that dialled."""

    def __init__(self, call: Any) -> None:
        self._call = call

    async def send(self, frame: bytes) -> None:
        try:
            await self._call.write(frame)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the latter: it had ended before
            raise Lost(_ending(await self._call.code(), await self._call.details())) from None

    async def receive(self) -> bytes:
        try:
            frame = await self._call.read()
        except grpc.aio.AioRpcError as error:
            raise Lost(_ending(error.code(), error.details())) from None
        if frame is grpc.aio.EOF:
            raise Lost(CLOSED)
        return bytes(frame)

    async def finish(self) -> None:
        await self._call.done_writing()
        await self._call.code()


class _Called(Connection):
    """The end that was dialled. It ends its stream by returning from ``_answer``."""

    def __init__(self, context: Any) -> None:
        self._context = context

    async def send(self, frame: bytes) -> None:
        try:
            await self._context.write(frame)
        except grpc.aio.BaseError:
            raise Lost(BROKEN) from None

    async def receive(self) -> bytes:
        try:
            frame = await self._context.read()
        except grpc.aio.BaseError:
            raise Lost(BROKEN) from None
        if frame is grpc.aio.EOF:
            raise Lost(CLOSED)
        return bytes(frame)

    async def finish(self) -> None:
        pass


def files_left() -> tuple[str, int]:
    """The option that leaves files to the party itself, however many strangers connect."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2**16 if allowed == resource.RLIM_INFINITY else min(allowed, 2**16)
    return "grpc.max_allowed_incoming_connections", max(most - OWN_FILES, most // 2)


def split_address(address: str) -> tuple[str, int]:
    """Host and port of ``host:port``, in which an IPv6 host has brackets."""
    found = ADDRESS.fullmatch(address)
    if not found or int(found[2]) > 65535:
        raise InvalidInput(f"an address is host:port, such as 10.0.0.1:7401 or [::1]:7401; got {address!r:.80}.")
    return found[1], int(found[2])


def _ending(code: grpc.StatusCode, details: str | None) -> str:
    """How a stream ended, as the end that dialled hears it."""
    if code is grpc.StatusCode.OK:
        return CLOSED
    if code in REFUSALS:
        return f"it refused: {_printable(details)}"
    return f"{BROKEN} ({_printable(details)})"


def _printable(words: str | None) -> str:
    """A neighbour's words, fit for a line of a log."""
    return "".join(c if c.isprintable() else "?" for c in words or "no reason given")[:LONGEST]


def _fault(certificate: str, name: str) -> str | None:
    """What is wrong with a certificate that is pinned here, or None."""
    try:
        check_certificate(certificate, name, fingerprint(certificate))
    except InvalidInput as error:
        return str(error)
    return None
