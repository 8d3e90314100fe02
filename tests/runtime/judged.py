"""Agreements of all parties in virtual time. An adversary decides who wakes when and how long everything takes; a judge
that sees all numbers looks at every end."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import numpy as np

import sottovoce as sv
from sottovoce.pdmm.node import nodes_of
from sottovoce.runtime.protocol.agreement import EPS, ROUNDING, Agreement
from sottovoce.runtime.protocol.route import Route

C = 0.4
CURVATURE = 2.0  # of ||x - s||^2
STEP = 0.01  # virtual seconds: the shortest time that anything takes
LONG_ENOUGH = 60_000  # events; runs take a few thousand


class TooEarly(Exception):
    """Somebody is done, and what was frozen is not right."""


def require(fine: Any, what: str) -> None:
    if not fine:
        raise TooEarly(what)


class Mail(NamedTuple):
    """What is on its way: a value with its counter, a snapshot, an answer or a verdict with its epoch."""

    kind: str
    sender: int
    receiver: int
    number: int
    content: Any


@dataclass
class Adversary:
    """Until ``ends``, it sets the time to everybody's next wake and the times after which copies of a mail arrive. Then
    everything is told again, as after a new connection, mail takes ``STEP``, and parties wake as clocks do that are
    their own."""

    ends: float
    pause: Callable[[int, float], float] = lambda i, now: STEP
    delays: Callable[[Mail, float], list[float]] = lambda mail, now: [STEP]
    crashes: list[tuple[float, int]] = field(default_factory=list)


class Run:
    """Agreements of all parties of one averaging problem, in virtual time."""

    def __init__(
        self,
        network: sv.Network,
        adversary: Adversary,
        *,
        theta: float = 1.0,
        tol: float = 1e-7,
        sigma: float = 100.0,
        dim: int = 2,
        seed: int = 0,
        rule: type[Agreement] = Agreement,
        saves: bool = True,
        matched: bool = False,
        turns: bool = False,
    ) -> None:
        """``matched``: the network is a tree, and has the penalties of one."""
        rng = np.random.default_rng(seed)
        self.network, self.adversary, self.theta, self.tol, self.rule, self.saves = (
            network,
            adversary,
            theta,
            tol,
            rule,
            saves,
        )
        self.s = rng.normal(size=(network.n, dim))
        self.problem = sv.averaging(network, self.s)
        self.sigma, self.turns = sigma, turns
        c = network.spanning_tree().matched(np.full(network.n, CURVATURE)) if matched else np.full(network.m, C)
        self.route = Route.over([(int(i), int(j)) for i, j in network.edges], c.tolist(), theta)
        self.c = {
            edge: of_edge
            for (i, j), of_edge in zip(self.route.edges, self.route.c, strict=True)
            for edge in ((i, j), (j, i))
        }
        self.z0 = sigma * rng.normal(size=(2 * network.m, dim))
        self.parties = [self.party(i) for i in range(network.n)]
        self.saved: list[dict[str, np.ndarray] | None] = [None] * network.n
        self.told: dict[tuple[str, int, int], Any] = {}
        self.chance, self.posted = random.Random(seed), Counter[str]()
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order = count()
        self.now, self.finished, self.crashed, self.off = 0.0, 0, 0, 0.0
        for i in range(network.n):
            self.at(0.0, lambda i=i: self.wake(i))
        for time, i in adversary.crashes:
            self.at(time, lambda i=i: self.crash(i))
        self.at(adversary.ends, self.tell_everything)

    def party(self, i: int) -> Agreement:
        node = nodes_of(self.problem, c=list(self.route.c), theta=self.theta, z0=self.z0)[i]
        sign, options = (lambda epoch, answer: signature(i, epoch, answer)), {"route": self.route, "turns": self.turns}
        return self.rule(node, self.network.n, sign, tol=self.tol, sigma=self.sigma, **options)

    def at(self, time: float, event: Callable[[], None]) -> None:
        heapq.heappush(self.events, (time, next(self.order), event))

    def play(self) -> Run:
        """Until everybody is done."""
        for _ in range(LONG_ENOUGH):
            if all(party.done for party in self.parties):
                return self
            self.step()
        raise TimeoutError("they never end")

    def step(self) -> None:
        """The next thing that happens."""
        self.now, _, event = heapq.heappop(self.events)
        event()

    # What happens

    def wake(self, i: int) -> None:
        party = self.parties[i]
        if not party.done:
            with self.change(i):
                if not party.calm:
                    party.wake()
                if party.calm:
                    party.propose()
            if self.chance.random() < 0.1:  # now and then a state is saved without need
                self.saved[i] = party.state()
        over = self.now >= self.adversary.ends
        pause = self.chance.uniform(STEP, 3 * STEP) if over else self.adversary.pause(i, self.now)
        self.at(self.now + pause, lambda: self.wake(i))

    def deliver(self, mail: Mail) -> None:
        party = self.parties[mail.receiver]
        with self.change(mail.receiver):
            if mail.kind == "value" and not party.done:
                party.receive(mail.sender, mail.number, mail.content)
            elif mail.kind == "snapshot":
                party.hear(mail.sender, mail.number, mail.content)
            elif mail.kind == "verdict":
                no, proofs, answer = mail.content
                party.verdict(mail.number, no=no, proofs=proofs, answer=answer)
            elif mail.kind == "answer":
                party.offer(mail.sender, mail.number, mail.content)

    def crash(self, i: int) -> None:
        """Everything since the last saved state is lost, but for the counters that were set aside."""
        if self.parties[i].done:
            return
        spent, self.parties[i] = self.parties[i].node.sent, self.party(i)
        self.crashed += 1
        if (saved := self.saved[i]) is not None:
            self.parties[i].restore(saved, spent)
        else:
            self.parties[i].node.sent = spent
        for j in self.network.neighbours(i).tolist():
            self.tell(i, j, again=True)
            self.tell(j, i, again=True)

    # What others hear of it

    def change(self, i: int) -> Any:
        return _Change(self, i)

    def tell_everything(self) -> None:
        for i in range(self.network.n):
            for j in self.network.neighbours(i).tolist():
                self.tell(i, j, again=True)

    def tell(self, i: int, j: int, *, again: bool = False) -> None:
        for kind, number, content in said(self.parties[i], j):
            key = (number, content) if kind == "verdict" else number
            if again or self.told.get((kind, i, j)) != key:
                self.told[kind, i, j] = key
                mail = Mail(kind, i, j, number, content)
                self.posted[kind] += 1
                over = self.now >= self.adversary.ends
                for delay in [STEP] if over else self.adversary.delays(mail, self.now):
                    self.at(self.now + delay, lambda mail=mail: self.deliver(mail))

    @property
    def epoch(self) -> int:
        """Of everybody, once they are done."""
        (number,) = {party.epoch.number for party in self.parties}
        return number

    # The judge

    def certify(self) -> None:
        """KKT of the frozen numbers, seen from above: stationarity, ``x`` and duals along edges, the answer."""
        require(len({state_of(party)[0] for party in self.parties}) == 1, "somebody does not know of this epoch")
        epochs, network = [party.epoch for party in self.parties], self.network
        x = np.array([epoch.x for epoch in epochs])
        largest = max(np.abs(r).max() for epoch in epochs for r in (*epoch.sent.values(), *epoch.D.values()))
        rounding = ROUNDING * EPS * max(largest, np.abs(self.z0).max())
        size = max(1.0, np.abs(x).max())
        smallest = min(self.route.c)
        tau = max(self.tol * size * min(max(self.route.c), 2 * CURVATURE / network.degrees.min()), rounding)
        dual = {}
        for h, (i, j) in enumerate(network.half_edges):
            dual[i, j] = self.z0[h] + epochs[i].D[j] + self.c[i, j] * sign(i, j) * x[i]
        for i in range(network.n):
            gradient = CURVATURE * (x[i] - self.s[i])
            pull = sum(sign(i, j) * dual[i, j] for j in network.neighbours(i).tolist())
            require(np.abs(gradient + pull).max() <= network.degrees[i] * rounding, "not stationary")
        for i, j in network.half_edges:
            require(np.abs(x[i] - x[j]).max() <= tau / self.c[i, j] + rounding, "neighbours differ")
            require(np.abs(dual[i, j] - dual[j, i]).max() <= tau + rounding, "duals differ")
        # Gradients sum to the differences of the duals; then along at most n - 1 edges to anybody's x.
        promised = network.m * tau / (CURVATURE * network.n) + (network.n - 1) * tau / smallest
        require(np.abs(x - self.s.mean(axis=0)).max() <= promised + network.n * rounding, "not the answer")
        require(len({epoch.digest for epoch in epochs}) == 1, "two answers")
        require(len({epoch.answer.x.tobytes() for epoch in epochs}) == 1, "two answers with one digest")
        self.off = epochs[0].answer.off(x)
        require(self.off <= 1, "the answer is not what the parties have found")


class _Change:
    """A party changes; what must not be forgotten is saved before anybody hears of it, and the judge sees every end."""

    def __init__(self, run: Run, i: int) -> None:
        self.run, self.i = run, i

    def __enter__(self) -> None:
        party = self.run.parties[self.i]
        self.before, self.was_done = state_of(party), party.done

    def __exit__(self, *error: object) -> None:
        run, party = self.run, self.run.parties[self.i]
        if error[0] is not None:
            return
        if run.saves and state_of(party) != self.before:
            run.saved[self.i] = party.state()
        if party.done and not self.was_done:
            run.finished += 1
            run.certify()
        for j in run.network.neighbours(self.i).tolist():
            run.tell(self.i, j)


def state_of(party: Agreement) -> tuple[int, bool, int]:
    return (0, False, 0) if party.epoch is None else (party.epoch.number, party.epoch.no, party.epoch.ok)


def said(party: Agreement, j: int) -> Iterator[tuple[str, int, Any]]:
    """What a neighbour could be told, as ``Party.news_for`` has it."""
    if not party.done and j in party.telling.said:
        yield "value", *party.telling.said[j]
    if party.epoch is not None:
        yield "snapshot", party.epoch.number, party.epoch.sent[j]
        if (answer := party.told) is not None and j != party.source:
            yield "answer", party.epoch.number, answer.as_array()
        yield "verdict", party.epoch.number, (party.epoch.no, party.epoch.proofs, party.epoch.digest)


def signature(i: int, epoch: int, answer: bytes = b"") -> bytes:
    """What stands for one here; nobody forges it but in tests of that."""
    return f"{i} accepts {answer.hex()[:16]} in {epoch}".encode()


def signed(epoch: int, *parties: int, answer: bytes = b"") -> dict[int, bytes]:
    """These accept it."""
    return {i: signature(i, epoch, answer) for i in parties}


def sign(i: int, j: int) -> float:
    """``A_ij`` of consensus."""
    return 1.0 if i > j else -1.0
