"""The node file of one party: TOML with ``[party]``, which is its own business, ``[run]``, which is public and the same
for everybody, and one ``[[neighbour]]`` for each (see docs/guides/deploy.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ...costs.base import Array
from ...data.cost_table import PartyCost
from ...data.schema import Schema
from ...data.sources import Source
from ...errors import InvalidFile, InvalidInput
from ...files.toml_table import Table, TomlFile
from ...statistics.analysis import Analysis
from ...statistics.policy import Policy
from ..keys.identity import check_certificate, check_name, digits, load
from ..keys.public_keys import check_key
from ..protocol.frames import MAX_PARAMETERS, MAX_PARTIES
from ..protocol.link import canonical, digest
from ..protocol.route import Route
from ..transport.addresses import Proxy
from .data_limits import Limits, read_limits
from .in_common import Wake, array_of_tables, open_file, read_address, read_name, read_pace, read_settings, read_wake
from .node_checks import check_calls, check_files, check_identity
from .own_data import OwnData, OwnTable, content_of, number_columns, own_table, read_own_data, read_place
from .own_policy import read_policy
from .question import KINDS, Question, as_table, one_of_them, read_mask, read_question, with_noise
from .routes import KEYS, Edges, Routes, check_neighbours, read_routes

TABLES = ("party", "policy", "run", "neighbour")
PARTY_KEYS = (
    "name", "listen", "identity", "data", "delimiter", "journal", "result", "wake", "pace", "record", "metrics",
    "proxy",
)  # fmt: skip
RUN_KEYS = ("name", "id", "parties", "keys", "channels", "tol", *KEYS, *KINDS, "schema", "noise")
NEIGHBOUR_KEYS = ("name", "address", "telephone", "fingerprint", "certificate")
RUN_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class Neighbour:
    """A party at the other end of an edge; its certificate is who it is."""

    name: str
    index: int
    address: str | None  # None: it cannot be called, and calls
    fingerprint: str
    certificate: str


@dataclass(frozen=True, eq=False)
class NodeConfig:
    """A node file, checked: what ``read_node_file`` returns. The names of the fields are those of the file.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        Who this is.
    names, keys : tuple of str
        All parties, the position of a name is its index; and their public keys, by which everybody checks what anybody
        signs.
    listen, metrics : str
        Addresses to listen on: for neighbours (None where it cannot be called), and for Prometheus (or None).
    identity, data, delimiter : Path, Path, str
        The folder with key and certificate; the file with the rows, None where they are in a database; and what
        separates the cells of a CSV file of numbers.
    source : Source
        The rows, where they are more than such a file; else None.
    journal, result, record : Path
        Where the state of the run goes, the answer, and a recording of the run (or None).
    wake : "eager", "turns" or float
        As soon as neighbours have spoken, once each of them has, or mean wakes per second of a Poisson clock.
    pace : float
        Seconds. First messages wait for a multiple of it, so that their time does not tell how many rows there are.
    run_name, run_id : str
        What people call the run, and what was drawn for it: pads hang on it, and names are used twice.
    channels, tol, routes
        Of the run, as the plan says; ``routes`` has all edges, and those that messages use, with ``c`` and ``theta``.
    question : Question
        The statistic or cost, the mask, and the noise on the data, if there is any.
    neighbours : tuple of Neighbour
        To whom this party talks.
    policy : Policy
        What the party lets be computed of its rows; None: whatever is asked.
    proxy : Proxy
        On the way to neighbours that the party calls; None: it calls them straight.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.runtime import read_node_file, read_plan, write_plan
    >>> text = '''run = {name = "ages", c = 2.0}
    ... network = {generator = "complete"}
    ... statistic = {type = "mean", columns = ["age"]}
    ... party = [
    ...     {name = "ann", address = "10.0.0.1:7401", data = "data.csv"},
    ...     {name = "bob", address = "10.0.0.2:7401", data = "data.csv"},
    ... ]'''
    >>> with TemporaryDirectory() as folder:
    ...     plan, out = Path(folder) / "plan.toml", Path(folder) / "parties"
    ...     _ = plan.write_text(text), (Path(folder) / "data.csv").write_text("age\\n41\\n")
    ...     write_plan(read_plan(plan), out, generate_keys=True)
    ...     config = read_node_file(out / "ann" / "node.toml")
    >>> config.name, config.index, config.names, config.channels
    ('ann', 0, ('ann', 'bob'), 'encrypted')
    """

    path: Path
    name: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    listen: str | None
    identity: Path
    data: Path | None
    delimiter: str
    journal: Path
    result: Path
    wake: Wake
    pace: float
    record: Path | None
    metrics: str | None
    run_name: str
    run_id: str
    channels: Literal["encrypted", "open"]
    tol: float
    routes: Routes
    question: Question
    neighbours: tuple[Neighbour, ...]
    source: Source | None = None
    policy: Policy | None = None
    proxy: Proxy | None = None

    @property
    def parties(self) -> int:
        """``n``."""
        return self.question.parties

    @property
    def index(self) -> int:
        """``i``."""
        return self.names.index(self.name)

    @property
    def edges(self) -> Edges:
        """Of the network; pads lie on all of them."""
        return self.routes.edges

    @property
    def route(self) -> Route:
        """What messages use."""
        return self.routes.route

    @property
    def fallback_route(self) -> Route | None:
        """What they use once a link of the route has been dead for ``fallback_after`` seconds; None: that is all."""
        return self.routes.fallback

    @property
    def fallback_after(self) -> float:
        """Seconds."""
        return self.routes.after

    @property
    def statistic(self) -> Analysis | None:
        """None where the parties agree on the optimum of a cost."""
        return self.question.statistic

    @property
    def limits(self) -> Limits:
        """How large this party's numbers may be."""
        return Limits(self.parties, self.question.size, self.question.least_rows, self.tol)

    @property
    def socket(self) -> Path:
        """Where the running party answers ``sottovoce status``."""
        return self.journal.with_name(f"{self.journal.name}.sock")

    def parameters(self) -> dict[str, Any]:
        """The table ``[run]`` in the one form that all parties must have in common."""
        return {
            "name": self.run_name,
            "id": self.run_id,
            "parties": list(self.names),
            "keys": list(self.keys),
            "channels": self.channels,
            "tol": self.tol,
            **self.routes.to_dict(self.names),
            **self.question.to_dict(),
        }

    @cached_property
    def run_text(self) -> str:
        """``parameters()`` as they are compared, signed and written down."""
        return canonical(self.parameters())

    @cached_property
    def run_hash(self) -> bytes:
        """Stands for all of them in keys and signatures."""
        return digest(self.run_text)

    def rows(self) -> Array:
        """The party's own rows of a CSV file of numbers, of the columns that the statistic names."""
        assert self.data is not None
        return self.question.rows(self.data, self.delimiter)

    def cost(self) -> PartyCost:
        """The party's own cost, with its data."""
        return self.question.party_cost(self.data, self.delimiter)

    @cached_property
    def table(self) -> OwnTable | None:
        """The party's own table, where there is a ``source``: looked through once, and later passes must find the
        same."""
        if self.question.asked is None:
            return None
        source = self.source
        if source is None:
            assert self.data is not None
            source = number_columns(self.question, self.data, self.delimiter)
        return own_table(self.question, source, self.limits)

    def own_data(self) -> OwnData:
        """The data, read and checked. After this nothing in them can stop the party, which the others would see."""
        try:
            return read_own_data(self)
        except InvalidFile:
            raise
        except InvalidInput as error:
            raise InvalidFile(f"{self.data if self.source is None else self.source.describe()}: {error}") from None

    def data_bytes(self) -> bytes:
        """The data file as it is, or what the rows of a table come to: to notice a change."""
        return content_of(self)


def read_node_file(path: str | Path) -> NodeConfig:
    """Read and check a node file and its certificates (docs/reference/plan-and-node-files.md).

    The data must be there, and are read when they are asked for. ``read_plan`` has an example.

    Parameters
    ----------
    path : str or Path
        A TOML file, as ``sottovoce plan`` writes it.

    Returns
    -------
    NodeConfig

    Raises
    ------
    InvalidFile
        The first mistake in it, with the key and the line.

    Examples
    --------
    >>> read_node_file("nowhere/node.toml")
    Traceback (most recent call last):
    sottovoce.errors.InvalidFile: nowhere/node.toml does not exist.
    """
    file = open_file(Path(path), TABLES, required=("party", "run"))
    party, run = file.table("party"), file.table("run")
    party.refuse_unknown(PARTY_KEYS)
    run.refuse_unknown(RUN_KEYS)
    settings = read_settings(run)
    if settings["c"] is None:
        raise run.refuse("c", "is missing: a positive number, or one for each edge. sottovoce plan finds good ones.")
    names = _names(run)
    name, base = read_name(party), file.path.parent
    if name not in names:
        raise party.refuse("name", f"= {name!r} is none of the parties of the run: {', '.join(names)}.")
    question = _question(file, len(names))
    place = read_place(party, base, question)
    config = NodeConfig(
        path=file.path,
        name=name,
        names=names,
        keys=_keys(run, names),
        listen=read_address(party, "listen") if "listen" in party else None,
        identity=base / party.string("identity", "identity"),
        data=place.file,
        delimiter=place.delimiter,
        source=place.source,
        journal=base / party.string("journal", "journal.sqlite"),
        result=base / party.string("result", "result.json"),
        wake=read_wake(party),
        pace=read_pace(party),
        record=base / party.string("record") if "record" in party else None,
        metrics=read_address(party, "metrics") if "metrics" in party else None,
        run_name=settings["name"],
        run_id=_run_id(run),
        channels=settings["channels"],
        tol=settings["tol"],
        routes=read_routes(run, names, settings["c"], settings["theta"]),
        question=question,
        neighbours=_neighbours(file, name, names),
        policy=read_policy(file),
        proxy=party.call(Proxy.read, party.string("proxy"), at="proxy") if "proxy" in party else None,
    )
    if (size := len(config.run_text)) > MAX_PARAMETERS:
        raise InvalidFile(
            f"{file.path}: the [run] table takes {size:,} bytes; {MAX_PARAMETERS:,} fit in one hello, and no more is "
            "allowed. Agree on a run with fewer parties, with shorter names, or with a smaller schema."
        )
    check_files(party, config)
    check_calls(party, config)
    check_identity(party, config)
    check_neighbours(file.path, name, [other.name for other in config.neighbours], config.edges, names)
    return config


def read_certificates(path: str | Path) -> dict[str, str]:
    """This party's certificate and then its neighbours', by name; the data need not be there yet."""
    file = open_file(Path(path), TABLES, required=("party", "run"))
    party = file.table("party")
    name = read_name(party)
    me = party.call(load, file.path.parent / party.string("identity", "identity"), at="identity")
    others = _neighbours(file, name, _names(file.table("run")))
    return {name: me.certificate} | {other.name: other.certificate for other in others}


def _question(file: TomlFile, parties: int) -> Question:
    table = one_of_them(file, file.values["run"], "run.")
    values = dict(table.values)
    mask = None
    if "mask" in values:
        name = f"{table.name}.mask"
        mask = read_mask(Table(file, name, as_table(file, values.pop("mask"), name)))
    run, schema = file.values["run"], None
    if "schema" in run:
        schema = Schema.from_table(Table(file, "run.schema", as_table(file, run["schema"], "run.schema")))
    limits = read_limits(table, 1 if schema is None else 0)
    values = {key: value for key, value in values.items() if key not in limits}
    question = replace(read_question(Table(file, table.name, values), mask, parties, schema), **limits)
    if "noise" not in run:
        return question
    return with_noise(question, Table(file, "run.noise", as_table(file, run["noise"], "run.noise")))


def _run_id(run: Table) -> str:
    """Drawn for each run, since pads hang on it, and names are used twice."""
    found = str(run.string("id"))
    if not RUN_ID.fullmatch(found):
        raise run.refuse(
            "id", f"must be 32 of the digits 0-9 a-f, at random: sottovoce plan draws it; got {found!r:.60}."
        )
    return found


def _names(run: Table) -> tuple[str, ...]:
    """All parties, in the order of the plan."""
    names = run.strings("parties")
    if not 2 <= len(names) <= MAX_PARTIES:
        raise run.refuse("parties", f"must be 2 to {MAX_PARTIES:,} names; got {len(names)}.")
    for name in names:
        run.call(check_name, name, at="parties")
    return tuple(names)


def _keys(run: Table, names: tuple[str, ...]) -> tuple[str, ...]:
    """Public keys, so that everybody can check what anybody has signed (acceptances.py, leaving.py)."""
    if "keys" not in run:
        raise run.refuse("keys", "is missing: the public keys of all parties. sottovoce plan writes them.")
    keys = run.strings("keys")
    if len(keys) != len(names):
        raise run.refuse("keys", f"must be one for each of the {len(names)} parties; got {len(keys)}.")
    for key in keys:
        run.call(check_key, key, at="keys")
    return tuple(keys)


def _neighbours(file: TomlFile, name: str, names: tuple[str, ...]) -> tuple[Neighbour, ...]:
    found: list[Neighbour] = []
    for table in array_of_tables(file, "neighbour", NEIGHBOUR_KEYS):
        known = read_name(table)
        if known == name:
            raise table.refuse("name", f"= {name!r} is this party's own: it is not its own neighbour.")
        if known not in names:
            raise table.refuse("name", f"= {known!r} is none of the parties of the run: {', '.join(names)}.")
        address = read_address(table, "address") if "address" in table else None
        pinned = table.string("fingerprint")
        other = Neighbour(known, names.index(known), address, pinned, table.string("certificate"))
        for key in ("name", "address"):
            if (own := getattr(other, key)) is not None and own in [getattr(earlier, key) for earlier in found]:
                raise table.refuse(key, f"= {getattr(other, key)!r} is that of an earlier neighbour too.")
        table.call(check_certificate, other.certificate, other.name, other.fingerprint, at="certificate")
        if table.string("telephone", true := digits(other.certificate)) != true:
            raise table.refuse("telephone", f"are not the digits of the certificate: those are {true}. Ask {known}.")
        found.append(other)
    if not found:
        raise InvalidFile(f"{file.path}: there is no [[neighbour]]; a party must have at least one to talk to.")
    return tuple(found)
