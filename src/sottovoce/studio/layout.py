"""What all pages have: the bar with its links, undo and redo, dark mode, and small pieces of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any

from nicegui import ui

from .scene import Scene
from .session import Session

PAGES = {
    "/": "Playground",
    "/learns": "Who learns what",
    "/compare": "Compare",
    "/paper": "The paper",
    "/live": "A live run",
}
Cell = str | tuple[str, str]
LOOKS = {"auto": None, "light": False, "dark": True}
ICONS = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}


@cache
def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@contextmanager
def page(session: Session, look: str = "auto", notice: str = "", *, edits: bool = True) -> Iterator[None]:
    """The bar of a page, and below it whatever is made inside."""
    ui.add_css(_file("studio.css"))
    ui.add_head_html(f"<script>{_file('studio.js')}</script>")
    ui.colors(primary="#0072b2", warning="#8a5a00", negative="#b34700")
    ui.page_title(f"{PAGES[session.path]} · sottovoce")
    ui.html(f"<h1 class='unseen'>{PAGES[session.path]}</h1>", sanitize=False)
    session.look = look if look in LOOKS else "auto"
    dark = ui.dark_mode(LOOKS[session.look])
    with ui.element("header").classes("studio-bar"):
        ui.html("sottovoce <span>studio</span>", sanitize=False).classes("studio-mark")
        links: dict[str, Any] = {}
        with ui.element("nav").props('aria-label="Pages"'):
            for path, name in PAGES.items():
                links[path] = ui.link(name, session.address(path)).classes("studio-page")
        links[session.path].props('aria-current="page"')
        ui.element("div").classes("studio-fill")
        buttons = _undo_and_redo(session) if edits else []
        with ui.button(icon="link", on_click=lambda: _copied(session)).props(
            'flat round aria-label="Copy a link to this"'
        ):
            ui.tooltip("Copy a link to this page as it is: whoever opens it sees the same. It holds the numbers, too.")

        def turn() -> None:
            session.look = list(LOOKS)[(list(LOOKS).index(session.look) + 1) % len(LOOKS)]
            dark.set_value(LOOKS[session.look])
            switch.props(f'icon={ICONS[session.look]} aria-label="Look: {session.look}. Change it"')
            session.tell_address()
            follow(session.scene, session.scene)

        switch = ui.button(icon=ICONS[session.look], on_click=turn)
        with switch.props(f'flat round aria-label="Look: {session.look}. Change it"'):
            ui.tooltip("Light, dark, or as the system has it")

    def follow(_: Scene, __: Scene) -> None:
        for path, link in links.items():
            link.props(f'href="{session.address(path)}"')
        for button, steps in buttons:
            button.set_enabled(bool(steps()))

    session.listen(follow)
    if notice:
        ui.label(notice).classes("notice").props('role="status"')
    yield


def _undo_and_redo(session: Session) -> list[tuple[Any, Callable[[], list[Scene]]]]:
    undo = ui.button(icon="undo", on_click=session.undo).props('flat round aria-label="Undo"')
    with undo:
        ui.tooltip("Undo (Ctrl+Z)")
    redo = ui.button(icon="redo", on_click=session.redo).props('flat round aria-label="Redo"')
    with redo:
        ui.tooltip("Redo (Ctrl+Y)")
    undo.disable()
    redo.disable()

    def key(event: Any) -> None:
        if event.action.keydown and (event.modifiers.ctrl or event.modifiers.meta):
            if event.key == "z" and not event.modifiers.shift:
                session.undo()
            elif event.key in ("y", "Y", "Z"):
                session.redo()

    ui.keyboard(on_key=key)
    return [(undo, lambda: session.past), (redo, lambda: session.future)]


def _copied(session: Session) -> None:
    ui.run_javascript("navigator.clipboard && navigator.clipboard.writeText(location.href)")
    ui.notify("The link is in the clipboard, and in the address bar.", type="info")


class Slider(ui.slider):
    """A slider that stays in the hand: the server does not echo what it was just told."""

    LOOPBACK = False


@contextmanager
def columns(three: bool = True) -> Iterator[tuple[Any, Any, Any]]:
    """Controls to the left, the picture in the middle, what it means to the right."""
    with ui.element("main").classes("studio-main" if three else "studio-main two"):
        left = ui.element("section").classes("studio-side").props('aria-label="Controls"')
        centre = ui.element("section").classes("studio-centre")
        right = (
            ui.element("section").classes("studio-side right").props('aria-label="What it means"') if three else None
        )
        yield left, centre, right


def heading(text: str, tip: str = "") -> None:
    """A small heading, with a word on what is below it."""
    with ui.element("div").classes("heading"):
        ui.html(f"<h2>{escape(text)}</h2>", sanitize=False)
        if tip:
            help = ui.icon("help_outline").props('tabindex=0 role="img"').classes("help")
            help.props["aria-label"] = tip
            with help:
                ui.tooltip(tip)


def facts(
    rows: Iterable[Sequence[Cell]], header: Sequence[Cell] = (), caption: str = "", tips: Sequence[str] = ()
) -> str:
    """A table as HTML: the first cell of a row is its name. All of it is escaped; a cell may be ``(text, tip)``, and
    ``tips`` are of whole rows."""
    head = "".join(_cell("th", cell, k == 0) for k, cell in enumerate(header))
    body = ""
    for row, tip in zip_longest(rows, tips, fillvalue=""):
        cells = "".join(_cell("th" if k == 0 else "td", cell, k == 0) for k, cell in enumerate(row))
        body += f"<tr{_title(tip)}>{cells}</tr>"
    said = f"<caption class='soft small'>{escape(caption)}</caption>" if caption else ""
    return (
        f"<table class='facts'>{said}{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
    )


def _cell(tag: str, cell: Cell, first: bool) -> str:
    text, tip = cell if isinstance(cell, tuple) else (cell, "")
    kind = ' class="left"' if first else ""
    return f"<{tag}{kind}{_title(tip)}>{escape(str(text))}</{tag}>"


def _title(tip: str) -> str:
    return f' title="{escape(tip)}"' if tip else ""
