"""``sottovoce doctor``: whether a party could run here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import Json, NodeFile
from .terminal import facts, print_json

if TYPE_CHECKING:
    from ..runtime.doctor import Finding

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(file: NodeFile, json: Json = False) -> int | None:
    """Look before the day whether a party could run here: port, proxy, clock, disk, journal, permissions, certificates,
    and whether its neighbours are there. Run it again while the others run theirs, or their parties.

    Nothing is sent but the beginning of a TLS handshake, and nothing is left on the disk. The table is for
    sottovoce check.

    \b
    Examples:
      sottovoce doctor node.toml
      sottovoce doctor node.toml --json

    \b
    Exit status: 0 nothing has to be mended, though there may be warnings;
    2 something has to be mended first.
    """
    import os
    from datetime import UTC, datetime

    from ..errors import ExitStatus, InvalidInput
    from ..runtime.doctor import Finding, examine
    from ..runtime.plan.node_file import read_node_file

    try:
        config = read_node_file(file)
    except InvalidInput as error:  # the others are not asked: what they look at is in this file
        found = [Finding("node file", "fail", str(error).rstrip("."), "Mend it, and look again")]
    else:
        found = [Finding("node file", "ok", f"{config.name} of the run {config.run_name!r}")]
        found += examine(config, now=datetime.now(UTC), environment=os.environ)
    sound = all(each.state != "fail" for each in found)
    if json:
        print_json({"ok": sound, "findings": [each.to_dict() for each in found]})
    else:
        print_findings(found)
    return ExitStatus.DONE if sound else ExitStatus.TO_MEND


def print_findings(found: list[Finding]) -> None:
    """A line for each, and one below it with what to do."""
    from rich.console import Console
    from rich.text import Text

    table = facts()
    table.add_column(overflow="fold")
    for each in found:
        table.add_row(Text(each.state, style=STYLES[each.state]), Text(each.check), Text(f"{each.told}."))
        if each.advice:
            table.add_row("", "", Text(f"{each.advice}.", style="italic"))
    Console(highlight=False, soft_wrap=True).print(table)
