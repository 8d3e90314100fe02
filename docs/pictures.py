"""Draws the pictures of the README and of docs/explanation/given-away.md: ``python docs/pictures.py``."""

import os
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

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
    for i, j in network.edges:
        graph.plot(*network.positions[[i, j]].T, color=GREY, lw=1, zorder=1)
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
    agreement.set_xlabel("activations")
    figure.savefig(Path(__file__).parent / "images" / "agreement.png", dpi=160)


def run_page(page: Path) -> None:
    """The Python blocks of a page, which write its pictures into the current directory."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    exec(compile("\n".join(blocks), str(page), "exec"), {"__name__": "page"})


if __name__ == "__main__":
    main()
    here = Path(__file__).resolve().parent
    os.chdir(here / "images")
    run_page(here / "explanation" / "given-away.md")
