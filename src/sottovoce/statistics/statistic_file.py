"""Problem files with ``[statistic]`` in place of ``[cost]``: one process plays all parties, on their data.

Without a ``[schema]`` the data are numbers, in the file or in CSV files; with one they are tables of any kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..costs.base import Array
from ..data.party_rows import DATA_KEYS, read_data
from ..data.party_tables import read_sources
from ..data.prior import prior_of
from ..data.problem_file import check_tables, party_numbers, read_mask, read_network, read_options
from ..data.schema_file import read_schema
from ..data.table import Table as PartyTable
from ..data.table_rows import TableRows
from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table, TomlFile
from ..network import Network
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.recorders import Residual
from .agreements import SimulatedAgreements, Simulation
from .analysis import Analysis
from .asked_table import read_asked, refuse_without_schema
from .at_one_party import KEYS, MASK_KEYS, OPTIONS, Spec, checked_rows, read_spec, run_local
from .of_tables import Asked, checked_table, run_on_tables
from .statistic import Statistic

TABLES = ("network", "statistic", "pdmm", "mask", "schema")
MOST_POOLED = 10_000_000  # numbers that are brought together to compare with the answer: 80 MB


@dataclass(frozen=True, eq=False)
class StatisticFile(ABC):
    """A problem file with ``[statistic]``, checked: what ``read_statistic_file`` returns.

    Attributes
    ----------
    path : Path
        The file.
    spec : Spec or Analysis
        What is asked: the type, the columns and the options.
    parties : list of str
        Their names.
    simulation : Simulation
        Where and how the agreements are played.
    """

    path: Path
    spec: Spec | Analysis
    parties: list[str]
    simulation: Simulation

    @property
    def network(self) -> Network:
        """Who talks to whom."""
        return self.simulation.network

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses."""
        return self.spec.revealed

    @property
    def question(self) -> dict[str, Any]:
        """What was asked, for JSON."""
        return self.spec.to_dict()

    def recorded(self) -> StatisticFile:
        """The same, with the residual of every round in the ``history`` of its runs."""
        schedule = self.simulation.schedule
        every = 1 if schedule is None else schedule.round(self.network)
        return replace(self, simulation=replace(self.simulation, record=(Residual(),), record_every=every))

    @abstractmethod
    def solve(self) -> Statistic:
        """Play all agreements: what ``private_mean`` and its like return, with an entry per column."""

    @abstractmethod
    def pooled(self) -> list[Array] | None:
        """The rows of every party, with a column per name in ``spec.columns``; None where there are very many."""

    def priors(self, found: Statistic) -> list[float | None] | None:
        """The variance that an audit counts on, for each agreement of the answer; None where nothing is known of it."""
        return None

    def party_numbers(self, names: str) -> frozenset[int]:
        """The parties in a list such as ``"Ada,3"``: names of the file, or numbers; ``InvalidInput`` for others."""
        return party_numbers(names, self.parties, self.path)


@dataclass(frozen=True, eq=False)
class NumbersFile(StatisticFile):
    """A file without a schema: rows of numbers."""

    rows: list[Array] = field(repr=False)

    def solve(self) -> Statistic:
        assert isinstance(self.spec, Spec)
        return run_local(self.spec, SimulatedAgreements(self.simulation), self.rows)

    def pooled(self) -> list[Array]:
        return self.rows


@dataclass(frozen=True, eq=False)
class TablesFile(StatisticFile):
    """A file with a schema: what is asked of it, and a table for each party."""

    asked: Asked
    tables: list[PartyTable] = field(repr=False)

    @property
    def revealed(self) -> list[str]:
        return self.asked.revealed

    @property
    def question(self) -> dict[str, Any]:
        return self.asked.to_dict()

    def solve(self) -> Statistic:
        return run_on_tables(self.asked, SimulatedAgreements(self.simulation), self.tables)

    def pooled(self) -> list[Array] | None:
        if isinstance(self.spec, Analysis):
            return None
        rows, width = [table.rows for table in self.tables], len(self.spec.columns)
        here = [part for part in rows if isinstance(part, TableRows)]
        if len(here) < len(rows) or sum(map(len, rows)) * width > MOST_POOLED:
            return None
        return [np.concatenate([np.empty((0, width)), *part.blocks()]) for part in here]

    def priors(self, found: Statistic) -> list[float | None] | None:
        """From the ranges of the schema, as a plan has it: of a value its mean square, of squares and products twice
        the square of that. Counts hide behind modular pads, at any prior."""
        if self.spec.counts_only or isinstance(self.spec, Analysis):  # whose sums are in units of deviations
            return None
        scale = np.broadcast_to(self.spec.scale, len(self.spec.columns)).tolist()
        prior = prior_of(self.asked.selection, self.asked.schema, scale)
        if prior is None:
            return None
        real = [k for k, mask in enumerate(found.masks) if isinstance(mask, GaussianMask)]
        values = real[:1] if self.spec.intercept else []  # a regression without one begins with products
        return [prior if k in values else 2 * prior**2 if k in real else None for k in range(len(found.masks))]


def read_statistic_file(path: str | Path, seed: int | None = None) -> StatisticFile:
    """Read and check a problem file that has ``[statistic]`` (docs/reference/problem-file.md).

    Parameters
    ----------
    path : str or Path
        A TOML file. Paths in it start where it lies.
    seed : int, optional
        Takes precedence over the file's.

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
    ('intercept', 'area', 'age')
    """
    file = TomlFile(Path(path))
    seed = check_tables(file, TABLES, seed)
    table = file.table("statistic")
    if "schema" in file.values:
        return _with_schema(file, table, seed)
    refuse_without_schema(table)
    table.refuse_unknown([key for key in (*KEYS, *DATA_KEYS) if key not in MASK_KEYS])
    kind = table.choice("type", OPTIONS)
    shards = read_data(table, file.path.parent, regression=kind == "least_squares")
    spec = read_spec(_asked(table, kind, shards.columns), _mask(file))
    rows = [_checked(spec, *entry, len(shards)) for entry in zip(shards.rows, shards.sources, strict=True)]
    network = read_network(file.table("network"), shards.parties, file.path.parent, seed)
    return NumbersFile(file.path, spec, shards.parties, _simulation(file.table("pdmm"), network, seed), rows)


def _with_schema(file: TomlFile, table: Table, seed: int | None) -> TablesFile:
    """Everything that can be refused is, before the first agreement: the tables are looked through here."""
    schema = read_schema(file)
    question = Table(file, table.name, {key: value for key, value in table.values.items() if key not in DATA_KEYS})
    asked = read_asked(question, schema, _mask(file))
    parties, sources = read_sources(table, file.path.parent)
    network = read_network(file.table("network"), parties, file.path.parent, seed)
    simulation = _simulation(file.table("pdmm"), network, seed)
    tables = [asked.table(source) for source in sources]
    for k, (name, own) in enumerate(zip(parties, tables, strict=True)):
        try:
            checked_table(asked, own, len(parties))
        except InvalidInput as error:
            where = file.where(table.name, "files") if "files" in table else file.where("statistic.parties", "data", k)
            raise InvalidFile(f"{where}: party {name}: {_of(own, str(error))}") from None
    return TablesFile(file.path, asked.spec, parties, simulation, asked, tables)


def _of(table: PartyTable, why: str) -> str:
    """A sentence that says which table it is about."""
    source = table.source.describe()
    return why if source in why else f"{source}: {why}"


def hidden(statistic: Statistic) -> bool:
    """Whether all masks of a simulation were large against what they hid; a modular one always is."""
    forms = [problem.quadratic for problem in statistic.problems]
    return all(
        form is not None and np.abs(form.q[:, :-1]).max(initial=0.0) <= mask.hides  # the last column is public
        for form, mask in zip(forms, statistic.masks, strict=True)
        if isinstance(mask, GaussianMask)
    )


def _asked(table: Table, kind: str, columns: list[str]) -> Table:
    """The table as a plan has it: without data, and with the columns that the data have where it names none."""
    values = {key: value for key, value in table.values.items() if key not in DATA_KEYS}
    if kind == "least_squares":
        values |= {"features": columns[:-1], "target": columns[-1]}
    else:
        values["columns"] = columns
    return Table(table.file, table.name, values)


def _mask(file: TomlFile) -> GaussianMask | ModularMask | None:
    if "mask" not in file.values:
        return None
    mask = read_mask(file.table("mask"))
    if not isinstance(mask, GaussianMask | ModularMask):
        raise file.table("mask").refuse("type", "must be gaussian, or modular for a histogram, with [statistic].")
    return mask


def _checked(spec: Spec, rows: Array, source: str, parties: int) -> Array:
    try:
        return checked_rows(spec, rows, parties)
    except InvalidInput as error:
        raise InvalidFile(f"{source}: {error}") from None


def _simulation(table: Table, network: Network, seed: int | None) -> Simulation:
    for key in ("theta", "c"):
        if key in table:
            raise table.refuse(key, "has no meaning with [statistic]: it is tuned for averaging. Remove it.")
    options = read_options(table, network, overlay="tree")
    names = ("overlay", "schedule", "tol", "max_iter", "max_rounds")
    return Simulation(network=network, seed=seed, progress=None, **{name: options[name] for name in names})
