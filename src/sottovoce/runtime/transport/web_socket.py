"""One end of a WebSocket (RFC 6455): a frame is a binary message.

The protocol is that of ``websockets``, without I/O. What is here reads and writes: no more than a slice at a time, so
that back-pressure reaches the other end, and whoever floods it with small messages, fragments or pings fills no memory.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import deque
from contextlib import suppress
from http import HTTPStatus

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidMessage, InvalidStatus
from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import Event, Protocol, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI

from ...errors import PeerError
from ..protocol.frames import MAX_FRAME
from .addresses import ANSWER, printable, split_address
from .transport import BROKEN, CLOSED, Connection, Lost

SUBPROTOCOL = Subprotocol("sottovoce.v4")
SLICE = 2**14  # bytes that are looked at at a time: 20 ms, where they are all headers of nothing
READ = 2**15  # bytes that are read ahead, twice at most
ROOM = 2**16  # bytes that may wait to be sent
OPENING = 2**14  # bytes of a request, or of the answer to it
SILENCE, PATIENCE = 10.0, 5.0  # seconds of silence before a ping, and from then on
ENDING = 1.0  # seconds for the other end to hang up
REASON = 120  # bytes of a reason; WebSockets have room for 123
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

# What strangers send is no news, and ``websockets`` would log it.
QUIET = logging.getLogger("sottovoce.websockets")
QUIET.setLevel(logging.CRITICAL)


async def streams(
    connection: socket.socket, tls: ssl.SSLContext | None, *, called: bool
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """What to read from and write to, after the handshake of TLS where there is one. The socket is theirs then."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=READ, loop=loop)
    limit, ending = (ANSWER, ENDING) if tls is not None else (None, None)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if called:
            transport, protocol = await loop.connect_accepted_socket(
                lambda: asyncio.StreamReaderProtocol(reader, loop=loop),
                connection, ssl=tls, ssl_handshake_timeout=limit, ssl_shutdown_timeout=ending,
            )  # fmt: skip
        else:
            transport, protocol = await loop.create_connection(
                lambda: asyncio.StreamReaderProtocol(reader, loop=loop),
                sock=connection, ssl=tls, server_hostname=None if tls is None else "",
                ssl_handshake_timeout=limit, ssl_shutdown_timeout=ending,
            )  # fmt: skip
    except BaseException:
        connection.close()
        raise
    transport.set_write_buffer_limits(ROOM)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class WebSocket(Connection):
    """A stream of frames, once ``ask`` or ``accept`` has opened it. ``leave`` ends it, whatever has become of it."""

    def __init__(self, protocol: Protocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._protocol, self._reader, self._writer = protocol, reader, writer
        self._response: Response
        self._loop = asyncio.get_running_loop()
        self._opening: Request | Response | None = None
        self._messages: deque[bytes] = deque()
        self._fragments = bytearray()
        self._reading = False
        self._end: Lost | PeerError | None = None
        self._over = asyncio.Event()
        self._heard = self._loop.time()
        self._asked = 0.0  # what ``_heard`` was when a ping asked for more
        self._pulse = self._loop.call_later(SILENCE, self._beat)

    # The opening

    @classmethod
    def dialling(cls, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], name: str, address: str) -> WebSocket:
        """The end that dialled, as this party; ``ask`` comes next."""
        host, port = split_address(address)
        uri = WebSocketURI(False, host.strip("[]"), port, f"/{name}", "")
        return cls(ClientProtocol(uri, subprotocols=[SUBPROTOCOL], max_size=MAX_FRAME, logger=QUIET), *streams)

    @classmethod
    def dialled(cls, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> WebSocket:
        """The end that was dialled; ``asked`` comes next. No page of a browser may dial."""
        return cls(
            ServerProtocol(origins=[None], subprotocols=[SUBPROTOCOL], max_size=MAX_FRAME, logger=QUIET), *streams
        )

    @property
    def certificate(self) -> bytes | None:
        """That of the other end, as DER; None without TLS."""
        tls = self._writer.get_extra_info("ssl_object")
        return None if tls is None else tls.getpeercert(binary_form=True)

    async def ask(self) -> None:
        """Ask to be let in. ``Lost`` where it refuses, ``OSError`` where it hangs up."""
        protocol = self._protocol
        assert isinstance(protocol, ClientProtocol)
        protocol.send_request(protocol.connect())
        self._flush()
        answer = await self._opened()
        error = protocol.handshake_exc
        if isinstance(error, InvalidStatus) and isinstance(answer, Response):
            words = bytes(answer.body).decode(errors="replace").strip() or answer.reason_phrase
            raise Lost(f"it refused: {printable(words)}")
        if answer is None and isinstance(error and error.__cause__, EOFError):
            raise ConnectionResetError
        if error is not None or protocol.subprotocol != SUBPROTOCOL:
            raise Lost(f"what answers there is no party of this version: {printable(str(error or 'no subprotocol'))}")

    async def asked(self) -> str | None:
        """The path that the other end asks for, without its slash; None: it is no request for a WebSocket of ours, and
        was told so."""
        request, protocol = await self._opened(), self._protocol
        assert isinstance(protocol, ServerProtocol)
        if not isinstance(request, Request):
            if protocol.handshake_exc is None or isinstance(protocol.handshake_exc, InvalidMessage):
                self._writer.write(BAD_REQUEST)  # other faults were answered
            self._flush()
            return None
        self._response = protocol.accept(request)
        if self._response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._respond(self._response)
            return None
        return request.path.removeprefix("/")

    def accept(self) -> None:
        """Let in whoever has asked."""
        self._respond(self._response)

    def reject(self, words: str) -> None:
        """Do not, and say why."""
        assert isinstance(self._protocol, ServerProtocol)
        self._respond(self._protocol.reject(HTTPStatus.FORBIDDEN, words))

    def _respond(self, response: Response) -> None:
        assert isinstance(self._protocol, ServerProtocol)
        self._protocol.send_response(response)
        self._flush()

    async def _opened(self) -> Request | Response | None:
        """The request or the answer to it, of so many bytes; None where neither came."""
        taken, protocol = 0, self._protocol
        while self._opening is None and protocol.handshake_exc is None and taken < OPENING:
            data = await self._piece(taken)
            taken += len(data)
            self._feed(data)
        return self._opening

    async def _piece(self, taken: int) -> bytes:
        """More of it. Of a request one line at a time: what follows it must not be read before it was answered."""
        if isinstance(self._protocol, ClientProtocol):
            return await self._reader.read(OPENING)
        first = b""
        if not taken:
            first = await self._reader.read(1)
            if first != b"G":  # such as TLS, in which there may never be a line
                return first and b"\r\n"
        try:
            return first + await self._reader.readline()
        except ValueError:  # longer than the reader's limit
            return bytes(OPENING)

    # Frames

    async def send(self, frame: bytes) -> None:
        if self._end is not None:
            raise self._end
        if self._protocol.state is not State.OPEN:
            raise Lost(CLOSED)
        self._protocol.send_binary(frame)
        self._flush()
        try:
            await self._writer.drain()
        except OSError:
            raise self._end or Lost(BROKEN) from None

    async def receive(self) -> bytes:
        while not self._messages:
            if self._end is not None:
                raise self._end
            await self._more()
            if not self._messages:
                await asyncio.sleep(0)  # others have their turn, whatever comes
        return self._messages.popleft()

    async def finish(self, fault: str = "") -> None:
        self._close(fault)
        while self._end is None:
            if self._reading:
                await self._over.wait()
            else:
                await self._more()

    async def leave(self, fault: str = "") -> None:
        """Say what was wrong, if anything was, give the other end a moment to hear it, and hang up. To hang up at once
        would throw away what is on its way, since there may be something that nobody here has read."""
        self._pulse.cancel()
        try:
            async with asyncio.timeout(ENDING):
                self._close(fault)
                dialled = isinstance(self._protocol, ServerProtocol)
                while not (dialled and self._protocol.close_rcvd is not None):  # whoever was dialled hangs up first
                    data = await self._reader.read(SLICE)
                    if not data:
                        break
                    self._take(data)
                    self._messages.clear()
                self._writer.close()
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            pass
        finally:
            self._writer.transport.abort()

    def abort(self) -> None:
        """Hang up at once."""
        self._pulse.cancel()
        self._writer.transport.abort()

    def _close(self, fault: str, code: CloseCode = CloseCode.POLICY_VIOLATION) -> None:
        if self._protocol.state is State.OPEN:
            reason = fault.encode()[:REASON].decode(errors="ignore")
            self._protocol.send_close(code if fault else CloseCode.NORMAL_CLOSURE, reason)
            self._flush()

    async def _more(self) -> None:
        """Read a slice."""
        self._reading, data = True, b""
        try:
            with suppress(OSError):
                data = await self._reader.read(SLICE)
        finally:
            self._reading = False
        if data:
            self._take(data)
        else:
            self._ended(Lost(BROKEN))

    def _feed(self, data: bytes) -> None:
        self._heard = self._loop.time()
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            self._happened(event)

    def _take(self, data: bytes) -> None:
        protocol = self._protocol
        self._feed(data)
        if protocol.state is State.OPEN and self._writer.transport.get_write_buffer_size() > ROOM:
            protocol.data_to_send()  # answers to pings, from somebody who does not read them
        else:
            self._flush()
        if protocol.parser_exc is not None:
            self._ended(PeerError(f"it does not keep to RFC 6455: {printable(str(protocol.parser_exc))}."))

    def _happened(self, event: Event) -> None:
        if not isinstance(event, Frame):
            self._opening = event
        elif event.opcode is Opcode.CLOSE:
            self._ended(_reason(self._protocol.close_rcvd))
        elif event.opcode is Opcode.TEXT:
            fault = "a text message came; frames are binary ones."
            self._close(fault, CloseCode.UNSUPPORTED_DATA)
            self._ended(PeerError(fault))
        elif event.opcode in (Opcode.BINARY, Opcode.CONT):
            if event.fin and event.opcode is Opcode.BINARY:
                self._messages.append(bytes(event.data))
                return
            self._fragments += event.data
            if event.fin:
                self._messages.append(bytes(self._fragments))
                self._fragments.clear()

    def _ended(self, end: Lost | PeerError) -> None:
        if self._end is None:
            self._end = end
            self._over.set()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)
            elif self._writer.can_write_eof():  # nothing more will come; TLS cannot say so
                self._writer.write_eof()

    def _beat(self) -> None:
        """Whether the other end is there. It is asked when it is silent, and given up when it stays so."""
        silent = self._loop.time() - self._heard
        if self._asked == self._heard:
            self._ended(Lost(f"no sign of life for {SILENCE + PATIENCE:g} s"))
            self._writer.transport.abort()
            return
        if silent >= SILENCE and self._protocol.state is State.OPEN:
            self._asked = self._heard
            self._protocol.send_ping(b"")
            self._flush()
        self._pulse = self._loop.call_later(PATIENCE if silent >= SILENCE else SILENCE - silent, self._beat)


def _reason(close: Close | None) -> Lost:
    """Why the other end has closed the connection."""
    if close is None or close.code in (CloseCode.NORMAL_CLOSURE, CloseCode.GOING_AWAY, CloseCode.NO_STATUS_RCVD):
        return Lost(CLOSED)
    return Lost(f"it refused: {printable(close.reason) or f'WebSocket code {close.code}'}")
