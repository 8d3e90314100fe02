"""All parties of an agreement in one process: the state machines of ``party``, driven up the tree and down."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidInput
from ..network import Network
from ..network.trees import SpanningTree
from .integer_sums import Whole
from .party import EdgePads, Party
from .ring import MOST_PARTIES, Ring

BLOCK = 2**22  # words of pads that are drawn at a time: 32 MB


@dataclass
class Traffic:
    """What agreements sent, over all parties: messages, and bytes of content in them."""

    agreements: int = 0
    messages: int = 0
    bytes: int = 0


def summed(network: Network, tree: SpanningTree, own: Sequence[Whole], ring: Ring, traffic: Traffic) -> Whole:
    """The sum over all parties of their integers, as each of them holds it at the end.

    Parameters
    ----------
    network : Network
        Pads lie on all of its edges.
    tree : SpanningTree
        Words travel on its edges: up to the root, and down again.
    own : sequence of Whole
        ``(k,)`` integers of each party.
    ring : Ring
        Large enough for the total.
    traffic : Traffic
        Counts what travels.

    Returns
    -------
    Whole
        ``(k,)``, exact.
    """
    if network.n > MOST_PARTIES:
        raise InvalidInput(f"an exact sum takes at most {MOST_PARTIES:,} parties; the network has {network.n:,}.")
    k = len(own[0])
    step = max(1, BLOCK // (ring.width * max(1, network.m)))
    blocks = [
        _block(network, tree, [integers[first : first + step] for integers in own], ring)
        for first in range(0, max(1, k), step)
    ]
    traffic.agreements += 1
    traffic.messages += 2 * (network.n - 1)
    traffic.bytes += 2 * (network.n - 1) * k * ring.width * 8
    return np.concatenate(blocks)


def _block(network: Network, tree: SpanningTree, own: Sequence[Whole], ring: Ring) -> Whole:
    k = len(own[0])
    words = np.stack([ring.words(integers) for integers in own])
    covered = ring.cover_all(network, words, ring.draw((network.m, k)))
    parents = tree.parents.tolist()
    edges: list[dict[Hashable, EdgePads]] = [{} for _ in range(network.n)]
    for i, parent in enumerate(parents):
        if i != tree.root:
            up, down = ring.draw((k,)), ring.draw((k,))
            edges[i][parent], edges[parent][i] = EdgePads(up, down), EdgePads(down, up)
    parties = [Party(ring, words, pads) for words, pads in zip(covered, edges, strict=True)]
    outward = np.argsort(tree.levels, kind="stable").tolist()  # each after its parent, the root first
    for i in reversed(outward[1:]):
        parties[parents[i]].receive(i, parties[i].outgoing(parents[i]))
    for i in outward[1:]:
        parties[i].receive(parents[i], parties[parents[i]].outgoing(i))
    totals = [party.total for party in parties]
    assert all(np.array_equal(total, totals[0]) for total in totals)
    return ring.integers(totals[0])
