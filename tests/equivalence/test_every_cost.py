"""Compiled runs of every cost under every schedule against the reference, and one node's compiled steps against those
of its family."""

from __future__ import annotations

import ctypes
from itertools import cycle

import numpy as np
import pytest
from helpers import by_edge

import sottovoce as sv
from sottovoce import costs as package
from sottovoce.costs import one_node
from sottovoce.errors import InvalidCost, Unsupported
from sottovoce.pdmm import schedules
from sottovoce.pdmm.engine import any_cost_runs
from sottovoce.pdmm.engine.any_cost_runs import any_cost_run
from sottovoce.pdmm.overlay import leaning, over, settled_overlay
from sottovoce.pdmm.reference import Reference
from sottovoce.pdmm.schedule_bases import NodeSchedule, SetSchedule
from sottovoce.pdmm.settings import Settings

N, EPS, D = 12, np.finfo(float).eps, 3
RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(N, 6, D))
LABELS = RNG.integers(0, 2, (N, 6))
S = RNG.normal(size=(N, D))

# Node i's cost. Boxes, balls and simplices by themselves would all have one answer, so every other node averages.
FAMILIES = {
    "Quadratic": lambda i: sv.Quadratic(1.0 + i, S[i]),
    "Averaging": lambda i: sv.Averaging(S[i]),
    "LeastSquares": lambda i: sv.LeastSquares(ROWS[i], LABELS[i]),
    "ElasticNet": lambda i: sv.ElasticNet(ROWS[i], LABELS[i], 0.7, 0.1),
    "Lasso": lambda i: sv.Lasso(ROWS[i][: i % 6 + 1], LABELS[i][: i % 6 + 1], 0.7),
    "Logistic": lambda i: sv.Logistic(ROWS[i][i % 6 :], LABELS[i][i % 6 :], 0.1 * (i % 2)),
    "Hinge": lambda i: sv.Hinge(ROWS[i][i % 6 :], LABELS[i][i % 6 :], 0.1),
    "Huber": lambda i: sv.Huber(S[i], 0.1 + 0.1 * i),
    "AbsoluteDeviation": lambda i: sv.AbsoluteDeviation(S[i]),
    "Box": lambda i: sv.Box([-0.1, 0.2, -np.inf], [0.1, np.inf, 0.3]) if i % 2 else sv.Averaging(S[i]),
    "NonNegative": lambda i: sv.NonNegative(D) if i % 2 else sv.Averaging(S[i]),
    "Ball": lambda i: sv.Ball(0.1 * i, S[i]) if i % 2 else sv.Averaging(S[i]),
    "Simplex": lambda i: sv.Simplex(1.0 + i, D) if i % 2 else sv.Averaging(S[i]),
    "Constrained": lambda i: (
        [sv.Averaging(S[i]), sv.Quadratic(2.0, S[i]), sv.Huber(S[i]), sv.AbsoluteDeviation(S[i])][i % 4]
        + [sv.Ball(0.5, dim=D), sv.Simplex(dim=D), sv.Box(-0.2, 0.3, D), sv.NonNegative(D)][i % 4]
    ),
}
SCALARS = {
    "Averaging": lambda i: sv.Averaging(S[i, 0]),
    "Huber": lambda i: sv.Huber(S[i, 0]),
    "AbsoluteDeviation": lambda i: sv.AbsoluteDeviation(S[i, 0]),
    "Constrained": lambda i: sv.Averaging(S[i, 0]) + sv.Box(-0.1, 0.1),
}
EXACT = set(FAMILIES) - {"LeastSquares"}  # NumPy sums the products with an inverse in an order of its own


class EvenThenOdd(SetSchedule):
    """Everybody else, and their messages but every third."""

    def sets(self, network, key, k):
        active = np.arange(network.n) % 2 == k % 2
        return active, active[network.indices] & (np.arange(2 * network.m) % 3 != k % 3)


def recorded(network, steps):
    """Who woke, and which of their messages arrived: a half-edge is updated by its second node."""
    rng = np.random.default_rng(1)
    woke = [np.flatnonzero(rng.random(N) < 0.3) for _ in range(steps)]
    half_edges = [np.flatnonzero(np.isin(network.indices, nodes) & (rng.random(2 * network.m) < 0.7)) for nodes in woke]
    twice = (np.concatenate([step, step[:1]]) for step in half_edges)  # a set, although a member is told twice
    return [[*nodes, *nodes[:1]] for nodes in woke], list(twice)


def every_schedule(network):
    woke, half_edges = recorded(network, 80)
    return {
        "synchronous": sv.Synchronous(),
        "asynchronous": sv.Asynchronous(),
        "rates": sv.Asynchronous(rates=np.arange(1.0, N + 1)),
        "poisson": sv.PoissonClocks(np.arange(1.0, N + 1)),
        "edge reversal": sv.EdgeReversal(),
        "permutations": sv.Permutations(),
        "node Bernoulli": sv.NodeBernoulli(0.4),
        "edge Bernoulli": sv.EdgeBernoulli(0.7),
        "trace": sv.Trace(list(range(N)) * 7),
        "trace of sets": sv.Trace(node_sets=woke),
        "trace of messages": sv.Trace(half_edges=half_edges),
        "trace with losses": sv.Trace(node_sets=woke, half_edges=half_edges),
        "delayed": sv.Delayed(9),
        "not delayed": sv.Delayed(0, wakes=sv.Permutations()),
        "own": EvenThenOdd(),
    }


def both(problem, schedule, *, c=0.4, batch=None, pads=1.0, iterations=(1, 39, 38), **more):
    """The compiled run and the reference, advanced in parts."""
    z0 = pads * np.random.default_rng(3).normal(size=(int(problem.rows[-1]), batch or 1))
    schedule = schedule.on(problem.network)
    settings = Settings(schedule=schedule, key=17, c=c, theta=0.6, batch=batch, z0=z0, **more)
    fast, slow = any_cost_run(problem, settings), Reference(problem, settings)
    assert fast is not None
    for count in iterations:
        fast.advance(count)
        slow.advance(count)
    return fast, slow


def assert_same(fast, slow, exact=True):
    assert (fast.iteration, fast.activations, fast.messages) == (slow.iteration, slow.activations, slow.messages)
    # Rounding errors of size eps |z| add up over the non-expansive iterations.
    bound = 0 if exact else slow.iteration * EPS * np.abs(slow.stacked_z()).max()
    assert np.isfinite(slow.stacked_x()).all()
    assert np.abs(fast.stacked_x() - slow.stacked_x()).max() <= bound
    assert np.abs(fast.stacked_z() - slow.stacked_z()).max() <= bound
    assert fast.residual() == (slow.residual() if exact else pytest.approx(slow.residual(), rel=1e-9, abs=1e-12))


@pytest.mark.parametrize("name", FAMILIES)
def test_vectors_of_a_batch_with_a_penalty_per_edge(network, name):
    problem = sv.Problem(network, [FAMILIES[name](i) for i in range(N)])
    for schedule in every_schedule(network).values():
        assert_same(*both(problem, schedule, c=by_edge(network), batch=2), exact=name in EXACT)


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_of_a_single_run(network, name):
    problem = sv.Problem(network, [SCALARS[name](i) for i in range(N)])
    for schedule in every_schedule(network).values():
        assert_same(*both(problem, schedule))


def test_families_mixed_node_by_node(network):
    made = [FAMILIES[name](i) for i, name in zip(range(N), cycle(sorted(EXACT)), strict=False)]
    for schedule in every_schedule(network).values():
        assert_same(*both(sv.Problem(network, made), schedule, pads=100.0))


def general(rng):
    """Blocks of several shapes, and ``b``: rotations at nodes whose cost needs a multiple of ``I``."""
    network = sv.Network.ring(6)
    rotation = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    blocks, b = {}, {}
    for i, j in network.half_edges.tolist():
        rows = 1 if {i, j} == {0, 5} else 2
        columns = 3 if i == 5 else 2
        blocks[i, j] = rng.normal(size=(rows, columns)) if i in (0, 5) else 1.5 * rotation
        b[min(i, j), max(i, j)] = rng.normal(size=rows)
    costs = [
        sv.Quadratic([[2.0, 0.3], [0.3, 1.0]], [1.0, 2.0]), sv.Huber([0.3, 0.2]), sv.Averaging([1.0, -1.0]),
        sv.Lasso(ROWS[0, :, :2], LABELS[0], 0.5), sv.Logistic(ROWS[1, :, :2], LABELS[1], 0.1), sv.Averaging([1.0] * 3),
    ]  # fmt: skip
    return sv.Problem(network.with_constraints(blocks, b), costs)


@pytest.mark.parametrize("batch", [None, 2])
def test_general_constraints(rng, batch):
    problem = general(rng)
    c = by_edge(problem.network) if batch else 0.4
    for schedule in (
        sv.Synchronous(), sv.Asynchronous(), sv.NodeBernoulli(0.4), sv.EdgeBernoulli(0.7), sv.Delayed(9),
        sv.Trace(node_sets=[[0, 1, 3], [5]] * 40),
    ):  # fmt: skip
        assert_same(*both(problem, schedule, c=c, batch=batch), exact=False)


def test_general_constraints_of_closed_forms_to_the_bit(rng):
    network = sv.Network.ring(5)
    blocks = {(i, j): np.diag(rng.choice([-2.0, 2.0], 2)) for i, j in network.half_edges.tolist()}
    b = {(i, j): rng.normal(size=2) for i, j in network.edges.tolist()}
    made = [sv.Huber(S[i, :2]) if i % 2 else sv.Averaging(S[i, :2]) for i in range(5)]
    problem = sv.Problem(network.with_constraints(blocks, b), made)
    for schedule in (sv.Asynchronous(), sv.EdgeBernoulli(0.7), sv.Delayed(9)):
        assert_same(*both(problem, schedule, batch=2))


@pytest.mark.parametrize("schedule", [sv.Asynchronous(), sv.EdgeBernoulli(0.7), sv.Delayed(3)])
def test_pads_of_edges_without_messages_lean_on_the_steps(network, schedule):
    problem = sv.Problem(network, [FAMILIES["Huber"](i) for i in range(N)])
    overlay = settled_overlay(network, "tree")
    z0 = np.random.default_rng(3).normal(size=(int(problem.rows[-1]), 2))
    played = over(leaning(problem, overlay, z0), overlay)
    assert_same(*both(played, schedule, batch=2, overlay=overlay))
    with_pads, without = (both(p, schedule, batch=2)[0] for p in (played, over(problem, overlay)))
    assert not np.array_equal(with_pads.stacked_x(), without.stacked_x())


@pytest.mark.parametrize("schedule", [sv.Delayed(5), sv.Trace(node_sets=[[0, 1, 3], [5, 2]] * 40)])
def test_collapsed_arithmetic(network, schedule):
    """Quadratic costs whose linear terms have pads in them, through ``solve``."""
    arguments = {
        "schedule": schedule, "theta": 0.6, "c": 0.4, "mask": sv.GaussianMask(1e6), "seed": 3, "tol": 0,
        "max_iter": 77, "record": [sv.Residual()], "record_every": 20,
    }  # fmt: skip
    problem = sv.averaging(network, S)
    fast, slow = (sv.solve(problem, engine=engine, **arguments) for engine in ("compiled", "reference"))
    assert fast.arithmetic == "collapsed"
    np.testing.assert_array_equal(fast.x, slow.x)
    np.testing.assert_array_equal(fast.z, slow.z)
    np.testing.assert_array_equal(fast.history["residual"], slow.history["residual"])


@pytest.mark.parametrize("schedule", [sv.Asynchronous(), sv.EdgeBernoulli(0.7), sv.Delayed(9)])
def test_how_much_is_handed_over_at_once_changes_no_bit(monkeypatch, network, schedule):
    problem = sv.Problem(network, [FAMILIES["Ball"](i) for i in range(N)])
    _, whole = both(problem, schedule)
    monkeypatch.setattr(any_cost_runs, "AT_ONCE", 7)
    monkeypatch.setattr(schedules, "AT_ONCE", 5)
    assert_same(both(problem, schedule)[0], whole)
    assert_same(both(problem, schedule, iterations=(78,))[1], whole)


def test_delays_drawn_together_are_those_drawn_one_by_one(network):
    late = sv.Delayed(9)
    nodes, delays, ends = late.late_wakes(network, 17, 40, 30)
    np.testing.assert_array_equal(nodes, sv.Asynchronous().nodes(network, 17, 40, 30))
    assert len(set(delays.tolist())) == 10
    for k, i, some in zip(range(40, 70), nodes, np.split(delays, ends[:-1]), strict=True):
        sent = [network.half_edges.tolist().index([j, i]) for j in network.neighbours(i)]
        np.testing.assert_array_equal(some, late.delays(network, 17, k, np.array(sent)))


# One node's step


@pytest.mark.parametrize("name", FAMILIES)
def test_one_nodes_step_is_that_of_its_family(name):
    """Near, far and infinitely far: the same bits, NaN where a family has NaN."""
    rng, rho = np.random.default_rng(2), np.array([0.7])
    for i in range(8):
        cost = FAMILIES[name](i)
        steps, of_family = one_node.one_by_one(cost, rho), cost.bind_from(rho)
        for size in (0.1, 1.0, 1e3, 1e300):
            for wild in (None, np.inf, -np.inf, np.nan):
                g, last = size * rng.normal(size=cost.dim), rng.normal(size=cost.dim)
                g[rng.integers(cost.dim)] = g[0] if wild is None else wild
                if size == 1e300 and wild is None and name in ("Lasso", "ElasticNet", "Logistic", "Hinge"):
                    continue  # which say that they cannot
                with np.errstate(all="ignore"):
                    expected = of_family(g[None], last[None])[0]
                found = called(steps, g, last)
                assert found is not None
                if name == "LeastSquares":
                    np.testing.assert_allclose(found, expected, rtol=1e-12)
                else:
                    np.testing.assert_array_equal(found, expected)


def called(steps, g, last):
    """``x`` after the compiled functions in a row, or None where one cannot verify it."""
    numbers = ctypes.POINTER(ctypes.c_double)

    def pointer(array):
        return array.ctypes.data_as(numbers)

    x, g = last.copy(), np.ascontiguousarray(g)
    for s in steps:
        work = np.empty(max(s.work, 1))
        function = one_node.compiled(*s.function).ctypes
        own = pointer(np.ascontiguousarray(s.numbers)), len(s.numbers)
        if not function(float(s.rho[0]), float(s.weight[0]), *own, pointer(g), pointer(x), len(x), pointer(work)):
            return None
    return x


def test_every_family_has_its_rows():
    """All but those that are functions of Python, which have no compiled step."""
    python = {"Cost", "QuadraticForm", "Custom", "FromCvxpy", "FromGradient"}
    assert set(FAMILIES) == set(package.__all__) - python
    assert {cost.__name__ for cost in one_node.PACKED} == set(FAMILIES)


# What stays with the reference, and what is refused


def settings_of(schedule):
    return Settings(schedule=schedule, c=0.4, theta=0.5)


class Twice(NodeSchedule):
    def nodes(self, network, key, first, count):
        return np.arange(first, first + count) % network.n

    def play(self, stage, network, key, first, count):
        for i in self.checked_nodes(network, key, first, count).tolist():
            stage.wake_one(i)
            stage.wake_one(i)


def test_what_python_decides_stays_with_the_reference(network):
    class Halved(sv.Huber):
        def step(self, g, rho):
            return super().step(g, rho) / 2

    huber = sv.Problem(network, sv.Huber.many(S[:, 0]))
    prox = sv.Custom(lambda v, t: v / (1 + t), lambda x: x * x / 2)
    assert any_cost_run(huber, settings_of(sv.Asynchronous())) is not None
    assert any_cost_run(sv.Problem(network, Halved.many(S[:, 0])), settings_of(sv.Asynchronous())) is None
    assert any_cost_run(sv.Problem(network, [prox, *[sv.Huber(0.0)] * (N - 1)]), settings_of(sv.Asynchronous())) is None
    assert any_cost_run(huber, settings_of(Twice())) is None
    assert any_cost_run(huber, settings_of(sv.Delayed(10**9))) is None
    with pytest.raises(Unsupported, match="no compiled engine"):
        sv.solve(huber, schedule=sv.Delayed(10**9), c=0.4, theta=0.5, engine="compiled")


def test_a_schedule_that_plays_in_its_own_way_is_heard(network):
    """Of quadratic costs, too, which have kernels of their own."""
    arguments = {"c": 0.4, "theta": 0.5, "seed": 1, "tol": 0, "max_iter": 20}
    result = sv.solve(sv.averaging(network, S), schedule=Twice(), **arguments)
    assert (result.iterations, result.activations) == (20, 40)


class ZeroAndOne:
    """Beside a schedule of the package: another sequence than its law has."""

    def nodes(self, network, key, first, count):
        return np.arange(first, first + count) % 2


class Mixed(ZeroAndOne, sv.Asynchronous):
    pass


class CoinsOfItsOwn(SetSchedule):
    """The law of ``NodeBernoulli(0.5)``, by other random numbers."""

    law = schedules.Law("nodes", 0.5)

    def sets(self, network, key, k):
        active = np.random.default_rng([key, k]).random(network.n) < 0.5
        return active, active[network.indices]


class TwiceByLaw(Twice):
    law = schedules.Law("one node")


@pytest.mark.parametrize("schedule", [Mixed(), CoinsOfItsOwn(), TwiceByLaw()], ids=lambda one: type(one).__name__)
def test_choices_that_kernels_cannot_draw_are_asked_for(network, schedule):
    """Whatever law a schedule tells, its own choices are what is played."""
    arguments = {"schedule": schedule, "c": 0.4, "theta": 0.5, "seed": 1, "tol": 0, "max_iter": 20}
    fast, slow = (sv.solve(sv.averaging(network, S), engine=engine, **arguments) for engine in ("auto", "reference"))
    np.testing.assert_array_equal(fast.z, slow.z)
    assert fast.activations == slow.activations
    assert Mixed().law is None  # nothing is known of it


class Clipped(sv.Averaging):
    def step(self, g, rho):
        return np.clip(super().step(g, rho), 0.0, 1.0)


class ClippedWhenBound(sv.Averaging):
    def bind(self, rho):
        step = super().bind(rho)
        return lambda g: np.clip(step(g), 0.0, 1.0)


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.7), sv.Delayed(3)])
@pytest.mark.parametrize("family", [Clipped, ClippedWhenBound])
def test_a_quadratic_cost_that_steps_otherwise_is_heard(family, schedule):
    problem = sv.Problem(sv.Network.ring(4), [family(s) for s in (1.0, 2.0, 3.0, 6.0)])
    for engine in ("auto", "reference"):
        result = sv.solve(problem, schedule=schedule, c=0.5, theta=0.5, seed=1, engine=engine)
        np.testing.assert_allclose(result.x, 1.0, atol=1e-8)
    assert family(1.0).quadratic is None


def test_small_integers_of_numpy_do_not_overflow(network):
    problem = sv.Problem(network, sv.Huber.many(S))
    arguments = {"c": 0.4, "theta": 0.5, "seed": 1, "tol": 0, "max_iter": 30}
    for engine in ("compiled", "reference"):
        plain, small = (
            sv.solve(problem, schedule=sv.Delayed(delay), engine=engine, **arguments) for delay in (255, np.uint8(255))
        )
        np.testing.assert_array_equal(plain.z, small.z)
        batch = sv.solve(problem, batch=np.int8(100), mask=sv.GaussianMask(1.0), engine=engine, **arguments)
        assert batch.x.shape == (100, N, D)


@pytest.mark.parametrize(
    "schedule", [sv.Trace([0, 1, 2, 3]), sv.Trace(node_sets=[[0], [1, 2], [3]]), sv.Delayed(1, sv.Trace([0, 1, 2, 3]))]
)
def test_a_step_that_cannot_be_verified_says_so(schedule):
    """Of node 2: Q = 6e12 everywhere, beside which rho = 1e-6 vanishes, so that x is not determined."""
    broken = sv.Lasso(1e6 * np.ones((3, 2)), np.ones(3), 0.1)
    made = [sv.Averaging([1.0, 2.0]), sv.Averaging([1.0, 2.0]), broken, sv.Averaging([1.0, 2.0])]
    problem = sv.Problem(sv.Network.ring(4), made)
    said = []
    for engine in ("compiled", "reference"):
        with pytest.raises(InvalidCost, match="did not reach its optimality condition") as error:
            sv.solve(problem, schedule=schedule, c=5e-7, theta=0.5, z0=[[1.0, -1.0]] * 8, seed=1, tol=0, engine=engine)
        said.append(str(error.value))
    assert said[0] == said[1]
