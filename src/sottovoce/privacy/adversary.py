"""Who listens, and what reaches them: adversaries and channels (theory: Transcripts).

An *eavesdropper* taps channels. A *coalition* of corrupt nodes pools what its members hold: their secrets, the pads of
their edges, and every message to or from one of them. ``Eavesdropper() | Coalition({0, 3})`` is both.

Over ``"open"`` channels (the paper's setting) a tap sees every message ``r_{j|i} = y_{j|i} - z_{j|i}(0)`` that is sent,
lost ones included; pads stay secret. Over ``"encrypted"`` channels a tap sees nothing, and a coalition the messages of
its own edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..network import Network
from ..network.graphs import components

Channels = Literal["open", "encrypted"]
Nodes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Adversary:
    """Corrupt nodes, and whether channels are tapped. Made by ``Eavesdropper``, ``Coalition``, and ``|``.

    Parameters
    ----------
    corrupt
        The nodes that pool what they hold.
    taps
        Whether every message over open channels is read besides.

    Examples
    --------
    >>> print(Eavesdropper() | Coalition({0, 3}))
    corrupt nodes 0, 3 and taps
    """

    corrupt: frozenset[int]
    taps: bool

    def __or__(self, other: Adversary) -> Adversary:
        return Adversary(self.corrupt | other.corrupt, self.taps or other.taps)

    def check(self, network: Network) -> None:
        """Refuse nodes that the network does not have, and coalitions of everybody."""
        for i in sorted(self.corrupt):
            if not 0 <= i < network.n:
                raise InvalidInput(f"corrupt names node {i}; the nodes are 0 .. {network.n - 1}.")
        if len(self.corrupt) == network.n:
            raise InvalidInput(f"all {network.n} nodes are corrupt: nobody is left to protect. Name fewer.")

    def sees_all(self, channels: Channels) -> bool:
        """Whether every message is seen, not only those of the coalition's own edges."""
        return self.taps and channels == "open"

    def __str__(self) -> str:
        some = ", ".join(str(i) for i in sorted(self.corrupt))
        nodes = f"corrupt node{'s' if len(self.corrupt) > 1 else ''} {some}"
        if not self.corrupt:
            return "eavesdropper" if self.taps else "nobody"
        return f"{nodes} and taps" if self.taps else nodes


def Eavesdropper() -> Adversary:
    """Taps every channel, and holds no secret of its own.

    Returns
    -------
    Adversary
        Without corrupt nodes.

    Examples
    --------
    >>> print(Eavesdropper())
    eavesdropper
    """
    return Adversary(frozenset(), True)


def Coalition(nodes: Iterable[int]) -> Adversary:
    """Corrupt nodes that follow the protocol and pool what they see; they tap no channel between honest nodes.

    Parameters
    ----------
    nodes
        Their numbers.

    Returns
    -------
    Adversary
        Without taps; ``Coalition(nodes) | Eavesdropper()`` has them.

    Raises
    ------
    InvalidInput
        For what is no set of node numbers.

    Examples
    --------
    >>> Coalition({3, 0}).taps, (Coalition({3, 0}) | Eavesdropper()).taps
    (False, True)
    """
    return Adversary(node_set(nodes, "Coalition"), False)


@dataclass(frozen=True)
class Worst:
    """For each node whichever coalition of at most ``max_corrupt`` nodes learns most about it, channels tapped.

    Parameters
    ----------
    max_corrupt
        How many nodes may be corrupt; 0 leaves taps alone.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem, mask = sv.averaging(sv.Network.ring(4), [1, 2, 3, 4]), sv.GaussianMask(1e6)
    >>> sv.privacy.audit(problem, mask=mask, against=sv.privacy.Worst(2), c=0.5).exposed
    (0, 1, 2, 3)
    """

    max_corrupt: int = 1

    def check(self, network: Network) -> None:
        """Refuse coalitions that leave nobody."""
        t = self.max_corrupt
        if isinstance(t, bool) or not isinstance(t, int | np.integer) or not 0 <= t < network.n:
            raise InvalidInput(f"max_corrupt must be an integer in 0 .. {network.n - 1}; got {t!r}.")


def worst_of(against: Any, network: Network) -> int:
    """How many may be corrupt, where the question is for any of them."""
    if not isinstance(against, Worst):
        raise InvalidInput(f"against must be Worst(max_corrupt), any coalition of that size; got {against!r}.")
    against.check(network)
    return int(against.max_corrupt)


def listeners(corrupt: Iterable[int], against: Any) -> Adversary | Worst:
    """Who listens, said in one of two ways."""
    named = Coalition(corrupt).corrupt
    if against is None:
        return Coalition(named) | Eavesdropper()
    if not isinstance(against, Adversary | Worst):
        raise InvalidInput(
            f"against must be Eavesdropper(), Coalition(...), both with |, or Worst(max_corrupt=1); got {against!r}."
        )
    if named:
        raise InvalidInput("give one of corrupt and against: each says who is corrupt.")
    return against


def node_set(nodes: Any, name: str) -> frozenset[int]:
    """Node numbers as a set, or a sentence."""
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise InvalidInput(f"{name} takes a set of node numbers such as {{0, 3}}; got {nodes!r}.")
    members = list(nodes)
    for i in members:
        if isinstance(i, bool) or not isinstance(i, int | np.integer):
            raise InvalidInput(f"{name} takes a set of node numbers such as {{0, 3}}; got {i!r} in it.")
    return frozenset(int(i) for i in members)


def honest_components(network: Network, corrupt: Collection[int]) -> list[Nodes]:
    """The connected groups of honest nodes that are left when the corrupt ones are taken out; smallest node first."""
    honest = np.ones(network.n, dtype=bool)
    honest[list(corrupt)] = False
    return groups(network, honest)


def groups(network: Network, member: npt.NDArray[np.bool_]) -> list[Nodes]:
    """Connected components of the subgraph of the nodes where ``member`` holds."""
    nodes = np.flatnonzero(member)
    if not len(nodes):
        return []
    place = np.cumsum(member) - 1
    edges = network.edges[member[network.edges].all(axis=1)]
    count, part = components(len(nodes), place[edges])
    order = np.argsort(part, kind="stable")
    found = np.split(nodes[order], np.searchsorted(part[order], np.arange(1, count)))
    return sorted(found, key=lambda group: int(group[0]))
