"""Problem files with ``[statistic]`` in place of ``[cost]``: one process plays all parties, on their tables.

Without a ``[schema]`` all columns are numbers, in the file or in CSV files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data.formula import Formula
from ..data.number_columns import NumberColumns
from ..data.party_rows import DATA_KEYS, read_data
from ..data.party_tables import read_sources
from ..data.problem_file import ProblemFile, check_tables, party_numbers, read_network, read_problem_file
from ..data.schema import Schema
from ..data.schema_file import read_schema
from ..data.sources import Source
from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table, TomlFile
from ..network import Network
from .agreements import SimulatedAgreements
from .analyses import read_asked, read_kind
from .analysis import Analysis
from .gone import EXACT, refuse_gone
from .of_tables import AnyTable, Asked, checked_table, run_on_tables
from .statistic import Statistic

TABLES = ("network", "statistic", "schema")
TABLES_GONE = ("pdmm", "mask", "noise")


@dataclass(frozen=True, eq=False)
class StatisticFile:
    """A problem file with ``[statistic]``, checked: what ``read_statistic_file`` returns.

    Attributes
    ----------
    path : Path
        The file.
    asked : Asked
        The analysis, and what it takes of a row.
    parties : list of str
        Their names.
    network : Network
        Who talks to whom.
    tables : list of Table
        One for each party.
    """

    path: Path
    asked: Asked
    parties: list[str]
    network: Network
    tables: list[AnyTable] = field(repr=False)

    @property
    def spec(self) -> Analysis:
        """What is computed: the type, the columns and the options."""
        return self.asked.spec

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""
        return self.asked.revealed

    @property
    def question(self) -> dict[str, Any]:
        """What was asked, for JSON."""
        return self.asked.to_dict()

    def solve(self) -> Statistic:
        """Play all agreements: the answer of a ``Study`` to the question."""
        return run_on_tables(self.asked, SimulatedAgreements(self.network), self.tables)

    def party_numbers(self, names: str) -> frozenset[int]:
        """The parties in a list such as ``"Ada,3"``: names of the file, or numbers; ``InvalidInput`` for others."""
        return party_numbers(names, self.parties, self.path)


def read_file(path: Path, seed: int | None = None) -> ProblemFile | StatisticFile:
    """The file of ``solve``, ``audit`` and the studio: one with ``[statistic]``, or a problem with ``[cost]``."""
    if "statistic" in TomlFile(path).values:
        return read_statistic_file(path, seed)
    return read_problem_file(path, seed)


def read_statistic_file(path: str | Path, seed: int | None = None) -> StatisticFile:
    """Read and check a problem file that has ``[statistic]`` (docs/reference/problem-file.md).

    Everything that can be refused is, before the first agreement: the tables are looked through here.

    Parameters
    ----------
    path : str or Path
        A TOML file. Paths in it start where it lies.
    seed : int, optional
        Of a network that is drawn; takes precedence over the file's.

    Returns
    -------
    StatisticFile

    Raises
    ------
    InvalidFile
        The first mistake in it, with the key and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.data import example
    >>> from sottovoce.statistics.statistic_file import read_statistic_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "problem.toml"
    ...     _ = path.write_text(example("regression"))
    ...     file = read_statistic_file(path)
    >>> file.solve().terms
    ('Intercept', 'area', 'age')
    """
    file = TomlFile(Path(path))
    for name in TABLES_GONE:
        if name in file.values:
            raise file.table(name).refuse(None, f"is gone beside [statistic]: {EXACT}")
    seed = check_tables(file, TABLES, seed)
    table = file.table("statistic")
    refuse_gone(table)
    question = Table(file, table.name, {key: value for key, value in table.values.items() if key not in DATA_KEYS})
    sources: list[Source]
    if "schema" in file.values:
        asked = read_asked(question, read_schema(file))
        parties, sources = read_sources(table, file.path.parent)
    else:
        asked, parties, sources = _of_numbers(file, table, question)
    network = read_network(file.table("network"), parties, file.path.parent, seed)
    tables = [asked.table(source) for source in sources]
    for k, (name, own) in enumerate(zip(parties, tables, strict=True)):
        try:
            checked_table(asked, own, len(parties))
        except InvalidInput as error:
            where = file.where("statistic.parties", "data", k)
            if "files" in table or "schema" not in file.values:
                where = file.where(table.name, "files")
            source, why = own.source.describe(), str(error)
            raise InvalidFile(f"{where}: party {name}: {why if source in why else f'{source}: {why}'}") from None
    return StatisticFile(file.path, asked, parties, network, tables)


def _of_numbers(file: TomlFile, table: Table, question: Table) -> tuple[Asked, list[str], list[Source]]:
    """Without a schema: the columns that the question names, or that the data have, are numbers."""
    _, keys = read_kind(table, DATA_KEYS)
    base = file.path.parent
    values, wanted = {key: value for key, value in table.values.items() if key in DATA_KEYS}, dict(question.values)
    is_equation = "formula" in keys and "formula" not in table
    if is_equation:
        values |= {key: table.values[key] for key in ("features", "target") if key in table}
    elif "formula" in table:
        try:
            values["columns"] = list(Formula(str(table.string("formula"))).variables)
        except InvalidInput as error:
            raise table.refuse("formula", str(error)) from None
    elif "columns" in table:
        values["columns"] = table.get("columns")
    shards = read_data(Table(file, table.name, values), base, regression=is_equation)
    if is_equation:
        wanted |= {"features": shards.columns[:-1], "target": shards.columns[-1]}
    elif "columns" in keys:
        wanted.setdefault("columns", shards.columns)
    asked = read_asked(Table(file, table.name, wanted), Schema.of_numbers(shards.columns))
    sources: list[Source] = [
        NumberColumns(dict(zip(shards.columns, np.ascontiguousarray(rows.T), strict=True))) for rows in shards.rows
    ]
    return asked, shards.parties, sources
