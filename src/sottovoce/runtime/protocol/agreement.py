"""One agreement at one party, without I/O: a ``Node``, and a rule by which all parties stop without a coordinator.

The rule certifies *frozen* numbers, so that no delay, loss or reordering can make it fire early. Entering epoch ``e``
a party wakes its node and remembers that moment: ``x`` and ``D``, and what it sent, ``r``. The neighbours' ``r`` of the
same epoch tell it

    rho_ij = r_{i|j} - D_{i|j} = y_{i|j} - z_{i|j},

which is what the frozen numbers lack to a fixed point of eqs. 2 to 5 on its side of the edge. The two sides bound all
that the KKT conditions still ask for: ``|A_ij x_i + A_ji x_j - b_ij| <= (|rho_ij| + |rho_ji|) / 2c`` and, for the duals
``lambda``, ``|lambda_{i|j} - lambda_{j|i}| <= (|rho_ij| + |rho_ji|) / 2``. A party to which ``rho`` is small says *ok*,
else *no*; verdicts are flooded, and when all have said ok the frozen ``x`` is the answer: that of one party, rounded
(``answers.py``), which everybody compares with its own, and signs.

What cannot be true is not believed: a verdict in which this party accepts what it has not accepted, an epoch that
everybody accepts though it was refused, an epoch far ahead, a state that was frozen twice, numbers larger than honest
ones get (``Sizes``). An ok is signed (``Acceptances``), with the digest of the answer; what comes in here is genuine.
So whatever others say, this party has no answer but one that everybody accepts, bit by bit: no two honest parties end
with different ones, and both sides of every edge between honest parties are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import MappingProxyType

import numpy as np

from ...costs.base import Array
from ...errors import PeerError
from ...pdmm.modular_mask import NEAR
from ...pdmm.node import Message, Node
from .acceptances import as_array, bits, from_array
from .answers import NONE, UNSALTED, Rounded
from .message_bounds import Sizes
from .past import Past, bit, flag, tag_array, tag_of
from .route import Route
from .telling import EPS, ROUNDING, Telling

IDLE = 8  # wakes with nothing new, after which it is time to ask the others all the same
PATIENCE = 64  # wakes, at most, between an epoch that failed and the next attempt of the same party
NOBODY: Mapping[int, bytes] = MappingProxyType({})
COARSER = 8.0  # times what a party would round to itself may others round to
JUMP = 2**20  # epochs by which others can be ahead; a run has a few
ROLLED_BACK = (
    "the journal here was restored from an older copy: restore the newest one; if it is lost, agree on a new run."
)


class Contradiction(PeerError):
    """What parties said cannot all be true, or all be used. To hear it again does not help."""


class Final(Contradiction):
    """One that nothing can mend which is said later: there is no need to wait for it."""


def forgotten(epoch: int) -> Final:
    """Nobody else signs for this party: it has, and what it signs is on its disk first."""
    return Final(f"shows that this party has accepted epoch {epoch}, which it does not know: {ROLLED_BACK}")


@dataclass(eq=False)
class Epoch:
    """A frozen state, and what was said about it."""

    number: int
    x: Array
    D: dict[int, Array]
    sent: dict[int, Array]  # r of the frozen state, by neighbour
    heard: dict[int, Array] = field(default_factory=dict)
    residual: float | None = None  # of this party, once all neighbours were heard: in units of tau, 1 is good enough
    answer: Rounded | None = None  # what this party has accepted
    proofs: dict[int, bytes] = field(default_factory=dict)  # who accepts that, with their signatures
    # Who has signed another digest, or any, before this party could compare; and what this party finds wrong.
    claims: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    wrong: str = ""
    no: bool = False

    @property
    def ok(self) -> int:
        """The bits of the parties that accept."""
        return bits(self.proofs)

    @property
    def dissents(self) -> dict[int, bytes]:
        """Who finds no answer right, with their signatures."""
        return {i: proof for i, (digest, proof) in self.claims.items() if digest == NONE}

    @property
    def digest(self) -> bytes:
        """Of the answer that this party has accepted, or nothing."""
        return b"" if self.answer is None else self.answer.digest


class Agreement:
    """PDMM at party ``node.i`` of ``n``, until everybody has accepted one epoch.

    Others see every decision that is made here. So it has nothing to decide by but public numbers, what was received,
    and the node, which has forgotten its data (for costs with a quadratic form; others keep theirs, and show more).
    """

    floor = 1.0  # the size of x below which tol is absolute; public, and what data have in units of ``scale``

    def __init__(
        self,
        node: Node,
        n: int,
        sign: Callable[[int, bytes], bytes],
        *,
        salt: Callable[[int], bytes] = lambda epoch: UNSALTED,
        whole: int = 0,
        names: Sequence[str] = (),
        tol: float,
        sigma: float = 0.0,
        size: float = 1.0,
        route: Route | None = None,
        tag: bytes = b"",
        folded: int = 0,
        turns: bool = False,
    ) -> None:
        """``sign`` an epoch and the digest of its answer, once accepted; the ``salt`` of one that is proposed.
        ``whole``: ``x`` is a mean of whole numbers, over so many parties. ``sigma`` of the pads, the public ``size`` of
        the numbers, and how many edges of the network have no messages: what honest messages can come to. ``route`` is
        what they go over, with its ``tag``; with ``turns`` everybody waits to hear everybody."""
        self.node, self.n, self.sign, self.tol = node, n, sign, tol
        self.salt, self.whole, self.names = salt, whole, names or [f"party {i}" for i in range(n)]
        self.first, self.hops = (0, n - 1) if route is None else (route.first, route.hops)
        self.least = min(node.c.values() if route is None else route.c)  # of all c
        self.source = route.parent(node.i) if route is not None and route.is_tree else None  # of answers
        self.sizes = Sizes(n, max(node.c.values()), sigma, size, folded)
        # On a route that was not planned nobody waits to speak: a neighbour may be beyond this stage, and not know.
        self.telling = Telling(node, None if tag else route, always=turns)
        self.everybody = (1 << n) - 1  # bits
        self.hopeless: Contradiction | None = None  # why this party cannot go on
        self.newest: dict[int, Array] = {}  # what the last wake had to say to each neighbour
        self.last: dict[int, Array] = {}  # what each has said
        self.news: set[int] = set()  # neighbours heard since the last wake
        self.change = np.inf  # by how much the last wake that had heard something changed what was told
        self.settled: set[int] = set()  # neighbours whose news have changed nothing since
        self.idle = 0  # wakes since there was news
        # Of an epoch that this party will enter once it has heard everybody: before that it could only refuse it.
        self.pending: dict[int, tuple[int, Array]] = {}
        self.early: tuple[int, bytes, Mapping[int, bytes]] = 0, b"", NOBODY
        self.offers: dict[int, tuple[int, Rounded]] = {}  # by neighbour: of which epoch which answer is told
        self.epoch: Epoch | None = None
        self.wakes = self.wait = 0
        self.done = False
        self.absent = 0  # the bits of parties that have left for good
        self.paused = False  # whether epochs stand still, while the parties agree on who has left
        self.tag = tag
        self.earlier: dict[bytes, Past] = {}  # by the tags of routes that were given up in this stage

    # Ordinary iterations

    def wake(self) -> None:
        """Compute, and have something new to say to every neighbour (eqs. 2 and 3)."""
        self.newest = {message.receiver: message.r for message in self.node.wake()}
        self._notice(self.telling.changes(self.newest))
        self.telling.take(self.node.sent, self.newest, news=bool(self.news))
        if not _size(self.newest.values()) <= self.sizes.largest:
            self.hopeless = Contradiction(
                "the numbers of this party are so large in units of scale that its neighbours refuse them. Agree on a "
                "run with larger scales."
            )
        self.news.clear()
        self.wakes += 1
        self.wait = max(0, self.wait - 1)

    def _notice(self, change: float) -> None:
        """Whether there is still something to compute."""
        self.idle = 0 if self.news else self.idle + 1
        if self.news or self.idle >= IDLE:
            self.change = change
        if self.moves > 1:
            self.settled.clear()
        else:
            self.settled |= self.news if self.idle < IDLE else self.telling.heard

    def receive(self, j: int, counter: int, r: Array) -> bool:
        """A neighbour's message (eq. 5); False where it is old news."""
        self._check_size(r)
        fresh = self.node.receive(Message(j, self.node.i, counter, r))
        if fresh or j not in self.telling.heard:
            self.news.add(j)
            self.last[j] = r
        self.telling.heard.add(j)
        if (self.pending or self.early[0]) and self.met:
            self._catch_up()
        return fresh

    # Stopping

    def tau(self, x: Array, messages: Iterable[Array]) -> float:
        """How small ``rho`` must be: such that ``x`` is off by ``tol`` of its size, or what rounding leaves."""
        node, size = self.node, max(self.floor, _size([x]))
        promised = self.tol * size * min(*node.c.values(), 2 * node.curvature / len(node.neighbours))
        return max(promised, ROUNDING * EPS * _size(messages))

    @property
    def moves(self) -> float:
        """By how much what was told has changed, in units of what is asked for."""
        return self.change / self.tau(self.node.x, (*self.last.values(), *self.newest.values()))

    @property
    def calm(self) -> bool:
        """Whether what each neighbour has said changes nothing here: time to ask the others."""
        if self.done or self.paused or self.pending or self.wait > 0:
            return False
        undecided = self.epoch is not None and not self.epoch.no
        return not undecided and self.settled >= set(self.node.neighbours)

    @property
    def met(self) -> bool:
        """Whether every neighbour was heard."""
        return self.telling.heard >= set(self.node.neighbours)

    @property
    def accepted(self) -> bool:
        """Whether this party has accepted the epoch, and nobody is known to refuse it."""
        return self.epoch is not None and not self.epoch.no and self.node.i in self.epoch.proofs

    def propose(self) -> None:
        """Enter the next epoch."""
        self.enter(self.current + 1)

    def enter(self, number: int) -> None:
        """Freeze a state for this epoch. To be written down before anybody hears of it."""
        D = {j: v.copy() for j, v in self.node.D.items()}
        self.wake()
        self.epoch = Epoch(number, self.node.x.copy(), D, dict(self.newest))

    def hear(self, j: int, epoch: int, r: Array) -> None:
        """A neighbour's frozen message."""
        self._check_epoch(epoch)
        self._check_size(r)
        if epoch > self.current and not self.done and not self.paused:
            if not self.met:
                self.pending[j] = max(self.pending.get(j, (0, r)), (epoch, r), key=itemgetter(0))
                return
            self.enter(epoch)
        if self.epoch is None or epoch != self.epoch.number:
            return
        if j in self.epoch.heard and not np.array_equal(self.epoch.heard[j], r):
            raise Contradiction(
                f"has frozen two different states for epoch {epoch}. Its journal was restored from an older copy, or "
                "it lies: ask it; if it has no newer copy, agree on a new run."
            )
        self.epoch.heard[j] = r
        self.judge()

    def _catch_up(self) -> None:
        """Enter the epoch in which the others wait."""
        pending, self.pending = self.pending, {}
        for j, (epoch, r) in sorted(pending.items(), key=lambda said: -said[1][0]):
            self.hear(j, epoch, r)
        (number, answer, proofs), self.early = self.early, (0, b"", NOBODY)
        if number:
            self.verdict(number, no=False, proofs=proofs, answer=answer)

    def judge(self) -> None:
        """Say ok or no, once all neighbours' frozen messages are here, and the answer."""
        epoch = self.epoch
        assert epoch is not None
        if self.paused or epoch.no or epoch.answer is not None or self.node.i in epoch.claims:
            return
        if epoch.residual is None:
            self._compare()
        if epoch.residual is not None and epoch.residual <= 1 and (answer := self._agreed()) is not None:
            self._accept(answer)

    def _compare(self) -> None:
        """How good the frozen state is, by those of all neighbours."""
        epoch = self.epoch
        assert epoch is not None
        if len(epoch.heard) < len(self.node.neighbours):
            return
        # By frozen numbers alone: by those of the moment a neighbour could make tau as large as it likes.
        messages = (*epoch.sent.values(), *epoch.heard.values())
        tau, largest = self.tau(epoch.x, messages), _size(messages)
        residual = _size(epoch.heard[j] - epoch.D[j] for j in self.node.neighbours) / tau
        settled = self.sizes.settled(_size([epoch.x]), self.node.size, len(self.node.neighbours))
        if residual <= 1 and ROUNDING * EPS * largest == tau and largest > settled:
            self.hopeless = Contradiction(
                f"the messages have settled at numbers of 1e{np.log10(largest):.0f}. What rounding leaves of them is "
                f"worse than tol = {self.tol:g} promises. A party has sent what it should not, or some data are far "
                "larger than their scale. Agree on a new run, with larger scales or a larger tol."
            )
            return
        epoch.residual = residual
        if residual > 1:
            self.unite(no=True)

    # The answer

    def offer(self, j: int, number: int, told: Array) -> None:
        """A neighbour has told what the answer of an epoch is, if it is accepted."""
        self._check_epoch(number)
        answer = Rounded.from_array(told)
        if answer is None:
            raise Contradiction(
                f"tells an answer of epoch {number} that is none: multiples of a step are whole numbers."
            )
        known = self.offers.get(j, (0, answer))
        if known[0] == number and known[1].digest != answer.digest:
            raise Contradiction(f"has told two answers of epoch {number}.")
        if number > known[0]:
            self.offers[j] = number, answer
        if self.epoch is not None and number == self.epoch.number and not self.done:
            self.judge()

    @property
    def told(self) -> Rounded | None:
        """The answer of the epoch, as far as it is known here and others may lack it."""
        epoch = self.epoch
        if epoch is None or epoch.no or self.whole:
            return None
        offered = (answer for number, answer in self.offers.values() if number == epoch.number)
        return epoch.answer or next(offered, None)

    def _agreed(self) -> Rounded | None:
        """What this party would sign; None as long as it does not know."""
        epoch = self.epoch
        assert epoch is not None
        x = epoch.x
        if self.whole:
            sums = Rounded.whole(x, self.whole)
            if sums.off(x) < NEAR:
                return sums
            self._dissent(
                "the sums of an agreement are no whole numbers: a party has not kept to the protocol. Agree on a new "
                "run."
            )
            return None
        step = self._step(epoch)
        if self.node.i == self.first:
            return Rounded.of(x, step, self.salt(epoch.number))
        for j, (number, answer) in self.offers.items():
            fine = len(answer.multiples) == len(x) and answer.step <= COARSER * step and answer.off(x) <= 1
            if number == epoch.number and not fine:
                self._dissent(
                    f"{self.names[j]} tells an answer of epoch {number} that is not the one which this party has found "
                    "with its neighbours. It lies, or who told it does. Agree on a new run."
                )
                return None
        return self.told

    def _dissent(self, why: str) -> None:
        """Sign that no answer is right, though the epoch looks so from here. Two parts of a network may be at rest on
        different numbers while somebody between them is away, or not at rest and about to refuse."""
        epoch = self.epoch
        assert epoch is not None
        epoch.wrong = why
        epoch.claims[self.node.i] = NONE, self.sign(epoch.number, NONE)
        self._look_for_lies()

    def _look_for_lies(self) -> None:
        """An epoch that looks right to everybody is right, and has one answer. If all have signed, and not the same,
        somebody has lied."""
        epoch = self.epoch
        assert epoch is not None
        signed = epoch.ok | bits(epoch.claims)
        if epoch.no or not epoch.claims or not signed >> self.node.i & 1 or signed | self.absent != self.everybody:
            return
        others = [i for i in epoch.claims if i != self.node.i]
        self.hopeless = Contradiction(epoch.wrong or self._apart(others, epoch.number))

    def _step(self, epoch: Epoch) -> float:
        """What an answer is rounded to: by half of it the ``x`` of two honest parties may differ, which is that much
        along each edge; and no number of the answer is off by more than that for its rounding."""
        size = max(self.floor, _size([epoch.x]))
        largest = max(self.sizes.typical, _size(epoch.sent.values()))
        return 2 * self.hops * max(self.tol * size, ROUNDING * EPS * largest / self.least)

    def _accept(self, answer: Rounded) -> None:
        """Sign it. Others may have, before this party could compare."""
        epoch = self.epoch
        assert epoch is not None
        epoch.answer = answer
        same = {i: proof for i, (digest, proof) in epoch.claims.items() if digest == answer.digest}
        epoch.claims = {i: claim for i, claim in epoch.claims.items() if i not in same}
        self.unite(no=False, proofs=same | {self.node.i: self.sign(epoch.number, answer.digest)})

    def _apart(self, indices: Iterable[int], number: int) -> str:
        who = self.names[min(indices)]
        return (
            f"{who} has accepted another answer of epoch {number} than this party, and signed it: {who}, or somebody "
            "between the two, has not told everybody the same. There is no answer; agree on a new run."
        )

    # Verdicts

    def verdict(self, number: int, *, no: bool, proofs: Mapping[int, bytes], answer: bytes) -> bool:
        """What a neighbour has said of an epoch, in all, with genuine signatures of the digest of an ``answer``; True
        where it is news to pass on."""
        if self.done:
            return False
        self._check_epoch(number)
        signed = self.epoch is not None and number == self.current and self.node.i in self.epoch.proofs
        accepted = signed and self.epoch is not None and answer == self.epoch.digest
        if number >= self.current and self.node.i in proofs and not accepted and answer != NONE:
            raise forgotten(number)
        if number < self.current:
            if len(proofs) == self.n and not no:
                raise Contradiction(
                    f"says that everybody has accepted epoch {number}, and this party knows that it was refused. A "
                    f"party has said both, or {ROLLED_BACK}"
                )
            return False
        if self.epoch is None and number == self.current:  # which was on an earlier route
            return False
        if number > self.current:
            if self.paused:
                return False
            if not no and not self.met:
                known = self.early[2] if self.early[:2] == (number, answer) else NOBODY
                self.early = max(self.early, (number, answer, {**known, **proofs}), key=itemgetter(0))
                return False
            self.enter(number)
        return self.unite(no=no, proofs=proofs, answer=answer)

    def verdict_elsewhere(
        self, tag: bytes, number: int, *, no: bool, proofs: Mapping[int, bytes], answer: bytes
    ) -> None:
        """What was said of an epoch on another route. If everybody has accepted it, that is the end: it is as good as
        any, and others may know of no other."""
        past, i = self.earlier.get(tag), self.node.i
        if self.done or (past is not None and number < past.number):
            return
        accepted = past is not None and number == past.number and past.answer is not None
        if i in proofs and not accepted:
            raise forgotten(number)
        if past is None or past.answer is None or number > past.number:
            return
        if not no and answer == past.answer.digest and bits(proofs) | past.absent == self.everybody:
            self.tag, self.done, found = tag, True, past.answer
            self.epoch = Epoch(number, found.x, {}, {}, residual=past.residual, answer=found, proofs=dict(proofs))

    @property
    def current(self) -> int:
        """The epoch that this party is in, or was in on an earlier route; 0 before the first."""
        if self.epoch is not None:
            return self.epoch.number
        return max((past.number for past in self.earlier.values()), default=0)

    def unite(self, *, no: bool, proofs: Mapping[int, bytes] = NOBODY, answer: bytes | None = None) -> bool:
        """Add to what is known of the epoch, and of the ``answer`` with this digest, or of that which this party has
        accepted; True where it is news to pass on."""
        epoch = self.epoch
        assert epoch is not None
        if epoch.no:  # then it does not matter who would accept it
            return False
        before = (epoch.no, len(epoch.proofs))
        if epoch.answer is not None and answer in (None, epoch.digest):
            epoch.proofs = {**proofs, **epoch.proofs}
        else:
            epoch.claims = {**{i: (answer or b"", proof) for i, proof in proofs.items()}, **epoch.claims}
        epoch.no = no
        self._look_for_lies()
        if no:  # ask again soon, and ever later while it fails
            self.telling.again()
            self.wait = min(PATIENCE, max(2, self.wakes // 20))
        self.done = not epoch.no and epoch.ok | self.absent == self.everybody
        return before != (epoch.no, len(epoch.proofs))

    def _check_epoch(self, number: int) -> None:
        if not 1 <= number <= self.current + JUMP:
            raise Contradiction(f"is in epoch {number}, this party in {self.current}: no run gets there.")

    def _check_size(self, r: Array) -> None:
        if (size := _size([r])) > self.sizes.largest:
            raise Contradiction(
                f"sent a number of size {size:.0e}; {self.sizes.largest:.0e} is more than this run has."
            )

    def signed(self, answer: bytes) -> Mapping[int, bytes]:
        """The signatures of this digest that are known, of the epoch."""
        epoch = self.epoch
        assert epoch is not None
        if epoch.answer is not None and answer == epoch.digest:
            return epoch.proofs
        return {i: proof for i, (digest, proof) in epoch.claims.items() if digest == answer}

    @property
    def unheard(self) -> list[int]:
        """Neighbours that have not said anything in this agreement since this process has begun."""
        return [] if self.done else [j for j in self.node.neighbours if j not in self.telling.heard]

    @property
    def not_agreed(self) -> list[int]:
        """Whose acceptance of the present epoch is not known here; nobody's is asked for before the first."""
        if self.epoch is None or self.done:
            return []
        return [i for i in range(self.n) if i not in self.epoch.proofs | self.epoch.claims]

    @property
    def x(self) -> Array:
        """The answer, once it is accepted."""
        if self.done and self.epoch is not None and self.epoch.answer is not None:
            return self.epoch.answer.x
        return self.node.x

    @property
    def residual(self) -> float:
        """How far the newest messages are from a fixed point, in units of what is asked for: 1 is good enough."""
        if self.done and self.epoch is not None and self.epoch.residual is not None:
            return self.epoch.residual
        return self.moves

    # To survive a crash

    def state(self) -> dict[str, Array]:
        """All that changes, as named arrays. Pads and data are not in it: the node is made from them anew."""
        arrays = {"x": self.node.x, "counters": _pairs(self.node.newest), "sent": np.array([float(self.node.sent)])}
        arrays |= {f"D.{j}": D for j, D in self.node.D.items()}
        arrays["route"], arrays["absent"] = tag_array(self.tag), flag(self.absent)
        for of, past in self.earlier.items():
            arrays[f"earlier.{of.hex()}"] = past.as_array()
        if self.epoch is not None:
            epoch = self.epoch
            arrays["epoch"] = np.array([float(epoch.number), float(epoch.no), float(self.done)])
            arrays["epoch.proofs"] = as_array(epoch.proofs)
            arrays["epoch.x"] = epoch.x
            arrays["epoch.answer"] = np.array([]) if epoch.answer is None else epoch.answer.as_array()
            arrays["epoch.residual"] = np.array([] if epoch.residual is None else [epoch.residual])
            for j, D in epoch.D.items():
                arrays |= {f"epoch.D.{j}": D, f"epoch.sent.{j}": epoch.sent[j]}
        return arrays

    def restore(self, arrays: Mapping[str, Array], spent: int) -> None:
        """Go on from a saved state; counters go on above ``spent``, which may have been used since. From a state on
        another route its last epoch is left, and where it was over, all."""
        node = self.node
        node.x, node.sent = arrays["x"].copy(), max(int(arrays["sent"][0]), spent)
        node.newest |= {int(j): int(counter) for j, counter in arrays["counters"] if j in node.newest}
        for name, numbers in arrays.items():
            if name.startswith("earlier."):
                self.earlier[bytes.fromhex(name.removeprefix("earlier."))] = Past.from_array(numbers)
        epoch = None
        if "epoch" in arrays:
            number, no, done = arrays["epoch"]
            frozen = [int(name.removeprefix("epoch.D.")) for name in arrays if name.startswith("epoch.D.")]
            D, sent = ({j: arrays[f"epoch.{name}.{j}"].copy() for j in frozen} for name in ("D", "sent"))
            epoch = Epoch(int(number), arrays["epoch.x"].copy(), D, sent, no=bool(no))
            epoch.proofs = from_array(arrays["epoch.proofs"])
            if len(arrays["epoch.answer"]):
                epoch.answer = Rounded.from_array(arrays["epoch.answer"])
            if len(arrays["epoch.residual"]):
                epoch.residual = float(arrays["epoch.residual"][0])
            self.done = bool(done)
        tag = tag_of(arrays["route"])
        if tag == self.tag:
            node.D = {j: arrays[f"D.{j}"].copy() for j in node.neighbours}
        if tag == self.tag or self.done:
            self.tag, self.epoch = tag, epoch
        else:
            self.earlier[tag] = Past(self.current if epoch is None else epoch.number, bit(arrays["absent"][0]))
            if epoch is not None and epoch.residual is not None and node.i in epoch.proofs:
                self.earlier[tag] = replace(self.earlier[tag], residual=epoch.residual, answer=epoch.answer)


def _size(vectors: Iterable[Array]) -> float:
    return max((float(np.abs(v).max(initial=0.0)) for v in vectors), default=0.0)


def _pairs(counters: Mapping[int, int]) -> Array:
    return np.array([[float(j), float(counter)] for j, counter in counters.items()])
