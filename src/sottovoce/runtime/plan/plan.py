"""A plan: one file that describes a whole run, from which every party gets its node file (docs/guides/deploy.md)."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...data.problem_file import KEYS, read_network
from ...data.schema_file import read_schema
from ...errors import InvalidFile, InvalidInput, Unsupported
from ...files.toml_table import Table, TomlFile, read_text
from ...files.toml_text import toml, toml_key
from ...network import Network
from ...privacy.answers.statement import statement
from ...privacy.answers.statement_page import Page, to_html
from ...statistics.gone import EXACT
from ..keys.identity import check_certificate, create, digits, fingerprint, public_key
from .in_common import Wake, open_file, read_pace, read_settings, read_wake
from .plan_audit import assess, planned
from .planned_parties import PlannedParty, check_reachable, read_parties
from .planned_routes import plan_routes
from .prospect import Prospect
from .question import KINDS, Question, one_of_them, read_mask, read_question, with_noise
from .routes import Routes

TABLES = ("run", "network", *KINDS, "schema", "mask", "noise", "audit", "party")
RUN_KEYS = ("name", "channels", "theta", "tol", "c", "overlay", "fallback", "wake", "pace")
AUDIT_KEYS = ("max_corrupt", "prior", "least_rows")
PEM = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
NODE_FILE = "node.toml"
STATEMENT = "statement.html"


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan file, checked: what ``read_plan`` returns.

    Attributes
    ----------
    path : Path
        The file.
    settings : dict
        ``name``, ``channels`` and ``tol`` of the run.
    routes : Routes
        Over which edges messages go, with ``c`` and ``theta``.
    wake, pace
        When parties wake, and the seconds that first messages wait for.
    network : Network
        Who talks to whom, with the parties' names.
    question : Question
        The statistic or cost, the mask, and the noise on the data, if there is any.
    parties : tuple of PlannedParty
        Where each can be reached.
    max_corrupt, prior, delta
        What the audit counts on: corrupt parties at most, the variance of a value, and the nats that the mask is
        calibrated to, or None.
    notes : tuple of str
        For whoever reads the audit.
    id : str
        Drawn for each run: pads hang on it, and names are used twice.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.runtime import read_plan
    >>> text = '''run = {name = "ages", c = 2.0}
    ... network = {generator = "complete"}
    ... statistic = {type = "mean", columns = ["age"]}
    ... party = [{name = "ann", address = "10.0.0.1:7401"}, {name = "bob", address = "10.0.0.2:7401"}]'''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plan.toml"
    ...     _ = path.write_text(text)
    ...     plan = read_plan(path)
    >>> plan.settings["channels"], plan.network.labels, plan.max_corrupt
    ('encrypted', ['ann', 'bob'], 1)
    """

    path: Path
    settings: dict[str, Any]
    routes: Routes
    wake: Wake
    pace: float
    network: Network
    question: Question
    parties: tuple[PlannedParty, ...]
    max_corrupt: int
    prior: float
    delta: float | None
    notes: tuple[str, ...]
    id: str = field(default_factory=lambda: os.urandom(16).hex())

    @cached_property
    def prospect(self) -> Prospect:
        """What the run will give away; with ``delta`` it has the question under the calibrated mask."""
        chosen = {key: self.settings[key] for key in ("channels", "tol")}
        chosen |= planned(self.network, self.routes)
        return assess(
            self.network, self.question, max_corrupt=self.max_corrupt, prior=self.prior, delta=self.delta, **chosen
        )


def read_plan(path: str | Path) -> Plan:
    r"""Read and check a plan file (docs/reference/plan-and-node-files.md); a ``c`` that it does not give is tuned.

    Parameters
    ----------
    path : str or Path
        A TOML file.

    Returns
    -------
    Plan

    Raises
    ------
    InvalidFile
        The first mistake in it, with the key and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.runtime import read_node_file, read_plan, write_plan
    >>> text = '''
    ... [run]
    ... name = "ages"
    ... [network]
    ... generator = "complete"
    ... [statistic]
    ... type = "mean"
    ... columns = ["age"]
    ... '''
    >>> for port, name in enumerate(["ann", "bob", "cat"], start=7401):
    ...     text += f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ndata = "{name}.csv"\n'
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("ann", "bob", "cat"):
    ...         _ = (Path(folder) / f"{name}.csv").write_text("age\n41\n")
    ...     path = Path(folder) / "plan.toml"
    ...     _ = path.write_text(text)
    ...     plan = read_plan(path)
    ...     write_plan(plan, Path(folder) / "parties", generate_keys=True)
    ...     config = read_node_file(Path(folder) / "parties" / "bob" / "node.toml")
    >>> plan.question.kind, config.name, [neighbour.name for neighbour in config.neighbours]
    ('mean', 'bob', ['ann', 'cat'])
    """
    file = open_file(Path(path), TABLES, required=("run", "network", "party"))
    run, audit = file.table("run"), file.table("audit")
    run.refuse_unknown(RUN_KEYS)
    audit.refuse_unknown(AUDIT_KEYS)
    parties = read_parties(file)
    n = len(parties)
    network = _read_network(file, [party.name for party in parties])
    check_reachable(file.path, parties, network)
    most = int(audit.integer("max_corrupt", 1, least=0))
    if most >= n:
        raise audit.refuse("max_corrupt", f"must be one of 0 .. {n - 1}, as there are {n} parties; got {most}.")
    delta, mask = None, None
    if "mask" in file.values:
        table = file.table("mask")
        if "statistic" in file.values:
            raise table.refuse(None, f"is gone beside [statistic]: {EXACT}")
        if "delta" in table:
            for other in ("variance", "bits"):
                if other in table:
                    raise table.refuse(other, "does not go with delta, which finds the mask. Give one of them.")
            table.refuse_unknown(("delta",))
            delta = float(table.number("delta"))
            if delta <= 0:
                raise table.refuse("delta", f"must be a positive number of nats; got {delta:g}.")
        else:
            mask = read_mask(table)
    schema = read_schema(file) if "schema" in file.values else None
    question = read_question(one_of_them(file, file.values), mask, n, schema)
    if "noise" in file.values:
        question = with_noise(question, file.table("noise"))
    if "least_rows" in audit:
        if question.statistic is None:
            raise audit.refuse("least_rows", "has no meaning for a cost, whose numbers hang on nobody else's rows.")
        least = 1 if schema is None else 0
        question = replace(question, least_rows=int(audit.integer("least_rows", least=least)))
    settings = read_settings(run)
    routes = plan_routes(run, question, network, settings)
    settings = {key: settings[key] for key in ("name", "channels", "tol")}
    prior, *notes = _prior(audit, question)
    if "c" not in run and question.cost is not None:
        notes.append("c was tuned for averaging, as the data are not known here: for this cost another may be faster")
    when = read_wake(run), read_pace(run)
    return Plan(file.path, settings, routes, *when, network, question, parties, most, prior, delta, tuple(notes))


def _prior(audit: Table, question: Question) -> tuple[Any, ...]:
    """The variance of a secret, and notes on where it comes from."""
    if question.cost is None:
        if "prior" in audit:
            raise audit.refuse("prior", f"is gone beside [statistic]: {EXACT}")
        return (1.0,)
    prior = float(audit.number("prior", 1.0))
    if prior <= 0:
        raise audit.refuse("prior", f"must be a positive number, the variance of a secret; got {prior:g}.")
    another = "[audit] prior gives another, in squared units of scale"
    return (prior,) if "prior" in audit else (prior, f"that values have variance 1 is a default: {another}")


def _read_network(file: TomlFile, names: list[str]) -> Network:
    table = file.table("network")
    table.refuse_unknown(KEYS["network"])
    return read_network(table, names, file.path.parent, None).with_labels(names)


# Writing


def write_plan(plan: Plan, out: str | Path, *, generate_keys: bool) -> None:
    """A folder for each party, with its node file, and a statement on the run: all of them, or nothing.

    Parameters
    ----------
    plan : Plan
        As ``read_plan`` gives it.
    out : str or Path
        A new folder.
    generate_keys : bool
        Make everybody's keys here, for a trial on one machine. Otherwise the plan names the certificates.

    Raises
    ------
    InvalidInput
        A folder that exists already or cannot be written, or certificates that are missing.
    Unsupported
        A ``delta`` that no mask can keep.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.runtime import read_plan, write_plan
    >>> text = '''run = {name = "ages", c = 2.0}
    ... network = {generator = "complete"}
    ... statistic = {type = "mean", columns = ["age"]}
    ... party = [{name = "ann", address = "10.0.0.1:7401"}, {name = "bob", address = "10.0.0.2:7401"}]'''
    >>> with TemporaryDirectory() as folder:
    ...     path, out = Path(folder) / "plan.toml", Path(folder) / "parties"
    ...     _ = path.write_text(text)
    ...     write_plan(read_plan(path), out, generate_keys=True)
    ...     sorted(path.name for path in out.iterdir())
    ['ann', 'bob', 'statement.html']
    """
    out = Path(out)
    if any(party.name.lower() == STATEMENT for party in plan.parties):
        raise InvalidInput(f"a party is called {STATEMENT}, as the statement on the run is. Give it another name.")
    if out.exists():
        raise InvalidInput(f"{out} exists already, and nothing in it is overwritten. Give a new folder.")
    if not out.absolute().parent.is_dir():
        raise InvalidInput(f"{out.absolute().parent} does not exist. Make it first, or give another folder.")
    if plan.delta is not None and plan.prospect.exposure.exposed:
        raise Unsupported("no mask keeps delta for a party that is disclosed. Give [mask] variance instead.")
    certificates = None if generate_keys else [_certificate(plan, party) for party in plan.parties]
    temporary = None
    try:
        temporary = Path(tempfile.mkdtemp(dir=out.absolute().parent, prefix=".plan-"))  # mode 700
        if certificates is None:
            certificates = [create(temporary / p.name / "identity", p.name).certificate for p in plan.parties]
        for i, party in enumerate(plan.parties):
            (temporary / party.name).mkdir(exist_ok=True)
            text = node_file(plan, i, certificates, trial=generate_keys)
            (temporary / party.name / NODE_FILE).write_text(text, encoding="utf-8")
        (temporary / STATEMENT).write_text(to_html(plan_statement(plan)), encoding="utf-8")
        os.rename(temporary, out)
    except OSError as error:
        raise InvalidInput(f"{out} cannot be written: {error.strerror or error}.") from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def plan_statement(plan: Plan) -> Page:
    """What the run will give away, for the file."""
    prospect = plan.prospect
    named = f"{plan.settings['name']}: {prospect.question.kind} between {len(plan.parties)} parties"
    chosen, size = {**plan.routes.shown(), "tol": plan.settings["tol"]}, prospect.question.size
    off = prospect.noise_std
    page = statement(
        prospect.report,
        subject=named,
        revealed=prospect.question.revealed,
        parameters={
            "channels": f"{plan.settings['channels']}, counted as {prospect.report.channels}",
            **prospect.question.told(),
            "corrupt parties, at most": plan.max_corrupt,
            **({"values, in units of scale, at most": size} if prospect.accuracy is not None else {}),
            **({"error by noise, in units of scale": f"{off:.3g}, one standard deviation"} if off else {}),
            **chosen,
        },
        notes=[*prospect.problems(), *plan.notes, *prospect.notes],
        delta=prospect.delta,
    )
    return replace(page, verdict=prospect.verdict.value, headline=prospect.headline)


def _certificate(plan: Plan, party: PlannedParty) -> str:
    """The certificate alone, without what else may be in its file."""
    if party.certificate is None:
        raise InvalidFile(
            f"{plan.path}: the party {party.name} has no certificate. It makes one with: sottovoce keygen identity "
            f"--name {party.name}, and sends you identity/certificate.pem. For a trial on one machine: --generate-keys."
        )
    text = read_text(party.certificate)
    found = PEM.findall(text)
    pem = f"{found[0]}\n" if len(found) == 1 and "PRIVATE KEY" not in text else text
    try:
        check_certificate(pem, party.name, fingerprint(pem))
    except InvalidInput as error:
        raise InvalidFile(f"{party.certificate}: {error}") from None
    return pem


def node_file(plan: Plan, i: int, certificates: list[str], *, trial: bool) -> str:
    """The text of party ``i``'s node file."""
    party, question = plan.parties[i], plan.prospect.question
    names = [party.name for party in plan.parties]
    run = {**plan.settings, **plan.routes.to_dict(names), "id": plan.id, "parties": names}
    run["keys"] = [public_key(pem) for pem in certificates]  # to check what any of them signs
    own = {
        "name": party.name,
        **({} if party.address is None else {"listen": listen(party.address)}),
        "identity": "identity",
        "data": _data(plan, party, trial),
        "journal": "journal.sqlite",
        "result": "result.json",
        "wake": plan.wake,
        "pace": plan.pace,
    }
    about = question.to_dict()
    kind, agreed = next(iter(about.items()))
    if question.cost is not None:
        agreed = {**question.cost.values, "mask": agreed["mask"], "size": agreed["size"]}
    lines = [
        f"# Written by: sottovoce plan {plan.path.name}",
        "# [party] is for this party to change; [run] must be the same for everybody.",
        *_section("[party]", own),
        *_section("[run]", run),
        *_section(f"[run.{kind}]", agreed),
        *(_section("[run.noise]", about["noise"]) if "noise" in about else []),
        *([] if question.schema is None else ["", question.schema.to_toml("run.schema").rstrip()]),
    ]
    for j in plan.network.around(i).tolist():
        other, pem = plan.parties[j], certificates[j]
        known = {
            "name": other.name,
            **({} if other.address is None else {"address": other.address}),
            "telephone": digits(pem),
            "fingerprint": fingerprint(pem),
        }
        lines += [*_section("[[neighbour]]", known), f'certificate = """\n{pem}"""']
    return "\n".join(lines) + "\n"


def listen(address: str) -> str:
    """Where to listen so as to be reached at ``address``: on every interface, but never beyond this machine for a
    party that is on it."""
    host, _, port = address.rpartition(":")
    try:
        ip = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return address if host == "localhost" else f"0.0.0.0:{port}"
    return address if ip.is_loopback else f"{'0.0.0.0' if ip.version == 4 else '[::]'}:{port}"


def _data(plan: Plan, party: PlannedParty, trial: bool) -> str:
    """Relative to the node file; in a trial, a file beside the plan stays where it is."""
    if trial and party.data is not None and (beside := plan.path.parent / party.data).exists():
        return str(beside.resolve())
    return party.data or "data.csv"


def _section(header: str, values: dict[str, Any]) -> list[str]:
    return ["", header, *(f"{toml_key(key)} = {toml(value)}" for key, value in values.items())]
