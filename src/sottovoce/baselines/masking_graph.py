"""Who masks with whom in secure aggregation, and which sums that leaves to be seen."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

from ..network.graphs import components
from ..privacy.adversary import Adversary

Graph = Mapping[int, set[int]]


def masking_graph(n: int, k: int, rng: random.Random) -> Graph:
    """Harary's ``k``-regular graph on the parties in random order, as Bell et al. take it; connected, and complete for
    ``k = n - 1``."""
    order = list(range(n))
    rng.shuffle(order)
    steps = [*range(1, k // 2 + 1), *([n // 2] if k % 2 else [])]
    graph: dict[int, set[int]] = {i: set() for i in range(n)}
    for a in range(n):
        for step in steps:
            i, j = order[a], order[(a + step) % n]
            graph[i].add(j)
            graph[j].add(i)
    return graph


def known_groups(
    graph: Graph, t: int, early: set[int], late: set[int], adversary: Adversary, *, answered: bool
) -> list[list[int]]:
    """The groups of honest parties whose sum an adversary learns, who cannot break the ciphers.

    Without the server it is told the answer, if one of it stays. With the server it has every input that came, the
    shares that were revealed and its own. A pad between two parties is known with the key of one of them. What is left
    of the pads cancels over groups that they connect, whose sum shows if all other masks of the group are known.
    """
    corrupt, n = adversary.corrupt, len(graph)
    came = [i for i in range(n) if i not in early and i not in corrupt]
    stay = set(range(n)) - early - late
    if not adversary.taps:
        return [came] if came and answered and stay & corrupt else []
    # Of whom its shares give the key of pads: of those whose input came, only corrupt parties show that.
    open_keys = {i for i in came if len(corrupt & graph[i]) > t}

    def rebuilt(i: int) -> bool:
        """Whether shares that were revealed, and its own, are enough: of b if the input came, of the key if not."""
        return len((stay | corrupt) & graph[i]) > t

    def bare(i: int) -> bool:
        """Whether nothing is left on the input but pads of honest parties whose input came."""
        gone = (graph[i] & early) - corrupt if i not in open_keys else set()
        return rebuilt(i) and all(rebuilt(j) for j in gone)

    place = {i: a for a, i in enumerate(came)}
    hidden = [(i, j) for i in came for j in graph[i] if i < j and j in place and not {i, j} & open_keys]
    edges = np.array([(place[i], place[j]) for i, j in hidden], dtype=np.int64).reshape(-1, 2)
    count, part = components(len(came), edges) if came else (0, np.zeros(0))
    groups = [[i for i in came if part[place[i]] == label] for label in range(count)]
    return [group for group in groups if all(bare(i) for i in group)]
