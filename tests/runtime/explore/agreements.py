"""One agreement of a few parties, as a model to be searched: the package's own parties, links, agreements and frames,
with everything that they are on and everything that is said in any order.

A step is the next frame from one party to a neighbour, or a party's turn to compute, where it is due. Links keep their
order, as connections do, and say the newest. Of the clock there is only this: heartbeats take longer than all else, so
that a party wakes without being due where nothing else can happen. Faults are crashes of sets of parties, which come
back with what is on their disks, and connections that break: what was said on them is said again. A party that is away
for a while is one that comes back later, as nothing can be told to it meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from runtime.explore.search import Step

import sottovoce as sv
from sottovoce.errors import PeerError
from sottovoce.pdmm.node import Node, nodes_of
from sottovoce.runtime.protocol.agreement import IDLE, Agreement, Epoch
from sottovoce.runtime.protocol.frames import Assembly, Pads
from sottovoce.runtime.protocol.link import Link
from sottovoce.runtime.protocol.party import Party
from sottovoce.runtime.protocol.route import Route
from sottovoce.runtime.protocol.stages import Counts, Held
from sottovoce.runtime.protocol.telling import Telling
from sottovoce.runtime.waiting import Waiting

CURVATURE = 2.0  # of ||x - s||^2
TAG = b"t" * 16
PADS = Pads(0, TAG)
KEY = b"k" * 32
CHANGING = (Party, Link, Agreement, Node, Telling, Epoch, Assembly, Held)
UNCHANGED = ("links", "talks", "sides", "route", "acceptances", "save")
UNCOUNTED = Counts()  # frames are counted by nobody here
SMALL = 1e-6  # answers that differ by more are two

Disk = Mapping[str, Any]
Faults = tuple[frozenset[int], ...]


def copied(value: Any) -> Any:
    """A value that can change without the other one: whatever the package changes in place is made anew."""
    if isinstance(value, CHANGING):
        new = object.__new__(type(value))
        new.__dict__.update({name: copied(held) for name, held in vars(value).items()})
        return new
    if isinstance(value, dict):
        return type(value)({key: copied(held) for key, held in value.items()})
    return type(value)(value) if isinstance(value, set | list | deque) else value


@dataclass(frozen=True)
class Seat:
    """A party, and its disk. ``woken``: since its process began."""

    party: Party
    disk: Disk
    woken: bool = False

    @cached_property
    def frames(self) -> dict[str, tuple[bytes, Link]]:
        """What it has to say next, by neighbour, and the link when that is said."""
        found = {}
        for name, link in self.party.links.items():
            after = copied(link)
            if (frame := after.next_frame(self.party.news_for(link))) is not None:
                found[name] = frame, after
        return found

    @cached_property
    def key(self) -> Hashable:
        """What tells it apart, but for what others have yet to hear."""
        return _seat_key(self)


@dataclass(frozen=True)
class World:
    """What is, at one moment. So many ``faults`` may still happen."""

    seats: tuple[Seat, ...]
    faults: int = 0


@dataclass
class Agreeing:
    """The model. ``strikes`` are the sets of parties that may crash at one moment, ``breaks`` says whether connections
    may, and all of that happens ``faults`` times at most. Sums are of whole numbers, and everybody knows the answer by
    itself, unless it is ``told`` by the first party. Over a route with cycles numbers would go on changing, and the
    states with them: there all data are zero, and it is the epochs that are looked at."""

    network: sv.Network
    tree: bool = True
    told: bool = False
    strikes: Collection[Collection[int]] = ()
    breaks: bool = False
    faults: int = 0
    due: Callable[[Waiting, Agreement], bool] = Waiting.due

    def __post_init__(self) -> None:
        n = self.network.n
        self.names = [f"p{i}" for i in range(n)]
        spanning = self.network.spanning_tree()
        over = spanning.network if self.tree else self.network
        c = spanning.matched(np.full(n, CURVATURE)).tolist() if self.tree else 0.4
        self.route = Route.over([(int(i), int(j)) for i, j in over.edges], c, 1.0 if self.tree else 0.8)
        s = np.arange(n, dtype=float)[:, None] if self.tree else np.zeros((n, 1))
        self.problem, self.answer = sv.averaging(over, s), float(s.mean())

    # States

    def begin(self) -> World:
        return World(tuple(self.seat(i, {}) for i in range(self.network.n)), self.faults)

    def key(self, world: World) -> Hashable:
        return world.faults, tuple((seat.key, _fresh(seat, world.seats)) for seat in world.seats)

    def over(self, world: World) -> bool:
        return all(seat.party.ended for seat in world.seats)

    def wrong(self, world: World) -> str | None:
        for seat in world.seats:
            party, agreement = seat.party, seat.party.agreement
            if party.contradictions:
                return f"{self.names[party.index]}: {next(iter(party.contradictions.values()))}"
            if agreement is not None and agreement.hopeless is not None:
                return f"{self.names[party.index]}: {agreement.hopeless}"
            if party.ended and abs(float(seat.disk["answer"][0]) - self.answer) > SMALL:
                return f"{self.names[party.index]} has another answer"
        return None

    # Steps

    def steps(self, world: World) -> Iterator[Step]:
        some = False
        for step in self._without_waiting(world):
            some = True
            yield step
        if not some:
            for i, seat in enumerate(world.seats):
                if seat.party.agreement is not None and not seat.party.ended and not seat.party.agreement.accepted:
                    yield Step(f"beat({i})", self._turn(world, i))
        if world.faults:
            yield from self._faults(world)

    def _without_waiting(self, world: World) -> Iterator[Step]:
        for i, seat in enumerate(world.seats):
            agreement = seat.party.agreement
            due = agreement is not None and self.due(Waiting(seat.party, SimpleNamespace()), agreement)  # type: ignore[arg-type]
            if not seat.party.ended and (due or not seat.woken):
                yield Step(f"turn({i})", self._turn(world, i))
            for name in seat.frames:
                j = self.names.index(name)
                yield Step(f"tell({i},{j})", self._told(world, i, j))

    def _turn(self, world: World, i: int) -> World:
        """Once around ``Agent.drive``."""
        seat = self._changing(world.seats[i])
        agreement = seat.party.agreement
        assert agreement is not None
        if not agreement.calm:
            agreement.wake()
        if agreement.calm:
            agreement.propose()
            seat.party.save()
        return self._after(world, {i: replace(seat, woken=True)})

    def _told(self, world: World, i: int, j: int) -> World:
        """The next frame is said and heard."""
        frame, link = world.seats[i].frames[self.names[j]]
        speaker = replace(world.seats[i], party=copy(world.seats[i].party))
        speaker.party.save = Saves()
        speaker.party.links = {**speaker.party.links, self.names[j]: link}
        hearer = self._changing(world.seats[j], self.names[i])
        with suppress(PeerError):  # what cannot be true is noted by the party
            hearer.party.received(self.names[i], frame)
        return self._after(world, {i: speaker, j: hearer})

    def _faults(self, world: World) -> Iterator[Step]:
        for struck in self.strikes:
            who = "all" if len(struck) == self.network.n else ",".join(map(str, struck))
            yield Step(f"CRASH({who})", self._struck(world, struck), fault=True)
        for i, j in self.route.edges if self.breaks else ():
            changed = {k: self._changing(world.seats[k], self.names[i + j - k]) for k in (i, j)}
            self._connect(changed[i].party, changed[j].party)
            yield Step(f"BREAK({i},{j})", self._after(world, changed, 1), fault=True)

    def _struck(self, world: World, struck: Collection[int]) -> World:
        """They come back from their disks, and their neighbours meet them again."""
        changed = {i: self.seat(i, world.seats[i].disk, world.seats[i].party) for i in struck}
        for i in struck:
            for j in self._around(i):
                changed.setdefault(j, self._changing(world.seats[j], *(self.names[k] for k in struck)))
        for i, j in self.route.edges:
            if i in struck or j in struck:
                self._connect(changed[i].party, changed[j].party)
        return self._after(world, changed, 1)

    def _after(self, world: World, changed: Mapping[int, Seat], faults: int = 0) -> World:
        """The next world; whoever is done has its answer on its disk."""
        seats = list(world.seats)
        for i, seat in changed.items():
            agreement = seat.party.agreement
            if agreement is not None and agreement.done and not seat.party.ended:
                seat.party.finish()
                seat.party.ending = True
                seat = replace(seat, disk={"answer": agreement.x, "ended": seat.party.ended[0]})
            elif isinstance(seat.party.save, Saves) and seat.party.save.asked and agreement is not None:
                seat = replace(seat, disk=agreement.state())
            seats[i] = seat
        return World(tuple(seats), world.faults - faults)

    # Parties

    def seat(self, i: int, disk: Disk, before: Party | None = None) -> Seat:
        """A process that begins, with what is on its disk; counters go on above those ``before``."""
        links = {self.names[j]: self._link(i, j) for j in self._around(i)}
        signatures: Any = SimpleNamespace(names=self.names, genuine=lambda *about: True)
        party = Party(i, self.network.n, links, signatures, Saves(), route=self.route, counts=UNCOUNTED)
        if "answer" in disk:
            party.skip(disk["ended"])
            party.ending = True
        else:
            agreement = self.agreement(i)
            if disk:
                old = before.agreement if before is not None else None
                agreement.restore(disk, old.node.sent if old is not None else 0)
            party.begin(0, agreement)
            disk = agreement.state()
        for link in links.values():
            self._ready(link)
        return Seat(party, disk)

    def agreement(self, i: int) -> Agreement:
        node = nodes_of(self.problem, c=list(self.route.c), theta=self.route.theta)[i]
        whole = 0 if self.told else self.network.n
        return Agreement(node, self.network.n, partial(signature, i), tol=1e-7, route=self.route, whole=whole)

    def _link(self, i: int, j: int) -> Link:
        me: Any = SimpleNamespace(name=self.names[i])
        secrets: Any = SimpleNamespace(
            check=lambda stage, content: TAG, forgotten=lambda stage: False, answer_key=lambda *of: KEY
        )
        return Link(me, self.names[j], j, "", "", secrets, authenticate=False)

    def _connect(self, one: Party, other: Party) -> None:
        """A handshake; the tags of the pads, which are no part of an agreement, are said with it."""
        for party, name in ((one, self.names[other.index]), (other, self.names[one.index])):
            party.connected(name, b"")
            self._ready(party.links[name])

    @staticmethod
    def _ready(link: Link) -> None:
        link.begin(b"")
        link.told["pads"] = link.their_pads = PADS

    def _around(self, i: int) -> list[int]:
        return sorted(self.route.around(i))

    @staticmethod
    def _changing(seat: Seat, *neighbours: str) -> Seat:
        """A party that may change, and its links to these; all else it has in common with the other one."""
        party = object.__new__(Party)
        for name, held in vars(seat.party).items():
            party.__dict__[name] = held if name in UNCHANGED else copied(held)
        party.links = {name: copied(link) if name in neighbours else link for name, link in seat.party.links.items()}
        party.save = Saves()
        return replace(seat, party=party)


class Saves:
    """Whether a party has asked for its state to be saved. (No part of it: copies of parties have no cycles.)"""

    asked = False

    def __call__(self) -> None:
        self.asked = True


def signature(i: int, epoch: int, answer: bytes) -> bytes:
    """What stands for one here; nobody forges it."""
    return f"{i} accepts {answer.hex()[:8]} in {epoch}".encode()


# What tells two states apart: not how they were come to. Of counters it matters which is newer, of wakes nothing.


def _seat_key(seat: Seat) -> Hashable:
    party, agreement = seat.party, seat.party.agreement
    links = tuple(_link_key(party, link) for link in party.links.values())
    own: Hashable = None
    if agreement is not None and not party.ended:
        telling, node = agreement.telling, agreement.node
        own = (
            seat.woken, _of(node.x), _all_of(node.D), _epoch_key(agreement.epoch),
            _all_of({j: r for j, (_, r) in telling.said.items()}), _all_of(telling.taken), frozenset(telling.heard),
            frozenset(agreement.news), frozenset(agreement.settled), min(agreement.idle, IDLE),
            agreement.moves <= 1, agreement.wait, agreement.wakes == 0,
            tuple((j, number, _of(r)) for j, (number, r) in sorted(agreement.pending.items())),
            agreement.early[:2], frozenset(agreement.early[2]), _disk_key(seat.disk),
            tuple((j, number, answer.digest) for j, (number, answer) in sorted(agreement.offers.items())),
        )  # fmt: skip
    return bool(party.ended), bool(party.contradictions), links, own


def _link_key(party: Party, link: Link) -> Hashable:
    said = None if party.agreement is None else party.agreement.telling.said.get(link.index)
    value = said is not None and link.told.get("value") == (0, said[0])
    verdicts = (said.get(0) for said in (link.said, link.shown))
    known = tuple(said and (said.epoch, said.no, said.answer, frozenset(said.acceptances)) for said in verdicts)
    return value, link.told.get("snapshot"), link.told.get("answer"), known, link.lags


def _fresh(seat: Seat, seats: tuple[Seat, ...]) -> tuple[int, ...]:
    """The neighbours to whom the newest value of a party would be news."""
    agreement, i = seat.party.agreement, seat.party.index
    said = {} if agreement is None else agreement.telling.said
    others = {j: seats[j].party.agreement for j in said}
    return tuple(j for j, other in others.items() if other is not None and other.node.newest[i] < said[j][0])


def _of(v: np.ndarray) -> Hashable:
    """Numbers but for what rounding makes of them: the order of steps shows in it."""
    return tuple(round(number, 9) + 0.0 for number in v.tolist())


def _all_of(vectors: Mapping[int, np.ndarray]) -> Hashable:
    return tuple((j, _of(v)) for j, v in sorted(vectors.items()))


def _epoch_key(epoch: Epoch | None) -> Hashable:
    if epoch is None:
        return None
    judged = epoch.residual is not None
    signed = epoch.digest, frozenset(epoch.proofs), tuple(sorted(epoch.claims.items()))
    return epoch.number, epoch.no, judged, signed, _of(epoch.x), _all_of(epoch.D), _all_of(epoch.heard)


def _disk_key(disk: Disk) -> Hashable:
    unseen = ("sent", "counters")
    arrays = {name: v for name, v in disk.items() if name not in unseen and isinstance(v, np.ndarray)}
    return tuple((name, _of(v.ravel())) for name, v in sorted(arrays.items()))
