from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.numerics.counter_random import uniform
from sottovoce.pdmm.engine import kernels
from sottovoce.pdmm.schedules import key_of


def test_mu(network):
    n = network.n
    assert sv.Synchronous().mu(network) == 1
    assert sv.Asynchronous().mu(network) == 1 / n
    assert sv.Asynchronous(rates=np.arange(1, n + 1)).mu(network) is None
    assert sv.PoissonClocks(np.full(n, 3.0)).mu(network) == 1 / n
    assert sv.NodeBernoulli(0.3).mu(network) == 0.3
    assert sv.EdgeBernoulli(0.7).mu(network) == 0.7
    assert sv.Trace([0]).mu(network) is None


def test_uniform_numbers_are_uniform_and_uncorrelated():
    # If they are uniform, so are the p-values of chi-square tests over many keys: one verdict instead of many.
    k = np.arange(20_000, dtype=np.uint64)
    samples = {
        "over k": lambda key: uniform(key, k, 0),
        "over index": lambda key: uniform(key, np.uint64(5), k),
        "diagonal": lambda key: uniform(key, k, k),
    }
    for sample in samples.values():
        p_values = [stats.chisquare(np.histogram(sample(key), 64, (0, 1))[0]).pvalue for key in range(200)]
        assert stats.kstest(p_values, "uniform").pvalue > 1e-3
        drawn = sample(1)
        assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 4 / np.sqrt(len(drawn))


def test_compiled_twin_draws_the_same_nodes(network):
    for schedule in (sv.Asynchronous(), sv.Asynchronous(rates=np.arange(1.0, network.n + 1))):
        expected = schedule.nodes(network, 77, 1000, 5000)
        cumulative = schedule.law.cumulative()
        nodes = np.empty(5000, dtype=np.uint32)
        empty = np.empty(0) if cumulative is None else cumulative
        kernels.wakes(np.uint64(77), 1000, network.n, empty, np.arange(network.n, dtype=np.uint32), nodes)
        np.testing.assert_array_equal(nodes, expected)


def test_rates_are_respected(network):
    rates = np.arange(1.0, network.n + 1)
    for schedule in (sv.Asynchronous(rates=rates), sv.PoissonClocks(rates)):
        counts = np.bincount(schedule.nodes(network, 3, 0, 200_000), minlength=network.n)
        assert stats.chisquare(counts, 200_000 * rates / rates.sum()).pvalue > 1e-3


def test_poisson_times_are_exponential_with_the_total_rate():
    clocks = sv.PoissonClocks([1.0, 2.0, 3.0])
    gaps = np.diff(clocks.times(5, 50_000), prepend=0.0)
    assert stats.kstest(gaps, "expon", args=(0, 1 / 6)).pvalue > 1e-3


def test_bernoulli_masks(network):
    active, arrived = sv.NodeBernoulli(0.5).sets(network, 1, 7)
    np.testing.assert_array_equal(arrived, active[network.half_edges[:, 1]])
    everyone, arrived = sv.EdgeBernoulli(0.7).sets(network, 1, 7)
    assert everyone is None
    share = np.mean([sv.EdgeBernoulli(0.7).sets(network, 1, k)[1].mean() for k in range(2000)])
    assert abs(share - 0.7) < 5 * np.sqrt(0.21 / (2000 * len(arrived)))
    assert sv.EdgeBernoulli(1).sets(network, 1, 0)[1].all()


def test_delays_are_uniform(network):
    schedule = sv.Delayed(4)
    delays = np.concatenate([schedule.delays(network, 9, k, np.arange(2 * network.m)) for k in range(500)])
    assert stats.chisquare(np.bincount(delays, minlength=5)).pvalue > 1e-3


def test_a_seed_fixes_the_key_and_none_does_not():
    assert key_of(3) == key_of(3) != key_of(4)
    assert key_of(None) != key_of(None)


def test_set_traces(network):
    active, arrived = sv.Trace(node_sets=[[0, 2]]).sets(network, 0, 0)
    assert np.flatnonzero(active).tolist() == [0, 2]
    np.testing.assert_array_equal(arrived, np.isin(network.half_edges[:, 1], [0, 2]))
    mask = np.zeros(2 * network.m, dtype=bool)
    mask[3] = True
    for trace in (sv.Trace(half_edges=[[3]]), sv.Trace(half_edges=[mask])):
        active, arrived = trace.sets(network, 0, 0)
        assert np.flatnonzero(arrived).tolist() == [3]
        assert np.flatnonzero(active).tolist() == [network.half_edges[3, 1]]


@pytest.mark.parametrize("theta", [1.0, 0.7])
def test_a_run_with_losses_replayed_from_its_trace(network, rng, theta):
    """Who woke and what arrived: the same ``x``, ``z``, counts and leakage, lost messages being heard by taps."""
    lossy, key, k = sv.EdgeBernoulli(0.3), key_of(5), 12
    arrived = [lossy.sets(network, key, step)[1] for step in range(k)]
    trace = sv.Trace(node_sets=[range(network.n)] * k, half_edges=arrived)
    problem = sv.averaging(network, rng.normal(size=network.n))
    run = {"theta": theta, "c": 0.4, "mask": sv.GaussianMask(9e4), "seed": 5}
    one, other = (sv.solve(problem, schedule=schedule, tol=0, max_iter=k, **run) for schedule in (lossy, trace))
    np.testing.assert_array_equal(one.z, other.z)
    np.testing.assert_array_equal(one.x, other.x)
    assert (one.activations, one.messages) == (other.activations, other.messages) == (k * network.n, k * 2 * network.m)
    for channels in ("open", "encrypted"):
        seen = {"seen": sv.privacy.Transcript(2), "corrupt": {0}, "channels": channels, **run}
        first, again = (sv.privacy.audit(problem, schedule=schedule, **seen) for schedule in (lossy, trace))
        np.testing.assert_array_equal(first.leakage, again.leakage)


def test_who_woke_and_was_lost_has_been_heard(network):
    problem, seen = sv.averaging(network, np.zeros(network.n)), {"mask": sv.GaussianMask(1.0), "c": 0.4, "corrupt": {0}}
    nobody = sv.privacy.audit(problem, schedule=sv.Trace(half_edges=[[]]), **seen)
    assert np.nanmax(nobody.leakage) == 0
    lost = sv.privacy.audit(problem, schedule=sv.Trace(node_sets=[range(network.n)], half_edges=[[]]), **seen)
    told = sv.privacy.audit(problem, **seen | {"seen": sv.privacy.Transcript(1)})
    np.testing.assert_array_equal(lost.leakage, told.leakage)
    assert np.nanmin(lost.leakage) > 0.01


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sv.NodeBernoulli(0), r"\(0, 1\]; got 0"),
        (lambda: sv.EdgeBernoulli(1.2), "got 1.2"),
        (lambda: sv.Asynchronous(rates=[1.0, -1.0]), "positive"),
        (lambda: sv.PoissonClocks([]), "positive"),
        (lambda: sv.Trace(), "exactly one"),
        (lambda: sv.Trace([0], node_sets=[[0]]), "exactly one"),
        (lambda: sv.Trace([0], half_edges=[[0]]), "exactly one"),
        (lambda: sv.Trace(node_sets=[[0], [1]], half_edges=[[0]]), "one of each a step; got 2 and 1"),
        (
            lambda: sv.Trace(node_sets=[[5]], half_edges=[[0]]).check(sv.Network.ring(12)),
            r"step 0 of the trace: half-edge \(0, 1\) was updated by node 1, which did not wake",
        ),
        (lambda: sv.Trace([0.5]), "integers"),
        (lambda: sv.Trace(5), "integers"),
        (lambda: sv.Trace([True, False]), "integers"),
        (lambda: sv.Trace(half_edges=[np.ones(7, bool)]).check(sv.Network.ring(12)), "mask of length 7; expected 24"),
        (lambda: sv.Asynchronous(rates=["a"]), "positive"),
        (lambda: sv.NodeBernoulli(True), "got True"),
        (lambda: sv.Delayed(-1), "got -1"),
        (lambda: sv.Delayed(2, sv.Synchronous()), "one node at a time"),
        (lambda: sv.Trace([0, 12]).check(sv.Network.ring(12)), "node 12, but there are 12"),
        (lambda: sv.Trace(half_edges=[[24]]).check(sv.Network.ring(12)), "half-edge 24"),
        (lambda: sv.Asynchronous(rates=[1.0]).check(sv.Network.ring(12)), "12; got 1"),
    ],
)
def test_bad_schedules_are_refused(make, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make()


# Schedules of one's own


class InTurn(sv.pdmm.schedules.NodeSchedule):
    """One node after the other."""

    def nodes(self, network, key, first, count):
        return np.arange(first, first + count) % network.n


class OddLoss(sv.pdmm.schedules.SetSchedule):
    """All wake; what odd nodes send arrives in every other iteration only."""

    def sets(self, network, key, k):
        return None, (network.indices % 2 == 0) | bool(k % 2)


@pytest.mark.parametrize(
    "schedule", [InTurn(), OddLoss(), sv.Delayed(3, InTurn())], ids=lambda schedule: type(schedule).__name__
)
def test_a_schedule_of_ones_own_runs(network, rng, schedule):
    s = rng.normal(size=network.n)
    problem = sv.averaging(network, s)
    result = sv.solve(problem, schedule=schedule, theta=0.8, c=0.4, mask=sv.GaussianMask(1e6), seed=1)
    assert result.status is sv.Status.CONVERGED
    assert np.abs(result.x - s.mean()).max() < 1e-8
    slow = sv.solve(problem, schedule=schedule, theta=0.8, c=0.4, mask=sv.GaussianMask(1e6), seed=1, engine="reference")
    np.testing.assert_array_equal(result.z, slow.z)


def test_a_schedule_of_ones_own_is_the_trace_that_it_plays(network, rng):
    problem = sv.averaging(network, rng.normal(size=network.n))
    run = {"theta": 0.8, "c": 0.4, "mask": sv.GaussianMask(1e6), "seed": 1}
    pairs = [
        (InTurn(), sv.Trace([k % network.n for k in range(30)])),
        (
            OddLoss(),
            sv.Trace(
                node_sets=[range(network.n)] * 30, half_edges=[OddLoss().sets(network, 0, k)[1] for k in range(30)]
            ),
        ),
    ]
    for own, trace in pairs:
        one, other = (sv.solve(problem, schedule=schedule, tol=0, max_iter=30, **run) for schedule in (own, trace))
        np.testing.assert_array_equal(one.z, other.z)
        np.testing.assert_array_equal(own.awake(network, 0, 7), trace.awake(network, 0, 7))
        for channels in ("open", "encrypted"):
            seen = {"seen": sv.privacy.Transcript(9), "corrupt": {0}, "channels": channels, **run}
            first, again = (sv.privacy.audit(problem, schedule=schedule, **seen) for schedule in (own, trace))
            np.testing.assert_array_equal(first.leakage, again.leakage)


def test_who_chooses_otherwise_has_another_law(network, rng):
    """Kernels and moments play the law: it must not be that of the class from which a schedule was derived."""

    class First(sv.Asynchronous):
        def nodes(self, network, key, first, count):
            return np.zeros(count, dtype=np.int64)

    class Nobody(sv.NodeBernoulli):
        def sets(self, network, key, k):
            return np.zeros(network.n, dtype=bool), np.zeros(2 * network.m, dtype=bool)

    problem = sv.averaging(network, rng.normal(size=network.n))
    run = {"c": 0.4, "seed": 1, "tol": 0, "max_iter": 5}
    assert First().law is Nobody(0.5).law is None
    assert First().mu(network) is Nobody(0.5).mu(network) is None
    assert not First().loses
    assert Nobody(0.5).loses
    np.testing.assert_array_equal(np.flatnonzero(sv.solve(problem, schedule=First(), **run).x), [0])
    assert sv.solve(problem, schedule=Nobody(0.5), **run).messages == 0
    assert isinstance(sv.PoissonClocks(np.ones(12)).law.rates, np.ndarray)  # it chooses as its base does


class Wrong(sv.pdmm.schedules.NodeSchedule):
    def __init__(self, found):
        self.found = found

    def nodes(self, network, key, first, count):
        return np.array(self.found)


class WrongSets(sv.pdmm.schedules.SetSchedule):
    def __init__(self, active, arrived):
        self.found = active, arrived

    def sets(self, network, key, k):
        return self.found


ALL, NONE = np.ones(24, dtype=bool), np.zeros(12, dtype=bool)


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        (Wrong([0]), r"Wrong.nodes must give 4 integers, an array of shape \(4,\); got int64 of shape \(1,\)"),
        (Wrong([0.0] * 4), "got float64"),
        (Wrong([0, 1, -1, 0]), "Wrong wakes node -1, but there are 12"),
        (Wrong([0, 1, 12, 0]), "node 12"),
        (WrongSets(NONE[1:], None), "12 truth values for the nodes"),
        (WrongSets(None, [True] * 24), "24 truth values for the half-edges"),
        (WrongSets(NONE, ALL), "a message arrives from a node that does not wake"),
        (WrongSets(NONE, None), "a message arrives from a node that does not wake"),
    ],
)
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_mistakes_of_ones_own_schedule_are_told(schedule, sentence, engine):
    problem = sv.averaging(sv.Network.ring(12), np.arange(12))
    with pytest.raises(InvalidInput, match=sentence):
        sv.solve(problem, schedule=schedule, c=0.4, tol=0, max_iter=4, engine=engine)
