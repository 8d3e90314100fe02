"""``sottovoce audit`` as a user meets it: exit status, numbers, names, sentences, pictures."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import terminal
from sottovoce.cli.app import app
from sottovoce.data.problem_file import MASKS, read_problem_file
from sottovoce.pdmm.masks import UniformMask
from sottovoce.pdmm.progress import Line, tell
from sottovoce.privacy import Snapshot, Transcript, Worst, audit
from sottovoce.privacy.answers import report_picture
from sottovoce.privacy.answers.verdict import headline

# Two triangles that share Cem, and Fay who hangs on Eli alone.
FILE = """[network]
edges = [["Ada", "Bo"], ["Bo", "Cem"], ["Ada", "Cem"], ["Cem", "Dina"], ["Dina", "Eli"], ["Cem", "Eli"], ["Eli", "Fay"]]
[cost]
type = "averaging"
values = { Ada = 3, Bo = -1, Cem = 8, Dina = 4, Eli = 5, Fay = 2 }
[pdmm]
schedule = "asynchronous"
theta = 0.7
c = 0.8
seed = 4
[mask]
variance = 50
"""
RING = re.sub(r"edges = .*", 'generator = "ring"', FILE)
VARIANCE = 50.0


def sottovoce(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def found(*arguments: object) -> dict[str, Any]:
    result = sottovoce("audit", *arguments, "--json")
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "six.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.toml"
    path.write_text(RING)
    return path


# Numbers


def test_leakage_is_that_of_the_closed_form(problem: Path) -> None:
    """theory: Open channels, ``I = -1/2 ln(1 - [(I + rho L_h)^-1]_ii)``, ``rho = variance / (8 prior)``, on the honest
    subgraph."""
    out = found(problem, "--corrupt", "Cem", "--prior", 3.0)
    honest = [0, 1, 3, 4, 5]
    L = np.zeros((6, 6))
    for i, j in read_problem_file(problem).problem.network.edges:
        if 2 not in (i, j):
            L[[i, j, i, j], [i, j, j, i]] += [1, 1, -1, -1]
    inside = np.linalg.inv(np.eye(5) + VARIANCE / (8 * 3.0) * L[np.ix_(honest, honest)])
    expected = -0.5 * np.log1p(-np.diag(inside))
    assert out["leakage"][2] is None
    np.testing.assert_allclose([out["leakage"][i] for i in honest], expected, rtol=1e-11)  # rounding of the inverse
    np.testing.assert_allclose([out["floor"][i] for i in (0, 3)], -0.5 * np.log([1 / 2, 2 / 3]), rtol=1e-11)
    assert out["groups"] == [[0, 1], [3, 4, 5]]
    assert (out["guarantee"], out["unit"], out["corrupt"], out["exposed"]) == ("exact", "nats", [2], [])


def test_json_has_these_keys(problem: Path) -> None:
    out = found(problem, "--corrupt", 4)
    keys = (
        "adversary corrupt channels view mask prior method guarantee unit labels leakage floor excess share prior_std "
        "posterior_std exposed groups coalitions overall flags sentences type parties verdict safe calibrated notes "
        "headline delta narrower mu guess epsilon published least mu_bound mu_given_sums names noise max_corrupt"
    )
    assert set(out) == set(keys.split())
    assert (out["type"], out["parties"]) == ("averaging", ["Ada", "Bo", "Cem", "Dina", "Eli", "Fay"])
    assert out["leakage"][5] == out["floor"][5] == out["excess"][5] == "inf"  # Fay, whose only neighbour is Eli
    assert (out["exposed"], out["safe"], out["calibrated"]) == ([5], False, None)
    assert (out["names"]["corrupt"], out["names"]["exposed"]) == (["Eli"], ["Fay"])
    assert (out["verdict"], out["headline"]) == ("disclosed", "DISCLOSED: 1 of 5 honest parties")
    assert out["mu"][5] == "inf"
    assert out["guess"][5] == 1.0
    assert out["posterior_std"][5] == [0.0]


@pytest.mark.parametrize(
    ("arguments", "adversary", "max_corrupt"),
    [
        ([], "eavesdropper", None),
        (["--corrupt", "Eli"], "corrupt node Eli and taps", None),
        (["--max-corrupt", 0], "eavesdropper", 0),
        (["--max-corrupt", 2], "the worst coalition of at most 2 for each party and taps on every channel", 2),
        (["--max-corrupt", 1, "--channels", "encrypted"], "the worst coalition of at most 1 for each party", 1),
    ],
)
def test_json_says_who_listens(problem: Path, arguments: list[Any], adversary: str, max_corrupt: int | None) -> None:
    out = found(problem, *arguments)
    assert (out["adversary"], out["max_corrupt"]) == (adversary, max_corrupt)


def test_names_and_numbers_are_the_same_parties(problem: Path) -> None:
    by_name, by_number = (found(problem, "--corrupt", who) for who in ("Cem, Ada", "0,2"))
    assert by_name == by_number
    assert by_name["corrupt"] == [0, 2]


def test_a_name_that_is_a_number_means_the_name(problem: Path) -> None:
    problem.write_text(FILE.replace('"Fay"', '"0"').replace("Fay =", "0 ="))
    assert found(problem, "--corrupt", "0")["corrupt"] == [5]


def test_the_prior_is_in_the_squared_units_of_the_data(problem: Path) -> None:
    """Leakage depends on variance/prior alone: data in other units, with mask and prior, give the same."""
    metres = found(problem, "--corrupt", 0, "--prior", 2)
    problem.write_text(FILE.replace("variance = 50", "variance = 5000"))
    decimetres = found(problem, "--corrupt", 0, "--prior", 200)
    np.testing.assert_allclose(metres["excess"][1:], decimetres["excess"][1:], rtol=1e-10)
    assert "--prior" in found(problem)["notes"][0]
    assert metres["notes"] == []
    assert metres["prior"].endswith("as given")


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        (["--iterations", 7, "--channels", "encrypted"], {"seen": Transcript(7), "channels": "encrypted"}),
        (["--iterations", 3], {"seen": Transcript(3)}),
        (["--snapshot", 6], {"seen": Snapshot(6)}),
        (["--runs", 3], {"seen": Transcript(runs=3)}),
    ],
)
def test_schedule_theta_c_and_seed_are_those_of_the_file(
    problem: Path, arguments: list[object], setting: dict[str, Any]
) -> None:
    """The first and the third depend on all of them: with others the numbers would differ."""
    own: dict[str, Any] = {"schedule": sv.Asynchronous(), "theta": 0.7, "c": 0.8, "seed": 4}
    file = read_problem_file(problem)
    expected = audit(file.problem, mask=sv.GaussianMask(VARIANCE), corrupt={1}, **own, **setting).to_dict()
    out = found(problem, "--corrupt", "Bo", *arguments)
    assert {name: out[name] for name in expected} == expected
    if setting["seen"].iterations in (6, 7):
        for other in ({"theta": 0.5}, {"c": 0.3}, {"seed": 5}, {"schedule": sv.Synchronous()}):
            changed = audit(file.problem, mask=sv.GaussianMask(VARIANCE), corrupt={1}, **{**own, **other}, **setting)
            assert changed.to_dict()["leakage"] != expected["leakage"]


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_overlay_is_that_of_the_file(problem: Path, channels: str) -> None:
    problem.write_text(FILE.replace("c = 0.8\n", 'overlay = "tree"\n'))
    file = read_problem_file(problem)
    own: dict[str, Any] = {"schedule": sv.Asynchronous(), "theta": 0.7, "seed": 4, "overlay": "tree"}
    setting: dict[str, Any] = {"corrupt": {1}, "channels": channels, "seen": Transcript(9)}
    expected = audit(file.problem, mask=sv.GaussianMask(VARIANCE), **own, **setting).to_dict()
    out = found(problem, "--corrupt", "Bo", "--channels", channels, "--iterations", 9)
    assert {name: out[name] for name in expected} == expected
    assert "over a spanning tree, 5 of 7 edges (depth 2, root Cem)" in out["view"]
    page = problem.with_suffix(".md")
    assert sottovoce("audit", problem, "--delta", "1", "--statement", page).exit_code in (0, 1)
    assert "2 to 4 by edge, matched to the tree" in page.read_text()
    assert "messages over" in page.read_text()


def test_seed_takes_precedence(problem: Path) -> None:
    views = [found(problem, "--corrupt", 1, "--iterations", 4, *seed) for seed in ([], ["--seed", 4], ["--seed", 9])]
    assert views[0] == views[1] != views[2]


# Exit status


@pytest.mark.parametrize(
    ("edit", "arguments", "status", "line"),
    [
        (("= 50", "= 1e6"), ["--corrupt", "Fay"], 0, "SAFE: nobody is disclosed; the procedure adds "),
        (("", ""), ["--corrupt", "Fay"], 1, "WEAK: nobody is disclosed, but the procedure adds "),
        (("= 50", "= 1e6"), ["--corrupt", "Fay", "--delta", "1e-6"], 1, "WEAK: nobody is disclosed, but"),
        (("= 8", "= 8e6"), ["--corrupt", "Fay"], 1, "DISCLOSED in effect: of 5 of 5 honest parties less than 1 %"),
        (("", ""), ["--corrupt", "Fay", "--prior", "1e12"], 1, "DISCLOSED in effect: of 5 of 5 honest parties"),
        (("= 8", "= 8e6"), ["--corrupt", "Fay", "--prior", "1e-3"], 1, "WEAK: the procedure adds 4.3e-05 nats to "),
        (("", ""), ["--corrupt", "Eli"], 1, "DISCLOSED: 1 of 5 honest parties"),
        (("= 50", "= 1e6"), ["--max-corrupt", "0"], 0, "SAFE: nobody is disclosed; the procedure adds "),
        (("= 50", "= 1e6"), ["--published"], 0, "SAFE: nobody is disclosed; the procedure adds "),
        (("", ""), ["--published", "--channels", "encrypted"], 0, "SAFE: nobody is disclosed; the procedure adds 0 "),
        (("", ""), ["--max-corrupt", "1"], 1, "DISCLOSED: 1 of 6 parties"),
        (("", ""), ["--max-corrupt", "2"], 1, "DISCLOSED: 4 of 6 parties"),
        (
            ("", ""),
            ["--corrupt", "4", "--iterations", "0"],
            1,
            "DISCLOSED LATER: nobody yet; the answer will disclose 1 of",
        ),
        (("[mask]\nvariance = 50", ""), [], 1, "DISCLOSED: 6 of 6 parties"),
        (
            ("variance = 50", 'type = "modular"'),
            ["--corrupt", "Ada"],
            0,
            "SAFE: nobody is disclosed; the procedure add",
        ),
        (("variance", 'type = "uniform"\nvariance'), ["--corrupt", "Ada"], 1, "NOT ASSESSED"),
        (('"averaging"', '"huber"'), [], 1, "NOT ASSESSED"),
    ],
)
def test_the_verdict_is_the_first_line_and_the_exit_status(
    problem: Path, edit: tuple[str, str], arguments: list[str], status: int, line: str
) -> None:
    problem.write_text(FILE.replace(*edit, 1))
    result = sottovoce("audit", problem, *arguments)
    assert result.stderr == ""
    assert result.stdout.startswith(line)
    assert result.exit_code == status
    out = found(problem, *arguments)
    assert result.stdout.splitlines()[0] == out["headline"]
    assert (out["verdict"] == "safe") is out["safe"] is (status == 0)
    assert out["headline"].lower().startswith(out["verdict"])


def test_a_regression_has_no_guarantee(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    rows = "".join(f"[[cost.parties]]\nrows = [[{i}, 1.5, 2], [0.5, {i}, 1], [1, -{i}, 3]]\n" for i in (1, 2, 4))
    path.write_text(f'[network]\ngenerator = "ring"\n[cost]\ntype = "least_squares"\n{rows}[mask]\nvariance = 1e4\n')
    result = sottovoce("audit", path, "--delta", "1")
    assert result.exit_code == 1
    assert result.stdout.startswith("DISCLOSED: by an attack, data of 3 of 3 parties\n")
    assert "no mask makes a regression private" in " ".join(result.stdout.split())
    out = found(path, "--delta", "1")
    assert out["leakage"] == ["inf"] * 3
    assert out["calibrated"]["enough"] is False
    assert "regression" in out["calibrated"]["refused"]


def test_numbers_of_rows_are_data_unless_they_are_called_public(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    rows = "".join(f"[[cost.parties]]\nrows = {[[float(k)] for k in range(n)]}\n" for n in (5, 17, 2, 3))
    path.write_text(f'[network]\ngenerator = "ring"\n[cost]\ntype = "averaging"\n{rows}[mask]\nvariance = 1e8\n')
    result = sottovoce("audit", path, "--corrupt", "0", "--delta", "0.1")
    assert result.exit_code == 1
    assert result.stdout.startswith("DISCLOSED: by an attack, data of 3 of 3 honest parties\n")
    words = " ".join(result.stdout.split())
    assert "a mean over rows has Q = 2 x rows" in words
    assert "Q_1 = 34, Q_2 = 4, Q_3 = 6" in words
    assert "100 %" not in words  # of the values nothing is known: there is no table
    assert "--delta: no mask hides Hessians" in words
    public = found(path, "--corrupt", "0", "--public-hessians", "--prior", "1")
    assert (public["guarantee"], set(public["flags"])) == ("exact", {"prior"})  # of 0, 1, 2, ... 16
    public = found(path, "--corrupt", "0", "--public-hessians")
    assert (public["guarantee"], public["flags"]) == ("exact", {})
    assert found(path, "--public-hessians", "--max-corrupt", "1", "--delta", "0.5")["calibrated"]["variance"] > 0


def test_without_a_mask_the_report_says_so(problem: Path) -> None:
    problem.write_text(FILE.split("[mask]")[0])
    out = found(problem)
    assert out["mask"] == "no mask"
    assert "z(0) = 0 hides nothing" in out["flags"]["no mask"]


def test_the_mask_that_delta_asks_for_is_enough_when_written_down(ring: Path) -> None:
    result = sottovoce("audit", ring, "--max-corrupt", 1, "--delta", "0.004")
    assert result.exit_code == 1
    words = " ".join(result.stdout.split())
    assert "That of the file is NOT enough; write variance = " in words
    needed = re.search(r"write variance = (\S+) or more", words)
    assert needed is not None
    ring.write_text(RING.replace("variance = 50", f"variance = {needed[1]}"))
    result = sottovoce("audit", ring, "--max-corrupt", 1, "--delta", "0.004")
    assert result.exit_code == 0
    assert "That of the file is enough." in " ".join(result.stdout.split())
    out = found(ring, "--max-corrupt", 1, "--delta", "0.004")
    assert max(out["excess"]) <= 0.004
    assert out["calibrated"]["variance"] <= float(needed[1]) <= 1.01 * out["calibrated"]["variance"]  # three digits
    assert out["calibrated"]["excess"] == pytest.approx(0.004, rel=1e-4)  # calibrate brackets the variance to 1e-6
    assert out["calibrated"]["smallest"] is True
    assert out["calibrated"]["holds_for"].startswith("c up to ")
    two_runs = ["--max-corrupt", 1, "--delta", "0.004", "--runs", 2]
    assert sottovoce("audit", ring, *two_runs).exit_code == 1  # which halve the noise


def test_delta_that_no_mask_can_keep_is_a_finding(problem: Path) -> None:
    problem.write_text(FILE.replace("= 50", "= 1e6"))
    result = sottovoce("audit", problem, "--corrupt", "Ada", "--delta", "0.1")
    assert result.exit_code == 1  # although Ada herself discloses nobody
    assert result.stdout.startswith("SAFE: nobody is disclosed")
    assert "--delta: no mask can do it: node Fay has 1 neighbour" in " ".join(result.stdout.split())


# Bad input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--corrupt", "Dinah"], "corrupt names 'Dinah', which is no party of {path}; did you mean 'Dina'?"),
        (["--corrupt", "cem"], "corrupt names 'cem', which is no party of {path}; did you mean 'Cem'?"),
        (["--corrupt", "0,6"], "corrupt names '6', which is no party of {path}; {names}, or 0 .. 5."),
        (["--corrupt", "-1"], "corrupt names '-1', which is no party of {path}; {names}, or 0 .. 5."),
        (["--corrupt", ""], "corrupt names '', which is no party of {path}; {names}, or 0 .. 5."),
        (["--corrupt", "0,1,2,3,4,Fay"], "all 6 nodes are corrupt: nobody is left to protect. Name fewer."),
        (
            ["--corrupt", "0", "--max-corrupt", "1"],
            "give one of --corrupt and --max-corrupt: each says who is corrupt.",
        ),
        (["--max-corrupt", "6"], "max_corrupt must be an integer in 0 .. 5; got 6."),
        (["--published", "--snapshot", "1"], "--published is of a whole run: leave --snapshot out."),
        (["--iterations", "1", "--snapshot", "1"], "give one of --iterations and --snapshot: each says what is seen."),
        (["--delta", "0"], "delta must be a positive number of nats; got 0.0."),
        (["--delta", "nan"], "delta must be a positive number of nats; got nan."),
        (["--prior", "-2"], "variances of the prior must be positive; got -2."),
        (["--prior", "inf"], "prior must be finite."),
    ],
)
def test_bad_input_is_one_sentence_and_exit_status_2(problem: Path, arguments: list[str], sentence: str) -> None:
    result = sottovoce("audit", problem, *arguments, "--plot", problem.with_name("out.png"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {sentence.format(path=problem, names='they are Ada, Bo, Cem, Dina, Eli, Fay')}\n"
    assert os.listdir(problem.parent) == ["six.toml"]


@pytest.mark.parametrize(
    "arguments",
    ["--runs 0", "--channels closed", "--max-corrupt -1", "--delta x", "--snapshot -1", "--iterations -1", "--seed -1"],
)
def test_wrong_options_are_exit_status_2(problem: Path, arguments: str) -> None:
    result = sottovoce("audit", problem, *arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert arguments.split()[0] in result.stderr


def test_help() -> None:
    result = sottovoce("audit", "--help")
    assert result.exit_code == 0
    for words in (
        "Examples:",
        "sottovoce audit problem.toml --corrupt 0,3",
        "Exit status: 0 safe: nobody is disclosed",
    ):
        assert words in result.stdout


# For people


def test_the_table_is_worst_first_and_corrupt_last(problem: Path) -> None:
    lines = sottovoce("audit", problem, "--corrupt", "Eli").stdout.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("party"))
    assert lines[at - 1].split() == ["added", "by", "told", "by", "interval"]
    assert lines[at].split() == ["party", "role", "the", "procedure", "the", "result", "both", "narrower", "by"]
    rows = [line.split() for line in lines[at + 1 : at + 7]]
    out = found(problem, "--corrupt", "Eli")
    order = sorted((0, 1, 2, 3), key=lambda i: -out["excess"][i])
    assert [row[0] for row in rows] == ["Fay", *(out["parties"][i] for i in order), "Eli"]
    assert rows[0][1:] == ["DISCLOSED", "all", "all", "all", "100", "%"]
    assert rows[-1][1:] == ["corrupt", "-", "-", "-", "-"]
    worst = order[0]
    assert rows[1][1:5] == ["honest", *(f"{out[name][worst]:.3g}" for name in ("excess", "floor", "leakage"))]
    assert float(rows[1][5]) == pytest.approx(100 * out["narrower"][worst], rel=5e-3)  # three digits are printed
    left = out["posterior_std"][worst][0] / out["prior_std"][worst][0]
    assert out["narrower"][worst] == pytest.approx(1 - left, rel=1e-9)  # of one number: the same thing


def test_the_worst_coalition_is_in_the_table(problem: Path) -> None:
    lines = sottovoce("audit", problem, "--max-corrupt", 1).stdout.splitlines()
    assert next(line for line in lines if line.startswith("party")).split()[-2:] == ["worst", "coalition"]
    assert next(line for line in lines if line.startswith("Fay")).split()[-1] == "Eli"


def test_the_verdict_on_worst_cases_is_no_less_than_any_coalition() -> None:
    """Nodes 2 and 3 cut this graph: who learns most of a node in all is not who learns most beyond the answer."""
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 3)]
    problem, mask = sv.averaging(sv.Network.from_edges(8, edges), np.zeros(8)), sv.GaussianMask(100)
    said = headline(audit(problem, mask=mask, against=Worst(1), c=1.0))
    adds = max(np.nanmax(audit(problem, mask=mask, corrupt={i}, c=1.0).excess) for i in range(8))
    assert f"the procedure adds {adds:.2g} nats" in said


def test_long_tables_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    path.write_text(f'[network]\ngenerator = "ring"\n[cost]\ntype = "averaging"\nvalues = {list(range(31))}\n')
    result = sottovoce("audit", path)
    assert "... and 6 more; --json prints all" in result.stdout
    assert len(re.findall(r"^\d+ +DISCLOSED ", result.stdout, re.MULTILINE)) == 25
    assert len(found(path)["leakage"]) == 31


def test_names_are_printed_as_they_are(problem: Path) -> None:
    problem.write_text(FILE.replace('"Fay"', '"[red]$x$ :smile:"').replace("Fay =", '"[red]$x$ :smile:" ='))
    result = sottovoce("audit", problem, "--corrupt", "Eli", "--plot", problem.with_name("out.svg"))
    assert result.exit_code == 1
    assert result.stdout.count("[red]$x$ :smile:") >= 2
    assert "[red]$x$ :smile:" in problem.with_name("out.svg").read_text()


class Terminal(io.StringIO):
    """A terminal that is looked at until it shows something."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count

    def shows(self, words: str) -> bool:
        while words not in self.getvalue():
            self.written.clear()
            if words not in self.getvalue() and not self.written.wait(timeout=20):
                return False
        return True


def test_a_long_audit_says_what_it_does_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "SPINNER_AFTER", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with terminal.spinner("auditing ...", quiet=False) as progress:
        assert screen.shows("auditing ...")
        assert isinstance(progress, Line)
        progress.tell("auditing: 7 of 8 coalitions")
        assert screen.shows("7 of 8")
        tell("3 of 9 numbers")
        assert screen.shows("auditing ... 3 of 9 numbers")
    tell("nobody listens any more")
    assert "nobody" not in screen.getvalue()
    monkeypatch.setattr(terminal, "SPINNER_AFTER", 3600.0)
    quiet = Terminal()
    monkeypatch.setattr(sys, "stderr", quiet)
    with terminal.spinner("auditing ...", quiet=False):
        pass
    assert quiet.getvalue() == ""


# The table [mask]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("variance = 7", sv.GaussianMask(7.0)),
        ('type = "gaussian"\nvariance = 7', sv.GaussianMask(7.0)),
        ('type = "uniform"\nvariance = 7', UniformMask(7.0)),
        ('type = "modular"', sv.ModularMask()),
        ('type = "modular"\nbits = 20', sv.ModularMask(20)),
    ],
)
def test_types_of_masks(problem: Path, mask: str, expected: object) -> None:
    problem.write_text(FILE.replace("variance = 50", mask))
    assert read_problem_file(problem).options["mask"] == expected
    out = json.loads(sottovoce("solve", problem, "--json").stdout)
    assert out["answer"]["x"] == pytest.approx(21 / 6, rel=1e-7)


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ('type = "modulo"', "line 12: [mask] type = 'modulo' is not known; did you mean 'modular'?"),
        ('type = "modular"\nvariance = 7', 'line 13: [mask] variance has no meaning with type = "modular". Remove it.'),
        ('type = "modular"\nbits = 60', "line 13: [mask] bits must be an integer in 2 .. 52; got 60."),
        ('type = "modular"\nbits = 2.5', "line 13: [mask] bits must be a whole number; got 2.5."),
        ('type = "uniform"', "[mask] variance is missing."),
        ('type = "uniform"\nvariance = 0', "line 13: [mask] variance must be a positive number; got 0"),
        ("variance = 7\nbits = 20", 'line 13: [mask] bits has no meaning with type = "gaussian". Remove it.'),
    ],
)
def test_mistakes_in_the_mask(problem: Path, mask: str, sentence: str) -> None:
    problem.write_text(FILE.replace("variance = 50", mask))
    result = sottovoce("audit", problem)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_the_page_names_every_type_of_mask() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "problem-file.md").read_text(encoding="utf-8")
    section = page.split("\n## `[mask]`")[1].split("\n## ")[0]
    assert all(f'`"{name}"`' in section for name in MASKS)


# The picture


def test_the_picture_is_written_whole_or_not_at_all(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = problem.with_name("leak.png")
    assert sottovoce("audit", problem, "--corrupt", 4, "--plot", path).exit_code == 1
    whole = path.read_bytes()
    assert whole.startswith(b"\x89PNG\r\n\x1a\n")
    assert whole.endswith(b"IEND\xaeB`\x82")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    result = sottovoce("audit", problem, "--corrupt", 4, "--plot", path)
    assert result.exit_code == 2
    assert "DISCLOSED" in result.stdout  # the answer is not lost
    assert "leak.png cannot be written: disk full." in result.stderr
    assert path.read_bytes() == whole
    assert sorted(os.listdir(problem.parent)) == ["leak.png", "six.toml"]


def test_a_picture_that_cannot_be_written_is_refused_before_the_audit(
    problem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sv.privacy, "audit", lambda *_, **__: pytest.fail("the audit was started"))
    result = sottovoce("audit", problem, "--plot", problem.with_name("leak.gif"))
    assert result.exit_code == 2
    assert "the name must end in .png, .pdf or .svg." in result.stderr


def drawn(path: Path, report: sv.privacy.Report) -> str:
    report.plot(path / "leak.svg")
    return (path / "leak.svg").read_text()


def test_pictures_say_what_they_show(tmp_path: Path) -> None:
    file = tmp_path / "six.toml"
    file.write_text(FILE)
    problem, mask = read_problem_file(file).problem, sv.GaussianMask(VARIANCE)
    bar, red = "added by the procedure (nats)", report_picture.RED.lower()

    cut = drawn(tmp_path, audit(problem, mask=mask, corrupt={2}))
    for words in (bar, ">honest<", ">corrupt<", "a group whose sum is disclosed", "Against corrupt party Cem", ">Fay<"):
        assert words in cut
    assert red not in cut.lower()

    disclosed = drawn(tmp_path, audit(problem, mask=mask, corrupt={4}))
    assert ">disclosed exactly<" in disclosed
    assert red in disclosed.lower()

    zero = drawn(tmp_path, audit(problem, mask=sv.ModularMask(), corrupt={2}))
    assert "honest, nothing added" in zero
    assert bar not in zero

    nothing = drawn(tmp_path, audit(problem, mask=UniformMask(VARIANCE), corrupt={0}))
    assert ">not assessed<" in nothing
    assert bar not in nothing

    worst = drawn(tmp_path, audit(problem, mask=mask, against=Worst(1)))
    assert "Against the worst coalition of at most 1 for each party" in worst
    assert ">corrupt<" not in worst


@pytest.mark.parametrize(
    "excess", [np.full(1000, 2e-4), np.zeros(1000), np.geomspace(1e-15, 3, 1000), np.r_[np.zeros(999), 0.1]]
)
def test_a_thousand_nodes_of_any_excess_can_be_drawn(tmp_path: Path, excess: np.ndarray) -> None:
    network = sv.Network.grid(25, 40)
    small = audit(sv.averaging(sv.Network.ring(4), np.zeros(4)), mask=sv.GaussianMask(9.0), c=1.0)
    one, zero = np.ones((1000, 1)), np.zeros(1000)
    report = replace(
        small, network=network, leakage=excess, floor=zero, excess=excess, prior_std=one, posterior_std=one
    )
    text = drawn(tmp_path, report)
    assert "1000 parties, 1935 edges" in text
    assert ("added by the procedure (nats)" in text) == bool(np.ptp(excess))  # one value needs no scale
    assert ("honest, 0.0002 nats added" in text) == (excess[0] == 2e-4)


def test_colours_span_the_excess_and_no_more_than_six_decades() -> None:
    norm = report_picture._log_norm(np.array([1e-3, 4e-3, 0.1]))
    assert (norm.vmin, norm.vmax) == (1e-3, 0.1)
    norm = report_picture._log_norm(np.array([0.0, 1e-12, 2.0]))
    assert (norm.vmin, norm.vmax) == (2e-6, 2.0)
    norm = report_picture._log_norm(np.full(3, 0.5))
    assert np.allclose((norm.vmin, norm.vmax), (0.5 / np.sqrt(2), 0.5 * np.sqrt(2)), rtol=1e-15)  # a factor of two
