"""A sweep over c and theta, on all cores, with a progress bar. A run depends on its arguments and seed alone."""

import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import track

import sottovoce as sv
from sottovoce.errors import NotConvergedWarning

NETWORK = sv.Network.random_geometric(30, seed=5)
PROBLEM = sv.averaging(NETWORK, np.random.default_rng(0).normal(size=30))
STEPS, THETAS = np.geomspace(0.05, 3, 12), (1.0, 0.8, 0.5)


def rounds(case: tuple[float, float]) -> float:
    theta, c = case
    warnings.simplefilter("ignore", NotConvergedWarning)  # of a c that is far off
    result = sv.solve(PROBLEM, schedule=sv.Asynchronous(), theta=theta, c=c, seed=1, tol=1e-8, max_rounds=1000)
    return result.activations / NETWORK.n if result.converged else np.nan


if __name__ == "__main__":
    cases = list(product(THETAS, STEPS))
    with ProcessPoolExecutor(2) as pool:
        found = list(track(pool.map(rounds, cases), total=len(cases), description="runs"))
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    for theta, row in zip(THETAS, np.reshape(found, (len(THETAS), -1)), strict=True):
        axes.loglog(STEPS, row, marker="o", ms=3, label=f"theta = {theta:g}")
    automatic = sv.solve(PROBLEM, schedule=sv.Asynchronous(), seed=1, tol=1e-8)
    axes.axvline(automatic.c, color="#999999", ls=":", label='c = "auto"')
    axes.set(xlabel="c", ylabel="rounds to 1e-8")
    axes.legend(fontsize=8)
    figure.savefig("sweep.png", dpi=110)
