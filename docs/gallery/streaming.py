"""Streaming: the data drift all the time, and two iterations a tick follow their mean.

For simulation, as every warm start is: a run between parties answers one question, once.
"""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

rng = np.random.default_rng(1)
network = sv.Network.random_geometric(25, seed=2)
s, z = rng.normal(18, 2, size=25), None
means, lowest, highest = [], [], []
for tick in range(150):
    s = s + 0.1 * np.sin(tick / 20) + rng.normal(0, 0.3, size=25)  # everybody reads its sensor again
    result = sv.solve(sv.averaging(network, s), z0=z, c=0.3, tol=0, max_iter=2)
    z = result.z
    means.append(s.mean())
    lowest.append(result.x.min())
    highest.append(result.x.max())
assert np.abs(np.array(highest) - means)[50:].max() < 0.5

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.fill_between(range(150), lowest, highest, color="#9ecae1", label="what the 25 parties hold")
axes.plot(means, color="#D55E00", lw=1, label="true mean")
axes.set(xlabel="tick (2 iterations each)", ylabel="temperature", ylim=(16, 24))
axes.legend()
figure.savefig("streaming.png", dpi=110)
