"""Problem files: TOML with ``[network]``, ``[cost]``, ``[pdmm]``, ``[mask]`` and ``[noise]``
(docs/reference/problem-file.md).

Those with ``[statistic]`` in place of ``[cost]`` are read by ``statistics.statistic_file``.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidFile, InvalidInput
from ..files.toml_table import Table, TomlFile, finite, nearest, read_text, shown
from ..network import Network
from ..network.names import few
from ..pdmm.local_noise import LocalNoise
from ..pdmm.masks import GaussianMask, Mask, UniformMask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.overlay import Overlay, settled_overlay
from ..pdmm.penalties import checked_penalty
from ..pdmm.problem import Problem
from ..pdmm.result import Result
from ..pdmm.schedules import (
    Asynchronous,
    Delayed,
    EdgeBernoulli,
    EdgeReversal,
    NodeBernoulli,
    Permutations,
    PoissonClocks,
    Schedule,
    Synchronous,
    Trace,
)
from .cost_table import KEYS as COST_KEYS
from .cost_table import CostTable, read_cost
from .party_rows import PARTY_KEYS

EXAMPLES = ("averaging", "regression", "lasso", "logistic", "leaking-regression")

GENERATORS: dict[str, tuple[str, ...]] = {
    "random_geometric": ("n", "radius", "seed"),
    "ring": ("n",),
    "grid": ("rows", "columns"),
    "complete": ("n",),
    "star": ("n",),
    "erdos_renyi": ("n", "p", "seed"),
    "regular": ("n", "degree", "seed"),
    "watts_strogatz": ("n", "k", "p", "seed"),
}
SCHEDULES: dict[str, tuple[str, ...]] = {
    "synchronous": (),
    "asynchronous": ("rates",),
    "poisson_clocks": ("rates",),
    "edge_reversal": (),
    "permutations": (),
    "node_bernoulli": ("p",),
    "edge_bernoulli": ("p",),
    "delayed": ("max_delay",),
    "trace": ("nodes",),
}
PLAIN = {"synchronous": Synchronous(), "edge_reversal": EdgeReversal(), "permutations": Permutations()}
MASKS = ("gaussian", "modular", "uniform")
RUN_KEYS = ("theta", "c", "overlay", "tol", "max_iter", "max_rounds", "seed")
KEYS: dict[str, tuple[str, ...]] = {  # every key that the parser knows
    "network": ("generator", "edge_list", "edges", "n", "radius", "rows", "columns", "p", "degree", "k", "seed"),
    "cost": COST_KEYS,
    "cost.parties": PARTY_KEYS,
    "pdmm": ("schedule", "rates", "p", "max_delay", "nodes", *RUN_KEYS),
    "mask": ("type", "variance", "bits"),
    "noise": ("variance",),
}
TABLES = ("network", "cost", "pdmm", "mask", "noise")


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """A problem file, checked: what ``read_problem_file`` returns.

    Attributes
    ----------
    path : Path
        The file.
    problem : Problem
        What to solve.
    options : dict
        The arguments of ``sv.solve`` for it, by name.
    cost : CostTable
        What ``[cost]`` says, with the names in which to report the answer.
    """

    path: Path
    problem: Problem
    options: dict[str, Any]
    cost: CostTable

    def in_units(self, result: Result) -> Result:
        """The result with ``x`` in the units of the data, whatever ``scale`` was."""
        return result if self.cost.scale is None else replace(result, x=result.x / self.cost.scale)

    def party_numbers(self, names: str) -> frozenset[int]:
        """The parties in a list such as ``"Ada,3"``: names of the file, or numbers; ``InvalidInput`` for others."""
        return party_numbers(names, self.cost.parties, self.path)

    @property
    def pooled(self) -> Any:
        """The answer from all data in one place, in the units of the data, as a vector; None where it is not cheap."""
        cost = self.cost
        if cost.pooled is None:
            return None
        return np.atleast_1d(cost.pooled if cost.scale is None else cost.pooled / cost.scale)


def party_numbers(names: str, parties: list[str], path: Path | str) -> frozenset[int]:
    """The parties in a list such as ``"Ada,3"``: names of the file, or numbers; ``InvalidInput`` for others."""
    found = set()
    for word in (word.strip() for word in names.split(",")):
        if word in parties:
            found.add(parties.index(word))
        elif word.isdecimal() and int(word) < len(parties):
            found.add(int(word))
        else:
            lower = {party.lower(): party for party in parties}
            close = [] if word.isdecimal() else difflib.get_close_matches(word.lower(), lower, n=1)
            cure = (
                f"did you mean {lower[close[0]]!r}?"
                if close
                else f"they are {few(parties)}, or 0 .. {len(parties) - 1}."
            )
            raise InvalidInput(f"corrupt names {shown(word)}, which is no party of {path}; {cure}")
    return frozenset(found)


def example(name: str) -> str:
    """The text of a problem file that runs as it is.

    Parameters
    ----------
    name : str
        ``"averaging"``, ``"regression"``, ``"lasso"``, ``"logistic"`` or ``"leaking-regression"``. That of
        ``"regression"`` has ``[statistic]``, for ``statistics.statistic_file.read_statistic_file``.

    Examples
    --------
    >>> from sottovoce.data import example
    >>> "[network]" in example("averaging")
    True
    """
    return (resources.files("sottovoce.data") / "examples" / f"{name}.toml").read_text(encoding="utf-8")


def read_problem_file(path: str | Path, seed: int | None = None) -> ProblemFile:
    """Read and check a problem file (docs/reference/problem-file.md).

    Parameters
    ----------
    path : str or Path
        A TOML file. The CSV files that it names lie beside it.
    seed : int, optional
        Takes precedence over the file's.

    Returns
    -------
    ProblemFile

    Raises
    ------
    InvalidFile
        The first mistake in it, with the key and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import sottovoce as sv
    >>> from sottovoce.data import example, read_problem_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "problem.toml"
    ...     _ = path.write_text(example("averaging"))
    ...     file = read_problem_file(path)
    >>> sv.solve(file.problem, **file.options).status.value
    'converged'
    """
    file = TomlFile(Path(path))
    seed = check_tables(file, TABLES, seed)
    data = read_cost(file.table("cost"), file.path.parent)
    graph = read_network(file.table("network"), data.parties, file.path.parent, seed)
    options = read_options(file.table("pdmm"), graph)
    if "mask" in file.values:
        options["mask"] = read_mask(file.table("mask"))
    problem = Problem(graph, data.costs)
    problem.unit = data.unit
    if "noise" in file.values:
        options["noise"] = read_noise(file.table("noise"), problem, options.get("mask"))
    return ProblemFile(file.path, problem, {**options, "seed": seed}, data)


def check_tables(file: TomlFile, tables: tuple[str, ...], seed: int | None) -> int | None:
    """Refuse tables and keys that are none, and files without a network or a question; the seed of the run."""
    if "cost" in file.values and "statistic" in file.values:
        raise InvalidFile(f"{file.where('statistic', None)}: [statistic] and [cost] are both given. Keep one.")
    for name in file.values:
        if name == "statistic" and name not in tables:
            reader = "read_statistic_file of sottovoce.statistics.statistic_file"
            raise InvalidFile(f"{file.where(name, None)}: a file with [statistic] is read by {reader}.")
        if name == "noise" and "statistic" in file.values:
            raise InvalidFile(
                f"{file.where(name, None)}: [noise] is for a [cost]; the agreements of a [statistic] are on exact "
                "numbers here. Remove it, or ask for the mean as [cost] averaging; a plan takes it for a mean as well."
            )
        if name == "schema" and name not in tables:
            raise InvalidFile(f"{file.where(name, None)}: [schema] is for the tables of a [statistic]. Remove it.")
        if name not in tables:
            raise InvalidFile(f"{file.where(name, None)}: [{name}] is not a known table{nearest(name, tables)}")
    for name in tables[:2]:
        if name not in file.values:
            other = ", or [statistic] in its place" if name == "cost" else ""
            example = "To see one: sottovoce solve --example averaging"
            raise InvalidFile(f"{file.path}: the table [{name}] is missing{other}. {example}")
    for name in ("network", "pdmm", "mask", "noise"):
        file.table(name).refuse_unknown(KEYS[name])
    seed_in_file: int | None = file.table("pdmm").integer("seed", None, least=0)
    return seed_in_file if seed is None else seed


def read_network(table: Table, parties: list[str], base: Path, seed: int | None) -> Network:
    """The table ``[network]``, of a problem or of a plan: who talks to whom, by the parties' names."""
    given = [key for key in ("generator", "edge_list", "edges") if key in table]
    if len(given) != 1:
        if not given:
            raise table.refuse(None, "needs one of generator, edges and edge_list.")
        raise table.refuse(given[1], f"and {given[0]} are both given. Keep one.")
    if given[0] == "generator":
        network = _generated(table, len(parties), seed)
    elif given[0] == "edges":
        network = table.call(Network.from_edges, len(parties), _edges(table, parties), at="edges")
    else:
        network = _edge_list(table, base / table.string("edge_list"))
        _same_count(table, "edge_list", network.n, len(parties))
    table.finish(f'generator = "{table.values["generator"]}"' if given[0] == "generator" else given[0])
    if parties != [str(k) for k in range(len(parties))]:
        network = network.with_labels(parties)
    return network


def _generated(table: Table, parties: int, seed: int | None) -> Network:
    name = table.choice("generator", tuple(GENERATORS))
    arguments: dict[str, Any] = {}
    for key in GENERATORS[name]:
        if key == "seed":
            arguments[key] = table.integer(key, seed, least=0)
        elif key in ("radius", "p"):
            arguments[key] = table.number(key, None) if key == "radius" else table.number(key)
        else:
            arguments[key] = table.integer(key, parties) if key == "n" else table.integer(key, least=1)
    if name == "grid":
        _same_count(table, "rows", arguments["rows"] * arguments["columns"], parties)
    else:
        _same_count(table, "n", arguments["n"], parties)
    network: Network = table.call(getattr(Network, name), **arguments, at="generator")
    return network


def _same_count(table: Table, key: str, nodes: int, parties: int) -> None:
    if nodes == parties:
        return
    cure = " Leave n out to have a node for each party." if key == "n" else ""
    raise table.refuse(key, f"gives {nodes} nodes, but there are {parties} parties; they must agree.{cure}")


def _edges(table: Table, parties: list[str], key: str = "edges") -> list[tuple[int, int]]:
    """Pairs of parties, by number or by name."""
    number = {name: k for k, name in enumerate(parties)}
    pairs = table.get(key)
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise table.refuse(key, f"must be a list of pairs such as [[0, 1], [1, 2]]; got {shown(pairs)}.")
    for end in (end for pair in pairs for end in pair):
        if isinstance(end, str) and end not in number:
            raise table.refuse(key, f"names {end!r}, which is no party{nearest(end, parties)}")
        if isinstance(end, bool) or not isinstance(end, (int, str)):
            raise table.refuse(key, f"must be pairs of parties, by number or by name; got {shown(end)}.")
    ends = [[number[end] if isinstance(end, str) else end for end in pair] for pair in pairs]
    return [(i, j) for i, j in ends]


def _edge_list(table: Table, path: Path) -> Network:
    read_text(path)  # for its sentences
    try:
        return Network.read_edge_list(path)
    except InvalidInput as error:
        raise InvalidFile(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def read_options(table: Table, network: Network, overlay: str = "all") -> dict[str, Any]:
    """The table ``[pdmm]``: arguments of ``solve``; ``overlay`` is the default."""
    table.integer("seed", None, least=0)
    options: dict[str, Any] = {"schedule": _schedule(table, network), "tol": table.number("tol", 1e-9, least=0)}
    theta, c = table.number("theta", None), table.get("c", "auto")
    if theta is not None and not 0 < theta <= 1:
        raise table.refuse("theta", f"must be in (0, 1]; got {theta:g}. Use 1 for PDMM, 0.5 for ADMM.")
    on = _overlay(table, network, overlay)
    if isinstance(c, list):
        c = table.call(on.of_overlay if on else partial(checked_penalty, network=network), c, at="c")
    elif c != "auto" and not (finite(c) and c > 0):
        raise table.refuse("c", f'must be a positive number, "auto", or one number per edge; got {shown(c)}.')
    options.update(theta=theta, c=c, overlay=on)
    options.update({name: table.integer(name, None, least=1) for name in ("max_iter", "max_rounds")})
    if options["max_iter"] is not None and options["max_rounds"] is not None:
        raise table.refuse("max_rounds", "cannot stand beside max_iter: both say when to stop. Give one of them.")
    table.finish(f'schedule = "{table.values.get("schedule", "synchronous")}"')
    return options


def _overlay(table: Table, network: Network, default: str) -> Overlay | None:
    """``"all"``, ``"tree"``, or pairs of parties, by number or by name."""
    asked = table.get("overlay", default)
    if isinstance(asked, list):
        asked = _edges(table, [network.name(i) for i in range(network.n)], "overlay")
    return table.call(settled_overlay, network, asked, at="overlay")


def _schedule(table: Table, network: Network) -> Schedule:
    name = table.choice("schedule", tuple(SCHEDULES), "synchronous")
    if name in PLAIN:
        return PLAIN[name]
    if name in ("node_bernoulli", "edge_bernoulli"):
        family = NodeBernoulli if name == "node_bernoulli" else EdgeBernoulli
        return table.call(family, table.number("p"), at="p")
    if name == "delayed":
        return table.call(Delayed, table.integer("max_delay", least=0), at="max_delay")
    if name == "trace":
        nodes = table.get("nodes")
        if not isinstance(nodes, list) or not nodes or not all(type(node) is int for node in nodes):
            raise table.refuse("nodes", f"must be a list of node numbers, in the order of waking; got {shown(nodes)}.")
        schedule: Schedule = Trace(nodes)
    else:
        rates = table.get("rates") if name == "poisson_clocks" else table.get("rates", None)
        if rates is not None and not (isinstance(rates, list) and all(finite(rate) and rate > 0 for rate in rates)):
            raise table.refuse("rates", f"must be a list of positive numbers, one per party; got {shown(rates)}.")
        schedule = Asynchronous(rates) if name == "asynchronous" else PoissonClocks(rates or ())
    table.call(schedule.check, network, at="nodes" if name == "trace" else "rates")
    return schedule


def read_mask(table: Table) -> Mask | ModularMask:
    """The table ``[mask]``."""
    name = table.choice("type", MASKS, "gaussian")
    mask: Mask | ModularMask
    if name == "modular":
        mask = table.call(ModularMask, table.integer("bits", ModularMask().bits), at="bits")
    elif name == "uniform":
        mask = table.call(UniformMask, table.number("variance"), at="variance")
    else:
        mask = table.call(GaussianMask, table.number("variance"), at="variance")
    table.finish(f'type = "{name}"')
    return mask


def read_noise(table: Table, problem: Problem, mask: Mask | ModularMask | None) -> LocalNoise:
    """The table ``[noise]``."""
    noise: LocalNoise = table.call(LocalNoise, table.number("variance"), at="variance")
    if problem.quadratic is None:
        raise table.refuse("variance", "is for averaging and least_squares, where a party's data are one vector.")
    if isinstance(mask, ModularMask):
        raise table.refuse("variance", 'is not of integers, and [mask] type = "modular" hides integers. Remove one.')
    return noise
