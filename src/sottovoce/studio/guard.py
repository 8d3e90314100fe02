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
    own_address
        Whether the address at which a request arrived is such a name, too: where it listens on all of the machine's.
    """

    def __init__(
        self, app: App, names: tuple[str, ...], port: int, framed: bool = False, own_address: bool = False
    ) -> None:
        self.app, self.port, self.own_address = app, port, own_address
        self.hosts = frozenset(f"{name}:{port}" for name in names) | frozenset(names if port == 80 else ())
        self.policy = POLICY if framed else f"{POLICY}; frame-ancestors 'self'"  # notebooks have many schemes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        status, why = self.refusal(scope)
        if why:
            await refuse(scope, receive, send, status, why)
        elif scope["type"] == "websocket":
            await self.app(scope, receive, send)
        else:
            await Exchange(receive, send, self.policy).of(self.app, scope)

    def refusal(self, scope: Scope) -> tuple[int, str]:
        """Why a request is not answered, and its status; an empty text where it is."""
        given: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value.decode("latin-1").lower())
        hosts = set(self.hosts)
        if self.own_address and scope.get("server"):
            address = str(scope["server"][0])
            hosts.add(f"[{address}]:{self.port}" if ":" in address else f"{address}:{self.port}")
        host = given.get(b"host", [])
        if len(host) != 1 or host[0] not in hosts:
            return 403, f"this studio is called {' or '.join(sorted(hosts))}; the request names another host."
        if any(origin not in {f"http://{one}" for one in hosts} for origin in given.get(b"origin", [])):
            return 403, "the request comes from a page of another site."
        if "cross-site" in given.get(b"sec-fetch-site", []) and "navigate" not in given.get(b"sec-fetch-mode", []):
            return 403, "the request comes from a page of another site."  # a picture there, say, which has no Origin
        if any(not size.isdecimal() or int(size) > BODY for size in given.get(b"content-length", [])):
            return 413, LONG
        return 200, ""


class Exchange:
    """A request and its answer: the one bounded, also where it does not say how long it is, the other with a policy
    that tells the browser to load nothing from elsewhere, and to tell nobody where it was."""

    def __init__(self, receive: Receive, send: Send, policy: str) -> None:
        self._receive, self._send, self.policy = receive, send, policy
        self.left, self.begun = BODY, False

    async def of(self, app: App, scope: Scope) -> None:
        """Play it."""
        try:
            await app(scope, self.receive, self.send)
        except Exception:
            if self.left >= 0:
                raise
        if self.left < 0 and not self.begun:
            await refuse(scope, self._receive, self._send, 413, LONG)

    async def receive(self) -> Message:
        if self.left < 0:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.left -= len(message.get("body", b""))
        return message if self.left >= 0 else {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.left < 0 and not self.begun:
            return  # whatever it says of a request that was cut off
        if message["type"] == "http.response.start":
            self.begun = True
            message["headers"] = [
                *message.get("headers", []),
                (b"content-security-policy", self.policy.encode()),
                (b"referrer-policy", b"no-referrer"),
                (b"x-content-type-options", b"nosniff"),
            ]
        await self._send(message)


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
