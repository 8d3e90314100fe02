"""Where neighbours come in: handshakes, the keys that they bring, and disputes with those who mean another run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..errors import JournalError, PeerError
from .journal import Journal
from .protocol.frames import Progress
from .protocol.handshake import Disagreement, Handshake
from .protocol.party import Party

log = logging.getLogger(__name__)


class Door:
    """``fail`` is called where the disk does not take a key, ``keyed`` whenever there is a new one."""

    def __init__(
        self, party: Party, journal: Journal, fail: Callable[[Exception], None], keyed: Callable[[], None]
    ) -> None:
        self.party, self.journal, self.fail, self.keyed = party, journal, fail, keyed
        self.met = asyncio.Event()  # all neighbours' keys are known
        self.disagreements: dict[str, str] = {}
        self.disagreeing: dict[str, float] = {}  # since when
        self.meet()

    def greet(self, neighbour: str, *, remember: bool) -> Handshake:
        party = self.party
        return Handshake(
            party.links[neighbour], said=lambda: party.said, heard=lambda: party.heard_of(neighbour), keep=self._keep,
            remember=remember,
        )  # fmt: skip

    def _keep(self) -> None:
        """In a handshake, before this party answers."""
        if not any(link.secrets.fresh for link in self.party.links.values()):
            return
        try:
            self.meet()
        except JournalError as error:  # this party's trouble, not the neighbour's
            self.fail(error)
            raise PeerError("this party cannot write the key down; its log says why.") from None
        self.keyed()

    def meet(self) -> None:
        """Write the neighbours' keys down as they come; with all of them, pads can be made."""
        for link in self.party.links.values():
            if link.secrets.fresh:
                link.secrets.save(self.journal)
        if all(link.secrets.met for link in self.party.padded):
            self.journal.sweep()
            self.met.set()

    def remember(self, stage: int, spent: int) -> None:
        """What was said and heard in the stage that was under way: neighbours compare it with what they know."""
        state = self.journal.get_arrays(f"stage/{stage}") or {}
        sent = int(state["sent"][0]) if "sent" in state else 0
        epochs = [int(array[0]) for name, array in state.items() if name == "epoch" or name.startswith("earlier.")]
        self.party.before = Progress(stage, max(sent, spent), max(epochs, default=0))
        names = {link.index: name for name, link in self.party.links.items()}
        for index, counter in state.get("counters", ()):
            if counter > 0:
                self.party.heard[names[int(index)]] = Progress(stage, int(counter), 0)

    def disputed(self, neighbour: str, error: Disagreement) -> float:
        """A neighbour means another run; for so many seconds now."""
        if self.disagreements.get(neighbour) != str(error):
            log.error("%s", error, extra={"neighbour": neighbour})
        self.disagreements[neighbour] = str(error)
        now = asyncio.get_running_loop().time()
        return now - self.disagreeing.setdefault(neighbour, now)

    def settled(self, neighbour: str) -> None:
        """It has said a true hello: whatever was between is forgotten."""
        self.party.contradictions.pop((neighbour, "hello"), None)
        self.disagreements.pop(neighbour, None)
        self.disagreeing.pop(neighbour, None)
