"""Schedules in which everybody wakes once per round: fewer messages than where wakes are left to chance.

Nobody speaks twice before others have answered, which is what wastes messages of ``Asynchronous``
(theory: Turns).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ..network import Network
from ..numerics.counter_random import words
from .schedule_bases import Chosen, Nodes, NodeSchedule


class Turns(NodeSchedule):
    """Everybody once per round of ``n`` iterations. A subclass writes ``orders``."""

    @abstractmethod
    def orders(self, network: Network, key: int, rounds: Nodes) -> Nodes:
        """The nodes in the order of their turns, a row for each of the ``rounds``."""

    def nodes(self, network: Network, key: int, first: int, count: int) -> Nodes:
        rounds = np.arange(first // network.n, -(-(first + count) // network.n))
        return self.orders(network, key, rounds).reshape(-1)[first % network.n :][:count]

    def awake(self, network: Network, key: int, iterations: int) -> Chosen:
        return super().awake(network, key, min(iterations, network.n))


@dataclass(frozen=True)
class EdgeReversal(Turns):
    """A node wakes when it has heard every neighbour since it last woke; to begin with, on every edge the smaller
    number goes first. Nothing is left to chance, and no clock is needed: who is slow only delays.

    On every edge its two ends speak in turns. Whoever may wake at the same time are not neighbours, so their order
    changes no value, and the values of a run do not depend on how long messages take. One such order is ``0, 1, ..,
    n-1``, again and again, whatever the edges (of the overlay, where there is one); this is the one that is played.
    (Barbosa and Gafni, 1989.) A message must arrive in the end: whoever has not heard it waits. A long cycle that is
    numbered along the way is slow: one after the other wakes. Number it otherwise, or use a tree, which has no cycle.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.EdgeReversal().nodes(sv.Network.ring(4), key=1, first=0, count=6).tolist()
    [0, 1, 2, 3, 0, 1]
    """

    @property
    def planned(self) -> bool:
        return True

    def orders(self, network: Network, key: int, rounds: Nodes) -> Nodes:
        return np.broadcast_to(np.arange(network.n), (len(rounds), network.n))


@dataclass(frozen=True)
class Permutations(Turns):
    """Everybody once per round, in an order that is drawn anew for every round.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.Permutations().nodes(sv.Network.ring(4), key=1, first=0, count=12).tolist()
    [1, 3, 2, 0, 3, 0, 1, 2, 3, 2, 1, 0]
    """

    def orders(self, network: Network, key: int, rounds: Nodes) -> Nodes:
        # Sorted by a random word each, which has the node in its lowest bits: one quick sort, and no two are equal.
        n = np.arange(network.n, dtype=np.uint64)
        low = np.uint64((1 << (network.n - 1).bit_length()) - 1)
        drawn = words(key, rounds.astype(np.uint64)[:, None], n)
        return (np.sort((drawn & ~low) | n, axis=1) & low).astype(np.int64)
