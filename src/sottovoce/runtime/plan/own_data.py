"""What a party brings: where it keeps its rows, read and checked before anybody is called.

``[party] data`` is a file, or a table of settings for a source. It belongs to the party alone: no other one sees it,
and it is in no hash.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...costs.base import Array
from ...data.batch import LOSS
from ...data.cost_table import PartyCost
from ...data.decimal_unit import beyond, unit_text
from ...data.number_columns import NumberColumns
from ...data.sources import Source, open_source
from ...data.sources.opening import SUFFIXES
from ...errors import InvalidFile, InvalidInput, PrecisionLost
from ...files.toml_table import Table
from ...numerics.unquoted import kind_of
from ...pdmm.masks import GaussianMask
from ...statistics.agreements import UNIT
from ...statistics.of_tables import Asked, checked_table
from ...sums.integer_sums import WINDOW
from .data_limits import Limits
from .question import Question

if TYPE_CHECKING:
    from .node_file import NodeConfig

FINE = 1 << 30
PASSWORDS = ("password_env", "password_file")


class OwnTable:
    """A party's table under the question of the run, which was looked through."""

    def __init__(self, asked: Asked, source: Source, limits: Limits) -> None:
        self.asked, self.table = asked, asked.table(source)
        rows = self.table.rows
        limits.check_count(len(rows))
        self._words: list[int] = rows.totals(_words).tolist()
        checked_table(asked, self.table, limits.n)
        if not asked.spec.counts_only:
            self._warn_of_rounding()

    def _warn_of_rounding(self) -> None:
        """Tell the owner of columns that lose digits since nothing public says how fine they are."""
        spec = self.asked.spec
        lost, size = self.table.rows.totals(_lost).reshape(2, -1)
        for place, (name, unit) in enumerate(zip(spec.columns, spec.units, strict=True)):
            if unit is None and lost[place] > FINE * LOSS * size[place]:
                warnings.warn(
                    f"{self.table.source.describe()}: column {name!r}: numbers are rounded to {unit_text(UNIT)}, since "
                    "the plan gives it neither a unit nor a range, and it loses more than "
                    f"{LOSS:g} of itself. Agree on a plan whose [schema] says how fine it is.",
                    PrecisionLost,
                    stacklevel=2,
                )

    @cached_property
    def content(self) -> bytes:
        """What changes with the data, though not with the order of rows, which a database may choose as it likes."""
        return json.dumps([len(self.table.rows), self.table.dropped, self._words]).encode()


def _lost(block: Array) -> npt.NDArray[np.int64]:
    """What each number loses by ``UNIT``, in steps of ``UNIT / FINE``, and then its absolute value in units."""
    units = np.minimum(np.abs(block) / float(UNIT), float(WINDOW))
    nearest = np.rint(units)
    return np.column_stack([np.rint(FINE * np.abs(units - nearest)), nearest]).astype(np.int64)


def _words(block: Array) -> npt.NDArray[np.int64]:
    """Four numbers below 2^16 a row: a hash of its values. (The finaliser of splitmix64.)"""
    words = np.full(len(block), 0x9E3779B97F4A7C15, np.uint64)
    for column in block.T:
        words ^= np.ascontiguousarray(column).view(np.uint64)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words ^= words >> np.uint64(31)
    return words.view(np.uint16).reshape(-1, 4).astype(np.int64)


OwnData = PartyCost | OwnTable


def read_own_data(config: NodeConfig) -> OwnData:
    """The data, read and checked."""
    question, limits = config.question, config.limits
    if isinstance(question.mask, GaussianMask):
        limits.check_mask(question.mask)
    if question.statistic is None:
        own = config.cost()
        limits.check_cost(own.cost, noisy=question.noise is not None)
        return own
    assert config.table is not None
    return config.table


def own_table(question: Question, source: Source, limits: Limits) -> OwnTable:
    """What is asked of a party's source."""
    assert question.asked is not None
    return OwnTable(question.asked, source, limits)


def number_columns(question: Question, file: Path, delimiter: str) -> NumberColumns:
    """The columns of numbers that a question reads of a CSV file."""
    assert question.asked is not None
    rows = question.rows(file, delimiter)
    if not question.asked.spec.counts_only:
        far = np.flatnonzero((np.abs(rows) >= beyond(UNIT)).any(axis=0))  # which others would see: an objection
        if len(far):
            name = question.asked.selection.needs[far[0]]
            raise InvalidInput(
                f"column {name!r}: too large for its unit in some rows (numbers are less than 2^62 units of "
                f"{unit_text(UNIT)}). Correct these cells, or agree on a plan whose [schema] gives it another unit."
            )
    return NumberColumns(dict(zip(question.asked.selection.needs, np.ascontiguousarray(rows.T), strict=True)))


@dataclass(frozen=True)
class Place:
    """``file`` has the rows, unless a database does; ``source`` is there where they are more than a CSV file of
    numbers, whose cells are separated by ``delimiter``."""

    file: Path | None
    delimiter: str
    source: Source | None


def read_place(party: Table, base: Path, question: Question) -> Place:
    """Where ``[party]`` says that the rows are; nothing is read yet."""
    given = party.get("data", "data.csv")
    if isinstance(given, dict):
        if "delimiter" in party:
            raise party.refuse("delimiter", "belongs in [party.data] here: move it there.")
        place = _settings(Table(party.file, "party.data", given), base)
    elif isinstance(given, str) and given:
        place = _file(party, base / given, question.schema is not None)
    else:
        raise party.refuse("data", f"must be a file in quotes, or a table [party.data]; got {kind_of(given)}.")
    if place.source is not None and question.statistic is None:
        raise party.refuse("data", "must be a CSV file of numbers for a [cost]; a [statistic] takes others.")
    if place.file is not None and not (place.file.is_file() or (place.source is not None and place.file.is_dir())):
        raise party.refuse("data", f"= {str(place.file)!r}: there is no such file.")
    return place


def _settings(table: Table, base: Path) -> Place:
    for key in table.values:
        if "password" in key.lower() and key not in PASSWORDS:
            raise table.refuse(
                key, "has no place in a file: name the environment variable that holds the password in password_env, "
                "or a file of mode 600 in password_file.",
            )  # fmt: skip
    if "source" not in table and "file" not in table:
        raise table.refuse(None, 'needs a source, such as source = "postgresql", or a file.')
    source = table.call(open_source, {"source": table.values.get("source"), **table.values}, base)
    file = table.values.get("file")
    return Place(None if file is None else base / file, ",", source)


def _file(party: Table, path: Path, schema: bool) -> Place:
    delimiter: Any = party.string("delimiter", ",")
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise party.refuse("delimiter", f"must be one character, such as ',' or ';'; got {delimiter!r}.")
    kind = "parquet" if path.is_dir() else SUFFIXES.get(path.suffix.lower(), "csv")
    if kind == "csv" and not schema:
        return Place(path, delimiter, None)
    if kind != "csv" and "delimiter" in party:
        raise party.refuse("delimiter", f"has no meaning for {path.name}. Remove it.")
    options = {"delimiter": delimiter} if kind == "csv" and "delimiter" in party else {}
    source = party.call(open_source, {"source": kind, "file": str(path.absolute()), **options}, at="data")
    return Place(path, delimiter, source)


def content_of(config: NodeConfig) -> bytes:
    """The data file as it is, or what the rows of a table come to: to notice a change."""
    if config.table is not None:
        return config.table.content
    assert config.data is not None
    try:
        return config.data.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{config.data} cannot be read: {error.strerror or error}.") from None
