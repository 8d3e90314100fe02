"""A transcript as a table: who said what to whom. Parties as objects, driven by hand; nothing else ever travels."""

import csv

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

network = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
names, s = ["Ann", "Bob", "Cat", "Dan"], np.array([62.0, 71, 55, 80])
mask = sv.GaussianMask(variance=1e6)
pads = mask.draw((2 * network.m,), seed=1)
parties = sv.nodes_of(sv.averaging(network, s), c=1.0, theta=0.8, z0=pads, grid=mask.grid)

rows = []
for k, i in enumerate(sv.Asynchronous().nodes(network, 7, 0, 200)):
    for message in parties[i].wake():
        parties[message.receiver].receive(message)
        rows.append((k, names[message.sender], names[message.receiver], message.counter, float(message.r[0])))
assert all(abs(party.x[0] - s.mean()) < 1e-6 for party in parties)

with open("transcript.csv", "w", newline="") as file:
    csv.writer(file).writerows([("wake", "from", "to", "counter", "value"), *rows])

figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
axes.axis("off")
shown = [(*row[:4], f"{row[4]:+.3f}") for row in (*rows[:6], *rows[-6:])]
table = axes.table(shown, colLabels=("wake", "from", "to", "counter", "value"), loc="center", edges="horizontal")
table.auto_set_font_size(False)
table.set_fontsize(8)
axes.set_title("the first and the last messages of a run whose answer is 67", fontsize=10)
figure.savefig("transcript.png", dpi=110)
