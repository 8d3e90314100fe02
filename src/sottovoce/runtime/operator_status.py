"""What a party tells its operator: how it is, and whom it misses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .agent import Agent

log = logging.getLogger(__name__)

PATIENCE = 60.0  # seconds after which a neighbour that is away is missed


def status(agent: Agent) -> dict[str, Any]:
    """What a running party says of itself; nothing secret."""
    agreement, counts, contradictions = agent.party.agreement, agent.party.counts, agent.party.contradictions
    residual = np.inf if agreement is None else agreement.residual * agreement.tol  # in the unit of tol, as elsewhere
    return {
        "party": agent.config.name,
        "run": agent.config.run_name,
        "stage": agent.party.stage,
        "done": agent.result is not None,
        "residual": residual if np.isfinite(residual) else None,
        "tol": None if agreement is None else agreement.tol,
        "wakes": 0 if agreement is None else agreement.wakes,
        "epoch": 0 if agreement is None else agreement.current,
        "question": {"kind": agent.config.question.kind, **agent.config.question.told()},
        "noise": agent.config.question.noise_told(agent.parties),
        "not_agreed": [] if agreement is None else [agent.config.names[i] for i in agreement.not_agreed],
        "messages_sent": counts.sent,
        "messages_received": counts.received,
        "messages_old": counts.old,
        "frames_refused": counts.refused,
        "bytes_sent": counts.bytes_sent,
        "bytes_received": counts.bytes_received,
        "seconds": agent.seconds,
        "neighbours": {name: agent.transport.state(name) for name in agent.party.links},
        "links": {
            name: {"sent": counts.sent_to[name], "received": counts.received_from[name]} for name in agent.party.links
        },
        "missed": sorted(agent.missing.missed),
        "leaving": agent.departure.status(),
        "lost_links": [[said.by, said.other] for said in agent.fallback.lost.statements.values()],
        "disagreements": agent.door.disagreements | {name: str(said) for (name, _), said in contradictions.items()},
    }


class Missing:
    """Neighbours that are away. One that has finished and left may have to come back, to tell how the run ended."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.missed: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}  # when they will be missed

    def begin(self, neighbours: Iterable[str]) -> None:
        """These may be away."""
        party, transport = self.agent.party, self.agent.transport
        for name in neighbours:
            self.stop(name)
            if name not in party.gone and transport.state(name) != "up" and not party.links[name].farewell:
                self._timers[name] = asyncio.get_running_loop().call_later(PATIENCE, self._miss, name)

    def stop(self, neighbour: str) -> None:
        """It is there, or not waited for."""
        self.missed.discard(neighbour)
        if (timer := self._timers.pop(neighbour, None)) is not None:
            timer.cancel()

    def _miss(self, name: str) -> None:
        if self.agent.result is None:
            self.missed.add(name)
            log.warning(
                "%s has been away for %g s. This party goes on when it is back: start it, and start it again if it has "
                "finished, since it knows how the run ended.", name, PATIENCE, extra={"neighbour": name},
            )  # fmt: skip
