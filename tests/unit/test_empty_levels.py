"""Levels that no row has: kept, or left out by counts that all parties agree on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from lockstep import together

import sottovoce as sv
from sottovoce.data.sources import open_source
from sottovoce.errors import InvalidInput, Undetermined
from sottovoce.statistics.analyses import ANALYSES, restored
from sottovoce.statistics.of_tables import ask_analysis, run_on_tables

SCHEMA = sv.Schema(
    {
        "age": {"type": "number", "unit": 1, "range": (0, 120)},
        "arm": {"type": "category", "levels": ["none", "low", "mid", "high"]},
        "site": {"type": "category", "levels": ["ward", "home"]},
        "score": {"type": "number", "unit": 0.1, "range": (0, 500)},
    }
)
ARMS = ["low", "high"]


@pytest.fixture(scope="module")
def tables():
    """Nobody has the reference of ``arm``; who has ``mid`` lacks a score."""
    rng = np.random.default_rng(7)
    found = []
    for party in range(4):
        arm = rng.choice(ARMS, 15) if party else np.repeat("low", 15)
        score = (90 + 5 * (arm == "high") + rng.normal(0, 8, 15)).round(1)
        frame = pd.DataFrame({"age": rng.integers(20, 80, 15), "arm": arm, "site": "ward", "score": score})
        frame.loc[0, ["arm", "score"]] = ["mid", None]
        found.append(frame)
    return found


def study(tables, **options):
    return sv.Study(sv.Network.ring(4), tables, schema=SCHEMA, missing="drop", **options)


def test_levels_whose_rows_all_drop_out_are_left_out_of_a_model(tables):
    fit = study(tables, empty_levels="drop").linear("score ~ age + arm + site")
    assert fit.empty_levels == {"arm": ("none", "mid"), "site": ("home",)}
    assert fit.dropped["rows"] == 4
    pooled = pd.concat(tables).dropna()
    wanted = smf.ols("score ~ age + C(arm, Treatment('low'))", pooled).fit()
    assert fit.terms == ("Intercept", "age", "arm[T.high]")
    assert fit.aliased == ()
    np.testing.assert_allclose(fit.params, wanted.params.iloc[[0, 2, 1]], rtol=1e-12)
    assert "levels without rows left out: arm none, mid; site home" in fit.summary()


def test_kept_levels_are_aliased_or_empty(tables):
    fit = study(tables).linear("score ~ age + arm + site")
    assert fit.empty_levels is None
    assert fit.aliased == ("arm[T.mid]", "arm[T.high]", "site[T.home]")
    assert study(tables, empty_levels="keep").histogram("arm").counts.tolist()[0] == 0


def test_counts_have_no_place_for_levels_that_are_left_out(tables):
    found = study(tables, empty_levels="drop").histogram("arm")
    assert found.counts.shape == (3,)
    assert found.empty_levels == {"arm": ("none",)}
    table = study(tables, empty_levels="drop").crosstab("arm", "site")
    assert table.counts.shape == (3, 1)


def test_rows_by_level_are_told_to_be_shown(tables):
    fit = study(tables, empty_levels="drop").linear("score ~ arm")
    assert [shown.of for shown in fit.shown[:2]] == ["rows with missing values, by column", "rows by level of 'arm'"]
    assert "rows by level of 'arm'" in str(fit.disclosure)
    asked = ask_analysis(ANALYSES["linear"], SCHEMA, formula="score ~ arm", empty_levels="drop")
    assert "the rows of each level of arm" in asked.revealed
    assert asked.first_counts == [4]


def test_a_category_without_any_rows_keeps_its_levels(tables):
    empty = [table.iloc[:0] for table in tables]
    assert study(empty, empty_levels="drop").histogram("arm").counts.tolist() == [0, 0, 0, 0]


def test_what_is_left_may_not_be_enough_for_a_question(tables):
    with pytest.raises(Undetermined, match=r"^without the levels that no rows have \(site: home\): "):
        study(tables, empty_levels="drop").t_test("score", by="site")


def test_new_rows_may_not_have_a_level_that_was_left_out(tables):
    fit = study(tables, empty_levels="drop").linear("score ~ age + arm")
    new = {"age": [50.0], "arm": ["mid"]}
    with pytest.raises(InvalidInput, match="arm"):
        fit.predict(new)
    assert np.isfinite(fit.predict({**new, "arm": ["high"]})).all()


def test_parties_that_know_their_own_rows_alone_leave_out_the_same(tables):
    asked = ask_analysis(ANALYSES["linear"], SCHEMA, formula="score ~ age + arm", missing="drop", empty_levels="drop")

    def play(agreements, i):
        return run_on_tables(asked, agreements, [asked.table(open_source(tables[i]))])

    answers, _ = together(play, 4)
    wanted = study(tables, empty_levels="drop").linear("score ~ age + arm")
    for answer in answers:
        assert answer.params.tobytes() == wanted.params.tobytes()
        assert answer.empty_levels == wanted.empty_levels


def test_an_answer_from_a_file_knows_what_was_left_out(tables):
    fit = study(tables, empty_levels="drop").histogram("arm")
    again = restored("histogram", fit.to_dict(), 4)
    assert again.empty_levels == {"arm": ("none",)}
    assert again.summary() == fit.summary()


def test_another_word_is_refused(tables):
    with pytest.raises(InvalidInput, match=r'empty_levels must be "keep" or "drop"; got \'no\''):
        study(tables, empty_levels="no")
