"""``sottovoce ledger``: what a party has released so far."""

from __future__ import annotations

from typing import Any

from .options import Json, NodeFile
from .terminal import print_json

SHOWN = ("number", "when", "run", "type", "columns", "rows")


def ledger(file: NodeFile, json: Json = False) -> int | None:
    """The releases in the ledger that [policy] of the node file names: when, in which run, what, and on how many rows.

    \b
    Examples:
      sottovoce ledger node.toml
      sottovoce ledger node.toml --json

    Exit status: 0 shown, 2 bad input, 3 the ledger is damaged.
    """
    from ..errors import InvalidInput
    from ..runtime.plan.node_file import read_node_file
    from ..statistics.policy.ledger import Ledger

    policy = read_node_file(file).policy
    if policy is None or policy.ledger is None:
        raise InvalidInput(f"{file} names no ledger. Add one to its [policy], such as ledger = 'ledger.sqlite'.")
    entries = Ledger(policy.ledger).entries()
    if json:
        print_json({"ledger": str(policy.ledger), "least": policy.least, "releases": entries})
    else:
        print_entries(entries)
    return 0


def print_entries(entries: list[dict[str, Any]]) -> None:
    """For people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in SHOWN:
        table.add_column(name, justify="right" if name in ("number", "rows") else "left", overflow="fold")
    for entry in entries:
        told = entry | {"columns": ", ".join(entry["columns"])}
        table.add_row(*(Text(str(told[name])) for name in SHOWN))
    Console(highlight=False, soft_wrap=True).print(table if entries else Text("Nothing was released yet."))
