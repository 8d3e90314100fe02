"""Comparisons, in a browser: the table is that of ``sv.compare``, and the page stays alive meanwhile."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

import sottovoce as sv
from browser.acts import until
from sottovoce.baselines.comparison import nats_words
from sottovoce.studio.link import to_link
from sottovoce.studio.making import generated

SCENE = replace(generated("ring", 6, seed=1), corrupt=frozenset({2}), prior=4.0)
FEW = ["subspace perturbation, tree", "ADMM", "local noise, Gaussian", "Shamir", "tree sum"]
SHORT = "subspace-perturbation-tree.admm.local-noise-gaussian.shamir.tree-sum"


def open_page(page, studio, scene, *, methods: str = SHORT) -> None:
    page.goto(f"{studio}/compare?s={to_link(scene)}&methods={methods}&draws=3")
    page.get_by_role("button", name="Compare").wait_for()


def test_the_table_is_that_of_compare(page, studio, shots):
    open_page(page, studio, SCENE)
    ticked = page.locator(".compare-methods [role=checkbox][aria-checked=true]")
    assert [box.get_attribute("aria-label") or box.inner_text() for box in ticked.all()] == FEW
    page.get_by_role("button", name="Compare").click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=table] tbody tr').length === 5")
    found = sv.compare(
        SCENE.network, methods=FEW, corrupt=[SCENE.names[2]], prior=4.0, draws=3, sizes=(), seed=SCENE.seed,
        progress=False,
    )  # fmt: skip
    rows = [row.locator("th, td").all_inner_texts() for row in page.locator("[data-testid=table] tbody tr").all()]
    for cells, row in zip(rows, found.rows, strict=True):
        assert cells[0] == row.method
        assert cells[2] == nats_words(row.nats) + ("" if row.reached else " !")
        assert cells[4] == f"{row.messages:.0f}"
        assert cells[7] == row.breaks
    page.screenshot(path=shots / "compare-done.png")
    said = page.inner_text("[data-testid=words]")
    assert f"Corrupt, with taps, and keeping every message: {SCENE.names[2]}." in said
    assert f"Exact, and at most {found.nats:.3g} nats" in said
    lanes = page.locator(".plot svg text").all_text_contents()
    assert {"Shamir", "tree sum", "disclosed"} <= {text.strip() for text in lanes}
    with page.expect_download() as download:
        page.get_by_role("button", name="The table as CSV").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        assert [float(row["error"]) for row in csv.DictReader(file)] == [row.error for row in found.rows]


def test_another_scene_takes_the_old_answer_away(page, studio):
    open_page(page, studio, SCENE, methods="shamir")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("[data-testid=table] tbody tr")
    page.get_by_label("Corrupt parties").first.click()
    page.get_by_role("option", name="Fay").click()
    until(page, lambda scene: scene.corrupt == {2, 5}, "Fay corrupt")
    page.locator("[data-testid=table]").wait_for(state="hidden")
    assert "methods=shamir" in page.url


def test_nobody_marked_is_said_before_and_after(page, studio):
    open_page(page, studio, replace(SCENE, corrupt=frozenset()), methods="shamir")
    said = page.locator("[data-testid=words]")
    assert "Nobody is marked: Ada is taken to be corrupt." in said.inner_text()
    page.get_by_text("They expect numbers of size 2, around 0.").wait_for()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("[data-testid=table] tbody tr")
    assert "Nobody is marked: Ada is taken to be corrupt, with taps" in said.inner_text()
    assert any("squared units" in text for text in page.locator(".plot svg text").all_text_contents())


@pytest.mark.parametrize(
    ("scene", "why"),
    [
        (generated("ring", 61, seed=1), "at most 60 parties; the playground has 61"),
        (replace(SCENE, corrupt=frozenset({1, 3})), "cut an honest one off from all others"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(page, studio, scene, why):
    open_page(page, studio, scene, methods="tree-sum")
    page.get_by_role("button", name="Compare").click()
    page.get_by_text(why).wait_for()
    assert page.get_by_role("button", name="Compare").is_enabled()
