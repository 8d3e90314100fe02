"""The playground in a browser: what it plays is the library's own run."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import sottovoce as sv
from browser.acts import middle, nudge, party, scene_at, until, visit
from sottovoce.studio.frames import short
from sottovoce.studio.making import generated
from sottovoce.studio.play import played, steps_of

SCENE = replace(generated("ring", 6, seed=5), variance=1e8, seed=7)


def place(page) -> str:
    return page.inner_text("[data-testid=place]")


def wait_for_place(page, text: str) -> None:
    page.wait_for_function("text => document.querySelector('[data-testid=place]').innerText.startsWith(text)", arg=text)


def wait_for_inside(page, texts: list[str]) -> None:
    """Until the circles say this; the drawing may come after the words."""
    page.wait_for_function(
        "texts => JSON.stringify([...document.querySelectorAll('.nv-inside')].map(t => t.textContent)) === texts",
        arg=json.dumps(texts, ensure_ascii=False, separators=(",", ":")),
    )


def open_playground(page, studio, scene=SCENE):
    visit(page, studio, "/", scene)
    wait_for_place(page, "iteration")
    return played(scene)


def test_steps_show_the_beliefs_and_messages_of_the_library(page, studio):
    found = open_playground(page, studio)
    wait_for_inside(page, [short(s) for s in SCENE.numbers])  # before anybody speaks
    page.get_by_role("button", name="One step", exact=True).click()
    wait_for_place(page, "iteration 1 ")
    c, theta = steps_of(SCENE)
    run = {"schedule": sv.Asynchronous(), "c": c, "theta": theta, "mask": sv.GaussianMask(1e8), "seed": 7}
    states = sv.iterate(SCENE.problem, **run)
    next(states)
    first = next(states)
    (awake,) = np.flatnonzero(first.x)
    wait_for_inside(page, [short(float(first.x[i])) if i == awake else "…" for i in range(6)])
    table = sv.solve(SCENE.problem, **run, record=[sv.Transcript()], tol=0, max_iter=1).history["transcript"]
    said = page.locator(".nv-message text").all_text_contents()
    assert sorted(said) == sorted(short(value) for value in table.value.tolist())
    assert f"{SCENE.names[awake]} wakes" in page.inner_text("[data-testid=happens]")
    assert found.x[1, awake] == first.x[awake]


def test_play_pause_and_scrub(page, studio):
    found = open_playground(page, studio)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => !/^iteration [01] /.test(document.querySelector('[data-testid=place]').innerText)")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").wait_for()
    at = place(page)
    page.wait_for_timeout(600)
    assert place(page) == at  # it rests
    assert until(page, lambda scene: scene.at > 1, "the iteration in the address").at == int(at.split()[1])
    box = page.locator('.q-slider[aria-label="Iteration"]').bounding_box()
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2)
    nudge(page, "Iteration", "ArrowRight", 4)  # the last pixel of the track is not quite the end
    wait_for_place(page, f"iteration {found.iterations[-1]} ")
    wait_for_inside(page, [short(value) for value in found.x[-1].tolist()])
    assert "Everybody holds the exact mean" in page.inner_text("[data-testid=happens]")
    assert f"{found.messages:,} messages" in page.inner_text("[data-testid=happens]")
    page.goto(until(page, lambda scene: scene.at == found.iterations[-1], "the end in the address") and page.url)
    wait_for_place(page, f"iteration {found.iterations[-1]} ")


def test_a_private_number_is_edited_in_the_table_and_undone(page, studio):
    open_playground(page, studio)
    cell = page.locator('.ag-row[row-index="2"] [col-id="number"]')
    cell.dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("91.25")
    page.keyboard.press("Enter")
    scene = until(page, lambda scene: scene.numbers[2] == 91.25, "the number")
    assert page.inner_text("[data-testid=mean]").endswith(f"{np.mean(scene.numbers):.10g}")
    wait_for_place(page, "iteration 0 ")
    page.get_by_role("button", name="Undo").click()
    until(page, lambda scene: scene == SCENE, "undone")
    page.locator('.ag-row[row-index="0"] [col-id="name"]').dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("Bo")
    page.keyboard.press("Enter")
    page.get_by_text("two parties are called 'Bo'").wait_for()
    assert scene_at(page) == SCENE


def test_controls_change_the_run(page, studio):
    open_playground(page, studio)
    page.get_by_label("Who wakes").click()
    page.get_by_role("option", name="all at once").click()
    scene = until(page, lambda scene: scene.schedule == "synchronous", "synchronous")
    page.get_by_label("Messages lost (%)").fill("25")
    page.keyboard.press("Tab")
    scene = until(page, lambda scene: scene.loss == 0.25, "losses")
    page.get_by_label("theta").fill("0.7")
    page.keyboard.press("Tab")
    scene = until(page, lambda scene: scene.theta == 0.7, "theta")
    found = played(scene)
    page.wait_for_function(
        "n => document.querySelector('[data-testid=place]').innerText.endsWith(` ${n}`)", arg=int(found.iterations[-1])
    )
    page.get_by_role("button", name="One step", exact=True).click()
    wait_for_place(page, "iteration 1 ")
    lost = sum(not arrived for *_, arrived in found.sent(1))
    assert page.locator(".nv-lost").count() == lost > 0


def test_a_network_is_generated_saved_and_opened(page, studio, tmp_path):
    open_playground(page, studio)
    page.get_by_label("Family").click()
    page.get_by_role("option", name="grid").click()
    page.get_by_label("Parties", exact=True).fill("12")
    page.get_by_role("button", name="Generate").click()
    made = until(page, lambda scene: scene.n == 12, "a grid")
    assert made == generated("grid", 12, 1, SCENE)
    saved = {}
    for kind in ("edge list", "GraphML", "problem file"):
        page.get_by_role("button", name="Files").click()
        with page.expect_download() as download:
            page.get_by_text(f"Save as {kind}").click()
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
    solved = sv.data.read_problem_file(saved["problem file"])
    assert np.array_equal(solved.problem.network.edges, made.network.edges)
    assert sv.Network.read_edge_list(saved["edge list"]).m == made.network.m
    page.get_by_role("button", name="Undo").click()
    until(page, lambda scene: scene == SCENE, "undone")
    opened = open_file(page, saved["GraphML"])
    assert (opened.edges, opened.names, opened.numbers) == (made.edges, made.names, made.numbers)


def open_file(page, path: Path):
    before = page.url
    page.get_by_role("button", name="Files").click()
    page.get_by_text("Open a file").click()
    page.locator("input[type=file]").set_input_files(path)
    page.wait_for_function("before => location.href !== before", arg=before)
    scene = scene_at(page)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("before => location.href === before", arg=before)
    return scene


def test_files_that_are_none_get_a_sentence_and_change_nothing(page, studio, tmp_path):
    open_playground(page, studio)
    bad = {  # the others are in tests/unit/test_studio_files.py
        "apart.txt": ("0 1\n2 3\n", "disconnected"),
        "path.toml": ('[network]\nedge_list = "/etc/passwd"\n[cost]\ntype = "averaging"\n', "it opens no other files"),
    }
    for name, (text, sentence) in bad.items():
        (tmp_path / name).write_text(text)
        page.get_by_role("button", name="Files").click()
        page.get_by_text("Open a file").click()
        page.locator("input[type=file]").set_input_files(tmp_path / name)
        page.get_by_text(sentence, exact=False).wait_for()
        page.get_by_role("button", name="Close").first.click()
        assert scene_at(page) == SCENE


def test_plots_and_the_drawing_are_saved(page, studio, tmp_path):
    found = open_playground(page, studio)
    page.wait_for_selector(".plot svg path", state="attached")
    with page.expect_download() as download:
        page.get_by_role("button", name="Residual as CSV").click()
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))
    assert rows[0] == ["curve", "iteration", "KKT residual (relative)"]
    assert [float(row[2]) for row in rows[1:] if row[2]] == [float(r) for r in found.residual if np.isfinite(r)]
    starts = {"PNG": b"\x89PNG", "SVG": b"<svg"}
    for kind, begins in starts.items():
        for what in ("Beliefs", "The network"):
            with page.expect_download() as download:
                page.get_by_role("button", name=f"{what} as {kind}").click()
            content = Path(download.value.path()).read_bytes()
            assert content.startswith(begins)
            assert len(content) > 2000
            if (kind, what) == ("SVG", "The network"):
                assert all(name in content.decode() for name in SCENE.names)


def test_two_hundred_parties_are_drawn_and_played(page, studio):
    scene = replace(generated("random_geometric", 200, seed=1), schedule="synchronous")
    visit(page, studio, "/", scene)
    wait_for_place(page, "iteration")
    party(page, scene.names[3]).press("Enter")
    until(page, lambda now: now.corrupt == {3}, "corrupt")
    page.get_by_role("button", name="One step", exact=True).click()
    page.wait_for_function("() => !document.querySelector('[data-testid=place]').innerText.startsWith('iteration 0 ')")
    assert len(played(scene)) > 50
    page.get_by_role("button", name="Delete", exact=True).click()  # edges are drawn as one, and cut one by one
    page.wait_for_selector(".network-view.deleting")
    ends = scene.edges[0]
    (x1, y1), (x2, y2) = (middle(page, scene.names[i]) for i in ends)
    page.mouse.click((x1 + x2) / 2, (y1 + y2) / 2)
    now = until(page, lambda now: len(now.edges) < len(scene.edges), "cut")
    assert len(set(scene.edges) - set(now.edges)) == 1
