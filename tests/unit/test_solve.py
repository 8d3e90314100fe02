from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from helpers import pooled_least_squares, shards

import sottovoce as sv
from sottovoce.errors import (
    BadlyHidden,
    InvalidCost,
    InvalidInput,
    NotConvergedWarning,
    NotGuaranteed,
    PrecisionLost,
    Unsupported,
)
from sottovoce.pdmm.schedules import key_of

# Masks are small here on purpose: what is compared is arithmetic, and small masks leave it more digits.
pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")

N = 12
EVERY_SCHEDULE = [
    sv.Synchronous(),
    sv.Asynchronous(),
    sv.Asynchronous(rates=np.arange(1.0, N + 1)),
    sv.PoissonClocks(np.arange(1.0, N + 1)),
    sv.EdgeReversal(),
    sv.Permutations(),
    sv.NodeBernoulli(0.5),
    sv.EdgeBernoulli(0.7),
    sv.Trace(list(range(N)) * 500),
    sv.Trace(node_sets=[range(0, N, 2), range(1, N, 2)] * 500),
    sv.Delayed(N),
]


@pytest.fixture
def s(rng):
    return rng.normal(size=N)


@pytest.fixture
def problem(network, s):
    return sv.averaging(network, s)


@pytest.mark.parametrize("schedule", EVERY_SCHEDULE, ids=lambda schedule: type(schedule).__name__)
@pytest.mark.parametrize("theta", [1.0, 0.5])
def test_every_schedule_reaches_the_mean(problem, s, schedule, theta):
    result = sv.solve(problem, schedule=schedule, theta=theta, mask=sv.GaussianMask(1e4), seed=1)
    assert result.status is sv.Status.CONVERGED
    assert np.abs(result.x - s.mean()).max() < 2e-9  # tol is 1e-9 on disagreement and on stationarity (curvature 2)


def test_defaults_need_no_knob(network, rng):
    data = shards(rng, N, 8, 3)
    result = sv.solve(sv.least_squares(network, data, ridge=2.0))
    np.testing.assert_allclose(result.x, np.tile(pooled_least_squares(data, ridge=2.0), (N, 1)), atol=1e-8)
    assert result.secret is None
    assert "not private" in result.summary()


def test_result_counts(problem, network):
    result = sv.solve(problem, c=0.4, tol=0, max_iter=7)
    assert (result.status, result.iterations) == (sv.Status.MAX_ITER, 7)
    assert (result.activations, result.messages) == (7 * N, 7 * 2 * network.m)
    trace = [0, 3, 3, 5]
    result = sv.solve(problem, schedule=sv.Trace(trace), c=0.4, tol=0)
    assert (result.iterations, result.activations) == (4, 4)
    assert result.messages == network.degrees[trace].sum()
    assert result.wall_time > 0


def test_x_is_what_each_node_computed_when_it_last_woke(problem, network, s):
    result = sv.solve(problem, schedule=sv.Trace([2]), c=0.4, tol=0)
    expected = np.zeros(N)
    expected[2] = 2 * s[2] / (2 + 0.4 * network.degrees[2])
    np.testing.assert_array_equal(result.x, expected)


def test_z_is_in_the_order_of_half_edges(problem, network, s):
    # One step from z(0): z_{j|2} = z_{2|j}(0) + 2 c A_2j x_2 for the neighbours j of 2, all else unchanged.
    z0 = np.arange(2.0 * network.m)
    result = sv.solve(problem, schedule=sv.Trace([2]), theta=1.0, c=0.4, z0=z0, tol=0)
    pairs = [tuple(pair) for pair in network.half_edges.tolist()]
    expected = dict(zip(pairs, z0, strict=True))
    sign = {(i, j): 1 if i > j else -1 for i, j in pairs}
    held = {j: expected[2, j] for j in network.neighbours(2).tolist()}
    x = (2 * s[2] - sum(sign[2, j] * z for j, z in held.items())) / (2 + 0.4 * len(held))
    for j, z in held.items():
        expected[j, 2] = z + 2 * 0.4 * sign[2, j] * x
    np.testing.assert_allclose(result.z, list(expected.values()), rtol=1e-15)


def test_iterate_yields_snapshots(problem):
    states = []
    for state in sv.iterate(problem, schedule=sv.Asynchronous(), c=0.4, seed=2):
        states.append(state)
        if state.iteration == 50:
            break
    assert [state.iteration for state in states] == list(range(51))
    final = sv.solve(problem, schedule=sv.Asynchronous(), c=0.4, seed=2, tol=0, max_iter=50)
    np.testing.assert_array_equal(states[-1].x, final.x)
    np.testing.assert_array_equal(states[-1].z, final.z)
    assert not np.array_equal(states[0].z, states[1].z)
    assert len(list(sv.iterate(problem, schedule=sv.Trace([1, 2]), c=0.4))) == 3


@pytest.mark.parametrize("schedule", EVERY_SCHEDULE, ids=lambda schedule: type(schedule).__name__)
def test_iterate_yields_every_so_many_states_of_the_same_run(problem, schedule):
    arguments = {"schedule": schedule, "theta": 0.8, "c": 0.4, "seed": 2}
    all_of_them = [state for _, state in zip(range(31), sv.iterate(problem, **arguments), strict=False)]
    some = [state for _, state in zip(range(5), sv.iterate(problem, every=7, **arguments), strict=False)]
    assert [state.iteration for state in some] == [0, 7, 14, 21, 28]
    for state in some:
        same = all_of_them[state.iteration]
        assert (state.activations, state.messages) == (same.activations, same.messages)
        np.testing.assert_allclose(state.z, same.z, rtol=1e-14, atol=1e-14)  # compiled in one go, or one by one
    trace = sv.iterate(problem, schedule=sv.Trace([1, 2, 3, 4, 5]), c=0.4, every=3)
    assert [state.iteration for state in trace] == [0, 3, 5]
    with pytest.raises(InvalidInput, match="every must be an integer >= 1; got 0"):
        next(sv.iterate(problem, every=0))


def test_recorders_and_stride(problem, s):
    recorders = [sv.MeanSquaredError(s.mean()), sv.Residual(), sv.Variance(), sv.Messages()]
    arguments = {"schedule": sv.Asynchronous(), "c": 0.4, "mask": sv.GaussianMask(9.0), "seed": 1, "batch": 200}
    result = sv.solve(problem, tol=0, max_iter=400, record=recorders, record_every=40, **arguments)
    history = result.history
    assert history["iteration"].tolist() == list(range(0, 401, 40))
    assert history["error"][-1] < 1e-6 < history["error"][0]
    assert history["residual"][-1] == pytest.approx(result.residual)
    assert (np.diff(history["messages"]) > 0).all()
    # The sample variance of 200 draws of N(0, 9), averaged over the entries: well within 20 %.
    assert history["variance"][0] == pytest.approx(9.0, rel=0.2)
    assert history["error"][-1] == pytest.approx(np.mean((result.x - s.mean()) ** 2))
    without = sv.solve(problem, tol=0, max_iter=400, **arguments)
    assert without.history == {}
    np.testing.assert_array_equal(without.z, result.z)


def test_variance_of_a_projection(problem):
    symmetric = sv.Variance(lambda z: z + z[:, problem.network.twin], name="symmetric")
    result = sv.solve(
        problem, c=0.4, mask=sv.GaussianMask(1.0), seed=0, batch=500, tol=0, max_iter=1, record=[symmetric]
    )
    assert result.history["symmetric"][0] == pytest.approx(2.0, rel=0.2)


def test_batch_shapes(network, problem, rng):
    arguments = {"c": 0.4, "mask": sv.GaussianMask(1.0), "seed": 0, "batch": 5, "tol": 0, "max_iter": 3}
    result = sv.solve(problem, **arguments)
    assert (result.x.shape, result.z.shape) == ((5, N), (5, 2 * network.m))
    vectors = sv.averaging(network, rng.normal(size=(N, 2)))
    for engine in ("reference", "compiled"):
        result = sv.solve(vectors, engine=engine, **arguments)
        assert (result.x.shape, result.z.shape) == ((5, N, 2), (5, 2 * network.m, 2))


def test_ragged_problems_give_lists():
    network = sv.Network.from_edges(2, [(0, 1)]).with_constraints({(0, 1): np.ones((1, 2)), (1, 0): [[-1.0]]})
    problem = sv.Problem(network, [sv.Averaging([1.0, 2.0]), sv.Averaging(5.0)])
    result = sv.solve(problem, theta=0.5)
    assert [x.shape for x in result.x] == [(2,), (1,)]
    assert [z.shape for z in result.z] == [(1,), (1,)]
    # Minimise |x - (1, 2)|^2 + (y - 5)^2 subject to x_1 + x_2 = y: Lagrange gives x + 2/3, y - 2/3.
    np.testing.assert_allclose(result.x[0], [5 / 3, 8 / 3], atol=1e-8)
    np.testing.assert_allclose(result.x[1], [13 / 3], atol=1e-8)
    batch = sv.solve(problem, theta=0.5, mask=sv.GaussianMask(1.0), seed=0, batch=3)
    assert [x.shape for x in batch.x] == [(3, 2), (3, 1)]
    z0 = [np.array([1.0]), np.array([2.0])]
    assert sv.solve(problem, theta=0.5, z0=z0).status is sv.Status.CONVERGED
    assert problem.value(result.x) == pytest.approx(3 * (2 / 3) ** 2)
    json.dumps(result.to_dict())


def test_seed_makes_runs_repeat_and_its_absence_does_not(problem):
    arguments = {"schedule": sv.Asynchronous(), "c": 0.4, "mask": sv.GaussianMask(1.0), "tol": 0, "max_iter": 20}
    first, again = (sv.solve(problem, seed=7, **arguments) for _ in range(2))
    np.testing.assert_array_equal(first.z, again.z)
    assert first.secret is False
    assert "not secret" in first.summary()
    one, other = (sv.solve(problem, **arguments) for _ in range(2))
    assert not np.array_equal(one.z, other.z)
    assert one.secret is True


def test_json(problem):
    result = sv.solve(problem, c=0.4, record=[sv.Residual()])
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["status"] == "converged"
    assert plain["x"] == pytest.approx(result.x.tolist())
    assert len(plain["history"]["residual"]) == result.iterations + 1


def test_divergence_is_detected(network):
    # "prox" of a function that is not convex: x = 10 v - 1 expands.
    wrong = [sv.Custom(lambda v, t: 10 * v - 1, lambda x: 0.0) for _ in range(N)]
    with np.errstate(over="ignore", invalid="ignore"), pytest.warns(NotConvergedWarning, match=r"diverged: .* convex"):
        result = sv.solve(sv.Problem(network, wrong), theta=0.5, c=1.0, max_iter=10_000)
    assert result.status is sv.Status.DIVERGED
    assert result.iterations < 10_000


def test_max_iter_is_not_called_converged(problem):
    with pytest.warns(
        NotConvergedWarning, match=r"residual \d.* after 3 iterations; tol=1e-09. Raise max_rounds"
    ) as said:
        result = sv.solve(problem, c=0.4, max_iter=3)
    assert [warning.filename for warning in said] == [__file__]  # the line that called solve
    assert result.status is sv.Status.MAX_ITER
    assert not result.converged
    assert result.residual > 1e-9


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("schedule", [sv.Asynchronous(), sv.Synchronous()])
@pytest.mark.parametrize("c", [1e9, 1e12, 1e16, 1e30])
def test_a_penalty_beside_which_gradients_vanish_is_not_converged(rng, c, schedule, engine):
    """Normal vectors of a set may have any size: relative to them, any gradient is small. From 1e16 on ``c x`` plus a
    gradient is ``c x``, and all steps agree on a point that has nothing to do with the costs."""
    problem = sv.Problem(sv.Network.ring(6), [sv.Averaging(s) + sv.Simplex(1.0, 3) for s in rng.normal(size=(6, 3))])
    with pytest.warns(NotConvergedWarning):
        result = sv.solve(problem, schedule=schedule, c=c, theta=0.5, seed=1, max_iter=2_000, engine=engine)
    assert result.residual > 1e-3


FLAT = {
    "Huber": ([sv.Huber(s, 1e-4) for s in (1.0, 2.0, 3.0)], 1e26),
    "AbsoluteDeviation": ([sv.AbsoluteDeviation(s) for s in (1.0, 2.0, 3.0)], 1e40),
    "Logistic": ([sv.Logistic([[s, 1.0], [1.0, -s]], [1, -1]) for s in (1.0, 2.0, 3.0)], 1e40),
    "Hinge": ([sv.Hinge([[s, 1.0], [1.0, -s]], [1, -1]) for s in (1.0, 2.0, 3.0)], 1e40),
    "mixed": (  # a lasso of one row is curved in one direction
        [sv.Lasso([[1.0, 0.5, -0.3]], [1.0], 0.5), sv.Huber(np.ones(3)), sv.AbsoluteDeviation(np.ones(3))],
        1e34,
    ),
}


@pytest.mark.filterwarnings("ignore::sottovoce.errors.PrecisionLost")
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("schedule", [sv.Asynchronous(), sv.Synchronous(), sv.EdgeBernoulli(0.8)], ids=repr)
@pytest.mark.parametrize("name", FLAT)
def test_pads_beside_which_slopes_vanish_are_not_converged(name, schedule, engine):
    """Slopes that are bounded, however far away ``x`` is: all steps agree where the pads have left it."""
    costs, variance = FLAT[name]
    with pytest.warns(NotConvergedWarning):
        result = sv.solve(
            sv.Problem(sv.Network.ring(3), costs), schedule=schedule, c=1.0, theta=0.5, seed=1, max_iter=2_000,
            mask=sv.GaussianMask(variance), engine=engine,
        )  # fmt: skip
    assert result.residual > 1e-3


@pytest.mark.filterwarnings("ignore::sottovoce.errors.PrecisionLost")
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
def test_values_far_from_zero_have_a_median(offset):
    """Rounding takes digits of the slopes there, and not the answer."""
    problem = sv.Problem(sv.Network.complete(5), [sv.AbsoluteDeviation(offset + s) for s in (0.0, 1.0, 4.0, 6.0, 7.0)])
    result = sv.solve(problem, c=0.05, theta=0.5, z0=np.full(20, -0.05 * offset) * problem.network.C.data)
    assert result.converged
    np.testing.assert_allclose(result.x, offset + 4.0, rtol=1e-9)


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()], ids=repr)
def test_steep_costs_take_large_penalties(rng, schedule, engine):
    """What rounding takes is measured against the slopes: of 1e15 it takes nothing that counts."""
    labels = np.array([1, -1, 1, -1, -1])
    costs = [sv.Logistic(1e15 * rng.normal(size=(5, 2)), labels) for _ in range(4)]
    problem = sv.Problem(sv.Network.ring(4), costs)
    result = sv.solve(problem, schedule=schedule, theta=0.5, c=1e30, seed=1, tol=1e-7, engine=engine)
    assert result.converged
    assert result.iterations < 10_000  # and not only in the end


def test_the_units_of_a_huber_loss_do_not_matter():
    """Of values far below ``delta`` gradients are as small as the values."""
    problem = sv.Problem(sv.Network.ring(3), [sv.Huber(1e-12 * s) for s in (1.0, 2.0, 6.0)])
    assert sv.solve(problem, theta=0.5).x == pytest.approx(3e-12, rel=1e-7)
    with pytest.warns(NotConvergedWarning):
        assert not sv.solve(problem, c=1e12, theta=0.5, max_iter=2_000).converged


def test_large_curvatures_take_large_penalties(rng):
    """What rounding takes of a gradient is measured against gradients: a change of units changes nothing."""
    network, s = sv.Network.ring(6), rng.normal(size=(6, 3))
    for scale in (1.0, 1e12):
        costs = [sv.Quadratic(scale, -scale * v) + sv.Simplex(1.0, 3) for v in s]
        result = sv.solve(sv.Problem(network, costs), c=0.5 * scale, theta=0.5)
        assert result.converged
        np.testing.assert_allclose(
            result.x, np.broadcast_to(sv.Simplex(1.0, 3).project(s.mean(axis=0)), s.shape), atol=1e-8
        )


def test_no_warning_where_iterations_were_asked_for(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not sv.solve(problem, c=0.4, tol=0, max_iter=3).converged
        assert sv.solve(problem, c=0.4).converged


def test_rounds_are_iterations_or_n_activations(problem):
    for schedule, iterations in ((sv.Synchronous(), 7), (sv.EdgeBernoulli(0.5), 7), (sv.Asynchronous(), 7 * N),
                                 (sv.Delayed(2), 7 * N), (sv.Trace([0] * 20), 20)):  # fmt: skip
        assert sv.solve(problem, schedule=schedule, c=0.4, tol=0, max_rounds=7).iterations == iterations


def test_a_silent_node_is_not_converged(problem):
    # Everybody but node 0 talks for a long time: their x agree, but node 0 has not been heard.
    with pytest.warns(NotConvergedWarning, match=r"after 5000 iterations, where the trace is over; .* longer trace"):
        result = sv.solve(problem, schedule=sv.Trace([k % (N - 1) + 1 for k in range(5000)]), c=0.4)
    assert result.status is sv.Status.MAX_ITER


def test_theta_one_warns_where_convergence_is_not_guaranteed(network):
    median = sv.Problem(network, [sv.AbsoluteDeviation(float(i)) for i in range(N)])
    with pytest.warns(NotGuaranteed, match=r"theta=1 .*not") as caught:
        sv.solve(median, theta=1.0, c=1.0, tol=0, max_iter=20)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sv.solve(median, c=1.0, tol=0, max_iter=20).theta == 0.5
        sv.solve(sv.averaging(network, np.arange(N)), theta=1.0, c=1.0, tol=0, max_iter=20)


@pytest.mark.filterwarnings("ignore::sottovoce.errors.NotConvergedWarning")  # fifty iterations are too few anyway
def test_a_mask_that_costs_the_tolerance_warns(problem):
    with pytest.warns(PrecisionLost, match=r"2.2e-08, above tol=1e-09"):
        sv.solve(problem, c=0.4, mask=sv.GaussianMask(1e16), seed=0, max_iter=50, arithmetic="plain")
    with pytest.warns(PrecisionLost, match=r"1.\de-07, above tol=1e-09"):  # and half a step of the grid, 2^(26 - 49)
        sv.solve(problem, c=0.4, mask=sv.GaussianMask(1e16), seed=0, max_iter=50)
    with pytest.warns(PrecisionLost):
        sv.solve(problem, c=0.4, z0=np.full(2 * problem.network.m, 1e8), max_iter=50)


def test_float_floor_is_about_eps_sigma(problem, s):
    # theory: Collapsed arithmetic, 0.1 to 0.5 eps sigma, here with room for the maximum over the nodes.
    result = sv.solve(problem, c=0.4, mask=sv.GaussianMask(1e12), seed=0, tol=0, max_iter=500)
    assert np.abs(result.x - s.mean()).max() < 10 * np.finfo(float).eps * 1e6


def test_masked_runs_of_quadratic_costs_are_collapsed(problem, network, s):
    huber = sv.Problem(network, sv.Huber.many(s))
    mask, z0 = sv.GaussianMask(1.0), np.ones(2 * network.m)
    for expected, which, arguments in [
        ("collapsed", problem, {"mask": mask}),
        ("collapsed", problem, {"z0": z0, "arithmetic": "collapsed"}),
        ("plain", problem, {"mask": mask, "arithmetic": "plain"}),
        ("plain", problem, {"mask": mask, "batch": 2}),
        ("plain", problem, {"z0": z0}),
        ("plain", problem, {}),
        ("plain", huber, {"mask": mask, "theta": 0.5}),
    ]:
        result = sv.solve(which, c=0.4, tol=0, max_iter=20, **arguments)
        assert result.arithmetic == result.to_dict()["arithmetic"] == expected


def test_collapsed_arithmetic_is_refused_where_it_does_not_apply(problem, network, s):
    huber = sv.Problem(network, sv.Huber.many(s))
    mask = sv.GaussianMask(1.0)
    for which, arguments, sentence in [
        (problem, {}, "no pads; give mask= or z0="),
        (problem, {"mask": mask, "batch": 2}, "batch share one q"),
        (huber, {"mask": mask, "theta": 0.5}, "not quadratic"),
    ]:
        with pytest.raises(Unsupported, match=sentence):
            sv.solve(which, c=0.4, arithmetic="collapsed", **arguments)
        with pytest.raises(Unsupported, match=sentence):
            next(sv.iterate(which, c=0.4, arithmetic="collapsed", **arguments))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"arithmetic": "exact"}, "arithmetic must be 'collapsed', 'plain' or None; got 'exact'"),
        ({"theta": 1.3}, r"theta must be in \(0, 1\]; got 1.3. Use theta=1 for PDMM, 0.5 for ADMM"),
        ({"theta": 0}, "got 0"),
        ({"theta": "1"}, "theta"),
        ({"theta": float("nan")}, "nan"),
        ({"c": -1}, "c must be a positive number or 'auto'; got -1"),
        ({"c": float("inf")}, "inf"),
        ({"c": "big"}, "big"),
        ({"c": 10**400}, "c must be a positive number or 'auto'; got 1000"),
        ({"c": 1.7e308}, r"got 1.7e\+308, which overflows"),
        ({"c": None}, "c must be a positive number, 'auto', or one number per edge; got None"),
        ({"c": True}, "got True"),
        ({"c": {(0, 1): 1.0}}, "or one number per edge; got {"),
        ({"c": [1.0, 2.0]}, "c has 2 numbers, and messages go over"),
        ({"c": []}, "c has 0 numbers"),
        ({"c": [[1.0], [2.0, 3.0]]}, "its rows have different lengths"),
        ({"c": [[1.0, 2.0]]}, r"got an array of shape \(1, 2\)"),
        ({"c": ["1", "2"]}, "entry 0 is text"),
        ({"c": [1.0, True]}, "True and False are none"),
        ({"c": [1.0, 10**400]}, "entry 1 is too large"),
        ({"tol": -1e-3}, "tol"),
        ({"tol": float("nan")}, "tol"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1; got 0"),
        ({"max_iter": 2.5}, "2.5"),
        ({"max_rounds": 0}, "max_rounds must be an integer >= 1; got 0"),
        ({"max_iter": 5, "max_rounds": 5}, "either max_iter or max_rounds, not both"),
        ({"batch": 0}, "batch"),
        ({"record_every": 0}, "record_every"),
        ({"check_every": 0}, "check_every"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"schedule": "synchronous"}, "schedule"),
        ({"engine": "gpu"}, "gpu"),
        ({"mask": sv.GaussianMask(1.0), "z0": np.zeros(1)}, "not both"),
        ({"z0": np.zeros(5)}, r"z0 must hold .* got ndarray of shape \(5,\)"),
        ({"z0": "abc"}, "z0"),
        ({"z0": [np.nan] * 10_000}, "z0"),
    ],
)
def test_bad_arguments_are_refused(problem, arguments, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        sv.solve(problem, **arguments)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_penalty_is_told_by_its_edge(problem, network, value):
    c = np.ones(network.m)
    c[3] = value
    i, j = network.edges[3]
    for run in (lambda: sv.solve(problem, c=c), lambda: next(sv.iterate(problem, c=c)),
                lambda: sv.nodes_of(problem, c=c, theta=1.0)):  # fmt: skip
        with pytest.raises(InvalidInput, match=rf"c of the edge \({i}, {j}\) must be a positive number; got {value}"):
            run()
    tree = network.spanning_tree()
    assert sv.solve(problem, overlay="tree", c=np.arange(1.0, network.m + 1)).c.tolist() == [
        1.0 + k for k, edge in enumerate(network.edges.tolist()) if edge in tree.edges.tolist()
    ]
    with pytest.raises(InvalidInput, match=rf"c of the edge \({i}, {j}\)"):  # of an edge without messages, too
        sv.solve(problem, overlay="tree", c=c)


def test_nan_in_z0(problem):
    with pytest.raises(InvalidCost, match="finite"):
        sv.solve(problem, z0=np.full(2 * problem.network.m, np.nan))


@pytest.mark.parametrize("variance", [0, -1.0, float("nan"), float("inf"), "big"])
def test_bad_masks_are_refused(variance):
    with pytest.raises(InvalidInput, match="variance must be a positive number"):
        sv.GaussianMask(variance)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda net: sv.Problem(net, [sv.Averaging(1.0)]), "1 costs for 12 nodes"),
        (lambda net: sv.Problem(net, sv.Averaging.many(np.ones(3))), "for 3 nodes, the network has 12"),
        (lambda net: sv.Problem(net, [1.0] * N), r"costs\[0\] must be the Cost of one node"),
        (lambda net: sv.Problem(net, [sv.Averaging(np.ones(1 + (i == 3))) for i in range(N)]), "node 3 has 2"),
        (lambda net: sv.averaging(net, ["a"] * N), "real numbers"),
        (lambda net: sv.averaging(net, [np.nan] * N), "finite|NaN"),
        (lambda net: sv.averaging(net, np.zeros((2, 2, 2))), "got shape"),
    ],
)
def test_problems_that_do_not_fit_are_refused(network, make, sentence):
    with pytest.raises(InvalidCost, match=sentence):
        make(network)


def test_dimensions_must_fit_the_blocks():
    network = sv.Network.from_edges(2, [(0, 1)]).with_constraints({(0, 1): np.ones((1, 2)), (1, 0): [[1.0]]})
    with pytest.raises(InvalidCost, match="node 0: its cost has dimension 1, its blocks have 2 columns"):
        sv.Problem(network, [sv.Averaging(1.0), sv.Averaging(1.0)])


def test_costs_without_a_matrix_step_refuse_general_blocks():
    A = {(0, 1): np.diag([1.0, 2.0]), (1, 0): -np.eye(2)}
    network = sv.Network.from_edges(2, [(0, 1)]).with_constraints(A)
    problem = sv.Problem(network, [sv.AbsoluteDeviation([0.0, 1.0]), sv.AbsoluteDeviation([2.0, 3.0])])
    with pytest.raises(Unsupported, match="not a multiple of the identity"):
        sv.solve(problem, c=1.0)


def test_progress_appears_after_two_seconds_and_says_the_residual(problem, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes Rich believe in a terminal
    clock = iter(np.arange(0.0, 1e6, 0.7))
    monkeypatch.setattr("sottovoce.pdmm.progress.time.perf_counter", lambda: next(clock))
    sv.solve(problem, c=0.4, theta=0.05, progress=True)
    shown = capsys.readouterr().err
    assert "solving" in shown
    assert "residual" in shown
    sv.solve(problem, c=0.4, theta=0.05)
    assert capsys.readouterr().err == ""


def test_a_recorder_may_keep_what_it_is_given(problem):
    class Answers:
        name = "x"

        def __call__(self, run):
            return run.x

    for engine in ("reference", "compiled"):
        for schedule in (sv.Synchronous(), sv.Asynchronous()):
            arguments = {"schedule": schedule, "c": 0.4, "seed": 1, "tol": 0, "engine": engine}
            kept = sv.solve(problem, max_iter=4, record=[Answers()], **arguments).history["x"]
            for k in (1, 3):
                np.testing.assert_array_equal(kept[k], sv.solve(problem, max_iter=k, **arguments).x)


@pytest.mark.parametrize("reference", [0.5, [0.5, -1.0], [[0.5, -1.0]] * 3], ids=["number", "for all", "by node"])
def test_the_error_where_edges_have_unequal_numbers_of_rows(reference):
    """``x`` is then a list, of which all entries have one size."""
    row, both = np.array([[1.0, 2.0]]), np.eye(2)
    blocks = {(0, 1): row, (1, 0): -row, (1, 2): both, (2, 1): -both}
    network = sv.Network.from_edges(3, [(0, 1), (1, 2)]).with_constraints(blocks)
    problem = sv.Problem(network, [sv.Averaging([1.0, 2.0])] * 3)
    result = sv.solve(problem, c=0.5, max_iter=7, tol=0, record=[sv.MeanSquaredError(reference)])
    assert isinstance(result.x, list)
    expected = np.mean((np.array(result.x) - np.array(reference)) ** 2)
    assert result.history["error"][-1] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous(), sv.EdgeBernoulli(0.9)], ids=repr)
def test_a_step_that_cannot_be_verified_names_its_node(schedule, engine):
    """By the name in the network, not by the place among the costs of one family."""
    network = sv.Network.ring(4).with_labels(["ann", "bob", "eve", "kim"])
    lost = sv.Lasso(1e6 * np.ones((3, 2)), np.ones(3), 0.1)  # beside 6e12 the penalty vanishes: x is not determined
    costs = [sv.Averaging([1.0, 2.0]), sv.Lasso(np.eye(2), np.ones(2), 0.1), sv.Averaging([3.0, 4.0]), lost]
    problem = sv.Problem(network, costs)
    with pytest.raises(
        InvalidCost, match=r"^Lasso: the step of node kim did not reach .* rho = 1e-06 .* Scale the col"
    ):
        sv.solve(problem, schedule=schedule, c=5e-7, theta=0.5, seed=1, engine=engine, z0=np.ones((8, 2)))


@pytest.mark.parametrize("base", [sv.Asynchronous(), sv.PoissonClocks([1.0, 2.0, 3.0, 4.0])], ids=repr)
def test_a_schedule_made_of_anothers_choices(base):
    class Next(type(base)):
        def nodes(self, network, key, first, count):
            return (super().nodes(network, key, first, count) + 1) % network.n

    problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    schedule = Next(base.rates)
    assert schedule.law is None  # what is said of the base does not hold
    nodes = (base.nodes(problem.network, key_of(1), 0, 300) + 1) % 4
    arguments = {"c": 0.5, "theta": 0.5, "tol": 0, "max_iter": 300, "seed": 1}
    found = sv.solve(problem, schedule=schedule, **arguments)
    np.testing.assert_array_equal(found.x, sv.solve(problem, schedule=sv.Trace(nodes), **arguments).x)


def test_words_that_are_none_are_refused(problem):
    for engine in ("gpu", None, np.array(["cuda", "auto"])):
        with pytest.raises(InvalidInput, match="engine must be 'auto', 'reference', 'compiled' or 'cuda'; got "):
            sv.solve(problem, c=0.4, engine=engine)
    for arithmetic in ("exact", np.array(["plain", "collapsed"])):
        with pytest.raises(InvalidInput, match="arithmetic must be 'collapsed', 'plain' or None; got "):
            sv.solve(problem, c=0.4, arithmetic=arithmetic)


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ([sv.MeanSquaredError(0.0), sv.MeanSquaredError(1.0)], "two recorders are called 'error'"),
        ([sv.MeanSquaredError(0.0, name="iteration")], "is taken"),
        ([lambda run: 0.0], "a callable with a name"),
        ([sv.Variance()], "batch=None"),
    ],
)
def test_bad_recorders_are_refused(problem, record, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        sv.solve(problem, c=0.4, record=record)


def test_arguments_are_copied(network, s):
    """Changing an array after it was given changes nothing."""
    data, rates, z0 = s.copy(), np.ones(N), np.ones(2 * network.m)
    A = {(0, 1): np.array([[2.0]]), (1, 0): np.array([[-1.0]])}
    pair = sv.Network.from_edges(2, [(0, 1)]).with_constraints(A)
    problem, schedule = sv.Problem(network, sv.Huber.many(data)), sv.Asynchronous(rates=rates)
    states = sv.iterate(sv.averaging(network, data), c=0.4, z0=z0)
    next(states)
    data[:], rates[:], z0[:], A[0, 1][:] = 1e6, -5.0, 1e6, 100.0
    network.neighbours(0)[:] = 0
    assert np.abs(next(states).z).max() < 100
    assert problem.value(s) == 0
    assert min(schedule.rates) == 1
    exact = sv.solve(sv.Problem(pair, [sv.Averaging([1.0]), sv.Averaging([2.0])]), c=0.4)
    np.testing.assert_allclose(np.ravel(exact.x), [1.0, 2.0], atol=1e-8)


@pytest.mark.filterwarnings("ignore::sottovoce.errors.NotConvergedWarning")  # either verdict, if it is true
@pytest.mark.parametrize("factor", [1e-10, 1e-6, 1e6])
def test_the_units_of_a_constraint_do_not_matter_to_the_verdict(factor):
    path = sv.Network.from_edges(3, [(0, 1), (1, 2)])
    A = {(0, 1): [[1.0]], (1, 0): [[-1.0]], (1, 2): [[factor]], (2, 1): [[-factor]]}
    problem = sv.Problem(path.with_constraints(A), [sv.Averaging([v]) for v in (0.0, 0.0, 9.0)])
    result = sv.solve(problem, max_iter=5000)
    assert result.status is not sv.Status.CONVERGED or np.abs(np.ravel(result.x) - 3).max() < 1e-7


@pytest.mark.filterwarnings("ignore::sottovoce.errors.NotConvergedWarning")  # either verdict, if it is true
@pytest.mark.parametrize("scale", [1e-10, 1e-5, 1e5])
@pytest.mark.parametrize("c", [0.4, "auto"])
def test_the_units_of_the_costs_do_not_matter_to_the_verdict(network, s, scale, c):
    for costs in (
        [sv.Quadratic(scale, -scale * v) for v in s],  # the unit of f
        [sv.Averaging(scale * v) for v in s],  # the unit of x
        [sv.LeastSquares([[1 / scale]], [v]) for v in s],
    ):
        problem = sv.Problem(network, costs)
        result = sv.solve(problem, c=c, max_iter=3000)
        form = problem.quadratic
        exact = -form.q.sum() / form.Q.sum()
        size = np.abs(form.q / form.Q[:, None]).max()
        assert result.status is not sv.Status.CONVERGED or np.abs(result.x - exact).max() < 1e-7 * size
        assert c != "auto" or result.status is sv.Status.CONVERGED


def test_a_late_giant_is_not_a_divergence():
    pair = sv.Network.from_edges(2, [(0, 1)])
    result = sv.solve(sv.averaging(pair, [0.0, 1e11]), schedule=sv.Asynchronous([1.0, 0.001]), c=1.0, seed=2)
    assert result.status is sv.Status.CONVERGED


def test_scalars_under_constraints_of_several_rows():
    A = {(0, 1): [[1.0], [2.0]], (1, 0): [[-1.0], [-2.0]]}
    pair = sv.Network.from_edges(2, [(0, 1)]).with_constraints(A)
    result = sv.solve(sv.Problem(pair, [sv.Averaging(1.0), sv.Averaging(2.0)]))
    assert (result.x.shape, result.z.shape) == ((2,), (2, 2))
    np.testing.assert_allclose(result.x, 1.5, atol=1e-8)


def test_z0_of_the_wrong_orientation_is_refused(problem):
    with pytest.raises(InvalidCost, match="leading axis for the 3 draws"):
        sv.solve(problem, c=0.4, batch=3, z0=np.zeros((2 * problem.network.m, 3)))


# A mask too small for the data


def test_values_in_the_millions_under_a_mask_of_one_are_warned_about(network):
    problem = sv.averaging(network, 1e6 * (1 + np.arange(float(network.n))))
    with pytest.warns(BadlyHidden, match=rf"node {network.n - 1}: its data are hidden badly.* sigma = 1: ") as caught:
        result = sv.solve(problem, mask=sv.GaussianMask(1.0), c=0.4)
    assert caught[0].filename == __file__  # it points at the caller
    assert "e+0" not in str(caught[0].message)  # and quotes no data
    assert result.hidden is False
    assert result.summary().endswith("pads from the operating system's generator, TOO SMALL to hide the data")
    with pytest.warns(BadlyHidden):
        next(sv.iterate(problem, mask=sv.GaussianMask(1.0), c=0.4))


def test_the_warning_begins_at_a_hundred_times_the_data(network):
    """For averaging, where ``q = -2 s``."""
    problem = sv.averaging(network, np.full(network.n, -3.0))
    for sigma, small in ((299.0, True), (301.0, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", BadlyHidden)
            assert sv.solve(problem, mask=sv.GaussianMask(sigma**2), c=0.4).hidden is not small
        assert len(caught) == small  # once


def test_costs_without_a_quadratic_form_are_measured_too(network):
    problem = sv.Problem(network, [sv.AbsoluteDeviation(1e6 + i) for i in range(network.n)])
    with pytest.warns(BadlyHidden, match="some node: "):
        sv.solve(problem, mask=sv.GaussianMask(1.0), c=1.0, max_iter=1, tol=0)
    assert sv.solve(problem, c=1.0, max_iter=1, tol=0).hidden is None  # without a mask nothing is claimed
