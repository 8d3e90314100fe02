"""Whom a party tells values, snapshots and verdicts: its neighbours on the route."""

from __future__ import annotations

from collections.abc import Mapping

from .agreement import NOBODY, Agreement
from .frames import Verdict
from .link import Link, News
from .route import Route


class PassingOn:
    """Of party ``i``; without a ``route`` over all links."""

    def __init__(self, i: int, links: Mapping[str, Link], route: Route | None) -> None:
        around = None if route is None else route.around(i)
        self.talks = {name for name, link in links.items() if around is None or link.index in around}
        self.sides: dict[str, set[int]] = {}  # of a tree, by neighbour: who is on this side of the edge
        if route is not None and route.is_tree:
            self.sides = {name: route.side(i, links[name].index) for name in self.talks}

    def tell(self, news: News, stage: int, agreement: Agreement, link: Link, *, absent: int, ending: bool) -> None:
        """Add to the news what this neighbour could be told of an agreement. When the run is over here all are told
        how it ended: whoever does not know, and whose route is cut, may have no other way."""
        epoch, said = agreement.epoch, agreement.telling.said.get(link.index)
        if ending and epoch is not None:
            news.verdicts.append(Verdict(stage, epoch.number, False, epoch.proofs, agreement.tag))
        if ending or link.name not in self.talks:
            return
        if said is not None and not agreement.done:
            news.value = (stage, *said)
        if epoch is None:
            return
        proofs = NOBODY if epoch.no else epoch.proofs
        if link.index in epoch.sent:  # it is of this route
            news.snapshot = (stage, epoch.number, epoch.sent[link.index])
            proofs = proofs if epoch.no else self._gathered(link.name, proofs, absent)
        if epoch.no or proofs:
            news.verdicts.append(Verdict(stage, epoch.number, epoch.no, proofs, agreement.tag))

    def _gathered(self, name: str, proofs: Mapping[int, bytes], absent: int) -> Mapping[int, bytes]:
        """The acceptances to pass on. Over a tree those of one side of the edge go together, once all are here."""
        if name not in self.sides:
            return proofs
        side = [i for i in self.sides[name] if not absent >> i & 1]
        return {i: proofs[i] for i in side} if all(i in proofs for i in side) else NOBODY
