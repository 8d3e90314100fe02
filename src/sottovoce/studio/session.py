"""One visit to one page: its scene, what can be undone, and who wants to know of a change. Nothing is kept anywhere
else, so that no page can see another's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from nicegui import run, ui

from ..errors import SottovoceError
from .link import to_link
from .scene import Scene

T = TypeVar("T")

UNDONE = 100  # steps that can be taken back
AT_ONCE = 2  # long computations under way, of all visitors together

_busy = asyncio.Semaphore(AT_ONCE)


class Session:
    """The scene of a page. ``listen`` to changes; ``change`` it."""

    def __init__(self, scene: Scene, path: str) -> None:
        self.scene, self.path = scene, path
        self.past: list[Scene] = []
        self.future: list[Scene] = []
        self.listeners: list[Callable[[Scene, Scene], None]] = []  # of the scene before and the one now
        self.look = "auto"  # or light, or dark
        self.extra: dict[str, str] = {}  # what this page alone keeps in its address

    def listen(self, listener: Callable[[Scene, Scene], None]) -> None:
        """Call this with every change."""
        self.listeners.append(listener)

    def change(self, edit: Callable[[Scene], Scene], *, remember: bool = True) -> bool:
        """Change the scene, or say why not. One that is not remembered, such as a look, is not undone either."""
        try:
            scene = edit(self.scene)
        except SottovoceError as error:
            complain(error)
            return False
        if scene == self.scene:
            return False
        if remember:
            self.past = [*self.past[1 - UNDONE :], self.scene]
            self.future = []
        self._show(scene)
        return True

    def undo(self) -> None:
        """Back to the scene before the last step."""
        if self.past:
            self.future.append(self.scene)
            self._show(self.past.pop())

    def redo(self) -> None:
        """Forward to the scene before the last undo."""
        if self.future:
            self.past.append(self.scene)
            self._show(self.future.pop())

    def _show(self, scene: Scene) -> None:
        before, self.scene = self.scene, scene
        for listener in self.listeners:
            listener(before, scene)
        self.tell_address()

    def tell_address(self) -> None:
        """Keep the address bar, and with it every link to this page, at what is shown."""
        ui.navigate.history.replace(self.address(self.path))

    def address(self, path: str) -> str:
        """Of a page with this scene."""
        look = "" if self.look == "auto" else f"&look={self.look}"
        own = f"&{urlencode(self.extra)}" if self.extra and path == self.path else ""
        return f"{path}?s={to_link(self.scene)}{look}{own}"


def complain(error: Exception) -> None:
    """A sentence for a moment, at the foot of the page."""
    text = str(error)
    ui.notify(
        text[:1].upper() + text[1:], type="warning", textColor="white", multi_line=True, timeout=8000,
        actions=[{"label": "Close", "color": "white"}],
    )  # fmt: skip


async def computed(work: Callable[..., T], *arguments: Any) -> T | None:
    """A long computation beside the page, which stays alive; None where the library refuses, and has said why."""
    client = ui.context.client
    async with _busy:
        if client.is_deleted:  # whoever asked has left meanwhile
            return None
        try:
            return await run.io_bound(work, *arguments)
        except SottovoceError as error:
            complain(error)
            return None
