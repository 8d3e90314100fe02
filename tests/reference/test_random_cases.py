"""Random nasty cases of every analysis, against outside oracles: some of those that ``tests/differential.py`` plays."""

from __future__ import annotations

import json
import math

import differential
import pytest
from random_cases.case import Case
from random_cases.kinds import KINDS

from sottovoce.errors import Undetermined
from sottovoce.statistics.analyses import ANALYSES

CASES = 6  # of a kind
FEWER = dict.fromkeys(("linear", "cox", "mixed", "multinomial"), 4)  # whose oracles take a tenth of a second


def test_every_analysis_has_cases():
    assert KINDS.keys() == ANALYSES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_cases_agree_with_their_oracles(kind):
    cases = [differential.played(kind, seed) for seed in range(FEWER.get(kind, CASES))]
    assert {case.seed: case.wrong for case in cases if case.wrong} == {}
    assert any(case.compared for case in cases)


@pytest.mark.parametrize(
    ("found", "expected", "size", "is_right"),
    [
        ([1.0, 2.0], [1.0, 2.0], None, True),
        ([1.0, 2.0 + 1e-11], [1.0, 2.0], None, False),
        ([1.0, 1e-14], [1.0, 0.0], 1.0, True),
        ([1.0, 1e-14], [1.0, 0.0], None, False),
        ([math.nan, math.inf], [math.nan, math.inf], None, True),
        ([math.nan], [1.0], None, False),
        ([1.0], [math.nan], None, False),
        ([math.inf], [-math.inf], None, False),
        ([1.0], [1.0, 1.0], None, False),
    ],
)
def test_what_differs_is_seen(found, expected, size, is_right):
    case = Case("mean", 0)
    case.same("a number", found, expected, 1e-12, size)
    assert (not case.wrong) == is_right


def raised(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "answers", "rules", "wrong"),
    [
        (Undetermined("no rows"), False, (), None),
        (Undetermined("no rows"), True, (), "refused though there is an answer: no rows"),
        (Undetermined("a grid of few rows"), True, ("of few rows",), None),
        (None, False, (), "answered though there is no finite answer"),
        (ZeroDivisionError("of 1 by 0"), True, (), "traceback: ZeroDivisionError: of 1 by 0"),
    ],
)
def test_refusals_are_right_where_there_is_no_answer(error, answers, rules, wrong):
    case = Case("mean", 0)
    case.ask(lambda: error and raised(error), answers=answers, rules=rules)
    assert (not case.wrong) if wrong is None else case.wrong[0].startswith(wrong)


def test_a_case_is_made_of_its_kind_and_seed():
    first, again = (differential.played("variance", 3) for _ in range(2))
    assert (first.worst, first.compared, first.refused) == (again.worst, again.compared, again.refused)
    assert Case("mean", 3).rng.random() != Case("variance", 3).rng.random()


def test_the_command(monkeypatch, capsys):
    """It tells a table, or JSON; what is wrong has a line of its own, and how to play it, and the status is 1."""
    monkeypatch.setattr("sys.argv", ["differential.py", "2", "--only", "mean", "--json"])
    assert differential.main() == 0
    assert json.loads(capsys.readouterr().out)["mean"]["cases"] == 2
    monkeypatch.setitem(KINDS, "mean", lambda case: case.same("a number", 1.0, 2.0, 1e-12))
    monkeypatch.setattr("sys.argv", ["differential.py", "1", "--only", "mean", "--seed", "7"])
    assert differential.main() == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("mean 7 a number is [1.0], not [2.0]")
    assert told[1].strip() == "python tests/differential.py 1 --only mean --seed 7"
