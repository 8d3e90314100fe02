"""``[policy]`` of a node file: what the party lets be computed of its rows. It is the party's own business, as its data
are: nobody else sees it, and it is in no hash."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...data.cost_table import PartyCost
from ...data.csv_rows import read_one_per_party
from ...data.identities import Words, rows_in_use, rows_of_source
from ...data.number_columns import NumberTable
from ...data.sources.csv_source import CSVSource
from ...errors import InvalidInput
from ...files.toml_table import TomlFile
from ...statistics.policy.ledger import Release
from ...statistics.policy.policy import RULES, OwnRows, Policy
from .own_data import OwnData, OwnTable

if TYPE_CHECKING:
    from .node_file import NodeConfig


def read_policy(file: TomlFile) -> Policy | None:
    """The table, checked; its keys are the rules of ``sv.Policy``, and a path starts at the node file."""
    if "policy" not in file.values:
        return None
    table = file.table("policy")
    table.refuse_unknown(RULES)
    values = dict(table.values)
    if "ledger" in values:
        path = values["ledger"] = file.path.parent / table.string("ledger")
        if not path.parent.is_dir():
            raise table.refuse("ledger", f"= {str(path)!r}: its folder does not exist. Make it first.")
        if path.is_dir():
            raise table.refuse("ledger", f"= {str(path)!r} is a folder; name a file.")
    return table.call(Policy, **values)


def admitted(config: NodeConfig, own: OwnData) -> str | None:
    """What the ledger says of the run, which is recorded there when this returns; None without a ledger.
    ``PolicyError`` where the policy refuses."""
    return None if config.policy is None else config.policy.admit(*_of(config, own))


def foreseen(config: NodeConfig, own: OwnData) -> str | None:
    """The same, and nothing is recorded."""
    return None if config.policy is None else config.policy.foresee(*_of(config, own))


def _of(config: NodeConfig, own: OwnData) -> tuple[Release, OwnRows]:
    """What would be released, and how its rows are told apart."""
    run = (config.run_name, config.run_hash.hex())
    if isinstance(own, OwnTable):
        asked = own.asked
        release = Release.of(*run, asked, own.table)
        if isinstance(own.table, NumberTable):
            return release, partial(_rows_of_numbers, config, release.rows)
        return release, partial(rows_in_use, own.table)
    release = _of_cost(config, own, *run)
    return release, partial(_rows_of_numbers, config, release.rows)


def _of_cost(config: NodeConfig, own: PartyCost, run: str, hash: str) -> Release:
    assert config.question.cost is not None
    assert config.data is not None
    given = config.question.cost.values
    columns = [*given.get("columns", ()), *given.get("features", ()), *([given["target"]] if "target" in given else ())]
    rows = len(read_one_per_party([config.data], columns, None, config.delimiter).rows[0])
    return Release(run, hash, own.kind, tuple(columns), rows, own.cost.dim)


def _rows_of_numbers(config: NodeConfig, count: int, key: bytes, by: str | None) -> Words:
    """Of a CSV file of numbers, with all its columns."""
    assert config.data is not None
    words = rows_of_source(CSVSource(config.data, config.delimiter), key, by)
    if len(words) != count:
        raise InvalidInput(f"{config.data} has blank lines. Remove them.")
    return words
