"""Exact sums of a few parties, as a model to be searched: everything that they say arrives in any order, late, twice or
never; parties crash and come back with what is on their disks; one of them lies.

A party's own words at a stage are a function of the totals before, as those of a program are. A liar knows all that
anybody holds, tells every neighbour what would fit either of two contributions of its own, or a total of its own,
says any digest to anybody, signs all of them and passes on what it likes. Parties that find out end with a sentence,
and tell their neighbours that.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from runtime.explore.exact_sums import Contribution, ExactSums, Request, Said, Same, Says, Total, Words, spanning_tree
from runtime.explore.search import Step

import sottovoce as sv
from sottovoce.errors import PeerError
from sottovoce.runtime.protocol.agreement import Contradiction
from sottovoce.sums.ring import Ring

RING = Ring(8)
DIGIT = 256
BEGINNING = b"begin"
LIES = (0, 1)  # what the liar adds to its own words

Message = tuple[int, int, Said]  # from whom, to whom, what


@dataclass(frozen=True)
class Among:
    """All parties, by index; None for the liar, and for one that has ended with a sentence. ``disks`` are what each has
    written, ``sent`` what was ever said, by a key, and ``faults`` how many crashes may still come."""

    parties: tuple[ExactSums | None, ...]
    disks: tuple[dict[str, bytes], ...]
    sent: dict[Hashable, Message]
    faults: int


@dataclass(frozen=True)
class Summing:
    """A run of so many ``stages`` on a network. ``late``: whether frames arrive after newer ones were said."""

    network: sv.Network
    stages: int = 1
    faults: int = 0
    liar: int | None = None
    late: bool = True

    @cached_property
    def edges(self) -> list[tuple[int, int]]:
        return [(int(i), int(j)) for i, j in self.network.edges]

    def around(self, i: int) -> frozenset[int]:
        return frozenset(self.network.neighbours(i).tolist())

    # What parties bring

    def own(self, i: int, stage: int, before: bytes) -> int:
        """The pads of all edges of the network in it, which cancel."""
        pads = sum((1 if i < j else -1) * (5 * min(i, j) + 3 * max(i, j) + 11 * stage) for j in self.around(i))
        return 3**i + stage + (before[0] if stage else 0) + pads

    def party(self, i: int, disk: dict[str, bytes]) -> ExactSums:
        tree, everybody = spanning_tree(self.edges, i, b""), frozenset(range(self.network.n))
        made = ExactSums(i, self.around(i), everybody, tree, cover, partial(signature, i), genuine, disk.update)
        made.afters[-1] = BEGINNING
        made.restore(disk)
        return made

    # The model

    def begin(self) -> Among:
        disks: tuple[dict[str, bytes], ...] = tuple({} for _ in range(self.network.n))
        parties = tuple(None if i == self.liar else self.party(i, disks[i]) for i in range(self.network.n))
        return Among(parties, disks, {}, self.faults)

    def over(self, state: Among) -> bool:
        """Whether everybody has its answer, or a sentence."""
        return all(party is None or party.is_over for party in state.parties)

    def wrong(self, state: Among) -> str | None:
        answers = {party.afters[party.stage] for party in state.parties if party is not None and party.is_over}
        if len(answers) > 1:
            return "two answers"
        if self.liar is None and None in state.parties:
            return "an honest party was refused"
        for stage in range(1, self.stages):
            for group in self._honest_groups(state):
                before = {party.afters[stage - 1] if party.stage >= stage else None for party in group}
                if len(before) > 1 and None not in before:
                    return "a sum was opened that parties computed from different totals"
        return None

    def _honest_groups(self, state: Among) -> Iterator[list[ExactSums]]:
        """Honest parties that hang together, none of which has ended."""
        left = {i for i in range(self.network.n) if i != self.liar}
        while left:
            group, front = set[int](), [min(left)]
            while front:
                i = front.pop()
                if i not in group:
                    group.add(i)
                    front += self.around(i) & left
            left -= group
            parties = [state.parties[i] for i in group]
            if None not in parties:
                yield [party for party in parties if party is not None]

    def steps(self, state: Among) -> Iterator[Step]:
        for i, party in enumerate(state.parties):
            if party is None:
                continue
            under_way = party.stage >= 0 and party.total is None
            if not under_way and party.stage + 1 < self.stages and party.may_contribute():
                request = Request(RING, 1, f"sum {party.stage + 1}")
                own = word(self.own(i, party.stage + 1, party.afters[party.stage]))
                yield Step(f"contribute({i})", self._after(state, i, partial(_contributed, request, own)))
            if not under_way and party.stage + 1 == self.stages and not party.is_closing:
                yield Step(f"close({i})", self._after(state, i, ExactSums.close))
            if state.faults:
                yield Step(f"crash({i})", self._crashed(state, i), fault=True)
            if any(state.parties[j] is None for j in self._hears_of(i)):
                yield Step(f"goodbye({i})", self._ended(state, i))
        for name, (i, j, said) in self._sayings(state):
            if state.parties[j] is not None:
                yield Step(name, self._after(state, j, lambda party, i=i, said=said: party.receive(i, said)))

    def _hears_of(self, i: int) -> frozenset[int]:
        """Whose goodbye may come to a party: that of its neighbours, and by the liar that of all."""
        heard = frozenset(range(self.network.n)) if self.liar in self.around(i) else self.around(i)
        return heard - {self.liar}

    def _sayings(self, state: Among) -> Iterator[tuple[str, Message]]:
        known = state.sent if self.late else self._said_by(state.parties)
        for i, j, said in known.values():
            yield f"{type(said).__name__.lower()}({i},{j})", (i, j, said)
        if self.liar is not None:
            for j in self.around(self.liar):
                if (party := state.parties[j]) is not None:
                    for place, said in enumerate(self._lies(state, j, party)):
                        yield f"lie {place}({self.liar},{j})", (self.liar, j, said)

    def _said_by(self, parties: Collection[ExactSums | None]) -> dict[Hashable, Message]:
        found: dict[Hashable, Message] = {}
        for i, party in enumerate(parties):
            for j in self.around(i) - {self.liar} if party is not None else ():
                assert party is not None
                for said in party.to_say(j):
                    found[i, j, content(said)] = (i, j, said)
        return found

    def _lies(self, state: Among, j: int, party: ExactSums) -> Iterator[Said]:
        """What the liar may tell a neighbour, of all that this neighbour would take."""
        liar, stage = self.liar, party.stage
        assert liar is not None
        honest = [other for other in state.parties if other is not None]
        if party.own is not None and party.total is None:
            assert party.request is not None
            before, all_others = party.afters[stage - 1], range(self.network.n)
            for more in LIES:
                words = word(more + sum(self.own(k, stage, before) for k in {liar, *self._below(liar, j)}))
                covered = RING.add(words, cover(stage, b"", liar, j, words.shape))
                yield Contribution(stage, b"", covered, before if stage else b"")
                total = word(more + sum(self.own(k, stage, before) for k in all_others))
                covered = RING.add(total, cover(stage, b"total", liar, j, total.shape))
                yield Total(stage, covered, party.request.after(before, total))
        digests = {(s, after) for other in honest for s, after in other.afters.items() if s >= 0}
        for s, after in sorted(digests):
            yield Same(s, after)
            yield Says(liar, after, signature(liar, after))
        told = {(k, other.afters[other.stage], by) for other in honest for k, by in other.signed.items()}
        yield from (Says(*said) for said in sorted(told))

    def _below(self, i: int, j: int) -> list[int]:
        """Who is below ``i``, where that is below ``j``."""
        trees = [spanning_tree(self.edges, k, b"") for k in range(self.network.n)]
        if trees[i].parent != j:
            return []
        found, front = [], list(trees[i].children)
        while front:
            found.append(k := front.pop())
            front += trees[k].children
        return found

    # What a step changes

    def _after(self, state: Among, i: int, act: Any) -> Among:
        disks, parties = list(state.disks), list(state.parties)
        disks[i] = dict(state.disks[i])
        changed = parties[i] = copied(state.parties[i], disks[i])
        try:
            act(changed)
        except Contradiction:
            parties[i] = None
        except PeerError:
            return state
        return self._heard(replace(state, parties=tuple(parties), disks=tuple(disks)), i)

    def _crashed(self, state: Among, i: int) -> Among:
        parties, disks = list(state.parties), list(state.disks)
        disks[i] = dict(state.disks[i])
        parties[i] = self.party(i, disks[i])
        faults = state.faults - 1
        return self._heard(replace(state, parties=tuple(parties), disks=tuple(disks), faults=faults), i)

    def _ended(self, state: Among, i: int) -> Among:
        return replace(state, parties=tuple(None if k == i else party for k, party in enumerate(state.parties)))

    def _heard(self, state: Among, i: int) -> Among:
        """What this party could say now it may have said: it is on its way, however late it comes."""
        if not self.late:
            return state
        only = [party if k == i else None for k, party in enumerate(state.parties)]
        return replace(state, sent=state.sent | self._said_by(only))

    def key(self, state: Among) -> Hashable:
        disks = tuple(tuple(sorted(disk.items())) for disk in state.disks) if state.faults else ()
        return tuple(map(everything, state.parties)), disks, frozenset(state.sent), state.faults


def _contributed(request: Request, own: Words, party: ExactSums) -> None:
    party.contribute(request, own)


def word(value: int) -> Words:
    return np.array([[value % DIGIT]], dtype=np.uint64)


def cover(stage: int, tree: bytes, sender: int, receiver: int, shape: tuple[int, ...]) -> Words:
    """Others in every direction, so that a mistake would show; what they hide is no question here."""
    return word(17 * sender + 31 * receiver + 7 * stage + len(tree))


def signature(signer: int, after: bytes) -> bytes:
    return b"%d signs " % signer + after


def genuine(signer: int, after: bytes, signed: bytes) -> bool:
    return signed == signature(signer, after)


def content(said: Said) -> Hashable:
    parts = (part.tobytes() if isinstance(part, np.ndarray) else part for part in said)
    return (type(said).__name__, *parts)


def copied(party: ExactSums | None, disk: dict[str, bytes]) -> ExactSums:
    assert party is not None
    new = copy(party)
    for name, value in vars(party).items():
        if isinstance(value, dict):
            setattr(new, name, {key: dict(held) if isinstance(held, dict) else held for key, held in value.items()})
    new.write = disk.update
    return new


def everything(party: ExactSums | None) -> Hashable:
    """All that a party knows."""
    if party is None:
        return None
    return (
        party.stage, party.begun, party.is_closing, party.own is None,
        None if party.total is None else party.total.tobytes(),
        tuple(sorted((place, words.tobytes()) for place, words in party.incoming.items())),
        tuple(sorted((place, words.tobytes()) for place, words in party.heard_before.items())),
        tuple(sorted((j, kind.__name__, content(said)) for (j, kind), said in party.early.items())),
        tuple(sorted((j, tuple(sorted(digests.items()))) for j, digests in party.same.items())),
        tuple(sorted(party.afters.items())), tuple(sorted(party.signed)), tuple(sorted(party.unknown.items())),
    )  # fmt: skip
