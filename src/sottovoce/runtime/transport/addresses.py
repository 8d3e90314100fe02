"""Where parties are, and a connected socket to one of them: straight, or through a proxy that speaks HTTP CONNECT."""

from __future__ import annotations

import asyncio
import re
import socket
from base64 import b64encode
from dataclasses import dataclass, field

from ...errors import InvalidInput
from .transport import Lost

ANSWER = 10.0  # seconds to wait for whoever is called, and for whoever calls
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]@]+):([0-9]{1,5})")
PROXY = re.compile(r"http://(?:([^\s:@/]+):([^\s@/]*)@)?([^\s/@]+)/?")
HEAD = 2**13  # bytes of a proxy's answer, at most
LONGEST = 200  # characters of somebody else's words


def split_address(address: str) -> tuple[str, int]:
    """Host and port of ``host:port``, in which an IPv6 host has brackets."""
    found = ADDRESS.fullmatch(address)
    if not found or int(found[2]) > 65535:
        raise InvalidInput(f"an address is host:port, such as 10.0.0.1:7401 or [::1]:7401; got {address!r:.80}.")
    return found[1], int(found[2])


@dataclass(frozen=True)
class Proxy:
    """A proxy on the way out: ``host:port``, and the name and password that it asks for, if it does."""

    address: str
    login: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, text: str) -> Proxy:
        """``http://host:port``, or ``http://name:password@host:port``. The sentence does not repeat a password."""
        found = PROXY.fullmatch(text)
        try:
            split_address(found[3] if found else "")
        except InvalidInput:
            raise InvalidInput(
                "a proxy is http://host:port, or http://name:password@host:port, such as http://10.0.0.9:3128."
            ) from None
        assert found is not None
        return cls(found[3], None if found[1] is None else f"{found[1]}:{found[2]}")


async def reach(address: str, proxy: Proxy | None) -> socket.socket:
    """A socket that is connected to a party. ``Lost`` says why not."""
    if proxy is None:
        return await _connected(address, f"nobody listens on {address}")
    connection = await _connected(proxy.address, f"nobody listens on the proxy {proxy.address}")
    try:
        await _pass(connection, address, proxy)
    except BaseException:
        connection.close()
        raise
    return connection


async def _connected(address: str, refused: str) -> socket.socket:
    """One of the addresses that a name has; each gets its share of the time."""
    loop = asyncio.get_running_loop()
    host, port = split_address(address)
    try:
        found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise Lost(f"the name in the address {address} does not resolve") from None
    errors: list[OSError] = []
    for family, kind, _, _, place in found:
        connection = socket.socket(family, kind)
        try:
            connection.setblocking(False)
            async with asyncio.timeout(ANSWER / len(found)):
                await loop.sock_connect(connection, place)
            return connection
        except OSError as error:  # TimeoutError is one
            connection.close()
            errors.append(error)
        except BaseException:
            connection.close()
            raise
    if all(isinstance(error, ConnectionRefusedError) for error in errors):
        raise Lost(refused)
    other = next(error for error in errors if not isinstance(error, ConnectionRefusedError))
    if isinstance(other, TimeoutError):
        raise Lost(f"no answer from {address} within {ANSWER:g} s")
    raise Lost(f"{address} cannot be reached: {other.strerror or other}")


async def _pass(connection: socket.socket, address: str, proxy: Proxy) -> None:
    """Ask the proxy for a connection to the address."""
    lines = [f"CONNECT {address} HTTP/1.1", f"Host: {address}"]
    if proxy.login is not None:
        lines.append(f"Proxy-Authorization: Basic {b64encode(proxy.login.encode()).decode()}")
    loop, answer = asyncio.get_running_loop(), b""
    try:
        async with asyncio.timeout(ANSWER):
            await loop.sock_sendall(connection, "\r\n".join([*lines, "", ""]).encode())
            while b"\r\n\r\n" not in answer and len(answer) < HEAD:
                data = await loop.sock_recv(connection, 2**12)
                if not data:
                    break
                answer += data
    except TimeoutError:
        raise Lost(f"no answer from the proxy {proxy.address} within {ANSWER:g} s") from None
    except OSError:
        pass
    status = re.fullmatch(rb"HTTP/1\.[01] ([0-9]{3})( .*)?", answer.partition(b"\r\n")[0])
    if status is None or not answer.endswith(b"\r\n\r\n"):  # nobody behind it speaks first
        raise Lost(f"{proxy.address} does not answer as a proxy does")
    if status[1] != b"200":
        said = printable((status[1] + (status[2] or b"")).decode("latin-1"))
        raise Lost(f"the proxy {proxy.address} does not connect to {address}: {said}")


def printable(words: str) -> str:
    """Somebody else's words, fit for a line of a log."""
    return "".join(c if c.isprintable() else "?" for c in words)[:LONGEST]
