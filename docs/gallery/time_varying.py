"""A graph that changes: drones whose links come and go. The network is the union, a trace says what arrived."""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

rng = np.random.default_rng(4)
n, steps = 12, 1000
place, speed = rng.random((n, 2)), rng.normal(0, 0.01, size=(n, 2))
links, counts = [], []
for _ in range(steps):
    place, speed = np.clip(place + speed, 0, 1), np.where((place + speed) % 1 == place + speed, speed, -speed)
    far = np.linalg.norm(place[:, None] - place[None], axis=2)
    links.append({(i, j) for i, j in np.argwhere(far < 0.4).tolist() if i != j})  # both directions of a link
    counts.append(len(links[-1]) // 2)

network = sv.Network.from_edges(n, sorted({(i, j) for step in links for i, j in step if i < j}))
order = {(i, j): h for h, (i, j) in enumerate(network.half_edges.tolist())}
trace = sv.Trace(half_edges=[[order[pair] for pair in step] for step in links])
s = rng.normal(size=n)
result = sv.solve(
    sv.averaging(network, s),
    schedule=trace,
    theta=0.5,
    c=0.2,
    tol=0,
    max_iter=steps,
    record=[sv.MeanSquaredError(s.mean())],
)
assert result.history["error"][-1] < 1e-10

figure, (error, up) = plt.subplots(2, 1, sharex=True, figsize=(5, 3.4), height_ratios=(2, 1), layout="constrained")
error.semilogy(np.sqrt(result.history["error"]), color="#0072B2")
error.set_ylabel("error of x")
up.plot(counts, color="#555555", lw=1)
up.set(xlabel="step", ylabel="links up", ylim=(0, None))
figure.align_ylabels()
figure.savefig("time_varying.png", dpi=110)
