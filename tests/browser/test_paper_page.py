"""The paper, in a browser: curves and sentences are the library's, and follow the sliders."""

from __future__ import annotations

import csv

import numpy as np

from browser.acts import nudge, party
from sottovoce import paper
from sottovoce.studio.link import to_link
from sottovoce.studio.making import generated


def wait_for(page, testid: str, text: str) -> None:
    page.wait_for_function(
        "([id, text]) => document.querySelector(`[data-testid=${id}]`).innerText.includes(text)", arg=[testid, text]
    )


def saved(page, title: str) -> dict[str, list[float]]:
    """The curves of a picture, as its button saves them."""
    with page.expect_download() as download:
        page.get_by_role("button", name=f"{title} as CSV").click()
    found: dict[str, list[float]] = {}
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        for name, _, value in list(csv.reader(file))[1:]:
            found.setdefault(name, []).append(float(value))
    return found


def test_a_slider_moves_and_the_curves_are_those_of_the_figure(page, studio):
    page.goto(f"{studio}/paper?iterations=60")
    wait_for(page, "words", "60 times in all")
    nudge(page, "theta", "ArrowLeft", 2)
    wait_for(page, "theta", "theta = 0.9")
    wait_for(page, "claims", "at theta = 0.9")
    page.wait_for_url("**theta=0.9**")
    figure = paper.figure1(thetas=(0.9, 0.5), iterations=60, draws=2).data["curves"]
    curves = saved(page, "Noise that stays")
    assert list(curves) == ["θ = 1", "θ = 0.9", "θ = 0.8", "θ = 0.5"]
    for theta in ("0.9", "0.5"):
        np.testing.assert_allclose(curves[f"θ = {theta}"], figure[theta]["var_z_perp"]["exact"], rtol=1e-9)


def test_the_sentence_on_the_bound_turns_with_theta_and_the_link_restores_it(page, studio):
    page.goto(f"{studio}/paper?figure=2")
    wait_for(page, "claims", "theta (1 + mu) = 1.1 is above 1")
    page.get_by_role("button", name="theta = 0.5").click()
    wait_for(page, "claims", "theta (1 + mu) = 0.55 is at most 1")
    page.get_by_role("button", name="activations").click()
    page.wait_for_url("**axis=activations**")
    curves = saved(page, "Noise that stays")
    figure = paper.figure2(thetas=(0.5,), iterations=200, draws=2).data["curves"]["0.5"]
    assert curves["bound on that mean"] == figure["bound"]
    assert curves["synchronous"] == figure["sync"]["exact"][:21]
    page.reload()
    wait_for(page, "claims", "theta (1 + mu) = 0.55 is at most 1")


def test_whoever_is_clicked_is_attacked_on_the_drawn_network_too(page, studio):
    scene = generated("ring", 6, seed=1)
    page.goto(f"{studio}/paper?s={to_link(scene)}&figure=3&graph=drawn&iterations=40")
    wait_for(page, "words", "number of Ada")
    party(page, "Dee").click()
    wait_for(page, "words", "Of the neighbours of Dee all but Cy are corrupt (1 of 2)")
    assert party(page, "Eli").get_attribute("data-corrupt") == "yes"
    own = paper.Experiment(scene.problem, draws=20)
    figure = paper.figure3(own, node=3, honest_neighbour=2, iterations=40).data["curves"]["0.5"]
    assert saved(page, "What one iteration tells")["async, σ² = 0.5"] == figure["async"]["nats"]
    end = figure["sync"]["nats"][-1]
    assert f"({end:.3g} nats) of the synchronous one" in page.inner_text("[data-testid=words]")


def test_a_short_slow_run_is_drawn_with_units(page, studio):
    page.goto(f"{studio}/paper?c=0.01&iterations=20")
    wait_for(page, "claims", "They have passed no common error yet")
    assert any("squared units" in text for text in page.locator(".plot svg text").all_text_contents())


def test_what_means_nothing_in_an_address_gets_a_sentence(page, studio):
    page.goto(f"{studio}/paper?theta=7")
    page.get_by_text("Theta must be a number from 0.05 to 1; got 7.").wait_for()
    wait_for(page, "theta", "theta = 1")
    page.goto(f"{studio}/paper?s={to_link(generated('ring', 50, seed=1))}&graph=drawn")
    page.get_by_text("at most 40 parties and 300 edges").wait_for()
    wait_for(page, "words", "Nothing can be drawn")
