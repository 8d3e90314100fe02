"""The door of the studio: who is let in, how much they may say, and what their browser is told."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from sottovoce.studio.guard import BODY, LOOPBACK, Guard
from sottovoce.studio.serve import SAID, bounded, own_names

PORT = 8765


class Inside:
    """What lies behind the door: counts who came, and reads what they say."""

    def __init__(self) -> None:
        self.came = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.came += 1
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        more = True
        while more:
            message = await receive()
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"page"})


def knock(
    headers: list[tuple[str, str]], *, kind: str = "http", body: tuple[bytes, ...] = (b"",), **how: bool
) -> tuple[int, list[dict[str, Any]], Inside]:
    inside, said = Inside(), []
    guard = Guard(inside, LOOPBACK, PORT, **how)
    parts = [{"type": "http.request", "body": part, "more_body": k < len(body) - 1} for k, part in enumerate(body)]
    parts = [{"type": "websocket.connect"}] if kind == "websocket" else parts

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": kind,
        "path": "/",
        "server": ("192.0.2.2", PORT),
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(guard(scope, receive, send))
    return said[0].get("status", said[0].get("code", 0)), said, inside


HERE = ("host", f"127.0.0.1:{PORT}")


@pytest.mark.parametrize("host", [f"{name}:{PORT}" for name in LOOPBACK] + [f"LOCALHOST:{PORT}"])
def test_its_own_names_are_let_in(host):
    for origin in ([], [("origin", f"http://{host}")]):
        status, said, inside = knock([("host", host), *origin])
        assert (status, inside.came) == (200, 1)
        told = dict(said[0]["headers"])
        assert b"default-src 'self'" in told[b"content-security-policy"]
        assert b"frame-ancestors 'self'" in told[b"content-security-policy"]
        assert told[b"referrer-policy"] == b"no-referrer"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("host", "evil.example")],
        [("host", f"evil.example:{PORT}")],
        [("host", "127.0.0.1")],
        [("host", f"127.0.0.1:{PORT + 1}")],
        [("host", f"127.0.0.1.evil.example:{PORT}")],
        [HERE, ("host", "evil.example")],
        [HERE, ("origin", "http://evil.example")],
        [HERE, ("origin", "null")],
        [HERE, ("origin", f"https://127.0.0.1:{PORT}")],
        [HERE, ("origin", "http://127.0.0.1:9999")],
        [HERE, ("origin", f"http://127.0.0.1:{PORT}"), ("origin", "http://evil.example")],
        [HERE, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        [("host", f"192.0.2.2:{PORT}")],
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_others_are_refused_before_anything_runs(headers, kind):
    status, said, inside = knock(headers, kind=kind)
    assert inside.came == 0
    if kind == "http":
        assert status == 403
        assert said[1]["body"].startswith(b"Refused: ")
    else:
        assert said == [{"type": "websocket.close", "code": 1008}]


def test_a_request_is_bounded_by_what_it_says_and_by_what_it_is():
    assert knock([HERE, ("content-length", str(BODY))])[0] == 200
    assert knock([HERE, ("content-length", str(BODY + 1))])[0] == 413
    assert knock([HERE, ("content-length", "-1")])[0] == 413
    assert knock([HERE], body=(b"a" * BODY,))[0] == 200
    assert knock([HERE], body=(b"a" * (BODY // 2),) * 3)[0] == 413


def test_links_of_others_lead_here_and_their_pictures_do_not():
    assert knock([HERE, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")])[0] == 200
    assert knock([HERE, ("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")])[0] == 200


def test_where_it_listens_everywhere_each_address_of_the_machine_is_its_own():
    assert knock([("host", f"192.0.2.2:{PORT}")], own_address=True)[0] == 200
    assert knock([("host", f"192.0.2.3:{PORT}")], own_address=True)[0] == 403
    assert knock([("host", f"evil.example:{PORT}")], own_address=True)[0] == 403


def test_an_answer_that_has_begun_is_not_begun_again():
    """An application that answers before it has read all: the connection ends, and nothing is said twice."""
    said: list[Any] = []

    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass
        raise RuntimeError("gone")

    async def receive() -> Any:
        return {"type": "http.request", "body": b"a" * BODY, "more_body": True}

    async def send(message: Any) -> None:
        said.append(message["type"])

    asyncio.run(Guard(hasty, LOOPBACK, PORT)({"type": "http", "headers": [(b"host", HERE[1].encode())]}, receive, send))
    assert said == ["http.response.start"]


def test_what_visitors_make_it_log_moves_no_cursor():
    record = logging.LogRecord(
        "nicegui", logging.WARNING, "", 0, "%s not found", ("/\x1b]0;owned\x07" + "a" * 999,), None
    )
    assert bounded(record)
    assert record.getMessage() == "/?]0;owned?" + "a" * (SAID - 11)


def test_a_notebook_may_frame_it_if_it_was_started_for_one():
    policy = dict(knock([HERE], framed=True)[1][0]["headers"])[b"content-security-policy"]
    assert b"frame-ancestors" not in policy


def test_a_given_address_is_a_name_too():
    assert own_names("192.0.2.7") == ("192.0.2.7",)
    assert own_names("fe80::1") == ("[fe80::1]",)
    assert len(own_names("0.0.0.0")) >= 1
