"""The node of one party in one stage: its cost, and the pads of its edges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..costs import Cost
from ..pdmm.masks import GaussianMask
from ..pdmm.node import Link, Node
from .protocol.route import Route
from .traces.trace import RecordedNode

if TYPE_CHECKING:
    from .agent import Agent


def node(agent: Agent, stage: int, cost: Cost, mask: GaussianMask | None, route: Route, tag: bytes) -> Node:
    """The party of the simulator, with pads from the secrets of its edges."""
    make: Callable[..., Node] = Node if agent.recorder is None else partial(RecordedNode, agent.recorder, stage)
    i, grid = agent.config.index, 0.0 if mask is None else mask.grid
    links, folded, c = agent.fallback.rerouting.links(i, edges(agent, stage, cost.dim, mask), route, tag, grid)
    return make(i, cost, links, c=c, theta=route.theta, grid=grid, folded=folded)


def edges(agent: Agent, stage: int, dim: int, mask: GaussianMask | None) -> dict[int, Link]:
    """What this party knows of its edges in a stage; secret."""
    found, zero, name = {}, np.zeros(dim), agent.config.name
    for link in agent.party.padded:
        held = written = zero
        if mask is not None:
            held = link.secrets.pads(stage, name, dim, mask)
            written = link.secrets.pads(stage, link.name, dim, mask)
            both = (held, written) if name < link.name else (written, held)
            link.pad(stage, b"".join(pads.astype("<f8").tobytes() for pads in both))
        found[link.index] = Link(1.0 if agent.config.index > link.index else -1.0, zero, held, written)
    return found
