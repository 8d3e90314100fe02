"""Which nodes a report is about, by the user's own names; inside by number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...costs.base import Array
from ...network import Network, names
from ..adversary import Adversary, honest_components

NAMED = 12  # nodes that a sentence names before it says how many more there are


class NodesOfReport:
    """The part of ``Report`` that tells nodes."""

    network: Network
    adversary: Adversary
    leakage: Array
    floor: Array
    excess: Array
    coalitions: tuple[frozenset[Any] | None, ...] | None
    public_answer: bool

    @property
    def corrupt(self) -> frozenset[Any]:
        """The corrupt nodes, by name; in a worst case nobody is named."""
        return frozenset(names.labels(self.network, self.adversary.corrupt))

    @property
    def exposed(self) -> tuple[Any, ...]:
        """The honest nodes whose secrets are disclosed exactly, by name."""
        return names.labels(self.network, self._disclosed)

    @property
    def _disclosed(self) -> list[int]:
        return [int(i) for i in np.flatnonzero(np.isinf(self.leakage))]

    @property
    def groups(self) -> list[list[Any]]:
        """The groups of honest nodes whose sums the adversary learns exactly, by name; none for an eavesdropper. With
        local noise they are sums of noisy numbers."""
        return [list(names.labels(self.network, group)) for group in self._groups]

    @property
    def _groups(self) -> list[list[int]]:
        if self.coalitions is not None or not (self.adversary.corrupt or self.public_answer):
            return []
        return [group.tolist() for group in honest_components(self.network, self.adversary.corrupt)]

    def name(self, i: int) -> str:
        """The user's name of node number ``i``."""
        return self.network.name(i)

    def names(self, nodes: Iterable[Any]) -> str:
        """Some nodes as one text, the first few of them."""
        return self._told(self._numbers(nodes))

    def _numbers(self, nodes: Iterable[Any]) -> list[int]:
        return sorted(names.indices(self.network, nodes))

    def _told(self, numbers: Iterable[int]) -> str:
        some = sorted(numbers)
        more = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
        return ", ".join(self.name(i) for i in some[:NAMED]) + more

    @property
    def doomed(self) -> tuple[Any, ...]:
        """Honest nodes, by name, that the answer will disclose, alone or with what was seen so far, which does not."""
        return names.labels(self.network, self._doomed)

    @property
    def _doomed(self) -> list[int]:
        later = np.isinf(self.floor) | np.isinf(self.excess)
        return [int(i) for i in np.flatnonzero(later & np.isfinite(self.leakage))]
