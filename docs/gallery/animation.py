"""An animation: iterate yields the state after every iteration; a frame colours the parties by what they hold."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

import sottovoce as sv

network = sv.Network.random_geometric(60, seed=7)
s = 20 * network.positions[:, 0] + np.random.default_rng(0).normal(0, 2, size=60)
states = sv.iterate(sv.averaging(network, s), schedule=sv.NodeBernoulli(0.5), theta=0.8, c=0.2, seed=1)
frames = [np.array(state.x) for _, state in zip(range(41), states, strict=False)]
assert np.ptp(frames[-1]) < 0.2 * np.ptp(s)

figure, axes = plt.subplots(figsize=(3, 3))
for i, j in network.edges:
    axes.plot(*network.positions[[i, j]].T, color="#dddddd", lw=0.6, zorder=1)
dots = axes.scatter(*network.positions.T, c=frames[0], s=40, cmap="viridis", vmin=s.min(), vmax=s.max(), zorder=2)
axes.axis("off")


def draw(k: int) -> None:
    dots.set_array(frames[k])
    axes.set_title(f"iteration {k}")


FuncAnimation(figure, draw, frames=range(0, 41, 4)).save("animation.gif", PillowWriter(fps=3))

strip, panels = plt.subplots(1, 4, figsize=(8, 2.2), layout="constrained")
for panel, k in zip(panels, (1, 5, 10, 40), strict=True):
    panel.scatter(*network.positions.T, c=frames[k], s=14, cmap="viridis", vmin=s.min(), vmax=s.max())
    panel.set_title(f"iteration {k}", fontsize=9)
    panel.axis("off")
strip.savefig("animation.png", dpi=110)
