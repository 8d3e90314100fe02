"""``sottovoce demo``: ten parties agree before one's eyes."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Browser, Json, Port


def demo(
    json: Json = False,
    fast: Annotated[bool, typer.Option("--fast", help="Skip the animation.")] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Ten households and their mean instead, in one process, in seconds.")
    ] = False,
    studio: Annotated[bool, typer.Option("--studio", help="Watch them in the browser, and kill them by hand.")] = False,
    port: Port = 8765,
    browser: Browser = True,
    seed: Annotated[int | None, typer.Option(min=0, help="With --simulate: fix every random choice.")] = None,
) -> int | None:
    """Ten hospitals, a process each, fit one regression over encrypted channels, and keep their patients' rows to
    themselves. One of them is killed on the way.

    \b
    Examples:
      sottovoce demo
      sottovoce demo --json
      sottovoce demo --studio
      sottovoce demo --simulate --fast --seed 1
    """
    from ..errors import InvalidInput, MissingExtra

    if studio:
        given = {"--json": json, "--fast": fast, "--simulate": simulate, "--seed": seed is not None}
        if others := [name for name, is_given in given.items() if is_given]:
            raise InvalidInput(
                f"--studio shows real processes in the browser: it does not go with {', '.join(others)}."
            )
        from .demo_studio import run_studio_demo

        return run_studio_demo(port, browser)
    if not simulate:
        try:
            from .demo_network import run_network_demo
        except MissingExtra:
            typer.echo("A simulation; for ten real processes: pip install 'sottovoce[network]'", err=True)
        else:
            if seed is not None:
                raise InvalidInput("--seed is for --simulate: real parties take their pads from the operating system.")
            return run_network_demo(json, fast)
    from .demo_simulated import run_demo

    return run_demo(json, seed, fast)
