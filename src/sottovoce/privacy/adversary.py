"""Who listens, and what reaches them: adversaries and channels (theory: Transcripts).

An *eavesdropper* taps channels. A *coalition* of corrupt nodes pools what its members hold: their secrets, the pads of
their edges, and every message to or from one of them. ``Eavesdropper() | Coalition({0, 3})`` is both.

Over ``"open"`` channels (the paper's setting) a tap sees every message ``r_{j|i} = y_{j|i} - z_{j|i}(0)`` that is sent,
lost ones included; pads stay secret. Over ``"encrypted"`` channels a tap sees nothing, and a coalition the messages of
its own edges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..network import Network, names
from ..network.graphs import components

Channels = Literal["open", "encrypted"]
Nodes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Adversary:
    """Corrupt nodes, and whether channels are tapped. Made by ``Eavesdropper``, ``Coalition``, and ``|``.

    Parameters
    ----------
    corrupt
        The nodes that pool what they hold, by name or number.
    taps
        Whether every message over open channels is read besides.
    numbered
        Whether ``corrupt`` are numbers for certain, and not names that are numbers: in a ``Report`` they are.

    Examples
    --------
    >>> print(Eavesdropper() | Coalition({0, 3}))
    corrupt nodes 0, 3 and taps
    """

    corrupt: frozenset[Any]
    taps: bool
    numbered: bool = field(default=False, compare=False, repr=False)

    def __or__(self, other: Adversary) -> Adversary:
        ways = {one.numbered for one in (self, other) if one.corrupt}
        if len(ways) > 1:
            raise InvalidInput(
                "the adversary of a report is by number, the other by name: take Coalition(report.corrupt)."
            )
        return Adversary(self.corrupt | other.corrupt, self.taps or other.taps, True in ways)

    def on(self, network: Network) -> Adversary:
        """The same by the numbers of this network. Nodes that it does not have are refused, and coalitions of all."""
        numbers = self.corrupt if self.numbered else frozenset(_numbers(network, self.corrupt, "corrupt"))
        if len(numbers) == network.n:
            raise InvalidInput(f"all {network.n} nodes are corrupt: nobody is left to protect. Name fewer.")
        return Adversary(numbers, self.taps, numbered=True)

    def sees_all(self, channels: Channels) -> bool:
        """Whether every message is seen, not only those of the coalition's own edges."""
        return self.taps and channels == "open"

    def __str__(self) -> str:
        return self.told(str)

    def told(self, name: Callable[[Any], str]) -> str:
        """In words; ``name`` says what a node is called."""
        numbers = all(isinstance(i, int | np.integer) for i in self.corrupt)
        some = ", ".join(name(i) for i in sorted(self.corrupt, key=None if numbers else str))
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


def Coalition(nodes: Iterable[Hashable]) -> Adversary:
    """Corrupt nodes that follow the protocol and pool what they see; they tap no channel between honest nodes.

    Parameters
    ----------
    nodes
        Their names; or their numbers, where nodes have no names or other names than numbers.

    Returns
    -------
    Adversary
        Without taps; ``Coalition(nodes) | Eavesdropper()`` has them.

    Raises
    ------
    InvalidInput
        For what is no set of nodes.

    Examples
    --------
    >>> Coalition({3, 0}).taps, (Coalition({3, 0}) | Eavesdropper()).taps
    (False, True)
    >>> print(Coalition({"Ada", "Bob"}))
    corrupt nodes Ada, Bob
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

    def on(self, network: Network) -> Worst:
        """The same; coalitions that leave nobody are refused."""
        t = self.max_corrupt
        if isinstance(t, bool) or not isinstance(t, int | np.integer) or not 0 <= t < network.n:
            raise InvalidInput(f"max_corrupt must be an integer in 0 .. {network.n - 1}; got {t!r}.")
        return self


def worst_of(against: Any, network: Network) -> int:
    """How many may be corrupt, where the question is for any of them."""
    if not isinstance(against, Worst):
        raise InvalidInput(f"against must be Worst(max_corrupt), any coalition of that size; got {against!r}.")
    return int(against.on(network).max_corrupt)


def listeners(corrupt: Iterable[Hashable], against: Any) -> Adversary | Worst:
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


def node_set(nodes: Any, name: str) -> frozenset[Any]:
    """Names or numbers of nodes as a set, or a sentence."""
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise InvalidInput(
            f"{name} takes a set of nodes, {{'Ada'}}, or of their numbers such as {{0, 3}}; got {nodes!r}."
        )
    members = list(nodes)
    for node in members:
        if isinstance(node, bool | np.bool_ | float | np.floating) or not isinstance(node, Hashable):
            raise InvalidInput(
                f"{name} takes a set of nodes, {{'Ada'}}, or of their numbers such as {{0, 3}}; got {node!r} in it."
            )
    return frozenset(members)


def node_numbers(network: Network, nodes: Any, name: str) -> list[int]:
    """The numbers of nodes that are named one way or the other, in order."""
    return sorted(_numbers(network, node_set(nodes, name), name))


def _numbers(network: Network, nodes: Iterable[Hashable], name: str) -> set[int]:
    try:
        return set(names.indices(network, nodes))
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


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
