"""Priors that come from the data, totals over agreements, and the statement for the file."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.errors import InvalidInput
from sottovoce.privacy import Snapshot, Transcript, Verdict, Worst, audit, statement, total, write_statement
from sottovoce.privacy.answers.statement_page import to_html, to_markdown
from sottovoce.privacy.answers.verdict import headline

RING = sv.Network.ring(6)
SMALL = {"mask": sv.GaussianMask(1.0), "c": 0.5}


# The prior


def test_a_run_that_hides_nothing_does_not_pass():
    """Values in the millions under a mask of variance 1: the default prior of 1 called it safe."""
    millions = audit(sv.averaging(RING, 1e6 * np.arange(1.0, 7)), **SMALL)
    assert millions.verdict() is Verdict.DISCLOSED
    assert headline(millions) == "DISCLOSED in effect: of 6 of 6 parties less than 1 % of the interval is left"
    assert audit(sv.averaging(RING, np.zeros(6)), **SMALL, prior=1e12).verdict() is Verdict.DISCLOSED
    assert audit(sv.averaging(RING, np.zeros(6)), **SMALL).verdict() is Verdict.WEAK
    assert audit(sv.averaging(RING, np.zeros(6)), mask=sv.GaussianMask(1e6), c=0.5).verdict() is Verdict.SAFE


def test_the_prior_is_the_mean_square_of_the_data():
    s = np.array([[1.0, 10.0], [-2, 10], [3, 10], [0, 10], [1, 10], [1, 10]])
    own = audit(sv.averaging(RING, s), **SMALL)
    assert np.all(own.prior_std == 10.0)  # of the entry where it is largest
    assert own.prior == "Gaussian secrets of variance 100, taken from the data (their mean square)"
    Q = np.array([1.0, 2, 3, 4, 5, 6])
    unequal = audit(sv.Problem(RING, sv.Quadratic.many(Q, -Q[:, None] * s[:, :1])), **SMALL, hessians="public")
    np.testing.assert_allclose(unequal.prior_std**2, (s[:, 0] ** 2).mean(), rtol=1e-12)
    matrices = Q[:, None, None] * np.array([[2.0, 1], [1, 3]])
    q = -np.einsum("kij,kj->ki", matrices, s)
    full = audit(sv.Problem(RING, sv.Quadratic.many(matrices, q)), **SMALL, hessians="public")
    np.testing.assert_allclose(full.prior_std**2, 100.0, rtol=1e-12)
    assert audit(sv.averaging(RING, np.zeros(6)), **SMALL).prior.endswith(
        "variance 1, assumed, as there are no data to take it from"
    )
    assert audit(sv.averaging(RING, s), **SMALL, prior=2.0).prior.endswith("variance 2, as given")


def test_data_larger_than_their_prior_are_flagged_and_not_called_safe():
    problem = sv.averaging(RING, np.full(6, 3.0))
    mask = {"mask": sv.GaussianMask(1e8), "c": 0.5}
    fits, small = audit(problem, **mask, prior=9 / 4), audit(problem, **mask, prior=9 / 4.1)
    assert "prior" not in fits.flags
    assert fits.verdict() is Verdict.SAFE
    assert small.flags["prior"].startswith("THE DATA ARE LARGER than the prior says: their mean square is 9,")
    assert small.flags["prior"] in small.sentences()
    assert small.verdict() is Verdict.WEAK
    assert headline(small).endswith("if the prior is right, but the data are larger than it says")


def test_a_verdict_needs_a_bound():
    report = audit(sv.averaging(RING, np.zeros(6)), **SMALL)
    assert report.verdict(100.0) is Verdict.SAFE
    for bad in (0.0, -1.0, np.nan, np.inf, True, "0.1"):
        with pytest.raises(InvalidInput, match="delta must be a positive number of nats"):
            report.verdict(bad)


def test_an_upper_bound_discloses_nobody_in_effect():
    report = audit(sv.averaging(RING, np.zeros(6)), **SMALL, prior=1e12)
    assert replace(report, guarantee="upper bound").verdict() is Verdict.WEAK


def test_with_unequal_curvatures_the_sum_is_weighted():
    Q = np.array([1.0, 2, 3, 4, 5, 6])
    report = audit(sv.Problem(RING, sv.Quadratic.many(Q, np.zeros((6, 1)))), **SMALL, corrupt={0}, hessians="public")
    assert "the sum of Q_j s_j, secrets times their curvatures, over the honest parties" in report.summary()
    assert "Q_j" not in audit(sv.averaging(RING, np.zeros(6)), **SMALL, corrupt={0}).summary()


def test_narrower_is_what_the_interval_loses():
    report = audit(sv.averaging(RING, np.zeros((6, 3))), **SMALL, corrupt={0})
    np.testing.assert_allclose(report.narrower[1:], 1 - report.posterior_std[1:, 0], rtol=1e-9)
    assert f"{100 * np.nanmax(report.narrower):.3g} % narrower" in report.summary()


# Statistics


def rows(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(size=(5, 2)) for _ in range(6)]


def test_exact_sums_add_nothing(rng):
    """Of the sum over the five honest parties each number is a fifth: that is the floor, and all there is."""
    found = sv.private_variance(RING, rows(rng))
    (report,) = found.audit(corrupt={0})
    assert (report.guarantee, report.verdict()) == ("exact", Verdict.SAFE)
    assert report.mask == "uniform pads on the ring of the sums"
    assert np.all(report.excess[1:] == 0)
    np.testing.assert_allclose(report.floor[1:], -0.5 * np.log(1 - 1 / 5), rtol=1e-14)
    assert found.audit_total(corrupt={0}).summary() == report.summary()


def test_taps_alone_do_not_even_learn_the_total(rng):
    """A pad of its own lies on each thing that is said."""
    report = sv.private_mean(RING, rows(rng)).audit_total()
    assert report.setting().startswith("Against an eavesdropper, open channels, the whole transcript; uniform pads")
    assert "Nothing is learned exactly: without a corrupt party the result itself stays hidden" in report.summary()
    assert np.all(report.leakage == 0)


@pytest.mark.parametrize("variance", [0.1, 10.0, 1e6])
@pytest.mark.parametrize("corrupt", [(), {0}])
@pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")
def test_the_sum_bounds_what_two_runs_of_one_number_tell_together(rng, variance, corrupt):
    """``f(R)`` is concave: two runs are one of twice the information, and tell no more than twice as much."""
    problem = sv.averaging(RING, rng.normal(size=6))
    once, twice = (
        audit(problem, mask=sv.GaussianMask(variance), corrupt=corrupt, seen=Transcript(runs=R), c=0.5) for R in (1, 2)
    )
    assert np.nanmax(twice.excess - 2 * once.excess) <= 0
    if variance == 1e6:  # and nearly as much, where masks are large
        np.testing.assert_allclose(twice.excess, 2 * once.excess, rtol=1e-4)


def test_statistics_of_the_same_data_add_up(rng):
    data = rows(rng)
    mean, variance = sv.private_mean(RING, data), sv.private_variance(RING, data)
    both = total([mean, variance], corrupt={0})
    for name in ("floor", "excess", "leakage"):
        parts = [getattr(each.audit_total(corrupt={0}), name) for each in (mean, variance)]
        np.testing.assert_allclose(getattr(both, name), sum(parts), rtol=1e-14)
    assert (both.dim, both.guarantee, both.verdict()) == (2, "upper bound", Verdict.SAFE)
    assert "the sum over 2 agreements" in both.summary()
    other = sv.private_mean(sv.Network.complete(6), data)
    with pytest.raises(InvalidInput, match="on different networks cannot be added up"):
        total([mean, other])
    with pytest.raises(InvalidInput, match="nothing to add up"):
        total([])


# The statement


class Tags(HTMLParser):
    """Which tags there are, and that they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.outside += [str(value) for name, value in attrs if name in ("src", "href", "onload", "onclick")]
        if tag not in ("meta", "line", "circle", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and tag == self.open[-1]:
            self.open.pop()


NAMES = ["Ada", "<script>alert(1)</script>", "a|b*c_d`e", "Bo & Co", "x\ny", '"quoted"']


def named() -> sv.Network:
    return sv.Network.ring(6).with_labels(NAMES)


def test_the_statement_says_what_the_report_says():
    report = audit(sv.averaging(named(), np.zeros((6, 2))), mask=sv.GaussianMask(1e6), corrupt={0}, c=0.5)
    page = statement(
        report,
        subject="a test",
        revealed=["kwh", "peak"],
        parameters={"c": 0.5, "theta": 1},
        notes=["a remark"],
        today=datetime.date(2025, 1, 2),
    )
    text = to_markdown(page)
    assert text.startswith("# Statement on privacy\n\na test\n\n**SAFE: nobody is disclosed; the procedure adds ")
    for words in (
        "Against corrupt party Ada and taps on every channel, open channels, the whole transcript.",
        "taps read all that travels between any two parties",
        "A nat is a unit of information",
        "The table adds up the 2 numbers of a party.",
        "the sum over the honest parties",
        "The sums are those of: kwh; peak.",
        "when the run stops",
        "A published result: this counts it as known to the parties only.",
        "Further runs",
        "| c | 0.5 |",
        "| theta | 1 |",
        "| mask | Gaussian pads of variance 1e+06 |",
        "| channels | open |",
        "| bound on what is added | 0.01 nats |",
        "A remark.",
        "on 2025-01-02.",
        f"Made by sottovoce {sv.__version__}",
        "| told by the result (nats) | added (nats) | both (nats) | 95 % interval narrower by |",
    ):
        assert words in text, words
    assert re.search(rf"\| Bo &amp; Co \| {report.floor[3]:.3g} \| {report.excess[3]:.3g} \|", text)


def test_names_are_escaped_and_the_page_needs_nothing_from_outside():
    report = audit(sv.averaging(named(), np.zeros(6)), mask=sv.GaussianMask(1e6), corrupt={0}, c=0.5)
    page = statement(report, subject="<b>it</b>", revealed=["<i>kwh</i>"], notes=["<u>n</u>"])
    html, tags = to_html(page), Tags()
    tags.feed(html)
    assert tags.open == []
    assert not tags.seen & {"script", "b", "i", "u", "img", "link", "iframe"}
    assert tags.outside == []
    assert "http" not in html.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 3  # sentence, table, picture
    assert {"svg", "table", "circle", "rect"} <= tags.seen
    text = to_markdown(page)
    assert "<" not in text
    assert r"| a\|b\*c\_d\`e |" in text
    assert "x y" in text  # a name cannot break a row


def test_verdicts_are_on_top():
    corrupt = audit(sv.averaging(RING, np.zeros(6)), **SMALL, corrupt={1, 5})
    assert 'class="verdict disclosed">DISCLOSED: 1 of 4 honest parties' in to_html(statement(corrupt, subject="x"))
    logistic = sv.Problem(RING, [sv.Huber(float(i)) for i in range(6)])
    unknown = audit(logistic, mask=sv.GaussianMask(1e6), channels="encrypted")
    html = to_html(statement(unknown, subject="x", revealed=["kwh"]))
    assert 'class="verdict not-assessed">NOT ASSESSED' in html
    assert "kwh" not in html  # nothing is known to be learned as a sum only


def test_many_parties_and_any_layout():
    network = sv.Network.grid(10, 10)
    report = audit(sv.averaging(network, np.zeros(100)), mask=sv.GaussianMask(1e6), against=Worst(0), c=0.5)
    html = to_html(statement(report, subject="x"))
    assert "there are 70 more" in html
    assert html.count("<circle") == 101  # and one in the legend
    two = sv.Network.from_edges(2, [(0, 1)])
    report = audit(sv.averaging(two, np.zeros(2)), mask=sv.GaussianMask(1e6), c=0.5)
    assert "nan" not in to_html(statement(report, subject="x")).lower().replace("nano", "")


FILE = """[network]
generator = "ring"
[cost]
type = "averaging"
values = { Ada = 3, "<b>Bo" = -1, Cem = 8, Dina = 4 }
[pdmm]
c = 0.8
[mask]
variance = 1e6
"""


def test_the_command_writes_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "four.toml").write_text(FILE)
    for name in ("out.html", "out.MD"):
        arguments = ["audit", str(tmp_path / "four.toml"), "--corrupt", "Ada", "--statement", str(tmp_path / name)]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        text = (tmp_path / name).read_text()
        assert "SAFE" in text
        assert "four.toml: averaging between 4 parties" in text
        assert "&lt;b&gt;Bo" in text
        assert "The sums are those of: x." in text
    before = (tmp_path / "out.html").read_text()
    monkeypatch.setattr("sottovoce.files.atomic.os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    result = CliRunner().invoke(app, [*arguments[:-1], str(tmp_path / "out.html")])
    assert result.exit_code == 2
    assert "cannot be written: disk full" in result.stderr
    assert (tmp_path / "out.html").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["four.toml", "out.MD", "out.html"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("out.pdf", "the name must end in .html or .md."),
        ("out", "the name must end in .html or .md."),
        ("no/out.html", "no does not exist."),
        ("folder.md", "folder.md is a directory. Name a file in it."),
    ],
)
def test_what_could_not_be_written_is_refused_before_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str
):
    (tmp_path / "folder.md").mkdir()
    monkeypatch.setattr(sv.privacy, "audit", lambda *_, **__: pytest.fail("the audit was started"))
    result = CliRunner().invoke(app, ["audit", "four.toml", "--statement", str(tmp_path / name)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_the_library_writes_it_too(tmp_path: Path):
    report = audit(sv.averaging(RING, np.zeros(6)), **SMALL)
    write_statement(tmp_path / "out.html", statement(report, subject="x"))
    assert (tmp_path / "out.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(InvalidInput, match="must end in"):
        write_statement(tmp_path / "out.txt", statement(report, subject="x"))


def test_a_view_that_ends_before_the_answer_says_so():
    """A snapshot tells less than the result will: it is not "both", and nothing is learned exactly by it."""
    problem = sv.averaging(RING, np.zeros(6))
    snapshot = audit(problem, mask=sv.GaussianMask(1e6), corrupt={0}, seen=Snapshot(3), c=0.5)
    assert not snapshot.holds_answer
    assert snapshot.leakage[1] < snapshot.floor[1]
    said = snapshot.summary()
    assert "Learned exactly once the answer is there" in said
    assert "by what is seen so far" in said
    assert "A snapshot understates" in said
    assert "seen so far (nats)" in to_markdown(statement(snapshot, subject="one iteration"))
    whole = audit(problem, mask=sv.GaussianMask(1e6), corrupt={0}, c=0.5).summary()
    assert "by both together" in whole
    assert "understates" not in whole


def test_a_published_result_is_there_however_little_was_seen():
    asleep = {"schedule": sv.Trace([0, 1]), "mask": sv.GaussianMask(1e6), "c": 0.5}
    assert audit(sv.averaging(RING, np.zeros(6)), **asleep, seen=Transcript(answer="public")).holds_answer
    assert not audit(sv.averaging(RING, np.zeros(6)), **asleep).holds_answer


def test_what_an_attack_took_is_no_number():
    Q = np.array([1.0, 2, 3, 4, 5, 6])
    report = audit(
        sv.Problem(RING, sv.Quadratic.many(Q, np.zeros((6, 1)))), mask=sv.GaussianMask(1e6), corrupt={0}, c=2
    )
    text = to_markdown(statement(report, subject="rows"))
    assert "DISCLOSED: by an attack, data of 5 of 5 honest parties" in text
    assert "DISCLOSED exactly, in what the attack recovered: 1, 2, 3, 4, 5" in text
    assert "Not known: there is no guarantee." in text
    assert "100 %" not in text


def test_a_worst_case_says_how_many_may_be_corrupt():
    worst = audit(sv.averaging(sv.Network.star(5), np.zeros(5)), mask=sv.GaussianMask(1e6), against=Worst(1), c=0.5)
    assert worst.setting().startswith(
        "Against the worst coalition of at most 1 for each party and taps on every channel"
    )
    assert headline(worst) == "DISCLOSED: 4 of 5 parties, if the worst of the others are corrupt"
    nobody = audit(sv.averaging(RING, np.zeros(6)), mask=sv.GaussianMask(1e6), against=Worst(0), c=0.5)
    assert nobody.setting().startswith("Against an eavesdropper, ")


@pytest.mark.parametrize("delta", [0, 1, -1, 2, np.nan, "x", True])
def test_epsilon_needs_a_delta_between_0_and_1(delta):
    """At 0 it is infinite, for Gaussians: no number must come out."""
    report = audit(sv.averaging(RING, np.zeros(6)), mask=sv.GaussianMask(1e6), corrupt={0}, c=0.5)
    with pytest.raises(InvalidInput, match="delta of differential privacy must lie between 0 and 1; got"):
        report.epsilon(delta)


def test_a_total_is_of_statistics():
    with pytest.raises(InvalidInput, match=r"results such as that of sv.private_mean; got 3"):
        total([3])
