"""What an answer gives away: which sums were shown, of which groups, what steps on the way add, and small counts."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.statistics import Disclosure, Fit, Statistic
from sottovoce.statistics.agreements import Shown, SimulatedAgreements
from sottovoce.statistics.algorithmic_excess import determined_rows, step_numbers
from sottovoce.statistics.statistic import smallest_group

COMMON: dict[str, Any] = {"status": sv.Status.CONVERGED, "parties": 5}
PATH = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)])


def newton(k=3, steps=6, nobs=400, terms=("Intercept", "age", "bmi"), **more):
    """A model as it is fitted: rows, a step after the other, the last one the answer."""
    shown = [Shown("the number of rows", 1, (int(nobs),))]
    for step in range(steps):
        last = step == steps - 1
        shown += [Shown("objective, score and information", step_numbers(k), None, iterate=not last)]
    values = {"terms": tuple(terms), "params": np.zeros(k), "covariance": np.eye(k), "nobs": nobs, "aliased": ()}
    return Fit(**COMMON, shown=tuple(shown), **values, **more)


# Every statistic


def test_what_the_statistics_show():
    rows = [np.arange(4.0).reshape(2, 2) + i for i in range(5)]
    told = {
        "mean": sv.private_mean(PATH, rows),
        "covariance": sv.private_covariance(PATH, rows),
        "fit": sv.private_linear(PATH, [(np.array([[i], [i * i]]) / 25, [0.1, i / 5]) for i in range(1, 6)]),
        "histogram": sv.private_histogram(PATH, [[1.0, 2.0], [], [3.0], [9.0], [-1.0]], bins=[0, 2, 5]),
    }
    found = {
        name: [(each.of, each.numbers, len(each.counts or ())) for each in result.disclosure.shown]
        for name, result in told.items()
    }
    assert found["mean"] == [("rows and values", 3, 1)]
    assert found["covariance"] == [("rows, values and products, pair by pair", 6, 1)]
    assert [(numbers, counts) for _, numbers, counts in found["fit"]] == [(6, 1)]
    assert found["histogram"] == [("rows in each bin", 4, 4)]
    assert told["histogram"].disclosure.small_cells == {"rows in each bin": (1, 1, 2, 1)}
    assert told["mean"].disclosure.small_cells == {}
    for result in told.values():
        assert (result.disclosure.parties, result.disclosure.group) == (5, 1)
        assert (result.disclosure.iterates, result.disclosure.excess) == (0, 0)
    # 2 sums and 3 products, of rows with a covariate
    assert (told["fit"].disclosure.determined_rows, told["fit"].disclosure.parameters) == (5, 2)
    assert told["fit"].disclosure.enough_rows is False
    assert told["mean"].disclosure.enough_rows is None


# Groups


@pytest.mark.parametrize(
    ("network", "group"),
    [
        (PATH, 1),
        (sv.Network.ring(6), 5),
        (sv.Network.complete(4), 3),
        (sv.Network.star(5), 1),
        (sv.Network.from_edges(2, [(0, 1)]), 1),
        (sv.Network.ring(30), 29),  # more than the 8 that an exposure looks for by itself
        # two cliques of 10 and 12 that share node 0: it leaves 9 and 11
        (
            sv.Network.from_edges(
                21,
                [(i, j) for i in range(10) for j in range(i)]
                + [(i, j) for i in [0, *range(10, 21)] for j in [0, *range(10, i)] if j < i],
            ),
            9,
        ),
    ],
    ids=["path", "ring", "complete", "star", "two", "large ring", "cliques"],
)
def test_the_smallest_group_that_one_corrupt_party_leaves(network, group):
    assert smallest_group(network) == group
    left = [[i for i in range(network.n) if i != gone] for gone in range(network.n)]  # by hand: components of the rest
    sizes = []
    for rest in left:
        linked = {i: {j for e in network.edges.tolist() if i in e for j in e if j in rest} | {i} for i in rest}
        while rest:
            part = {rest[0]}
            while (wider := set().union(*(linked[i] for i in part))) != part:
                part = wider
            sizes.append(len(part))
            rest = [i for i in rest if i not in part]
    assert min(sizes) == group


def test_a_party_knows_no_network_unless_it_is_told():
    fit = newton()
    assert fit.disclosure.group is None
    assert "which is not known here" in fit.disclosure.summary()
    assert fit.disclosed(network=sv.Network.ring(5)).group == 4
    assert "leaves no group below 4 of 5 parties" in fit.disclosed(network=sv.Network.ring(5)).summary()
    assert "a single party alone" in fit.disclosed(network=PATH).summary()


# Steps on the way


@pytest.mark.parametrize(
    ("k", "steps", "terms"), [(3, 6, ("Intercept", "a", "b")), (5, 7, ("a", "b", "c", "d", "Intercept"))]
)
def test_the_steps_of_a_model_are_counted(k, steps, terms):
    found = newton(k, steps, 10_000, terms).disclosure
    assert found.iterates == found.excess == (steps - 1) * step_numbers(k)
    assert found.determined_rows == determined_rows(k, steps, k - 1)
    assert (found.parameters, found.rows, found.enough_rows) == (k, 10_000, True)


def test_rows_have_no_more_to_tell_than_their_numbers():
    found = newton(nobs=20).disclosure
    assert (found.iterates, found.excess) == (50, 40)
    assert found.enough_rows is False
    assert newton(nobs=30).disclosure.enough_rows is True
    assert newton(nobs=29).disclosure.enough_rows is False


def test_powers_and_levels_are_no_further_numbers_of_a_row():
    same = newton(terms=("Intercept", "age", "I(age^2)")).disclosure
    assert same.determined_rows == 60
    levels = newton(terms=("Intercept", "sex[T.m]", "ward[T.b]")).disclosure
    assert levels.determined_rows is None
    assert levels.excess == levels.iterates == 50


def test_a_search_in_counts_has_iterates_too():
    agreements = SimulatedAgreements(sv.Network.ring(3))  # as a program has them
    agreements.sum([[4], [0], [9]], of="the number of rows", counts=True)
    for step in range(3):
        counts = [[rows, step] for rows in (4, 0, 9)]
        agreements.sum(counts, of="rows below cut points", counts=True, iterate=step < 2)
    found = sv.statistics.PooledMean(*agreements.made).disclosure
    assert (found.iterates, found.excess) == (4, 4)
    assert [each.iterate for each in found.shown] == [False, True, True, False]
    assert found.small_cells == {"rows below cut points": (3,)}  # 3 times 1, at the second step; 6 at the third


# Small cells


def test_small_counts():
    fit = newton(nobs=4)
    assert fit.small_cells() == fit.disclosure.small_cells == {"the number of rows": (4,)}
    assert fit.small_cells(4) == {}
    counted = Statistic(
        **COMMON, shown=(Shown("cells", 5, (0, 1, 10, 11, 4)), Shown("cells", 1, (2,)), Shown("values", 2))
    )
    assert counted.small_cells() == {"cells": (1, 4, 2)}
    assert counted.small_cells(11) == {"cells": (1, 10, 4, 2)}
    assert counted.disclosed(min_cell=3).small_cells == {"cells": (1, 2)}
    assert "Counts below 3 (cells: 1, 2): a secure sum shows" in counted.disclosed(min_cell=3).summary()
    many = Statistic(**COMMON, shown=(Shown("cells", 60, (1, 4, 0) * 20),))
    assert len(many.small_cells()["cells"]) == 40
    assert "Counts below 5 (cells: 40 of them, from 1 to 4): a secure sum" in many.disclosure.summary()
    for wrong in (0, -1, 2.5, "5", True):
        with pytest.raises(InvalidInput, match="min_cell must be an integer >= 1"):
            counted.small_cells(wrong)


def test_counts_beside_other_numbers():
    agreements = SimulatedAgreements(sv.Network.ring(3))
    agreements.sum([[4, 10, -7], [0, 0, 0], [9, 2, 2]], of="rows and scores", counts=1)
    assert agreements.shown == [Shown("rows and scores", 3, (13,))]
    found = Statistic(*agreements.made).disclosure
    assert (found.reals, found.counts) == (2, 1)
    assert found.summary().startswith("1 agreement showed 2 real numbers and 1 exact count.")


def test_models_and_searches_say_what_was_on_the_way():
    """Of a logistic regression Newton's steps; of a median, counts in ever shorter intervals."""
    rng = np.random.default_rng(0)
    schema = {"age": {"type": "number", "range": (0, 128)}, "dead": "boolean"}
    tables = [{"age": rng.uniform(20, 90, n), "dead": rng.random(n) < 0.4} for n in (40, 25, 60)]
    study = sv.Study(sv.Network.ring(3), tables, schema=schema)
    fit = study.glm("dead ~ age", family="binomial")
    steps = [each for each in fit.shown if each.of.startswith("objective, score and information")]
    assert {each.numbers for each in steps} == {8}  # with the deviance and the squares of residuals
    assert [each.iterate for each in steps] == [True] * (len(steps) - 1) + [False]
    assert fit.disclosure.iterates == 8 * (len(steps) - 1)
    assert fit.disclosure.determined_rows >= determined_rows(2, len(steps), 1)
    assert (fit.disclosure.parameters, fit.disclosure.rows, fit.disclosure.group) == (2, 125, 2)
    assert fit.disclosure.small_cells == {}
    assert fit.plot().axes[0].get_xlabel() == "odds ratio and 95 % interval"
    median = study.median("age", resolution=1.0)
    on_the_way = [each.iterate for each in median.shown if each.of.startswith("rows in intervals")]
    assert len(on_the_way) > 1
    assert on_the_way == [True] * (len(on_the_way) - 1) + [False]


# Words and JSON


def test_the_paragraph():
    told = newton(nobs=400).disclosed(network=sv.Network.ring(5)).summary()
    assert told == (
        "7 agreements showed 60 real numbers and 1 exact count. "
        "Each is a sum over every group of honest parties; one corrupt party leaves no group below 4 of 5 "
        "parties. 50 numbers of them are of steps on the way to the answer, which tell up to 50 numbers of the rows "
        "beyond it (algorithmic excess). The covariates of a group of up to 30 rows may follow from them; there are "
        "too few numbers to determine those of a larger one. 400 rows for 3 parameters are 10 or more of each."
    )
    few = newton(nobs=7).disclosure.summary()
    assert "7 rows for 3 parameters are fewer than 10 of each." in few


def test_a_ledger_is_attached_by_whoever_keeps_it():
    found = newton().disclosure
    assert found.ledger is None
    kept = dataclasses.replace(found, ledger="no earlier answer isolates fewer than 5 rows")
    assert kept.summary().endswith("The ledger: no earlier answer isolates fewer than 5 rows.")
    assert kept.to_dict()["ledger"] == "no earlier answer isolates fewer than 5 rows"
    agreements = SimulatedAgreements(sv.Network.ring(3))
    agreements.ledger = "ann: kept"
    agreements.sum([[4], [0], [9]], of="the number of rows", counts=True)
    assert Statistic(*agreements.made).disclosure.ledger == "ann: kept"


def test_json_and_notebooks():
    found = newton(nobs=np.int64(4)).disclosure
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(told) == {field.name for field in dataclasses.fields(Disclosure)} | {"enough_rows", "words"}
    assert told["shown"][:2] == [
        {"of": "the number of rows", "numbers": 1, "counts": 1, "iterate": False},
        {"of": "objective, score and information", "numbers": 10, "counts": 0, "iterate": True},
    ]
    assert told["small_cells"] == {"the number of rows": [4]}
    assert told["words"] == found.summary()
    page = dataclasses.replace(found, ledger="<b>")._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<tr>") == 1 + 7


def test_what_is_read_from_a_file_says_so():
    empty = Statistic(**COMMON).disclosure
    assert empty.summary().startswith("What was shown is not known here")
    assert empty.to_dict()["shown"] == []
    assert newton().disclosed().shown == newton().shown
