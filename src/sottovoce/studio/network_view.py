"""The drawing of a network: what it shows comes from a scene and a report, what hands do goes back to the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui.element import Element
from nicegui.events import GenericEventArguments

from .scene import Scene
from .session import Session

PLAIN = "#cfe0f0"  # an honest party of which nothing is told
DARK = "#10243a"  # ink on it


class NetworkView(Element, component="network_view.js"):
    """Parties and edges. ``fixed`` takes clicks but no edits.

    Parameters
    ----------
    label
        What it shows, for those who do not see it.
    fixed
        Whether parties and edges stay as they are.
    """

    def __init__(self, label: str, *, fixed: bool = False) -> None:
        super().__init__()
        self._props["nodes"] = []
        self._props["edges"] = []
        self._props["groups"] = []
        self._props["mode"] = "move"
        self._props["label"] = label
        self._props["fixed"] = fixed

    def draw(
        self,
        nodes: Sequence[dict[str, Any]],
        edges: Sequence[dict[str, Any]],
        groups: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Show these, as ``node_of`` and ``edge_of`` make them."""
        self._props["nodes"] = list(nodes)
        self._props["edges"] = list(edges)
        self._props["groups"] = list(groups)
        self.update()

    def change(self, nodes: dict[int, dict[str, Any]], edges: dict[int, dict[str, Any]]) -> None:
        """Other colours, texts or widths for some of what is drawn, by number; only these travel."""
        for kind, changes in (("nodes", nodes), ("edges", edges)):
            for k, change in changes.items():
                self._props[kind][k] |= change  # what is in the list is nobody's to watch: nothing is sent for it
        if nodes or edges:
            self.run_method("change", nodes, edges)

    def show_frame(self, frame: dict[str, Any]) -> None:
        """Over the drawing: who is awake, what travels, what parties believe."""
        self.run_method("show_frame", frame)

    def set_mode(self, mode: str) -> None:
        """What a hand does: ``move``, ``draw`` edges, or ``delete``."""
        self._props["mode"] = mode
        self.update()

    def edits(self, session: Session) -> None:
        """Let hands change the scene of a session."""
        edits: dict[str, tuple[Callable[..., Scene], str]] = {
            "mark": (Scene.toggled, "i"),
            "move": (Scene.moved, "ixy"),
            "add": (Scene.added, "xy"),
            "join": (Scene.joined, "ij"),
            "cut": (Scene.cut, "ij"),
            "remove": (Scene.without, "i"),
        }
        for name, (edit, keys) in edits.items():
            self.on(name, self._obey(session, edit, keys))

    def _obey(self, session: Session, edit: Callable[..., Scene], keys: str) -> Callable[[GenericEventArguments], None]:
        def obey(event: GenericEventArguments) -> None:
            said = event.args if isinstance(event.args, dict) else {}
            session.change(lambda scene: edit(scene, *(said.get(key) for key in keys)))  # which checks them

        return obey


def node_of(scene: Scene, i: int, tip: str, **more: Any) -> dict[str, Any]:
    """A party, for ``NetworkView.draw``."""
    x, y = scene.places[i]
    return {
        "name": scene.names[i],
        "x": x,
        "y": y,
        "corrupt": i in scene.corrupt,
        "fill": PLAIN,
        "ink": DARK,
        "text": "",
        "tip": tip,
        "ring": False,
        **more,
    }


def edges_of(scene: Scene) -> list[dict[str, Any]]:
    """The edges, likewise."""
    return [{"a": i, "b": j, "tip": ""} for i, j in scene.edges]
