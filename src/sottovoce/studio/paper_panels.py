"""How the page of the paper looks: the pictures of each figure, and a claim with its verdict."""

from __future__ import annotations

from html import escape
from typing import Any

from nicegui import ui

from ..paper.claims import CONDITION, FAILS, OPEN
from . import words
from .making import first_scene, on_network
from .network_view import NetworkView, edges_of, node_of
from .paper_figures import Found, figure1_curves, figure2_curves, figure3_curves, figure3_lines
from .paper_words import Said
from .plots import Plot
from .scene import Scene

CSS = """
.paper-plots {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 0 12px; margin-top: 10px;
}
.paper-plots .nicegui-echart { height: 194px !important; }
.paper-plots.tall .nicegui-echart { height: 300px !important; }
.paper-plots.single .nicegui-echart { height: 60vh !important; }
@media (min-width: 1600px) {
  .paper-plots .nicegui-echart { height: 52vh !important; }
  .paper-plots.tall .nicegui-echart { height: 44vh !important; }
}
.paper-network svg { max-height: 250px !important; }
.paper-network .nv-name { font-size: 19px; }
.claim { border-top: 1px solid var(--rim); padding: 8px 0; font-size: 14px; }
.claim .verdict { font-size: 12px; padding: 0 8px; margin-left: 4px; white-space: nowrap; }
.claim p { margin: 2px 0 0; color: var(--soft); }
"""
SQUARED = "squared units of the numbers"
AWAY = 92  # pixels from the edge to an axis
KINDS = {FAILS: "not", CONDITION: "weak", OPEN: "weak"}
SHAPES = {1: "", 2: "single", 3: "tall"}
ERROR = (
    "How far nodes are from the mean of all numbers, squared; expected over masks. Whoever knows the mean can tell, "
    "and no node can."
)
REACHES = (
    "The part of the messages' noise in Psi, per message, in squares of the numbers' unit. Whoever taps a channel sees "
    "it in the messages."
)
STAYS = (
    "The part of the messages' noise outside Psi, per message, in squares of the numbers' unit. It hides the numbers "
    "from whoever taps a channel."
)


class Picture(Plot):
    """With a name of the vertical axis that takes two lines, as there is its unit in it."""

    def _options(self, curves: Any, lines: Any) -> dict[str, Any]:
        options = super()._options(curves, lines)
        options["grid"]["left"] = AWAY
        options["yAxis"]["name"] = self.y.replace(f" ({SQUARED})", f"\n({SQUARED})")
        return options


def pictures(figure: int) -> dict[str, Plot]:
    """The empty pictures of a figure, by what they show."""
    with ui.element("div").classes(f"paper-plots {SHAPES[figure]}"):
        if figure == 1:
            return {
                "x_error": Picture("Error of the answer", "iteration", f"mean of (x_i − x*)² ({SQUARED})", log_y=True,
                                   tip=ERROR),
                "var_z_psi": Picture("Noise that reaches the answer", "iteration", f"variance of Z_Psi ({SQUARED})",
                                     log_y=True, tip=REACHES),
                "var_z_perp": Picture("Noise that stays", "iteration", f"variance of Z_perp ({SQUARED})", tip=STAYS),
            }  # fmt: skip
        if figure == 2:
            return {
                "var_z_perp": Picture("Noise that stays", "iteration", f"variance of Z_perp ({SQUARED})", tip=STAYS)
            }
        learned = f"What one iteration tells the corrupt neighbours of the attacked node. {words.NATS}"
        narrower = "How much narrower their interval becomes"
        return {
            "nats": Plot("What one iteration tells", "iteration", "information (nats)", tip=learned),
            "narrower": Plot(narrower, "iteration", "narrower by (%)", tip=words.NARROWER),
        }


def draw(found: Found, drawn: dict[str, Plot]) -> None:
    """Fill the pictures of its figure."""
    for name, plot in drawn.items():
        plot.x = across(found)
        if found.controls.figure == 1:
            plot.draw(figure1_curves(found, name))
        elif found.controls.figure == 2:
            plot.draw(figure2_curves(found))
        else:
            plot.draw(figure3_curves(found, name), figure3_lines(found) if name == "nats" else ())


def across(found: Found) -> str:
    """What the horizontal axis says."""
    if found.controls.figure == 1:
        return "iteration, one node activation each"
    if found.controls.axis == "activations":
        return "node activations"
    return f"iteration (asynchronous: one node; synchronous: all {found.n})"


def draw_attack(view: NetworkView, found: Found, scene: Scene) -> None:
    """The network of Figure 3: who is attacked, by whom, and who is honest."""
    network = found.experiment.problem.network
    if found.controls.graph == "paper":
        scene = on_network(first_scene(), network, [network.name(i) for i in range(network.n)])
    nodes = []
    for i in range(network.n):
        corrupt = i in network.around(found.node) and i != found.honest
        role = "attacked" if i == found.node else "corrupt" if corrupt else "honest"
        tip = f"{network.name(i)}: {role}. Click to attack it instead."
        nodes.append(node_of(scene, i, tip, corrupt=corrupt, ring=i == found.node))
    view.draw(nodes, edges_of(scene))


def claim_html(said: Said) -> str:
    """A claim, whether it holds, and why."""
    kind = KINDS.get(said.verdict, "")
    verdict = f"<span class='verdict {kind}'>{escape(said.verdict)}</span>"
    why = escape(said.text[:1].upper() + said.text[1:])
    return f"<div class='claim'>“{escape(said.claim)}” {verdict}<p>{why}</p></div>"
