"""A sweep over c and theta, on all cores, with a progress bar. A run depends on its arguments and seed alone."""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

NETWORK = sv.Network.random_geometric(30, seed=5)
PROBLEM = sv.averaging(NETWORK, np.random.default_rng(0).normal(size=30))
STEPS, THETAS = np.geomspace(0.05, 3, 12), (1.0, 0.8, 0.5)
common = {"schedule": sv.Asynchronous(), "tol": 1e-8}

found = sv.sweep(PROBLEM, {"theta": THETAS, "c": STEPS}, seeds=[1], max_rounds=1000, **common)

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for theta in THETAS:
    rows = [row for row in found.rows() if row["theta"] == theta and row["status"] == "converged"]
    rounds = [row["activations"] / NETWORK.n for row in rows]
    axes.loglog([row["c"] for row in rows], rounds, marker="o", ms=3, label=f"theta = {theta:g}")
automatic = sv.solve(PROBLEM, seed=1, **common)
axes.axvline(automatic.c, color="#999999", ls=":", label='c = "auto"')
axes.set(xlabel="c", ylabel="rounds to 1e-8")
axes.legend(fontsize=8)
figure.savefig("sweep.png", dpi=110)
