"""A party without I/O: its links, and the agreement of the stage that it is in.

A statistic takes one or more agreements, its *stages*. Parties need not be in the same one: what belongs to the next
stage is kept until this party gets there (the newest of each kind only), and a neighbour that lags behind is told how
its stage ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from ...errors import PeerError
from .acceptances import Acceptances, bits
from .agreement import ROLLED_BACK, Agreement, Contradiction, Final, forgotten
from .frames import Goodbye, Leave, Lost, Pads, Progress, Verdict
from .leaving_state import Departure
from .link import Complete, Link, News
from .lost_links import LostLinks
from .refusing import refusal
from .route import Route
from .stages import Counts, Ended, Held, later, length, progress_of
from .what_is_new import news_for

FINISHED = "finished"  # the goodbye of a party that has its answer
HOPELESS = "this run cannot be finished"  # of one that has none, and will have none from this journal
NOTHING = Progress()
SAID = ("value", "snapshot", "answer", "verdict")  # in the order of ``Link.next_frame``


@dataclass(eq=False)
class Party:
    """``save`` is called whenever something must be on the disk before anybody hears of it."""

    index: int
    n: int
    links: Mapping[str, Link]
    acceptances: Acceptances
    save: Callable[[], None]
    stage: int = -1
    agreement: Agreement | None = None
    ended: dict[int, Ended] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    over: dict[str, int] = field(default_factory=dict)  # the last stage whose end each neighbour knows
    left: set[str] = field(default_factory=set)  # neighbours that went, and do not wait for anything
    finished: set[str] = field(default_factory=set)  # those of them that have their answer
    # What a neighbour said that cannot be true, by the kind of its frame, until it says something better.
    contradictions: dict[tuple[str, str], Contradiction] = field(default_factory=dict)
    insists: Counter[str] = field(default_factory=Counter)  # how often each has said such things, in all
    before: Progress = NOTHING  # what this party may have said before a restart
    heard: dict[str, Progress] = field(default_factory=dict)  # the newest of each neighbour
    departure: Departure | None = None  # None: nobody can leave for good
    lost: LostLinks | None = None  # None: the route cannot change
    gone: set[str] = field(default_factory=set)  # neighbours that have, and are not listened to
    absent: int = 0  # the bits of those without whom a stage ends
    route: Route | None = None  # what values, snapshots and verdicts go over; None: all links
    ending: bool = False  # whether the run is over here, and neighbours should know that this party knows

    def __post_init__(self) -> None:
        self.take(self.route)

    def take(self, route: Route | None) -> None:
        """From now on values, snapshots and verdicts go over this route."""
        self.route, around = route, None if route is None else route.around(self.index)
        self.talks = {name for name, link in self.links.items() if around is None or link.index in around}
        self.sides: dict[str, set[int]] = {}  # of a tree, by neighbour: who is on this side of the edge
        if route is not None and route.is_tree:
            self.sides = {name: route.side(self.index, self.links[name].index) for name in self.talks}

    @property
    def everybody(self) -> int:
        """The bits of all parties that are left."""
        return (1 << self.n) - 1 & ~self.absent

    @property
    def padded(self) -> list[Link]:
        """The edges whose pads hide what this party brings: all but those of a party that was dropped."""
        dropped = set() if self.departure is None else self.departure.dropped
        return [link for name, link in self.links.items() if name not in dropped]

    @property
    def unaware(self) -> set[str]:
        """Neighbours that may not know yet how the last stage ended. One that gave up may come back for it."""
        told_by_others = self.gone if self.lost is None else self.gone | self.lost.severed
        return {name for name in self.links if self.over.get(name, -1) < self.stage} - self.finished - told_by_others

    @property
    def waited_for(self) -> set[str]:
        """Those of them that may still be there."""
        return self.unaware - self.left

    @property
    def said(self) -> Progress:
        """What neighbours can have heard of this party, at most: all of it is on the disk since before it was said."""
        stage = 1 + max(self.ended, default=-1)  # of a stage that is over more cannot be said
        _, counter, epoch = self.before if self.before.stage == stage else NOTHING
        if self.agreement is not None and self.stage == stage:
            counter, epoch = max(counter, self.agreement.node.sent), max(epoch, self.agreement.current)
        return Progress(stage, counter, epoch)

    def heard_of(self, neighbour: str) -> Progress:
        """What was heard of a neighbour, at least: with a stage that is over here it has accepted the end, if it was
        there."""
        over = max(self.ended, default=None) if neighbour not in self.gone else None
        accepted = NOTHING if over is None else Progress(over, 0, self.ended[over].epoch)
        return later(accepted, self.heard.get(neighbour, NOTHING))

    def skip(self, ended: Ended) -> None:
        """A stage that was over before a restart."""
        self.stage, self.agreement = ended.stage, None
        self.ended[ended.stage] = ended
        self.held.clear()  # which was about this stage, heard before it was known to be over

    def begin(self, stage: int, agreement: Agreement) -> None:
        """Enter a stage, with what neighbours already said about it."""
        self.stage, self.agreement = stage, agreement
        for link in self.padded:
            link.expected = {stage: len(agreement.node.x)}
            link.pads = {stage: link.pads.get(stage) or link.secrets.check(stage, b"")}  # which may have none
            with suppress(Final):  # the agreement knows
                self._compare_pads(link)
        held, self.held = self.held, {}
        for name, said in held.items():
            for kind, what in zip(SAID, (said.value, said.snapshot, said.answer, said.verdict), strict=True):
                if what is None or what.stage != stage:
                    continue
                # What does not fit is refused when it is said again.
                if isinstance(what, Verdict) or len(what.data) == length(what.kind, len(agreement.node.x)):
                    with self._noted(name, kind):
                        self._judged(self.links[name], what)
                        self._note(name, progress_of(what))
        self.save()

    @contextmanager
    def _noted(self, neighbour: str, kind: str) -> Iterator[None]:
        """Something that was held turns out to be impossible: that is known, though nobody is there to be refused."""
        try:
            yield
        except Contradiction as error:
            named = self._contradicted(neighbour, kind, error)
            if isinstance(named, Final) and self.agreement is not None:
                self.agreement.hopeless = named

    def _contradicted(self, neighbour: str, kind: str, error: Contradiction) -> Contradiction:
        self.contradictions[neighbour, kind] = named = type(error)(f"{neighbour} {error}")
        self.insists[neighbour] += 1
        return named

    def unsay(self, neighbour: str) -> None:
        """It has left for good: whatever it said that cannot be true does not matter."""
        self.contradictions = {key: said for key, said in self.contradictions.items() if key[0] != neighbour}

    def set_aside(self) -> None:
        """The agreement is made anew; what is said meanwhile is held, and what was said in it stays said."""
        self.before, self.agreement = self.said, None

    def finish(self) -> None:
        """The agreement is over."""
        assert self.agreement is not None
        epoch = self.agreement.epoch
        assert epoch is not None
        self.ended[self.stage] = Ended(self.stage, epoch.number, epoch.proofs, self.agreement.tag, epoch.digest)

    # What comes in

    def connected(self, neighbour: str, nonces: bytes) -> None:
        """A neighbour is there, for the first time or again: it may wait for something."""
        self.left.discard(neighbour)
        self.links[neighbour].begin(nonces)

    def received(self, neighbour: str, frame: bytes) -> bool:
        """A frame of a neighbour; True where others should hear of what it changed. A value is for the next wake."""
        self.counts.received += 1
        self.counts.received_from[neighbour] += 1
        self.counts.bytes_received += len(frame)
        try:
            return self._heard(neighbour, frame)
        except PeerError:
            self.counts.refused += 1
            raise

    def _heard(self, neighbour: str, frame: bytes) -> bool:
        link = self.links[neighbour]
        said = link.receive(frame)
        if neighbour in self.gone:
            return False
        if isinstance(said, Leave):
            return self._told_of(neighbour, said)
        if isinstance(said, Lost):
            return self.lost is not None and self.lost.hear(said)
        if isinstance(said, Goodbye):
            self._left(neighbour, said.reason)
            return True
        if isinstance(said, Pads):
            self._compare_pads(link)
            return False
        if said is None:
            return False
        if isinstance(said, Complete) and said.kind == "escrow":
            if self.departure is not None:
                self.departure.keep(neighbour, said.stage, said.data)
            return False
        kind = "verdict" if isinstance(said, Verdict) else said.kind
        try:
            changed = self._said(neighbour, link, said)
        except Contradiction as error:
            raise self._contradicted(neighbour, kind, error) from None
        if said.stage <= self.stage:  # what is held for later may not fit
            self._note(neighbour, progress_of(said))
        self.contradictions.pop((neighbour, "goodbye"), None)
        self.contradictions.pop((neighbour, "leave"), None)
        if said.stage == self.stage:  # and all that it says before this, after every connect
            for earlier in SAID[: SAID.index(kind) + 1]:
                self.contradictions.pop((neighbour, earlier), None)
        return changed

    def parting(self, neighbour: str, frame: bytes) -> None:
        """A frame that comes once there is no way to an answer: goodbyes matter, nothing else is believed or kept."""
        with suppress(PeerError):
            if isinstance(said := self.links[neighbour].receive(frame), Goodbye):
                self._left(neighbour, said.reason)

    def _left(self, neighbour: str, reason: str) -> None:
        if reason in (FINISHED, HOPELESS):
            self.left.add(neighbour)
        if reason == FINISHED:
            self.finished.add(neighbour)
        if reason == HOPELESS:
            self.contradictions[neighbour, "goodbye"] = Contradiction(
                f"{neighbour} has ended, because this run cannot be finished; its log says why. Start all parties "
                "again once that is mended, or agree on a new run."
            )
        if (refused := refusal(reason, neighbour, self.acceptances.names)) is not None:
            self.left.add(neighbour)
            self.contradictions[neighbour, "goodbye"] = refused

    def _note(self, neighbour: str, heard: Progress) -> None:
        """So much can never be unsaid."""
        self.heard[neighbour] = later(self.heard.get(neighbour, NOTHING), heard)

    def _compare_pads(self, link: Link) -> None:
        """Before a value of the stage counts: pads that differ in one step would be an error that nobody notices."""
        shown = link.their_pads
        if self.agreement is None or shown is None or shown.stage != self.stage:
            return
        if shown.tag != link.pads[self.stage]:
            self.agreement.hopeless = Final(
                f"the pads of stage {self.stage} differ between this party and {link.name}: one of them has another "
                "version of this software, or of a library below it. Agree on a new run once both have the same."
            )
            raise self.agreement.hopeless

    def _told_of(self, neighbour: str, said: Leave) -> bool:
        if self.departure is None or not self.departure.possible:
            raise PeerError(f"{neighbour} says that {said.leaver} has left; in this run nobody can.")
        try:
            return self.departure.hear(said)
        except Contradiction as error:
            raise self._contradicted(neighbour, "leave", error) from None

    def _said(self, neighbour: str, link: Link, said: Complete | Verdict) -> bool:
        if isinstance(said, Verdict) and any(index >= self.n for index in said.acceptances):
            raise PeerError(f"a verdict names parties beyond the {self.n} of this run.")
        if self.departure is not None and said.stage <= self.stage + 1:
            self.departure.note(neighbour, said.stage)
        if said.stage in self.ended:
            link.lags = said.stage  # tell it how that stage ended
            if isinstance(said, Verdict):  # whose signatures do not matter: only that it has them
                link.shown[said.stage] = said.after(link.shown.get(said.stage))
                self._ends(link, said.stage)
            return True
        if said.stage < self.stage:
            raise PeerError(f"{neighbour} is in stage {said.stage}, which was never here.")
        if self.agreement is None or said.stage > self.stage:
            return self._hold(link, said)
        strange = neighbour not in self.talks and not isinstance(said, Verdict)  # whatever route they may be on
        if strange and said.route == self.agreement.tag:
            raise PeerError(f"{neighbour} speaks over an edge that has no messages in this run.")
        return self._judged(link, said)

    def _judged(self, link: Link, said: Complete | Verdict) -> bool:
        """Something of the stage under way; True where others should hear of what it changed."""
        assert self.agreement is not None
        if isinstance(said, Verdict):
            return self._verdict(link, said)
        if said.route != self.agreement.tag:  # it is old, or for a route that this party has yet to take
            return self._hold(link, said)
        if link.name not in self.talks:
            return False
        self._check_length(said)
        before = self._epoch()
        if said.kind == "value":
            self.counts.old += not self.agreement.receive(link.index, said.number, said.data)
        elif said.kind == "answer":
            self.agreement.offer(link.index, said.number, said.data)
        else:
            self.agreement.hear(link.index, said.number, said.data)
        return self._saved(before)

    def _ends(self, link: Link, stage: int) -> None:
        """Whether a neighbour knows that a stage is over: it has shown everybody's acceptance."""
        shown = link.shown[stage]
        if not shown.no and self.everybody & ~bits(shown.acceptances) == 0:
            self.over[link.name] = max(stage, self.over.get(link.name, -1))

    def _verdict(self, link: Link, said: Verdict) -> bool:
        assert self.agreement is not None
        before = self._epoch()
        self._check_signatures(link, said)
        shown = link.shown[said.stage] = said.after(link.shown.get(said.stage))
        if shown.route == self.agreement.tag:
            self.agreement.verdict(shown.epoch, no=shown.no, proofs=shown.acceptances, answer=shown.answer)
        else:
            self.agreement.verdict_elsewhere(
                shown.route, shown.epoch, no=shown.no, proofs=shown.acceptances, answer=shown.answer
            )
        self._ends(link, said.stage)
        return self._saved(before)

    def _check_signatures(self, link: Link, said: Verdict) -> None:
        """Refuse an acceptance that its party has not signed. What is known need not be checked again."""
        known: dict[int, bytes] = {}
        if (shown := link.shown.get(said.stage)) is not None and shown.about == said.about:
            known |= shown.acceptances
        agreement = self.agreement
        epoch = None if agreement is None else agreement.epoch
        if agreement is not None and epoch is not None and said.about[:3] == (self.stage, epoch.number, agreement.tag):
            known |= agreement.signed(said.answer)
        for index, signature in said.acceptances.items():
            if known.get(index) == signature:
                continue
            if not self.acceptances.genuine(index, said):
                who = self.acceptances.names[index]
                raise Contradiction(f"says that {who} has accepted epoch {said.epoch}, and {who} has not signed that.")

    def _epoch(self) -> tuple[int, bool, bool, int, bool, int]:
        """What is known of the epoch: its number, whether this party has signed it, no, how many have, whether the
        answer is known, and how many find it wrong."""
        agreement = self.agreement
        if agreement is None or agreement.epoch is None:
            return 0, False, False, 0, False, 0
        epoch, told = agreement.epoch, agreement.told is not None
        signed = self.index in epoch.proofs
        return epoch.number, signed, epoch.no, len(epoch.proofs), told, len(epoch.dissents)

    def _saved(self, before: tuple[int, bool, bool, int, bool, int]) -> bool:
        """Whether there is news; on the disk is what others will hold this party to: the epoch, its signature, and the
        end. What others said they say again."""
        assert self.agreement is not None
        now = self._epoch()
        if now[:2] != before[:2] or self.agreement.done:
            self.save()
        return now != before

    def _hold(self, link: Link, said: Complete | Verdict) -> bool:
        # After a restart, the stage under way is on the disk, where this party may have accepted its end.
        begun = self.agreement is not None
        if said.stage > self.stage + (1 if begun else 2):
            raise Contradiction(
                f"is in stage {said.stage}, this party in {self.stage}: stages cannot be skipped. Either that is a "
                f"lie, or {ROLLED_BACK}"
            )
        if said.stage > self.stage + 1:
            raise PeerError(f"{link.name} is in stage {said.stage}; this party is not ready for it.")
        held = self.held.setdefault(link.name, Held())
        if isinstance(said, Verdict):
            self._check_signatures(link, said)
            if begun and self.index in said.acceptances:
                raise forgotten(said.epoch)
            held.verdict = said.after(held.verdict)
        elif said.kind == "value":
            held.value = said
        elif said.kind == "answer":
            held.answer = said
        else:
            held.snapshot = said
        return False

    def _check_length(self, said: Complete) -> None:
        assert self.agreement is not None
        wanted = length(said.kind, len(next(iter(self.agreement.node.D.values()))))
        if len(said.data) != wanted:
            raise PeerError(f"a message of {len(said.data)} numbers; this stage has {wanted}.")

    # What goes out

    def next_frame(self, neighbour: str) -> bytes | None:
        """What a neighbour should hear next, the newest of everything."""
        link = self.links[neighbour]
        frame = link.next_frame(self.news_for(link))
        if frame is not None:
            self.counts.sent += 1
            self.counts.sent_to[neighbour] += 1
            self.counts.bytes_sent += len(frame)
        return frame

    def news_for(self, link: Link) -> News:
        """All that this neighbour could be told now."""
        return news_for(self, link)
