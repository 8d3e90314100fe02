"""All exact sums of one run at one party, without sockets, clock or disk: what it was told, and what follows. This is
the protocol that parties are to speak in place of averaging words, searched before it is built (``summing.py``).

A run adds up one vector after the other, its *stages*. Everything is written once:

    IN[j]     what child j of the tree said: the sum over its subtree
    UP        = own + sum of IN, told to the parent; ``own`` has the pads of all edges of the network in it
    X         UP at the root, and everywhere else what the parent says: the total
    AFTER     = H(AFTER of the stage before, what was asked, X): one digest for all that this party holds
    SAME[j]   what neighbour j of the *network* says of its AFTER

and nobody contributes to a stage before all its neighbours have the AFTER of the stage before that it has itself. So a
total opens only where all honest parties have computed their part from the same totals: a liar between them can make
two camps hold different totals for a moment, but at their border nobody goes on, the pads of those who did not
contribute stay on all the others, and the run ends with a sentence. At its end everybody signs the last AFTER, once,
and passes on what others have signed; who has the signatures of all has the answer that all have.

What is said is a function of what is written, so a crash is nothing but a lost connection: say all on each new one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from sottovoce.errors import PeerError
from sottovoce.runtime.keys.identity import with_lengths
from sottovoce.runtime.protocol.agreement import Contradiction
from sottovoce.sums.ring import Ring, Words

DIGEST = 32  # bytes
Digest = bytes


class Contribution(NamedTuple):
    """What goes up the tree: the sum over the sender's subtree, of a stage, on a tree."""

    stage: int
    tree: bytes
    words: Words
    before: Digest  # AFTER of the stage before, at the sender


class Total(NamedTuple):
    """What comes down."""

    stage: int
    words: Words
    after: Digest


class Same(NamedTuple):
    """AFTER of a stage at the sender, where nothing else says it."""

    stage: int
    after: Digest


class Says(NamedTuple):
    """A party's signature of the last AFTER of the run."""

    signer: int
    after: Digest
    signature: bytes


Said = Contribution | Total | Same | Says


class Tree(NamedTuple):
    """This party's place in a spanning tree of the network, by the rule that all know."""

    tag: bytes
    parent: int | None
    children: frozenset[int]


@dataclass(frozen=True, eq=False)
class Request:
    """What a stage adds up: public, and the same at every party."""

    ring: Ring
    numbers: int
    of: str

    def after(self, before: Digest, total: Words) -> Digest:
        """The digest of all totals up to this one."""
        what = f"{self.ring.bits} {self.numbers} {self.of}".encode()
        return sha256(with_lengths(b"sottovoce total", before, what, total.astype("<u8").tobytes())).digest()


@dataclass(eq=False)
class ExactSums:
    """``write`` puts rows on the disk, all of them or none, before anybody hears of what is in them.

    ``cover(stage, tree, sender, receiver, shape)`` are the words that hide what goes over an edge of the tree from
    whoever taps it, and ``sign`` and ``genuine`` the signatures of the end.
    """

    index: int
    neighbours: frozenset[int]  # of the network, those that take part
    everybody: frozenset[int]
    tree: Tree
    cover: Callable[[int, bytes, int, int, tuple[int, ...]], Words]
    sign: Callable[[Digest], bytes]
    genuine: Callable[[int, Digest, bytes], bool]
    write: Callable[[Mapping[str, bytes]], None]
    stage: int = -1  # the last one that this party has contributed to
    begun: int = -1  # the same before a restart, where that is one more: its own words are made again
    request: Request | None = None  # of that stage
    own: Words | None = None
    incoming: dict[tuple[bytes, int], Words] = field(default_factory=dict)  # of that stage, by tree and child
    heard_before: dict[tuple[bytes, int], Words] = field(default_factory=dict)  # and those from before a restart
    total: Words | None = None  # of that stage
    afters: dict[int, Digest] = field(default_factory=dict)  # by stage, and of -1 what the run begins with
    same: dict[int, dict[int, Digest]] = field(default_factory=dict)  # by neighbour and stage
    early: dict[tuple[int, type], Contribution | Total] = field(default_factory=dict)  # of a stage not begun here
    signed: dict[int, bytes] = field(default_factory=dict)  # by party, once the run is over here
    unknown: dict[int, tuple[Digest, bytes]] = field(default_factory=dict)  # signatures that came before the own end
    is_closing: bool = False  # whether the last stage is over

    # What this party does

    def may_contribute(self) -> bool:
        """To the next stage: whether all neighbours hold the totals so far that this party holds. What was said before
        a restart is said again."""
        known = (self.stage in self.same.get(j, {}) for j in self.neighbours)
        return self.stage < 0 or self.begun > self.stage or all(known)

    def restore(self, rows: Mapping[str, bytes]) -> None:
        """After a restart: all totals that were written, and how far it was beyond."""
        while (row := rows.get(f"total/{self.stage + 1}")) is not None:
            self.stage += 1
            bits, numbers, name = struct.unpack_from("<III", row, DIGEST)
            of = row[DIGEST + 12 : DIGEST + 12 + name].decode()
            self.request = Request(Ring(bits), numbers, of)
            self.total = np.frombuffer(row, "<u8", offset=DIGEST + 12 + name).astype(np.uint64).reshape(numbers, -1)
            self.afters[self.stage] = row[:DIGEST]
        self.begun = self.stage + (f"own/{self.stage + 1}" in rows)
        self.heard_before = {
            (bytes.fromhex(tag), int(child)): np.frombuffer(row, "<u8").astype(np.uint64)
            for name, row in rows.items()
            for kind, stage, tag, child in [(name.split("/") + [""] * 3)[:4]]
            if kind == "in" and int(stage) == self.stage + 1
        }
        if (signature := rows.get(f"says/{self.index}")) is not None:
            self.signed[self.index] = signature

    def contribute(self, request: Request, own: Words) -> None:
        """Bring this party's own words, under the pads of all edges, to the next stage."""
        assert self.may_contribute()
        self.stage, self.request, self.own, self.total = self.stage + 1, request, own, None
        self.incoming = {place: words.reshape(own.shape) for place, words in self.heard_before.items()}
        self.heard_before = {}
        early, self.early = self.early, {}
        for (neighbour, _), said in early.items():
            self.receive(neighbour, said)
        self._go_on()

    def take(self, tree: Tree, own: Words | None = None) -> None:
        """From now on over another tree: what was heard over the one before is not added here. ``own``: without the
        pads of a party that was dropped, or with the estate of one that has left."""
        self.tree = tree
        if self.own is not None and self.total is None:
            self.own = self.own if own is None else own
            self._go_on()

    def close(self) -> None:
        """The last stage is over: sign what it came to."""
        assert self.total is not None
        self.is_closing = True
        if self.index not in self.signed:
            signature = self.sign(self.afters[self.stage])
            self.write({f"says/{self.index}": signature})
            self.signed[self.index] = signature
        unknown, self.unknown = self.unknown, {}
        for signer, (after, signature) in unknown.items():
            self._hear_signature(Says(signer, after, signature))

    @property
    def is_over(self) -> bool:
        """Whether everybody has signed what this party holds."""
        return self.is_closing and self.everybody <= self.signed.keys()

    # What comes in

    def receive(self, neighbour: int, said: Said) -> bool:
        """Take in what a neighbour says; True where there may be something new to say. Saying it again changes
        nothing."""
        if isinstance(said, Says):
            return self._hear_signature(said)
        if isinstance(said, Contribution):
            self._note(neighbour, said.stage - 1, said.before)
        else:
            self._note(neighbour, said.stage, said.after)
        if isinstance(said, Same):
            return True
        if said.stage > self.stage + 1:
            raise Contradiction(f"is in sum {said.stage}, this party in {self.stage}: none of them can be skipped.")
        if said.stage == self.stage + 1:
            if isinstance(said, Total) and self.begun < said.stage:
                raise Contradiction(
                    f"has the total of sum {said.stage}, to which this party has not contributed. Either that is a "
                    "lie, or the journal of this party was restored from an older copy: restore the newest one; if it "
                    "is lost, agree on a new run."
                )
            self.early[neighbour, type(said)] = said
            return False
        if said.stage < self.stage or self.total is not None or self.own is None:
            return True  # it lags: it is told what it lacks
        if said.words.size != self.own.size:
            raise PeerError(f"a sum of {said.words.size} words; this one has {self.own.size}.")
        said = said._replace(words=said.words.reshape(self.own.shape))
        if isinstance(said, Total):
            self._hear_total(neighbour, said)
        else:
            self._hear_contribution(neighbour, said)
        return True

    def _hear_contribution(self, neighbour: int, said: Contribution) -> None:
        if said.tree == self.tree.tag and neighbour not in self.tree.children:
            raise PeerError("words that go up the tree, from one that is not below.")
        words = self._uncovered(neighbour, said.stage, said.tree, said.words)
        known = self.incoming.setdefault((said.tree, neighbour), words)
        if not np.array_equal(known, words):
            raise Contradiction(
                f"has said two different things in sum {said.stage}. Either it lies, or it has lost its journal."
            )
        self._go_on()

    def _hear_total(self, neighbour: int, said: Total) -> None:
        assert self.request is not None
        total = self._uncovered(neighbour, said.stage, b"total", said.words)
        if self.request.after(self.afters[said.stage - 1], total) != said.after:
            raise Contradiction(f"has told a total of sum {said.stage} that does not go with its digest.")
        self._open(total)

    def _uncovered(self, sender: int, stage: int, tree: bytes, words: Words) -> Words:
        assert self.request is not None
        return self.request.ring.subtract(words, self.cover(stage, tree, sender, self.index, words.shape))

    def _note(self, neighbour: int, stage: int, after: Digest) -> None:
        """A neighbour's digest, which must be this party's own."""
        if stage < 0:
            return
        known = self.same.setdefault(neighbour, {}).setdefault(stage, after)
        if known != after:
            raise Contradiction(
                f"has said two different digests of sum {stage}. Either it lies, or it lost its journal."
            )
        self._compare(neighbour, stage)

    def _compare(self, neighbour: int, stage: int) -> None:
        theirs, mine = self.same.get(neighbour, {}).get(stage), self.afters.get(stage)
        if None not in (theirs, mine) and theirs != mine:
            raise Contradiction(
                f"holds another total of sum {stage} than this party. Some party has told them different ones, so "
                "nothing more was computed, and there is no answer. Agree on a new run, with parties that you trust."
            )

    def _hear_signature(self, said: Says) -> bool:
        if said.signer not in self.everybody or not self.genuine(*said):
            raise PeerError("passed on a signature of the totals that its party has not made.")
        if not self.is_closing:
            self.unknown[said.signer] = said.after, said.signature
            return False
        if said.after != self.afters[self.stage]:
            raise Contradiction(
                f"passed on that party number {said.signer} has come to other totals than this party, and has signed "
                "them. Some party has told them different ones: there is no answer. Agree on a new run."
            )
        if said.signer in self.signed:
            return False
        self.signed[said.signer] = said.signature
        return True

    # What follows

    def _go_on(self) -> None:
        """Write down what this party can tell now."""
        if self.own is None or self.total is not None or not self.is_ready:
            return
        place = f"in/{self.stage}/"
        rows = {f"{place}{tag.hex()}/{child}": words.tobytes() for (tag, child), words in self.incoming.items()}
        self.write({f"own/{self.stage}": sha256(self.own.tobytes()).digest(), **rows})
        if self.tree.parent is None:
            self._open(self._sum())

    @property
    def is_ready(self) -> bool:
        """Whether all children have spoken."""
        return all((self.tree.tag, child) in self.incoming for child in self.tree.children)

    def _sum(self) -> Words:
        assert self.own is not None
        assert self.request is not None
        total = self.own
        for child in sorted(self.tree.children):
            total = self.request.ring.add(total, self.incoming[self.tree.tag, child])
        return total

    def _open(self, total: Words) -> None:
        """The total is known."""
        assert self.request is not None
        after = self.request.after(self.afters[self.stage - 1], total)
        name = self.request.of.encode()
        size = struct.pack("<III", self.request.ring.bits, self.request.numbers, len(name))
        self.write({f"total/{self.stage}": after + size + name + total.astype("<u8").tobytes()})
        self.total, self.afters[self.stage] = total, after
        for neighbour in self.same:
            self._compare(neighbour, self.stage)

    # What goes out

    def to_say(self, neighbour: int) -> list[Said]:
        """All that this neighbour should be told: on a new connection all of it, later what is new."""
        said: list[Said] = []
        if self.total is not None:
            if neighbour in self.tree.children or (self.tree.tag and self.stage not in self.same.get(neighbour, {})):
                said.append(self._total_for(neighbour))
            elif neighbour != self.tree.parent:  # which is told so with this party's next words
                said.append(Same(self.stage, self.afters[self.stage]))
        elif self.own is not None and neighbour == self.tree.parent:
            if self.is_ready:
                said.append(self._contribution_for(neighbour))
        elif self.own is not None and self.stage:
            said.append(Same(self.stage - 1, self.afters[self.stage - 1]))
        if self.is_closing:
            said += [Says(signer, self.afters[self.stage], signature) for signer, signature in self.signed.items()]
        return said

    def _contribution_for(self, parent: int) -> Contribution:
        assert self.request is not None
        words = self._sum()
        cover = self.cover(self.stage, self.tree.tag, self.index, parent, words.shape)
        before = self.afters[self.stage - 1] if self.stage else b""
        return Contribution(self.stage, self.tree.tag, self.request.ring.add(words, cover), before)

    def _total_for(self, child: int) -> Total:
        assert self.request is not None
        assert self.total is not None
        cover = self.cover(self.stage, b"total", self.index, child, self.total.shape)
        return Total(self.stage, self.request.ring.add(self.total, cover), self.afters[self.stage])


def spanning_tree(edges: Collection[tuple[int, int]], index: int, tag: bytes) -> Tree:
    """The place of a party in the tree that all make of the same edges: breadth first from a centre, which is the
    middle of the way between two parties that are far apart."""
    around: dict[int, list[int]] = {}
    for i, j in sorted(edges):
        around.setdefault(i, []).append(j)
        around.setdefault(j, []).append(i)
    far = _parents(around, min(around))[-1][0]
    parents = dict(reached := _parents(around, far))
    way = [reached[-1][0]]
    while way[-1] != far:
        way.append(parents[way[-1]])
    parents = dict(_parents(around, way[len(way) // 2]))
    parent = parents[index]
    children = frozenset(j for j, of in parents.items() if of == index and j != index)
    return Tree(tag, None if parent == index else parent, children)


def _parents(around: Mapping[int, list[int]], root: int) -> list[tuple[int, int]]:
    """Everybody and its parent, in the order in which they are reached from the root, which is its own."""
    reached, order = {root}, [(root, root)]
    for i, _ in order:
        for j in around[i]:
            if j not in reached:
                reached.add(j)
                order.append((j, i))
    return order
