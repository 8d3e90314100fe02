"""Groups and evidence as one party of a network runs them: alone with its rows, and with agreed numbers of its own.

Agreed reals differ from party to party. Here they do so by more than a run leaves open: whoever branched on one would
ask for another agreement than its neighbours, and they would wait for each other. And a party says nothing that is
larger than a run hides: of what a model makes, means over parties are at most 1.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import Undetermined
from sottovoce.statistics.agreements import Agreements
from sottovoce.statistics.analyses import ANALYSES
from sottovoce.statistics.groups.moments import SMALLEST, check_varies
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables

N = 4
NOISE = 1e-9
EDGE = 200 * SMALLEST  # a deviation that some parties find too small for a unit, and others do not
SCHEMA = sv.Schema(
    {
        "arm": {"type": "category", "levels": ["a", "b", "c", "d"]},
        "drug": "boolean",
        "ill": "boolean",
        "x": {"type": "number", "range": (0, 400)},
        "edge": {"type": "number", "range": (0, 400)},
        "flat": {"type": "number", "range": (0, 1)},
        "whole": {"type": "integer", "range": (0, 100)},
        "p": {"type": "number", "range": (0, 1)},
    }
)


class Meeting:
    """Where parties wait for everybody. Who asks for something else than the others is noticed."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = [np.empty(0)] * N
        self.barrier = threading.Barrier(N, timeout=5)

    def mean(self, i, row):
        self.rows[i] = row
        self.barrier.wait()
        mean = np.mean(self.rows, axis=0)
        self.barrier.wait()
        return mean


class AtOneParty(Agreements):
    def __init__(self, meeting, i):
        super().__init__(N, [f"clinic {i}"], 1e-9)
        self.meeting, self.i, self.rng = meeting, i, np.random.default_rng(i)

    def mean(self, contributions, mask, degree=1, **told):
        if degree == 0:
            assert np.abs(contributions).max() <= N * (1 + 1e-6)
        agreed = super().mean(contributions, mask, degree, **told)
        if degree == 0:
            assert np.abs(agreed).max() <= 1 + 1e-6
        return agreed

    def total(self, counts, mask, **told):
        total = super().total(counts, mask, **told)
        assert (total >= counts[0]).all()  # as the runtime checks
        return total

    def agree(self, contributions, mask):
        x = self.meeting.mean(self.i, contributions[0])
        if isinstance(mask, sv.GaussianMask):
            x = x + NOISE * self.rng.uniform(-1, 1, len(x))
        return sv.Result(
            x=x[None], z=None, status=sv.Status.CONVERGED, iterations=1, activations=1, messages=0, residual=0.0,
            history={}, wall_time=0.0, c=1.0, theta=1.0, seed=None,
        )  # fmt: skip


def frames():
    rng = np.random.default_rng(8)
    parts = []
    for rows in (200, 30, 2, 0):
        p = rng.uniform(0, 1, rows)
        parts.append(
            pd.DataFrame(
                {
                    "arm": rng.choice(["a", "b", "c"] if rows > 100 else ["a", "b"], rows),
                    "drug": rng.random(rows) < 0.5,
                    "ill": rng.random(rows) < p,
                    "x": rng.lognormal(3, 0.3, rows),
                    "edge": 200 + EDGE * np.where(np.arange(rows) % 2, 1, -1),
                    "flat": np.full(rows, 0.25),
                    "whole": rng.integers(0, 101, rows),
                    "p": p,
                }
            )
        )
    return parts


def in_lockstep(kind, options):
    asked, meeting = ask_analysis(ANALYSES[kind], SCHEMA, **options), Meeting()

    def part(i, frame):
        return run_on_tables(asked, AtOneParty(meeting, i), [asked.table(open_source(frame))])

    with ThreadPoolExecutor(N) as threads:
        futures = [threads.submit(part, i, frame) for i, frame in enumerate(frames())]
    return futures


QUESTIONS = [
    ("crosstab", {"columns": ("arm", "ill")}),
    ("t_test", {"column": "x", "by": "arm", "levels": ("a", "b")}),
    ("t_test", {"column": "x", "paired": "whole"}),
    ("t_test", {"column": "edge"}),
    ("anova", {"column": "x", "by": "arm"}),
    ("levene", {"column": "x", "by": "arm"}),
    ("quantiles", {"column": "x", "by": "arm"}),
    ("describe", {}),
    ("table_one", {"by": "arm", "nonnormal": ("x",)}),
    ("mantel_haenszel", {"exposure": "drug", "outcome": "ill"}),
    ("meta_analysis", {"effect": "mean", "column": "x"}),
    ("meta_analysis", {"effect": "log_odds_ratio", "exposure": "drug", "outcome": "ill"}),
    ("roc", {"outcome": "ill", "score": "p"}),
    ("calibration", {"outcome": "ill", "score": "p"}),
]


@pytest.mark.parametrize(("kind", "options"), QUESTIONS)
def test_parties_agree_with_the_simulator(kind, options):
    expected = sv.Study(sv.Network.ring(N), frames(), schema=SCHEMA, seed=1)._ask(ANALYSES[kind], **options)
    for future in in_lockstep(kind, options):
        found = future.result()
        assert [shown.of for shown in found.shown] == [shown.of for shown in expected.shown]
        for name, value in expected._values.items():
            own = getattr(found, name)
            if isinstance(value, np.ndarray | float):
                assert np.allclose(own, value, 1e-6, 1e-7, equal_nan=True), name
            else:
                assert own == value, name


@pytest.mark.parametrize("kind", ["t_test", "anova", "levene"])
def test_parties_refuse_with_one_voice(kind):
    """What was agreed on is 0 but for noise, of one sign here and of another there."""
    sentences = {str(future.exception()) for future in in_lockstep(kind, {"column": "flat", "by": "drug"})}
    assert len(sentences) == 1
    assert "'flat' does not vary within" in sentences.pop()


def test_the_majority_says_whether_anything_varies():
    def vote(spreads):
        meeting = Meeting()
        with ThreadPoolExecutor(N) as threads:
            of = enumerate(spreads)
            votes = [threads.submit(check_varies, AtOneParty(meeting, i), np.array([own]), 1.0, "no") for i, own in of]
        return {type(each.exception()) for each in votes}

    assert vote([1e-9, 1e-9, 1e-9, 1.0]) == {Undetermined}
    assert vote([1e-9, 1.0, 1.0, float("nan")]) == {type(None)}


def test_a_sentence_is_the_same_everywhere():
    futures = in_lockstep("t_test", {"column": "x", "by": "arm", "levels": ("a", "d")})
    assert all(isinstance(future.exception(), Undetermined) for future in futures)
    assert {str(future.exception()) for future in futures} == {
        "'d' has 0 of the parties' rows; a t-test needs two of each group."
    }
