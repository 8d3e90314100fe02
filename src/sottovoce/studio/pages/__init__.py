"""The pages, each at its own address."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from ...errors import SottovoceError
from ..layout import page
from ..link import from_link
from ..scene import Scene
from ..session import Session
from .compare import Compare
from .learns import Learns
from .live import Live
from .paper import Paper
from .playground import Playground

if TYPE_CHECKING:
    from ..live_run import LiveRun


def every_page(start: Scene, live: LiveRun | None, notice: str) -> None:
    """Make them; ``start`` is what they show to whoever comes without a link."""
    _at("/", Playground, start, notice)
    _at("/learns", Learns, start, notice)
    _at("/compare", Compare, start, notice)
    _at("/paper", Paper, start, notice)
    _at("/live", partial(Live, live=live), start, "", edits=False)


def _at(path: str, build: Callable[[Session], object], start: Scene, notice: str, *, edits: bool = True) -> None:
    def visit(s: str = "", look: str = "auto") -> None:
        scene, said = start, notice
        if s:
            try:
                scene = from_link(s)
                said = notice if scene == start else ""
            except SottovoceError as error:
                said = f"{str(error)[:1].upper()}{str(error)[1:]} This is the first scene."
        session = Session(scene, path)
        with page(session, look, said, edits=edits):
            build(session)

    ui.page(path)(visit)
