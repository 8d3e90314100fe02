"""What follows at one party when a link on its route stays dead: it says so, and once both ends have, all go on over
the whole network, from the same pads (theory: Fewer messages)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs.base import Array
from ..errors import JournalError
from .keys.identity import Identity
from .protocol.lost_links import LostLinks
from .protocol.rerouting import PLANNED, Edge, Rerouting
from .protocol.route import Route

if TYPE_CHECKING:
    from .agent import Agent

log = logging.getLogger(__name__)

SINCE = "fallback"  # the row with the stage in which the planned route was left


class Fallback:
    """The clock and memory of ``LostLinks`` and ``Rerouting`` at one party."""

    def __init__(self, agent: Agent, identity: Identity) -> None:
        config = agent.config
        self.agent, self.journal = agent, agent.journal
        self.lost = LostLinks(identity, config.names, config.keys, config.run_hash, config.edges, agent.journal)
        self.rerouting = Rerouting(config.route, config.fallback_route or config.route, config.run_hash)
        self.used = self.lost.dead  # when the stage under way began, or went on
        self.down: dict[str, float] = {}  # since when neighbours are away
        self.timer: asyncio.TimerHandle | None = None
        self.ended = False

    # Routes

    def begin(self, stage: int, state: dict[str, Array] | None) -> tuple[Route, bytes]:
        """The route of a stage, and its tag. Where it must not change it is that of the saved state."""
        self.used = self.lost.dead
        if state is not None and self.agent.departure.settles(stage):
            self.used = frozenset((int(i), int(j)) for i, j in state["dead"])
        return self.route(stage)

    def route(self, stage: int) -> tuple[Route, bytes]:
        """The one that ``begin`` has chosen."""
        return self.rerouting.without(self.used, self.agent.departure.leaver(stage))

    @property
    def now(self) -> tuple[Route, bytes]:
        """By what is known."""
        return self.rerouting.without(self.lost.dead, self.agent.departure.leaver(self.agent.config.question.stages))

    def take(self, stage: int, route: Route) -> None:
        """Talk over a route; and where the last acceptances of a stage are missing, as somebody has left, over all."""
        departure = self.agent.departure
        all_links = departure.decision is not None and departure.leaver(stage) is None
        self.agent.party.take(None if all_links else route)

    def mark(self) -> dict[str, Array]:
        """To be saved with a state."""
        return {"dead": np.array(sorted(self.used), dtype=float).reshape(-1, 2)}

    def act(self) -> None:
        """A link is known to be dead: where that changes the route, the stage under way is made anew."""
        self.lost.news = False
        agent, agreement = self.agent, self.agent.party.agreement
        stage = agent.party.stage
        if agent.departure.settles(stage):
            return
        route, tag = self.rerouting.without(self.lost.dead, agent.departure.leaver(stage))
        if agreement is None or agreement.done:  # those who wait for the end may be told over other links
            self.take(stage, route)
        elif tag != agreement.tag:
            agent.set_aside()

    def note(self, stage: int, tag: bytes) -> None:
        """For the result: since when, and why."""
        if tag != PLANNED and self.cut and self.journal.get(SINCE) is None:
            self.journal.put({SINCE: stage.to_bytes(4, "little")})
            log.warning(
                "a link stays dead (%s): from stage %d on messages go over the whole network",
                ", ".join(" - ".join(link) for link in self.cut), stage,
            )  # fmt: skip

    # Links

    def away(self, *neighbours: str) -> None:
        """These are not there, from now on."""
        self.down |= dict.fromkeys(neighbours, asyncio.get_running_loop().time())
        self.look()

    def look(self) -> None:
        """Say which links of the route stay dead, and look again when the next one would be. Before all neighbours
        were met there is nothing to fall back from: pads are missing."""
        agent, loop = self.agent, asyncio.get_running_loop()
        if self.timer is not None:
            self.timer.cancel()
        if self.ended or agent.parting or not agent.met.is_set():
            return
        around = self.rerouting.without(self.lost.dead, agent.departure.leaver(agent.party.stage))[0]
        waited_for = around.around(agent.config.index)
        soonest, signed = np.inf, False
        for name, since in self.down.items():
            there = agent.transport.state(name) == "up" or name in agent.party.finished | agent.party.gone
            if there or agent.party.links[name].index not in waited_for:
                continue
            left = since + agent.config.fallback_after - loop.time()
            if left > 0:
                soonest = min(soonest, left)
                continue
            try:
                if self.lost.sign(name):
                    signed = True
                    log.warning("the link to %s stays dead", name, extra={"neighbour": name})
            except JournalError as error:
                agent.fail(error)
                return
        if np.isfinite(soonest):
            self.timer = loop.call_later(soonest, self.look)
        if signed:
            self.act()
            agent.tell()

    def stop(self) -> None:
        """The party has ended, and misses nobody."""
        self.ended = True
        if self.timer is not None:
            self.timer.cancel()

    # What is told to the outside

    @property
    def cut(self) -> list[list[str]]:
        """Dead links that the route does without."""
        leaver = self.agent.departure.leaver(self.agent.party.stage)
        route, tag = self.rerouting.without(self.used, leaver)
        return [] if tag == PLANNED else [self._names(edge) for edge in sorted(self.used) if edge not in route.edges]

    def _names(self, edge: Edge) -> list[str]:
        return [self.agent.config.names[i] for i in edge]

    def result(self) -> dict[str, Any]:
        """Which links were dead, and in which stage that was first so."""
        since = self.journal.get(SINCE)
        told = None if since is None else {"stage": int.from_bytes(since, "little"), "dead": self.cut}
        return {"fallback": told}
