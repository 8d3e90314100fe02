"""Problem files with ``[statistic]`` in place of ``[cost]``: one process plays all parties, on their data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..costs.base import Array
from ..data.party_rows import DATA_KEYS, read_data
from ..data.problem_file import check_tables, party_numbers, read_mask, read_network, read_options
from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table, TomlFile
from ..network import Network
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.recorders import Residual
from .agreements import SimulatedAgreements, Simulation
from .at_one_party import KEYS, MASK_KEYS, OPTIONS, Spec, checked_rows, read_spec, run_local
from .statistic import Statistic

TABLES = ("network", "statistic", "pdmm", "mask")


@dataclass(frozen=True, eq=False)
class StatisticFile:
    """A problem file with ``[statistic]``, checked: what ``read_statistic_file`` returns.

    Attributes
    ----------
    path : Path
        The file.
    spec : Spec
        What is asked: the type, the columns and the options.
    parties : list of str
        Their names.
    rows : list of ndarray
        The data of each, with a column per name in ``spec.columns``.
    simulation : Simulation
        Where and how the agreements are played.
    """

    path: Path
    spec: Spec
    parties: list[str]
    rows: list[Array] = field(repr=False)
    simulation: Simulation

    @property
    def network(self) -> Network:
        """Who talks to whom."""
        return self.simulation.network

    def recorded(self) -> StatisticFile:
        """The same, with the residual of every round in the ``history`` of its runs."""
        schedule = self.simulation.schedule
        every = 1 if schedule is None else schedule.round(self.network)
        return replace(self, simulation=replace(self.simulation, record=(Residual(),), record_every=every))

    def solve(self) -> Statistic:
        """Play all agreements: what ``private_mean`` and its like return, with an entry per column."""
        return run_local(self.spec, SimulatedAgreements(self.simulation), self.rows)

    def party_numbers(self, names: str) -> frozenset[int]:
        """The parties in a list such as ``"Ada,3"``: names of the file, or numbers; ``InvalidInput`` for others."""
        return party_numbers(names, self.parties, self.path)


def read_statistic_file(path: str | Path, seed: int | None = None) -> StatisticFile:
    """Read and check a problem file that has ``[statistic]`` (docs/reference/problem-file.md).

    Parameters
    ----------
    path : str or Path
        A TOML file. The CSV files that it names lie beside it.
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
    table.refuse_unknown([key for key in (*KEYS, *DATA_KEYS) if key not in MASK_KEYS])
    kind = table.choice("type", OPTIONS)
    shards = read_data(table, file.path.parent, regression=kind == "least_squares")
    spec = read_spec(_asked(table, kind, shards.columns), _mask(file))
    rows = [_checked(spec, *entry, len(shards)) for entry in zip(shards.rows, shards.sources, strict=True)]
    network = read_network(file.table("network"), shards.parties, file.path.parent, seed)
    return StatisticFile(file.path, spec, shards.parties, rows, _simulation(file.table("pdmm"), network, seed))


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
