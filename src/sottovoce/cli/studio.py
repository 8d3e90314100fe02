"""``sottovoce studio``: the browser."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from .options import Browser, Port


def studio(
    problem: Annotated[
        Path | None,
        typer.Argument(metavar="[PROBLEM.TOML]", help="Begin with its network, numbers and mask."),
    ] = None,
    cluster: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Watch the parties of a trial, as sottovoce plan --generate-keys writes them."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen. Default: this machine alone.")] = "127.0.0.1",
    port: Port = 8765,
    browser: Browser = True,
    framed: Annotated[
        bool, typer.Option("--framed", help="A notebook may show it; ends when standard input does.", hidden=True)
    ] = False,
) -> int | None:
    """Draw a network, watch its parties agree, mark some as corrupt and see what they learn; in the browser.

    Everything is computed on this machine, and nothing is loaded from elsewhere. Ctrl-C ends it.

    \b
    Examples:
      sottovoce studio
      sottovoce studio problem.toml
      sottovoce studio --cluster trial
      sottovoce studio --no-browser --port 0
    """
    from ..studio.exchange import from_problem_file
    from ..studio.making import first_scene
    from ..studio.serve import serve
    from .endings import in_order

    scene, notice = (first_scene(), "") if problem is None else from_problem_file(problem)
    with ExitStack() as stack:
        live = None
        if cluster is not None:
            from ..studio.live_run import LiveRun

            stack.enter_context(in_order())
            live = stack.enter_context(LiveRun(cluster))
            scene, notice = (scene, notice) if problem is not None else live.scene()
        ended_by = serve(
            scene,
            host=host,
            port=port,
            page="/" if live is None else "/live",
            browser=browser,
            framed=framed,
            notice=notice,
            live=live,
            ready=lambda address: print(
                f"sottovoce studio: {address}" + ("" if framed else "  (Ctrl-C ends it)"), flush=True
            ),
            until_closed=framed,
        )
    return 0 if ended_by in (0, signal.SIGINT) else 128 + ended_by
