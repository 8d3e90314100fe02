"""The page on analyses has all of them, with every option, and no others."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from sottovoce.statistics.analyses import ANALYSES
from sottovoce.statistics.study import Study

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "analyses.md").read_text()
ROWS = {
    kind: row
    for row in PAGE.splitlines()
    if row.startswith("| `")
    for kind in re.findall(r"`(\w+)`", row.split("|")[1])
}


def test_all_of_them():
    assert ROWS.keys() == ANALYSES.keys()


@pytest.mark.parametrize("kind", ANALYSES)
def test_every_option_and_a_face(kind):
    inner = {"schema"} | ({"by"} if kind == "describe" else set())  # that of table_one
    named = set(re.findall(r"`(\w+)`", ROWS[kind].split("|")[2]))
    options = {field.name for field in fields(ANALYSES[kind])} - inner
    assert options <= named, options - named
    assert callable(getattr(Study, kind))
