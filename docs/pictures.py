"""Draws every picture of docs/images: ``python docs/pictures.py``."""

import os
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import sottovoce as sv
from sottovoce import paper

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"  # Okabe and Ito: told apart by every reader


def main() -> None:
    network = sv.Network.random_geometric(10, radius=0.5, seed=2310)
    s = np.array([62.0, 71, 55, 80, 68, 59, 74, 66, 77, 51])
    rng = np.random.default_rng(1)
    problem = sv.averaging(network, s)
    nodes = sv.nodes_of(problem, c=0.6, theta=1.0, z0=500 * rng.standard_normal(2 * network.m))
    answers, sent = [], []
    for i in sv.Asynchronous().nodes(network, 5, 0, 300):
        for message in nodes[i].wake():
            nodes[message.receiver].receive(message)
            sent.append(float(message.r[0]))
        answers.append([float(node.x[0]) for node in nodes])

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, (graph, wire, agreement) = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    graph.set_title("Ten parties, ten private numbers")
    graph.add_collection(LineCollection(network.positions[network.edges], colors=GREY, lw=1, zorder=1))
    graph.scatter(*network.positions.T, s=280, color="white", edgecolors=BLUE, linewidths=1.5, zorder=2)
    for place, value in zip(network.positions, s, strict=True):
        graph.annotate(f"{value:.0f}", place, ha="center", va="center", color=BLUE, zorder=3)
    graph.set_aspect("equal")
    graph.margins(0.12)
    graph.axis("off")

    wire.set_title("What travels between neighbours")
    wire.plot(sent, ".", ms=2, color=GREY)
    wire.set_xlabel("message")
    wire.set_ylabel("value")

    agreement.set_title("What every party ends up with")
    agreement.plot(answers, color=BLUE, lw=0.8, alpha=0.8)
    agreement.axhline(s.mean(), color=ORANGE, ls="--", lw=1.2)
    agreement.annotate(
        "exact mean", (298, s.mean()), xytext=(0, 5), textcoords="offset points", color=ORANGE, ha="right"
    )
    agreement.set_ylim(s.mean() - 60, s.mean() + 60)
    first = np.abs(answers).max()
    agreement.annotate(
        f"cut off: under the pads, first\nanswers go as far as {first:,.0f}",
        (298, s.mean() - 57),
        color="#555555",
        ha="right",
        va="bottom",
        fontsize=8,
    )
    agreement.set_xlabel("activations")
    figure.savefig(Path(__file__).parent / "images" / "agreement.png", dpi=160)


def message() -> None:
    """One message, with the names of everything in it."""
    plt.rcParams.update({"font.size": 9})
    figure, axes = plt.subplots(figsize=(8, 2.7), layout="constrained")
    axes.axis("off")
    axes.set(xlim=(0, 10), ylim=(0.7, 4), aspect="equal")
    for x, name in ((2.0, "Ann, i"), (8.0, "Bob, j")):
        axes.add_patch(plt.Circle((x, 2.5), 0.55, fill=False, ec=BLUE, lw=1.5))
        axes.annotate(name, (x, 2.5), ha="center", va="center", color=BLUE, weight="bold")
    arrow = {"arrowstyle": "-|>", "color": ORANGE, "lw": 1.5}
    axes.annotate("", (7.4, 2.5), (2.6, 2.5), arrowprops=arrow)
    words = {
        (5, 3.75, "center", "black"): "the pads of this edge, $z_{i|j}(0)$ and $z_{j|i}(0)$: known to Ann and Bob only;"
        "  $e_{ij}$ is their difference",
        (5, 2.62, "bottom", ORANGE): r"$r_{j|i} = D_{i|j} + e_{ij} + 2\,c\,A_{ij}\,x_i$,  with a counter",
        (5, 2.38, "top", GREY): "what travels: dominated by the pads in $e_{ij}$ and $x_i$",
        (2, 1.75, "top", "black"): "wakes: holds $w_i$, her data and pads as one number,\n"
        "and what each neighbour told her, $D_{i|j}$;\ncomputes $x_i$, sends one $r$ to each",
        (8, 1.75, "top", "black"): "takes the newest $r$ in:\n"
        r"$D_{j|i} \leftarrow (1-\theta)\,D_{j|i} + \theta\,r_{j|i}$"
        "\n($z_{j|i} = z_{j|i}(0) + D_{j|i}$: held by Bob, written by Ann)",
    }
    for (x, y, where, colour), text in words.items():
        axes.annotate(text, (x, y), ha="center", va=where, color=colour)
    figure.savefig(Path(__file__).parent / "images" / "message.png", dpi=130)


def overlays() -> None:
    """Pads on every edge, messages on all of them or on a tree; and what both take."""
    network = sv.Network.random_geometric(30, seed=5)
    tree = network.spanning_tree()
    s = np.random.default_rng(1).normal(62, 10, size=network.n)
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, (everywhere, over_tree, errors) = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
    places = network.positions
    for axes, title in (
        (everywhere, '"all": pads and messages on every edge'),
        (over_tree, '"tree": messages on the thick edges only'),
    ):
        axes.set_title(title)
        thin = {"colors": BLUE, "lw": 1.2} if axes is everywhere else {"colors": GREY, "lw": 0.7}
        axes.add_collection(LineCollection(places[network.edges], zorder=1, **thin))
        axes.scatter(*places.T, s=60, color="white", edgecolors=BLUE, linewidths=1.5, zorder=3)
        axes.set_aspect("equal")
        axes.margins(0.08)
        axes.axis("off")
    over_tree.add_collection(LineCollection(places[tree.edges], colors=BLUE, lw=2.6, zorder=2))
    over_tree.scatter(*places[tree.root], s=110, color=ORANGE, edgecolors="white", zorder=4)

    errors.set_title("How far the worst answer is off")
    for overlay, colour in (("all", BLUE), ("tree", ORANGE)):
        sent, off = [], []
        for state in sv.iterate(sv.averaging(network, s), overlay=overlay, mask=sv.GaussianMask(1e8), seed=1):
            if state.iteration:
                sent.append(state.messages / network.n)
                off.append(np.abs(state.x - s.mean()).max())
                if off[-1] < 1e-9:
                    break
        errors.loglog(sent, off, ".-", ms=4, lw=1, color=colour)
        name = f'"{overlay}": {sent[-1]:,.0f}'
        errors.annotate(name, (sent[-1], off[-1]), xytext=(-8, 1), textcoords="offset points", color=colour, ha="right")
    errors.set_xlabel("messages per party")
    errors.set_ylabel("error")
    figure.savefig(Path(__file__).parent / "images" / "overlays.png", dpi=130)


def comparison() -> None:
    """All methods at equal leakage, and what they cost: half a minute."""
    found = sv.compare(sv.Network.random_geometric(10, seed=0))
    found.plot(Path(__file__).parent / "images" / "comparison.png")
    found.plot_costs(Path(__file__).parent / "images" / "costs.png")


def figures() -> None:
    """Those of the paper."""
    for draw in (paper.figure1, paper.figure2, paper.figure3):
        draw().figure.savefig(Path(__file__).parent / "images" / f"{draw.__name__}.png", dpi=220)


def run_page(page: Path) -> None:
    """The Python blocks of a page, which write its pictures into the current directory."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    exec(compile("\n".join(blocks), str(page), "exec"), {"__name__": "page"})


if __name__ == "__main__":
    main()
    message()
    overlays()
    figures()
    comparison()
    here = Path(__file__).resolve().parent
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        run_page(here / "explanation" / "given-away.md")
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, here / "images")
        os.chdir(here)
