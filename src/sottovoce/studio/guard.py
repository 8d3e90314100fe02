"""The door: who may talk to the studio, how much they may say, and what their browser may load.

A page of another site that is open in the same browser can send requests to this machine. It cannot read a token of
ours, and cannot hide its own name: ``Host`` tells a name that was turned to this address (DNS rebinding), ``Origin`` a
foreign page; both are refused before any of the studio's code runs, for pages and for sockets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BODY = 2**20  # bytes of a request
LONG = f"a request may have {BODY:,} bytes."
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'"
)


class TooLarge(Exception):
    """A request whose body is longer than any that a page sends."""


class Guard:
    """An ASGI application around another.

    Parameters
    ----------
    app
        The studio.
    names
        Names under which it may be called, without port.
    port
        On which it listens.
    framed
        Whether pages of others may show it in a frame, as a notebook does.
    """

    def __init__(self, app: App, names: tuple[str, ...], port: int, framed: bool = False) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in names} | ({*names} if port == 80 else set())
        self.origins = {f"http://{host}" for host in self.hosts}
        self.policy = POLICY if framed else f"{POLICY}; frame-ancestors 'self'"  # notebooks have many schemes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        status, why = self.refusal(scope)
        if why:
            await refuse(scope, receive, send, status, why)
            return
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        try:
            await self.app(scope, Bounded(receive), self.with_policy(send))
        except TooLarge:
            await refuse(scope, receive, send, 413, LONG)

    def refusal(self, scope: Scope) -> tuple[int, str]:
        """Why a request is not answered, and its status; an empty text where it is."""
        given: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value.decode("latin-1").lower())
        host = given.get(b"host", [])
        if len(host) != 1 or host[0] not in self.hosts:
            return 403, f"this studio is called {' or '.join(sorted(self.hosts))}; the request names another host."
        if any(origin not in self.origins for origin in given.get(b"origin", [])):
            return 403, "the request comes from a page of another site."
        if any(not size.isdecimal() or int(size) > BODY for size in given.get(b"content-length", [])):
            return 413, LONG
        return 200, ""

    def with_policy(self, send: Send) -> Send:
        """Answers that tell the browser to load nothing from elsewhere, and to tell nobody where it was."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                message["headers"] = [
                    *message["headers"],
                    (b"content-security-policy", self.policy.encode()),
                    (b"referrer-policy", b"no-referrer"),
                    (b"x-content-type-options", b"nosniff"),
                ]
            await send(message)

        return sending


class Bounded:
    """What comes in of a request, up to a size."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self.left = receive, BODY

    async def __call__(self) -> Message:
        message = await self.receive()
        self.left -= len(message.get("body", b""))
        if self.left < 0:
            raise TooLarge
        return message


async def refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
    """A sentence instead of a page, and of a socket nothing at all."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    body = f"Refused: {why}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
