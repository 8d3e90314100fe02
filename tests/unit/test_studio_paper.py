"""The page of the paper, without a browser: curves are those of the figures, and sentences follow the sliders."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

pytest.importorskip("nicegui")

import sottovoce as sv
from sottovoce import paper
from sottovoce.errors import InvalidInput
from sottovoce.paper.claims import FAILS, HOLDS, OPEN
from sottovoce.studio.making import first_scene, generated
from sottovoce.studio.paper_controls import PLAIN, PaperControls, experiment_of, from_query, pair_of
from sottovoce.studio.paper_figures import Exact, figure1_curves, figure2_curves, figure3_curves, figure3_lines
from sottovoce.studio.paper_panels import Picture
from sottovoce.studio.paper_words import TREE, figure_words
from sottovoce.studio.plots import Plot
from sottovoce.studio.scene import VARIANCES
from sottovoce.studio.session import Session

SCENE = first_scene()
SHORT = replace(PLAIN, iterations=40)


def found(**changes):
    return Exact().found(SHORT.changed(**changes), SCENE)


def verdict(of, start):
    (said,) = [said for said in figure_words(of) if said.claim.startswith(start)]
    return said


def test_figure_1_is_that_of_the_paper():
    figure = paper.figure1(iterations=40, draws=2).data
    for name in ("x_error", "var_z_psi", "var_z_perp"):
        curves = {curve.name: curve for curve in figure1_curves(found(), name)}
        assert list(curves) == ["θ = 1", "θ = 0.8", "θ = 0.5"]
        for theta in ("1.0", "0.8", "0.5"):
            drawn = curves[f"θ = {float(theta):g}"]
            assert drawn.x == figure["iterations"]
            # Double precision instead of long double, over eight decades.
            np.testing.assert_allclose(drawn.y, figure["curves"][theta][name]["exact"], rtol=1e-9)


def test_a_theta_of_ones_own_joins_those_of_the_paper():
    curves = {curve.name: curve for curve in figure1_curves(found(theta=0.3), "x_error")}
    assert list(curves) == ["θ = 1", "θ = 0.8", "θ = 0.5", "θ = 0.3"]
    own = paper.figure1(thetas=(0.3,), iterations=40, draws=2).data["curves"]["0.3"]["x_error"]["exact"]
    np.testing.assert_allclose(curves["θ = 0.3"].y, own, rtol=1e-9)
    assert curves["θ = 0.3"].width > curves["θ = 1"].width


def test_figure_2_is_that_of_the_paper():
    figure = paper.figure2(thetas=(0.8,), sigma2=1e4, iterations=40, draws=2).data["curves"]["0.8"]
    this, expected, synchronous, bound = (curve.y for curve in figure2_curves(found(figure=2, theta=0.8, sigma2=1e4)))
    assert this == figure["async"]["exact"]
    assert synchronous == figure["sync"]["exact"]
    assert (expected, bound) == (figure["expected"], figure["bound"])


def test_in_activations_a_synchronous_iteration_takes_as_many_steps_as_there_are_nodes():
    by_iteration, by_activation = (figure2_curves(found(figure=2, axis=axis)) for axis in ("iterations", "activations"))
    assert by_activation[0] == by_iteration[0]
    assert by_activation[2].x == [0, 10, 20, 30, 40]
    assert by_activation[2].y == by_iteration[2].y[:5]


def test_figure_3_is_that_of_the_paper():
    figure = paper.figure3(theta=0.8, node=2, honest_neighbour=0, iterations=40, draws=10).data["curves"]
    of = found(figure=3, theta=0.8, node=2, honest=0)
    nats = {curve.name: curve.y for curve in figure3_curves(of, "nats") if curve.legend}
    narrower = {curve.name: curve.y for curve in figure3_curves(of, "narrower")}
    for sigma2 in ("0.5", "1.0"):
        for which in ("async", "sync"):
            name = f"{which}, σ² = {float(sigma2):g}"
            assert nats[name] == figure[sigma2][which]["nats"]
            np.testing.assert_allclose(narrower[name], 100 * (1 - np.exp(-np.array(nats[name]))), rtol=1e-12)
    corrupt = [int(j) for j in of.experiment.problem.network.around(2) if j != 0]
    kept = sv.privacy.audit(of.experiment.problem, mask=sv.GaussianMask(0.5), corrupt=corrupt, prior=1.0, seed=1)
    assert figure3_lines(of)[0].y == kept.leakage[2]
    assert kept.leakage[2] > max(nats["sync, σ² = 0.5"])


def test_the_drawn_network_and_its_numbers():
    scene = generated("ring", 6, seed=1)
    experiment = experiment_of("drawn", 4, 0.2, scene)
    own = paper.Experiment(sv.averaging(sv.Network.ring(6), scene.numbers), c=0.2, seed=4)
    drawn = figure2_curves(Exact().found(SHORT.changed(figure=2, graph="drawn", seed=4, c=0.2), scene))[0].y
    assert drawn == paper.figure2(own, iterations=40, draws=2, thetas=(1.0,)).data["curves"]["1.0"]["async"]["exact"]
    assert experiment.problem.network.labels == list(scene.names)
    with pytest.raises(InvalidInput, match="at most 40 parties and 300 edges; the playground's has 41 and 41"):
        experiment_of("drawn", 1, 0.4, generated("ring", 41, seed=1))
    with pytest.raises(InvalidInput, match="the playground's has 30 and 435"):
        experiment_of("drawn", 1, 0.4, generated("complete", 30, seed=1))


def test_what_the_bound_is_worth_depends_on_theta():
    holds, fails = (verdict(found(figure=2, theta=theta), "the bound makes") for theta in (0.5, 1.0))
    assert holds.verdict == HOLDS
    assert "theta (1 + mu) = 0.55 is at most 1" in holds.text
    assert fails.verdict == FAILS
    assert "theta (1 + mu) = 1.1 is above 1: the bound falls to 0.51 of synchronous" in fails.text
    assert verdict(found(figure=2), "two synchronous").verdict == HOLDS
    assert verdict(found(figure=2, theta=0.8), "two synchronous").verdict == FAILS


def test_figure_1_says_how_far_it_came():
    short, long = (Exact().found(replace(PLAIN, iterations=k), SCENE) for k in (40, 500))
    assert verdict(short, "x converges").verdict == "undecided"
    assert verdict(long, "x converges").verdict == HOLDS
    assert verdict(long, "the rate decreases").verdict == FAILS
    assert "the other way round" in verdict(long, "the rate decreases").text
    assert verdict(long, "the variance of Z_perp remains").verdict == HOLDS


def test_on_a_tree_nothing_stays():
    star = generated("star", 6, seed=1)
    on_tree = SHORT.changed(graph="drawn")
    assert verdict(Exact().found(on_tree, star), "the variance of Z_perp remains").verdict == FAILS
    assert "is a tree" in figure_words(Exact().found(on_tree.changed(figure=2), star))[0].text


@pytest.mark.parametrize("figure", [1, 2, 3])
@pytest.mark.parametrize(
    ("graph", "scene"),
    [("paper", SCENE), ("drawn", generated("star", 6, seed=1)), ("drawn", generated("ring", 5, seed=1))],
)
def test_every_corner_of_the_controls_gets_sentences(figure, graph, scene):
    exact = Exact()
    masks = [{"sigma2": v} for v in VARIANCES] if figure < 3 else [{"less": 1e-2, "more": v} for v in (1e-2, 1e4)]
    for theta, c, k, mask in product((0.05, 1.0), (0.01, 10.0), (20, 100), masks):
        controls = replace(PLAIN, figure=figure, graph=graph, theta=theta, c=c, iterations=k, **mask)
        for said in figure_words(exact.found(controls, scene)):
            assert not re.search(r"\b(nan|inf)\b", said.text), controls


@pytest.mark.parametrize("changes", [{"c": 0.01}, {"c": 0.1, "theta": 0.8, "sigma2": 0.01}])
def test_a_run_too_short_to_tell_the_rate_says_so(changes):
    rate = verdict(found(iterations=20, **changes), "the rate decreases")
    assert rate.text == "they have passed no common error yet: give it more iterations"
    assert rate.verdict == OPEN


def test_the_paragraph_on_figure_1_is_true_in_every_state():
    slow, long = found(c=0.01), Exact().found(replace(PLAIN, iterations=500), SCENE)
    psi, error = (np.array(slow.values[1.0][name]) for name in ("var_z_psi", "x_error"))
    told = figure_words(slow)[0].text
    assert f"falls: {100 * psi[-1] / psi[0]:.3g} % of it is left so far" in told
    assert f"falls from at most {error.max():.2g} to {error[-1]:.2g}" in told
    assert "vanishes" not in told
    assert "vanishes: less than 1e-12 of it is left" in figure_words(long)[0].text
    early = found(c=0.01, iterations=20, theta=0.5)
    assert f"has not fallen so far: {early.values[0.5]['x_error'][-1]:.2g}." in figure_words(early)[0].text


def test_on_a_tree_no_noise_is_drawn_or_told_to_stay():
    star = generated("star", 6, seed=1)
    of = Exact().found(SHORT.changed(graph="drawn"), star)
    assert min(of.values[1.0]["var_z_perp"]) < 0, "rounding"
    assert all(set(curve.y) == {0.0} for curve in figure1_curves(of, "var_z_perp"))
    told = figure_words(of)[0].text
    assert told.endswith(TREE)
    assert "stays in the messages" not in told
    second = figure2_curves(Exact().found(SHORT.changed(graph="drawn", figure=2), star))
    assert all(set(curve.y) == {0.0} for curve in second)


def test_all_pairs_of_neighbours_are_told_of_in_words():
    start = "the same, for all pairs"
    of = found(figure=3)
    (measured,) = next(iter(of.values["pairs"].measured.values())).values()
    share = 100 * measured["share of pairs, at every k"]
    assert verdict(of, start).text.startswith(f"at every k for {share:.3g} % of the pairs; at the end, on average")
    ring = Exact().found(SHORT.changed(figure=3, graph="drawn"), generated("ring", 10, seed=1))
    assert verdict(ring, start).text.startswith(
        "at every k for no pair; at the end, on average over all pairs, they do"
    )


def test_a_legend_shows_dashes_and_axes_their_units():
    plot = Plot.__new__(Picture)
    plot.title, plot.x, plot.y, plot.log_x, plot.log_y = (
        "Noise",
        "iteration",
        "variance (squared units of the numbers)",
        False,
        False,
    )
    curves = tuple(figure3_curves(found(figure=3), "nats"))
    options = plot._options(curves, ())
    named = {entry["name"]: entry for entry in options["legend"]["data"]}
    assert list(named) == [curve.name for curve in curves if curve.legend]
    assert all(entry["itemStyle"] == {"opacity": 0} for entry in named.values())  # the dot on the line
    assert "itemStyle" not in plot._options((replace(curves[0], marks=True),), ())["legend"]["data"][0]
    assert options["yAxis"]["name"] == "variance\n(squared units of the numbers)"  # on one line it does not fit


def test_figure_3_tells_who_attacks_whom_and_that_transcripts_do_not_care():
    of = found(figure=3)
    told, *_ = figure_words(of)
    assert told.text.startswith("Of the neighbours of node 3 all but node 0 are corrupt (8 of 9)")
    end = 100 * (1 - np.exp(-of.values[0.5]["sync"].nats[-1]))
    assert f"and {end:.3g} % (" in told.text
    assert verdict(of, "asynchronous runs reveal less in all").verdict == FAILS
    assert f"{of.values[0.5]['transcript']:.3g} nats" in verdict(of, "asynchronous runs reveal less in all").text


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"theta": "1.2"}, "theta must be a number from 0.05 to 1"),
        ({"theta": "nan"}, "theta must be"),
        ({"theta": "x"}, "theta in the address must be a number"),
        ({"iterations": "100000"}, "the number of iterations"),
        ({"iterations": "1e2"}, "iterations in the address"),
        ({"sigma2": "inf"}, "the variance of the mask"),
        ({"graph": "mine"}, "the graph must be one of"),
        ({"node": "-1"}, "the number of the node party"),
        ({"figure": "4"}, "the figure"),
    ],
)
def test_addresses_are_checked(query, why):
    with pytest.raises(InvalidInput, match=why):
        from_query(query)


def test_an_address_gives_the_same_controls_again():
    controls = PaperControls(
        figure=3, theta=0.35, less=0.25, c=0.0316, iterations=130, node=4, honest=2, axis="activations"
    )
    assert from_query({**controls.query(), "s": "somebody's scene", "look": "dark"}) == controls
    assert PLAIN.query() == {}
    session = Session(SCENE, "/paper")
    session.extra = {"theta": "0.35"}
    assert session.address("/paper").endswith("&theta=0.35")
    assert "theta" not in session.address("/learns")


def test_on_another_graph_another_pair_is_attacked():
    network = found().experiment.problem.network
    assert pair_of(PLAIN, network) == (3, 0)
    chosen = PLAIN.changed(node=1, honest=5)
    assert (chosen.changed(theta=0.5).node, chosen.changed(seed=2).node) == (1, None)
    assert chosen.changed(node=2).honest is None
    with pytest.raises(InvalidInput, match="no neighbour"):
        pair_of(PLAIN.changed(node=1, honest=1), network)
    with pytest.raises(InvalidInput, match="node must be in"):
        pair_of(PLAIN.changed(node=12), network)
