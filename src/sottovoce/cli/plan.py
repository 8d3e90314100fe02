"""``sottovoce plan``: write the node files of a whole network, audited first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Json
from .terminal import print_json, spinner


def plan(
    file: Annotated[Path, typer.Argument(metavar="PLAN.TOML", help="The plan of the run; see docs/guides/deploy.md.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the node files.")],
    generate_keys: Annotated[
        bool, typer.Option("--generate-keys", help="Make everybody's keys too. For trials on one machine.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write the files whatever the verdict is.")] = False,
    json: Json = False,
) -> int | None:
    """Audit the run that a plan describes, and write a node file for each party, and a statement for the file.

    \b
    Examples:
      sottovoce plan plan.toml --out parties
      sottovoce plan plan.toml --out trial --generate-keys
      sottovoce plan plan.toml --out parties --json

    \b
    Exit status: 0 written; 1 not written, as the run would be weak, disclose somebody, or cannot be
    assessed; 2 bad input.
    """
    from ..runtime.plan.plan import read_plan, write_plan
    from .plan_answer import planned_dict, print_planned

    with spinner("auditing ...", quiet=json):
        planned = read_plan(file)
        prospect = planned.prospect
    written = prospect.safe or force
    if written:
        write_plan(planned, out, generate_keys=generate_keys)
    if json:
        print_json(planned_dict(planned, out if written else None))
    else:
        print_planned(planned, out if written else None, trial=generate_keys)
    return 0 if written else 1
