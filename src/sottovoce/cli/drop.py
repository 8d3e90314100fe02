"""``sottovoce drop``: say that another party has left the run for good."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import NodeFile


def drop(
    file: NodeFile,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The party that will not come back.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether that is meant.")] = False,
) -> int | None:
    """Tell the party that runs on this machine that another one has left the run for good.

    Nothing happens until the operators of all other parties have said so too. Then the run goes on: without it if it
    has not said anything yet, with what it has left behind if it was lost in the last stage; or it ends.

    \b
    Examples:
      sottovoce drop node.toml hospital-3
      sottovoce drop node.toml hospital-3 --yes

    Exit status: 0 said; 1 not confirmed; 2 it cannot be said, or the party does not run.
    """
    from ..runtime import cluster
    from ..runtime.plan.node_file import read_node_file

    path = read_node_file(file).socket
    explained = cluster.drop(path, name, sure=False)
    if not yes:
        typer.echo(explained)
        if not typer.confirm(f"Has {name} left for good? This cannot be taken back."):
            return 1
    typer.echo(cluster.drop(path, name, sure=True))
    return 0
