"""``sottovoce node``: run one party on the network; ``run_node`` does it."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import NodeFile


def node(
    file: NodeFile,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object, and log JSON lines on stderr.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log warnings and errors only.")] = False,
) -> int | None:
    """Run one party until it has the answer, and its neighbours know that. Start it again after a crash: it goes on.

    \b
    Examples:
      sottovoce node node.toml
      sottovoce node node.toml --quiet --json

    \b
    Exit status:
      0    done
      1    stopped before the end; the same command goes on from there
      2    something to mend first, here or at another party; one line on stderr says what
      3    the party's own policy refuses
      130  interrupted by Ctrl-C; the same command goes on from there
    """
    from .run_node import run_node

    return run_node(file, json, quiet)
