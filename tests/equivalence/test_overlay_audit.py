"""What a run over an overlay gives away: the auditor against the oracle in fractions, and against the whole network."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import rational as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import Situation, agree, holds, matched, models, random_situation, ratios, schedules

import sottovoce as sv
from sottovoce.pdmm.overlay import settled_overlay
from sottovoce.privacy import Snapshot, Transcript, audit
from sottovoce.privacy.research import LinearRun

EXACT = 1e-12  # nats: what the two methods, and overlay and network, may differ by
HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3), (0, 2)])


def overlays(network):
    """A spanning tree in random order, and some more edges: any of the network's connected parts on all nodes."""

    @st.composite
    def drawn(draw):
        edges = draw(st.permutations([tuple(edge) for edge in network.edges.tolist()]))
        joined, kept = {i: {i} for i in range(network.n)}, []
        for i, j in edges:
            if joined[i] is not joined[j] or draw(st.integers(0, 3)) == 0:
                kept.append((i, j))
                both = joined[i] | joined[j]
                for k in both:
                    joined[k] = both
        return sorted(kept)

    return drawn()


@st.composite
def laid_out(draw, fewest=0, most=6):
    """A situation with messages over some edges, each with a penalty of its own."""
    model = draw(models(most))
    network = model.network
    if draw(st.booleans()):
        used, c = matched(model)
    else:
        used = draw(overlays(network))
        c = [draw(ratios) for _ in used] if draw(st.booleans()) else [draw(ratios)] * len(used)
    model = model.on(used, c)
    corrupt = draw(st.sets(st.integers(0, network.n - 1), min_size=fewest, max_size=min(2, network.n - 2)))
    schedule, iterations = draw(schedules(network.restricted_to(used)).filter(lambda one: not one[0].late))
    return Situation(model, schedule, iterations, frozenset(corrupt), draw(st.integers(0, 99)))


@settings(max_examples=60, deadline=None)
@given(laid_out())
def test_prefixes_over_open_channels(situation):
    values = situation.expected("open")
    for method in ("closed form", "elimination"):
        agree(situation.audit(method=method), values)


@settings(max_examples=60, deadline=None)
@given(laid_out(fewest=1))
def test_prefixes_over_encrypted_channels(situation):
    holds(situation.audit(channels="encrypted"), situation.expected("encrypted"))


@settings(max_examples=40, deadline=None)
@given(laid_out(fewest=1))
def test_a_coalition_learns_what_it_would_on_the_network(situation):
    """Whatever the overlay and the penalties, once everybody has spoken; and never more before."""
    model = situation.model
    whole = oracle.view(replace(model, used=None, c=1), oracle.synchronous(model.network, 1), situation.corrupt)
    known = oracle.basis(whole)
    seen = oracle.basis(situation.view("open"))
    assert len(oracle.basis([*known, *seen])) == len(known)
    spoken = Situation(model, sv.Trace(list(range(model.network.n))), model.network.n, situation.corrupt)
    shares = oracle.explained(model, known, situation.corrupt)
    assert oracle.explained(model, spoken.view("open"), situation.corrupt) == shares
    network = situation.audit(c=1.0, overlay="all", iterations=None, schedule=None, theta=1.0)
    for method in ("closed form", "elimination"):
        report = situation.audit(method=method, iterations=None, schedule=sv.Asynchronous())
        agree(report, np.array([network.leakage, network.floor, network.excess]), EXACT)
    by_default = situation.audit(iterations=None, schedule=sv.Asynchronous())
    assert by_default.method == "closed form"
    np.testing.assert_array_equal(by_default.leakage, network.leakage)


# Whole transcripts over encrypted channels: an endless run against a long one, as in test_audit_oracle.


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("schedule", "iterations", "theta"),
    [
        (sv.Synchronous(), 25, {}),
        (sv.Asynchronous(), 40 * 5, {"theta": F(1)}),
        (sv.NodeBernoulli(0.5), 60, {"theta": F(1, 2)}),
        (sv.EdgeBernoulli(0.7), 25, {"theta": F(4, 5)}),
    ],
    ids=["synchronous", "asynchronous", "node Bernoulli", "losses"],
)
def test_whole_encrypted_transcripts(schedule, iterations, theta, seed):
    rng = np.random.default_rng(seed)
    long = random_situation(rng, int(rng.integers(4, 6)), schedule, iterations, **theta)
    used, c = matched(long.model)
    if seed % 2:
        c = [F(int(p), int(q)) for p, q in rng.integers(1, 6, size=(len(used), 2))]
    long = replace(long, model=long.model.on(used, c))
    report = long.audit(channels="encrypted", iterations=None)
    holds(report, long.expected("encrypted"))
    assert report.view.startswith("the whole transcript over a spanning tree")


def test_one_pad_of_an_edge_with_messages_is_overwritten_unread():
    """``theta = 1``, one node at a time: twice the noise on edges with messages, and no more on the others."""
    model = oracle.averaging(HOUSE, c=1, theta=1, v=3)
    model = model.on([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], [F(1, 3), 1, 2, F(3, 7), 5])
    long = Situation(model, sv.Asynchronous(), 200, frozenset({0}))
    report = long.audit(channels="encrypted", iterations=None)
    assert "overwritten unread" in report.method
    agree(report, long.expected("encrypted"))
    tapped, twice = (long.audit(mask=sv.GaussianMask(v), iterations=None) for v in (3.0, 6.0))
    assert np.nanmax(report.excess - twice.excess) > 0.01
    assert np.nanmax(tapped.excess - report.excess) > 0.01


# Larger networks


@pytest.mark.parametrize("seed", range(4))
def test_elimination_with_any_penalties_is_the_closed_form(seed):
    """Which does not know of them, once all have spoken and somebody is corrupt."""
    rng = np.random.default_rng(seed)
    n = 24
    network = sv.Network.random_geometric(n, seed=seed)
    problem = sv.Problem(network, sv.Quadratic.many(rng.uniform(0.5, 3, n), np.zeros((n, 1))))
    corrupt = set(rng.choice(n, 1 + seed % 3, replace=False).tolist())
    how = {"mask": sv.GaussianMask(10.0), "corrupt": corrupt, "hessians": "public", "seed": seed, "prior": 1.0}
    closed = audit(problem, **how)
    assert closed.method == "closed form"
    for overlay, m in (("all", network.m), ("tree", n - 1)):
        run = {"c": rng.uniform(0.2, 5, m), "schedule": sv.Asynchronous(), "theta": 0.8, "overlay": overlay}
        by_elimination = audit(problem, method="elimination", **how, **run)
        for name in ("leakage", "floor", "excess"):
            np.testing.assert_allclose(getattr(by_elimination, name), getattr(closed, name), rtol=0, atol=EXACT)


# Taps alone


@settings(max_examples=40, deadline=None)
@given(laid_out())
def test_taps_alone_learn_no_mean(situation):
    model = situation.model
    rows = oracle.view(model, oracle.asynchronous([*range(model.network.n)] * 2))
    total = oracle.combine(*((a, model.secret(i)) for i, a in enumerate(model.a)))
    assert len(oracle.basis([*rows, total])) == len(oracle.basis(rows)) + 1


def test_with_folded_pads_on_edges_with_messages_they_would():
    """The negative control: without ``e`` the sum is known."""
    model = oracle.averaging(HOUSE, c=1, theta=1, v=3)
    model = model.on(*matched(model))
    total = oracle.combine(*((a, model.secret(i)) for i, a in enumerate(model.a)))
    folded = {(i, j): oracle.combine((F(1, 2), pad), (F(1, 2), model.pads[j, i])) for (i, j), pad in model.pads.items()}
    for start, told in ((None, 0), (folded, 1)):
        rows = [r for _, _, r in oracle.transcript(model, oracle.synchronous(HOUSE, 1), start)]
        assert len(oracle.basis([*rows, total])) == len(oracle.basis(rows)) + 1 - told


def test_taps_alone_know_less_of_the_mean_the_smaller_the_penalties():
    """What they know of a shift of all ``x`` goes with the sum of ``c^2`` over edges with messages."""
    problem = sv.averaging(HOUSE, np.zeros(5))
    how = {"mask": sv.GaussianMask(1e4), "prior": 1.0}
    tree = audit(problem, overlay="tree", **how)
    c = HOUSE.spanning_tree().matched(np.full(5, 2.0))
    alike = audit(problem, c=float(np.sqrt((c**2).sum() / HOUSE.m)), **how)
    np.testing.assert_allclose(tree.leakage, alike.leakage, rtol=1e-9)
    less = audit(problem, overlay="tree", c=c / 10, **how)
    assert (less.leakage < tree.leakage).all()
    huge = audit(problem, overlay="tree", mask=sv.GaussianMask(1e12), prior=1.0)
    assert huge.leakage.max() < 1e-10  # far below 0.11, which the mean itself would tell


# Encrypted channels: a tree shows a corrupt leaf less


@pytest.mark.parametrize("schedule", [sv.Synchronous(), sv.Asynchronous()])
def test_a_corrupt_leaf_sees_less_of_a_tree_than_of_the_network(schedule):
    """In rounds it learns 0.02 nats of anybody, and 0.29 on the network."""
    network, leaf = sv.Network.random_geometric(10, seed=0), 1
    assert network.spanning_tree().network.degrees[leaf] == 1
    problem = sv.averaging(network, np.zeros(10))
    how = {"mask": sv.GaussianMask(10.0), "corrupt": {leaf}, "channels": "encrypted", "prior": 1.0, "seed": 0}
    how |= {"schedule": schedule, "theta": 1.0}
    on_tree, on_all = audit(problem, overlay="tree", **how), audit(problem, c=0.4, **how)
    assert on_tree.guarantee == on_all.guarantee == "exact"
    assert np.nansum(on_tree.excess) < 0.05 * np.nansum(on_all.excess)
    if schedule.synchronous:
        assert [np.nanmax(on_tree.excess), np.nanmax(on_all.excess)] == pytest.approx([0.0217, 0.2888], abs=1e-4)


# The same by other words


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("seen", [Transcript(7), Transcript(), Snapshot(4)])
def test_all_edges_by_name_are_all(seen, channels):
    problem = sv.averaging(HOUSE, np.zeros(5))
    how = {"mask": sv.GaussianMask(2.0), "corrupt": {1}, "seen": seen, "channels": channels, "seed": 1, "prior": 1.0}
    how |= {"schedule": sv.Asynchronous(), "theta": 0.7}
    one = audit(problem, c=0.6, **how)
    other = audit(problem, c=np.full(HOUSE.m, 0.6), overlay=HOUSE.edges, **how)
    agree(other, np.array([one.leakage, one.floor, one.excess]), EXACT)


@pytest.mark.parametrize("overlay", ["all", "tree"])
def test_maps_are_the_run(overlay, rng):
    """``LinearRun`` with an overlay and penalties, evaluated, is what ``iterate`` plays; a snapshot reads it."""
    problem = sv.averaging(HOUSE, rng.normal(size=5))
    on = settled_overlay(HOUSE, overlay)
    used = HOUSE if on is None else on.network
    c, z0 = rng.uniform(0.5, 2, used.m), rng.normal(size=2 * HOUSE.m)
    run = LinearRun(problem, sv.Synchronous(), theta=0.8, c=c, overlay=on)
    run.advance(6)
    value = np.concatenate([z0, problem.quadratic.q[:, 0], [1.0]])
    states = sv.iterate(problem, theta=0.8, c=c, overlay=overlay, z0=z0, arithmetic="plain")
    state = next(state for k, state in enumerate(states) if k == 6)
    kept = slice(None) if on is None else on.kept
    np.testing.assert_allclose(run.stacked_z() @ value, state.z[kept], rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.stacked_x() @ value, state.x, rtol=0, atol=1e-13)


def test_a_snapshot_over_an_overlay():
    """Eq. 8 by hand, from the maps: ``Q x + q`` and what honest neighbours pull, folded or not."""
    problem, corrupt, k = sv.averaging(HOUSE, np.zeros(5)), {1}, 3
    on = settled_overlay(HOUSE, "tree")
    c = HOUSE.spanning_tree().matched(np.full(5, 2.0))
    run = LinearRun(problem, sv.Synchronous(), theta=1.0, c=c, overlay=on)
    run.advance(k)
    report = audit(problem, sv.GaussianMask(4.0), corrupt=corrupt, overlay="tree", seen=Snapshot(k), prior=1.0)
    unit, spoken = (
        np.eye(run.rows + run.N + 1),
        {tuple(pair): h for h, pair in enumerate(on.network.half_edges.tolist())},
    )
    place = {tuple(pair): h for h, pair in enumerate(HOUSE.half_edges.tolist())}
    for i in {0, 2, 3, 4}:
        Y = 2 * run.fresh()[i] + unit[run.rows + i]
        for j in set(HOUSE.around(i).tolist()) - corrupt:
            u = (unit[place[i, j]] + unit[place[j, i]]) / 2
            Y = Y + oracle.A(i, j) * (run.stacked_z()[spoken[i, j]] if (i, j) in spoken else u)
        noise, signal = 4.0 * (Y[: run.rows] ** 2).sum(), 4.0 * Y[run.rows : -1] ** 2
        share = signal[i] / (signal.sum() + noise)
        np.testing.assert_allclose(report.leakage[i], -0.5 * np.log1p(-share), rtol=1e-9)
