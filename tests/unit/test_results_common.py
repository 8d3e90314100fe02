"""What all analyses and their answers have in common, whichever there are: names, fields, words and ways out."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re

import pytest

import sottovoce as sv
from sottovoce import statistics
from sottovoce.errors import NotConverged
from sottovoce.statistics.analyses import ANALYSES, restored
from sottovoce.statistics.analysis import Analysis
from sottovoce.statistics.fit import Fit
from sottovoce.statistics.statistic import Statistic, Value

COMMON = {field.name for field in dataclasses.fields(Statistic)}
PLAIN = r"str|int|float|bool|date|None|tuple|\.\.\."
every_analysis = pytest.mark.parametrize("analysis", ANALYSES.values(), ids=list(ANALYSES))
every_family = pytest.mark.parametrize(
    "family", sorted({each.gives for each in ANALYSES.values()}, key=lambda family: family.__name__)
)


def explained(family: type) -> set[str]:
    """The names under ``Attributes`` in the docstrings of a class and its bases."""
    found: set[str] = set()
    for each in family.__mro__:
        parts = re.split(r"^(\w+)\n-+\n", inspect.cleandoc(each.__dict__.get("__doc__") or ""), flags=re.MULTILINE)
        for heading, section in zip(parts[1::2], parts[2::2], strict=True):
            heads = re.findall(r"^(\S[^:\n]*?) ?:", section, re.MULTILINE) if heading == "Attributes" else []
            found |= {name.strip() for head in heads for name in head.split(",")}
    return found


def without_an_answer(family: type[Statistic]) -> Statistic:
    return family(sv.Status.MAX_ITER, 3)


# Analyses


def test_there_are_some():
    assert ANALYSES


@every_analysis
def test_an_analysis_is_a_frozen_set_of_plain_options(analysis):
    assert issubclass(analysis, Analysis)
    assert ANALYSES[analysis.type] is analysis
    assert re.fullmatch(r"[a-z][a-z0-9_]*", analysis.type)  # a word for files
    assert analysis.__doc__
    assert analysis.__dataclass_params__.frozen
    assert not inspect.isabstract(analysis)
    for field in dataclasses.fields(analysis):
        assert field.kw_only
        if field.name != "schema":
            words = re.findall(r"[A-Za-z]+|\.\.\.", str(field.type))
            assert words, field.name
            assert all(re.fullmatch(PLAIN, word) for word in words), (field.name, field.type)


@every_analysis
def test_a_study_can_be_asked_for_it(analysis):
    """By a method that says what it returns, and shows how."""
    methods = [
        method
        for name, method in inspect.getmembers(sv.Study, inspect.isfunction)
        if not name.startswith("_")
        and str(inspect.signature(method).return_annotation).split(".")[-1] == analysis.gives.__name__
    ]
    assert methods
    for method in methods:
        assert method.__doc__
        hints = inspect.signature(method).parameters.values()
        assert all(hint.annotation is not inspect.Parameter.empty for hint in hints if hint.name != "self")


# Answers


@every_family
def test_an_answer_has_values_that_are_explained(family):
    assert dataclasses.is_dataclass(family)
    assert issubclass(family, Statistic)
    own = {field.name for field in dataclasses.fields(family)} - COMMON
    assert own
    assert [name for name in own if not isinstance(inspect.getattr_static(family, name), Value)] == []
    assert own - explained(family) == set()


@every_family
def test_an_answer_is_public(family):
    assert getattr(statistics, family.__name__) is family
    assert family.__name__ in statistics.__all__


@every_family
def test_an_answer_says_its_own_words(family):
    """Frames, captions and pictures are made of what a family says, and not of what the base refuses to."""
    for name in ("_columns", "_facts", "_picture", "summary"):
        assert getattr(family, name) is not getattr(Statistic, name), name
    if issubclass(family, Fit):
        assert family.title != Fit.title


@every_family
def test_without_an_answer_there_is_a_sentence(family):
    """A party's file without one: words and JSON say so, and values, frames and pictures are refused."""
    result = without_an_answer(family)
    assert repr(result) == f"{family.__name__}(max_iter)"
    assert "max_iter" in result.summary()
    assert "max_iter" in result._repr_html_()
    assert json.loads(json.dumps(result.to_dict())) == {"status": "max_iter"}
    for call in (result.to_frame, result.plot):
        with pytest.raises(NotConverged):
            call()
    own = {field.name for field in dataclasses.fields(family)} - COMMON
    for name in own:
        with pytest.raises(NotConverged, match=f"{name} is not known"):
            getattr(result, name)
    assert result.disclosure.to_dict()["shown"] == []


@every_analysis
def test_a_file_without_an_answer_is_read_as_one(analysis):
    again = restored(analysis.type, {"status": "max_iter"}, 3)
    assert type(again) is analysis.gives
    assert (again.status, again.parties, again.to_dict()) == (sv.Status.MAX_ITER, 3, {"status": "max_iter"})
