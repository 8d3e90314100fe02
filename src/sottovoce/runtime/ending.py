"""How a party ends: it stays for neighbours that have not heard the end, or tells them that there will be none."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import PeerError, PolicyError
from . import retention
from .protocol.party import FINISHED, HOPELESS
from .protocol.refusing import Refusal, farewell

if TYPE_CHECKING:
    from .agent import Agent

log = logging.getLogger(__name__)

LOOK = 0.02  # seconds between two looks at who has said goodbye
PARTING = 5.0  # seconds to tell those that dial meanwhile that the run cannot be finished
LINGER = 600.0  # seconds to stay for neighbours that have not finished


async def linger(agent: Agent, seconds: float = LINGER, *, answered: bool = True) -> None:
    """Stay until the neighbours have heard the end, for those that were away. Without an answer (``Undetermined``) the
    journal is kept as it is: whoever starts the party again is told the same."""
    loop = asyncio.get_running_loop()
    until, unaware = loop.time() + seconds, agent.party.unaware
    agent.party.ending = True
    agent.tell()
    while loop.time() < until and agent.party.waited_for:
        if agent.party.unaware != unaware:
            unaware = agent.party.unaware
            retention.tell(agent.journal, agent.party.links.keys() - unaware)
        agent.turn.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(1.0, until - loop.time())):  # wait_for may miss that it is cancelled
                await agent.turn.wait()
    say_goodbye(agent, FINISHED)
    if answered:
        close(agent)


def close(agent: Agent) -> None:
    """Keep the keys only where a neighbour may have to be told the end."""
    if unaware := sorted(agent.party.unaware):
        log.warning("may not have heard the end: %s; start this party again if it waits", ", ".join(unaware))
    else:
        retention.bury(agent.journal, keep=agent.recorder is not None)


async def part(agent: Agent, why: PeerError) -> None:
    """Tell the neighbours that this run cannot be finished, also those that are being refused and dial again.

    A frame may be lost with its connection. Who has heard it says the same, and then it is known."""
    await _until_heard(agent, why.farewell if isinstance(why, Refusal) else HOPELESS, PARTING)


async def refuse(agent: Agent, why: PolicyError) -> None:
    """Tell the neighbours that this party will not take part, as they come, and nothing else; then raise why, which is
    this party's business. Nothing that is said hangs on its data, or on the rule that refuses."""
    log.error("this party refuses to take part, and tells its neighbours that, and not why: %s", why)
    await _until_heard(agent, farewell(agent.config.name), LINGER)
    raise why


async def _until_heard(agent: Agent, reason: str, seconds: float) -> None:
    agent.parting = True
    say_goodbye(agent, reason)
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    waiting = agent.party.links.keys() - agent.party.gone
    while loop.time() < until and not waiting <= agent.party.left:
        await asyncio.sleep(LOOK)


def say_goodbye(agent: Agent, reason: str) -> None:
    """The last frame to everybody. Reasons are fixed words: an error may quote data."""
    for name, link in agent.party.links.items():
        link.farewell = reason
        agent.missing.stop(name)
    agent.tell()
