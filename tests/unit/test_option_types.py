"""Options of analyses that are of another type than they should be: a sentence with key and line, whatever it is."""

from __future__ import annotations

from dataclasses import fields
from datetime import date

import numpy as np
import pytest
from unit.test_every_analysis import EXAMPLES, SCHEMA, written

import sottovoce as sv
from sottovoce.errors import InvalidFile, InvalidInput
from sottovoce.statistics.analyses import ANALYSES, read_asked
from sottovoce.statistics.of_tables import KINDS, check_types

NEITHER = [{"a": 1}, [["age"]], [{"a": 1}], date(2026, 1, 1)]  # of any type that an option has


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_option_of_every_analysis(kind, tmp_path):
    example = {"columns": ["age"]} if kind == "histogram" else EXAMPLES[kind]  # that of levels takes no bins at all
    for field in fields(ANALYSES[kind]):
        if field.name == "schema":
            continue
        for value in NEITHER:
            table = written(tmp_path, {"type": kind, **example, field.name: value})
            with pytest.raises(InvalidFile, match=rf"plan.toml, line \d+: \[statistic\] {field.name} must be ") as told:
                read_asked(table, SCHEMA)
            assert "\n" not in str(told.value)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_all_types_are_known(kind):
    for field in fields(ANALYSES[kind]):
        for one in field.type.split(" | "):
            if field.name != "schema":
                assert one.removeprefix("tuple[").removesuffix(", ...]") in {*KINDS, "None"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": ["w"]}, "weights must be a string; got ['w']."),
        ({"family": {"a": 1}}, "family must be a string; got {'a': 1}."),
        ({"shape": [1.0]}, "shape must be a number; got [1.0]."),
    ],
)
def test_sentences(options, message):
    with pytest.raises(InvalidInput) as told:
        check_types(ANALYSES["glm"], options)
    assert str(told.value) == message


def test_what_numpy_calls_numbers_is_one_and_one_stands_for_a_list():
    check_types(ANALYSES["ridge"], {"folds": np.int64(3), "penalties": np.array([1.0, 0.1]), "standardize": True})
    check_types(ANALYSES["quantiles"], {"q": 0.5})
    check_types(ANALYSES["describe"], {"columns": "age"})
    for wrong in (True, [True], [[1.0]]):
        with pytest.raises(InvalidInput, match="penalties must be a list of numbers"):
            check_types(ANALYSES["ridge"], {"penalties": wrong})


def test_a_study_says_it_too():
    study = sv.Study(sv.Network.ring(3), [{"x": [1.0]}] * 3, schema={"x": "number"})
    with pytest.raises(InvalidInput, match="column must be a string; got 3"):
        study.quantiles(3)
