"""When a party wakes. One that takes turns: once all its neighbours have spoken since it did (in the beginning those of
smaller number), and not before. An eager one too, or as soon as somebody can be told something for the first time.

Where some have and others do not, it waits for them, each time longer: they may be away, not have begun, or be on a
busy machine, and to wake without them is work for everybody that brings little. So it is to wake while it has accepted
what the others still judge, but for somebody who was told nothing yet: over a tree what lies beyond waits for that. Who
is back from a crash has heard and told nobody, whatever it had accepted before; where all were struck at once, some
would otherwise wait for ever for the word of one that waits itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from .protocol.agreement import Agreement
from .protocol.party import Party

HEARTBEAT = 1.0  # seconds after which an idle party wakes all the same
SHORTEST, LONGEST = 0.02, 0.5  # seconds to wait for the other neighbours once one has spoken


class Waiting:
    """``turn`` is set whenever something has happened."""

    def __init__(self, party: Party, turn: asyncio.Event) -> None:
        self.party, self.turn = party, turn
        self.patience = SHORTEST

    async def until_due(self, agreement: Agreement) -> None:
        """Until it is time to wake, or something else is to be done."""
        loop = asyncio.get_running_loop()
        until = loop.time() + HEARTBEAT
        with suppress(TimeoutError):
            while not self.due(agreement):
                self.turn.clear()
                if agreement.accepted:  # there is nothing to compute
                    await self.turn.wait()
                    continue
                if agreement.news and agreement.telling.open:
                    until = min(until, loop.time() + self.patience)
                async with asyncio.timeout_at(until):
                    await self.turn.wait()
            self.patience = max(self.patience / 2, SHORTEST)
            return
        self.patience = min(2 * self.patience, LONGEST)

    def due(self, agreement: Agreement) -> bool:
        """Whether there is something to do at once."""
        if self.ended(agreement):
            return True
        if agreement.accepted:
            return agreement.telling.urgent
        expected = {self.party.links[name].index for name in self.party.talks - self.party.gone}
        return agreement.telling.urgent or (bool(agreement.news) and agreement.news >= expected)

    async def until_turn(self, agreement: Agreement) -> None:
        """Until it is this party's turn: nothing but hearing of the others makes it so."""
        i = agreement.node.i
        first = {j for j in agreement.node.neighbours if j > i} if not agreement.wakes else set()
        while not self.ended(agreement) and not agreement.news | first >= set(agreement.node.neighbours):
            self.turn.clear()
            await self.turn.wait()

    def ended(self, agreement: Agreement) -> bool:
        """Whether it is not this agreement that matters now."""
        return agreement.done or agreement.hopeless is not None or self.party.agreement is not agreement
