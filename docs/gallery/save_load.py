"""Saving and loading: z, c and theta are all that a run needs to go on, and a file of JSON is enough for its answer."""

import json

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

network = sv.Network.random_geometric(40, seed=9)
s = np.random.default_rng(3).normal(size=40)
problem = sv.averaging(network, s)
watch = {"record": [sv.MeanSquaredError(s.mean())], "tol": 0}
whole = sv.solve(problem, c=0.2, max_iter=200, **watch)

first = sv.solve(problem, c=0.2, max_iter=100, **watch)
network.write_edge_list("network.txt")
np.savez("run.npz", s=s, z=first.z, c=first.c, theta=first.theta)
with open("run.json", "w") as file:
    json.dump(first.to_dict(), file)

saved = np.load("run.npz")  # another day
again = sv.averaging(sv.Network.read_edge_list("network.txt"), saved["s"])
rest = sv.solve(again, z0=saved["z"], c=float(saved["c"]), theta=float(saved["theta"]), max_iter=100, **watch)
assert np.allclose(rest.z, whole.z, atol=1e-12)  # as if it had never stopped
with open("run.json") as file:
    assert json.load(file)["x"] == first.x.tolist()

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.semilogy(np.sqrt(whole.history["error"]), color="#999999", lw=4, label="in one go")
axes.semilogy(np.sqrt(first.history["error"]), color="#0072B2", label="until it was saved")
axes.semilogy(100 + rest.history["iteration"][1:], np.sqrt(rest.history["error"][1:]), color="#D55E00", label="loaded")
axes.set(xlabel="iteration", ylabel="error of x (root mean square)")
axes.legend()
figure.savefig("save_load.png", dpi=110)
