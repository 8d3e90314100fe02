"""Audits by the user's own names: who listens, about whom, and what is told of them."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Coalition, Eavesdropper, Snapshot, Transcript, Worst, audit, calibrate, exposure
from sottovoce.privacy.answers.statement import statement
from sottovoce.privacy.research import edge_attack, kink_attack, snapshot_information, uniform_attack

MASK = sv.GaussianMask(100.0)
RUN = {"c": 0.4, "seed": 1}

# Ada and Bob and Eve know one another; Joe knows Eve, and Kim knows Joe.
EDGES = [("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Ada"), ("Eve", "Joe"), ("Joe", "Kim")]
NAMED = sv.Network.from_named_edges(EDGES)
PLAIN = NAMED.with_labels(None)
NUMBERS = sv.Network.from_named_edges([(10 - NAMED.index(a), 10 - NAMED.index(b)) for a, b in EDGES])  # 10, 9, .. 6
S = [3.0, 1.0, 4.0, 1.0, 5.0]


def called(network, *members):
    """The names that nodes of ``NAMED`` have in another network, which has them in the same order."""
    return [network.label(NAMED.index(name)) for name in members]


@pytest.mark.parametrize("network", [NAMED, NUMBERS, PLAIN], ids=["words", "numbers", "none"])
@pytest.mark.parametrize(
    ("who", "more"),
    [
        (["Eve"], {}),
        (["Joe", "Ada"], {"seen": Transcript(4)}),
        (["Joe"], {"channels": "encrypted", "schedule": sv.Trace([0, 3, 2, 1, 4, 3])}),
        (["Eve"], {"seen": Snapshot(3)}),
    ],
    ids=["transcript", "prefix", "encrypted", "snapshot"],
)
def test_who_listens_by_name(network, who, more):
    more = dict(more)
    if network is NUMBERS and "schedule" in more:
        more["schedule"] = sv.Trace(called(network, *(NAMED.label(i) for i in (0, 3, 2, 1, 4, 3))))
    report = audit(sv.averaging(network, S), MASK, corrupt=called(network, *who), **RUN, **more)
    numbers = [NAMED.index(name) for name in who]
    more["schedule"] = sv.Trace([0, 3, 2, 1, 4, 3]) if "schedule" in more else None
    expected = audit(sv.averaging(PLAIN, S), MASK, corrupt=numbers, **RUN, **more)
    for name in ("leakage", "floor", "excess", "posterior_std"):
        np.testing.assert_array_equal(getattr(report, name), getattr(expected, name))
    assert report.corrupt == set(called(network, *who))
    assert report.exposed == tuple(network.label(i) for i in expected.exposed)
    assert report.doomed == tuple(network.label(i) for i in expected.doomed)
    assert report.groups == [[network.label(i) for i in group] for group in expected.groups]


@pytest.mark.parametrize("network", [NAMED, NUMBERS], ids=["words", "numbers"])
def test_against_by_name(network):
    problem, both = sv.averaging(network, S), called(network, "Eve", "Kim")
    short = audit(problem, MASK, corrupt=both, **RUN)
    for against in (Coalition(both) | Eavesdropper(), short.adversary, Eavesdropper() | short.adversary):
        report = audit(problem, MASK, against=against, **RUN)
        np.testing.assert_array_equal(report.leakage, short.leakage)
    with pytest.raises(InvalidInput, match=r"take Coalition\(report\.corrupt\)"):
        _ = short.adversary | Coalition(called(network, "Ada"))
    assert short.exposed == tuple(called(network, "Joe"))
    assert short.groups == [called(network, "Ada", "Bob"), called(network, "Joe")]


def test_a_row_by_name():
    report = audit(sv.averaging(NAMED, S), MASK, corrupt={"Eve"}, nodes={"Ada"}, **RUN)
    row = report.loc("Ada")
    assert row["excess"] == report.excess[0] < row["leakage"] == report.leakage[0]
    assert (row["share"], row["narrower"]) == (report.share[0], report.narrower[0])
    assert (row["mu"], row["guess"], row["epsilon"]) == (report.mu[0], report.guess[0], report.epsilon()[0])
    np.testing.assert_array_equal(row["posterior_std"], report.posterior_std[0])
    assert "coalition" not in row
    assert "least" not in row
    assert np.isnan(report.loc("Bob")["leakage"])  # not asked about
    with pytest.raises(InvalidInput, match="'Max' is no node of this network; they are Ada, Bob, Eve, Joe, Kim"):
        report.loc("Max")


def test_the_worst_coalition_by_name():
    report = audit(sv.averaging(NAMED, S), MASK, against=Worst(1), **RUN)
    assert report.loc("Kim")["coalition"] == report.coalitions[4] == {"Joe"}
    assert report.exposed == ("Kim",)
    assert report.overall <= set(NAMED.labels)
    assert report.corrupt == set()
    bound = audit(sv.averaging(NUMBERS, S), MASK, against=Worst(1), **RUN)
    assert bound.loc(6)["coalition"] == {7}


def test_the_neighbourhood_bound_by_name(monkeypatch):
    monkeypatch.setattr("sottovoce.privacy.methods.worst_coalition.WORK", 1.0)
    report = audit(sv.averaging(NUMBERS, S), MASK, against=Worst(1), **RUN)
    assert report.guarantee == "upper bound"
    assert report.coalitions == (None, None, None, None, {7})
    assert "because all neighbours are corrupt: 6 (neighbours 7)" in report.summary()


@pytest.mark.parametrize("network", [NAMED, NUMBERS], ids=["words", "numbers"])
def test_a_report_says_the_same_by_name(network):
    eve, joe, kim = called(network, "Eve", "Joe", "Kim")
    report = audit(sv.averaging(network, S), MASK, corrupt={joe}, **RUN)
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["adversary"] == f"corrupt node {joe} and taps"
    assert (told["corrupt"], told["exposed"], told["groups"]) == ([3], [4], [[0, 1, 2], [4]])
    assert told["names"]["corrupt"] == [str(joe)]
    assert told["names"]["exposed"] == [str(kim)]
    assert told["names"]["groups"][1] == [str(kim)]
    assert told["names"]["coalitions"] is told["names"]["overall"] is None
    worst = audit(sv.averaging(network, S), MASK, against=Worst(1), **RUN).to_dict()
    assert worst["names"]["coalitions"][4] == [str(joe)]
    assert worst["coalitions"][4] == [3]
    assert f"corrupt party {joe}" in report.against()
    assert f"{kim} (neighbours {joe})" in report.summary()
    assert f"An edge {kim} - " in report.summary()
    page = statement(report, subject="a mean")
    assert f"{joe} (corrupt)" in [row[0] for section in page.sections if section.table for row in section.table.rows]
    assert audit(sv.averaging(PLAIN, S), MASK, corrupt={3}, **RUN).to_dict()["names"] is None
    assert str(eve) not in told["names"]["exposed"]


def test_a_picture_of_groups_by_name(tmp_path):
    for network in (NAMED, NUMBERS):
        audit(sv.averaging(network, S), MASK, corrupt=called(network, "Joe"), **RUN).plot(tmp_path / "audit.svg")
        assert (tmp_path / "audit.svg").stat().st_size > 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"corrupt": {"Max"}}, "corrupt: 'Max' is no node of this network; they are Ada, Bob, Eve, Joe, Kim"),
        ({"against": Coalition({"Max"})}, "corrupt: 'Max' is no node"),
        ({"corrupt": "Ada"}, r"corrupt|Coalition takes a set of nodes, \{'Ada'\}.*; got 'Ada'"),
        ({"corrupt": [["Ada"]]}, r"got \['Ada'\] in it"),
        ({"nodes": {"Max"}}, "nodes: 'Max' is no node"),
        ({"corrupt": {"Ada"}, "nodes": {"Ada", "Bob"}}, "node Ada is corrupt itself"),
        ({"prior": {"Ada": 1.0}}, "prior: nothing for Bob, Eve, Joe, Kim"),
    ],
)
def test_sentences_about_audits_have_names(more, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        audit(sv.averaging(NAMED, S), MASK, **RUN, **more)


def test_a_prior_by_name():
    prior = {"Kim": 5.0, "Ada": 1.0, "Bob": 2.0, "Joe": 4.0, "Eve": 3.0}
    found, expected = (
        audit(sv.averaging(NAMED, S), MASK, corrupt={"Eve"}, prior=given, **RUN) for given in (prior, [1, 2, 3, 4, 5])
    )
    np.testing.assert_array_equal(found.leakage, expected.leakage)


def test_a_singular_cost_by_name():
    Q = [1.0, 1.0, 0.0, 1.0, 1.0]
    problem = sv.Problem(NAMED, sv.Quadratic.many(np.array(Q), np.zeros((5, 1))))
    with pytest.raises(Unsupported, match="node Eve: its quadratic form is singular"):
        audit(problem, MASK, corrupt={"Ada"}, hessians="public", prior=1.0, **RUN)


# The graph alone


@pytest.mark.parametrize("network", [NAMED, NUMBERS], ids=["words", "numbers"])
def test_exposure_by_name(network):
    found, expected = exposure(network, Worst(1)), exposure(PLAIN, Worst(1))
    assert found.exposed == tuple(called(network, "Kim"))
    assert found.loc(called(network, "Kim")[0]) == {
        "isolated_by": 1, "group": 1, "coalition": frozenset(called(network, "Joe")),
    }  # fmt: skip
    assert found.articulation == tuple(called(network, "Eve", "Joe"))
    assert found.cut == {network.label(i) for i in expected.cut}
    assert {key: value for key, value in found.to_dict().items() if key != "labels"} == {
        key: value for key, value in expected.to_dict().items() if key != "labels"
    }


def test_suggested_edges_by_name():
    found = sv.privacy.suggest_edges(NUMBERS)
    assert len(found.edges) >= 1
    graph = nx.Graph(NUMBERS.named_edges)
    graph.add_edges_from(found.edges)
    assert nx.node_connectivity(graph) == found.after == found.before + 1
    assert nx.utils.edges_equal(found.network.named_edges, graph.edges)


@pytest.mark.parametrize("network", [NAMED, NUMBERS, sv.Network.from_networkx(nx.les_miserables_graph())])
def test_the_worst_coalition_of_a_mask_by_name(network):
    """It is by name what an audit takes."""
    names = network.labels[:5]
    ring = sv.Network.from_named_edges([(names[i], names[(i + 1) % 5]) for i in range(5)])
    problem = sv.averaging(ring, S)
    mask = calibrate(problem, delta=0.01, **RUN)
    assert mask.coalition <= set(names)
    assert mask.coalition
    assert np.nanmax(audit(problem, mask, corrupt=mask.coalition, **RUN).excess) == pytest.approx(mask.excess, rel=1e-9)


# For research


def test_attacks_by_name():
    problem, plain = sv.averaging(NUMBERS, S), sv.averaging(PLAIN, S)
    arguments = {"variance": 100.0, "seed": 1}
    found = uniform_attack(problem, corrupt={8}, node=10, **arguments)
    assert found.nats == uniform_attack(plain, corrupt={2}, node=0, **arguments).nats
    assert "about node 10 to a coalition [8]" in str(found)
    run = {"theta": 1.0, "c": 0.5, "variance": 1.0, "iterations": 3}
    by_name = snapshot_information(problem, sv.Synchronous(), node=10, honest=[9], **run)
    by_number = snapshot_information(plain, sv.Synchronous(), node=0, honest=[1], **run)
    np.testing.assert_array_equal(by_name.nats, by_number.nats)
    with pytest.raises(InvalidInput, match="6 is not a neighbour of node 10; those are 9, 8"):
        snapshot_information(problem, sv.Synchronous(), node=10, honest=[6], **run)


def test_attacks_from_own_edges_by_name():
    run = {"mask": MASK, "schedule": sv.Asynchronous(), "seed": 1, "c": 0.5}
    for attack, costs in (
        (edge_attack, [sv.Quadratic(1.0 + i, 1.0) for i in range(5)]),
        (kink_attack, [sv.AbsoluteDeviation(float(i)) for i in range(5)]),
    ):
        more = {"open": False} if "open" in attack.__kwdefaults__ else {}
        by_name = attack(sv.Problem(NUMBERS, costs), corrupt={8}, **run, **more)
        by_number = attack(sv.Problem(PLAIN, costs), corrupt={2}, **run, **more)
        for field in vars(by_number):
            np.testing.assert_array_equal(getattr(by_name, field), getattr(by_number, field))


def test_an_attack_names_whom_it_knows():
    uniform = audit(sv.averaging(NAMED, S), sv.UniformMask(100.0), corrupt={"Eve"}, **RUN)
    assert "nats about node Ada to a coalition [Eve]" in uniform.summary()
    uniform = audit(sv.averaging(NUMBERS, S), sv.UniformMask(100.0), corrupt={8}, **RUN)
    assert "nats about node 10 to a coalition [8]" in uniform.summary()
    shards = [(np.eye(2) + i, [0, 1]) for i in range(5)]
    report = audit(sv.logistic(NAMED, shards), MASK, corrupt={"Eve"}, **RUN)
    assert "gradient map of node" in report.summary()
    assert any(f"gradient map of node {name} is known" in report.summary() for name in NAMED.labels)
