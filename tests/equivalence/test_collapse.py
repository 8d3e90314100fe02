"""Collapsed arithmetic against plain: the same run to rounding, and no bit that depends on more than ``q + C'u, e``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.numerics.grid import on_grid
from sottovoce.pdmm.collapsed_arithmetic import collapse, consensus_sums, general_sums
from sottovoce.pdmm.reference import Reference
from sottovoce.pdmm.settings import Settings
from sottovoce.pdmm.solve import make_run

N, EPS, MASK = 12, np.finfo(float).eps, sv.GaussianMask(1e6)


def general(network, rng):
    """Blocks of sixteenths, so that products with multiples of a grid are exact."""
    A = {(i, j): rng.integers(-16, 17, size=(2, 3)) / 16 + np.eye(2, 3) for i, j in network.half_edges.tolist()}
    b = {(i, j): rng.normal(size=2) for i, j in network.edges.tolist()}
    return sv.Problem(network.with_constraints(A, b), [sv.Quadratic(np.eye(3), q) for q in rng.normal(size=(N, 3))])


def ragged(network, rng):
    A = {(i, j): rng.integers(1, 17, size=(1 + (i + j) % 2, 1 + i % 3)) / 16 for i, j in network.half_edges.tolist()}
    return sv.Problem(network.with_constraints(A), [sv.Averaging(rng.normal(size=1 + i % 3)) for i in range(N)])


PROBLEMS = {
    "averaging": lambda network, rng: sv.averaging(network, rng.normal(size=N)),
    "vectors": lambda network, rng: sv.averaging(network, rng.normal(size=(N, 3))),
    "dense": lambda network, rng: sv.least_squares(network, shards(rng, N, 6, 3)),
    "mixed": lambda network, rng: sv.Problem(
        network, [sv.Averaging(np.ones(2)) if i % 2 else sv.LeastSquares(np.eye(2), [1, i]) for i in range(N)]
    ),
    "general": general,
    "ragged": ragged,
}
SCHEDULES = {
    "synchronous": sv.Synchronous(),
    "asynchronous": sv.Asynchronous(),
    "node_bernoulli": sv.NodeBernoulli(0.4),
    "edge_bernoulli": sv.EdgeBernoulli(0.7),
    "delayed": sv.Delayed(5),
}
every_problem = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS.keys())
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())


@every_problem
@every_schedule
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_collapsed_is_plain_to_rounding(network, rng, make, schedule, engine):
    problem = make(network, rng)
    arguments = {
        "schedule": schedule, "theta": 0.8, "c": 0.4, "mask": MASK, "seed": 3, "tol": 0, "max_iter": 150,
        "record": [sv.Residual()], "record_every": 50, "engine": engine,
    }  # fmt: skip
    collapsed = sv.solve(problem, arithmetic="collapsed", **arguments)
    plain = sv.solve(problem, arithmetic="plain", **arguments)
    assert (collapsed.arithmetic, plain.arithmetic) == ("collapsed", "plain")
    # Each of 150 non-expansive iterations rounds at the size of z, and q is rounded to the grid: half a step, twice
    # for general blocks, whose steps are up to 2 g.
    z = np.concatenate([np.ravel(part) for part in plain.z])
    bound = 150 * EPS * np.abs(z).max() + 4 * MASK.grid
    for found, expected in ((collapsed.x, plain.x), (collapsed.z, plain.z)):
        for part, other in zip(found, expected, strict=True):
            assert np.abs(part - other).max() <= bound
    # Relative to the gradient of f, not of the tilted cost, whose size is sigma: it would be a thousand times smaller.
    # Rounding adds up over the neighbours, in z and in Pz.
    allowed = 2 * int(network.degrees.max()) * bound / min(problem.floors.x, problem.floors.gradient)
    np.testing.assert_allclose(collapsed.history["residual"], plain.history["residual"], rtol=1e-6, atol=allowed)


@every_problem
@every_schedule
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_no_bit_depends_on_more_than_the_real_number_view(network, rng, make, schedule, engine):
    """Another secret with other pads, of which the adversary sees the same in real numbers: the same floats."""
    problem = make(network, rng)
    z0 = MASK.draw((int(problem.rows[-1]), 1), 1)
    # Integers and, for general blocks, multiples of 1/16: differences that all grids hold exactly.
    shift = rng.integers(-50, 51, size=z0.shape)
    shift = (shift + shift[problem.P]).astype(float)
    tilt = (problem.C.T @ shift)[:, 0]
    steps = 4 * MASK.grid  # no finer than the grid of any entry, so that rounding commutes with the difference
    q = on_grid(problem.q, steps)
    pairs = [(q, z0), (q - tilt, z0 + shift)]
    runs = {"collapsed": [], "plain": []}
    for linear, pads in pairs:
        costs = [
            sv.Quadratic(cost.quadratic.Q[0], linear[problem.columns[i] : problem.columns[i + 1]])
            for i, cost in ((i, problem.cost(i)) for i in range(N))
        ]
        other = sv.Problem(problem.network, costs)
        tilted, start, _ = collapse(other, pads, MASK.sigma)
        for name, (which, z) in {"collapsed": (tilted, start), "plain": (other, pads)}.items():
            run = make_run(which, Settings(schedule=schedule, key=5, c=0.4, theta=0.8, z0=z.copy(), engine=engine))
            before, messages = run.iterated_z().copy(), []
            for _ in range(30):
                run.advance(1)
                messages.append(run.iterated_z() - before)
                before = run.iterated_z().copy()
            runs[name].append(np.concatenate([run.stacked_x(), *messages]))
    np.testing.assert_array_equal(*runs["collapsed"])
    assert not np.array_equal(*runs["plain"]), "plain arithmetic tells them apart"


@pytest.mark.parametrize("size", [0.0, 1e-9, 1.0, 1e9, 1e16])
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e4])
def test_sums_are_rounded_once(network, rng, size, sigma):
    mask = sv.GaussianMask(sigma**2)
    problem = sv.averaging(network, size * rng.normal(size=(N, 2)))
    z0 = mask.draw((int(problem.rows[-1]), 1), 2)
    C = problem.C.toarray()
    u = [(Fraction(a) + Fraction(b)) / 2 for a, b in zip(z0[:, 0], z0[problem.P, 0], strict=True)]
    q = on_grid(problem.q, mask.grid)
    exact = [Fraction(own) + sum(Fraction(a) * v for a, v in zip(C[:, t], u, strict=True)) for t, own in enumerate(q)]
    found, lost = consensus_sums(problem, z0, mask.grid) if size < 1e9 * sigma else general_sums(problem, z0, mask.grid)
    tilted, start, symmetric = collapse(problem, z0, sigma)
    np.testing.assert_array_equal(tilted.q, found)
    np.testing.assert_array_equal(start + symmetric, z0)
    np.testing.assert_array_equal(start, -start[problem.P])
    np.testing.assert_array_equal(symmetric, symmetric[problem.P])
    if size < 1e9 * sigma:
        assert found.tolist() == [float(value) for value in exact]
        np.testing.assert_array_equal(lost, q - problem.q)
        assert np.abs(lost).max() <= mask.grid / 2
    else:  # beyond the grid's reach: multiples of g, half a step more
        assert max(abs(Fraction(a) - b) for a, b in zip(found, exact, strict=True)) <= max(
            Fraction(mask.grid), Fraction(EPS * np.abs(found).max())
        )


def test_a_hub_of_many_neighbours_is_summed_exactly(rng):
    star = sv.Network.star(3000)
    problem = sv.averaging(star, rng.normal(size=3000))
    z0 = MASK.draw((2 * star.m, 1), 2)
    found, _ = consensus_sums(problem, z0, MASK.grid)
    u = sum(Fraction(v) for v in z0[:, 0]) / 2  # every edge has the hub at its lower end: A = -1
    assert found[0] == float(Fraction(float(on_grid(problem.q[:1], MASK.grid)[0])) - u)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_rounding_of_the_data_is_an_error_in_the_residual(network, rng, engine):
    problem = sv.averaging(network, rng.normal(size=N))
    z0 = MASK.draw((2 * network.m, 1), 1)
    tilted, start, _ = collapse(problem, z0, 2.0**12 * MASK.sigma)  # a grid of 2e-9
    run = make_run(tilted, Settings(c=0.4, theta=1.0, z0=start, engine=engine))
    run.advance(2000)
    gradient = np.abs(2 * (run.stacked_x()[:, 0] + problem.q / 2)).max()
    # Everything else is at rounding: EPS sigma, within a factor of the number of iterations that are remembered.
    assert run.residual() == pytest.approx(np.abs(tilted.lost).max() / gradient, rel=1e-2)
    assert np.abs(tilted.lost).max() > 1e-10


def test_the_tilted_problem_keeps_the_users_floors_and_values(network, rng):
    s = 1e-3 * rng.normal(size=N)
    problem = sv.averaging(network, s)
    tilted, _, _ = collapse(problem, MASK.draw((2 * network.m, 1), 1), MASK.sigma)
    assert tilted.floors == problem.floors
    assert tilted.value(s) == problem.value(s) == 0
    assert np.abs(tilted.q).max() > 100


def test_z0_is_put_on_a_grid_of_its_size(network, rng):
    problem = sv.averaging(network, rng.normal(size=N))
    z0 = 100 * rng.normal(size=2 * network.m)
    first = next(sv.iterate(problem, c=0.4, z0=z0, arithmetic="collapsed"))
    assert 0 < np.abs(first.z - z0).max() <= 2.0**-49 * np.abs(z0).max()
    still = next(sv.iterate(problem, c=0.4, z0=np.zeros(2 * network.m), arithmetic="collapsed"))
    np.testing.assert_array_equal(still.z, 0)
    result = sv.solve(problem, c=0.4, z0=z0, arithmetic="collapsed")
    assert result.status is sv.Status.CONVERGED
    assert np.abs(result.x + problem.q.mean() / 2).max() < 2e-9  # tol is 1e-9 on disagreement and on stationarity


def test_reference_is_what_a_collapsed_run_is(network, rng):
    """The mean-split of z(0), written out: the tilted problem from e/2 is the iteration itself, with u added back."""
    problem = sv.averaging(network, rng.normal(size=N))
    z0 = MASK.draw((2 * network.m, 1), 1)
    e = z0 - z0[problem.P]
    w = problem.q + (problem.C.T @ (z0 - e / 2))[:, 0]
    by_hand = Reference(sv.averaging(network, -w / 2), Settings(c=0.4, theta=1.0, z0=e / 2))
    by_hand.advance(20)
    run = sv.solve(problem, c=0.4, theta=1.0, mask=MASK, seed=1, tol=0, max_iter=20, engine="reference")
    bound = 20 * EPS * np.abs(z0).max() + MASK.grid
    assert np.abs(by_hand.stacked_x()[:, 0] - run.x).max() <= bound
    assert np.abs((by_hand.stacked_z() + z0 - e / 2)[:, 0] - run.z).max() <= bound
