"""The program ``sottovoce``: its commands, each of which has a file here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, ParamSpec

import typer

from .audit import audit
from .check import check
from .compare import compare
from .demo import demo
from .doctor import doctor
from .drop import drop
from .fingerprints import fingerprints
from .keygen import keygen
from .ledger import ledger
from .node import node
from .paper import paper
from .plan import plan
from .schema import schema
from .solve import solve
from .status import status
from .studio import studio
from .sweep import sweep
from .terminal import Exit, one_line_each, unwritten

P = ParamSpec("P")

CONTEXT = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)


def tidy(command: Callable[P, int | None]) -> Callable[P, None]:
    """A command that returns its exit status; errors and warnings of the library become one line each."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with one_line_each():
                code = command(*args, **kwargs)
        except Exit as leave:
            code = leave.code
        raise typer.Exit(code or 0)

    return run


def main() -> None:
    """The entry point ``sottovoce``."""
    try:
        app(prog_name="sottovoce")
    except (SystemExit, OSError) as leave:  # the first is how the parser always ends
        status = unwritten(leave)
        if status is None:
            raise
        raise SystemExit(status) from None


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sottovoce {version('sottovoce')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Parties agree on the exact optimum of a joint problem, talking to their neighbours only.

    \b
    Start with:
      sottovoce demo
      sottovoce solve --example averaging > problem.toml
      sottovoce solve problem.toml
      sottovoce audit problem.toml
    """


for command, summary in (
    (solve, "Solve the problem that a file states."),
    (audit, "Measure what a run gives away, and to whom."),
    (sweep, "Solve it with many settings and seeds, into one table."),
    (compare, "Set the method beside others: error, leakage, messages, bytes."),
    (demo, "Watch ten hospitals fit one regression."),
    (studio, "See, click and share all of it in the browser."),
    (paper, "Reproduce the paper: figures, data, claims."),
    (schema, "Draft what the columns of a table mean, to be agreed on."),
    (check, "Look through a party's table before anything is sent."),
    (keygen, "Make the key and certificate of a party."),
    (plan, "Write the node files of a whole network, audited first."),
    (fingerprints, "Show what to compare with the neighbours over the telephone."),
    (doctor, "Look whether a party could run here."),
    (node, "Run one party on the network."),
    (status, "Ask a running party how it is."),
    (ledger, "Show what a party has released so far."),
    (drop, "Say that another party has left the run for good."),
):
    app.command(short_help=summary)(tidy(command))
