"""The tools of a page that edits a network: make one, bring one, take it along, and what a hand does."""

from __future__ import annotations

import weakref
from typing import Any

from nicegui import events, ui

from ..data.problem_file import GENERATORS
from ..errors import InvalidInput, SottovoceError
from .exchange import KINDS, LARGEST, exported, imported
from .layout import heading
from .making import generated
from .network_view import NetworkView
from .scene import MOST
from .session import Session, complain, computed

FAMILIES = {
    "random_geometric": "random geometric (the paper's)",
    "ring": "ring",
    "grid": "grid",
    "complete": "complete",
    "star": "star",
    "erdos_renyi": "Erdős-Rényi",
    "regular": "random regular",
    "watts_strogatz": "small world",
}
assert set(FAMILIES) == set(GENERATORS)
KEYS = (
    "<kbd>click</kbd> or <kbd>Enter</kbd> corrupt · <kbd>drag</kbd> or arrows move · <kbd>double-click</kbd> or "
    "<kbd>a</kbd> add a party · <kbd>Shift</kbd>+drag, or <kbd>e</kbd> on two parties, join or part · "
    "<kbd>Delete</kbd> removes the party, or the edge last clicked · <kbd>Ctrl</kbd>+<kbd>Z</kbd> undo"
)


def network_tools(session: Session) -> None:
    """Families of networks, and files."""
    heading("Network", "Who talks to whom. Everybody must be reached by everybody.")
    family = ui.select(FAMILIES, label="Family").classes("w-full")
    family.props('dense outlined stack-label placeholder="as drawn"')
    with ui.row().classes("w-full no-wrap items-center"):
        parties = ui.number("Parties", value=session.scene.n, min=3, max=MOST, precision=0).props("dense outlined")
        seed = ui.number("Seed", value=1, min=0, max=2**32, precision=0).props("dense outlined")

    def make() -> None:
        if family.value is None or parties.value is None or seed.value is None:
            complain(InvalidInput("choose a family, a number of parties and a seed."))
            return
        session.change(lambda scene: generated(family.value, int(parties.value), int(seed.value), scene))

    dialog = ui.dialog()
    with ui.row().classes("w-full no-wrap items-center"):
        ui.button("Generate", on_click=make).props("unelevated dense no-caps padding='4px 14px'")
        with ui.button("Files", icon="expand_more").props("flat dense no-caps"), ui.menu().classes("files"):
            ui.menu_item("Open a file …", on_click=dialog.open)
            ui.separator()
            for kind, called in KINDS.items():
                ui.menu_item(f"Save as {called} (.{kind})", on_click=lambda kind=kind: _save(session, kind))
    with dialog, ui.card():
        ui.label("An edge list (.txt), GraphML (.graphml) or a problem file (.toml)").classes("soft")

        visit, window = (
            weakref.ref(session),
            weakref.ref(dialog),
        )  # routes of uploads are remembered when a page is gone

        async def read(event: events.UploadEventArguments) -> None:
            session, dialog = visit(), window()
            if session is None or dialog is None:
                return
            event.sender.reset()  # type: ignore[attr-defined]  # for the next file
            dialog.close()
            found = await computed(imported, event.file.name, await event.file.read(), session.scene)
            if found is None:
                return
            scene, said = found
            session.change(lambda _: scene)
            if said:
                ui.notify(said, type="info", multi_line=True, timeout=10000, close_button="Close")

        upload = ui.upload(on_upload=read, max_file_size=LARGEST, max_files=1, auto_upload=True, label="Choose a file")
        upload.props('accept=".txt,.csv,.graphml,.toml" flat bordered')
        upload.on("rejected", lambda: ui.notify(f"At most {LARGEST:,} bytes, .txt, .graphml or .toml.", type="warning"))

    def follow(_: Any, scene: Any) -> None:
        parties.set_value(scene.n)

    session.listen(follow)


def _save(session: Session, kind: str) -> None:
    try:
        ui.download.content(exported(kind, session.scene), {"toml": "problem.toml"}.get(kind, f"network.{kind}"))
    except SottovoceError as error:
        complain(error)


def hand_tools(view: NetworkView) -> None:
    """What a hand does, and the drawing as a file."""
    with ui.row().classes("items-center w-full no-wrap"):
        modes = {"move": "Mark and move", "draw": "Draw edges", "delete": "Delete"}
        toggle = ui.toggle(modes, value="move", on_change=lambda event: view.set_mode(event.value))
        toggle.props('dense no-caps unelevated toggle-color=primary padding="3px 12px" aria-label="What a click does"')
        ui.element("div").classes("studio-fill")
        for kind in ("png", "svg"):
            button = ui.button(kind.upper(), on_click=lambda kind=kind: picture(view, kind))
            with button.props(f'flat dense size=sm aria-label="The network as {kind.upper()}"'):
                ui.tooltip(f"Save the drawing as {kind.upper()}")


def picture(view: NetworkView, kind: str) -> None:
    """The drawing as a file of the browser's."""
    ui.run_javascript(f"studio.picture('{view.html_id}', 'network', '{kind}')")


def hand_keys() -> None:
    """Which keys and gestures there are."""
    ui.html(KEYS, sanitize=False).classes("keys")
