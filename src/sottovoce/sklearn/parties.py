"""Which rows of a table are whose."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..errors import InvalidInput
from ..network import Network

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parties:
    """A network, and by party the places of its rows."""

    network: Network
    places: list[Places]

    def of(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The rows of every party."""
        return [values[own] for own in self.places]

    def without(self, left_out: npt.NDArray[np.bool_]) -> Parties:
        """Some rows are nobody's."""
        return Parties(self.network, [own[~left_out[own]] for own in self.places])


def parties_of(groups: Any, rows: int, network: Any, count: Any) -> Parties:
    """By ``groups``, a label for each of ``rows``; without them rows are dealt out among ``count`` parties, or those of
    the ``network``, one after the other.

    Raises
    ------
    InvalidInput
        Labels that do not fit the network, or are missing; a single party.
    """
    if network is not None and not isinstance(network, Network):
        raise InvalidInput(f"network must be an sv.Network or None; got {type(network).__name__}.")
    if groups is None:
        n = _count(count) if network is None else network.n
        return _sorted(network or Network.complete(n), np.arange(rows) % n)
    names, whose = _labels(groups, rows)
    if network is None:
        if len(names) < 2:
            raise InvalidInput("groups has one label only: a single party has nobody to agree with.")
        return _sorted(Network.complete(len(names)).with_labels(names), whose)
    if network.labels is not None:
        return _sorted(network, _places(names, network.labels)[whose])
    if network.n != len(names):
        raise InvalidInput(
            f"groups must have as many different labels as the network has nodes, {network.n}; got {len(names)}. Where "
            "some parties may have no rows, give the network's nodes these labels: network.with_labels([...])."
        )
    return _sorted(network, whose)


def _sorted(network: Network, whose: Places) -> Parties:
    return Parties(network, [np.flatnonzero(whose == i) for i in range(network.n)])


def _count(count: Any) -> int:
    if not isinstance(count, numbers.Integral) or isinstance(count, bool) or count < 2:
        raise InvalidInput(f"parties must be an integer >= 2, among whom rows without groups are dealt; got {count!r}.")
    return int(count)


def _labels(groups: Any, rows: int) -> tuple[list[Any], Places]:
    """Different labels, sorted, and of every row which of them it has."""
    labels = column_or_1d(groups)
    check_consistent_length(labels, np.empty(rows))
    if any(label is None or label != label for label in labels.tolist()):
        raise InvalidInput("groups has missing labels. Every row needs one: the party that it belongs to.")
    try:
        names, whose = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InvalidInput("groups must be labels of one kind, numbers or words, which can be sorted.") from None
    return names.tolist(), whose.astype(np.int64)


def _places(names: list[Any], labels: list[Any]) -> Places:
    for name in names:
        if name not in labels:
            raise InvalidInput(f"groups has the label {name!r}, and the network no such node: {_some(labels)}.")
    return np.array([labels.index(name) for name in names], dtype=np.int64)


def _some(labels: list[Any]) -> str:
    return ", ".join(map(repr, labels[:10])) + (", ..." if len(labels) > 10 else "")
