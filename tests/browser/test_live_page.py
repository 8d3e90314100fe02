"""A live run in a browser: three real parties, one of which is killed and started again by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser.conftest import Served, watch
from sottovoce.errors import InvalidInput
from sottovoce.runtime.cluster import Cluster, free_ports
from sottovoce.runtime.plan.plan import read_plan, write_plan

WAKES = 16.0  # a second: a run of some 70 wakes lasts until it was disturbed
ROWS = {"ann": [[41, 22.5], [52, 31.25]], "bob": [[30, 19.75]], "cat": [[70, 27.5], [20, 24.0], [33, 35.125]]}


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    text = f"""[run]
name = "ages"
wake = {WAKES}
overlay = "all"
[network]
generator = "complete"
[statistic]
type = "mean"
columns = ["age", "bmi"]
"""
    for (name, rows), port in zip(ROWS.items(), free_ports(3), strict=True):
        lines = ["age,bmi", *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        text += f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ndata = "{name}.csv"\n'
    (tmp_path / "plan.toml").write_text(text)
    write_plan(read_plan(tmp_path / "plan.toml"), tmp_path / "trial", generate_keys=True)
    return tmp_path / "trial"


@pytest.fixture
def served(trial: Path) -> Iterator[Served]:
    pytest.importorskip("nicegui")
    served = Served("--cluster", str(trial))
    yield served
    assert served.end() == 128 + 15
    for name in ROWS:
        with pytest.raises(InvalidInput, match="nobody answers"):
            Cluster(trial).status(name)


def row(page: Any, name: str, state: str) -> Any:
    """Wait until the table tells this state of a party."""
    page.wait_for_selector(f'tr[data-party="{name}"][data-state="{state}"]')
    return page.locator(f'tr[data-party="{name}"]')


def told(page: Any, part: str, text: str) -> None:
    """Wait until a part of the page says this."""
    said = "([part, text]) => document.querySelector(`[data-testid=${part}]`).innerText.includes(text)"
    page.wait_for_function(said, arg=[part, text])


def test_parties_are_started_killed_and_started_again_and_find_the_pooled_mean(served, page, context, trial, shots):
    page.goto(f"{served.address}/live")
    for name in ROWS:
        row(page, name, "not started")
    page.get_by_role("button", name="Start all").click()
    row(page, "bob", "up")
    page.get_by_role("button", name="Start all").wait_for(state="hidden")
    page.wait_for_function(
        "[...document.querySelectorAll('.nv-on')].some(text => /^[1-9]\\d*\\/s$/.test(text.textContent))"
    )
    # Others may talk while bob, who is up, has not begun: it would then be killed before the first agreement.
    label = "document.querySelector('.nv-node[data-party=bob]').ariaLabel"
    page.wait_for_function(f"{label}.startsWith('bob: up, in agreement')")
    page.locator('.nv-node[data-party="bob"]').press("Enter")  # chosen by keys
    page.locator('[aria-label="Controls"]').get_by_role("button", name="Kill").click()
    assert "killed" in row(page, "bob", "killed").inner_text()
    page.wait_for_function(f"{label}.startsWith('bob: killed')")
    told(page, "events", "lost bob")  # by ann and cat, together or one after the other
    told(page, "events", "bob was killed (kill -9), in agreement")
    assert page.locator("[data-testid=answer]").inner_text() == ""
    page.screenshot(path=shots / "live-killed.png")

    other = context.new_page()  # another visitor sees the same run, and has chosen nobody
    wrong: list[str] = []
    watch(other, wrong)
    other.goto(f"{served.address}/live")
    assert "killed" in row(other, "bob", "killed").inner_text()
    assert "Click a party for more".upper() in other.locator('[aria-label="Controls"]').inner_text()
    other.get_by_role("button", name="Start bob").click()

    row(page, "bob", "up")
    told(page, "events", "bob is up again, and goes on from its journal")
    told(page, "answer", "All 3 parties have their answers.")
    mean = np.concatenate([np.array(rows, dtype=float) for rows in ROWS.values()]).mean(axis=0)
    table = [line.split("\t") for line in page.locator("[data-testid=answer] table").inner_text().splitlines()]
    found = {cells[0]: cells[1:] for cells in table}
    assert found["observations"] == ["6", "6", "0"]
    for name, exact in zip(("age", "bmi"), mean, strict=True):
        own, pooled, difference = found[f"mean of {name}"]
        assert (own, pooled) == (f"{exact:.9g}", f"{exact:.9g}")
        assert float(difference) < 1e-12  # sums are exact, and so are those of ``mean`` but for rounding
    for name in ROWS:
        row(page, name, "finished")
    told(page, "headline", "Finished")
    assert re.fullmatch(r"[\d,]+ messages", page.locator("[data-testid=traffic]").inner_text())
    assert not page.get_by_role("button", name="Start all").is_visible()
    assert "has lost" not in page.locator("[data-testid=events]").inner_text().split("goes on from its journal")[0]
    explained = page.locator("[data-testid=answer] th", has_text="pooled").get_attribute("title")
    assert explained.startswith("Of all rows in one place, which only a trial can compute.")
    with page.expect_download() as download:
        page.get_by_role("button", name="Residuals as CSV").click()
    points = [line.split(",") for line in Path(download.value.path()).read_text().splitlines()]
    assert points[0] == ["curve", "time (s)", "residual (units of scale)"]
    assert {point[0] for point in points[1:]} == {*ROWS, "the tolerance"}
    last = {name: float(residual) for name, _, residual in points[1:] if residual}
    assert last["the tolerance"] == 1e-10
    content = page.content() + other.content()
    for secret in (str(trial), str(Path.home()), "PRIVATE", "BEGIN CERTIFICATE", "35.125"):
        assert secret not in content
    assert wrong == []


DOTS = """() => {
  const box = document.querySelector('[aria-label=Residuals] .nicegui-echart');
  const curves = getElement(box.id.slice(1)).chart.getOption().series.filter((curve) => curve.data.length);
  const values = (curve) => curve.data.filter((point) => point[1] !== null).length;
  return curves.length > 0 && curves.every((curve) => curve.showSymbol === values(curve) < 5);
}"""


def test_curves_of_few_points_are_drawn_as_points(served, page):
    page.goto(f"{served.address}/live")
    page.get_by_role("button", name="Start all").click()
    page.wait_for_function(DOTS)  # of the first points
    told(page, "answer", "All 3 parties have their answers.")
    page.wait_for_function(DOTS)  # and of however many there are at the end


def test_other_pages_begin_with_the_parties_of_the_trial(served, page):
    page.goto(f"{served.address}/learns")
    page.wait_for_selector("text=These are the parties of the trial; the numbers on this page were drawn for it.")
    assert page.locator(".nv-node").count() == 3
    page.wait_for_selector('.nv-node[data-party="cat"]')
    page.goto(f"{served.address}/live")
    page.get_by_role("link", name="Playground").click()
    page.wait_for_selector('.nv-node[data-party="cat"]')


def test_without_a_cluster_the_page_says_how_to_get_one(page, studio):
    page.goto(f"{studio}/live")
    page.wait_for_selector("text=sottovoce demo --studio")
    assert "sottovoce studio --cluster trial" in page.locator("main.live-none").inner_text()
