"""What a plan says of a run with noise: how much it gives away, by how much the answer is off, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.privacy import Verdict, Worst
from sottovoce.runtime.plan.plan import Plan, plan_statement, read_plan

AVERAGING = '[cost]\ntype = "averaging"\ncolumns = ["age", "dose"]\n'


def plan(folder: Path, about: str, network: str = 'generator = "complete"', n: int = 4, **audit: Any) -> Plan:
    parties = "".join(f'[[party]]\nname = "p{i}"\naddress = "127.0.0.1:{7401 + i}"\n' for i in range(n))
    counted = "".join(f"{key} = {value}\n" for key, value in audit.items())
    text = f'[run]\nname = "trial"\nc = 0.5\n[network]\n{network}\n{about}[audit]\n{counted}{parties}'
    (folder / "plan.toml").write_text(text)
    return read_plan(folder / "plan.toml")


def masked(variance: float, noise: float | None) -> str:
    return f"[mask]\nvariance = {variance}\n" + ("" if noise is None else f"[noise]\nvariance = {noise}\n")


def test_what_is_given_away_is_what_is_left_of_the_data(tmp_path):
    """Against the posterior of ``S + N(0, (sigma^2/8) L + v I)``, which one of four, all neighbours, sees of the rest:
    two numbers a party."""
    prior, v = 4.0, 0.5
    for variance in (40.0, 1e8):
        found = plan(tmp_path, AVERAGING + masked(variance, v), prior=prior).prospect
        seen = prior * np.eye(3) + variance / 8 * (3 * np.eye(3) - 1) + v * np.eye(3)
        left = prior - prior**2 * np.linalg.inv(seen)[0, 0]
        np.testing.assert_allclose(found.report.leakage, 2 * 0.5 * math.log(prior / left), rtol=1e-9)
        exact = plan(tmp_path, AVERAGING + masked(variance, None), prior=prior).prospect
        assert (found.report.leakage < exact.report.leakage).all()
        assert found.report.noise == sv.LocalNoise(v)
        assert exact.report.noise is None
    assert (found.report.leakage < exact.report.floor).all()  # less than the exact answer alone would tell
    assert found.verdict is Verdict.SAFE
    assert found.noise_std == math.sqrt(v / 4)
    assert exact.noise_std == 0.0


def test_the_whole_audit_is_that_of_the_library(tmp_path):
    network = 'edges = [["p0", "p1"], ["p1", "p2"], ["p2", "p3"], ["p3", "p0"], ["p0", "p2"]]'
    found = plan(tmp_path, AVERAGING + masked(1e4, 0.1), network).prospect.report
    problem = sv.averaging(sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]), np.zeros((4, 2)))
    expected = sv.privacy.audit(problem, sv.GaussianMask(1e4), noise=sv.LocalNoise(0.1), prior=1.0, against=Worst(1))
    for name in ("leakage", "floor", "excess", "mu"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, err_msg=name)


def test_noise_is_all_that_hides_a_party_whom_nobody_else_talks_to(tmp_path):
    """The leaves of a star: disclosed without noise, weak with it, and disclosed in effect by hardly any."""
    star = 'edges = [["p0", "p1"], ["p0", "p2"], ["p0", "p3"]]'
    assert plan(tmp_path, AVERAGING + masked(1e8, None), star).prospect.verdict is Verdict.DISCLOSED
    made = plan(tmp_path, AVERAGING + masked(1e8, 0.5), star)
    assert made.prospect.verdict is Verdict.WEAK
    told = "p1 shows its noisy numbers, at any mask, if p0 is corrupt: nobody else talks to it. Noise lets 0.55 nats of"
    assert told in made.prospect.problems()[0]  # ln(1 + 1 / 0.5) / 2
    assert any(problem.startswith("What helps: edges") for problem in made.prospect.problems())
    assert not any("DISCLOSED" in problem for problem in made.prospect.problems())
    page = plan_statement(made)
    assert page.verdict == "weak"
    assert page.headline == "WEAK: noise is all that hides 3 of 4 parties, if the worst of the others are corrupt"
    assert plan(tmp_path, AVERAGING + masked(1e8, 1e-6), star).prospect.verdict is Verdict.DISCLOSED


def test_delta_is_kept_with_noise_too(tmp_path):
    found = plan(tmp_path, AVERAGING + "[mask]\ndelta = 1e-4\n[noise]\nvariance = 2.0\n").prospect
    assert found.question.noise == sv.LocalNoise(2.0)
    assert float(np.nanmax(found.excess)) <= 1e-4
    assert found.safe


def test_the_commands_say_that_the_answer_will_be_noisy(tmp_path):
    plan(tmp_path, AVERAGING + masked(1e8, 0.25))
    call = ["plan", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"), "--generate-keys"]
    shown = CliRunner().invoke(app, call, env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "of variance 0.25 on each number of each party, in units of scale" in shown.output
    assert "about 0.25, one standard deviation, in units of scale: the noise" in shown.output
    page = (tmp_path / "out" / "statement.html").read_text()
    assert "local noise of variance 0.25" in page
    assert "0.25, one standard deviation" in page
    assert "Differential privacy would change the result" not in page
    call[call.index("--out") + 1] = str(tmp_path / "again")
    told = json.loads(CliRunner().invoke(app, [*call, "--json"]).output)
    assert told["noise_std"] == 0.25
    assert told["run"]["noise"] == {"variance": 0.25}
