"""Where parts of the auditor meet: prefixes and answers, sizes beyond float64, unlucky primes, odd names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.privacy import Coalition, Snapshot, Transcript, Verdict, Worst, audit, calibrate, statement
from sottovoce.privacy.answers.several_agreements import added
from sottovoce.privacy.answers.statement_page import to_markdown
from sottovoce.privacy.answers.verdict import headline
from sottovoce.privacy.encrypted.prime_field import PRIMES
from sottovoce.privacy.methods.posterior import Posterior

RING = sv.Network.ring(6)
ZEROS = sv.averaging(RING, np.zeros(6))
RUN = {"mask": sv.GaussianMask(100.0), "c": 0.5}


# What is said of a view that ends before the answer is there


def test_modular_pads_that_nobody_has_seen_tell_nothing_to_taps():
    """The answer that taps will be told is a floor, not yet part of the view."""
    report = audit(ZEROS, mask=sv.ModularMask(), seen=Transcript(0))
    assert report.leakage.max() == 0
    assert report.floor.min() > 0
    told = audit(ZEROS, mask=sv.ModularMask(), seen=Transcript(0, answer="public"))
    np.testing.assert_array_equal(told.leakage, told.floor)


def test_a_prefix_that_the_answer_completes_discloses_later():
    """Without a mask 0 gives itself away; with the sum over {0, 1} so does 1, although it has said nothing."""
    path = sv.averaging(sv.Network.from_edges(3, [(0, 1), (1, 2)]), np.zeros(3))
    report = audit(path, corrupt={2}, schedule=sv.Trace([0]), c=0.5)
    assert np.isinf(report.leakage[0])
    assert report.verdict() is Verdict.DISCLOSED
    half = audit(path, mask=sv.GaussianMask(1.0), corrupt={2}, schedule=sv.Trace([0]), c=0.5)
    late = sv.privacy.Report(**{**vars(half), "excess": np.array([0.1, np.inf, np.nan])})
    assert late.doomed == (1,)
    assert late.verdict() is Verdict.DISCLOSED
    assert headline(late) == "DISCLOSED LATER: nobody yet; the answer will disclose 1 of 2 honest parties"
    assert late.disclosures()[0] == "DISCLOSED once the answer is there, by what was seen: 1."


@pytest.mark.parametrize("more", [{"seen": Transcript(0)}, {"seen": Snapshot(2)}], ids=["prefix", "snapshot"])
def test_a_view_without_the_answer_does_not_speak_of_both_together(more):
    early = audit(ZEROS, corrupt={0}, **RUN, **more)
    assert early.leakage[3] < early.floor[3]
    assert "by what is seen so far an attacker's 95 % interval" in early.summary()
    assert "Learned exactly once the answer is there" in early.summary()
    assert "both together" not in early.summary()
    assert "by both together" in audit(ZEROS, corrupt={0}, **RUN).summary()


def test_mu_is_called_a_bound_where_it_is_one():
    """Of a run in which nothing was said, and over encrypted channels, the best guess is right less often."""
    exact = audit(ZEROS, corrupt={0}, **RUN)
    assert not exact.mu_bound
    assert "the best guess is right in at most" not in exact.summary()
    matrices = np.tile([[2.0, 1], [1, 3]], (6, 1, 1))
    general = sv.Problem(RING, sv.Quadratic.many(matrices, np.zeros((6, 2))))
    for problem, more in ((ZEROS, {"seen": Transcript(0)}), (ZEROS, {"channels": "encrypted"}), (general, {})):
        report = audit(problem, corrupt={0}, **RUN, **more)
        assert report.mu_bound
        assert "the best guess is right in at most " in report.summary()
    assert "in 50 % of cases" in audit(ZEROS, channels="encrypted", **RUN).summary()  # nobody listens


# Sizes


@pytest.mark.parametrize("size", [1e200, 1e155, 1e-60])
def test_data_beyond_float64_are_refused(size):
    """Tiny ones had leaks of nan that were called exact and safe, and a calibration that never ended."""
    problem = sv.averaging(RING, size * np.arange(1.0, 7))
    for ask in (lambda: audit(problem, corrupt={0}, **RUN), lambda: calibrate(problem, delta=0.01, c=0.5)):
        with pytest.raises(InvalidInput, match="is beyond float64, which takes"):
            ask()
    with pytest.raises(InvalidInput, match="a prior of variance 1e-320 is beyond float64"):
        audit(ZEROS, corrupt={0}, prior=1e-320, **RUN)


def test_variances_too_far_apart_are_refused():
    """Beyond twenty decades there are no digits of the smallest left."""
    prior = np.ones(6)
    prior[2] = 1.1e20
    for channels in ("open", "encrypted"):
        with pytest.raises(Unsupported, match=r"variances from 1 to 1.1e\+20 are more than 1e\+20 apart"):
            audit(ZEROS, corrupt={0}, channels=channels, prior=prior, **RUN)
    prior[2] = 1e20
    assert audit(ZEROS, corrupt={0}, prior=prior, **RUN).guarantee == "exact"


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_no_number_is_never_called_safe(channels, monkeypatch):
    """A comparison with nan is false, so that no limit is exceeded."""
    monkeypatch.setattr(Posterior, "nats", lambda self: np.full(self.before.shape[:-2], np.nan))
    for against in (Coalition({0}), Worst(1)):
        with pytest.raises(Unsupported, match="too far apart for float64"):
            audit(ZEROS, against=against, channels=channels, prior=np.arange(1.0, 7), **RUN)


def test_each_number_is_held_against_its_own_prior():
    """One party of huge variance, or one entry, used to excuse all others."""
    values = np.full(6, 1e3)
    report = audit(
        sv.averaging(RING, values), mask=sv.GaussianMask(1e12), prior=[1e8, 1, 1, 1, 1, 1], corrupt={0}, c=0.5
    )
    assert report.verdict() is Verdict.WEAK
    assert "THE DATA ARE LARGER" in report.flags["prior"]
    entries = np.tile([1e3, 1.0], (6, 1))
    mask = sv.GaussianMask(1e14)
    wrong = audit(sv.averaging(RING, entries), mask=mask, prior=np.diag([1.0, 1e8] * 6), corrupt={1}, c=0.5)
    assert wrong.verdict() is Verdict.WEAK
    right = audit(sv.averaging(RING, entries), mask=mask, prior=np.diag([1e6, 1.0] * 6), corrupt={1}, c=0.5)
    assert "prior" not in right.flags


def test_a_step_that_a_prime_divides_is_one_sentence():
    """``Q + c d`` is the prime itself."""
    c = (PRIMES[0] - 2) / 2
    with pytest.raises(Unsupported, match="Change one of them in its last digit"):
        audit(ZEROS, mask=sv.GaussianMask(1.0), corrupt={0}, channels="encrypted", c=c)


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_a_published_result_of_a_large_network_is_refused_in_its_own_words(channels):
    """Nobody gave ``nodes``; and over encrypted channels it took matrices of all nodes."""
    large = sv.averaging(sv.Network.ring(3_001), np.zeros(3_001))
    with pytest.raises(Unsupported, match="3,001 nodes are too many for a published result"):
        audit(large, channels=channels, seen=Transcript(answer="public"), **RUN)


# Calibration


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_a_mask_is_not_calibrated_for_a_run_that_breaks_off(channels):
    """For two wakes a smaller mask would do; it was handed out as one for whole runs."""
    for nodes in ([0, 1], []):
        with pytest.raises(InvalidInput, match="a Trace ends"):
            calibrate(ZEROS, delta=1e-3, channels=channels, schedule=sv.Trace(nodes), c=0.5)


# The page, and the command line


def test_a_semicolon_in_a_name_does_not_cut_the_statement():
    network = sv.Network.from_edges(3, [(0, 1), (1, 2), (0, 2)], labels=["A; B", "C", "D"])
    report = audit(sv.averaging(network, np.zeros(3)), corrupt={0}, **RUN)
    page = to_markdown(statement(report, subject="x"))
    assert "Against corrupt party A; B and taps on every channel, open channels, the whole transcript." in page


def test_several_agreements_say_whether_mu_is_a_bound():
    problem = sv.averaging(RING, np.arange(6.0))
    opened, encrypted = (audit(problem, corrupt={0}, channels=channels, **RUN) for channels in ("open", "encrypted"))
    assert added([opened, encrypted]).mu_bound
    assert not added([opened, opened]).mu_bound


def test_safe_agrees_with_the_exit_status(tmp_path: Path):
    """Party 2 is safe from 0, who is far away; the worst single party is another."""
    path = tmp_path / "p.toml"
    path.write_text(
        "[network]\nedges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 4], [4, 2]]\n"
        '[cost]\ntype = "averaging"\nvalues = [1.0, 1.0, 1.0, 1.0, 1.0]\n[mask]\nvariance = 1e3\n'
    )
    excess = {k: np.nanmax(_json(path, "--corrupt", str(k))[0]["excess"]) for k in range(5)}
    least = min(excess, key=excess.__getitem__)
    between = (excess[least] + max(excess.values())) / 2
    out, status = _json(path, "--corrupt", str(least), "--delta", str(between))
    assert (out["verdict"], out["calibrated"]["enough"], out["safe"], status) == ("safe", False, False, 1)


def _json(path: Path, *arguments: str):
    result = CliRunner().invoke(app, ["audit", str(path), "--json", *arguments])
    out = json.loads(result.stdout)
    return out | {"excess": np.array(out["excess"], dtype=float)}, result.exit_code


@pytest.mark.parametrize("option", ["--statement", "--plot"])
def test_a_name_that_is_too_long_is_one_sentence(tmp_path: Path, option: str):
    name = tmp_path / ("a" * 300 + {"--statement": ".html", "--plot": ".png"}[option])
    result = CliRunner().invoke(app, ["audit", "p.toml", option, str(name)])
    assert result.exit_code == 2
    assert "cannot be written: File name too long." in result.stderr
