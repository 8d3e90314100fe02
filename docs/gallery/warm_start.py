"""Warm start: the data have changed a little, and the run goes on from the z of the last one, with its c.

For simulation. Between parties a warm start shows how everybody's data changed, whatever the mask was.
"""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

rng = np.random.default_rng(0)
network = sv.Network.random_geometric(40, seed=3)
yesterday = rng.normal(20, 5, size=40)
today = yesterday + rng.normal(0, 0.1, size=40)

before = sv.solve(sv.averaging(network, yesterday))
kept = {"c": before.c, "record": [sv.MeanSquaredError(today.mean())], "tol": 1e-10, "check_every": 5}
cold = sv.solve(sv.averaging(network, today), **kept)
warm = sv.solve(sv.averaging(network, today), z0=before.z, **kept)  # z belongs to its c: keep both
assert np.allclose(warm.x, today.mean())
assert warm.iterations < cold.iterations

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for result, name, colour in ((cold, "from zero", "#999999"), (warm, "from yesterday's z", "#0072B2")):
    axes.semilogy(result.history["iteration"], np.sqrt(result.history["error"]), color=colour, label=name)
axes.set(xlabel="iteration", ylabel="error of x (root mean square)", ylim=(1e-10, 100))
axes.legend()
figure.savefig("warm_start.png", dpi=110)
