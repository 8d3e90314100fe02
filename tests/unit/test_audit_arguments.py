"""What the auditor refuses, and in which words: what, which value, what to do instead."""

from __future__ import annotations

import json
import re
from importlib import import_module

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Coalition, Eavesdropper, Snapshot, Transcript, Worst, audit, calibrate
from sottovoce.privacy.research import CorrelatedPads

NETWORK = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)])
AVERAGING = sv.averaging(NETWORK, np.arange(5.0))
MASK = sv.GaussianMask(100.0)
RUN = {"c": 0.4, "seed": 0}


def refused(error, words, call, *arguments, **named):
    """The error itself and not one of its children; one paragraph that ends like a sentence and holds these words."""
    with pytest.raises(error, match=re.escape(words)) as caught:
        call(*arguments, **named)
    assert type(caught.value) is error
    assert re.fullmatch(r"[^\n]+\.", str(caught.value))


REFUSED = {
    # who
    "corrupt beyond the network": ({"corrupt": {0, 5}}, "corrupt: there is no node 5; nodes are 0 to 4"),
    "corrupt below": ({"corrupt": {-1}}, "corrupt: there is no node -1; nodes are 0 to 4"),
    "corrupt is a bool": ({"corrupt": [True]}, "such as {0, 3}; got True in it"),
    "corrupt is a mask": ({"corrupt": np.array([True, False])}, "such as {0, 3}; got np.True_ in it"),
    "corrupt is a string": ({"corrupt": "03"}, "such as {0, 3}; got '03'"),
    "corrupt is a number": ({"corrupt": 3}, "such as {0, 3}; got 3"),
    "corrupt is fractional": ({"corrupt": [1.0]}, "such as {0, 3}; got 1.0 in it"),
    "everybody is corrupt": ({"corrupt": range(5)}, "all 5 nodes are corrupt: nobody is left to protect"),
    "against is a word": ({"against": "eve"}, "against must be Eavesdropper(), Coalition(...), both with |, or Worst("),
    "against beyond the network": ({"against": Coalition({7})}, "corrupt: there is no node 7"),
    "against and corrupt": ({"against": Eavesdropper(), "corrupt": {0}}, "give one of corrupt and against"),
    "corrupt and max_corrupt": ({"corrupt": {0}, "against": Worst(1)}, "give one of corrupt and against"),
    "max_corrupt is everybody": ({"against": Worst(5)}, "max_corrupt must be an integer in 0 .. 4; got 5"),
    "max_corrupt is negative": ({"against": Worst(-1)}, "max_corrupt must be an integer in 0 .. 4; got -1"),
    "max_corrupt is a bool": ({"against": Worst(True)}, "max_corrupt must be an integer in 0 .. 4; got True"),
    "max_corrupt is fractional": ({"against": Worst(1.0)}, "max_corrupt must be an integer in 0 .. 4; got 1.0"),
    # what they hear
    "channels": ({"channels": "closed"}, "channels must be 'open' or 'encrypted'; got 'closed'"),
    "view": ({"seen": "glimpse"}, "seen must be sv.privacy.Transcript(...) or sv.privacy.Snapshot"),
    "a snapshot of when": ({"seen": Snapshot(None), "corrupt": {0}}, "a snapshot is of one iteration: give its number"),
    "a snapshot for nobody": ({"seen": Snapshot(3)}, "which needs a corrupt node"),
    "iterations are negative": ({"seen": Transcript(-1)}, "iterations must be an integer >= 0, or None; got -1"),
    "iterations are fractional": ({"seen": Transcript(2.0)}, "iterations must be an integer >= 0, or None; got 2.0"),
    "iterations are a bool": ({"seen": Transcript(True)}, "iterations must be an integer >= 0, or None; got True"),
    "iterations beyond a trace": (
        {"schedule": sv.Trace([0, 1]), "seen": Transcript(3)}, "the trace has 2 iterations; got iterations=3",
    ),
    "iterations beyond a trace of sets": (
        {"schedule": sv.Trace(node_sets=[[0]]), "seen": Transcript(2)}, "the trace has 1 iterations; got iterations=2",
    ),
    "a trace of another network": ({"schedule": sv.Trace([0, 9])}, "the trace names node 9, but there are 5"),
    "rates of another network": ({"schedule": sv.Asynchronous(rates=[1.0, 2.0])}, "rates must have one entry per node"),
    "schedule is a word": ({"schedule": "asynchronous"}, "schedule must be a schedule such as sv.Asynchronous()"),
    "method": ({"method": "magic"}, "method must be 'auto', 'closed form' or 'elimination'; got 'magic'"),
    # how the run goes
    "theta is 0": ({"theta": 0}, "theta must be in (0, 1]; got 0"),
    "theta is above 1": ({"theta": 1.3}, "theta must be in (0, 1]; got 1.3. Use theta=1 for PDMM, 0.5 for ADMM"),
    "c is 0": ({"c": 0.0}, "c must be a positive number or 'auto'; got 0.0"),
    "c is infinite": ({"c": np.inf}, "c must be a positive number or 'auto'; got inf"),
    "c is a word": ({"c": "tuned"}, "c must be a positive number, 'auto', or one number per edge; got 'tuned'"),
    "runs is 0": ({"seen": Transcript(runs=0)}, "runs must be"),
    "runs is fractional": ({"seen": Transcript(runs=1.5)}, "runs must be"),
    "runs of a random prefix": (
        {"seen": Transcript(9, runs=2), "schedule": sv.Asynchronous()},
        "runs=2 of a random schedule wake different nodes, so the first 9 iterations of one of them does not stand for",
    ),
    "hessians": ({"hessians": "known"}, "hessians must be 'private' or 'public'; got 'known'"),
    "pads": ({"seen": Transcript(pads="old")}, "pads must be 'fresh' or 'reused'; got 'old'"),
    "pads reused once": ({"seen": Transcript(pads="reused")}, "pads='reused' compares two runs; give runs=2 or more"),
    "pads of another network": ({"mask": CorrelatedPads(np.eye(3))}, "over the 12 half-edges of the network; got (3,"),
    # the prior
    "prior is too small": ({"prior": np.eye(4)}, "prior must have the shape a number, (5,), (5, 5); got (4, 4)"),
    "prior is too short": ({"prior": [1.0, 2.0]}, "prior must have the shape a number, (5,), (5, 5); got (2,)"),
    "prior is 0": ({"prior": 0.0}, "variances of the prior must be positive; got 0"),
    "prior is negative": ({"prior": [1, 1, -2, 1, 1]}, "variances of the prior must be positive; got -2"),
    "prior is NaN": ({"prior": [1, 1, np.nan, 1, 1]}, "prior must be finite"),
    "prior is infinite": ({"prior": np.inf}, "prior must be finite"),
    "prior is a word": ({"prior": "flat"}, "prior must be a variance, one per node, or a covariance; got 'flat'"),
    "prior is complex": ({"prior": 1j}, "prior must be a variance, one per node, or a covariance"),
    "prior is ragged": ({"prior": [[1], [1, 2]]}, "prior must be a variance, one per node, or a covariance"),
    "prior is not symmetric": ({"prior": np.eye(5) + np.tri(5) / 9}, "a prior covariance must be symmetric"),
    "prior is indefinite": ({"prior": np.eye(5) - 0.3}, "a prior covariance must be symmetric and positive definite"),
    "prior is singular": ({"prior": np.ones((5, 5))}, "a prior covariance must be symmetric and positive definite"),
    # about whom
    "nodes are corrupt": ({"nodes": [0, 1], "corrupt": {1}}, "node 1 is corrupt itself; ask about honest nodes"),
    "nodes beyond the network": ({"nodes": [0, 5]}, "nodes: there is no node 5; nodes are 0 to 4"),
    "nodes are nobody": ({"nodes": []}, "nodes must name some of the nodes; got none"),
    "nodes is a number": ({"nodes": 2}, "nodes takes a set of nodes, {'Ada'}, or of their numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_arguments(name):
    more, words = REFUSED[name]
    refused(InvalidInput, words, audit, AVERAGING, **(RUN | {"mask": MASK} | more))


UNSUPPORTED = {
    "a closed form of encrypted channels": (
        {"method": "closed form", "channels": "encrypted", "corrupt": {0}}, "the closed form is for open channels",
    ),
    "a closed form without taps": ({"method": "closed form", "against": Coalition({0})}, "that are tapped"),
    "a closed form of correlated pads": (
        {"method": "closed form", "mask": CorrelatedPads(np.eye(12) + 1)}, "and independent pads",
    ),
    "some nodes over encrypted channels": (
        {"nodes": [1], "channels": "encrypted", "corrupt": {0}, "seen": Transcript(1)}, "nodes= is for the closed form",
    ),
    "some nodes of a prefix": ({"nodes": [1], "schedule": sv.Trace([0, 1])}, "and the whole transcript"),
    "some nodes under a covariance": ({"nodes": [1], "prior": np.eye(5) + 1}, "need a prior of independent secrets"),
    "a snapshot without pads": (
        {"seen": Snapshot(1), "corrupt": {0}, "mask": None}, "for independent Gaussian pads",
    ),
    "a snapshot of modular pads": (
        {"seen": Snapshot(1), "corrupt": {0}, "mask": sv.ModularMask()}, "is for Gaussian pads; audit",
    ),
    "a snapshot of the worst case": (
        {"seen": Snapshot(1), "against": Worst(1)}, "name the corrupt nodes of a snapshot",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported(name):
    more, words = UNSUPPORTED[name]
    refused(Unsupported, words, audit, AVERAGING, **(RUN | {"mask": MASK} | more))


def test_problems_without_a_secret():
    flat = sv.Problem(NETWORK, sv.Quadratic.many(np.array([1.0, 2.0, 0.0, 1.0, 1.0]), np.zeros((5, 1))))
    refused(Unsupported, "node 2: its quadratic form is singular", audit, flat, mask=MASK, hessians="public")


def test_general_constraints_have_no_certificate():
    edges = [*NETWORK.edges.tolist(), *NETWORK.edges[:, ::-1].tolist()]
    network = NETWORK.with_constraints({(i, j): [[2.0 if i > j else -1.0]] for i, j in edges})
    problem = sv.Problem(network, sv.Quadratic.many(np.full(5, 2.0), np.zeros((5, 1))))
    report = audit(problem, mask=MASK, corrupt={0}, channels="encrypted")
    assert report.guarantee == "none"
    assert "general edge constraints" in report.summary()
    refused(Unsupported, "quadratic costs and consensus are needed", calibrate, problem, delta=0.1)


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("corrupt", [(), {0}])
@pytest.mark.parametrize("iterations", [0, 1])
@pytest.mark.parametrize("more", [{"prior": np.eye(10)}, {"prior": 1.0}, {"matrix": True}], ids=["prior", "plain", "Q"])
def test_prefixes_in_which_no_honest_node_has_woken(more, iterations, corrupt, channels):
    """With nobody corrupt nobody has woken; else the corrupt node alone. Nothing is learned, by any method."""
    more = dict(more)
    Q = np.repeat(np.array([[[2.0, 0.5], [0.5, 1.0]]]), 5, axis=0)
    problem = sv.Problem(NETWORK, sv.Quadratic.many(Q, np.zeros((5, 2))))
    if not more.pop("matrix", False):
        problem = sv.averaging(NETWORK, np.zeros((5, 2)))
    schedule = sv.Trace(node_sets=[list(corrupt)])
    for method in ("auto", "elimination"):
        arguments = {"mask": MASK, "corrupt": corrupt, "seen": Transcript(iterations), "schedule": schedule, "c": 0.4}
        report = audit(problem, channels=channels, method=method, **arguments, **more)
        assert np.nanmax(report.leakage) <= 4 * np.finfo(float).eps
        assert report.guarantee == "exact"
    snapshot = {"seen": Snapshot(0), "schedule": schedule, "mask": MASK, "c": 0.4}
    if corrupt:
        assert np.isfinite(audit(problem, corrupt=corrupt, **snapshot, **more).leakage[1:]).all()


def test_all_nodes_of_a_large_network():
    """More than are done densely: by the diagonal of an inverse, and each as when it is asked for alone."""
    problem = sv.averaging(sv.Network.grid(60, 60), np.zeros(3600))
    report = audit(problem, mask=MASK, corrupt={0})
    assert report.method == "closed form"
    assert np.isfinite(report.leakage[1:]).all()
    some = [1, 99, 1800]
    alone = audit(problem, mask=MASK, corrupt={0}, nodes=some)
    np.testing.assert_allclose(alone.excess[some], report.excess[some], rtol=1e-9)
    assert report.groups == [list(range(1, 3600))]


def test_huge_networks_need_nodes(monkeypatch):
    problem = sv.averaging(sv.Network.grid(60, 60), np.zeros(3600))
    refused(Unsupported, "3,600 nodes are too many for modular pads", audit, problem, mask=sv.ModularMask())
    asked = {"seen": Snapshot(1), "c": 0.4}
    refused(Unsupported, "3,600 nodes are too many for a snapshot", audit, problem, mask=MASK, **asked)
    asked = {"schedule": sv.Asynchronous(), "seen": Transcript(1), "c": 0.4, "seed": 0}
    told = "3600 nodes need a prior of independent secrets, isotropic costs and the whole transcript"
    refused(Unsupported, told, audit, problem, mask=MASK, **asked)
    from sottovoce.privacy.methods import closed_form, sparse_estimators

    monkeypatch.setattr(closed_form, "INVERSES", 1e6)
    monkeypatch.setattr(sparse_estimators, "SOLVES", 1e6)
    told = "at most 1e+06 are tried. Name up to 1,000 nodes that you ask about"
    refused(Unsupported, told, audit, problem, mask=MASK, c=0.4)
    assert np.isfinite(audit(problem, mask=MASK, corrupt={0}, nodes=[1, 99]).leakage[[1, 99]]).all()


def test_large_encrypted_networks_get_a_bound_and_say_so(monkeypatch):
    from sottovoce.privacy.methods import in_order

    arguments = {"mask": MASK, "corrupt": {0}, "channels": "encrypted", **RUN}
    exact = audit(AVERAGING, **arguments)
    assert exact.guarantee == "exact"
    monkeypatch.setattr(in_order, "UNKNOWNS", 10)  # which is of floats
    assert audit(AVERAGING, **arguments).method == exact.method
    monkeypatch.setattr(in_order, "OWN_EDGES", (100, 4))
    assert "17 secrets and pads of 5 parties are too many" in audit(AVERAGING, **arguments).method
    monkeypatch.setattr(in_order, "OWN_EDGES", (16, 100))
    bound = audit(AVERAGING, **arguments)
    assert bound.guarantee == "upper bound"
    told = "which show more (17 secrets and pads of 5 parties are too many to eliminate; at most 16 of 100 parties)"
    assert told in bound.method
    assert (bound.leakage[1:] >= exact.leakage[1:] - 1e-12).all()
    assert np.isnan(bound.posterior_std).all()
    assert "Upper bounds" in bound.summary()
    refused(
        Unsupported,
        "17 secrets and pads of 5 parties are too many",
        audit,
        AVERAGING,
        method="elimination",
        **arguments,
    )


@pytest.mark.parametrize("covariance", [np.ones(3), np.ones((2, 3)), [[np.nan]], np.full((2, 2), np.inf)])
def test_pads_that_are_no_matrix(covariance):
    refused(InvalidInput, "covariance must be a square matrix of finite numbers", CorrelatedPads, covariance)


@pytest.mark.parametrize("covariance", [np.diag([1.0, -1.0]), np.array([[1.0, 0.5], [0.0, 1.0]])])
def test_pads_that_are_no_covariance(covariance):
    refused(InvalidInput, "covariance must be symmetric and positive semidefinite", CorrelatedPads, covariance)


def test_pads_that_are_zero():
    refused(InvalidInput, "covariance is zero; leave the mask out", CorrelatedPads, np.zeros((2, 2)))


# Not refused yet: no sentence, or none at all


def test_a_mask_that_is_a_number():
    refused(InvalidInput, "mask", audit, AVERAGING, mask=1e6, **RUN)


def test_a_problem_that_is_a_network():
    refused(InvalidInput, "problem", audit, NETWORK, mask=MASK, **RUN)


@pytest.mark.parametrize("seed", [-1, "a", 1.5, True])
@pytest.mark.parametrize("schedule", [None, sv.Asynchronous()], ids=["synchronous", "asynchronous"])
def test_seeds(schedule, seed):
    refused(InvalidInput, "seed", audit, AVERAGING, mask=MASK, schedule=schedule, seen=Transcript(3), c=0.4, seed=seed)


def test_nodes_of_a_worst_case():
    refused(InvalidInput, "nodes", audit, AVERAGING, mask=MASK, against=Worst(1), nodes=[99], **RUN)


@pytest.mark.parametrize(
    "problem", [sv.averaging(NETWORK, [0.5, 1, 2, 3, 4]), sv.Problem(NETWORK, [sv.Quadratic(3.0, 1.0)] * 5)]
)
def test_modular_pads_for_what_they_cannot_hide(problem):
    with pytest.raises((InvalidInput, Unsupported)):
        audit(problem, mask=sv.ModularMask(), corrupt={0})


def test_channels_of_a_calibration():
    refused(InvalidInput, "channels must be 'open' or 'encrypted'", calibrate, AVERAGING, delta=0.1, channels="closed")


def test_integers_of_numpy_are_integers():
    """As elsewhere: ``corrupt``, ``nodes``, ``runs`` and ``max_corrupt`` take them."""
    report = audit(
        AVERAGING, mask=MASK, corrupt={np.int64(0)}, nodes=[np.int32(1)], seen=Transcript(runs=np.int64(2)), **RUN
    )
    assert np.isfinite(report.leakage[1])
    assert audit(AVERAGING, mask=MASK, against=Worst(np.int64(1)), **RUN).coalitions is not None


def test_iterations_of_numpy_are_integers():
    assert audit(AVERAGING, mask=MASK, seen=Transcript(np.int64(3)), **RUN).view == "the first 3 iterations"


# Calibration


@pytest.mark.parametrize("delta", [0, -1.0, np.nan, np.inf, "small", True, None])
def test_delta(delta):
    refused(InvalidInput, f"delta must be a positive number of nats; got {delta!r}", calibrate, AVERAGING, delta=delta)


def test_calibration_where_no_mask_helps(rng):
    words = "no mask can do it: node 0 has 2 neighbour(s), and if all of them are among the 2 corrupt nodes"
    refused(Unsupported, words, calibrate, AVERAGING, delta=0.1, against=Worst(2))
    named = sv.Network.star(4).with_labels(["hub", "north", "east", "west"])
    words = "node north has 1 neighbour(s)"
    refused(Unsupported, words, calibrate, sv.averaging(named, np.zeros(4)), delta=0.1)
    unequal = sv.Problem(NETWORK, sv.Quadratic.many(np.arange(1.0, 6.0), np.zeros((5, 1))))
    refused(Unsupported, "no mask hides Hessians, and these differ from node to node", calibrate, unequal, delta=0.1)
    regression = sv.least_squares(NETWORK, shards(rng, 5, 4, 2), ridge=1.0)
    refused(Unsupported, "no mask makes a regression private", calibrate, regression, delta=0.1)
    huber = sv.Problem(NETWORK, [sv.Huber(1.0, 1.0)] * 5)
    refused(Unsupported, "no certificate exists", calibrate, huber, delta=0.1)


def test_calibration_that_is_too_much_work(monkeypatch):
    monkeypatch.setattr(import_module("sottovoce.privacy.methods.worst_coalition"), "WORK", 1.0)
    words = (
        "6 coalitions are too many to try, and a bound for all of them needs independent secrets and isotropic costs"
    )
    refused(Unsupported, words, calibrate, AVERAGING, delta=0.1, prior=np.eye(5) + 0.5, **RUN)


def test_calibration_for_nobody():
    words = "nobody listens: over encrypted channels with max_corrupt=0"
    refused(InvalidInput, words, calibrate, AVERAGING, delta=0.1, against=Worst(0), channels="encrypted")
    refused(
        InvalidInput,
        "max_corrupt must be an integer in 0 .. 4; got 5",
        calibrate,
        AVERAGING,
        delta=0.1,
        against=Worst(5),
    )


# What a report says


@pytest.mark.parametrize(
    "more",
    [{}, {"corrupt": {0}}, {"corrupt": {0, 2, 4}}, {"against": Worst(2)}, {"mask": None}, {"seen": Transcript(0)}],
    ids=str,
)
def test_a_report_is_json(more):
    report = audit(AVERAGING, **(RUN | {"mask": MASK} | more))
    again = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert again["sentences"] == report.sentences()
    assert again["exposed"] == list(report.exposed)
    assert [value is None for value in again["leakage"]] == np.isnan(report.leakage).tolist()
    assert [value == "inf" for value in again["leakage"]] == np.isinf(report.leakage).tolist()


def test_who_is_disclosed_and_who_will_be_are_both_named():
    problem = sv.averaging(sv.Network.star(4), np.zeros(4))
    report = audit(problem, mask=MASK, corrupt={0}, schedule=sv.Trace([1]), c=0.4)
    assert (report.exposed, report.doomed) == ((1,), (2, 3))
    assert "because all neighbours are corrupt: 1 (neighbours 0)" in report.summary()
    assert "2, 3" in report.summary()
