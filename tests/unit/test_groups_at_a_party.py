"""Groups and evidence as one party of a network runs them: alone with its rows, and with what was agreed on.

Exact totals are the same everywhere, and so is what follows from them, to the bit.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from unit.test_programs import Meeting, OneParty

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import Undetermined
from sottovoce.statistics.agreements import UNIT, Objected
from sottovoce.statistics.analyses import ANALYSES
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables

N = 4
SCHEMA = sv.Schema(
    {
        "arm": {"type": "category", "levels": ["a", "b", "c", "d"]},
        "drug": "boolean",
        "ill": "boolean",
        "x": {"type": "number", "range": (0, 400)},
        "flat": {"type": "number", "range": (0, 1)},
        "whole": {"type": "integer", "range": (0, 100)},
        "free": "number",
        "p": {"type": "number", "range": (0, 1)},
    }
)


class AtOneParty(OneParty):
    """Units are public: those of the schema, and else of the network."""

    def units(self, rows, declared):
        return tuple(UNIT if unit is None else unit for unit in declared)

    def add_up(self, own, ring, rows_counted):
        assert len(set(self.meeting.of_all(self.i, len(own[0])))) == 1  # also of a party that objects
        return super().add_up(own, ring, rows_counted)


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
                    "flat": np.full(rows, 0.25),
                    "whole": rng.integers(0, 101, rows),
                    "p": p,
                    "free": np.where(np.arange(rows) == 7, 1e10, 0.0),
                }
            )
        )
    return parts


def in_lockstep(kind: str, options: dict[str, Any]) -> list[Future[Any]]:
    asked, meeting = ask_analysis(ANALYSES[kind], SCHEMA, **options), Meeting(N)

    def part(i, frame):
        return run_on_tables(asked, AtOneParty(meeting, i), [asked.table(open_source(frame))])

    with ThreadPoolExecutor(N) as threads:
        futures = [threads.submit(part, i, frame) for i, frame in enumerate(frames())]
    return futures


NAMES = ("arm", "drug", "x", "flat", "whole")
GROUPS = [
    ("crosstab", {"columns": ("arm", "ill")}),
    ("t_test", {"column": "x", "by": "arm", "levels": ("a", "b")}),
    ("t_test", {"column": "x", "paired": "whole"}),
    ("t_test", {"column": "x"}),
    ("anova", {"column": "x", "by": "arm"}),
    ("levene", {"column": "x", "by": "arm"}),
    ("quantiles", {"column": "x", "by": "arm"}),
    ("describe", {"columns": NAMES}),
    ("table_one", {"columns": NAMES, "by": "arm", "nonnormal": ("x",)}),
]
EVIDENCE = [
    ("mantel_haenszel", {"exposure": "drug", "outcome": "ill"}),
    ("meta_analysis", {"effect": "mean", "column": "x"}),
    ("meta_analysis", {"effect": "log_odds_ratio", "exposure": "drug", "outcome": "ill"}),
    ("roc", {"outcome": "ill", "score": "p"}),
    ("calibration", {"outcome": "ill", "score": "p"}),
]


def simulated(kind: str, options: dict[str, Any]) -> Any:
    return sv.Study(sv.Network.ring(N), frames(), schema=SCHEMA)._ask(ANALYSES[kind], **options)


@pytest.mark.parametrize(("kind", "options"), GROUPS + EVIDENCE)
def test_parties_have_the_bits_of_the_simulator(kind, options):
    expected = simulated(kind, options)
    for future in in_lockstep(kind, options):
        found = future.result()
        assert found.shown == expected.shown
        assert repr(found.to_dict()) == repr(expected.to_dict())


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        ("t_test", {"column": "flat", "by": "drug"}, "column 'flat' does not vary within groups: no t-test."),
        ("anova", {"column": "flat", "by": "drug"},
         "column 'flat' does not vary within the levels of 'drug': no test."),
        ("levene", {"column": "flat", "by": "drug"},
         "column 'flat' does not vary within the levels of 'drug': no test."),
        ("t_test", {"column": "x", "by": "arm", "levels": ("a", "d")},
         "'d' has 0 of the parties' rows; a t-test needs two of each group."),
    ],
)  # fmt: skip
def test_parties_refuse_with_one_voice(kind, options, sentence):
    futures = in_lockstep(kind, options)
    assert all(isinstance(future.exception(), Undetermined) for future in futures)
    assert {str(future.exception()) for future in futures} == {sentence}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("t_test", {"column": "free"}),
        ("t_test", {"column": "x", "paired": "free"}),
        ("anova", {"column": "free", "by": "arm"}),
        ("describe", {"columns": ("free", "arm")}),
    ],
)
def test_numbers_that_integers_do_not_hold_are_nobodys(kind, options):
    """Two parties have such a number, in the units of a column without a range; all of them end alike."""
    assert {type(future.exception()) for future in in_lockstep(kind, options)} == {Objected}
