"""What a recorded run gave away: the auditor on the events that happened, and on the numbers that travelled.

Averaging is the same for every entry of a contribution, so a node cannot tell a vector of numbers from one of
coefficients. Played on nodes whose data and pads are unit vectors, a trace gives each message as
its functional of ``(q, z(0))``, whatever the order, the losses and the restarts were; the rest is as for schedules, by
``Elimination``, or over encrypted channels by ``decided``. Of an open run the trace also has the value of every
functional, and with the values goes the posterior.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...costs import Quadratic
from ...costs.base import Array
from ...errors import InvalidInput, Unsupported
from ...network import Network
from ...pdmm.common_problems import averaging
from ...pdmm.local_noise import LocalNoise
from ...pdmm.masks import GaussianMask
from ...pdmm.node import Message, nodes_of
from ...pdmm.overlay import laid_on, settled_overlay
from ...pdmm.penalties import Penalty
from ...pdmm.problem import Problem
from ...pdmm.schedules import Synchronous
from ...privacy import Adversary, Coalition, Eavesdropper, Report, Transcript
from ...privacy.adversary import listeners
from ...privacy.encrypted.own_edges import decided
from ...privacy.encrypted.prime_field import PRIMES
from ...privacy.encrypted.run_modulo_prime import FieldRun
from ...privacy.methods.case import Case, Setting
from ...privacy.methods.elimination import Elimination
from ...privacy.methods.in_order import UNKNOWNS
from ...privacy.methods.leaks import Viewed
from ...privacy.methods.secrets_and_prior import secrets_of
from ..protocol.escrow import guardians
from .replay import Holding, play, together
from .trace import Began, Trace, numbers


def audit_trace(
    traces: Iterable[Trace | str | Path],
    *,
    stage: int,
    corrupt: Iterable[Hashable] = (),
    against: Adversary | None = None,
    prior: npt.ArrayLike = 1.0,
) -> Report:
    """Exact leakage, in nats, of one number of every party's contribution to this stage, from the traces of all, of a
    run on the cost averaging with one row a party.

    Who listens is said as in ``privacy.audit``. A tap sees all that a wake had to say, also where a newer message
    overtook it on the way out.
    """
    found = listeners(corrupt, against)
    if not isinstance(found, Adversary):
        raise InvalidInput(f"against must name who is corrupt in a recorded run; got {against!r}.")
    view = _View(traces, stage, found, prior)
    found = view.adversary
    functionals = [functional for functional, _ in view.messages()] + view.entrusted()
    told = f"the recorded transcript of stage {stage}, one number of a contribution"
    if found.sees_all(view.case.channels):
        for functional in functionals:
            view.known.told(functional)
        seen = Viewed(view.known, "linear-Gaussian elimination of what was recorded", "exact")
    else:
        run = view.modulo(PRIMES[0])
        columns = np.concatenate([run.own, len(run.q) + run.pads])
        loud = np.array(functionals).reshape(-1, len(view.known.W))[:, columns]
        how = view.case.encrypted(found.corrupt)
        seen = decided(how, run, True, False, lambda: loud, lambda p: view.modulo(p).learned)
    leaks, method, guarantee = view.case.bounded(seen)
    report = view.case.assemble(leaks, method, guarantee, found)
    heard = bool(view.known.woken.all())
    return replace(report, view=told, holds_answer=heard, mu_bound=report.mu_bound or not heard)


@dataclass(frozen=True, eq=False)
class Estimate:
    """What an adversary makes of the numbers it saw: a Gaussian posterior for every entry of every contribution."""

    mean: Array  # (n, d)
    std: Array  # (n,), the same for all entries; 0 where a party is corrupt itself, or disclosed


def estimate(
    traces: Iterable[Trace | str | Path],
    coalition: Mapping[int, Holding],
    *,
    stage: int,
    prior: npt.ArrayLike = 1.0,
) -> Estimate:
    """The posterior of the contributions to a stage of an open run, given every message, and what the corrupt parties
    brought: ``coalition`` has their holdings by index; none is an eavesdropper."""
    view = _View(traces, stage, Coalition(coalition) | Eavesdropper(), prior)
    if not view.traces[0].public:
        raise Unsupported("the numbers of an encrypted run are not in its trace, only their hashes.")
    if view.noise is not None:
        raise Unsupported("noisy numbers of a run are not estimated; audit_trace says how much they tell of the data.")
    n, known, point = len(view.traces), view.known, None
    for functional, text in view.messages():
        value = numbers(text)
        if point is None:
            point = np.zeros((len(functional), len(value)))
            for i, own in coalition.items():
                form = own.cost.quadratic
                assert form is not None
                point[i] = view.step * form.q[0]
                for j, link in own.links.items():
                    held, written = view.step * link.held, view.step * link.written
                    point[n + view.place[i, j]], point[n + view.place[j, i]] = held, written
        point += np.outer(known.told(functional), view.step * value - functional @ point)
    if point is None:
        raise InvalidInput(f"nobody said anything in stage {stage}.")
    K, sigma = known.secrets.covariance(), float(np.sqrt(view.variance))
    left = known.unseen
    return Estimate(left.mean(point, K, sigma), np.sqrt(left.posterior(K, sigma)[:, 0, 0]))


class _View:
    """What an adversary sees of one stage, message by message, as functionals."""

    def __init__(
        self, traces: Iterable[Trace | str | Path], stage: int, adversary: Adversary, prior: npt.ArrayLike
    ) -> None:
        self.traces, self.stage = together(traces), stage
        run, n = self.traces[0].run, len(self.traces)
        in_steps = _variance(self.traces, stage)
        if run.get("cost", {}).get("type") != "averaging":
            raise Unsupported("a recorded run is audited where it is of averaging; of other costs see privacy.audit.")
        self.variance = float(run["cost"]["mask"]["variance"])
        self.step = math.sqrt(self.variance / in_steps)  # in which numbers travel that have a unit (``pdmm.unit``)
        pairs = [(trace.index, j) for trace in self.traces for j in trace.neighbours.values() if trace.index < j]
        network = Network.from_edges(n, pairs, labels=[trace.party for trace in self.traces])
        self.adversary = adversary = adversary.on(network)
        self.place = {(int(i), int(j)): h for h, (i, j) in enumerate(network.half_edges)}
        unknowns = n + len(self.place)
        if unknowns > UNKNOWNS:
            raise Unsupported(f"{unknowns:,} secrets and pads are too many to eliminate; at most {UNKNOWNS:,}.")
        secrets = secrets_of(averaging(network, np.zeros(n)), prior)
        if secrets.width > 1:
            raise InvalidInput("prior must be that of one number per party.")
        self.noise = LocalNoise(float(run["noise"]["variance"])) if "noise" in run else None
        if self.noise is not None:
            secrets = secrets.with_noise(self.noise.variance)
        # Pads lie on all edges, messages go over those of the run's overlay, each with its penalty.
        overlay = settled_overlay(network, run.get("overlay", "all"))
        talking = network if overlay is None else overlay.network
        self.spoken = {(int(i), int(j)): h for h, (i, j) in enumerate(talking.half_edges)}
        theta, c = float(run["theta"]), _penalty(run, talking)
        units = np.eye(unknowns)
        q, start, played = laid_on(secrets.problem, overlay, units[:n], units[n:])
        setting = Setting(played, Synchronous(), theta, c, 0, Transcript(), overlay)
        self.case = Case(secrets, GaussianMask(self.variance), run["channels"], setting, noise=self.noise)
        how: dict[str, Any] = {"corrupt": adversary.corrupt, "sees_all": adversary.sees_all(run["channels"])}
        self.known = Elimination(secrets, Synchronous(), theta=theta, c=c, overlay=overlay, **how)
        self.nodes = nodes_of(Problem(talking, Quadratic.many(secrets.Q, q)), c=c, theta=theta, z0=start)
        begun = {trace.index for trace in self.traces for event in trace.events if event.stage == stage}
        corrupt = set(adversary.corrupt)
        # Whose escrow a corrupt party keeps; of two parties nobody can leave, and there is none.
        self.guarded = [
            node.i for node in self.nodes
            if n > 2 and node.i in begun - corrupt and corrupt & set(guardians(network.around(node.i).tolist()))
        ]  # fmt: skip

    def modulo(self, p: int) -> FieldRun:
        """What the coalition's own edges showed, over a prime field."""
        run = self.case.encrypted(self.known.corrupt).modulo(p)
        nodes: list[Any] = [_FieldNode(run, i) for i in range(len(self.traces))]
        for trace, event, said in play(self.traces, lambda i, _: nodes[i], only=self.stage):
            run.woken[trace.index] = True
            sent = [message for message in said if message.receiver in event.sent]
            heard = [message.r for message in sent if run.seen[self.spoken[message.receiver, message.sender]]]
            if heard:
                run.learned.add(np.array(heard))
        if self.guarded:
            run.learned.add(np.array([nodes[i].estate for i in self.guarded]))
        return run

    def entrusted(self) -> list[Array]:
        """The escrows that corrupt guardians keep, as functionals."""
        estates = [self.nodes[i].estate for i in self.guarded]
        return [estate[-len(self.known.W) :] for estate in estates if estate is not None]

    def messages(self) -> Iterator[tuple[Array, str]]:
        """Every message that is seen: its functional, and what the trace says of its value."""
        for trace, event, said in play(self.traces, lambda i, _: self.nodes[i], only=self.stage):
            self.known.woken[trace.index] = True
            for message in said:
                seen = self.known.seen[self.spoken[message.receiver, message.sender]]
                if seen and message.receiver in event.sent:  # what has not changed is not said again
                    yield message.r, event.sent[message.receiver]


class _FieldNode:
    """``Node`` over a prime field, on unit vectors: it collapses, wakes and receives likewise."""

    def __init__(self, run: FieldRun, i: int) -> None:
        network, self.i, self.run = run.problem.network, i, run
        held = range(network.indptr[i], network.indptr[i + 1])
        self.signs = {int(network.indices[h]): int(run.signs[h]) for h in held}
        self.twice_c = {int(network.indices[h]): int(run.twice_c[h]) for h in held}
        pads = {int(network.indices[h]): (run.start[h], run.start[network.twin[h]]) for h in held}
        self.w = run.q[i] + sum(self.signs[j] * own for j, (own, _) in pads.items())
        self.e = {j: own - written for j, (own, written) in pads.items()}
        self.D = {j: np.zeros_like(run.q[i]) for j in pads}
        self.newest, self.sent, self.x = dict.fromkeys(pads, 0), 0, np.zeros_like(run.q[i])

    @property
    def estate(self) -> Array:
        half, p = self.run.p // 2 + 1, self.run.p  # which is 1/2
        return np.asarray((self.w - sum(self.signs[j] * (half * (e % p) % p) for j, e in self.e.items())) % p)

    def wake(self) -> list[Message]:
        run = self.run
        g = (self.w + sum(sign * self.D[j] for j, sign in self.signs.items())) % run.p
        self.x = x = run.fresh(g[None, :], run.inverse[self.i : self.i + 1])[0]
        self.sent += 1
        return [
            Message(self.i, j, self.sent, (self.D[j] + self.e[j] + self.twice_c[j] * (sign * x % run.p)) % run.p)
            for j, sign in self.signs.items()
        ]

    def receive(self, message: Message) -> bool:
        j = message.sender
        if message.counter <= self.newest[j]:
            return False
        self.newest[j] = message.counter
        self.D[j] = self.run.mixed(self.D[j], message.r)
        return True


def _penalty(run: Mapping[str, Any], network: Network) -> Penalty:
    """``c`` of a run: a number, or one per edge, in the order in which the run has them."""
    if not isinstance(run["c"], list):
        return float(run["c"])
    pairs = run.get("overlay", run.get("edges", []))
    each = {frozenset(map(network.index, pair)): float(c) for pair, c in zip(pairs, run["c"], strict=True)}
    return np.array([each[frozenset(edge)] for edge in network.edges.tolist()])


def _variance(traces: list[Trace], stage: int) -> float:
    """Of the pads of a stage."""
    begun = [event for trace in traces for event in trace.events if isinstance(event, Began)]
    masked = {event.stage: event.variance for event in begun if event.variance is not None}
    if stage not in masked:
        those = ", ".join(str(k) for k in sorted(masked)) or "none"
        raise InvalidInput(
            f"stage {stage} has no Gaussian pads; those that have are: {those}. (The sums of statistics hide behind "
            "uniform pads, which leave no excess at all.)"
        )
    return masked[stage]
