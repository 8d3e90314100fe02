"""Saving and loading: a result in a file, and the run goes on from it another day. The data stay where they are."""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

network = sv.Network.random_geometric(40, seed=9)
s = np.random.default_rng(3).normal(size=40)
problem = sv.averaging(network, s)
watch = {"record": [sv.MeanSquaredError(s.mean())], "tol": 0}
whole = sv.solve(problem, c=0.2, max_rounds=200, **watch)

first = sv.solve(problem, c=0.2, max_rounds=100, **watch)
first.save("run.npz")  # .json for other programs; neither holds the problem, which is the data

saved = sv.Result.load("run.npz")  # another day
assert (saved.z == first.z).all()  # to the bit
assert saved.network.m == network.m
rest = sv.solve(problem, z0=saved.z, c=saved.c, theta=saved.theta, max_rounds=100, **watch)
assert np.allclose(rest.z, whole.z, atol=1e-12)  # as if it had never stopped

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.semilogy(np.sqrt(whole.history["error"]), color="#999999", lw=4, label="in one go")
axes.semilogy(np.sqrt(saved.history["error"]), color="#0072B2", label="until it was saved")
axes.semilogy(100 + rest.history["iteration"][1:], np.sqrt(rest.history["error"][1:]), color="#D55E00", label="loaded")
axes.set(xlabel="iteration", ylabel="error of x (root mean square)")
axes.legend()
figure.savefig("save_load.png", dpi=110)
