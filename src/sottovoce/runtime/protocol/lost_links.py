"""A link that stays dead while both its parties live: who has said so, and which links count as dead.

A party whose link on the route has been down for a while signs so, once, and passes on what others have signed. The
link is dead once *both* its ends have said it: one that has crashed signs nothing and is waited for, and nobody can cut
a link of others. So there are at most two statements for each edge of the network, whoever lies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...errors import PeerError
from ..journal import Journal
from ..keys.identity import Identity, with_lengths
from ..keys.public_keys import signed_by
from .frames import Lost, decode, encode
from .rerouting import Edge

LOST = "lost/"  # what the names of all rows of statements begin with


class LostLinks:
    """The statements that this party knows of; all of them are on its disk before it acts on them."""

    def __init__(
        self,
        me: Identity,
        names: Sequence[str],
        keys: Sequence[str],
        parameters_hash: bytes,
        edges: Collection[Edge],
        journal: Journal,
    ) -> None:
        self.me, self.keys, self.hash, self.journal = me, keys, parameters_hash, journal
        self.names = {name: i for i, name in enumerate(names)}
        self.edges = frozenset(edges)
        self.statements: dict[tuple[str, str], Lost] = {}  # by whom, of the link to whom
        self.news = False  # whether there is a dead link that was not acted on
        for row in journal.under(LOST):
            said = decode(journal.get(row) or b"")
            assert isinstance(said, Lost)
            self._add(said)

    @property
    def dead(self) -> frozenset[Edge]:
        """Links that both ends have lost."""
        return frozenset(self.edge(by, other) for by, other in self.statements if (other, by) in self.statements)

    @property
    def severed(self) -> set[str]:
        """Neighbours behind a dead link."""
        own = self.names[self.me.name]
        return {name for name, i in self.names.items() if i != own and (min(i, own), max(i, own)) in self.dead}

    def edge(self, a: str, b: str) -> Edge:
        """Of the network."""
        i, j = sorted((self.names[a], self.names[b]))
        return i, j

    def sign(self, other: str) -> bool:
        """This party has lost its link to a neighbour; True where it has not said so before."""
        if (self.me.name, other) in self.statements:
            return False
        self._keep(Lost(self.me.name, other, self.me.sign(self.signed_part(self.me.name, other))))
        return True

    def hear(self, said: Lost) -> bool:
        """Take a statement in that came from anybody; True where it is new."""
        if (said.by, said.other) in self.statements:
            return False
        known = said.by in self.names and said.other in self.names
        if not known or self.edge(said.by, said.other) not in self.edges:
            raise PeerError(f"passed on that {said.by} has lost its link to {said.other}; there is no such link.")
        if not signed_by(self.keys[self.names[said.by]], self.signed_part(said.by, said.other), said.signature):
            raise PeerError(f"passed on a statement on a lost link that {said.by} has not signed.")
        self._keep(said)
        return True

    def _keep(self, said: Lost) -> None:
        self.journal.put({f"{LOST}{said.by}/{said.other}": encode(said)})
        self._add(said)

    def _add(self, said: Lost) -> None:
        self.statements[said.by, said.other] = said
        self.news = self.news or (said.other, said.by) in self.statements

    def signed_part(self, by: str, other: str) -> bytes:
        """Who has lost the link to whom, and the run, each part with its length."""
        return with_lengths(b"sottovoce lost", self.hash, by.encode(), other.encode())
