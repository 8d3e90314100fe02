"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Fix every random choice. Pads from a seed are not secret.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Where the studio listens; 0 takes any that is free.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a window of the browser.")]
NodeFile = Annotated[
    Path, typer.Argument(metavar="NODE.TOML", help="The party's node file; see docs/guides/deploy.md.")
]
