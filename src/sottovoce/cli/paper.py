"""``sottovoce paper``: reproduce the paper, its figures, data and claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json
from .terminal import print_json, stages

if TYPE_CHECKING:
    from ..paper.claims import Claim


def paper(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the figures.")] = Path("paper"),
    seed: Annotated[int, typer.Option(min=0, help="Of the graph, the data, the sequence and the draws.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws.")] = False,
    json: Json = False,
) -> int | None:
    """Figures 1 to 3 of the paper as PNG, PDF and JSON, and each of its claims measured.

    \b
    Examples:
      sottovoce paper
      sottovoce paper --out figures --seed 7
      sottovoce paper --quick --json
    """
    from ..paper.reproduce import STAGES, reproduce

    with stages(STAGES, quiet=json) as progress:
        _, found = reproduce(out, seed, quick=quick, progress=progress)
    if json:
        print_json({"out": str(out), "claims": [claim.to_dict() for claim in found]})
    else:
        _print_claims(found, out)
    return 0


def _print_claims(found: list[Claim], out: Path) -> None:
    """A list: what the paper says, and below it the verdict and why."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"holds": "green", "holds with a condition": "yellow", "does not hold": "red", "undecided": "magenta"}
    claims = Table.grid(padding=(0, 1))
    for number, claim in enumerate(found, 1):
        said, verdict = f"{claim.claim} ({claim.metric})\n", (claim.verdict, f"bold {colours[claim.verdict]}")
        claims.add_row(f"{number:2}.", Text.assemble(said, verdict, f": {claim.because}"))
    console = Console(highlight=False)
    console.print(Text("The paper's claims, measured", style="bold"), "", claims, "", sep="\n")
    console.print(f"Figures, data and claims.json are in {out}", soft_wrap=True, markup=False, emoji=False)
