"""What follows at one party when its operator, or everybody, says that another one has left for good."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..errors import InvalidInput, PeerError
from .protocol.leaving_state import Departure
from .protocol.party import Party

if TYPE_CHECKING:
    from .agent import Agent

log = logging.getLogger(__name__)


def drop(agent: Agent, name: str, *, sure: bool) -> str:
    """The operator says that a party has left for good; unless it is sure, what that means."""
    agent.departure.leaving.check(name)
    if agent.result is not None:
        raise InvalidInput(f"this party has its answer already, and does not need {name} any more.")
    if name in agent.party.links and agent.transport.state(name) == "up":
        raise InvalidInput(f"{name} is there: this party is in contact with it. End it first, if it is to leave.")
    if not sure:
        return explanation(name, agent.departure, agent.party)
    agent.departure.sign(name, agent.party)
    log.warning("this party says that %s has left for good", name)
    act(agent)
    agent.tell()
    return f"This party has said that {name} has left for good. {agent.departure.leaving.progress}"


def act(agent: Agent) -> None:
    """Act on what the parties say of one that has left, once; also after a restart."""
    agent.departure.news = False
    decision, agreement = agent.departure.decision, agent.party.agreement
    agent.party.gone = agent.departure.gone
    for name in agent.party.gone & agent.party.links.keys():
        agent.missing.stop(name)
        agent.party.held.pop(name, None)
        agent.party.unsay(name)
    if agreement is not None:
        agreement.paused = agent.departure.undecided
    if decision is not None and decision is not agent.decided:
        agent.decided = decision
        log.warning("%s", decision.sentence, extra={"left": decision.leaver})
        try:
            agent.departure.check()
        except PeerError as error:
            agent.fail(error)
            return
        agent.party.absent = 1 << agent.config.names.index(decision.leaver)
        under_way = agreement is not None and not agreement.done
        if under_way and agent.party.stage == decision.stage and decision.kind in ("dropped", "adopted"):
            agent.set_aside()
        else:  # the route may have led through the one that has left: whoever lacks the end is told over all links
            agent.party.take(None)
            if agreement is not None and under_way:
                agreement.absent = agent.party.absent
                if agreement.epoch is not None:
                    agreement.unite(no=False)
        agent.turn.set()
    agent.door.meet()


def explanation(leaver: str, departure: Departure, party: Party) -> str:
    """What an operator should know before it says that a party has left."""
    at, stages = departure.position(leaver, party), departure.stages
    others = [name for name in departure.config.names if name not in (leaver, departure.config.name)]
    heard = f"{leaver} was heard in agreement {at['heard']}" if at["heard"] else f"{leaver} was not heard here"
    kept = f"its escrow of agreement {at['escrow']} is here" if at["escrow"] else "none of its escrow is here"
    return (
        f"This party says, signed and for good, that {leaver} has left; from then on it does not listen to {leaver}.\n"
        f"Nothing happens until all others have said so too: {', '.join(others)}.\n\n"
        f"What this party knows: {at['over']} of {stages} agreements are over; {heard}; {kept}.\n\n"
        "What follows from what all of you know:\n"
        f"* Nobody has heard {leaver} in any agreement: it is dropped. The answer is that of the others, exactly. The\n"
        f"  pads that its neighbours share with it protect nothing any more: count {leaver} among the corrupt.\n"
        f"* {leaver} was heard in the last agreement: a neighbour with its escrow stands in for it. The answer is\n"
        "  that of all, its rows included, and shows nothing else.\n"
        "* Anything else: there is no answer, and all end. A new run without it would disclose, by the difference,\n"
        f"  what {leaver} has brought to this one.\n"
    )
