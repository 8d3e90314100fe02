"""Who learns what, in a browser: every number on the page is the auditor's."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from browser.acts import middle, nudge, party, scene_at, until, visit
from sottovoce.studio import words
from sottovoce.studio.audits import audited, calibrated, suggested, worst
from sottovoce.studio.making import generated
from sottovoce.studio.play import steps_of
from sottovoce.studio.scene import Scene

# A kite with a tail: Eve's only neighbour is Dan, who also cuts her off.
KITE = Scene(
    names=("Ann", "Ben", "Cat", "Dan", "Eve"),
    places=((0.1, 0.2), (0.1, 0.8), (0.45, 0.5), (0.7, 0.5), (0.95, 0.5)),
    numbers=(31.0, 47.5, 12.0, 88.0, 64.25),
    edges=((0, 1), (0, 2), (1, 2), (0, 3), (2, 3), (3, 4)),
    variance=1e4,
    prior=400.0,
)


def said(page) -> str:
    return page.inner_text("[data-testid=words]")


def wait_for_words(page, text: str) -> None:
    page.wait_for_function("text => document.querySelector('[data-testid=words]').innerText.includes(text)", arg=text)


def test_a_click_makes_corrupt_and_ring_words_and_table_are_the_auditors(page, studio):
    visit(page, studio, "/learns", KITE)
    before = said(page)
    assert "Nobody is corrupt" in before
    assert party(page, "Eve").get_attribute("data-disclosed") == "no"
    party(page, "Dan").click()
    wait_for_words(page, "Dan is corrupt")
    scene = until(page, lambda scene: scene.corrupt == {3}, "Dan corrupt")
    problem = sv.averaging(sv.Network.from_edges(5, KITE.edges, labels=KITE.names), np.array(KITE.numbers))
    report = sv.privacy.audit(problem, sv.GaussianMask(1e4), corrupt={"Dan"}, prior=400.0)
    assert report.exposed == ("Eve",)
    rings = {name: party(page, name).get_attribute("data-disclosed") for name in KITE.names}
    assert rings == {"Ann": "no", "Ben": "no", "Cat": "no", "Dan": "no", "Eve": "yes"}
    assert party(page, "Dan").get_attribute("aria-pressed") == "true"
    assert "number of Eve is disclosed exactly" in said(page)
    most = max(["Ann", "Ben", "Cat"], key=lambda name: report.loc(name)["leakage"])
    row = report.loc(most)
    assert f"the interval for {most} narrows most: by {words.percent(row['narrower'])}" in said(page)
    assert f"({row['leakage']:.3g} nats)" in said(page)
    cells = {
        line[0]: line[1:]
        for line in (
            row.locator("th, td").all_inner_texts() for row in page.locator("[data-testid=table] tbody tr").all()
        )
    }
    assert cells["Eve"][1] == "all"
    for name in ("Ann", "Ben", "Cat"):
        row = report.loc(name)
        assert cells[name][1:] == [f"{row[key]:.3g}" for key in ("leakage", "floor", "excess")]
    assert page.get_attribute("[data-verdict]", "data-verdict") == "disclosed"
    assert page.inner_text("[data-verdict]") == "1 of 4 honest parties disclosed"
    assert scene == replace(KITE, corrupt=frozenset({3}))


def test_the_slider_of_the_mask_and_the_smallest_mask(page, studio):
    scene = replace(generated("ring", 8, seed=3), corrupt=frozenset({2}), prior=100.0, bound=0.002)
    visit(page, studio, "/learns", scene)
    wait_for_words(page, scene.corrupt_names[0])
    nudge(page, "Variance of the mask", "ArrowLeft", 7)
    moved = until(page, lambda now: now.variance == pytest.approx(10**5.3, rel=1e-3), "seven steps of a tenth")
    report = audited(moved)
    wait_for_words(page, f"({np.nanmax(report.leakage):.3g} nats)")
    assert np.nanmax(report.excess) > np.nanmax(audited(scene).excess)
    page.get_by_role("button", name="Smallest mask").click()
    page.wait_for_selector("[data-testid=variance]")
    c, theta = steps_of(scene)
    mask = sv.privacy.calibrate(scene.problem, delta=0.002, prior=100.0, schedule=sv.Asynchronous(), c=c, theta=theta)
    found = until(page, lambda now: now.variance != moved.variance, "the calibrated variance")
    assert found.variance == mask.rounded_up == calibrated(scene).rounded_up
    assert np.nanmax(audited(found).excess) <= 0.002


def test_a_suggested_edge_is_added_and_helps(page, studio):
    path = replace(KITE, edges=((0, 1), (1, 2), (2, 3), (3, 4)), corrupt=frozenset({3}))
    visit(page, studio, "/learns", path)
    wait_for_words(page, "Eve is disclosed")
    page.get_by_role("button", name="Suggest").click()
    ((a, b),) = suggested(path).edges
    page.get_by_role("button", name=f"Add {a} – {b}").click()
    wait_for_words(page, "Nobody's number is disclosed")
    found = until(page, lambda scene: len(scene.edges) == 5, "the edge")
    assert set(found.edges) - set(path.edges) == {(path.names.index(a), path.names.index(b))}
    assert party(page, "Eve").get_attribute("data-disclosed") == "no"


def test_the_worst_coalition_is_found(page, studio):
    scene = replace(generated("grid", 9, seed=1), coalition=2)
    visit(page, studio, "/learns", scene)
    page.get_by_role("button", name="Find the worst").click()
    report = worst(scene)
    page.get_by_text("The worst case, whichever two parties are corrupt").wait_for()
    text = said(page)
    for name in report.exposed:
        assert party(page, str(name)).get_attribute("data-disclosed") == "yes"
        assert str(name) in text
    assert len(report.exposed) == 4  # the corners, both of whose neighbours may be corrupt
    page.get_by_role("button", name="Back to those marked").click()
    wait_for_words(page, "Nobody is corrupt")
    assert page.locator('[data-disclosed="yes"]').count() == 0


def test_a_link_restores_all_of_it_and_undo_goes_back(page, studio):
    visit(page, studio, "/learns", KITE)
    party(page, "Ben").click()
    until(page, lambda scene: scene.corrupt == {1}, "Ben corrupt")
    page.get_by_role("button", name="encrypted").click()
    scene = until(page, lambda scene: scene.channels == "encrypted", "encrypted")
    wait_for_words(page, "channels between others are closed")
    text = said(page)
    page.goto(page.url)
    wait_for_words(page, "channels between others are closed")
    assert said(page) == text
    assert party(page, "Ben").get_attribute("data-corrupt") == "yes"
    assert scene_at(page) == scene
    party(page, "Ann").click()
    until(page, lambda now: now.corrupt == {0, 1}, "Ann too")
    page.get_by_role("button", name="Undo").click()
    assert until(page, lambda now: now.corrupt == {1}, "undone") == scene
    page.get_by_role("button", name="Redo").click()
    until(page, lambda now: now.corrupt == {0, 1}, "done again")


def test_keys_alone_do_everything(page, studio):
    visit(page, studio, "/learns", KITE)
    party(page, "Ann").focus()
    page.keyboard.press("Enter")
    until(page, lambda scene: scene.corrupt == {0}, "corrupt by Enter")
    page.keyboard.press("ArrowRight")
    until(page, lambda scene: scene.places[0][0] > KITE.places[0][0], "moved")
    page.keyboard.press("e")
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("e")  # Ann and Eve
    until(page, lambda scene: (0, 4) in scene.edges, "joined")
    page.keyboard.press("e")
    for _ in range(4):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("e")  # and apart again
    until(page, lambda scene: (0, 4) not in scene.edges, "parted")
    page.keyboard.press("a")
    until(page, lambda scene: scene.n == 6, "added")
    party(page, "Cat").focus()
    page.keyboard.press("Delete")
    until(page, lambda scene: scene.n == 5 and "Cat" not in scene.names, "deleted")
    page.wait_for_function("() => document.activeElement.dataset.party === 'Dan'")  # who stands there now
    page.keyboard.press("Control+z")
    until(page, lambda scene: "Cat" in scene.names, "undone")


def test_hands_move_join_cut_add_and_are_refused_what_cannot_be(page, studio):
    visit(page, studio, "/learns", KITE)
    x, y = middle(page, "Ben")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y - 60, steps=4)
    page.mouse.up()
    moved = until(page, lambda scene: scene.places[1] != KITE.places[1], "dragged")
    assert moved.corrupt == frozenset()  # a drag is no click
    page.get_by_role("button", name="Draw edges").click()
    page.wait_for_selector(".network-view.drawing")
    page.mouse.move(*middle(page, "Ben"))
    page.mouse.down()
    page.mouse.move(*middle(page, "Eve"), steps=4)
    page.mouse.up()
    until(page, lambda scene: (1, 4) in scene.edges, "drawn")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_selector(".network-view.deleting")
    page.locator('[aria-label="edge Ben to Eve"] line').first.click(force=True)
    until(page, lambda scene: (1, 4) not in scene.edges, "cut")
    party(page, "Dan").click()
    page.get_by_text("without Dan the network falls apart", exact=False).wait_for()
    assert scene_at(page).n == 5
    page.get_by_role("button", name="Mark and move").click()
    page.wait_for_selector(".network-view:not(.deleting)")
    box = page.locator(".network-view svg").bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + 20)
    until(page, lambda scene: scene.n == 6, "added")


def test_how_long_a_click_takes_at_fifty_parties(page, studio, shots):
    """From the click to the new words on the screen: a distribution, for people to read; no time is asserted."""
    scene = generated("random_geometric", 50, seed=2)
    visit(page, studio, "/learns", scene)
    times = []
    for name in scene.names[:15]:
        times.append(
            page.evaluate(
                """async name => {
                    const words = document.querySelector('[data-testid=words]');
                    const node = document.querySelector(`.nv-node[data-party="${name}"]`);
                    const box = node.querySelector('circle, rect').getBoundingClientRect();
                    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
                    const at = { clientX: x, clientY: y, button: 0, bubbles: true };
                    return await new Promise(resolve => {
                        const began = performance.now();
                        const seen = new MutationObserver(() => {
                            if (!words.innerText.includes(name)) return;
                            seen.disconnect();
                            requestAnimationFrame(() => resolve(performance.now() - began));
                        });
                        seen.observe(words, { childList: true, subtree: true, characterData: true });
                        node.dispatchEvent(new PointerEvent('pointerdown', at));
                        node.dispatchEvent(new PointerEvent('pointerup', at));
                    });
                }""",
                name,
            )
        )
        party(page, name).press("Enter")  # honest again
        until(page, lambda now: not now.corrupt, "honest")
    spread = {f"{q} %": round(float(np.percentile(times, q)), 1) for q in (10, 50, 90, 100)}
    (shots / "click.json").write_text(json.dumps({"parties": 50, "clicks": len(times), "milliseconds": spread}))
    print(f"\nfrom a click to the audit on the screen, 50 parties, {len(times)} clicks, milliseconds: {spread}")
    assert len(times) == 15
