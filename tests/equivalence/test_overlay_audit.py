"""What a run over an overlay gives away: the auditor against the oracle in fractions, and against the whole network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import rational as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import Situation, agree, holds, matched, models, ratios, schedules

import sottovoce as sv

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


@settings(max_examples=100, deadline=None)
@given(laid_out())
def test_prefixes_over_open_channels(situation):
    values = situation.expected("open")
    for method in ("closed form", "elimination"):
        agree(situation.audit(method=method), values)


@settings(max_examples=100, deadline=None)
@given(laid_out(fewest=1))
def test_prefixes_over_encrypted_channels(situation):
    holds(situation.audit(channels="encrypted"), situation.expected("encrypted"))


@settings(max_examples=60, deadline=None)
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
