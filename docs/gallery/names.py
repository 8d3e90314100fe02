"""A NetworkX graph whose nodes have names: fifteen families of Florence, and who is exposed if the Medici listen."""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import sottovoce as sv

graph = nx.florentine_families_graph()
network = sv.Network.from_networkx(graph)
number = {name: i for i, name in enumerate(network.labels)}  # data come by name, arrays by number
wealth = {name: 10.0 + 3 * graph.degree(name) for name in graph}
problem = sv.averaging(network, [wealth[name] for name in network.labels])

mask = sv.GaussianMask(variance=1e8)
result = sv.solve(problem, mask=mask)
assert np.allclose(result.x, np.mean(list(wealth.values())))
report = sv.privacy.audit(problem, mask=mask, corrupt={number["Medici"]})
exposed = {network.name(i) for i in report.exposed}
assert exposed == {"Acciaiuoli"}
assert report.verdict() == "disclosed"
weak = {network.name(i) for i in sv.privacy.exposure(network, sv.privacy.Worst(1)).exposed}

colours = {"Medici": "#222222"} | dict.fromkeys(weak, "#fdae6b") | dict.fromkeys(exposed, "#D55E00")
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
place = nx.spring_layout(graph, seed=8)
nx.draw_networkx_edges(graph, place, ax=axes, edge_color="#bbbbbb")
nx.draw_networkx_nodes(graph, place, ax=axes, node_size=80, node_color=[colours.get(v, "#0072B2") for v in graph])
above = {v: (x, y + 0.11) for v, (x, y) in place.items()}
nx.draw_networkx_labels(graph, above, ax=axes, font_size=8, bbox={"fc": "white", "ec": "none", "pad": 0, "alpha": 0.8})
axes.set_title("black listens, red is disclosed, orange would be to its only neighbour", fontsize=9)
axes.axis("off")
figure.savefig("names.png", dpi=110)
