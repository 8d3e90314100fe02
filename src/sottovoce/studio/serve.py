"""The server: pages at their addresses, behind the door, until somebody ends it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ..errors import InvalidInput, MissingExtra

try:
    import uvicorn
    from fastapi import FastAPI
    from nicegui import run, ui
except ImportError:
    raise MissingExtra("the studio", "nicegui", "studio") from None

from .guard import BODY, LOOPBACK, Guard
from .making import first_scene
from .pages import every_page
from .scene import Scene

PORT = 8765
VISITORS = 200  # connections at once
SAID = 500  # characters of a line that is logged


def serve(
    scene: Scene | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    page: str = "/",
    browser: bool = True,
    framed: bool = False,
    notice: str = "",
    live: Any = None,
    ready: Callable[[str], None] = lambda address: None,
    until_closed: bool = False,
) -> int:
    """Serve the studio until it is interrupted.

    Parameters
    ----------
    scene
        What pages show first.
    host, port
        Where to listen; port 0 takes any that is free.
    page
        The address that the browser opens.
    browser
        Whether one is opened.
    framed
        Whether notebooks may show it.
    notice
        A sentence for the first page.
    live
        A ``LiveRun``, for the page of that name.
    ready
        Told the address once it answers.
    until_closed
        End when standard input does: whoever started this process is gone.

    Returns
    -------
    int
        The number of the signal that ended it, or 0.

    Raises
    ------
    InvalidInput
        A port that is taken, or a host that this machine does not have.
    """
    listening = bound(host, port)
    port = int(listening.getsockname()[1])
    loopback = host in ("127.0.0.1", "localhost", "::1")
    if live is not None:
        live.controlled = live.controlled and loopback  # nobody else's machine ends processes here
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    every_page(scene or first_scene(), live, notice)
    run.process_pool_start_method = "spawn"
    ui.run_with(
        app, title="sottovoce studio", dark=None, show_welcome_message=False, reconnect_timeout=10.0,
        favicon=Path(__file__).parent / "icon.svg",
    )  # fmt: skip
    names = LOOPBACK if loopback else (*LOOPBACK, *own_names(host))
    config = uvicorn.Config(
        Guard(app, names, port, framed, own_address=not loopback), log_level="warning", log_config=None,
        access_log=False, proxy_headers=False, server_header=False, ws_max_size=BODY, limit_concurrency=VISITORS,
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    logging.getLogger("nicegui").setLevel(logging.WARNING)
    logging.getLogger("nicegui").addFilter(bounded)
    server = Server(config)
    everywhere = host in ("0.0.0.0", "::")  # which is no address to call
    address = f"http://{'127.0.0.1' if everywhere else shown(host)}:{port}{page}"
    if until_closed:
        threading.Thread(target=server.end_with_input, daemon=True).start()

    def begun() -> None:
        ready(address)
        if browser:
            threading.Thread(target=opened, args=(address,), daemon=True).start()

    server.begun = begun
    before = signal.signal(signal.SIGHUP, server.handle_exit)  # of a terminal that is closed
    try:
        server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGHUP, before)
    return server.ended_by


def bounded(record: logging.LogRecord) -> bool:
    """What visitors make it say fits a line, and moves no cursor."""
    text = record.getMessage()
    record.msg, record.args = "".join(ch if ch.isprintable() or ch == "\n" else "?" for ch in text[:SAID]), ()
    return True


class Server(uvicorn.Server):
    """That says when it answers."""

    begun: Callable[[], None]
    ended_by = 0  # the signal, or 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.begun()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in order: the default would leave what belongs to the process behind."""
        self.ended_by = self.ended_by or sig
        self.force_exit = self.should_exit
        self.should_exit = True

    def end_with_input(self) -> None:
        sys.stdin.buffer.read()
        self.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens, or a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except socket.gaierror:
        listening.close()
        raise InvalidInput(f"--host {host!r} is no address; 127.0.0.1 is this machine alone.") from None
    except OverflowError:
        listening.close()
        raise InvalidInput(f"--port must be from 0 to 65535; got {port}.") from None
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        cure = {
            errno.EADDRINUSE: " Another studio may run there; take another with --port, or --port 0 for any.",
            errno.EADDRNOTAVAIL: " This machine has no such address; 127.0.0.1 is it alone, 0.0.0.0 all of its own.",
        }.get(error.errno or 0, " Take another with --port, or --port 0 for any.")
        raise InvalidInput(f"port {port} of {host} cannot be used: {why}.{cure}") from None
    return listening


def own_names(host: str) -> tuple[str, ...]:
    """Names under which others may call it: the address given, and where that is all of them, those of this machine."""
    if host not in ("0.0.0.0", "::"):
        return (shown(host),)
    name = socket.gethostname().lower()
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except OSError:
        addresses = set()
    return (name, *sorted(shown(address) for address in addresses))


def shown(host: str) -> str:
    """As an address has it."""
    return f"[{host}]" if ":" in host else host


def opened(address: str) -> None:
    """A window of the browser, or a sentence on standard error: there may be none on this machine."""
    screen = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    try:
        found = screen and webbrowser.open(address)  # without a screen it would be one of text, in this terminal
    except webbrowser.Error:
        found = False
    if not found:
        print(f"No browser could be opened here. Open {address} in one.", file=sys.stderr, flush=True)
