"""Random settings of an audit, and what the rational oracle says of them (``rational``)."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import rational as oracle
from hypothesis import strategies as st
from rational import Iteration, Model

import sottovoce as sv
from sottovoce.pdmm.schedules import NodeSchedule, SetSchedule, key_of
from sottovoce.privacy import Report, Transcript, audit

TOLERANCE = 1e-9  # nats; measured: below 1e-13 wherever nothing that is seen is fainter than 1e-6 (see ``faintest``)


@dataclass(frozen=True, eq=False)
class Situation:
    """One run, and who looks at it: all that an audit and the oracle need to know."""

    model: Model
    schedule: sv.Schedule
    iterations: int
    corrupt: frozenset[int]
    seed: int = 0

    @property
    def problem(self) -> sv.Problem:
        a = np.array(self.model.a, dtype=float)
        return sv.Problem(self.model.network, sv.Quadratic.many(a, np.zeros((len(a), 1))))

    @property
    def talking(self) -> sv.Network:
        """Over whose edges messages go."""
        return self.model.network if self.model.used is None else self.model.network.restricted_to(self.model.used)

    @property
    def edges(self) -> list[list[int]]:
        return self.talking.edges.tolist()

    @property
    def arguments(self) -> dict[str, Any]:
        """Of ``audit``, but for channels, method and iterations."""
        model = self.model
        return {
            "mask": sv.GaussianMask(float(model.v)),
            "corrupt": self.corrupt,
            "prior": np.array(model.Sigma_s, dtype=float),
            "schedule": self.schedule,
            "theta": float(model.theta),
            "c": float(model.c) if model.used is None else [float(model.c_of[tuple(edge)]) for edge in self.edges],
            "overlay": "all" if model.used is None else model.used,
            "seed": self.seed,
            "hessians": "public",  # curvatures differ; what is audited are the secrets s
        }

    @property
    def variances(self) -> list[float]:
        """Of the secrets: the prior of independent ones, which may differ by more than a matrix may."""
        return [float(row[i]) for i, row in enumerate(self.model.Sigma_s)]

    def audit(self, **more: Any) -> Report:
        """With arguments of ``audit``, and of ``Transcript`` besides."""
        own = {name: more.pop(name) for name in ("iterations", "runs", "answer") if name in more}
        seen = Transcript(**({"iterations": self.iterations} | own))
        return audit(self.problem, **(self.arguments | {"seen": seen} | more))

    def played(self) -> list[Iteration]:
        """The schedule as the oracle wants it."""
        network, schedule, key = self.talking, self.schedule, key_of(self.seed)
        if isinstance(schedule, sv.Synchronous):
            return oracle.synchronous(network, self.iterations)
        if isinstance(schedule, NodeSchedule):
            return oracle.asynchronous(schedule.nodes(network, key, 0, self.iterations))
        assert isinstance(schedule, SetSchedule)
        played = []
        for k in range(self.iterations):
            active, arrived = schedule.sets(network, key, k)
            awake = range(network.n) if active is None else np.flatnonzero(active).tolist()
            played.append(Iteration(awake, [(i, j) for j, i in network.half_edges[arrived].tolist()]))
        return played

    def view(self, channels: oracle.Channels) -> list[oracle.Row]:
        if not isinstance(self.schedule, sv.Delayed):
            return oracle.view(self.model, self.played(), self.corrupt, channels)
        sent = late_transcript(self.model, self.schedule, key_of(self.seed), self.iterations)
        known = oracle.view(self.model, [], self.corrupt)
        return known + [r for i, j, r in sent if channels == "open" or {i, j} & self.corrupt]

    @property
    def woken(self) -> set[int]:
        """Who has sent something."""
        schedule = self.schedule.wakes if isinstance(self.schedule, sv.Delayed) else self.schedule
        return {i for awake, _ in replace(self, schedule=schedule).played() for i in awake}

    def expected(self, channels: oracle.Channels) -> np.ndarray:
        """``leakage``, ``floor`` and ``excess`` of a report, ``(3, n)``."""
        return expected(self.model, self.view(channels), self.corrupt)


def late_transcript(model: Model, schedule: sv.Delayed, key: int, iterations: int) -> list[oracle.Message]:
    """``oracle.transcript`` where messages take their time: one that a later one has overtaken is dropped."""
    z, sent, newest = dict(model.pads), [], dict.fromkeys(model.pads, -1)
    under_way: list[tuple[int, int, tuple[int, int], oracle.Row]] = []  # when it arrives, when it was sent, (j, i), y
    for k, node in enumerate(schedule.wakes.nodes(model.network, key, 0, iterations)):
        i = int(node)
        around = model.neighbours[i]
        gradient = [(-model.a[i], model.secret(i)), *((oracle.A(i, j), z[i, j]) for j in around)]
        x = oracle.combine((-1 / (model.a[i] + model.c * len(around)), oracle.combine(*gradient)))
        written = np.array([model.half_edges.index((j, i)) for j in around])
        for j, delay in zip(around, schedule.delays(model.network, key, k, written), strict=True):
            y = oracle.combine((1, z[i, j]), (2 * model.c * oracle.A(i, j), x))
            sent.append(oracle.Message(i, j, oracle.combine((1, y), (-1, model.pads[j, i]))))
            under_way.append((k + int(delay), k, (j, i), y))
        for due, when, pair, y in under_way:
            if due == k and when > newest[pair]:
                z[pair] = oracle.combine((1 - model.theta, z[pair]), (model.theta, y))
                newest[pair] = when
    return sent


def expected(model: Model, view: list[oracle.Row], corrupt: Collection[int]) -> np.ndarray:
    """The three informations in nats; a disclosed node has infinite excess, a corrupt one ``nan``."""
    answer, known = oracle.answer(model, corrupt), oracle.basis(view)
    seen, told, both = (oracle.explained(model, rows, corrupt) for rows in (known, answer, [*known, *answer]))
    values = np.full((3, model.network.n), np.nan)
    for i in seen:
        leakage, floor, joint = (oracle.nats(shares[i]) for shares in (seen, told, both))
        values[:, i] = leakage, floor, joint - floor if floor < math.inf else math.inf
    return values


def agree(report: Report, values: np.ndarray, tolerance: float = TOLERANCE) -> None:
    """Infinite and missing values must be where they are expected, the others within the tolerance."""
    got = np.array([report.leakage, report.floor, report.excess])
    np.testing.assert_allclose(got, values, rtol=0, atol=tolerance)


def holds(report: Report, values: np.ndarray, tolerance: float = TOLERANCE) -> None:
    """An exact report agrees; one of two bounds has the truth between them."""
    if report.guarantee == "exact":
        return agree(report, values, tolerance)
    assert report.guarantee == "between"
    assert report.least is not None
    low, high = (np.array([end.leakage, end.floor, end.excess]) for end in (report.least, report))
    known = ~np.isnan(values)
    assert np.array_equal(known, ~np.isnan(high))
    assert (low[known] <= values[known] + tolerance).all()
    assert (values[known] <= high[known] + tolerance).all()
    return None


def residuals(view: list[oracle.Row]) -> list[float]:
    """How much each functional adds to those before it: the norm of what is new, in units of ``s`` and ``z(0)``."""
    basis: list[tuple[oracle.Row, F]] = []
    sizes = []
    for row in view:
        new = row
        for other, square in basis:
            if overlap := oracle.dot(new, other):
                new = oracle.combine((1, new), (-overlap / square, other))
        square = oracle.dot(new, new)
        sizes.append(math.exp((math.log(square.numerator) - math.log(square.denominator)) / 2) if square else 0.0)
        if square:
            basis.append((new, square))
    return sizes


def faintest(view: list[oracle.Row]) -> float:
    """The smallest of them that is not exactly nothing."""
    return min((size for size in residuals(view) if size), default=math.inf)


def isolated(model: Model, corrupt: Collection[int]) -> list[int]:
    """The honest nodes all of whose neighbours are corrupt."""
    return [i for i, around in enumerate(model.neighbours) if i not in corrupt and set(around) <= set(corrupt)]


def matched(model: Model) -> tuple[list[tuple[int, int]], list[F]]:
    """The penalties of the package's own tree, as fractions: edges and ``c``."""
    tree = model.network.spanning_tree()
    below = {i: model.a[i] for i in range(model.network.n)}
    for i in np.argsort(-tree.levels, kind="stable").tolist():
        if i != tree.root:
            below[int(tree.parents[i])] += below[i]
    used = [tuple(edge) for edge in tree.edges.tolist()]
    return used, [below[int(child)] for child in tree.children]


# Random ones


THETAS = [F(1), F(4, 5), F(1, 2), F(1, 4)]
VARIANCES = [F(1, 100), F(1, 3), F(7), F(10**4), F(10**6)]
ratios = st.builds(F, st.integers(1, 5), st.integers(1, 5))


@st.composite
def networks(draw: Any, most: int = 7) -> sv.Network:
    n = draw(st.integers(3, most))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    edges |= set(draw(st.lists(st.sampled_from([(i, j) for j in range(n) for i in range(j)]), max_size=n)))
    names = draw(st.permutations(range(n)))
    return sv.Network.from_edges(n, [(names[i], names[j]) for i, j in sorted(edges)])


@st.composite
def models(draw: Any, most: int = 7) -> Model:
    """Different curvatures, and secrets that are independent or share a common part."""
    network, common = draw(networks(most)), draw(st.sampled_from([F(0), F(1), F(1, 3)]))
    n = network.n
    return Model(
        network,
        a=[draw(ratios) for _ in range(n)],
        c=draw(ratios),
        theta=draw(st.sampled_from(THETAS)),
        v=draw(st.sampled_from(VARIANCES)),
        Sigma_s=[[common + (draw(ratios) if i == j else 0) for j in range(n)] for i in range(n)],
    )


def lossy(network: sv.Network, steps: list[tuple[set[int], set[int]]]) -> sv.Schedule:
    """Who woke, and which of their messages arrived."""
    arrived = [[h for h in sorted(chosen) if int(network.indices[h]) in awake] for awake, chosen in steps]
    return sv.Trace(node_sets=[awake for awake, _ in steps], half_edges=arrived)


@st.composite
def schedules(draw: Any, network: sv.Network) -> tuple[sv.Schedule, int]:
    """A schedule of every kind, and for how long it is played; a trace need not be played to its end."""
    node, half_edge = st.integers(0, network.n - 1), st.integers(0, 2 * network.m - 1)
    kinds = {
        "synchronous": (st.just(sv.Synchronous()), 6),
        "asynchronous": (st.just(sv.Asynchronous()), 20),
        "late": (st.integers(0, 3).map(sv.Delayed), 15),
        "node Bernoulli": (st.just(sv.NodeBernoulli(0.4)), 8),
        "losses": (st.just(sv.EdgeBernoulli(0.5)), 5),
        "nodes": (st.lists(node, max_size=20).map(sv.Trace), None),
        "node sets": (st.lists(st.sets(node), max_size=8).map(lambda sets: sv.Trace(node_sets=sets)), None),
        "half-edges": (st.lists(st.sets(half_edge), max_size=8).map(lambda sets: sv.Trace(half_edges=sets)), None),
        "recorded losses": (
            st.lists(st.tuples(st.sets(node), st.sets(half_edge)), max_size=8).map(lambda steps: lossy(network, steps)),
            None,
        ),
    }
    schedule, most = kinds[draw(st.sampled_from(sorted(kinds)))]
    schedule = draw(schedule)
    return schedule, draw(st.integers(0, schedule.length() if most is None else most))


@st.composite
def situations(draw: Any, *, fewest: int = 0, most: int = 7) -> Situation:
    """Coalitions of ``fewest`` to 3 nodes; they may isolate a node, or cut the network."""
    model = draw(models(most))
    n = model.network.n
    corrupt = draw(st.sets(st.integers(0, n - 1), min_size=fewest, max_size=min(3, n - 2)))
    schedule, iterations = draw(schedules(model.network))
    return Situation(model, schedule, iterations, frozenset(corrupt), draw(st.integers(0, 99)))


def random_situation(
    rng: np.random.Generator, n: int, schedule: sv.Schedule, iterations: int, **more: Any
) -> Situation:
    """One corrupt node that isolates nobody, and a model drawn from ``rng``, but for what ``more`` says."""
    edges = {(int(rng.integers(i)), i) for i in range(1, n)}
    edges |= {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(rng.integers(n))}
    network = sv.Network.from_edges(n, sorted(edges))
    draw = {
        "a": [F(int(p), int(q)) for p, q in rng.integers(1, 6, size=(n, 2))],
        "c": F(int(rng.integers(1, 6)), int(rng.integers(1, 6))),
        "theta": THETAS[rng.integers(len(THETAS))],
        "v": VARIANCES[rng.integers(len(VARIANCES))],
        "Sigma_s": oracle.diagonal([F(int(p), int(q)) for p, q in rng.integers(1, 6, size=(n, 2))]),
    }
    model = Model(network, **(draw | more))
    safe = [i for i in range(n) if not isolated(model, {i})]
    return Situation(model, schedule, iterations, frozenset({safe[rng.integers(len(safe))]}), int(rng.integers(1000)))


def far_apart(rng: np.random.Generator, decades: float) -> Situation:
    """A prefix of any length, and independent secrets: the largest variance is ``decades`` above the smallest."""
    n = int(rng.integers(4, 7))
    sizes = np.concatenate([[0.0, decades], rng.uniform(0, decades, n - 2)]) - decades / 2
    prior = oracle.diagonal([oracle.exact(size) for size in 10.0 ** rng.permutation(sizes)])
    schedule, most = ((sv.Synchronous(), 4), (sv.Asynchronous(), 3 * n))[rng.integers(2)]
    v = oracle.exact(10.0 ** rng.uniform(-4, 10))
    return random_situation(rng, n, schedule, int(rng.integers(1, most)), v=v, Sigma_s=prior)


def longer(situation: Situation, iterations: int) -> Situation:
    return replace(situation, iterations=iterations)
