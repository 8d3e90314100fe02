"""A recorder of your own: a name, and a function of the run. This one: how far parties disagree."""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv


class Spread(sv.recorders.Recorder):
    """The largest difference between the answers of two parties."""

    name = "spread"

    def __call__(self, run) -> float:
        return float(np.ptp(run.x))


rng = np.random.default_rng(5)
network = sv.Network.grid(5, 6)
problem = sv.averaging(network, rng.normal(size=30))
losses = {"every message arrives": sv.Synchronous(), "one in three is lost": sv.EdgeBernoulli(2 / 3)}

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for (name, schedule), colour in zip(losses.items(), ("#0072B2", "#D55E00"), strict=True):
    result = sv.solve(problem, schedule=schedule, theta=0.8, c=0.5, seed=1, tol=1e-12, record=[Spread()])
    assert result.status is sv.Status.CONVERGED
    axes.semilogy(result.history["iteration"][1:], result.history["spread"][1:], color=colour, label=name)
axes.set(xlabel="iteration", ylabel="largest disagreement")
axes.legend()
figure.savefig("own_recorder.png", dpi=110)
