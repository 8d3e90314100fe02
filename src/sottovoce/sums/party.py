"""One party of one agreement on a sum: a state machine without sockets, clock, disk or random numbers.

Every entry is written once. ``IN[j]`` is what neighbour ``j`` of the tree said,

    OUT[j] = own + sum of IN[k] over the other neighbours k,        X = own + sum of all IN,

and ``own`` has the pads of all edges of the network in it, so that they cancel from ``X``, the total. On the edge a
second pad of that edge and direction lies on ``OUT[j]``: an eavesdropper of open channels sees uniform words.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np

from ..errors import PeerError
from .ring import Ring, Words


class EdgePads(NamedTuple):
    """The second pads of an edge of the tree, one for each direction."""

    outgoing: Words
    incoming: Words


class Party:
    """What one party knows of one agreement.

    Parameters
    ----------
    ring : Ring
        Of the sums.
    own : Words
        ``(k, width)``, covered by the pads of all edges of the network.
    edges : mapping of Hashable to EdgePads
        By neighbour of the tree, what lies on the words of that edge.

    Examples
    --------
    >>> import numpy as np
    >>> ring = Ring(64)
    >>> pads = EdgePads(ring.draw((1,)), ring.draw((1,)))
    >>> ann = Party(ring, ring.words([3]), {"bob": pads})
    >>> bob = Party(ring, ring.words([4]), {"ann": EdgePads(pads.incoming, pads.outgoing)})
    >>> ann.receive("bob", bob.outgoing("ann"))
    >>> ring.integers(ann.total).tolist()
    [7]
    """

    def __init__(self, ring: Ring, own: Words, edges: Mapping[Hashable, EdgePads]) -> None:
        self.ring, self.own, self.edges = ring, own, dict(edges)
        self.incoming: dict[Hashable, Words] = {}
        self._sum = own  # of own words and all that came in

    def receive(self, neighbour: Hashable, words: Words) -> None:
        """Write down what a neighbour said; saying it again changes nothing, another value is refused."""
        if neighbour not in self.edges:
            raise PeerError(f"{neighbour} is no neighbour on the tree of this agreement.")
        if words.shape != self.own.shape or words.dtype != np.uint64:
            raise PeerError(f"{neighbour} sent words of shape {words.shape}; the agreement has {self.own.shape}.")
        uncovered = self.ring.subtract(words, self.edges[neighbour].incoming)
        if neighbour not in self.incoming:
            self.incoming[neighbour] = uncovered
            self._sum = self.ring.add(self._sum, uncovered)
        elif not np.array_equal(self.incoming[neighbour], uncovered):
            raise PeerError(f"{neighbour} said two different things in one agreement: it lies, or has lost its disk.")

    def is_ready(self, neighbour: Hashable) -> bool:
        """Whether all is there that goes into what ``neighbour`` is told."""
        return all(other in self.incoming for other in self.edges if other != neighbour)

    def outgoing(self, neighbour: Hashable) -> Words:
        """Words for a neighbour, once ``is_ready``; they are equal whenever they are computed."""
        others = self._sum
        if neighbour in self.incoming:
            others = self.ring.subtract(others, self.incoming[neighbour])
        return self.ring.add(others, self.edges[neighbour].outgoing)

    @property
    def is_done(self) -> bool:
        """Whether the total is known."""
        return len(self.incoming) == len(self.edges)

    @property
    def total(self) -> Words:
        """The sum over all parties, once ``is_done``."""
        return self._sum
