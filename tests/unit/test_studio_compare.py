"""The page of comparisons, without a browser: one method after the other gives what ``sv.compare`` gives."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import pytest

pytest.importorskip("nicegui")

import sottovoce as sv
from sottovoce.baselines.every import every_method
from sottovoce.errors import InvalidInput
from sottovoce.studio.comparing import (
    METHODS,
    SLOW,
    Asked,
    against,
    compared,
    first_asked,
    floor_words,
    from_query,
    prior_of,
    table_csv,
    table_rows,
    taken,
    terms,
    together,
    verdict,
)
from sottovoce.studio.comparison_plot import ComparisonPlot, looks_of
from sottovoce.studio.making import generated

SCENE = replace(generated("ring", 6, seed=1), corrupt=frozenset({2}), prior=4.0)
FEW = ("subspace perturbation", "local noise, Gaussian", "tree sum", "ADMM")


@pytest.fixture(scope="module")
def found():
    asked = Asked(FEW, draws=3)
    return together([compared(SCENE, method, asked) for method in FEW])


def test_one_after_the_other_is_all_at_once(found):
    at_once = sv.compare(
        SCENE.network, methods=list(FEW), corrupt=[SCENE.names[2]], prior=4.0, draws=3, sizes=(), seed=SCENE.seed,
        progress=False,
    )  # fmt: skip
    assert found.to_dict() == at_once.to_dict()


def test_the_table_says_what_the_rows_do(found):
    rows = {row[0][0]: row for row in table_rows(found)}
    assert list(rows) == list(FEW)
    noise = found.row("local noise, Gaussian")
    assert rows["tree sum"][1] == "exact"
    assert rows["local noise, Gaussian"][1] == f"{noise.error:.3g} ± {noise.stderr:.1g}"
    assert rows["ADMM"][2][0] == "disclosed !"
    assert rows["ADMM"][3][0] == "all of it"
    assert rows["tree sum"][3][0] == f"{100 * (1 - math.exp(-found.nats)):.3g} %"
    assert rows["tree sum"][4] == "10"
    saved = list(csv.DictReader(io.StringIO(table_csv(found).decode())))
    assert [float(row["error"]) for row in saved] == [row.error for row in found.rows]
    assert float(saved[3]["narrower"]) == 1.0


def test_the_sentence_says_who_wins_and_where_this_method_loses(found):
    said = " ".join(verdict(found))
    own, tree = found.row("subspace perturbation"), found.row("tree sum")
    assert "Exact, and at most 0.167 nats" in said
    assert f"The fewest messages among them has tree sum, 10 in {tree.rounds:.0f} rounds" in said
    assert f"loses on messages: {own.messages:.0f}, {own.messages / tree.messages:.3g} times those of tree sum" in said
    times = found.row("local noise, Gaussian").error / found.useless
    assert f"{times:.2g} times" in said
    error = found.row("local noise, Gaussian").error
    assert f"has a mean squared error of {error:.3g}, so is typically off by {math.sqrt(error):.3g}" in said
    assert "better than no answer" in said
    assert times < 1
    assert "disclosed by ADMM." in said


def test_the_sentence_follows_the_numbers(found):
    worst = found.row("local noise, Gaussian")
    better = replace(worst, error=found.useless / 2)
    assert "0.5 times" in " ".join(verdict(replace(found, rows=(better,))))
    assert verdict(replace(found, rows=(better,)))[0].startswith("None of these is exact")
    alone = replace(found, rows=(found.row("subspace perturbation"),))
    assert "loses" not in " ".join(verdict(alone))
    missed = replace(found.row("subspace perturbation"), reached=False, nats=math.inf)
    assert "does not get there" in " ".join(verdict(replace(found, rows=(missed,))))


def test_whoever_gives_less_away_is_told_with_a_number_each(found):
    own = found.row("subspace perturbation")
    less, least = (
        replace(found.row("tree sum"), method=name, nats=own.nats / by) for name, by in (("one", 1.25), ("other, b", 2))
    )
    said = " ".join(verdict(replace(found, rows=(own, less, least), floor=own.nats / 1.5)))
    assert (
        f"Less is given away by one ({less.nats:.3g}) and other (b) ({least.nats:.3g}), against {own.nats:.3g} nats; a "
        f"larger mask would bring subspace perturbation down to {own.nats / 1.5:.3g}." in said
    )
    there = " ".join(verdict(replace(found, rows=(own, less), floor=own.nats)))
    assert "Less is given away by one" in there
    assert "larger mask" not in there
    disclosed = replace(own, nats=math.inf, reached=False)
    assert f"given away by one ({less.nats:.3g})." in " ".join(verdict(replace(found, rows=(disclosed, less))))


def test_where_the_honest_graph_is_cut_it_is_said(found):
    assert floor_words(found) == f"floor {found.floor:.3g}: what the exact mean itself tells"
    assert "is broken where the honest graph is cut: sums" in verdict(found)[0]
    cut = compared(replace(SCENE, corrupt=frozenset({0, 3})), "tree sum", Asked(("tree sum",), draws=2))
    here = "the honest graph is cut, which it is here: the sums of its parts are learned"
    assert f"it is broken where {here}." in verdict(cut)[0]
    assert table_rows(cut)[0][-1] == here
    alone = -0.5 * math.log(1 - 1 / 4)  # four honest parties, in two pairs
    assert floor_words(cut) == f"floor 0.347: what these messages tell at any mask (the mean alone: {alone:.3g})"
    picture = ComparisonPlot.__new__(ComparisonPlot)
    picture.comparison, picture.looks = cut, looks_of(list(METHODS))
    picture.title, picture.x, picture.y = "Error", "leakage", "error"
    assert f"'{floor_words(cut)}'" in str(picture._options((), ()))


def test_nobody_marked_means_somebody_and_who_is_said(found):
    nobody = replace(SCENE, corrupt=frozenset(), prior=2423.0)
    by_default = compared(nobody, "tree sum", Asked(("tree sum",), draws=2))
    assert by_default.settings["corrupt"] == ["Ada"]
    assert taken(nobody) == "Nobody is marked: Ada is taken to be corrupt"
    assert terms(nobody) == (
        "6 parties, 6 edges. Nobody is marked: Ada is taken to be corrupt. They expect numbers of size 49.2, around 0."
    )
    assert against(nobody, by_default).startswith("Nobody is marked: Ada is taken to be corrupt, with taps")
    assert taken(SCENE) == ""
    assert terms(SCENE) == "6 parties, 6 edges; corrupt: Cy. They expect numbers of size 2, around 0."
    assert against(SCENE, found) == "Corrupt, with taps, and keeping every message: Cy."


def test_every_method_is_offered_and_looks_like_no_other():
    assert sorted(METHODS) == sorted(method.label for method in every_method())
    assert set(SLOW) < set(METHODS)
    looks = looks_of(list(METHODS))
    assert len(set(looks.values())) == len(METHODS)
    assert first_asked(SCENE).methods == METHODS
    assert set(METHODS) - set(first_asked(generated("ring", 31, seed=1)).methods) == set(SLOW)


def test_too_many_parties_get_a_sentence():
    with pytest.raises(InvalidInput, match="at most 60 parties; the playground has 61"):
        compared(generated("ring", 61, seed=1), "tree sum", Asked(("tree sum",)))


def test_the_prior_is_that_of_an_audit():
    open_prior = replace(SCENE, prior=None)
    report = sv.privacy.audit(open_prior.problem, mask=sv.GaussianMask(1e6), corrupt=[SCENE.names[2]], seed=1)
    assert prior_of(SCENE) == 4.0
    assert f"of variance {prior_of(open_prior):.4g}, taken from the data" in report.prior


def test_addresses_are_checked_and_come_back():
    asked = Asked(("subspace perturbation, tree", "Shamir"), draws=20, nats=0.05)
    assert from_query({**asked.query(SCENE), "s": "a scene"}, SCENE) == asked
    assert first_asked(SCENE).query(SCENE) == {}
    assert from_query({}, SCENE) == first_asked(SCENE)
    for wrong, why in (
        ({"methods": "shamir.rot13"}, "no method is called 'rot13'"),
        ({"draws": "1"}, "the number of draws must be a whole number from 2 to 100"),
        ({"draws": "many"}, "must be numbers"),
        ({"nats": "nan"}, "the leakage to compare at"),
        ({"nats": "-1"}, "the leakage to compare at"),
    ):
        with pytest.raises(InvalidInput, match=why):
            from_query(wrong, SCENE)
    with pytest.raises(InvalidInput, match="not known here"):
        Asked(("rot13",))
