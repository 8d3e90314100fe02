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
SHOWN = 10  # names in one sentence
UNREACHED = (
    "No neighbour is connected to this party: where they run, it is this one that is not reached. Look here and there "
    "with: sottovoce doctor"
)


def status(agent: Agent) -> dict[str, Any]:
    """What a running party says of itself; nothing secret. Metrics ask in a thread of their own."""
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
        "waiting": waiting(agent),
        "missed": sorted(agent.missing.missed),
        "leaving": agent.departure.status(),
        "lost_links": [[said.by, said.other] for said in agent.fallback.lost.statements.values()],
        "disagreements": agent.door.disagreements | {name: str(said) for (name, _), said in contradictions.items()},
    }


def waiting(agent: Agent) -> str | None:
    """For whom the party waits, since when and why, in a sentence for its operator; None where it waits for nobody."""
    party, now, agreement = agent.party, agent.loop.time(), agent.party.agreement
    if agent.result is not None:
        return f"waits for {_listed(sorted(party.waited_for))} to hear that it is over" if party.waited_for else None
    needed = party.talks if agent.met.is_set() else {link.name for link in party.padded}
    if away := [name for name in sorted(needed - party.gone) if agent.transport.state(name) != "up"]:
        since = {name: lasted(now - agent.fallback.down.get(name, now)) for name in away}
        why = [f"{name} ({agent.transport.state(name).removeprefix('down: ')}; for {since[name]})" for name in away]
        return f"waits for {_listed(why)}.{_unreached(agent, away)}"
    if agreement is None or agreement.done:
        return None
    names, since_then = agent.config.names, lasted(now - agent.since)
    if unheard := [names[j] for j in agreement.unheard]:
        return (
            f"waits for what {_listed(unheard)} {'has' if len(unheard) == 1 else 'have'} to say in agreement "
            f"{party.stage + 1}, for {since_then}. They are connected: ask there whom they wait for."
        )
    if not_agreed := [names[i] for i in agreement.not_agreed]:
        return f"waits for {_listed(not_agreed)} to accept agreement {party.stage + 1}, for {since_then}."
    return None


def _unreached(agent: Agent, away: list[str]) -> str:
    """Whether it is rather this party that is not reached. Of two neighbours, the one whose name sorts first calls."""
    if all(agent.transport.state(name) != "up" for name in agent.party.links):
        return f" {UNREACHED}"
    if calling := [name for name in away if name < agent.config.name]:
        return f" {_listed(calling)} must call this party: ask whether {agent.config.listen} is open to them."
    return ""


def _listed(words: list[str]) -> str:
    """As a sentence names them, ten at most."""
    more = [f"{len(words) - SHOWN:,} more"] if len(words) > SHOWN else []
    *first, last = words[:SHOWN] + more
    return f"{', '.join(first)} and {last}" if first else last


def lasted(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


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
            if self.missed >= self.agent.party.links.keys() - self.agent.party.gone:
                log.warning(UNREACHED)
