"""A sum over a spanning tree: up from the leaves, and down again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..network.trees import SpanningTree
from .base import Traffic
from .sent import Sent

Values = npt.NDArray[Any]


def summed(tree: SpanningTree, values: Values, size: int, sent: Sent) -> tuple[Values, Values]:
    """Of values ``(n, d)``: what each node tells its parent, the sum over its subtree, and what it is told, the sum of
    all. In messages of ``size`` bytes, of any numbers that add up, words modulo ``2^64`` too."""
    below, total = values.copy(), np.empty_like(values)
    for i in np.argsort(-tree.levels, kind="stable"):
        if i != tree.root:
            below[tree.parents[i]] += below[i]
            sent.one(size)
    for i in np.argsort(tree.levels, kind="stable"):
        if i == tree.root:
            total[i] = below[i]
        else:
            total[i] = total[tree.parents[i]]
            sent.one(size)
    sent.rounds += 2 * tree.depth
    return below, total


def traffic_over(tree: SpanningTree, size: int) -> Traffic:
    """What ``summed`` sends."""
    messages = 2 * len(tree.edges)
    return Traffic(messages, size * messages, 2 * tree.depth)
