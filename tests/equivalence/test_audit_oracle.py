"""The auditor in floats against the oracle in fractions: any network, schedule, prefix, coalition and channel."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import rational as oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st
from situations import (
    Situation,
    agree,
    expected,
    far_apart,
    holds,
    isolated,
    longer,
    models,
    random_situation,
    residuals,
    schedules,
    situations,
)

import sottovoce as sv
from sottovoce.errors import Unsupported
from sottovoce.privacy import Coalition, Snapshot, Transcript, audit
from sottovoce.privacy.research import CorrelatedPads

EPS = float(np.finfo(float).eps)
BOTH = ("closed form", "elimination")
PATH = sv.Network.from_edges(3, [(0, 1), (0, 2)])
LINE = sv.Network.from_edges(6, [(i, i + 1) for i in range(5)])
HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)])


def house(**more):
    """Five nodes with different curvatures."""
    model = oracle.Model(HOUSE, [1, 2, 3, F(3, 2), F(5, 2)], c=F(7, 10), theta=1, v=10, Sigma_s=np.eye(5, dtype=int))
    return Situation(replace(model, **more), sv.Synchronous(), 2, frozenset({0}))


def compare(situation, report, channels):
    """To ``TOLERANCE``; where the report has two bounds, the truth lies between them."""
    holds(report, situation.expected(channels))


# Prefixes


@settings(max_examples=150, deadline=None)
@given(situations())
# 0 and 1 have no corrupt neighbour and keep their common shift, on two edges; of 4, next to the coalition, x is known.
@example(Situation(oracle.averaging(LINE, c=3, theta=1, v=1), sv.Trace([4, 1, 0, 1]), 4, frozenset({5})))
def test_open_channels(situation):
    values = situation.expected("open")
    for method in BOTH:
        report = situation.audit(method=method)
        agree(report, values)
        # A number has one standard deviation, and it says the same.
        with np.errstate(divide="ignore"):
            agree(replace(report, leakage=-np.log(report.posterior_std / report.prior_std)[:, 0]), values)


@settings(max_examples=150, deadline=None)
@given(situations(fewest=1))
def test_encrypted_channels(situation):
    compare(situation, situation.audit(channels="encrypted"), "encrypted")


@settings(max_examples=40, deadline=None)
@given(situations(fewest=1, most=5))
def test_a_coalition_without_taps_sees_its_own_edges(situation):
    untapped = situation.audit(corrupt=(), against=Coalition(situation.corrupt))
    compare(situation, untapped, "encrypted")


@settings(max_examples=60, deadline=None)
@given(models(6), st.data())
def test_isolated_nodes(model, data):
    """Disclosed as soon as they have sent anything, and not before."""
    node = data.draw(st.integers(0, model.network.n - 1))
    corrupt = frozenset(model.neighbours[node])
    schedule, iterations = data.draw(schedules(model.network))
    situation = Situation(model, schedule, iterations, corrupt)
    for method, channels in ((BOTH[0], "open"), (BOTH[1], "open"), ("auto", "encrypted")):
        report = situation.audit(method=method, channels=channels)
        agree(report, situation.expected(channels))
        assert report.exposed == tuple(i for i in isolated(model, corrupt) if i in situation.woken)


@pytest.mark.parametrize("prior", [0.2, [2.4, 1.7, 1.3, 0.6], np.eye(4) + 0.3])
def test_isolated_nodes_whatever_the_prior(prior):
    problem = sv.Problem(sv.Network.star(4), sv.Quadratic.many(np.array([2.0, 2.0, 1.1, 0.7]), np.zeros((4, 1))))
    for more in ({}, {"method": "elimination"}, {"channels": "encrypted"}, {"seen": Snapshot(1)}):
        more |= {"hessians": "public"}
        report = audit(problem, mask=sv.GaussianMask(10.0), corrupt={0}, prior=prior, c=0.5, seed=0, **more)
        assert report.exposed == (1, 2, 3)


@settings(max_examples=40, deadline=None)
@given(situations(most=5), st.data())
def test_correlated_pads(situation, data):
    """``z(0) ~ N(0, R R' + I)`` with a small integer ``R``, against the oracle with that prior."""
    rows = len(situation.model.half_edges)
    entries = st.lists(st.integers(-1, 1), min_size=2 * rows, max_size=2 * rows)
    R = np.array(data.draw(entries)).reshape(rows, 2)
    covariance = R @ R.T + np.eye(rows, dtype=int)

    class Correlated(oracle.Model):
        prior = oracle.block_diagonal(
            situation.model.Sigma_s, [[oracle.exact(value) for value in row] for row in covariance]
        )

    model = Correlated(**vars_of(situation.model))
    for channels in ("open", "encrypted"):
        report = situation.audit(mask=CorrelatedPads(covariance), channels=channels)
        agree(report, expected(model, situation.view(channels), situation.corrupt))


def vars_of(model):
    return {name: getattr(model, name) for name in ("network", "a", "c", "theta", "v", "Sigma_s")}


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("corrupt", [frozenset(), frozenset({0})])
@pytest.mark.parametrize("runs", [2, 3])
def test_repeated_runs(runs, corrupt, channels):
    """Several runs on the same secrets, each with pads of its own, in one oracle."""
    once = Situation(house().model, sv.Trace([1, 2, 0, 3, 1]), 5, corrupt)
    n, pads = 5, len(once.model.half_edges)
    rows = []
    for run in range(runs):
        for row in once.view(channels):
            before, after = [F(0)] * (run * pads), [F(0)] * ((runs - 1 - run) * pads)
            rows.append(row[:n] + before + row[n:] + after)

    class Repeated(oracle.Model):
        prior = oracle.block_diagonal(once.model.Sigma_s, oracle.diagonal([once.model.v] * (runs * pads)))

        def secret(self, i):
            return super().secret(i) + [F(0)] * ((runs - 1) * pads)

    values = expected(Repeated(**vars_of(once.model)), rows, corrupt)
    agree(once.audit(channels=channels, runs=runs), values)


# Whole transcripts over encrypted channels: an endless run against a long one. 25 synchronous iterations, and 40 wakes
# of every node, are more than enough: the fewest after which the oracle's answer stands still are about half of them.


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("schedule", "iterations", "theta"),
    [
        (sv.Synchronous(), 25, {}),
        (sv.Asynchronous(), 40 * 6, {}),
        (sv.NodeBernoulli(0.5), 60, {"theta": F(1, 2)}),
        (sv.EdgeBernoulli(0.7), 25, {"theta": F(4, 5)}),
    ],
    ids=["synchronous", "asynchronous", "node Bernoulli", "losses"],
)
def test_whole_encrypted_transcripts(schedule, iterations, theta, seed):
    rng = np.random.default_rng(seed)
    long = random_situation(rng, int(rng.integers(3, 7)), schedule, iterations, **theta)
    compare(long, long.audit(channels="encrypted", iterations=None), "encrypted")


@pytest.mark.parametrize(("corrupt", "seed"), [(1, 229), (2, 277)])
def test_what_the_first_wakes_overwrite_unread(corrupt, seed):
    """``theta = 1``, and the first message of a node is replaced before its neighbour wakes: it is never learned."""
    model = oracle.averaging(PATH, c=F(3, 7), theta=1, v=1)
    long = Situation(model, sv.NodeBernoulli(0.5), 60, frozenset({corrupt}), seed)
    assert np.nanmax(long.expected("open")[0] - long.expected("encrypted")[0]) > 0.1
    compare(long, long.audit(channels="encrypted", iterations=None), "encrypted")


ERASED = {
    # 0 and 2 wake at once, then 2 wakes again before 0 has read what it wrote.
    "simultaneous wakes": (PATH, F(3, 7), {1}, sv.NodeBernoulli(0.5), 41, 60),
    # a = c d: such a node forgets a combination of what it read.
    "singular nodes": (
        sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 4), (2, 3), (4, 5)]), 1, {5}, sv.Asynchronous(), 278, 120,
    ),
    # With p = 1 the schedule is synchronous, and twins are never told apart.
    "Bernoulli, p = 1": (
        sv.Network.from_edges(4, [(0, 1), (1, 2), (1, 3)]), F(3, 7), {0}, sv.NodeBernoulli(1.0), 0, 25,
    ),
    "no losses, p = 1": (
        sv.Network.from_edges(4, [(0, 1), (1, 2), (1, 3)]), F(3, 7), {0}, sv.EdgeBernoulli(1.0), 0, 25,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERASED)
def test_what_is_overwritten_unread_is_never_learned(name):
    """Where wakes erase what nobody has read, an endless run shows less than the state once held."""
    network, c, corrupt, schedule, seed, iterations = ERASED[name]
    model = oracle.averaging(network, c=c, theta=1, v=1)
    long = Situation(model, schedule, iterations, frozenset(corrupt), seed)
    values = long.expected("encrypted")
    if not np.array_equal(values, longer(long, 2 * iterations).expected("encrypted"), equal_nan=True):
        raise RuntimeError("the long run is not long enough")
    report = long.audit(channels="encrypted", iterations=None)
    assert report.guarantee == "exact"
    agree(report, values)


def test_delayed_messages():
    """Late messages are sent like others, and what is under way when something is learned is still about the same."""
    late = Situation(house(theta=F(1, 2)).model, sv.Delayed(3), 20, frozenset({0}))
    compare(late, late.audit(channels="encrypted"), "encrypted")
    long = longer(late, 150)
    report = long.audit(channels="encrypted", iterations=None)
    assert report.guarantee == "exact"  # the ranks say that it has shown all that open channels do
    compare(long, report, "encrypted")


# What is too faint


def test_faint_functionals_count():
    """While 1 sleeps, 2 and 3 settle, and what it then says differs by ever less from what it would have said anyway.
    Float64 messages, which are right to ``eps`` of the pads, still show it, and so do exact ranks."""
    network = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3), (1, 3)])
    model = oracle.averaging(network, c=1, theta=1, v=1)
    wakes = [1, *[2, 3] * 20, 1, *[2, 3] * 20, 1]
    situation = Situation(model, sv.Trace(wakes), len(wakes), frozenset({0}))
    sizes = residuals(situation.view("encrypted"))
    assert sorted(size for size in sizes if size)[:2] == pytest.approx([6.8e-13, 0.81], rel=0.02)
    report = situation.audit(channels="encrypted")
    assert report.guarantee == "exact"
    agree(report, situation.expected("encrypted"))


# Scales


@pytest.mark.parametrize("method", ["closed form", "elimination"])
@pytest.mark.parametrize("scale", [F(1, 10**12), F(10**12)])
def test_units_of_the_secrets_do_not_matter(scale, method):
    """Secrets in other units, and pads with them."""
    situation = house(v=10 * scale, Sigma_s=oracle.diagonal([scale] * 5))
    agree(situation.audit(method=method), house().expected("open"))


@pytest.mark.parametrize(
    ("scale", "method"),
    [
        (1e-12, "closed form"),
        (1e-6, "elimination"),
        (1e4, "elimination"),
        (1e12, "closed form"),
        (1e-10, "elimination"),
        (1e8, "elimination"),
    ],
)
def test_units_of_the_costs_do_not_matter(scale, method):
    """``alpha f_i`` with ``alpha c`` and ``alpha z(0)`` is the same run."""
    alike = house()
    a = scale * np.array(alike.model.a, dtype=float)
    problem = sv.Problem(HOUSE, sv.Quadratic.many(a, np.zeros((5, 1))))
    more = {"mask": sv.GaussianMask(10 * scale**2), "c": 0.7 * scale, "corrupt": {0}, "seen": Transcript(2)}
    agree(audit(problem, method=method, hessians="public", **more), alike.expected("open"))


@pytest.mark.parametrize("v", [F(1, 10**12), F(10**8), F(10**12), F(10**15)])
def test_extreme_masks(v):
    situation = house(v=v)
    for method, channels in ((BOTH[0], "open"), (BOTH[1], "open"), ("auto", "encrypted")):
        agree(situation.audit(method=method, channels=channels), situation.expected(channels))


def test_a_mask_beyond_the_digits_of_float64():
    """Secrets of 1e-5 under pads of 1e4, say: what is left is the floor."""
    situation = house(v=10**18)
    agree(situation.audit(), situation.expected("open"))


@pytest.mark.parametrize("c", [F(1, 1000), F(1, 20), F(30), F(10**6)])
def test_extreme_penalties(c):
    """An eavesdropper's view depends on ``c`` through ``1/c^2``: rounding grows with it (1e-9 at c = 1e-4)."""
    situation = house(c=c)
    agree(situation.audit(channels="encrypted"), situation.expected("encrypted"))
    tapped = replace(situation, corrupt=frozenset())
    for method in BOTH:
        agree(tapped.audit(method=method), tapped.expected("open"))


def test_penalties_far_below_the_curvature():
    """Neighbours hardly move a node, but they do."""
    situation = longer(house(c=F(1, 10**6)), 25)
    report = situation.audit(channels="encrypted", iterations=None)
    assert report.guarantee == "exact"
    agree(report, situation.expected("encrypted"))


@pytest.mark.parametrize("method", BOTH)
def test_curvatures_far_apart(method):
    """A node that dominates the sum: ``Cov(S_i | answer)`` is ``contrast^-2`` of its prior, and loses those digits."""
    situation = house(a=[1, 2, 10**4, F(3, 2), F(5, 2)])
    agree(situation.audit(method=method), situation.expected("open"))
    with pytest.raises(Unsupported, match="one node dominates the sum"):
        house(a=[1, 2, 10**6, F(3, 2), F(5, 2)]).audit(method=method)


@pytest.mark.parametrize("v", [10**2, 10**8, 10**12, 10**14, 10**15, 10**16, 10**17])
@pytest.mark.parametrize("coupled", [False, True])
def test_masks_do_not_drown_the_sum_of_a_group_that_has_woken(v, coupled):
    """The honest nodes are two groups, and one of them has not woken: the sum of the other is known all the same."""
    K = [[F(int(i == j)) + F(int(coupled), 3) for j in range(5)] for i in range(5)]
    model = oracle.Model(sv.Network.from_edges(5, [(i, i + 1) for i in range(4)]), [2] * 5, F(1, 2), 1, v, K)
    situation = Situation(model, sv.Trace([0, 1]), 2, frozenset({2, 3}))
    prior = K if coupled else situation.variances
    agree(situation.audit(prior=np.array(prior, dtype=float)), situation.expected("open"))
    curved = replace(model, a=[2, F(12, 5), F(27, 10), F(12, 5), F(9, 10)])
    situation = Situation(curved, sv.Trace([1, 3, 2, 1, 2, 2, 0, 2, 2, 0, 1, 1, 3]), 13, frozenset({2, 3}))
    report = situation.audit(channels="encrypted")
    agree(report, situation.expected("encrypted"))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("decades", [6, 12, 20])
def test_variances_far_apart(decades, seed):
    """Prefixes and whole transcripts, coalitions and taps alone: no digit of a small variance goes with a large one."""
    situation = far_apart(np.random.default_rng([seed, decades]), decades)
    everybody = replace(situation, schedule=sv.Synchronous(), iterations=1)
    for one in (situation, everybody, replace(everybody, corrupt=frozenset()), replace(situation, corrupt=frozenset())):
        agree(one.audit(prior=one.variances), one.expected("open"))


# Too large for the oracle: the two methods against each other


@pytest.mark.parametrize("seed", range(8))
def test_the_methods_agree_on_larger_networks(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 31))
    network = sv.Network.random_geometric(n, seed=seed)
    problem = sv.Problem(network, sv.Quadratic.many(rng.uniform(0.5, 3, n), np.zeros((n, 1))))
    root = rng.normal(size=(n, n))
    prior = [1.0, rng.uniform(0.1, 5, n), root @ root.T / n + np.eye(n)][seed % 3]
    corrupt = set(rng.choice(n, seed % 4, replace=False).tolist())
    arguments = {
        "mask": sv.GaussianMask(10.0 ** rng.uniform(-2, 6)),
        "corrupt": corrupt,
        "prior": prior,
        "schedule": [sv.Asynchronous(), sv.NodeBernoulli(0.1), sv.EdgeBernoulli(0.5), sv.Synchronous()][seed % 4],
        "theta": [1.0, 0.8, 0.5][seed % 3],
        "c": float(rng.uniform(0.2, 2)),
        "seed": seed,
        "hessians": "public",
    }
    for iterations in (n // 2, None):
        one, other = (audit(problem, method=method, seen=Transcript(iterations), **arguments) for method in BOTH)
        agree(one, np.array([other.leakage, other.floor, other.excess]))
