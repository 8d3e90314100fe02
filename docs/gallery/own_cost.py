"""A cost of your own: the pinball loss, whose consensus is a quantile of all numbers. Its prox has three cases."""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

TAU = 0.9


def pinball(s: float) -> sv.Custom:
    def value(x: float) -> float:  # its minimiser over many s is their TAU-quantile
        return max(TAU * (s - x), (TAU - 1) * (s - x))

    def prox(v: float, t: float) -> float:  # argmin_x value(x) + (x - v)^2 / (2t)
        return v + TAU * t if v < s - TAU * t else v - (1 - TAU) * t if v > s + (1 - TAU) * t else s

    return sv.Custom(prox, value)


rng = np.random.default_rng(2)
network = sv.Network.random_geometric(31, seed=6)
waits = rng.gamma(2.0, 10.0, size=31)  # minutes
result = sv.solve(sv.Problem(network, [pinball(s) for s in waits]), c=0.02, tol=1e-7)
quantile = np.sort(waits)[int(np.ceil(TAU * 31)) - 1]
assert np.allclose(result.x, quantile, atol=1e-4)

figure, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
axes.eventplot(waits, colors="#999999", lineoffsets=0, linelengths=1)
axes.axvline(result.x[0], color="#D55E00", label="0.9-quantile, as agreed on")
axes.set(xlabel="waiting time at 31 practices, minutes", yticks=[])
axes.legend()
figure.savefig("own_cost.png", dpi=110)
