"""A mean of decimals between machines: with a public unit what travels are integers of it, and the answer is theirs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from runtime.two_worlds import Program, StillLoop

from sottovoce.errors import InvalidFile, PrecisionLost
from sottovoce.numerics.grid import on_grid
from sottovoce.pdmm.masks import GaussianMask
from sottovoce.pdmm.node import Node
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.runtime.process import serve
from sottovoce.runtime.transport.in_memory import Hub

NAMES = ("p0", "p1", "p2")
VARIANCE = 1e8


def plan(folder: Path, unit: str) -> Path:
    parties = "".join(f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{7401 + i}"\n' for i, name in enumerate(NAMES))
    (folder / "plan.toml").write_text(
        f'[run]\nname = "units"\ntol = 1e-9\n[network]\ngenerator = "complete"\n[audit]\nmax_corrupt = 0\n'
        f'[cost]\ntype = "averaging"\ncolumns = ["price", "count"]\n{unit}\n[mask]\nvariance = {VARIANCE}\n{parties}'
    )
    return folder / "plan.toml"


def play(folder: Path, unit: str, rows: list[str]) -> list[np.ndarray]:
    """The answers of all parties, in virtual time."""
    write_plan(read_plan(plan(folder, unit)), folder / "out", generate_keys=True)
    hub, configs = Hub(), []
    for name, row in zip(NAMES, rows, strict=True):
        (folder / "out" / name / "data.csv").write_text(f"price,count\n{row}\n")
        configs.append(read_node_file(folder / "out" / name / "node.toml"))

    async def everybody() -> None:
        parties = [serve(c, hub.transport(c.name, tuple(n for n in NAMES if n != c.name))) for c in configs]
        assert await asyncio.gather(*parties) == [0, 0, 0]

    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=StillLoop) as runner:
        patch.setattr(NetworkAgreements, "_wait", lambda _, coroutine: Program.current().ask(coroutine))
        runner.run(everybody())
    answers = [json.loads(config.result.read_text())["answer"] for config in configs]
    return [np.array([answer["price"], answer["count"]]) for answer in answers]


def brought(folder: Path, unit: str, rows: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, float]:
    """The sum of ``w_i`` over all parties, from which pads cancel, in multiples of the grid; and the grid."""
    sums: dict[int, np.ndarray] = {}
    grids: set[float] = set()
    make = Node.__init__

    def seen(node, i, cost, links, **options):
        make(node, i, cost, links, **options)
        # The sum of w_i over all parties has A_ij e_ij of every edge with messages left: half of it at either end.
        sums[i] = node.form.q[0] - sum(link.A * (link.held - link.written) / 2 for link in links.values())
        grids.add(options["grid"])

    monkeypatch.setattr(Node, "__init__", seen)
    play(folder, unit, rows)
    (grid,) = grids
    return sum(sums.values()) / grid, grid


ROWS = [["2.2,5", "97.9,7", "7,9"], ["2.3,5", "97.8,7", "7,9"]]  # 100.1 twice, of two classes without a unit


def test_the_answer_is_the_mean(tmp_path):
    for x in play(tmp_path, "unit = { price = 0.1, count = 1 }", ROWS[0]):
        np.testing.assert_allclose(x, [35.7, 7], rtol=1e-8)  # ten times tol


def test_the_sum_of_what_parties_bring_is_that_of_integers(tmp_path, monkeypatch):
    for unit, told in (("", 2), ("unit = { price = 0.1, count = 1 }", 1)):
        totals = set()
        for k, rows in enumerate(ROWS):
            folder = tmp_path / f"{len(unit)}-{k}"
            folder.mkdir()
            total, _ = brought(folder, unit, rows, monkeypatch)
            assert (total == np.rint(total)).all()
            totals.add(tuple(total.tolist()))
        assert len(totals) == told


def test_numbers_are_rounded_to_the_unit_with_a_word_to_their_owner(tmp_path):
    with pytest.warns(PrecisionLost, match="1 of 2 numbers are no whole multiples"):
        found = play(tmp_path, "unit = { price = 0.1, count = 1 }", ["2.23,5", "97.8,7", "7,9"])
    np.testing.assert_allclose(found[0], [107 / 3, 7], rtol=1e-8)


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ("unit = 0", "unit must be a positive number, the smallest step of what was measured"),
        ("unit = { price = 0.1 }", "unit must have a number for every column; 'count' has none"),
        ("unit = { price = 0.1, count = 1, age = 1 }", "unit names 'age', which is no column"),
        ("unit = [0.1]", "unit must be one number, or one for each column, 2"),
        ("unit = 1e-13", r"unit = 1e-13 is too small for pads of size 1e\+04"),
    ],
)
def test_a_unit_that_cannot_be_used_is_refused_with_the_plan(tmp_path, unit, sentence):
    with pytest.raises(InvalidFile, match=sentence):
        read_plan(plan(tmp_path, unit))


def test_parties_must_agree_on_the_unit(tmp_path):
    one, other = (read_plan(plan(tmp_path, unit)).question.to_dict()["cost"] for unit in ("unit = 0.1", "unit = 0.2"))
    assert one["unit"] == [0.1, 0.1] != other["unit"]
    assert "unit" not in read_plan(plan(tmp_path, "")).question.to_dict()["cost"]


def test_a_mean_of_decimals_lies_on_no_binary_grid():
    """What the tests above hang on: the two rows are of two classes."""
    g = GaussianMask(VARIANCE).grid
    assert len({sum(on_grid(2 * np.array([float(r.split(",")[0]) for r in rows]), g)) for rows in ROWS}) == 2
