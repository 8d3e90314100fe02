"""A transcript as a table: who said what to whom, and whether it arrived. Nothing else ever travels."""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

network = sv.Network.ring(4).with_labels(["Ann", "Bob", "Cat", "Dan"])
s = np.array([62.0, 71, 55, 80])
result = sv.solve(
    sv.averaging(network, s),
    schedule=sv.EdgeBernoulli(0.8),  # one message in five is lost
    mask=sv.GaussianMask(variance=1e9),
    seed=1,
    record=[sv.Transcript()],
)
assert abs(result["Ann"] - s.mean()) < 1e-6

transcript = result.history["transcript"]
frame = transcript.to_frame()
frame.to_csv("transcript.csv", index=False)
assert len(frame) == result.messages
assert abs(frame["arrived"].mean() - 0.8) < 0.1

figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
axes.axis("off")
shown = frame.iloc[[*range(6), *range(-6, 0)]]
cells = shown.assign(value=shown["value"].map("{:+.3f}".format)).to_numpy()
table = axes.table(cells, colLabels=list(frame.columns), loc="center", edges="horizontal")
table.auto_set_font_size(False)
table.set_fontsize(8)
axes.set_title("the first and the last messages of a run whose answer is 67", fontsize=10)
figure.savefig("transcript.png", dpi=110)
