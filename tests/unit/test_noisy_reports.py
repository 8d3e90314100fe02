"""What a report on a run with local noise says: numbers that are known beforehand, sentences that must be true,
verdicts, files and the command line. Against the oracle: ``tests/equivalence/test_noisy_audit.py``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.legend import Legend
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.data.problem_file import read_problem_file
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.pdmm.masks import UniformMask
from sottovoce.privacy import Snapshot, Transcript, Worst, audit, statement
from sottovoce.privacy.answers.indistinguishable import delta, epsilon
from sottovoce.privacy.answers.several_agreements import added
from sottovoce.privacy.answers.statement_page import to_markdown
from sottovoce.privacy.research import CorrelatedPads

# Two triangles that meet in 2, and a leaf at 5: the corrupt cut vertex 2 leaves {0, 1} and {3, 4, 5}; 4 isolates 5.
NETWORK = sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5)])
PROBLEM = sv.averaging(NETWORK, np.zeros(6))
MASK, NOISE = sv.GaussianMask(1e6), sv.LocalNoise(0.5)


# Numbers


def test_pads_with_noise_go_below_the_floor():
    """A geometric graph of ten, one corrupt, taps: an error of 0.091 leaves 0.03 nats, and 0.37 without pads."""
    network = sv.Network.random_geometric(10, seed=1)
    problem, noise = sv.averaging(network, np.zeros(10)), sv.LocalNoise(0.91)
    exact = audit(problem, sv.GaussianMask(1e6), corrupt={0})
    both = audit(problem, sv.GaussianMask(1e6), noise=noise, corrupt={0})
    alone = audit(problem, noise=noise, corrupt={0})
    assert np.nanmax(exact.leakage) == pytest.approx(0.0589, abs=5e-5)
    assert np.nanmax(both.leakage) == pytest.approx(0.0300, abs=5e-5)
    np.testing.assert_allclose(alone.leakage[1:], 0.5 * np.log1p(1 / 0.91), rtol=1e-12)


@pytest.mark.parametrize("t", [1e-3, 0.4, 30.0])
def test_behind_a_large_mask_the_noisy_answer_is_left(t):
    """``R^2 -> 1/(n_k (1 + t/ss))``, component by component."""
    report = audit(PROBLEM, sv.GaussianMask(1e13), noise=sv.LocalNoise(t), corrupt={2}, prior=2.0)
    for group in ([0, 1], [3, 4, 5]):
        np.testing.assert_allclose(report.share[group], 1 / (len(group) * (1 + t / 2)), rtol=1e-9)
        np.testing.assert_allclose(report.floor[group], report.leakage[group], rtol=1e-8)


def test_noise_that_is_nearly_nothing_changes_nearly_nothing():
    mask = sv.GaussianMask(10.0)
    without, hardly = audit(PROBLEM, mask, corrupt={2}), audit(PROBLEM, mask, noise=sv.LocalNoise(1e-9), corrupt={2})
    np.testing.assert_allclose(hardly.leakage, without.leakage, rtol=1e-7)


def test_noise_so_small_that_it_hides_nothing_is_no_privacy():
    """10 nats of an isolated party, of anybody without a mask: disclosed in effect."""
    tiny = sv.LocalNoise(1e-9)
    for report in (audit(PROBLEM, MASK, noise=tiny, corrupt={4}), audit(PROBLEM, noise=tiny, c=0.5)):
        assert report.leakage[5] == pytest.approx(0.5 * np.log1p(1e9), rel=1e-9)
        assert report.verdict() == "disclosed"
        assert "DISCLOSED in effect" in repr(report)
        assert report.mu[5] == pytest.approx(1e9**0.5, rel=1e-6)


def test_noise_so_large_that_nothing_is_left():
    report = audit(PROBLEM, noise=sv.LocalNoise(1e12), c=0.5)
    np.testing.assert_allclose(report.leakage, 0.5e-12, rtol=1e-6)
    assert report.verdict() == "safe"


def test_chosen_nodes_of_a_large_network_are_those_of_all():
    problem = sv.averaging(sv.Network.grid(12, 12), np.zeros(144))
    for who in ({"corrupt": {0, 13}}, {"c": 0.5}):
        every = audit(problem, sv.GaussianMask(100.0), noise=NOISE, **who)
        some = audit(problem, sv.GaussianMask(100.0), noise=NOISE, nodes=[1, 50, 143], **who)
        np.testing.assert_allclose(some.leakage[[1, 50, 143]], every.leakage[[1, 50, 143]], rtol=1e-9)
        np.testing.assert_allclose(some.excess[[1, 50, 143]], every.excess[[1, 50, 143]], rtol=1e-6)


def test_correlated_pads():
    """By elimination; independent ones in this dress give what the closed form gives."""
    pads = CorrelatedPads(40 * np.eye(14))
    report, same = (audit(PROBLEM, mask, noise=NOISE, corrupt={2}, c=0.5) for mask in (pads, sv.GaussianMask(40.0)))
    np.testing.assert_allclose(report.leakage, same.leakage, rtol=1e-9)
    assert report.mu is None


def test_the_prior_is_that_of_the_data_before_the_noise():
    problem = sv.averaging(NETWORK, [3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    report = audit(problem, MASK, noise=sv.LocalNoise(1e6), corrupt={2})
    np.testing.assert_allclose(report.prior_std, np.sqrt(133 / 6), rtol=1e-12)
    assert "taken from the data" in report.prior
    assert "prior" in audit(problem, MASK, noise=sv.LocalNoise(1e6), corrupt={2}, prior=1.0).flags


# Differential privacy


@pytest.mark.parametrize("mu", [0.05, 0.4, 1.0, 3.0])
def test_delta_is_the_integral_of_the_privacy_loss(mu):
    """``E (1 - e^(eps - L))_+`` over the loss ``L = ln p/q`` of ``N(mu, 1)`` against ``N(0, 1)``, by quadrature."""
    for eps in (0.0, 0.1, 1.0, 4.0):

        def above(x: float, eps: float = eps) -> float:
            loss = norm.logpdf(x, mu) - norm.logpdf(x)
            return float(norm.pdf(x, mu) * max(0.0, -np.expm1(eps - loss)))

        kink = eps / mu + mu / 2
        whole = sum(quad(above, *ends, epsabs=1e-13)[0] for ends in ((kink - 30, kink), (kink, kink + 30)))
        assert delta(mu, eps) == pytest.approx(whole, abs=1e-11)
        if delta(mu, eps) > 1e-12:
            assert epsilon(mu, delta(mu, eps)) == pytest.approx(eps, abs=1e-6)


def test_delta_of_a_report_is_that_of_the_transcripts():
    """A triangle, one corrupt: the view is two numbers, and the two densities are summed over the plane."""
    t, v = 0.3, 8.0
    report = audit(sv.averaging(sv.Network.complete(3), np.zeros(3)), sv.GaussianMask(v), noise=sv.LocalNoise(t),
                   corrupt={2}, prior=1.0)  # fmt: skip
    C = t * np.eye(2) + v / 8 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    axis = np.linspace(-8, 8, 801)
    plane = np.stack(np.meshgrid(axis, axis), axis=-1)
    p, q = (multivariate_normal(mean, C).pdf(plane) for mean in ([1.0, 0.0], [0.0, 0.0]))
    for eps in (0.0, 0.5, 2.0):
        summed = np.maximum(p - np.exp(eps) * q, 0).sum() * (axis[1] - axis[0]) ** 2
        np.testing.assert_allclose(report.delta(eps)[:2], summed, atol=1e-5)  # steps of 0.02
    assert np.isnan(report.delta(1.0)[2])


def test_delta_at_its_ends_and_of_what_is_none():
    assert (delta(0.0, 1.0), delta(np.inf, 1.0)) == (0.0, 1.0)
    assert np.isnan(delta(np.nan, 1.0))
    for eps in (-0.1, np.nan, np.inf, "1", None):
        with pytest.raises(InvalidInput, match="epsilon of differential privacy must be a number >= 0"):
            delta(1.0, eps)
    assert audit(PROBLEM, MASK, corrupt={0}, seen=Snapshot(1), c=0.5).delta(1.0) is None


# Sentences


def test_no_sentence_claims_that_an_exact_sum_is_disclosed():
    report = audit(PROBLEM, MASK, noise=NOISE, corrupt={2})
    text = report.summary()
    assert "Learned exactly, whatever the mask: the sum, noise included, over each of {0, 1}; {3, 4, 5}." in text
    assert "the sum of each, noise included, is disclosed" in report.flags["cut"]
    assert "Gaussian pads of variance 1e+06 and local noise of variance 0.5" in text
    assert "that differ at party" in text
    assert "so that the result is the same" not in text
    assert "given the sums" not in text
    assert "differential privacy: epsilon" in text
    without = audit(PROBLEM, MASK, corrupt={2}).summary()
    assert "noise" not in without.replace("divide the noise", "")
    assert "given the sums" in without
    weighted = sv.Problem(NETWORK, sv.Quadratic.many(np.arange(1.0, 7), np.zeros((6, 1))))
    said = audit(weighted, MASK, noise=NOISE, corrupt={0}, hessians="public").summary()
    assert "the sum of Q_j s_j, secrets times their curvatures, noise included, over the honest parties" in said


def test_an_isolated_party_is_not_disclosed():
    report, without = (audit(PROBLEM, MASK, noise=noise, corrupt={4}) for noise in (NOISE, None))
    assert without.exposed == (5,)
    assert report.exposed == report.doomed == ()
    assert report.flags["isolated"].endswith("their noise is all that hides them, at any mask.")
    assert "No party is disclosed exactly." in report.sentences()
    assert report.posterior_std[5, 0] == pytest.approx(np.sqrt(0.5 / 1.5))  # 1/(1 + 1/t)
    assert report.verdict() == "safe"  # what it tells, the noisy result tells
    soon = audit(PROBLEM, MASK, noise=NOISE, corrupt={4}, seen=Transcript(0))
    assert soon.doomed == ()
    assert soon.leakage[5] == 0


def test_without_a_mask_the_noise_is_what_hides():
    report = audit(PROBLEM, noise=NOISE, c=0.5)
    assert list(report.flags) == ["no mask"]
    assert "noisy numbers away, and the noise on them is all that hides its data" in report.flags["no mask"]
    assert report.exposed == ()
    assert "stays hidden" not in report.summary()  # the result does not
    assert "no mask and local noise of variance 0.5" in report.mask
    assert "stays hidden" in audit(PROBLEM, noise=NOISE, channels="encrypted").summary()


def test_repeated_runs_average_both():
    many = audit(PROBLEM, sv.GaussianMask(50.0), noise=NOISE, corrupt={2}, seen=Transcript(runs=5))
    once = audit(PROBLEM, sv.GaussianMask(10.0), noise=sv.LocalNoise(0.1), corrupt={2})
    np.testing.assert_allclose(many.leakage, once.leakage, rtol=1e-12)
    np.testing.assert_allclose(many.mu, once.mu, rtol=1e-12)
    assert "a mask of variance 10, and noise of 0.1" in many.flags["repeated runs"]
    assert many.mask.endswith("local noise of variance 0.5, 5 runs")


def test_for_machines_and_on_paper():
    report = audit(PROBLEM, MASK, noise=NOISE, corrupt={2})
    found = json.loads(json.dumps(report.to_dict()))
    assert (found["noise"], found["mu_given_sums"]) == (0.5, False)
    other = audit(PROBLEM, MASK, corrupt={2}).to_dict()
    assert (other["noise"], other["mu_given_sums"]) == (None, True)
    assert "noise included" in report._repr_html_()
    labels = [text.get_text() for legend in report.plot().findobj(Legend) for text in legend.get_texts()]
    assert "a group whose noisy sum is disclosed" in labels
    for page, exact in ((report, False), (audit(PROBLEM, MASK, corrupt={2}), True)):
        text = to_markdown(statement(page, subject="six parties"))
        assert ("it is exact, and one person may be visible" in text) is exact
        assert ("adds random noise to its own numbers first" in text) is not exact
    worst = to_markdown(statement(audit(PROBLEM, MASK, noise=NOISE, against=Worst(1), c=0.5), subject="six"))
    assert "learns, whatever the mask, the sum, noise included, over each connected group" in worst
    bare = to_markdown(statement(audit(PROBLEM, noise=NOISE, c=0.5), subject="six"))
    assert "that cancel out of the result" not in bare
    with pytest.raises(InvalidInput, match="different noise, cannot be added up"):
        added([report, audit(PROBLEM, MASK, corrupt={2})])
    assert added([report, report]).noise == NOISE


def test_what_no_noise_hides_is_not_certified_by_it():
    """Curvatures that differ are data, unless somebody says that they are public."""
    weighted = sv.Problem(NETWORK, sv.Quadratic.many(np.arange(1.0, 7), np.zeros((6, 1))))
    report = audit(weighted, MASK, noise=NOISE, c=1.0)
    assert report.guarantee == "none"
    assert "hessians" in report.flags
    assert report.noise == NOISE
    np.testing.assert_allclose(report.attack.matrices[:, 0, 0], np.arange(1.0, 7), rtol=1e-6)


def test_what_has_no_exact_answer_is_refused():
    with pytest.raises(InvalidInput, match=r"noise must be sv.LocalNoise\(variance\), or None; got 0.5"):
        audit(PROBLEM, MASK, noise=0.5)
    with pytest.raises(Unsupported, match="not of integers, and ModularMask hides integers"):
        audit(PROBLEM, sv.ModularMask(), noise=NOISE)
    with pytest.raises(Unsupported, match="uniform pads have no certificate"):
        audit(PROBLEM, UniformMask(1.0), noise=NOISE)
    with pytest.raises(Unsupported, match="which fresh noise in every run hides"):
        audit(PROBLEM, MASK, noise=NOISE, seen=Transcript(runs=2, pads="reused"))
    with pytest.raises(Unsupported, match="this prior couples them"):
        audit(PROBLEM, MASK, noise=NOISE, prior=np.eye(6) + 0.1)
    assert audit(PROBLEM, MASK, noise=NOISE, prior=np.eye(6), corrupt={0}).guarantee == "exact"
    with pytest.raises(Unsupported, match="local noise is for quadratic costs"):
        audit(sv.Problem(NETWORK, sv.AbsoluteDeviation.many(np.zeros(6))), MASK, noise=NOISE)
    statistic = sv.private_mean(NETWORK, np.arange(6.0))
    with pytest.raises(Unsupported, match="not of integers, and ModularMask hides integers"):
        statistic.audit(noise=NOISE)


# Files, and the command line

FILE = """[network]
edges = [["Ada", "Bo"], ["Bo", "Cem"], ["Ada", "Cem"], ["Cem", "Dina"]]
[cost]
type = "averaging"
values = { Ada = 3, Bo = -1, Cem = 8, Dina = 4 }
[pdmm]
c = 0.8
seed = 4
[mask]
variance = 1e6
[noise]
variance = 0.5
"""


def sottovoce(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(FILE)
    return path


def test_a_problem_file_has_noise(file: Path):
    read = read_problem_file(file)
    assert read.options["noise"] == NOISE
    result = sv.solve(read.problem, **read.options)
    np.testing.assert_allclose(result.x, 3.5 + NOISE.draw((4, 1), 4).mean(), atol=1e-6)


def test_solve_prints_that_the_answer_is_noisy(file: Path):
    words = " ".join(sottovoce("solve", file).stdout.split())
    assert "noise of variance 0.5 on every number of every party: the answer is off by it; from a seed" in words
    assert "from the pooled answer of exact data" in words
    found = json.loads(sottovoce("solve", file, "--json").stdout)
    assert found["noise"] == 0.5
    assert 1e-3 < found["check"]["max_error"] < 2
    file.write_text(FILE.replace("[mask]\nvariance = 1e6\n", ""))
    assert "no mask: the noise alone hides the data" in " ".join(sottovoce("solve", file).stdout.split())


def test_audit_counts_it(file: Path):
    printed = sottovoce("audit", file, "--corrupt", "Cem")
    assert printed.exit_code == 0  # Dina is isolated, and has her noise
    assert "local noise of variance 0.5" in " ".join(printed.stdout.split())
    found = json.loads(sottovoce("audit", file, "--corrupt", "Cem", "--json").stdout)
    read = read_problem_file(file)
    report = audit(read.problem, sv.GaussianMask(1e6), noise=NOISE, corrupt={"Cem"})
    assert found["leakage"][3] == pytest.approx(report.leakage[3])
    assert (found["noise"], found["verdict"]) == (0.5, "safe")
    bounded = json.loads(sottovoce("audit", file, "--corrupt", "Cem", "--delta", "0.001", "--json").stdout)
    assert bounded["calibrated"] is None
    assert any("for runs without noise only" in note for note in bounded["notes"])
    page = file.with_suffix(".md")
    assert sottovoce("audit", file, "--corrupt", "Cem", "--statement", page).exit_code == 0
    assert "local noise of variance 0.5" in page.read_text()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "variance = 0.5",
            "variance = 0",
            r"line 12: \[noise\] variance of the noise must be a positive number",
        ),
        ("variance = 0.5", "", r"line 11: \[noise\] variance is missing"),
        ("variance = 0.5", "variance = true", r"\[noise\] variance must be a number; got True"),
        ("variance = 0.5", "variance = 1\nseed = 3", r"\[noise\] seed is not a known key"),
        ("variance = 1e6", 'type = "modular"', r"line 12: \[noise\] variance is not of integers"),
        ('type = "averaging"', 'type = "huber"', r"\[noise\] variance is for averaging and least_squares"),
        ("[noise]", "[nois]", r"\[nois\] is not a known table; did you mean 'noise'"),
        (
            '[cost]\ntype = "averaging"',
            '[statistic]\ntype = "mean"',
            r"line 6: \[pdmm\] is gone beside \[statistic\]: sums are exact, and hidden behind uniform pads",
        ),
    ],
)
def test_mistakes_have_a_sentence(file: Path, old: str, new: str, why: str):
    file.write_text(FILE.replace(old, new))
    result = sottovoce("audit", file)
    assert result.exit_code == 2
    assert re.search(why, " ".join(result.stderr.split()))
