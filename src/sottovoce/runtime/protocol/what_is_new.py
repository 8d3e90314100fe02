"""What a party could tell a neighbour: the newest of everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .agreement import NOBODY, Agreement
from .answers import NONE
from .escrow import guardians
from .frames import Pads, Verdict
from .link import Link, News

if TYPE_CHECKING:
    from .party import Party


def news_for(party: Party, link: Link) -> News:
    """All that this neighbour could be told now."""
    news = News() if party.departure is None else News(leaves=party.departure.statements)
    news.losts = [] if party.lost is None else party.lost.statements.values()
    if link.name in party.gone:
        return news
    agreement, talks = party.agreement, link.name in party.talks
    idle = agreement is None and (talks or party.ending)
    over = party.stage if idle else None  # it may stay until it knows that this party knows
    for ended in (party.ended[stage] for stage in party.ended if stage in (link.lags, over)):
        news.verdicts.append(ended.verdict)
    if agreement is not None:
        news.pads = Pads(party.stage, link.pads[party.stage])
    if agreement is not None and agreement.hopeless is None:
        kept = not link.secrets.forgotten(party.stage)  # after it nobody has to be stood in for
        around = (other.index for other in party.links.values())  # whether there are messages or not
        if kept and party.departure is not None and link.index in guardians(around):
            news.escrow = party.departure.escrow(party.stage, agreement.node)
        if talks or party.ending:
            _news_of(party, agreement, link, news)
    return news


def _news_of(party: Party, agreement: Agreement, link: Link, news: News) -> None:
    epoch, said = agreement.epoch, agreement.telling.said.get(link.index)
    news.route = agreement.tag
    if said is not None and not agreement.done:
        news.value = (party.stage, *said)
    if epoch is None:
        return
    if link.index in epoch.sent and not party.ending:
        news.snapshot = (party.stage, epoch.number, epoch.sent[link.index])
    answer = None if agreement.done else agreement.told  # afterwards everybody has accepted it
    if answer is not None and link.index != agreement.source:
        news.answer = (party.stage, epoch.number, answer.as_array())
    proofs = NOBODY if epoch.no else _gathered(party, link, epoch.proofs)
    digest = epoch.digest if proofs else b""
    if not epoch.no and epoch.answer is None and party.index in epoch.claims:
        digest, proofs = NONE, epoch.dissents
    if epoch.no or proofs:
        news.verdicts.append(Verdict(party.stage, epoch.number, epoch.no, proofs, agreement.tag, digest))


def _gathered(party: Party, link: Link, proofs: Mapping[int, bytes]) -> Mapping[int, bytes]:
    """The acceptances to pass on. Over a tree those of one side of the edge go together, once all are here."""
    if party.ending or link.name not in party.sides:
        return proofs
    side = [i for i in party.sides[link.name] if not party.absent >> i & 1]
    return {i: proofs[i] for i in side} if all(i in proofs for i in side) else NOBODY
